"""What the name of a column and its unit say: a lead, a time, another quantity, or nothing.

In:  the name of a column in the header, and its cell in the row of units
Out: the unit; a :class:`Meaning`, which is a preference only: what a column is, its numbers decide
     (``beatwire.recordings.columns.roles``)
"""

import re
import unicodedata
from enum import IntEnum

from beatwire.recordings.columns.lead_names import LEAD
from beatwire.recordings.columns.other_names import OTHER, OTHER_BEGIN, QUANTITIES, QUANTITIES_BEGIN, SETTINGS
from beatwire.recordings.record import MAX_RATE_HZ, MIN_RATE_HZ

UV_PER = {"nv": 1e-3, "uv": 1.0, "mv": 1e3, "v": 1e6}  # microvolts per value, by unit
PER_SECOND = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9, "min": 1 / 60, "h": 1 / 3600, "d": 1 / 86400}

_SYNONYMS = {
    "mcv": "uv", "muv": "uv",
    "мкв": "uv", "мв": "mv", "мс": "ms", "\u0441": "s", "сек": "s", "微伏": "uv", "毫伏": "mv", "毫秒": "ms", "秒": "s",
    "sec": "s", "second": "s", "sekunde": "s", "sekunden": "s", "seconde": "s", "segundo": "s", "msec": "ms",
    "millisecond": "ms", "milli": "ms", "millisec": "ms", "microsecond": "us", "usec": "us", "microsec": "us",
    "micro": "us", "nanosecond": "ns", "nsec": "ns", "nano": "ns", "minute": "min", "hour": "h", "hr": "h", "day": "d",
    "hh:mm:ss": "s", "mm:ss": "s",
}  # fmt: skip
_OTHER_UNITS = {
    "bpm", "1/min", "g", "mg", "m/s2", "m/s^2", "m/s²", "deg/s", "dps", "rad/s", "°/s", "c", "°c", "degc", "f", "°f",
    "k", "%", "mmhg", "pa", "hpa", "kpa", "ohm", "ohms", "kohm", "ω", "us/cm", "lux", "a", "ma", "ut", "gauss", "hz",
    "degree", "degrees", "deg", "l/min", "no_units", "no units", "n/a", "adu", "adc", "lsb", "count", "counts", "raw",
    "a.u.", "au", "nu", "dimensionless", "dd/mm/yyyy", "dd.mm.yyyy", "yyyy-mm-dd", "unixtime", "posix", "bool",
    "datetime", "string",
}  # fmt: skip
_UNSCALED = {"adu", "adc", "lsb", "count", "counts", "raw", "a.u.", "au", "nu", "n/a", "no_units", "no units",
             "dimensionless"}  # fmt: skip

_VOLTAGE = re.compile(r"(nano|n|mi[ck]ro|u|milli|m|)[ -]?v(ol|olts?)?")  # an EDF file has room for 8 letters
_FACTOR = r"([0-9.,]+(e[+-]?[0-9]+)?|10\^-?[0-9]+)"
_SCALED = re.compile(
    rf"[x*\u00d7]?\s*{_FACTOR}\s*[x*\u00d7]?\s*[num]v|[num]v\s*[x*\u00d7/]\s*{_FACTOR}"
    r"|[num]v\s*(/|per)\s*(lsb|bit|count|adu|div|unit)s?"
)

