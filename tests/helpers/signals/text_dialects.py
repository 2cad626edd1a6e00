"""Text files of a known ECG in the dialects of devices and programs, drawn by Hypothesis."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from beatwire.recordings.synthetic.person import synthetic_recording
from beatwire.records import F64
from hypothesis import strategies as st

CLOCKS = ("none", "s", "ms", "us", "ns", "epoch s", "epoch ms", "epoch ns", "clock", "clock at midnight", "dates",
          "German dates", "whole seconds", "jitter", "count", "count 0-15", "12-hour clock",
          "digits", "minutes", "packets")  # fmt: skip
EXTRAS = ("none", "HR (bpm)", "acc_x", "label", "constant", "second clock", "battery", "counter", "marker", "date")
UNITS = ("none", "(mV)", "[uV]", "_mV", " µV", "row mV", "row μV", "(microvolts)", " [V]", "/V", ", µV", "head")
HEADS = ("none", "remarks", "keys", "JSON", "title", "German keys", "section", "values", "dated")
LINES = ("\n", "\r\n", "\r")
ENCODINGS = ("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "cp1252")
UV_OF = {"(mV)": 1e3, "[uV]": 1.0, "_mV": 1e3, " µV": 1.0, "row mV": 1e3, "row μV": 1.0, "(microvolts)": 1.0,
         " [V]": 1e6, "/V": 1e6, ", µV": 1.0, "head": 1e3, "none": 1e3}  # fmt: skip
TIME_NAMES = ("time", "t", "Zeit", "seconds_elapsed", "x", "when", "Timestamp", "", "time_sec", "A", "col 1")
LEAD_NAMES = ("ECG", "II", "MLII", "ekg", "Lead I", "V5", "value", "Kanal 1", "A1", "chest", "ecg_raw")
_AGREES = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9, "epoch s": 1.0, "epoch ms": 1e3, "epoch ns": 1e9}


@dataclass(frozen=True)
class Dialect:
    """One way to write a table."""

    rate_hz: float
    clock: str
    extra: str
    unit: str
    head: str
    names: bool
    time_name: str
    lead_name: str
    delimiter: str
    decimal: str
    index: str
    trailing: bool
    quoted: bool
    line: str
    encoding: str
    seed: int


@st.composite
def dialects(draw: st.DrawFn) -> Dialect:
    """Draw a dialect that a program could write."""
    decimal = draw(st.sampled_from(".,"))
    names = draw(st.booleans())
    unit = draw(st.sampled_from(UNITS if names else ("none", "head")))
    encoding = draw(st.sampled_from(ENCODINGS))
    clock = draw(st.sampled_from(CLOCKS))
    in_seconds = clock not in ("ms", "us", "ns", "epoch ms", "epoch ns", "count", "count 0-15", "minutes")
    return Dialect(
        rate_hz=draw(st.sampled_from((128.0, 200.0, 250.0, 500.0, 512.0))),
        clock=clock,
        extra=draw(st.sampled_from(EXTRAS if names else ("none", "second clock", "counter", "constant"))),
        unit="row mV" if unit == "row μV" and encoding == "cp1252" else unit,
        head=draw(st.sampled_from(HEADS)) if unit != "head" else draw(st.sampled_from(("keys", "German keys"))),
        names=names,
        time_name=draw(st.sampled_from(TIME_NAMES).filter(lambda name: in_seconds or "sec" not in name)),
        lead_name=draw(st.sampled_from(LEAD_NAMES)),
        delimiter=draw(st.sampled_from((";", "\t") if decimal == "," else (";", "\t", ",", ", ", "|"))),
        decimal=decimal,
        index=draw(st.sampled_from(("none", "none", "pandas", "R"))) if names else "none",
        trailing=draw(st.booleans()),
        quoted="," in unit or draw(st.booleans()),
        line=draw(st.sampled_from(LINES)),
        encoding=encoding,
        seed=draw(st.integers(0, 2)),
    )


def truth_of(dialect: Dialect) -> F64:
    """Return the ECG in millivolts."""
    recording = synthetic_recording(f"synthetic:seconds=12,seed={dialect.seed}", rate_hz=dialect.rate_hz)
    return recording.samples[0] * recording.uv_per_unit / 1000.0


def write(path: Path, dialect: Dialect) -> None:
    """Write the ECG in a dialect."""
    mv = truth_of(dialect)
    n = len(mv)
    t = np.arange(n) / dialect.rate_hz
    uv = UV_OF[dialect.unit]
    digits = {1e3: 4, 1.0: 1, 1e6: 7}[uv]
    columns: list[tuple[str, str, list[str]]] = []
    if dialect.clock != "none":
        columns.append(
            (dialect.time_name, dialect.clock if dialect.clock in ("s", "ms", "us", "ns") else "", _clock(dialect, t))
        )
    unit_row = {"row mV": "mV", "row μV": "μV"}.get(dialect.unit, "")
    suffix = "" if dialect.unit in ("none", "head") or unit_row else dialect.unit
    values = [f"{v * 1e3 / uv:.{digits}f}" for v in mv]
    columns.append((dialect.lead_name + (f" {suffix}" if suffix[:1] == "(" else suffix), unit_row, values))
    if dialect.extra != "none":
        columns.append((*_extra(dialect, t),))  # type: ignore[arg-type]
    if dialect.index != "none":
        columns.insert(0, ("", "", [f'"{k + 1}"' if dialect.index == "R" else str(k) for k in range(n)]))
    end = dialect.delimiter.strip(" ") if dialect.trailing and len(columns) > 1 else ""
    lines = _head(dialect)
    if dialect.names:
        listed = [f'"{name}"' if dialect.quoted else name for name, _, _ in columns][dialect.index == "R" :]
        lines.append(dialect.delimiter.join(listed) + end)
        if unit_row:
            lines.append(dialect.delimiter.join(unit for _, unit, _ in columns) + end)
    for cells in zip(*(cells for _, _, cells in columns), strict=True):
        row = [c.replace(".", dialect.decimal) if _is_plain(c) else c for c in cells]
        lines.append(dialect.delimiter.join(row) + end)
    path.write_bytes((dialect.line.join(lines) + dialect.line).encode(dialect.encoding))


def _is_plain(cell: str) -> bool:
    return cell.lstrip("-").replace(".", "", 1).isdigit()


def _clock(dialect: Dialect, t: F64) -> list[str]:
    kind = dialect.clock
    if kind in _AGREES:
        per = _AGREES[kind]
        start = 1_782_345_678 if "epoch" in kind else 0
        return [f"{start + v:.4f}" if per == 1.0 else str(round(start * int(per)) + round(v * per)) for v in t.tolist()]
    if kind == "digits":
        return [f"20260203{_of_day(36000 + v, 4).replace(':', '')}" for v in t.tolist()]
    if kind == "minutes":
        return [f"{v / 60:.9f}" for v in t.tolist()]
    if kind == "packets":
        each = 24  # of which all files of these rates have whole ones
        return [f"{(k // each + 1) * each * t[1] + k % each * 1e-5:.5f}" for k in range(len(t))]
    if kind in ("count", "count 0-15"):
        return [str(k % 16 if "0-15" in kind else k) for k in range(len(t))]
    if kind == "jitter":
        return [f"{v:.5f}" for v in t + np.random.default_rng(dialect.seed).uniform(-0.002, 0.002, len(t))]
    if kind == "whole seconds":
        return [_of_day(36000 + int(v), 0) for v in t.tolist()]
    if kind == "clock at midnight":
        return [_of_day((86395 + v) % 86400, 4) for v in t.tolist()]
    if kind == "12-hour clock":
        return [_of_day((43195 + v - 1) % 43200 + 1, 4) for v in t.tolist()]
    if kind == "dates":
        return [f"2026-02-03T{_of_day(36000 + v, 4)}" for v in t.tolist()]
    if kind == "German dates":
        return [f"03.02.2026 {_of_day(36000 + v, 4)}" for v in t.tolist()]
    return [_of_day(36000 + v, 4) for v in t.tolist()]


def _of_day(seconds: float, digits: int) -> str:
    units = round(seconds * 10**digits)
    whole, part = divmod(units, 10**digits)
    text = f"{whole // 3600:02d}:{whole // 60 % 60:02d}:{whole % 60:02d}"
    return f"{text}.{part:0{digits}d}" if digits else text


def _extra(dialect: Dialect, t: F64) -> tuple[str, str, list[str]]:
    rng = np.random.default_rng(dialect.seed + 9)
    n = len(t)
    values = {
        "HR (bpm)": [str(72 + k // 150 % 3) for k in range(n)],
        "acc_x": [f"{v:.3f}" for v in rng.normal(0, 1, n)],
        "label": ["N" if k % 200 else "V" for k in range(n)],
        "constant": ["0"] * n,
        "second clock": [f"{v * 1000 + 7:.3f}" for v in t],
        "battery": [f"{3.7 - v * 1e-4:.4f}" for v in t],
        "counter": [str(k % 256) for k in range(n)],
        "marker": ["1" if k % 777 == 5 else "0" for k in range(n)],
        "date": ["2026-02-03"] * n,
    }[dialect.extra]
    return dialect.extra, "", values


def _head(dialect: Dialect) -> list[str]:
    rate = f"{dialect.rate_hz:g}"
    unit = "mV" if dialect.unit == "head" else ""
    return {
        "none": [],
        "remarks": ["# recorded by hand", "#", "# subject 7, sitting"],
        "keys": ["Name: Test Person", f"Sample Rate: {rate} Hz", *([f"Unit: {unit}"] if unit else []), ""],
        "German keys": ["Name: Test", f"Abtastrate: {rate},000 Hertz", *([f"Einheit: {unit}"] if unit else []), ""],
        "JSON": [f'# {{"device": "x", "sampling rate": {rate}}}'],
        "section": ["[Header]", "Device=X", "Filter=0.5-40 Hz", "[Data]"],
        "values": ["Age,67", "Weight,80.5 kg", "Filter,0.5-40 Hz"],
        "dated": ["Export 01.03.2026 10:00:00", "Version 1.2.3"],
        "title": ["An ECG of a test person", ""],
    }[dialect.head]
