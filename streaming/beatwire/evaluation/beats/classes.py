"""Sensitivity and positive predictivity of the classes of beats, V and S, by record and in all.

In:  of each record the annotated class of each beat found, the class that it was given, and the classes of the
     annotated beats that were not found
Out: counts, and figures for JSON

As ANSI/AAMI EC57 counts: an annotated beat that was not found is missed, a false detection that is called V or S is
false. A fusion beat that is called V is neither right nor false, nor is a beat that could not be classified by people.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from beatwire.evaluation.beats.match import Counts

LETTERS = ("V", "S")
NOT_FALSE = {"V": ("V", "F", "Q"), "S": ("S", "Q")}  # annotated classes of beats that are not falsely called so


def count_class(
    letter: str, annotated: Sequence[str] | NDArray[np.str_], given: Sequence[str] | NDArray[np.str_],
    missed: Sequence[str] | NDArray[np.str_],
) -> Counts:  # fmt: skip
    """Count the beats of a class that were found and called so, those that were not, and those falsely called so.

    Parameters
    ----------
    letter
        ``V`` or ``S``.
    annotated, given
        str [b], of each beat found the annotated class (another text where none is annotated), and the one given.
    missed
        str [m], classes of the annotated beats that were not found.

    Examples
    --------
    >>> count_class("V", ["V", "V", "N", "F", "-"], ["V", "N", "V", "V", "V"], ["V"])
    Counts(tp=1, fn=2, fp=2)
    """
    is_class, called = np.asarray(annotated, str) == letter, np.asarray(given, str) == letter
    right = int((is_class & called).sum())
    lost = int(is_class.sum()) - right + int((np.asarray(missed, str) == letter).sum())
    return Counts(right, lost, int((called & ~np.isin(np.asarray(annotated, str), NOT_FALSE[letter])).sum()))


def rates(count: Counts) -> dict[str, Any]:
    """Return counts, sensitivity and positive predictivity in per cent, None without beats."""
    percent = {"se": count.se, "ppv": count.ppv}
    numbers = {"beats": count.beats, "found": count.tp, "false": count.fp}
    return numbers | {name: None if np.isnan(value) else round(value, 2) for name, value in percent.items()}


def count_called(
    annotated: Sequence[str] | NDArray[np.str_], given: Sequence[str] | NDArray[np.str_]
) -> dict[str, int]:
    """Return how many beats that are annotated N were called each class, and their number as ``beats``.

    >>> count_called(["N", "N", "V", "N"], ["S", "N", "V", "Q"])
    {'beats': 3, 'V': 0, 'S': 1}
    """
    of_normal = np.asarray(given, str)[np.asarray(annotated, str) == "N"]
    return {"beats": len(of_normal)} | {letter: int((of_normal == letter).sum()) for letter in LETTERS}


def called_line(called: dict[str, int]) -> list[str]:
    """Return a line of how many normal beats in a thousand were called V and S; none without beats."""
    if not called["beats"]:
        return []
    parts = (
        f"{letter} {called[letter]:,} ({1000 * called[letter] / called['beats']:.2f} in 1,000)" for letter in LETTERS
    )
    return [f"Of {called['beats']:,} normal beats called {', '.join(parts)}"]


def class_figures(counts: Sequence[tuple[str, dict[str, Counts]]]) -> dict[str, Any]:
    """Return the figures of each class: in all, and ``records`` by name.

    ``counts`` holds the name of each record and its counts by class; without records the result is empty.
    """
    if not counts:
        return {}
    return {
        letter: rates(sum((of[letter] for _, of in counts), Counts()))
        | {"records": {name: rates(of[letter]) for name, of in counts}}
        for letter in LETTERS
    }


def class_lines(figures: dict[str, Any]) -> list[str]:
    """Return a table of the figures as lines, the records with beats of a class or false ones, and the sums."""
    if not figures:
        return []
    heads = ["classes of beats", *(f"{letter} {name}" for letter in figures for name in ("beats", "Se %", "+P %"))]
    names = [
        name
        for name in next(iter(figures.values()))["records"]
        if any(of["records"][name]["beats"] + of["records"][name]["false"] for of in figures.values())
    ]
    rows = [[name, *(cell for of in figures.values() for cell in _cells(of["records"][name]))] for name in names]
    rows.append(["all", *(cell for of in figures.values() for cell in _cells(of))])
    widths = [max(len(row[k]) for row in [heads, *rows]) for k in range(len(heads))]
    return [
        "  ".join(v.ljust(w) if k == 0 else v.rjust(w) for k, (v, w) in enumerate(zip(row, widths, strict=True)))
        for row in [heads, *rows]
    ]


def _cells(one: dict[str, Any]) -> list[str]:
    return [str(one["beats"]), *("-" if one[k] is None else f"{one[k]:.1f}" for k in ("se", "ppv"))]
