"""What a signal of a recording is, from the unit and the name that its file gives it.

A unit is a voltage, another known quantity, or unknown. A name is that of an ECG lead, of another signal, or neither.
"""

import re

from beatwire.recordings.columns.lead_names import LEAD
from beatwire.recordings.columns.names import UV_PER, canonical_unit, is_unscaled

# Units of other quantities that only headers of signals have; those of columns are in ``names``.
_OTHER_UNITS = {
    "pct", "percent", "ppm", "vol%", "mm[hg]", "cmh2o", "bar", "ºc", "celsius", "degf", "rad", "l", "ml", "l/m",
    "ml/min", "l/s", "ml/s", "mohm", "us", "siemens", "microsiemen", "/min", "{h.b.}/min", "brpm", "rpm", "min-1", "pm",
    "khz", "boolean", "cm", "mm", "m", "m/s", "t", "ua", "na", "w", "kg", "n", "db", "dbm", "lx", "mmol/l",
}  # fmt: skip

_LEAD = re.compile(
    rf"{LEAD}|v[eh]|mcl?\d?|c[cmsrbh]\d|[xyz]|es|as|ai|[lr][al][-_ ]?[lr][al]|lead.*|einthoven.*|chest.*|precordial.*"
)
_ECG = re.compile(r"(?<![a-z])(ecg|ekg|electrocardiogra\w*|elektrokardiogra\w*)|ecg(?![a-z])")
_OTHER = re.compile(
    r"(?<![a-z])(eeg|eog|emg|erg|egg|ieeg|seeg|ecog|resp\w*|thor\w*|abdo\w*|flow|airflow|nasal\w*|cannula|effort|snor\w*|"
    r"pleth\w*|ppg\w*|pulse\w*|spo2|sao2|o2sat|osat|etco2|co2|abp\w*|art|bp|cvp|pap|icp|nibp|pressure|temp\w*|gsr|eda|"
    r"scr|scl|acc\w*|gyro\w*|mag\w*|pos|position|body|light|sound|mic|audio|trig\w*|trigger|stim\w*|marker\w*|event\w*|"
    r"status|stat|hr|heart ?rate|bpm|rate|rr|pr|batt?\w*|time\w*|clock|index|sample\w*|digital \w*|annotations?|chin|"
    r"leg|tibialis|crc|sync|imu|force|torque|angle|[lr]oc)(?![a-z])"
)
_ELECTRODE = r"(?:fp|af|fc|ft|cp|tp|po|[fctpo])(?:z|\d{1,2})"  # of the head; C1 to C6 alone are on the chest
_LETTER = re.compile(r"[fctpo]\d{1,2}([-:](ref|avg?|le))?")  # a name that other signals have too
_HEAD = re.compile(r"(?<![a-z])(eeg|ieeg|seeg|ecog|eog|[lr]oc)(?![a-z])")
_EEG = re.compile(rf"(?!c[1-6]$){_ELECTRODE}|(?:{_ELECTRODE}|e[12])[-:](?:{_ELECTRODE}|[am][12]|ref|avg?|le)")


def uv_per_unit_of(unit: str | None) -> float | None:
    """Return the microvolts of a unit, 0 if it is not known, None if it is that of another quantity.

    >>> uv_per_unit_of("mV"), uv_per_unit_of("adu"), uv_per_unit_of("mmHg")
    (1000.0, 0.0, None)
    """
    known = canonical_unit(unit or "")
    if known in UV_PER:
        return UV_PER[known]
    text = (unit or "").strip().strip("()").casefold().replace("µ", "u")
    is_other = (known and not is_unscaled(known)) or not {text, text.removesuffix("s")}.isdisjoint(_OTHER_UNITS)
    return None if is_other else 0.0


def is_ecg(name: str) -> bool:
    """Return True if a name is that of an ECG, or of one of its leads.

    >>> [is_ecg(name) for name in ("ECG1", "MLII", "aVR", "EKG LA-RA", "Resp", "C3-A2")]
    [True, True, True, True, False, False]
    """
    text = name.strip().casefold()
    return _ECG.search(text) is not None or _LEAD.fullmatch(text) is not None


def is_other(name: str) -> bool:
    """Return True if a name is that of a signal which is no ECG.

    >>> [is_other(name) for name in ("EEG Fpz-Cz", "Pleth", "SpO2 1", "C3-A2", "ECG Resp", "V5", "C3", "ADC 3")]
    [True, True, True, True, False, False, False, False]
    """
    text = name.strip().casefold()
    return not is_ecg(name) and (_OTHER.search(text.replace("_", " ")) is not None or _EEG.fullmatch(text) is not None)


def is_of_head(name: str) -> bool:
    """Return True if a name is that of a signal of the head and of nothing else.

    >>> [is_of_head(name) for name in ("Fp1", "Fz", "C3-A2", "EEG 1", "ROC", "P1", "C1-REF", "C1", "Resp")]
    [True, True, True, True, True, False, False, False, False]
    """
    text = name.strip().casefold()
    is_electrode = _EEG.fullmatch(text) is not None and _LETTER.fullmatch(text) is None
    return is_other(name) and (is_electrode or _HEAD.search(text.replace("_", " ")) is not None)


def may_be_of_head(name: str) -> bool:
    """Return True if a name is that of an electrode of the head, but so short that another signal may have it.

    >>> [may_be_of_head(name) for name in ("P1", "O1", "C1-REF", "Fp1", "Fz", "C3-A2", "C1")]
    [True, True, True, False, False, False, False]
    """
    text = name.strip().casefold()
    return is_other(name) and _EEG.fullmatch(text) is not None and _LETTER.fullmatch(text) is not None
