"""A clock in two columns, whole seconds and their parts, is one clock: rate, gaps and late rows are found by both."""

from itertools import count
from typing import Any

import numpy as np
import pandas as pd
import pytest
from beatwire.recordings import NO_VALUE, as_recording, read_blocks
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st
from sources import heart

NUMBER = count()
FORMS: dict[str, Any] = {
    "clock": lambda s: [f"{x % 86400 // 3600:02d}:{x % 3600 // 60:02d}:{x % 60:02d}" for x in s],
    "seconds": lambda s: s, "epoch": lambda s: s + 1_700_000_000,
    "date": lambda s: (pd.Timestamp("2024-03-30") + pd.to_timedelta(s, unit="s")).strftime("%d.%m.%Y %H:%M:%S"),
}  # fmt: skip


@settings(max_examples=draws(80), deadline=None)
@given(
    rate=st.sampled_from([62.5, 128.0, 200.0, 250.0, 333.3, 500.0, 1000.0]), form=st.sampled_from(sorted(FORMS)),
    unit=st.sampled_from(["ms", "us"]), start=st.sampled_from([0.0, 5.25, 86396.5]), gap_s=st.floats(0, 3),
    is_late=st.booleans(), way=st.sampled_from(["file", "frame", "blocks"]),
)  # fmt: skip
def test_seconds_and_their_parts_in_two_columns_are_one_clock(
    rate: float, form: str, unit: str, start: float, gap_s: float, is_late: bool, way: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:  # fmt: skip
    mv = np.round(heart(rate, 12), 4)
    n = len(mv)
    begin, end = n // 3, n // 3 + round(gap_s * rate)
    rows = np.delete(np.arange(n), slice(begin, end))
    if is_late and way != "blocks":
        rows[[n // 5, n // 5 + 1]] = rows[[n // 5 + 1, n // 5]]
    per = {"ms": 1_000, "us": 1_000_000}[unit]
    ticks = np.rint((start + rows / rate) * per).astype(np.int64)
    columns = {"time": FORMS[form](ticks // per), unit: ticks % per, "II (mV)": mv[rows]}
    source: Any = pd.DataFrame(columns)
    path = tmp_path_factory.getbasetemp() / f"parts{next(NUMBER)}.csv"
    source.to_csv(path, index=False)
    if way == "blocks":
        blocks = list(read_blocks(path, samples=len(rows) // 3 + 1))
        assert blocks[0].rate_hz == pytest.approx(rate, rel=1e-3)
        assert sum(block.samples.shape[1] for block in blocks) == pytest.approx(n, abs=2)
        return
    recording = as_recording(path if way == "file" else source)
    assert (recording.leads, recording.rate_hz) == (("II",), pytest.approx(rate, rel=1e-3))
    mv[begin:end] = np.nan
    got = np.where(recording.samples[0] == NO_VALUE, np.nan, recording.samples[0] * recording.uv_per_unit / 1000)
    if len(got) == n:
        np.testing.assert_allclose(got, mv, atol=0.006)
    assert abs(len(got) - n) <= (rate == 1000.0) + (gap_s > 0)


@settings(max_examples=draws(60), deadline=None)
@given(
    month=st.integers(1, 12), day=st.integers(1, 28), before_s=st.floats(1, 11), by_day=st.booleans(),
    sign=st.sampled_from("/.-"), twelve=st.booleans(), last=st.booleans(), rows=st.integers(300, 3000),
)  # fmt: skip
def test_a_date_that_changes_at_midnight_changes_by_a_day_whatever_its_order(
    month: int, day: int, before_s: float, by_day: bool, sign: str, twelve: bool, last: bool, rows: int,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:  # fmt: skip
    start = pd.Timestamp(2026, month, day) + pd.Timedelta(days=1) - pd.Timedelta(before_s, "s").round("4ms")
    at = pd.DatetimeIndex(start + pd.to_timedelta(4 * np.arange(3000), "ms"))
    date = at.strftime(f"%d{sign}%m{sign}%Y" if by_day else f"%m{sign}%d{sign}%Y")
    clock = at.strftime("%I:%M:%S.%f %p" if twelve and not by_day else "%H:%M:%S.%f")
    both = [f"{b} {a}" if last else f"{a} {b}" for a, b in zip(date, clock, strict=True)]
    path = tmp_path_factory.getbasetemp() / f"dates{next(NUMBER)}.csv"
    pd.DataFrame({"when": both, "II (mV)": np.round(heart(250, 12), 4)}).to_csv(path, index=False)
    recording = as_recording(path)
    assert (recording.rate_hz, recording.samples.shape) == (250, (1, 3000))
    assert (recording.samples != NO_VALUE).all()
    blocks = [block.samples[0] for block in read_blocks(path, samples=rows)]
    assert sum(map(len, blocks)) == 3000
    assert all((block != NO_VALUE).all() for block in blocks)
