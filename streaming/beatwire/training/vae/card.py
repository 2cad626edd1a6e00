"""The model card of a scoring model: description, intended use, training data, figures, known failures."""

from typing import Any

from beatwire.training.vae.figures import NO_VAE, PCA

SOURCES = {
    "mitdb": "MIT-BIH Arrhythmia Database 1.0.0, doi:10.13026/C2F305. Moody GB, Mark RG. The impact of the MIT-BIH"
    " Arrhythmia Database. IEEE Eng Med Biol 20(3):45-50 (2001).",
    "svdb": "MIT-BIH Supraventricular Arrhythmia Database 1.0.0, doi:10.13026/C2V30W. Greenwald SD. PhD thesis,"
    " Harvard-MIT Division of Health Sciences and Technology (1990).",
    "qtdb": "QT Database 1.0.0, doi:10.13026/C24K53. Laguna P, Mark RG, Goldberger AL, Moody GB. Computers in"
    " Cardiology 24:673-676 (1997).",
    "nsrdb": "MIT-BIH Normal Sinus Rhythm Database 1.0.0, doi:10.13026/C2NK5R. The first 2.17 h of each record.",
}
PHYSIONET = "Goldberger AL et al. PhysioBank, PhysioToolkit, and PhysioNet. Circulation 101(23):e215 (2000)."
LOW_AUROC = 0.95  # records below are listed as known failures
HIGH_RATE = 0.03  # records with more marked normal beats at a nominal rate of 1 % are listed as known failures


def vae_card(name: str, metrics: dict[str, Any]) -> str:
    """Return the card of model ``name`` in Markdown, from the metrics of its training run."""
    databases = metrics["databases"]
    settings = metrics["settings"]
    return "\n".join(
        [
            f"# {name}",
            "",
            "A variational autoencoder of single heartbeats (0.52 s in 256 points, one lead) with 8 latents, and the",
            "calibration of the anomaly score. The score combines four terms: the reconstruction error, less 60 %",
            "of the usual one of the stream's last minute; the distance of the latents from those of that minute,",
            "divided by its spread to the power of 3/4; the prematurity of the beat; and the rate term. A score of",
            "S means that one in 10^S normal beats of subjects outside the training data has this score or a",
            "higher one.",
            "",
            "**Intended use:** research, teaching, and selecting beats of a live feed for review.",
            "**Not for:** diagnosis, treatment, or patient monitoring. It is not a medical device. The training data",
            f"are {sum(d['subjects'] for d in databases.values())} subjects, no children, no pacemakers,",
            "recorded by one device per database. The score does not classify beats.",
            "",
            "## Training data",
            "",
            *(
                f"- {n}: {d['subjects']} subjects, {d['normal_beats']} normal beats."
                f" {SOURCES.get(n, 'Records of the user.')}"
                for n, d in databases.items()
            ),
            f"- {PHYSIONET}",
            "",
            "The PhysioNet databases are under the Open Data Commons Attribution License 1.0 (ODC-By). The model is",
            "trained on normal beats (N L R e j) of the first lead. Paced records are excluded.",
            "",
            f"Cross-validation by subject, 5 folds, seed {settings['seed']}. Every figure below is of subjects that",
            "were held out from both the network and the calibration, at annotated R peaks with 2 ms of jitter, and",
            "without expected errors of detection, which the monitor deducts. The shipped network was then trained on",
            "all subjects.",
            "",
            "## Figures",
            "",
            *(line for n, d in databases.items() for line in _ablation(n, d)),
            *_subgroups(metrics),
            "## Known failures",
            "",
            *_failures(metrics["by_record"]),
            "",
        ]
    )


def _ablation(name: str, database: dict[str, Any]) -> list[str]:
    marked = database["marked_at_1_percent"]
    lines = [
        f"### {name}",
        "",
        "AUROC against normal beats, pooled over beats / mean over records.",
        "",
        "| terms | V | S | any abnormal |",
        "|---|---|---|---|",
    ]
    for row, found in database["ablation"].items():
        cells = " | ".join(f"{_f(found[t]['pooled'])} / {_f(found[t]['mean'])}" for t in ("V", "S", "any"))
        lines.append(f"| {row} | {cells} |")
    return [
        *lines,
        "",
        f"At a nominal false-positive rate of 1 %, {_p(marked['normal'])} of normal beats,",
        f"{_p(marked['V'])} of V and {_p(marked['S'])} of S are marked.",
        "",
    ]


def _subgroups(metrics: dict[str, Any]) -> list[str]:
    heads = {"score": "score", PCA: "PCA (8 components) instead of the VAE", NO_VAE: "no VAE"}
    lines = [
        "## Benefit of the VAE by subgroup",
        "",
        "AUROC against normal beats, pooled over beats, subjects held out.",
        "",
        f"| database | abnormal beats | count | {' | '.join(heads.values())} |",
        "|---|---|---|---|---|---|",
    ]
    for database, by_name in metrics["subgroups"].items():
        for subgroup, found in by_name.items():
            if found["beats"]:
                cells = " | ".join(_f(found[name]) for name in heads)
                lines.append(f"| {database} | {subgroup} | {found['beats']} | {cells} |")
    shares = "; ".join(
        f"{name} {_p(d['as_recorded'])} and {_p(d['inverted_lead'])} (limit {d['limit']:.2f})"
        for name, d in metrics["drift"].items()
    )
    areas = ", ".join(f"{name} {_f(area)}" for name, area in metrics["noise_against_normal"].items())
    return [
        *lines,
        "",
        f"AUROC of the reconstruction error, windows of simulated electrode motion against normal beats: {areas}.",
        "",
        f"Share of minutes in which drift is reported, as recorded and with the lead inverted: {shares}.",
        "",
    ]


def _failures(records: dict[str, Any]) -> list[str]:
    rate = "normal_marked_at_1_percent"
    low = [f"{n} ({v['any']:.3f})" for n, v in records.items() if v["any"] is not None and v["any"] < LOW_AUROC]
    high = [f"{n} ({_p(v[rate])})" for n, v in records.items() if v[rate] is not None and v[rate] > HIGH_RATE]
    return [
        f"- AUROC for any abnormal beat below {LOW_AUROC}: {', '.join(low) or 'none'}.",
        f"- More than {_p(HIGH_RATE)} of normal beats marked at a nominal rate of 1 %: {', '.join(high) or 'none'}.",
        "- Where most beats of a minute are abnormal, the history term treats them as usual.",
        "- In a stream that has just started, a wide beat that is not premature has a high reconstruction error only.",
        "- In noise more normal beats are marked than nominal, and fewer V: expected errors are deducted from scores.",
    ]


def _f(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _p(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.2g} %"
