"""Beat detectors of other packages as :class:`Detect` callables; they run over the whole first lead at once.

SleepECG, NeuroKit2 (its own method and its Pan-Tompkins) and wfdb's XQRS. The extra ``bench`` installs them; a rival
whose package is not installed is listed by name.
"""

import contextlib
import importlib.util
import io
import warnings
from collections.abc import Callable

import numpy as np

from beatwire.errors import UserError, reason
from beatwire.evaluation.beats.detection import Cuts, Detect, Detected
from beatwire.recordings import NO_VALUE
from beatwire.records import F64, I16, I64

_PACKAGE = {"sleepecg": "sleepecg", "neurokit2": "neurokit2", "neurokit2-pantompkins1985": "neurokit2", "xqrs": "wfdb"}


def _sleepecg(lead: F64, rate_hz: float) -> I64:
    from sleepecg.heartbeats import detect_heartbeats

    return np.asarray(detect_heartbeats(lead, rate_hz), np.int64)


def _neurokit(method: str) -> Callable[[F64, float], I64]:
    def detect(lead: F64, rate_hz: float) -> I64:
        import neurokit2

        rate = int(rate_hz)
        cleaned = neurokit2.ecg_clean(lead, sampling_rate=rate, method=method)
        _, peaks = neurokit2.ecg_peaks(cleaned, sampling_rate=rate, method=method)
        return np.asarray(peaks["ECG_R_Peaks"], np.int64)

    return detect


def _xqrs(lead: F64, rate_hz: float) -> I64:
    from wfdb.processing import XQRS

    detector = XQRS(sig=lead, fs=rate_hz)
    detector.detect(verbose=False)
    return np.asarray(detector.qrs_inds, np.int64)


_DETECTOR: dict[str, Callable[[F64, float], I64]] = {
    "sleepecg": _sleepecg,
    "neurokit2": _neurokit("neurokit"),
    "neurokit2-pantompkins1985": _neurokit("pantompkins1985"),
    "xqrs": _xqrs,
}


def rivals() -> tuple[dict[str, Detect], list[str]]:
    """Return the rivals that are installed, and the names of those that are not."""
    installed = [name for name, package in _PACKAGE.items() if importlib.util.find_spec(package)]
    return {name: _as_detect(name) for name in installed}, [n for n in _PACKAGE if n not in installed]


def _as_detect(name: str) -> Detect:
    """Return a :class:`Detect` that runs a rival over the first lead in millivolts, gaps interpolated.

    What it raises is a UserError: its record has failed, and no other.
    """

    def detect(samples: I16, rate_hz: float, uv_per_unit: float, cuts: Cuts) -> Detected:  # noqa: ARG001
        lead = samples[0].astype(np.float64)
        gap = samples[0] == NO_VALUE
        if gap.any() and not gap.all():
            index = np.flatnonzero(~gap)
            lead = np.interp(np.arange(len(lead)), index, lead[index])
        millivolts = lead * (uv_per_unit / 1e3 if uv_per_unit > 0 else 1.0 / max(float(lead.std()), 1e-9))
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            try:
                return Detected(np.unique(_DETECTOR[name](millivolts, rate_hz)))
            except Exception as error:
                said = " ".join(reason(error).split())
                raise UserError(f"{name}: expected beats; got {type(error).__name__}: {said}") from error

    return detect
