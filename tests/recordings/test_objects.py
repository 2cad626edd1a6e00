"""Objects of other libraries: their rate, leads, units and times are used; signs that integers lost are restored."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from beatwire.errors import UserError
from beatwire.recordings import as_recording, read_blocks
from beatwire.recordings.arrays import from_array
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st
from sources import heart

RATE_HZ = 250.0
MV = np.stack([heart(RATE_HZ, seconds=8), -heart(RATE_HZ, seconds=8)])
T = np.arange(MV.shape[1]) / RATE_HZ
KEPT = np.delete(np.arange(len(T)), slice(900, 1000))


class Labelled:
    """What is used of an array of xarray."""

    __module__ = "xarray.core.dataarray"

    def __init__(self, values: Any, dims: tuple[str, ...], coords: dict[str, Any], **attrs: str) -> None:
        self.values, self.dims, self.attrs, self.name = values, dims, attrs, "ecg"
        self._of = coords
        self.ndim, self.shape = values.ndim, values.shape
        self.indexes = {name: pd.Index(values) for name, values in coords.items()}

    @property
    def coords(self) -> dict[str, Any]:
        return {d: type(self)(np.asarray(v), (d,), {}) if d in self.dims else v for d, v in self._of.items()}

    def transpose(self, first: str, _: Any) -> "Labelled":
        turned = self.values if self.dims[0] == first else self.values.T
        return type(self)(turned, (first, *(d for d in self.dims if d != first)), self._of, **self.attrs)

    def __len__(self) -> int:
        return len(self.values)


class Raw:
    """What is used of a Raw of mne."""

    __module__ = "mne.io.fiff.raw"
    first_samp = 0

    def __init__(self, values: Any, names: list[str], kinds: list[str]) -> None:
        self._values, self.ch_names, self._kinds, self.info = values, names, kinds, {"sfreq": RATE_HZ}

    def get_channel_types(self) -> list[str]:
        return self._kinds

    def get_data(self, picks: list[int]) -> Any:
        return self._values[picks]


def assert_is_ecg(recording: Any, mv: Any, leads: tuple[str, ...]) -> None:
    got = np.where(recording.samples == -32768, np.nan, recording.samples * recording.uv_per_unit / 1000)
    assert (recording.rate_hz, recording.leads) == (RATE_HZ, leads)
    np.testing.assert_allclose(got, mv, atol=0.01)


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("times", [T, T * 1e9 + 1.7e18, pd.to_datetime(T, unit="s", origin="2026-01-01").to_numpy()])
def test_the_coordinate_of_an_array_of_xarray_is_its_clock_and_shows_its_gaps(times: Any, turned: bool) -> None:
    values, dims = MV[:, KEPT], ("lead", "time")
    coords = {"lead": ["I", "II"], "time": times[KEPT]}
    source = Labelled(values.T if turned else values, dims[::-1] if turned else dims, coords, units="mV")
    expected = MV.copy()
    expected[:, 900:1000] = np.nan
    assert_is_ecg(as_recording(source), expected, ("I", "II"))
    assert_is_ecg(as_recording(Labelled(MV[0, KEPT], ("time",), coords), units="mV"), expected[:1], ("ecg",))


def test_an_array_of_xarray_without_times_is_an_array() -> None:
    assert_is_ecg(as_recording(Labelled(MV, ("lead", "x"), {}), RATE_HZ, units="mV"), MV, ("lead 0", "lead 1"))
    with pytest.raises(UserError, match="expected the dimensions of time and leads; got a, b, c"):
        as_recording(Labelled(np.zeros((2, 2, 2)), ("a", "b", "c"), {}), RATE_HZ)


def test_a_raw_of_mne_has_its_channels_of_the_kind_ecg_in_volts() -> None:
    assert_is_ecg(as_recording(Raw(MV * 1e-3, ["I", "II"], ["ecg", "ecg"])), MV, ("I", "II"))
    recording = as_recording(Raw(MV * 1e-3, ["Fp1", "X2"], ["eeg", "ecg"]))
    assert_is_ecg(recording, MV[1:], ("X2",))
    assert recording.notes[0] == "left out: Fp1 (others are of the kind ECG)"


def test_the_two_results_of_rdsamp_are_a_recording() -> None:
    fields = {"fs": 250, "sig_name": ["I", "ABP"], "units": ["mV", "mmHg"], "sig_len": MV.shape[1]}
    assert_is_ecg(as_recording((MV.T, fields)), MV[:1], ("I",))
    with pytest.raises(UserError, match="got a tuple of them and a mapping: give the first alone, and fs"):
        as_recording((pd.DataFrame({"ECG": MV[0]}), {"sampling_rate": 250}))


def test_a_list_of_mappings_is_a_table() -> None:
    rows = [{"time": t, "ecg_mV": v} for t, v in zip(T.tolist(), MV[0].tolist(), strict=True)]
    assert_is_ecg(as_recording(rows), MV[:1], ("ecg_mV",))


def test_bytes_are_no_samples() -> None:
    with pytest.raises(UserError, match="expected an array, a table or a list of numbers; got bytearray"):
        as_recording(bytearray(1000), RATE_HZ)


@settings(max_examples=draws(30), deadline=None)
@given(
    bits=st.sampled_from((16, 24, 32)), per_mv=st.sampled_from((50, 200, 1000)), offset=st.integers(-100, 100),
    gap=st.booleans(),
)  # fmt: skip
def test_signs_that_integers_lost_are_restored(bits: int, per_mv: int, offset: int, gap: bool) -> None:
    units = np.rint((MV[0] - np.median(MV[0])) * per_mv) + offset
    whole = np.where(units < 0, units + 2.0**bits, units)
    signed = (whole != units).sum()
    if gap:
        whole[300:320] = units[300:320] = np.nan
    recording = from_array(pd.DataFrame({"ECG": whole}), RATE_HZ, gain=per_mv)
    plain = from_array(pd.DataFrame({"ECG": units}), RATE_HZ, gain=per_mv)
    if min(signed, len(units) - signed) > 40:
        assert np.array_equal(recording.samples, plain.samples)
        assert recording.notes[0] == f"numbers of {bits} bits were written without their sign: it is restored"


def test_signs_that_integers_lost_are_restored_in_blocks_without_positive_numbers(tmp_path: Path) -> None:
    units = np.rint(MV[0] * 200) - 300 * (T > 4)
    path = tmp_path / "x.csv"
    path.write_text("ECG\n" + "".join(f"{int(u) % 65536}\n" for u in units))
    blocks = list(read_blocks(path, fs=RATE_HZ, samples=500))
    assert np.array_equal(np.concatenate([block.samples[0] for block in blocks]), units)
    assert sum("without their sign" in note for block in blocks for note in block.notes) == 1


@pytest.mark.parametrize("bits", [16, 24])
def test_a_converter_without_signs_keeps_its_numbers(bits: int) -> None:
    units = np.rint(MV[0] * 2.0 ** (bits - 3) + 2.0 ** (bits - 1))
    assert not from_array(pd.DataFrame({"ECG": units}), RATE_HZ, gain=2.0 ** (bits - 3)).notes[0].startswith("numbers")
    units[100:140] = 2.0**bits - 1  # a lead that is off
    assert "without their sign" not in str(from_array(pd.DataFrame({"ECG": units % 2000}), RATE_HZ).notes)
