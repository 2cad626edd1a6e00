"""The model card of the judge of ventricular runs: description, intended use, training data, figures, failures."""

from typing import Any

from beatwire.training.rhythms.card import ALARM_SOURCES
from beatwire.training.vae.card import PHYSIONET


def ventricular_card(name: str, metrics: dict[str, Any]) -> str:
    """Return the card of judge ``name`` in Markdown, from the metrics of its training run."""
    settings, folders = metrics["settings"], metrics["folders"]
    return "\n".join(
        [
            f"# {name}",
            "",
            f"Two judges of {settings['trees']} boosted trees each: whether the last beats are of a ventricular",
            "tachycardia, and whether the last three are a ventricular run. Both read the last eight beats: how",
            "likely each is ventricular by the trees of beat classes, how alike they are, how wide, how fast, and how",
            "sure the detector is of them. That of runs also reads the extremes of the last three: one beat that looks",
            "normal makes them no run.",
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
            "docs/explanation/accuracy.md has those. The shipped judge was then trained on all people.",
            "",
            "| folder | tachycardia: of runs | elsewhere | run: of runs | elsewhere |",
            "|---|---|---|---|---|",
            *(f"| {folder} | {' | '.join(_counts(metrics, folder))} |" for folder in _folders(metrics)),
            "",
            "## Known failures",
            "",
            "- Ventricular tachycardia that has lasted for half a minute: it has become the stream's normal beat. The",
            "  alarms of a fast rate remain.",
            "- Slow ventricular rhythms, and runs of beats that resemble the normal ones.",
            "- Wide paced beats, whose shape changes where R moves between two peaks, are judged to be runs.",
            "- Aberrant conduction at a fast rate, and electrode motion that repeats itself, are judged to be runs.",
            "",
        ]
    )


def _folders(metrics: dict[str, Any]) -> list[str]:
    return list(next(iter(metrics["beats"].values())))


def _counts(metrics: dict[str, Any], folder: str) -> list[str]:
    """Return for each judge the beats judged true out of those of runs, and out of all others."""
    of_judges = [counts[folder] for counts in metrics["beats"].values()]
    return [f"{c[found]} of {c[of]}" for c in of_judges for found, of in (("true", "of runs"), ("false", "of none"))]
