"""The model card of the judge of ventricular runs: description, intended use, training data, figures, failures."""

from __future__ import annotations

from typing import Any

from beatwire.training.rhythm_card import ALARM_SOURCES
from beatwire.training.vae_card import PHYSIONET


def ventricular_card(name: str, metrics: dict[str, Any]) -> str:
    """Return the card of judge ``name`` in Markdown, from the metrics of its training run."""
    settings, folders = metrics["settings"], metrics["folders"]
    return "\n".join(
        [
            f"# {name}",
            "",
            f"{settings['trees']} boosted trees judge at each beat whether it and the two before it are ventricular,",
            "from the last eight beats: how likely each is ventricular by the trees of beat classes, how alike they",
            "are, how wide, how fast, and how sure the detector is of them.",
            "",
            "**Intended use:** research, teaching, and comparing alarms on public records.",
            "**Not for:** diagnosis, treatment, patient monitoring, or the decision to defibrillate. It is not a",
            "medical device. The training data hold few people in ventricular tachycardia, and no children.",
            "",
            "## Training data",
            "",
            *(f"- {folder}: {ALARM_SOURCES.get(folder, '')}".rstrip(": ") for folder in folders),
            f"- {PHYSIONET}",
            "",
            "The PhysioNet databases are under the Open Data Commons Attribution License 1.0 (ODC-By). In bedside",
            "records with a true alarm of ventricular tachycardia nobody has marked the run: the largest logits near",
            "the end of such a record, by a judge of other people, are taken for it.",
            f"Seed {settings['seed']}.",
            "",
            "## Figures",
            "",
            "Beats judged to end a run, out of those that do and of all others, by judges that were not trained on the",
            "person (five folds; bedside records with near numbers are in one fold). Alarms need more:",
            "docs/accuracy.md has those. The shipped judge was then trained on all people.",
            "",
            "| folder | of runs | elsewhere |",
            "|---|---|---|",
            *(
                f"| {folder} | {c['true']} of {c['of runs']} | {c['false']} of {c['of none']} |"
                for folder, c in metrics["beats"].items()
            ),
            "",
            "## Known failures",
            "",
            "- Ventricular tachycardia that has lasted for half a minute: it has become the stream's normal beat. The",
            "  alarms of a fast rate remain.",
            "- Slow ventricular rhythms, and runs of beats that resemble the normal ones.",
            "- Aberrant conduction at a fast rate, and electrode motion that repeats itself, are judged to be runs.",
            "",
        ]
    )