_LEAD = re.compile(
    rf"(lead|ableitung|derivation|dérivation|derivación|ch|channel|kanal|d|m)?[ _.:-]*({LEAD}|cl?[1-6])", re.IGNORECASE
)
_SMALL_THEN_LARGE = re.compile(r"(?<=[a-z])(?=[A-Z])")
_AGAIN = re.compile(r"(?<=[^\d\s.])\.\d{1,2}$")  # of a name that other columns have too
_MICRO = re.compile(r"(â?[µμ]|î¼|æ|ƒê|¦ì|[?\ufffd]{1,2})(?=v)")  # of any encoding, read as another one
_UNIT_AT_END = re.compile(
    r"(?<=[a-z])(?<![Mm]illi)(?<![Mm]icro)(?<![Nn]ano)(?=(?:[NUM]v|[NUM]s|Secs?|Seconds|Millis)$)|(?<=[A-Za-z0-9])(?=[nuµμm]V$)"
)
_ECG = ("ecg", "ekg", "elektrokardio", "electrocardio", "lead", "ableitung", "экг", "心电", "心電", "심전도")
_TIME = {
    "time", "times", "timestamp", "timestamps", "t", "ts", "clock", "datetime", "date", "elapsed", "epoch", "unix",
    "zeit", "uhrzeit", "zeitstempel", "datum", "temps", "tiempo", "hora", "tempo", "heure", "sec", "secs", "second",
    "seconds", "millis", "milliseconds", "millisecond", "microseconds", "micros", "nanoseconds", "ms", "us", "ns",
    "minutes", "hours", "s", "sekunden", "время", "времени", "时间", "时间戳", "時間",
    "時刻", "시간", "czas", "tid", "tijd", "aika",
}  # fmt: skip
_NO_TIME = re.compile(r"(?<![A-Za-z0-9])[st]\d+(?![A-Za-z0-9])|^s[ _.-]+(?=.)", re.IGNORECASE)
_INDEX = {"", "index", "idx", "sample", "samples", "sample #", "sample number", "sample_number", "#", "n", "row", "no",
          "nr", "unnamed: 0", "seq", "nseq", "counter", "frame", "packet"}  # fmt: skip
_NUMBERED = re.compile(
    r"((sample|packet|pkt|frame|block|row)(number|num|nr|id|index|idx|counter|count)|index|idx|counter)"
)
_COUNTED = re.compile(r"(packet|pkt|frame|block|sequence|seq|sample)(number|no|num|nr|id|index|counter|count)?")
_PORT = re.compile(r"[IO]\d")  # a digital input or output of BITalino; its letter alone is a lead
# Words of a name that do not tell which lead.
_NO_LEAD = {"ecg", "ekg", "lead", "signal", "value", "values", "cal", "calibrated"}


class Meaning(IntEnum):
    """What a column is called like; of several candidates for a lead the greatest is preferred."""

    OTHER = 0  # another quantity, or a label
    TIME = 1
    NOTHING = 2
    VOLTAGE = 3  # no known name, but a unit of voltage
    LEAD = 4  # a lead, or "ECG"


def without_unit(name: str) -> str:
    """Return the name of a column without the unit in brackets at its end.

    >>> without_unit("MLII (mV)")
    'MLII'
    """
    return re.sub(r"\s*[\[({][^\])}]*[\])}]\s*$", "", name).strip()


def unit_of(name: str, cell: str = "") -> str:
    """Return the unit of a column in the spelling of ``UV_PER`` or ``PER_SECOND``, another unit as it is, or ``""``.

    Parameters
    ----------
    name, cell
        Of the column in the header and in the row of units.

    >>> unit_of("MLII (mV)"), unit_of("ECG_µV"), unit_of("timeMs"), unit_of("II", "microvolts"), unit_of("lead_v")
    ('mv', 'uv', 'ms', 'uv', '')
    >>> unit_of("U/V"), unit_of("II, V"), unit_of("Zeit/s")
    ('v', 'v', 's')
    """
    name = re.sub(_AGAIN, "", name)
    for text in (cell, *re.findall(r"[\[({]\s*([^\])}]*?)\s*[\])}]", name)):
        found = canonical_unit(text)
        if found:
            return found
    parted = re.sub(_UNIT_AT_END, " ", re.sub(r"[\[({].*", "", name))
    last = [word for word in re.split(r"[\s_.,/:;-]+", parted) if word]
    found = canonical_unit(last[-1]) if last else ""
    if found in ("nv", "uv", "mv") or (found in PER_SECOND and (len(last) > 1 or len(last[-1]) > 1)):
        return found if found not in ("h", "d") or last[-1].casefold() in ("hours", "days") else ""
    is_volt = (last and last[-1].casefold() in ("volt", "volts")) or re.search(r"\w *[/,] *V$", name.strip())
    return "v" if is_volt else ""


