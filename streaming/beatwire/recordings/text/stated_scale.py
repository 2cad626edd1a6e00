"""The size of one count, as the lines above a table state it, and a gain that they state without a unit.

In:  lines of a head, without the rows of names
Out: :class:`StatedScale`; the microvolts of one count of each lead

Read are a voltage a count (``Resolution: 4.88 uV/LSB``, ``uv_per_unit: 5``, ``LSB = 5 uV``), counts a voltage (``gain =
200 adu/mV``, ``1 mV = 200 units``), and a voltage after a word for a step (``Resolution: 2.5 uV``). A line may name its
lead, or list a number for each. A number without a unit may be the gain of an amplifier: it is said, not used. So are
sizes that differ and name no leads, and counts whose comma may separate thousands (``1,000 adu/mV``). The millimetres
of paper are no counts. A line of ``_LONGEST`` characters or more is prose or a list, and states nothing.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from beatwire.recordings.columns.names import UV_PER, Meaning, bare_lead, canonical_unit, meaning, without_unit
from beatwire.recordings.text.head import without_comment

_LONGEST = 1000
_COUNT = r"(?:adc[ _]?)?(?:lsbs?|bits?|counts?|adus?|adcs?|units?|digits?|codes?|values?|samples? units?)(?![a-z])"
_ALONE = r"(?<![\w.])(?<!\d,)"
_NUMBER = r"\d+(?:[.,]\d+)?(?:e[+-]?\d+)?"
_THOUSANDS = re.compile(r"[1-9]\d{0,2},\d{3}")
_BLANK = r"[^\S\t]"  # a tab is a delimiter alone: what can be read in two ways takes for ever
_LIST = rf"({_NUMBER}(?:(?:,?{_BLANK}*[;\t|]\s*|,?{_BLANK}+){_NUMBER}){{0,24}})"  # a comma alone is a decimal sign
_GAP = r"[\s,;(\[]*"
_PER = r"[ _]*(?:/|per|pro|a)[ _]*"
_VOLTS = r"((?:nano|micro|milli)?volts?|[num]?v)(?![a-z])"
_IS = r"\s*(?:=|:|;|,|\t|\bis\b|corresponds to|equals)\s*"
_STEP = (
    r"resolution|aufl(?:ö|oe)sung|résolution|resolución|lsb|scal(?:e|ing)(?![a-z])|step|quant\w*|conversion|sensitivity"
)
_NOT_A_STEP = re.compile(r"full|range|paper|speed|display|filter|time|rate|pulse|frequency")
_UNCLEAR = re.compile(rf"[^=:;,\t]*?(?:gain|amplification|verst(?:ä|ae)rkung|{_STEP})[^=:;,\t]*{_IS}x?{_NUMBER}\s*x?")

# What a line may hold, of which the first that fits counts: microvolts a count from the numbers and units found.
_FORMS = (
    (re.compile(rf"[\[(]1{_PER}{_VOLTS}[\])]{_IS}{_LIST}\s*$"), "counts"),
    (re.compile(rf"{_ALONE}{_LIST}{_GAP}{_VOLTS}{_PER}{_COUNT}"), "volts"),
    (re.compile(rf"{_ALONE}{_LIST}{_GAP}(?:{_COUNT}|1)?{_PER}{_VOLTS}"), "counts"),
    (re.compile(rf"{_ALONE}({_NUMBER})\s*{_VOLTS}{_IS}({_NUMBER})?\s*{_COUNT}"), "equal"),
    (re.compile(rf"{_ALONE}(?:({_NUMBER})\s*)?(?<![a-z]){_COUNT}{_IS}({_NUMBER})\s*{_VOLTS}"), "equal"),
    (re.compile(rf"(?<![a-z]){_VOLTS}{_PER}{_COUNT}[\])]?{_IS}{_LIST}\s*$"), "volts"),
    (re.compile(rf"(?<![a-z]){_COUNT}{_PER}{_VOLTS}[\])]?{_IS}{_LIST}\s*$"), "counts"),
    (re.compile(rf"(?:{_STEP})[^=:;,\t]*?{_IS}{_LIST}\s*{_VOLTS}\s*$"), "volts"),
    (re.compile(rf"(?:{_STEP})[^=:;,\t]*?[\[(_ ]{_VOLTS}[\])]?{_IS}{_LIST}\s*$"), "volts"),
)  # fmt: skip


@dataclass(frozen=True)
class StatedScale:
    """What a head says about the size of one count.

    stated    the words of each line that states sizes, in lower case, and its microvolts a count: one, or one a lead
    unclear   a line that states a gain that is not used, and why; empty if there is none
    """

    stated: tuple[tuple[str, tuple[float, ...]], ...] = ()
    unclear: str = ""

    @staticmethod
    def of(lines: Iterable[str]) -> "StatedScale":
        """Return what lines say.

        >>> StatedScale.of(["# Resolution: 4.88 uV/LSB", "scale: 0.005 mV"]).stated[0][1]
        (4.88,)
        >>> StatedScale.of(["1 mV = 200 units"]).uv_per_count(["II"]), StatedScale.of(["gain: 24"]).unclear
        ([5.0], "'gain: 24' without a unit")
        """
        stated, unclear = [], ""
        for line in (without_comment(line) for line in lines if len(line) < _LONGEST):
            plain = re.sub(r"[µμ]", "u", line.strip().strip("\"'").replace('"', "").casefold())
            found = [(words, sizes) for words in _statements_in(plain) if (sizes := _sizes_in(words))]
            stated += found
            if found or unclear:
                continue
            shown = repr(line[:60].replace("\t", " "))
            if _THOUSANDS.search(plain) and _sizes_in(plain.replace(",", "")):
                unclear = f"{shown}, whose comma may separate thousands"
            elif _UNCLEAR.fullmatch(plain) and not _NOT_A_STEP.search(plain):
                unclear = f"{shown} without a unit"
        return StatedScale(tuple(stated), unclear)

    def uv_per_count(self, names: Sequence[str]) -> list[float] | None:
        """Return the microvolts of one count of each lead; None if no line states them, or lines differ.

        >>> StatedScale.of(["gain I: 200/mV", "gain II: 100/mV"]).uv_per_count(["II (adu)", "I (adu)"])
        [10.0, 5.0]
        """
        leads = [{without_unit(name).casefold(), bare_lead(name)} - {""} for name in names]
        of_lead = [{uv for words, uv in self.stated if _names(words, lead)} for lead in leads]
        general = {uv for words, uv in self.stated if not _is_of_a_lead(words)}
        found = []
        for k, own in enumerate(of_lead):
            sizes = {uv[k] if len(uv) == len(names) else uv[0] if len(set(uv)) == 1 else 0.0 for uv in own or general}
            found.append(sizes.pop() if len(sizes) == 1 else 0.0)
        return found if found and min(found) > 0 else None


def _names(words: str, lead: set[str]) -> bool:
    """Return True if the words of a line name a lead."""
    return any(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", words) for name in lead)


def _is_of_a_lead(words: str) -> bool:
    """Return True if one of the words before the sign of a statement is the name of a lead."""
    before = re.split(r"[\s()\[\]]+", re.split("[=:;,]", words)[0])
    return any(meaning(lead) is Meaning.LEAD for word in before if (lead := bare_lead(word)))


def _statements_in(line: str) -> list[str]:
    """Return the parts of a line between commas if several state sizes, else the line.

    >>> _statements_in("gain i: 200/mv, gain ii: 100/mv"), _statements_in("gain: 200, 100 /mv")
    (['gain i: 200/mv', 'gain ii: 100/mv'], ['gain: 200, 100 /mv'])
    """
    parts = re.split(r"[,;]\s+", line)
    return parts if sum(bool(_sizes_in(part)) for part in parts) > 1 else [line]


def _sizes_in(line: str) -> tuple[float, ...]:
    """Return the microvolts of a count that a line states, in lower case: one, or one a lead; empty if it does not."""
    for form, kind in _FORMS:
        found = form.search(line)
        if found is None or (kind != "equal" and _NOT_A_STEP.search(line[: found.end()].split(":")[0])):
            continue
        groups = [group for group in found.groups() if group]
        numbers = [[_number(n) for n in re.findall(_NUMBER, group)] for group in groups if group[0].isdigit()]
        at = next(k for k, group in enumerate(groups) if canonical_unit(group) in UV_PER)
        uv = UV_PER[canonical_unit(groups[at])]
        before = at - 1 if kind == "equal" else None  # of voltage; the other numbers of these forms are counts
        counted = [] if kind == "volts" else [group for k, group in enumerate(groups) if k != before]
        if not all(n > 0 for listed in numbers for n in listed) or any(map(_THOUSANDS.search, counted)):
            return ()
        if kind == "volts":
            return tuple(n * uv for n in numbers[0])
        if kind == "counts":
            return tuple(uv / n for n in numbers[0])
        of_volts, *others = [*numbers[at - 1], *(n for k, (n,) in enumerate(numbers) if k != at - 1)]
        return (of_volts * uv / (others[0] if others else 1.0),)
    return ()


def _number(digits: str) -> float:
    return float(digits.replace(",", "."))


NOT_STATED = StatedScale()
