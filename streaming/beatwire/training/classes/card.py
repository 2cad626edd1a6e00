"""The model card of the beat classes: description, intended use, training data, figures, known failures."""

from typing import Any

from beatwire.training.rhythms.card import ALARM_SOURCES
from beatwire.training.vae.card import PHYSIONET, SOURCES

LOW_SE = 80.0  # per cent; records below are listed as known failures
FEWEST = 10  # annotated beats of a class, for a figure of one record
MANY_FALSE = 50  # false beats of a class in a record


def class_card(name: str, metrics: dict[str, Any]) -> str:
    """Return the card of trees ``name`` in Markdown, from the metrics of their training run."""
    databases, settings = metrics["databases"], metrics["settings"]
    return "\n".join(
        [
            f"# {name}",
            "",
            f"Twice {settings['trees']} boosted trees: whether a beat is ventricular (V), and whether another is",
            "supraventricular (S) or normal (N). They read its intervals against those of the last minute, its shape",
            "in the first two leads against the normal beat of the last 30 s, and its quality. A beat that comes in",
            "time and looks like the normal beat is normal without the trees. Q: the class is unknown.",
            f"A beat is V from a probability of {settings['least_v']:g} on, else S from {settings['least_s']:g} on.",
            "",
            "**Intended use:** research, teaching, and selecting beats of a live feed for review.",
            "**Not for:** diagnosis, treatment, or patient monitoring. It is not a medical device. The training data",
            f"are {sum(len(d['records']) for n, d in databases.items() if n != 'paced')} records, no children,",
            "recorded by one device per database. It was not trained on beats of pacemakers. Fusion beats are called",
            "N or V. It must not decide alone that a beat or a run of beats is harmless.",
            "",
            "## Training data",
            "",
            *(f"- {n}: {len(d['records'])} records. {SOURCES.get(n, '')}".rstrip() for n, d in databases.items()),
            *(f"- {n}: {ALARM_SOURCES.get(n, 'Records of the user.')}" for n in metrics["by comment"]),
            f"- {PHYSIONET}",
            "",
            "The PhysioNet databases are under the Open Data Commons Attribution License 1.0 (ODC-By). Each record is",
            "used on its first lead, its second lead and both; the beats are those that the streamed detector finds.",
            f"Paced records are not trained on. Seed {settings['seed']}.",
            *_by_comment(metrics["unannotated"]),
            "",
            "## Figures",
            "",
            "Sensitivity / positive predictivity in per cent. Each record is classified by trees that were not trained",
            "on it (five folds by record), with beats of a detector that was not trained on it either; beats that were",
            "not found count as missed. *Across*: by trees that were trained on the other databases.",
            "",
            "| | V, first lead | V, all leads | S, first lead | S, all leads | beats V, S |",
            "|---|---|---|---|---|---|",
            *(_row(n, d) for n, d in databases.items()),
            *(_row(f"{n}, across", d) for n, d in metrics["across"].items() if n != "paced"),
            "",
            *_false(metrics["unannotated"]),
            "## Known failures",
            "",
            *(_failures(letter, databases) for letter in ("V", "S")),
            "- Ventricular flutter is excluded from training and evaluation.",
            "",
        ]
    )


def _by_comment(unannotated: dict[str, Any]) -> list[str]:
    """Return what recordings without annotated beats are used for."""
    if not unannotated:
        return []
    return [
        "Recordings without annotated beats are used by the comment in their header: a beat in atrial fibrillation",
        "(af) is not S, one of a normal recording is neither V nor S, one of a noisy recording is not V.",
    ]


def _false(unannotated: dict[str, Any]) -> list[str]:
    """Return a table of the shares of beats called V and S in recordings without annotated beats."""
    if not unannotated:
        return []
    return [
        "Recordings without annotated beats, classified in the same folds: beats called V or S, nearly all falsely.",
        "",
        "| comment | recordings | beats | called V, % | called S, % |",
        "|---|---|---|---|---|",
        *(f"| {n} | {u['records']} | {u['beats']} | {u['V']:.1f} | {u['S']:.1f} |" for n, u in unannotated.items()),
        "",
    ]


def _row(name: str, figures: dict[str, Any]) -> str:
    """Return a row of the table of figures."""
    cells = [
        "-" if leads not in figures else _pair(figures[leads][letter])
        for letter in ("V", "S")
        for leads in ("first lead", "all leads")
    ]
    first = figures["first lead"]
    return f"| {name} | {' | '.join(cells)} | {first['V']['beats']}, {first['S']['beats']} |"


def _pair(rates: dict[str, Any]) -> str:
    return " / ".join("-" if rates[k] is None else f"{rates[k]:.1f}" for k in ("se", "ppv"))


def _failures(letter: str, databases: dict[str, Any]) -> str:
    """Return a line on the records in which beats of a class are missed, and those with many false ones."""
    missed, false = [], []
    for figures in databases.values():
        for record, counts in figures["records"].items():
            right, lost, wrong = counts[letter]
            if right + lost >= FEWEST and 100.0 * right / (right + lost) < LOW_SE:
                missed.append(f"{record} ({right} of {right + lost})")
            if wrong >= MANY_FALSE:
                false.append(f"{record} ({wrong})")
    return (
        f"- {letter}: fewer than {LOW_SE:.0f} % found in {', '.join(missed) or 'no record'};"
        f" {MANY_FALSE} or more false in {', '.join(false) or 'no record'}."
    )
