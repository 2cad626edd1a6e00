"""The card that goes with a model: what it is, what it learned from, how good it is, what it is not for."""

from __future__ import annotations

from typing import Any

SOURCES = {
    "mitdb": "MIT-BIH Arrhythmia Database 1.0.0, doi:10.13026/C2F305. Moody GB, Mark RG. The impact of the MIT-BIH"
    " Arrhythmia Database. IEEE Eng Med Biol 20(3):45-50 (2001).",
    "svdb": "MIT-BIH Supraventricular Arrhythmia Database 1.0.0, doi:10.13026/C2V30W. Greenwald SD. PhD thesis,"
    " Harvard-MIT Division of Health Sciences and Technology (1990).",
    "qtdb": "QT Database 1.0.0, doi:10.13026/C24K53. Laguna P, Mark RG, Goldberger AL, Moody GB. Computers in"
    " Cardiology 24:673-676 (1997).",
}
PHYSIONET = "Goldberger AL et al. PhysioBank, PhysioToolkit, and PhysioNet. Circulation 101(23):e215 (2000)."
POOR = 0.95
NOISY = 0.03


def card(name: str, metrics: dict[str, Any]) -> str:
    """Write the card of model ``name`` from the metrics of its training run, in Markdown."""
    databases = metrics["databases"]
    settings = metrics["settings"]
    return "\n".join(
        [
            f"# {name}",
            "",
            "A variational autoencoder of single heartbeats (0.52 s in 256 points, one lead) with 8 latents, and the",
            "calibration that turns its reconstruction error, the distance to the stream's own last minute in the",
            "latents over that minute's spread to the power of 3/4, the prematurity of a beat and its rate term into",
            "one score: minus log10 of the share of normal beats, of people not trained on, that look at least as",
            "strange.",
            "",
            "**Intended use:** research, teaching, and finding beats worth a look in a live feed.",
            "**Not for:** diagnosis, treatment, or watching over a patient. It is not a medical device; it has seen",
            f"{sum(d['subjects'] for d in databases.values())} people, no children, no pacemakers, one recorder a",
            "database. It does not say what a beat is.",
            "",
            "## Learned from",
            "",
            *(
                f"- {n}: {d['subjects']} subjects, {d['normal_beats']} normal beats. {SOURCES.get(n, 'Of the user.')}"
                for n, d in databases.items()
            ),
            f"- {PHYSIONET}",
            "",
            "The PhysioNet databases are under the Open Data Commons Attribution License 1.0 (ODC-By). Only normal",
            "beats (N L R e j), first lead, were learned from; records that are mostly paced were left out.",
            "",
            f"Split by subject into 5 folds, seed {settings['seed']}. All figures below are of subjects that neither",
            "the network nor the calibration had seen, at annotated R peaks with 2 ms of jitter. The shipped",
            "network then learned from all of them.",
            "",
            "## Figures",
            "",
            *(line for n, d in databases.items() for line in _table(n, d)),
            *_where(metrics),
            "## Known failures",
            "",
            *_failures(metrics["by_record"]),
            "",
        ]
    )


def _table(name: str, database: dict[str, Any]) -> list[str]:
    marked = database["marked_at_1_percent"]
    lines = [
        f"### {name}",
        "",
        "AUROC against normal beats, pooled / mean over records.",
        "",
        "| | V | S | any abnormal |",
        "|---|---|---|---|",
    ]
    for row, found in database["ablation"].items():
        cells = " | ".join(f"{_f(found[t]['pooled'])} / {_f(found[t]['mean'])}" for t in ("V", "S", "any"))
        lines.append(f"| {row} | {cells} |")
    return [
        *lines,
        "",
        f"At a promised false-positive rate of 1 %: {_p(marked['normal'])} of normal beats are marked,",
        f"{_p(marked['V'])} of V, {_p(marked['S'])} of S.",
        "",
    ]


def _where(metrics: dict[str, Any]) -> list[str]:
    heads = {
        "score": "score",
        "PCA: all": "PCA of 8 in the VAE's place",
        "no VAE (prematurity and rate_term)": "no VAE",
    }
    lines = [
        "## Where the VAE earns its place",
        "",
        "AUROC against normal beats, pooled, people left out.",
        "",
        f"| database | beats | how many | {' | '.join(heads.values())} |",
        "|---|---|---|---|---|---|",
    ]
    for database, kinds in metrics["where"].items():
        for kind, found in kinds.items():
            if found["beats"]:
                cells = " | ".join(_f(found[name]) for name in heads)
                lines.append(f"| {database} | {kind} | {found['beats']} | {cells} |")
    told = metrics["drift"]
    shares = "; ".join(
        f"{name} {_p(d['as_recorded'])} and {_p(d['upside_down'])} (limit {d['limit']:.2f})" for name, d in told.items()
    )
    noise = metrics["noise_against_normal"]
    areas = ", ".join(f"{name} {_f(area)}" for name, area in noise.items())
    return [
        *lines,
        "",
        f"Pieces of simulated electrode motion told from normal beats by the reconstruction error, AUROC: {areas}.",
        "",
        f"Drift told of minutes as recorded, and with the lead upside down: {shares}.",
        "",
    ]


def _failures(records: dict[str, Any]) -> list[str]:
    poor = [f"{n} ({v['any']:.3f})" for n, v in records.items() if v["any"] is not None and v["any"] < POOR]
    rate = "normal_marked_at_1_percent"
    noisy = [f"{n} ({_p(v[rate])})" for n, v in records.items() if v[rate] is not None and v[rate] > NOISY]
    return [
        f"- AUROC for any abnormal beat below {POOR}: {', '.join(poor) or 'none'}.",
        f"- More than {_p(NOISY)} of normal beats marked at a promised 1 %: {', '.join(noisy) or 'none'}.",
        "- Where most of a minute is abnormal, the stream's own history calls the abnormal usual.",
        "- A wide beat at a usual time in a stream that has just started is seen by the reconstruction error alone.",
        "- In noise the promise does not hold: artefacts are strange, and so are beats under them.",
    ]


def _f(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _p(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.2g} %"
