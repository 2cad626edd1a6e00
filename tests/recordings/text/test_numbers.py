"""Numbers with signs between thousands, times in digits, codes for "no value", and times of two rates."""

import contextlib
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from beatwire.errors import UserError
from beatwire.recordings import read_recording
from beatwire.recordings.codes import without_codes
from beatwire.recordings.columns.evenrate import rate_and_positions
from beatwire.recordings.read import as_recording
from beatwire.recordings.synthetic.person import synthetic_recording
from beatwire.recordings.text.head import read_head
from draws import draws
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

RATE_HZ = 250.0
UV = synthetic_recording("synthetic:seconds=12,seed=3", rate_hz=RATE_HZ).samples[0].astype(int)
T = np.arange(len(UV)) / RATE_HZ

drawn = settings(max_examples=draws(30), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def grouped(value: int, sign: str) -> str:
    return f"{value:,}".replace(",", sign)


@drawn
@given(
    st.sampled_from((("nV", 1000), ("uV", 1))), st.sampled_from((",", ".", "'", " ", "\u00a0", "\u202f")),
    st.sampled_from((";", "\t", "|", ",")), st.booleans(), st.booleans(),
)  # fmt: skip
def test_signs_between_thousands_are_no_decimal_signs(
    tmp_path: Path, unit: tuple[str, int], sign: str, delimiter: str, has_clock: bool, is_clock_grouped: bool
) -> None:
    assume(has_clock or (unit[1] == 1 and sign != " "))  # without a clock, 123,000 in every row may be decimals
    decimal = "," if sign == "." else "."
    if delimiter == "," and decimal == ",":
        delimiter = ";"
    quote = '"' if delimiter == "," else ""
    rows = []
    for k, v in enumerate(UV.tolist()):
        clock = grouped(4 * k, sign) if is_clock_grouped else f"{T[k] * 1000:.1f}".replace(".", decimal)
        cells = [clock] * has_clock + [grouped(v * unit[1], sign)]
        rows.append(delimiter.join(f"{quote}{cell}{quote}" for cell in cells))
    head = delimiter.join(["time (ms)"] * has_clock + [f"ECG ({unit[0]})"])
    path = tmp_path / "x.csv"
    path.write_text("\n".join([head, *rows]) + "\n", encoding="utf-8")
    recording = read_recording(path, fs=None if has_clock else RATE_HZ)
    found = recording.samples[0] * recording.uv_per_unit
    assert recording.rate_hz == RATE_HZ
    assert recording.samples.shape == (1, len(UV))
    assert np.abs(found - UV - np.median(found - UV)).max() < 1


@drawn
@given(st.sampled_from((".", ",")), st.sampled_from((3, 4)), st.floats(0, 4), st.booleans())
def test_decimals_of_three_digits_are_no_thousands(
    tmp_path: Path, decimal: str, digits: int, offset: float, has_dropout: bool
) -> None:
    mv = np.round(UV / 1000.0 + offset, digits)
    cells = [f"{v:.{digits}f}".replace(".", decimal) for v in mv.tolist()]
    cells[700] = "0" if has_dropout else cells[700]
    path = tmp_path / "x.csv"
    path.write_text("ECG (mV)\n" + "\n".join(cells) + "\n")
    recording = read_recording(path, fs=RATE_HZ)
    found = recording.samples[0] * recording.uv_per_unit / 1000.0
    others = np.arange(len(mv)) != 700
    assert np.abs(found - mv)[others].max() < 0.002


def test_dates_in_digits_are_times(tmp_path: Path) -> None:
    stamps = np.datetime64("2026-03-05T09:59:55.000") + (T * 1000).astype("m8[ms]")
    digits = ["".join(c for c in str(s) if c.isdigit()) for s in stamps]
    for name, cells in {"milliseconds": digits, "seconds": [d[:14] for d in digits]}.items():
        path = tmp_path / f"{name}.csv"
        path.write_text("when,ECG\n" + "".join(f"{c},{v / 1000:.4f}\n" for c, v in zip(cells, UV, strict=True)))
        recording = read_recording(path)
        assert (recording.rate_hz, recording.samples.shape) == (RATE_HZ, (1, len(UV)))


@pytest.mark.parametrize(
    ("name", "origin", "per_s"),
    [("DateTime", 45000.5, 1 / 86400), ("time", 739000.5, 1 / 86400), ("time", 0.0, 1 / 60), ("Time", 3.0, 1 / 3600)],
)
def test_times_in_days_hours_and_minutes_are_found_by_their_steps(
    tmp_path: Path, name: str, origin: float, per_s: float
) -> None:
    path = tmp_path / "x.csv"
    rows = "".join(f"{origin + t * per_s:.10f},{v / 1000:.4f}\n" for t, v in zip(T, UV, strict=True))
    path.write_text(f"{name},ECG\n{rows}")
    recording = read_recording(path)
    assert (recording.rate_hz, recording.samples.shape) == (RATE_HZ, (1, len(UV)))


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("form", ["%a %b %d %H:%M:%S.{ms} %Y", "%d %b %Y %H:%M:%S.{ms}", "0 days %H:%M:%S.{ms}000"])
def test_dates_with_names_of_months_and_durations_are_times(form: str, delimiter: str, tmp_path: Path) -> None:
    path, start = tmp_path / "x.csv", datetime(2026, 10, 25, 9, 59, 58, tzinfo=UTC)
    times = [start + timedelta(seconds=t) for t in T.tolist()]
    texts = [t.strftime(form.format(ms=f"{round(t.microsecond / 1000):03d}")) for t in times]
    rows = "".join(f"{t}{delimiter}{v}\n" for t, v in zip(texts, UV, strict=True))
    path.write_text(f"time{delimiter}ECG (uV)\n{rows}")
    recording = read_recording(path)
    assert (recording.rate_hz, recording.leads) == (RATE_HZ, ("ECG",))
    assert np.array_equal(recording.samples, UV[None])


def test_the_smallest_integer_of_16_bits_is_no_value(tmp_path: Path) -> None:
    values = UV.copy()
    values[700:720] = -32768
    path = tmp_path / "x.csv"
    path.write_text("ECG (uV)\n" + "\n".join(map(str, values)) + "\n")
    recording = read_recording(path, fs=RATE_HZ)
    assert np.array_equal(recording.samples[0], values)
    assert f'-32768 is taken for "no value": 20 of {len(values)} values' in recording.notes
    path.write_text("ECG (uV)\n" + "\n".join(map(str, [*values, 40000])) + "\n")
    assert (read_recording(path, fs=RATE_HZ).samples[0] > -32768).all()


@drawn
@given(st.sampled_from((-9998.0, -1000.0, 1e6, 32767.0)), st.integers(1, 25), st.integers(0, len(UV) - 30))
def test_a_few_numbers_far_outside_do_not_coarsen_the_others(tmp_path: Path, code: float, count: int, at: int) -> None:
    mv = UV / 1000.0
    mv[at : at + count] = code
    path = tmp_path / "x.csv"
    path.write_text("ECG (mV)\n" + "\n".join(f"{v:.4f}" for v in mv) + "\n")
    recording = read_recording(path, fs=RATE_HZ)
    found = recording.samples[0] * recording.uv_per_unit / 1000.0
    error = np.delete(found - mv, np.arange(at, at + count))
    assert np.abs(error - np.median(error)).max() < 0.02
    said = f"{count} values far beyond the others are clipped" if count == 1 else f'"no value": {count} of {len(UV)}'
    assert said in " ".join(recording.notes)


@drawn
@given(
    st.sampled_from([[65535], [8388607], [-8388608, 8388607], [4095], [1e6], [1e30, -1e30], [1.7e308], None]),
    st.sampled_from(["one stretch", "here and there"]), st.floats(0.001, 0.4), st.integers(0, 99),
)  # fmt: skip
def test_numbers_far_outside_do_not_coarsen_the_others_however_many_they_are(
    tmp_path: Path, limits: list[float] | None, where: str, share: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    share = share if limits is not None else 0.5 * share  # without one limit, most stretches have to be without
    begin, count = rng.integers(0, len(UV) // 2), 2 + int(share * len(UV))
    mv, at = UV / 1000.0, np.arange(begin, begin + count)
    if where == "here and there" and limits is not None:
        at = rng.choice(len(UV), count, replace=False)
    mv[at] = rng.uniform(1e3, 1e7, count) if limits is None else np.resize(limits, count)
    (tmp_path / "x.csv").write_text("ECG (mV)\n" + "\n".join(map(str, mv)) + "\n")
    recording = read_recording(tmp_path / "x.csv", fs=RATE_HZ)
    error = np.delete(recording.samples[0] * recording.uv_per_unit - UV, at)
    assert np.abs(error - np.median(error)).max() < 20
    assert 'is taken for "no value"' in " ".join(recording.notes) or "are clipped" in " ".join(recording.notes)


@drawn
@given(st.floats(0.001, 900.0).filter(lambda size: round(size) != 99), st.integers(0, 3), st.booleans())
def test_the_peaks_of_a_clean_ecg_are_values_whatever_their_size(size: float, digits: int, is_spike: bool) -> None:
    mv = np.zeros(5000)
    mv[100::200] = 1.0
    if not is_spike:
        mv = np.convolve(mv, np.hanning(9), "same") + 1e-3 * np.sin(np.arange(5000))
    found, notes = without_codes([np.round(mv * size, digits)])
    assert np.isfinite(found[0]).all()
    assert notes == ()


def test_a_wide_range_of_millivolts_is_as_fine_as_16_bits_allow(tmp_path: Path) -> None:
    mv = UV / 1000.0 + np.linspace(-150, 150, len(UV))
    path = tmp_path / "x.csv"
    path.write_text("ECG (mV)\n" + "\n".join(f"{v:.4f}" for v in mv) + "\n")
    assert read_recording(path, fs=RATE_HZ).uv_per_unit < 160_000 / 32767


def test_a_row_that_repeats_a_time_or_is_swapped_is_no_gap(tmp_path: Path) -> None:
    repeated, swapped = T.copy(), T.copy()
    repeated[700] = T[699]
    swapped[[700, 701]] = T[[701, 700]]
    for name, times in {"repeated": repeated, "swapped": swapped}.items():
        path = tmp_path / f"{name}.csv"
        path.write_text("time,ECG\n" + "".join(f"{t:.3f},{v / 1000:.4f}\n" for t, v in zip(times, UV, strict=True)))
        recording = read_recording(path)
        assert (recording.rate_hz, recording.samples.shape) == (RATE_HZ, (1, len(UV)))


@settings(deadline=None, max_examples=draws(60))
@given(
    rate_hz=st.sampled_from([500.0, 512.0, 1000.0]), jitter=st.floats(0.2, 0.3), seed=st.integers(0, 9999),
    seconds=st.integers(12, 40),
)  # fmt: skip
def test_times_that_jitter_by_a_part_of_a_step_have_the_rate_and_no_gaps(
    rate_hz: float, jitter: float, seed: int, seconds: int
) -> None:
    rows = np.arange(round(rate_hz * seconds))
    off = np.clip(np.random.default_rng(seed).normal(0, jitter, len(rows)), -0.9, 0.9)
    found_hz, position, _ = rate_and_positions("x", "time", (rows + off) / rate_hz, None)
    assert abs(found_hz / rate_hz - 1) < 1e-3
    assert position is None


@drawn
@given(st.sampled_from((0.5, 0.8, 1.25, 1.5, 2.0)), st.floats(0.3, 0.7))
def test_times_of_two_rates_are_refused_or_are_gaps(tmp_path: Path, slower: float, change: float) -> None:
    n = 30 * 250
    steps = np.where(np.arange(n) < change * n, 1.0, slower) / RATE_HZ
    times = np.cumsum(steps)
    path = tmp_path / "x.csv"
    path.write_text("time,ECG\n" + "".join(f"{t:.4f},{UV[k % len(UV)] / 1000:.4f}\n" for k, t in enumerate(times)))
    with contextlib.suppress(UserError):
        recording = read_recording(path)
        duration_s = recording.samples.shape[1] / recording.rate_hz
        assert abs(duration_s / times[-1] - 1) < 0.02
        assert any("gaps" in note for note in recording.notes)
        return
    with pytest.raises(UserError, match="expected one sampling rate; the times of column 'time' give"):
        read_recording(path)


@pytest.mark.parametrize(
    ("lines", "rate_hz", "unit"),
    [
        (["Messrate,512 Hertz", "Einheit,µV"], 512.0, "uv"),
        (["サンプルレート,512ヘルツ", "単位,µV"], 512.0, "uv"),
        (["Частота,500 Гц", "Единица,мкВ"], 500.0, "uv"),
        (["采样率: 0.5 kHz", "单位: 毫伏"], 500.0, "mv"),
        (["Samplingsfrekvens;256 Hz", "Enhet;mV"], 256.0, "mv"),
        (["%fs 250"], 250.0, ""),
        (["Filter: 100 Hz", "Notch: 50 Hz"], None, ""),
    ],
)
def test_rate_and_unit_of_a_head_are_found_in_any_language(lines: list[str], rate_hz: float | None, unit: str) -> None:
    facts = read_head(lines)
    assert (facts.rate_hz, facts.unit) == (rate_hz, unit)


@drawn
@given(st.sampled_from(("-999", "999", "-9999", "99999.0", "-2147483648")), st.integers(10, 200), st.integers(0, 99))
def test_a_number_that_stands_for_no_value_is_none_and_is_said(
    tmp_path: Path, code: str, every: int, shift: int
) -> None:
    missing = np.arange(len(UV)) % every == shift % every
    rows = [f"{t:.3f},{code if gone else f'{v / 1000:.4f}'}" for t, v, gone in zip(T, UV, missing, strict=True)]
    path = tmp_path / "x.csv"
    path.write_text("\n".join(["time_s,ECG (mV)", *rows]) + "\n")
    recording = read_recording(path)
    found = recording.samples[0] * recording.uv_per_unit
    assert np.abs(found - UV)[~missing].max() < 1
    assert (recording.samples[0][missing] == -32768).all()
    assert any('is taken for "no value"' in note for note in recording.notes)


@pytest.mark.parametrize("unit", ["mV*10", "0.1 mV", "10uV", "mV/10", "uV/LSB", "x10 mV"])
def test_a_multiple_of_a_unit_is_not_taken_for_the_unit(tmp_path: Path, unit: str) -> None:
    path = tmp_path / "x.csv"
    path.write_text("\n".join([f"time_s,ECG ({unit})", *(f"{t:.3f},{v / 100}" for t, v in zip(T, UV, strict=True))]))
    recording = read_recording(path)
    assert recording.uv_per_unit == 0
    assert any("not calibrated" in note for note in recording.notes)


@settings(deadline=None, max_examples=draws(20))
@given(stated=st.sampled_from(["V", "mV", "uV"]), truly=st.sampled_from(["V", "mV", "uV"]), seed=st.integers(0, 9))
def test_a_size_that_no_heart_has_by_the_stated_unit_is_said(stated: str, truly: str, seed: int) -> None:
    uv = {"V": 1e6, "mV": 1e3, "uV": 1.0}
    one = synthetic_recording(f"synthetic:seconds=20,seed={seed}", rate_hz=250)
    values = one.samples[0] * one.uv_per_unit / uv[truly]
    notes = " ".join(as_recording(values, 250, units=stated).notes)
    factor = uv[stated] / uv[truly]
    assert ("more than a heart" in notes, "less than a heart" in notes) == (factor > 1, factor < 1)


@drawn
@given(st.integers(1, 4), st.booleans(), st.booleans(), st.integers(0, 99), st.integers(0, 3))
def test_whole_numbers_are_cells_whatever_their_signs(
    tmp_path: Path, leads: int, has_names: bool, in_quotes: bool, at: int, lead: int
) -> None:
    rows = [[str(round(v) * (k + 1)) for k in range(leads)] for v in UV]
    rows[at][lead % leads] = "-0"
    names = [f"ECG {k} (uV)" for k in range(leads)]
    cells = [[str(4 * k) for k in range(len(rows))], *zip(*rows, strict=True)]
    lines = [*([["t_ms", *names]] if has_names else []), *zip(*cells, strict=True)]
    quote = '"' if in_quotes else ""
    text = "\n".join(",".join(f"{quote}{cell}{quote}" for cell in line) for line in lines) + "\n"
    (tmp_path / "x.csv").write_text(text)
    assert read_recording(tmp_path / "x.csv", fs=None if has_names else 250.0).samples.shape == (leads, len(UV))
