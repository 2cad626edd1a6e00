"""The model card of the judges of the rhythm: description, intended use, training data, figures, known failures."""

from typing import Any

from beatwire.training.vae.card import PHYSIONET, SOURCES

ALARM_SOURCES = SOURCES | {
    "cinc2015": "PhysioNet/CinC Challenge 2015. Clifford GD et al. Computing in Cardiology 42:273-276 (2015).",
    "cinc2017": "PhysioNet/CinC Challenge 2017. Clifford GD et al. Computing in Cardiology 44 (2017).",
    "cudb": "CU Ventricular Tachyarrhythmia Database 1.0.0. Nolle FM et al. Computers in Cardiology 13:515-518 (1986).",
    "mimicaf": "MIMIC PERform AF dataset, lead II. Charlton PH et al. Physiol Meas 43:085007 (2022). ODbL 1.0.",
    "vfdb": "MIT-BIH Malignant Ventricular Ectopy Database 1.0.0. Greenwald SD. MIT MS thesis (1986).",
    "nstdb": "MIT-BIH Noise Stress Test Database 1.0.0. Moody GB et al. Computers in Cardiology 11:381-384 (1984).",
}


def rhythm_card(name: str, metrics: dict[str, Any]) -> str:
    """Return the card of judges ``name`` in Markdown, from the metrics of their training run."""
    settings, folders = metrics["settings"], metrics["folders"]
    return "\n".join(
        [
            f"# {name}",
            "",
            f"Two ensembles of {settings['trees']} boosted trees. One judges every two seconds whether the last six",
            "seconds are ventricular fibrillation or flutter, from the shape of the first lead and the beats. The",
            "other judges every eight seconds whether the intervals of the last minute are those of atrial",
            "fibrillation, and whether the normal beat of the stream has a P wave.",
            "",
            "**Intended use:** research, teaching, and comparing alarms on public records.",
            "**Not for:** diagnosis, treatment, patient monitoring, or the decision to defibrillate. It is not a",
            "medical device. The training data hold few people in fibrillation, and no children.",
            "",
            "## Training data",
            "",
            *(f"- {folder}: {ALARM_SOURCES.get(folder, '')}".rstrip(": ") for folder in folders),
            f"- {PHYSIONET}",
            "",
            "The PhysioNet databases are under the Open Data Commons Attribution License 1.0 (ODC-By). Records without",
            "rhythm marks count as not being in atrial fibrillation, except where consecutive normal beats are",
            "irregular.",
            f"Seed {settings['seed']}.",
            "",
            "## Figures",
            "",
            "Decisions for an episode, out of all decisions of that kind, by judges that were not trained on the",
            "person (five folds by person). Alarms need several decisions: docs/explanation/accuracy.md. The",
            "shipped judges were then trained on all people.",
            "",
            "| judge | folder | in episodes | elsewhere |",
            "|---|---|---|---|",
            *(
                f"| {judge} | {folder} | {c['true']} of {c['of episodes']} | {c['false']} of {c['of normal']} |"
                for judge, by_folder in metrics["decisions"].items()
                for folder, c in by_folder.items()
            ),
            "",
            "## Known failures",
            "",
            "- Ventricular tachycardia with wide regular waves is judged to be flutter.",
            "- Fibrillation that is fine, or begins slowly, is found late.",
            "- Frequent ectopic beats in no pattern, with P waves that are low or change, are judged to be atrial",
            "  fibrillation; atrial fibrillation with a regular ventricular rate, and atrial flutter, are not.",
            "- Noise that looks like irregular beats, if the detector is sure of them.",
            "",
        ]
    )
