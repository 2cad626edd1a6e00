"""Times as text by programs that round seconds after they split off the minutes."""

import datetime as dt

import numpy as np
import pandas as pd
from beatwire.recordings.columns.clocktext import seconds_of
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st


@settings(max_examples=draws(40), deadline=None)
@given(
    date=st.sampled_from(["", "%Y-%m-%d ", "%Y-%m-%dT", "%d/%m/%Y ", "%d.%m.%Y "]), digits=st.integers(1, 4),
    second=st.integers(0, 85_000), sign=st.sampled_from([".", ","]), zone=st.sampled_from(["", "Z"]),
)  # fmt: skip
def test_second_60_is_the_next_minute(date: str, digits: int, second: int, sign: str, zone: str) -> None:
    at = np.arange(0, 130, 0.0099)
    begin, cells = dt.datetime(2026, 12, 31, tzinfo=dt.UTC) + dt.timedelta(seconds=second), []
    for seconds in at:
        now = begin + dt.timedelta(seconds=float(seconds))
        part = f"{now.second + now.microsecond / 1e6:0{3 + digits}.{digits}f}".replace(".", sign)
        cells.append(f"{now:{date}%H:%M}:{part}{zone if 'T' in date else ''}")
    found = seconds_of(pd.Series(cells))
    assert found is not None
    assert any(f":60{sign}" in cell for cell in cells) or digits > 1
    apart = (np.diff(found) - np.diff(at) + 43_200) % 86_400 - 43_200  # a clock without a date begins anew at midnight
    assert np.abs(apart).max() < 1.01 * 10.0**-digits
