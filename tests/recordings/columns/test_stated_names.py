"""What names and numbers beside the samples say: a subject is no time, a heart's rate no sampling rate, an hour no gap.

Names of a single array are used; a column that is not there is refused, also of a table of one column.
"""

import json
from itertools import count
from typing import Any

import beatwire
import numpy as np
import pandas as pd
import pytest
import scipy.io
from beatwire.errors import UserError
from beatwire.recordings import as_recording, read_recording
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st
from sources import heart, message_of

NUMBER = count()
RATE_HZ = 100.0
MV = heart(RATE_HZ, 20)
RAW = np.rint(MV * 200).astype(int) + 512


def _held(folder: Any, kind: str, held: dict[str, Any]) -> Any:
    """Write arrays and numbers into a file; return its path."""
    path = folder.getbasetemp() / f"named{next(NUMBER)}.{kind}"
    if kind == "json":
        path.write_text(json.dumps({n: v.tolist() if isinstance(v, np.ndarray) else v for n, v in held.items()}))
    elif kind == "npz":
        np.savez(path, **held)
    else:
        scipy.io.savemat(path, held)
    return path


@settings(max_examples=draws(40), deadline=None)
@given(
    name=st.sampled_from(["S1_ECG", "S01 ECG", "ECG_S2", "S_ECG_RAW", "t1_ECG", "S1_II", "ECG T3"]),
    beside=st.sampled_from(["HR", "S1_HR", "S_RESP_RAW", "temp", ""]), first=st.booleans(),
)  # fmt: skip
def test_a_subject_or_a_sensor_in_a_name_is_no_time(
    name: str, beside: str, first: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / f"named{next(NUMBER)}.csv"
    other = {beside: 60 + np.random.default_rng(1).integers(0, 3, len(RAW))} if beside else {}
    pd.DataFrame({name: RAW, **other} if first else {**other, name: RAW}).to_csv(path, index=False)
    recording = read_recording(path, fs=RATE_HZ)
    assert recording.leads == (name,)
    assert np.array_equal(recording.samples[0], RAW)


@settings(max_examples=draws(40), deadline=None)
@given(
    rate=st.integers(51, 249), name=st.sampled_from(["rate", "Rate", "ecg_rate"]),
    own=st.sampled_from(["fs", "sampling_rate", "dt", "fs given", ""]), kind=st.sampled_from(["json", "npz", "mat"]),
)  # fmt: skip
def test_a_rate_that_may_be_that_of_the_heart_never_comes_before_another(
    rate: int, name: str, own: str, kind: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    stated = {own: 0.004 if own == "dt" else 250} if own in ("fs", "sampling_rate", "dt") else {}
    path = _held(tmp_path_factory, kind, {"ecg": MV, name: rate, **stated})
    if own:
        assert read_recording(path, fs=250 if own == "fs given" else None).rate_hz == 250
    elif rate in (64, 100, 125, 128, 130, 200):  # signals are sampled so, too: it is said
        recording = read_recording(path)
        assert recording.rate_hz == rate
        assert recording.notes[0] == f"rate: {rate} Hz, by its {name!r}"
    else:
        expected = f"expected a sampling rate; its {name!r} of {rate} may be that of the heart: give --fs, in Hz"
        assert message_of(path) == f"{path.name}: {expected}"


def test_the_times_of_a_table_come_before_a_rate_that_may_be_that_of_the_heart(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    rows = [{"t": k / RATE_HZ, "ecg": v} for k, v in enumerate(MV.tolist())]
    path = _held(tmp_path_factory, "json", {"rate": 72, "rows": rows})
    assert read_recording(path).rate_hz == RATE_HZ


@settings(max_examples=draws(30), deadline=None)
@given(
    name=st.sampled_from(["ecg", "II", "V5", "ecg_raw"]), unit=st.sampled_from(["uV", "mV", ""]),
    kind=st.sampled_from(["json", "npz", "mat"]),
)  # fmt: skip
def test_a_single_array_has_the_lead_and_the_unit_of_its_name(
    name: str, unit: str, kind: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    called = f"{name}_{unit}" if unit else name
    values = MV if unit == "mV" else np.rint(MV * 1000) if unit == "uV" else RAW
    recording = read_recording(_held(tmp_path_factory, kind, {called: values, "fs": RATE_HZ}))
    assert recording.leads == (called,)
    assert (recording.uv_per_unit > 0) is bool(unit)
    if unit:
        assert np.allclose(recording.samples[0] * recording.uv_per_unit, MV * 1000, atol=1.0)


@pytest.mark.parametrize("wanted", ["V9", "1", "I"])
def test_a_column_that_a_table_of_one_lacks_is_refused(wanted: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.getbasetemp() / f"named{next(NUMBER)}.parquet"
    pd.DataFrame({"II (mV)": MV}).to_parquet(path)
    assert message_of(path, fs=RATE_HZ, column=wanted).endswith(f"expected one of its columns, 0 'II'; got {wanted!r}")
    for source in (pd.DataFrame({"II": MV}), {"II": MV}, pd.Series(MV, name="II")):
        with pytest.raises(UserError, match="expected one of its columns, 0 'II'"):
            beatwire.analyze(source, fs=RATE_HZ, column=wanted)
        for right in ("II", "0", "first"):
            assert as_recording(source, RATE_HZ, column=right).leads == ("II",)


@pytest.mark.parametrize("name", ["bpm", "ppg", "resp", "rr"])
@pytest.mark.parametrize("kind", ["json", "parquet", "feather"])
def test_the_only_column_of_a_file_is_no_ecg_if_it_is_called_like_another_quantity(
    name: str, kind: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / f"named{next(NUMBER)}.{kind}"
    table = pd.DataFrame({name: MV})
    table.to_json(path, orient="records") if kind == "json" else getattr(table, f"to_{kind}")(path)
    assert message_of(path, fs=RATE_HZ) == (
        f"{path.name}: expected a column of ECG; column {name!r} is none (another quantity, by its name) "
        "(choose with --column)"
    )
    assert read_recording(path, fs=RATE_HZ, column=name).leads == (name,)
    assert as_recording(table, RATE_HZ).leads == (name,)  # in memory it was chosen


@settings(max_examples=draws(20), deadline=None)
@given(
    hour=st.integers(0, 3), gap_s=st.sampled_from([3600.0, 3600.0, 3000.0, 4200.0]), zone=st.booleans(),
    kind=st.sampled_from(["csv", "parquet"]), date=st.booleans(), before=st.integers(300, 1500),
)  # fmt: skip
def test_an_hour_that_summer_time_may_have_left_out_is_said(
    hour: int, gap_s: float, kind: str, zone: bool, date: bool, before: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / f"named{next(NUMBER)}.{kind}"
    at = (
        pd.Timestamp("2024-03-31", tz="UTC")
        + pd.Timedelta(hours=hour)
        + pd.to_timedelta((np.arange(len(MV)) - before) / RATE_HZ, "s")
    )
    local = at if zone else at.tz_localize(None) + pd.to_timedelta(np.where(np.arange(len(MV)) < before, 0, gap_s), "s")
    if kind == "parquet":
        pd.DataFrame({"time": local, "II": MV}).to_parquet(path)
    else:
        form = "%Y-%m-%d %H:%M:%S.%f" if date or hour == 0 else "%H:%M:%S.%f"
        pd.DataFrame({"time": local.strftime(form), "II": MV}).to_csv(path, index=False)
    notes = " ".join(read_recording(path).notes)
    assert ("1 gap in its times" in notes) is not zone
    assert ("if summer time began there, no sample is missing" in notes) is (gap_s == 3600 and not zone)
