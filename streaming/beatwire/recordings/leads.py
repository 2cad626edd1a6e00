"""Names of leads: the one that is meant, and names that differ."""

from collections.abc import Sequence

from beatwire.errors import UserError


def find_lead(where: str, leads: Sequence[str], requested: str | int, kind: str = "lead") -> int:
    """Return the index of a lead, given by its name, by its number from 0, or as ``first``.

    A name takes precedence over a number. Case is ignored unless two names differ only in case.

    Parameters
    ----------
    where, kind
        For the error message: the file or recording, and what is listed (``lead`` or ``column``).

    Raises
    ------
    UserError
        There is no such lead.
    """
    text = str(requested).strip()
    if text in leads:
        return list(leads).index(text)
    folded = [name.casefold() for name in leads]
    if folded.count(text.casefold()) == 1:
        return folded.index(text.casefold())
    if text == "first":
        return 0
    if text.isdecimal() and int(text) < len(leads):
        return int(text)
    choices = ", ".join(f"{k} {name!r}" for k, name in enumerate(leads[:30])) + (", ..." if len(leads) > 30 else "")
    raise UserError(f"{where}: expected one of its {kind}s, {choices}; got {text!r}")


def find_leads(where: str, leads: Sequence[str], requested: str, kind: str = "lead") -> tuple[int, ...]:
    """Return the indices of leads that are given as one text, separated by commas; each once.

    >>> find_leads("x.csv", ["a", "b", "c, d"], "b,a,1"), find_leads("x.csv", ["a", "b", "c, d"], "c, d")
    ((1, 0), (2,))
    """
    listed = [requested] if requested in leads else requested.split(",")
    return tuple(dict.fromkeys(find_lead(where, leads, one, kind) for one in listed))


def unique_names(names: Sequence[str]) -> tuple[str, ...]:
    """Append a number to repeated names.

    >>> unique_names(["II", "V1", "II"])
    ('II', 'V1', 'II.1')
    """
    return tuple(n if names.index(n) == k else f"{n}.{names[:k].count(n)}" for k, n in enumerate(names))