def canonical_unit(text: str) -> str:
    """Return a unit in the spelling of ``UV_PER`` or ``PER_SECOND``, another known unit in lower case, or ``""``.

    A multiple of a unit is taken for one without a scale: "mV*10" may mean either direction.

    >>> canonical_unit("µV"), canonical_unit("hh:mm:ss.mmm"), canonical_unit("(mV)"), canonical_unit("made by hand")
    ('uv', 's', 'mv', '')
    >>> canonical_unit("mV*10"), canonical_unit("0.1 mV"), canonical_unit("1 mV")
    ('raw', 'raw', 'mv')
    """
    unit = re.sub(_MICRO, "u", unicodedata.normalize("NFKC", re.sub(_MICRO, "u", text.casefold())).casefold())
    unit = unit.strip(" \t'\"[](){}").replace("μ", "u").rstrip(".")
    unit = re.sub(r"^1\s*(?=[num]?v$)", "", unit)
    if _SCALED.fullmatch(unit):
        return "raw"
    voltage = _VOLTAGE.fullmatch(unit)
    if voltage:
        return {"nano": "n", "micro": "u", "mikro": "u", "milli": "m"}.get(voltage[1], voltage[1]) + "v"
    unit = re.sub(r"^(hh:)?mm:ss([.,:]?\w+)?(\W+dd/mm/yyyy)?$", "s", unit)
    unit = unit if unit in _OTHER_UNITS else re.sub(r"(?<=[a-z]{2})s$", "", unit) if unit != "ms" else unit
    unit = _SYNONYMS.get(unit, unit)
    return unit if unit in UV_PER or unit in PER_SECOND or unit in _OTHER_UNITS else ""


def is_unscaled(unit: str, name: str = "") -> bool:
    """Return True if a unit, or a word of the name of a column without one, says that numbers are a converter's.

    >>> is_unscaled("adu"), is_unscaled("", "ecg_raw"), is_unscaled("mv", "ECG raw (mV)")
    (True, True, False)
    """
    return unit in _UNSCALED or (not unit and not _UNSCALED.isdisjoint(_words(name)))


def bare_lead(name: str) -> str:
    """Return the name of a lead in lower case without unit, words of a converter, and words that tell no lead.

    >>> bare_lead("II_raw"), bare_lead("Lead II (mV)"), bare_lead("ECG LL-RA (adu)"), bare_lead("ecg_adc")
    ('ii', 'ii', 'llra', '')
    """
    name = re.sub(_AGAIN, "", name)
    plain = re.sub(r"[\[({]([^\])}]*)[\])}]", lambda found: " " if canonical_unit(found[1]) else found[0], name)
    words = [w for w in re.split(r"[^\w+#]+|_", re.sub(_UNIT_AT_END, " ", plain)) if w]
    if len(words) > 1 and unit_of(plain) in UV_PER and canonical_unit(words[-1]) in UV_PER:
        words.pop()
    parts = " ".join(w if _is_word(w) else re.sub(_SMALL_THEN_LARGE, " ", w) for w in words).casefold().split()
    return "".join(p for p in parts if canonical_unit(p) not in _UNSCALED and p not in _NO_LEAD)


def is_index_name(name: str) -> bool:
    """Return True if a column is called like a row number, or like a number of packets.

    >>> is_index_name("Unnamed: 0"), is_index_name("Packet Number"), is_index_name("frame_id"), is_index_name("time")
    (True, True, True, False)
    """
    plain = without_unit(name).casefold()
    return plain in _INDEX or _COUNTED.fullmatch(re.sub(r"[ _.-]", "", plain)) is not None


def is_count_name(name: str) -> bool:
    """Return True if a column is called like a count and like nothing that is measured.

    >>> is_count_name("Sample Index"), is_count_name("packet_number"), is_count_name("samples"), is_count_name("frame")
    (True, True, False, False)
    """
    return _NUMBERED.fullmatch(re.sub(r"[ _.-]", "", without_unit(name).casefold())) is not None


def is_time_name(name: str) -> bool:
    """Return True if a column is called like a time: a subject or a sensor, as ``S1``, is none.

    >>> is_time_name("seconds_elapsed"), is_time_name("Phone timestamp"), is_time_name("II"), is_time_name("S1_ECG")
    (True, True, False, False)
    """
    words = _words(re.sub(_NO_TIME, "", without_unit(name)))
    return bool(words) and any(word in _TIME or word.startswith(("timestamp", "datetime")) for word in words)


