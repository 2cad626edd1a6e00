"""The card that goes with a detector: what it is, what it learned from, how good it is, what it is not for."""

from __future__ import annotations

from typing import Any

from beatwire.training.card import PHYSIONET, SOURCES
from beatwire.training.renditions import JUDGED_ON

NOISE = (
    "MIT-BIH Noise Stress Test Database 1.0.0, doi:10.13026/C2HS3T. Moody GB, Muldrow WK, Mark RG. A noise stress test"
    " for arrhythmia detectors. Computers in Cardiology 11:381-384 (1984)."
)
POOR = 99.5


def detector_card(name: str, metrics: dict[str, Any]) -> str:
    """Write the card of detector ``name`` from the metrics of its training run, in Markdown."""
    databases, settings = metrics["databases"], metrics["settings"]
    poor = [f"{r} ({f1:.2f})" for d in databases.values() for r, f1 in d["records"].items() if f1 < POOR]
    return "\n".join(
        [
            f"# {name}",
            "",
            f"{settings['trees']} boosted trees for one lead, and as many for several, that say of a peak of the",
            "filtered signal whether it is a heartbeat, from its shape and the peaks of the ten seconds before it.",
            "Peaks that are ordinary in every way are beats without the trees being asked.",
            "",
            "**Intended use:** research, teaching, finding heartbeats in a live feed.",
            "**Not for:** diagnosis, treatment, or watching over a patient. It is not a medical device; it has seen",
            f"{sum(len(d['records']) for d in databases.values())} records, no children, one recorder a database.",
            "",
            "## Learned from",
            "",
            *(f"- {n}: {len(d['records'])} records. {SOURCES.get(n, '')}".rstrip() for n, d in databases.items()),
            f"- {NOISE}",
            f"- {PHYSIONET}",
            "",
            "The PhysioNet databases are under the Open Data Commons Attribution License 1.0 (ODC-By). Every record",
            "as it is and in renditions: recorded wander and muscle noise, simulated electrode motion, made-up T and P",
            f"waves and ventricular beats, other mixtures of its leads. Seed {settings['seed']}.",
            "",
            "## Figures",
            "",
            "F1 in per cent within 150 ms on the first lead (or all together), records judged by trees that had not",
            "seen them (five folds by record); beside it the rule that works without trees. The shipped trees learned",
            "from all.",
            "",
            "| | " + " | ".join(JUDGED_ON) + " |",
            "|---" * (len(JUDGED_ON) + 1) + "|",
            *(
                f"| {n}, {what} | " + " | ".join(_f1(d[by].get(on)) for on in JUDGED_ON) + " |"
                for n, d in databases.items()
                for what, by in (("trees", "by_trees"), ("trees, all leads", "all_leads"), ("rule", "by_rule"))
            ),
            "",
            "## Known failures",
            "",
            f"- F1 below {POOR} as recorded: {', '.join(poor) or 'none'}.",
            "- Ventricular flutter was left out and is not found beat by beat.",
            "",
        ]
    )


def _f1(classified: dict[str, float] | None) -> str:
    return "-" if classified is None else f"{classified['f1']:.2f}"
