"""What the lines above a table say: rate, unit, names and sensors, in whatever form.

In:  the lines before the rows of a table
Out: :class:`Facts`

Read are ``key: value`` with any sign between them, in the languages of the devices' makers; JSON, as OpenSignals writes
it; the channel lists of AcqKnowledge; the keys of LabChart. All other lines are remarks.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from beatwire.recordings.columns.names import PER_SECOND, UV_PER, canonical_unit, unit_of
from beatwire.recordings.leads import unique_names
from beatwire.recordings.record import MAX_RATE_HZ, MIN_RATE_HZ

_SAMPLING = r"sampl|abtast|chantillon|muestreo|campion|amostra|bemonster|sampling|digitiz"
_RATE = re.compile(
    r"(?:e[ck]g)?(?:fs|sfreq|s?rate|frequency|freq|samplerate|sr|hz|sps|frequenz|odr|datarate|acquisitionrate|"
    r"samplespers(?:ec(?:ond)?)?)(?:in)?(?:hz|sps)?"
)
_NOT_A_RATE = r"heart|herz|cardi|pulse|puls|resp|filter|cut|notch|pass|count|number|length|total"
_HZ = r"k?hz|k?her[tzc]|к?гц|герц|ヘルツ|赫兹|赫茲|헤르츠|samples?\s*(/|per)\s*s|sps|s/s|1/s"
_UNIT_KEYS = r"(ecg |signal )?(units?|einheit(en)?|unit[ée]s?|unidad(es)?|unit[àa]|unidade)"
_SMALL_VOLTAGES = ("nv", "uv", "mv")  # that are nothing but a unit
_LEAD_KEYS = r"lead|ableitung|d[ée]rivation|derivaci[óo]n|derivazione|deriva[çc][ãa]o|afleiding"
_COMMENT = re.compile(r"^\s*(#+|%+|//+)\s?")
_NUMBERS = r"(?:values?|data|samples?|signals?|amplitudes?|voltages?|ecg|ekg|leads?|channels?|columns?|numbers)"
# What a remark says about the numbers, as "all values are in uV"; not "in mV/100", "in V-fib".
_IN_UNIT = re.compile(
    rf"(?<!of )\b{_NUMBERS}(?: +(?:{_NUMBERS}|are|is|given|stored|expressed|measured))* +in +"
    r"((?:nano|micro|milli)?volts?|[nuµμm]?v)\b"
    r"(?!\s*(?:[:=]\s*[-+]?\d|[/*^\u00d7]|\(?[x\u00d7]\s*\d|per\b|times\b)|(?<=\bv)(?:-|\s+)[a-z])"
)
_VALUE = re.compile(r"^\s*([+-]?[\d.,' ]*\d)\s*(.*)$")


@dataclass
class Facts:
    """What a head says.

    rate_hz    sampling rate; None if it is not stated
    unit       of the numbers, in the spelling of ``UV_PER``; empty if it is not stated
    lead       name of the only lead; empty if it is not stated
    names      names of all columns, or of the last so many; empty if they are not stated here
    units      of these columns
    sensors    ``ecg``, another sensor, or nothing, for each column by its name
    counts     True if a line with the number of samples of each channel follows the names
    """

    rate_hz: float | None = None
    unit: str = ""
    lead: str = ""
    names: tuple[str, ...] = ()
    units: tuple[str, ...] = ()
    sensors: dict[str, str] = field(default_factory=dict)
    counts: bool = False


def read_head(lines: Sequence[str]) -> Facts:
    """Return what the lines before a table say.

    >>> read_head(["# Sampling rate: 0.5 kHz", "Einheit;µV", "Lead,Lead I"]).rate_hz
    500.0
    """
    facts = Facts()
    plain = [without_comment(line) for line in lines]
    for document in _documents(plain):
        _read_document(facts, document)
    for line in plain:
        if "{" not in line:
            _read_line(facts, line)
    _read_acqknowledge(facts, plain)
    units = {unit for line in lines for unit in units_in_remark(line)}
    facts.unit = facts.unit or (units.pop() if len(units) == 1 else "")
    return facts


def units_in_remark(line: str) -> set[str]:
    """Return the units of voltage in which a remark says that numbers are.

    >>> units_in_remark("# All values are in µV"), units_in_remark("% range of values in mV: 5")
    ({'uv'}, set())
    """
    return {canonical_unit(unit) for unit in _IN_UNIT.findall(line.casefold())} if _COMMENT.match(line) else set()


def without_comment(line: str) -> str:
    """Return a line without the sign of a comment and quotes around it."""
    return _COMMENT.sub("", line).strip()


def is_statement(line: str) -> bool:
    """Return True if a line states something that is read here: it is not a row of names."""
    facts = Facts()
    _read_line(facts, without_comment(line))
    return facts != Facts()


def number_in(text: str) -> float | None:
    """Return a number with a decimal point or comma; None if there is none.

    >>> number_in("512,25"), number_in("1.000,5"), number_in("1,000.5"), number_in("x")
    (512.25, 1000.5, 1000.5, None)
    """
    digits = text.strip().replace(" ", "").replace("'", "")
    if "," in digits and "." in digits:
        digits = digits.replace("." if digits.rindex(",") > digits.rindex(".") else ",", "")
    try:
        return float(digits.replace(",", "."))
    except ValueError:
        return None


def _read_line(facts: Facts, line: str) -> None:
    """Read one line of the form ``key: value``."""
    per_sample = re.match(r"^([\d.,]+)\s*([a-zµ]+)\s*/\s*sample", line, re.IGNORECASE)
    if per_sample:
        facts.rate_hz = _of_interval(number_in(per_sample[1]), per_sample[2]) or facts.rate_hz
        return
    cells = [cell.strip().strip("\"'") for cell in re.split(r"=|\t|:\s|:$|;|\||,(?=\S)|,\s", line, maxsplit=1)]
    if len(cells) < 2:
        at = re.search(rf"({_SAMPLING})\D{{0,40}}?([\d.,]*\d)\s*(k?hz|hertz)", line, re.IGNORECASE)
        plain = re.fullmatch(r"(\w+(?: \w+)?(?: *[\[(]\w+[\])])?) +([\d.,]+)", line.strip().casefold())
        if at:
            facts.rate_hz = _of_rate(number_in(at[2]), at[3]) or facts.rate_hz
        elif plain and not plain[1][0].isdigit():
            _read_rate(facts, plain[1], plain[2])
        return
    key, value = cells[0].casefold(), cells[1].strip("\t ;,\"'")
    if key == "start" and (begin_and_step := re.fullmatch(r"[\d.]+\t([\d.]+)", value)):  # of Spike2, in seconds
        facts.rate_hz = _of_interval(number_in(begin_and_step[1]), "s") or facts.rate_hz
        return
    if re.fullmatch(r"channeltitle|unitname|range", key):
        values = [v.strip() for v in cells[1].split("\t")]
        if key == "channeltitle":
            facts.names = tuple(values)
        elif not facts.units:
            facts.units = tuple(canonical_unit(v.split()[-1]) if v else "" for v in values)
    elif canonical_unit(value) in (
        UV_PER if re.fullmatch(_UNIT_KEYS, key) else () if facts.unit or value[:1].isdigit() else _SMALL_VOLTAGES
    ):
        facts.unit = canonical_unit(value)  # of a key in another language too
    elif re.fullmatch(_LEAD_KEYS, key) and len(value) < 40:
        facts.lead = value
    else:
        _read_rate(facts, key, value)


def _read_rate(facts: Facts, key: str, value: str) -> None:
    amount = _VALUE.match(value)
    if amount is None or re.search(_NOT_A_RATE, key):
        return
    bracket = re.search(r"[\[(]\s*([^\])]+?)\s*[\])]", key)
    plain = re.sub(r"[\[(].*", "", key).strip()
    number, unit = number_in(amount[1]), (amount[2].strip(" ,;\"'") or (bracket[1] if bracket else "")).casefold()
    if re.search(r"interval|period|(?<![a-z])dt(?![a-z])|sampling time|sample time|abtastzeit", plain):
        facts.rate_hz = _of_interval(number, unit or unit_of(plain)) or facts.rate_hz
    elif _RATE.fullmatch(re.sub(r"[\s_./-]", "", plain)) or (
        re.search(_SAMPLING, plain) and (re.search("rate|freq|fréq|frec|hz|taxa", plain) or _is_hz(unit))
    ):
        facts.rate_hz = _of_rate(number, unit) or facts.rate_hz
    elif _is_hz(unit) and facts.rate_hz is None:  # a key of another language
        facts.rate_hz = _of_rate(number, unit)


def _is_hz(unit: str) -> bool:
    return re.match(_HZ, unit) is not None


def _of_rate(number: float | None, unit: str) -> float | None:
    if number is None or number <= 0 or (unit and not _is_hz(unit.casefold())):
        return None
    rate_hz = number * 1000.0 if unit.casefold().startswith(("k", "к")) else number
    return rate_hz if MIN_RATE_HZ <= rate_hz <= MAX_RATE_HZ else None


def _of_interval(number: float | None, unit: str) -> float | None:
    unit = canonical_unit(unit)
    return PER_SECOND[unit] / number if number and number > 0 and unit in PER_SECOND else None


def _read_acqknowledge(facts: Facts, lines: list[str]) -> None:
    """Read the channel list of AcqKnowledge: after ``2 channels``, the name of each and its unit."""
    for k, line in enumerate(lines):
        channels = re.fullmatch(r"(\d+) channels?", line.strip(), re.IGNORECASE)
        if channels and len(lines) >= k + 1 + 2 * int(channels[1]):
            listed = lines[k + 1 : k + 1 + 2 * int(channels[1])]
            facts.names = tuple(listed[::2])
            facts.units = tuple(canonical_unit(unit) for unit in listed[1::2])
            facts.counts = True


def _documents(lines: list[str]) -> Iterator[Any]:
    """Yield the JSON documents among lines: on one line, or over several."""
    text = "\n".join(lines)
    at = text.find("{")
    while at >= 0:
        try:
            document, length = json.JSONDecoder().raw_decode(text[at:])
        except ValueError:
            at = text.find("{", at + 1)
            continue
        yield document
        at = text.find("{", at + length)


def _read_document(facts: Facts, document: Any) -> None:
    """Read a JSON document: rate, unit, and the columns of OpenSignals with their sensors."""
    if not isinstance(document, dict):
        return
    folded = {str(key).casefold().replace("_", " "): value for key, value in document.items()}
    for key, value in folded.items():
        if isinstance(value, dict):
            _read_document(facts, value)
        elif isinstance(value, int | float | str) and not isinstance(value, bool):
            _read_line(facts, f"{key}: {value}")
    columns, labels, sensors = (folded.get(key) for key in ("column", "label", "sensor"))
    if isinstance(columns, list) and all(isinstance(c, str) for c in columns):
        columns = unique_names((*facts.names, *columns))[len(facts.names) :]  # of several devices, side by side
        facts.names += columns
        if isinstance(labels, list) and isinstance(sensors, list) and len(labels) == len(sensors):
            named = dict(zip(map(str, labels), (str(s).casefold() for s in sensors), strict=True))
            is_known = any("ecg" in sensor for sensor in named.values())
            for own, column in zip(folded["column"], columns, strict=True):
                sensor = named.get(own, "digital")
                if own not in named or is_known:
                    facts.sensors[column] = "ecg" if "ecg" in sensor else sensor