def meaning(name: str, unit: str = "") -> Meaning:
    """Return what a column is called like.

    >>> [meaning(name).name for name in ("MLII", "ecg_raw", "HR (bpm)", "time_s", "x", "ECG_R_Peaks", "Lead II")]
    ['LEAD', 'LEAD', 'OTHER', 'TIME', 'NOTHING', 'OTHER', 'LEAD']
    """
    unit = unit or unit_of(name)
    plain = without_unit(name)
    words = _words(plain)
    is_of_other = unit in _OTHER_UNITS and unit not in _UNSCALED
    if _LEAD.fullmatch(plain) and not is_of_other:
        return Meaning.LEAD
    if _PORT.fullmatch(plain) and unit not in UV_PER:
        return Meaning.NOTHING
    if is_of_other or any(w in OTHER or w.startswith(OTHER_BEGIN) for w in words):
        return Meaning.OTHER
    if unit in PER_SECOND or (is_time_name(name) and unit not in UV_PER):
        return Meaning.TIME
    if any(w.startswith(_ECG) or w.endswith(("ecg", "ekg")) or _LEAD.fullmatch(w) for w in words if w != "v"):
        return Meaning.LEAD
    is_voltage = unit in UV_PER or any(w in ("voltage", "volt", "spannung", "tension") for w in words)
    return Meaning.VOLTAGE if is_voltage else Meaning.NOTHING


def is_quantity(name: str, unit: str = "") -> bool:
    """Return True if a column is called like a physical quantity that is no voltage of the heart, or has its unit.

    >>> [is_quantity(name) for name in ("HR", "heart rate", "SpO2 1", "skin (°C)", "patient_01", "stage2", "heart")]
    [True, True, True, True, False, False, False]
    """
    unit = unit or unit_of(name)
    is_unit = unit in _OTHER_UNITS and unit not in _UNSCALED
    return is_unit or any(w in QUANTITIES or w.startswith(QUANTITIES_BEGIN) for w in _words(without_unit(name)))


def is_setting_name(name: str) -> bool:
    """Return True if a column is called like a setting of a recording.

    >>> is_setting_name("ecg_gain"), is_setting_name("II offset (mV)"), is_setting_name("V1")
    (True, True, False)
    """
    return not SETTINGS.isdisjoint(_words(without_unit(name)))


def time_unit(name: str, unit: str, step: float, fs: float | None) -> str | None:
    """Return the unit of a column whose values rise by ``step`` from row to row; None if it only counts samples.

    It is the unit that the column names, or the only one that gives a sampling rate of 50-4000 Hz: in that range the
    steps of seconds, milliseconds, microseconds and nanoseconds do not overlap; those of minutes, hours and days do at
    some rates, and a rate ``fs`` that is known decides. A column that rises by 1 counts, unless its unit or a rate of
    1000 Hz says that it is in milliseconds.

    >>> time_unit("t", "", 0.004, None), time_unit("", "", 4.0, None), time_unit("", "", 1.0, None)
    ('s', 'ms', None)
    """
    if unit in PER_SECOND:
        return unit
    if is_unscaled(unit):
        return None  # ticks of some clock
    if is_index_name(name) and name and float(step).is_integer() and not (fs and abs(1000 / step / fs - 1) < 0.01):
        return None
    if step == 1.0 and not (fs and abs(fs - 1000) < 1):
        return None
    can_be_days = is_time_name(name) or not float(step).is_integer()
    units = ("s", "ms", "us", "ns", *(("d", "min", "h") if can_be_days else ()))
    fits = [u for u in units if MIN_RATE_HZ * 0.9 <= PER_SECOND[u] / step <= MAX_RATE_HZ * 1.1]
    fits.sort(key=lambda u: fs is None or abs(PER_SECOND[u] / step / fs - 1) > 0.01)
    if not fits and not is_time_name(name):
        return None
    return fits[0] if fits else "s"


def _words(name: str) -> list[str]:
    """Return the words of a name in lower case, without digits at their ends.

    >>> _words("LeadValue_2"), _words("aVR_mV"), _words("SpO2 1")
    (['lead', 'value'], ['avr', 'm', 'v'], ['spo2'])
    """
    parts = [p for p in re.split(r"[^\w+#-]+|_|-", name) if p]
    words = [w for p in parts for w in ([p] if _is_word(p) else re.sub(_SMALL_THEN_LARGE, " ", p).split())]
    return [w.casefold() if _is_word(w) else w.casefold().rstrip("0123456789") for w in words if not w.isdigit()]


def _is_word(text: str) -> bool:
    """Return True if a text is a word as it is: a lead, or another quantity."""
    return _LEAD.fullmatch(text) is not None or text.casefold() in OTHER
