"""The model card of a detector: description, intended use, training data, figures, known failures."""

from typing import Any

from beatwire.training.detector.augmentation import EVALUATED_ON
from beatwire.training.vae.card import PHYSIONET, SOURCES

NOISE = (
    "MIT-BIH Noise Stress Test Database 1.0.0, doi:10.13026/C2HS3T. Moody GB, Muldrow WK, Mark RG. A noise stress test"
    " for arrhythmia detectors. Computers in Cardiology 11:381-384 (1984)."
)
LOW_F1 = 99.5  # per cent; records below are listed as known failures


def detector_card(name: str, metrics: dict[str, Any]) -> str:
    """Return the card of detector ``name`` in Markdown, from the metrics of its training run."""
    databases, settings = metrics["databases"], metrics["settings"]
    low = [f"{r} ({f1:.2f})" for d in databases.values() for r, f1 in d["records"].items() if f1 < LOW_F1]
    return "\n".join(
        [
            f"# {name}",
            "",
            f"{settings['trees']} boosted trees for one lead, and as many for several leads. They classify a",
            "candidate peak of the filtered signal as heartbeat or not, from its shape and the peaks of the ten",
            "seconds before it. A peak that is usual in height, width and timing is accepted without the trees.",
            "",
            "**Intended use:** research, teaching, and detecting heartbeats in a live feed.",
            "**Not for:** diagnosis, treatment, or patient monitoring. It is not a medical device. The training data",
            f"are {sum(len(d['records']) for d in databases.values())} records, no children, recorded by one device",
            "per database.",
            "",
            "## Training data",
            "",
            *(f"- {n}: {len(d['records'])} records. {SOURCES.get(n, '')}".rstrip() for n, d in databases.items()),
            f"- {NOISE}",
            f"- {PHYSIONET}",
            "",
            "The PhysioNet databases are under the Open Data Commons Attribution License 1.0 (ODC-By). Each record is",
            "used as recorded and augmented: recorded baseline wander and muscle noise, simulated electrode motion,",
            "simulated T waves, P waves and ventricular beats, and other mixtures of its leads.",
            f"Seed {settings['seed']}.",
            "",
            "## Figures",
            "",
            "F1 in per cent within 150 ms, on the first lead or on all leads. Each record is evaluated by trees that",
            "were not trained on it (five folds by record). The rule is the detector without trees. The shipped trees",
            "were then trained on all records.",
            "",
            "| | " + " | ".join(EVALUATED_ON) + " |",
            "|---" * (len(EVALUATED_ON) + 1) + "|",
            *(
                f"| {n}, {method} | " + " | ".join(_f1(d[key].get(on)) for on in EVALUATED_ON) + " |"
                for n, d in databases.items()
                for method, key in (("trees", "by_trees"), ("trees, all leads", "all_leads"), ("rule", "by_rule"))
            ),
            "",
            "## Known failures",
            "",
            f"- F1 below {LOW_F1} as recorded: {', '.join(low) or 'none'}.",
            "- Ventricular flutter is excluded from training and evaluation. Its beats are not detected one by one.",
            "- Pulses of a pacemaker count as beats in a lead without three other peaks of a tenth of their height in",
            "  ten seconds, and where a QRS complex may follow within 0.22 s: they may hide a heart that stands still.",
            "",
        ]
    )


def _f1(figures: dict[str, float] | None) -> str:
    return "-" if figures is None else f"{figures['f1']:.2f}"
