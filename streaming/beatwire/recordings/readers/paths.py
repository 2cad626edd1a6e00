"""Names of arrays within structures, with points: ``sensors.ECG.values``.

The last part says what an array holds. Where it says nothing, the nearest structure does that is called like a lead or
another quantity.
"""

from collections.abc import Iterable

from beatwire.recordings.columns.names import Meaning, is_quantity, meaning


def telling(name: str) -> str:
    """Return the part of a name that says what an array holds.

    >>> telling("sensors.ECG.values"), telling("ppg.data"), telling("subject1.II"), telling("subject1.x")
    ('ECG', 'ppg', 'II', 'x')
    """
    *outer, last = name.split(".")
    if meaning(last) not in (Meaning.NOTHING, Meaning.VOLTAGE):
        return last
    return next((part for part in reversed(outer) if meaning(part) is Meaning.LEAD or is_quantity(part)), last)


def short_paths(names: Iterable[str], others: Iterable[str] = ()) -> dict[str, str]:
    """Return names that begin with the part that says what an array holds, or whole ones where two would be the same.

    ``others`` are names that stay as they are.

    >>> short_paths(["rec.ECG.x", "rec.ppg.x", "rec.t"]), short_paths(["a.x", "b.x"])
    ({'rec.ECG.x': 'ECG.x', 'rec.ppg.x': 'ppg.x', 'rec.t': 't'}, {'a.x': 'a.x', 'b.x': 'b.x'})
    >>> short_paths(["rec.ECG"], ["ECG"])
    {'rec.ECG': 'rec.ECG'}
    """
    short = {}
    for name in names:
        parts = name.split(".")
        short[name] = ".".join(parts[len(parts) - 1 - parts[::-1].index(telling(name)) :])
    found = [*short.values(), *others]
    return {name: path if found.count(path) == 1 else name for name, path in short.items()}


def short_names(leads: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of leads without the objects that all of them are in.

    >>> short_names(("leads.I", "leads.II")), short_names(("I.data", "II.data")), short_names(("a.x", "b.y"))
    (('I', 'II'), ('I', 'II'), ('a.x', 'b.y'))
    >>> short_names(("ECG.data",))
    ('ECG',)
    """
    parts = [lead.split(".") for lead in leads]
    while (
        all(len(one) > 1 for one in parts)
        and len({one[-1] for one in parts}) == 1
        and telling(leads[0]) != parts[0][-1]
    ):
        parts = [one[:-1] for one in parts]
    while all(len(one) > 1 for one in parts) and (len(parts) == 1 or len({one[0] for one in parts}) == 1):
        parts = [one[1:] for one in parts]
    return tuple(".".join(one) for one in parts)
