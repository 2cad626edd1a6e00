"""A rate that a line above a table states, however it is called, and wherever the table stands in a sheet."""

from itertools import count

import pytest
from beatwire.recordings import read_recording
from draws import draws
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sources import heart

NUMBER = count()
RATES = (125.0, 200.0, 250.0, 500.0)
MV = {hz: heart(hz, seconds=4).round(4) for hz in RATES}
OF_RATES = ("fs", "Fs (Hz)", "fs_hz", "sr_hz", "SPS", "samples_per_second", "samples per sec", "sampling_rate_hz",
            "sampleRateHz", "samplingFrequency", "sample_rate_sps", "Abtastrate", "ODR", "ecg_fs",
            "rate [Hz]")  # fmt: skip
OF_INTERVALS = ("dt_ms", "sampling_interval_ms", "interval (ms)", "Sample interval [ms]")
FORMS = ("# {}: {:g}", "{},{:g}", "{}={:g}", "{}\t{:g}", "{};{:g}", "# {} = {:g}")


@settings(max_examples=draws(80), deadline=None)
@given(
    rate_hz=st.sampled_from(RATES), name=st.sampled_from(OF_RATES + OF_INTERVALS), form=st.sampled_from(FORMS),
    named=st.booleans(),
)  # fmt: skip
def test_a_rate_or_an_interval_is_read_by_its_name(
    rate_hz: float, name: str, form: str, named: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    stated = form.format(name, 1000 / rate_hz if name in OF_INTERVALS else rate_hz)
    lines = [stated, *(["ECG (mV)"] if named else []), *(f"{v:.4f}" for v in MV[rate_hz])]
    path = tmp_path_factory.getbasetemp() / f"stated{next(NUMBER)}.csv"
    path.write_text("\n".join(lines) + "\n")
    recording = read_recording(path)
    assert (recording.rate_hz, recording.samples.shape) == (rate_hz, (1, len(MV[rate_hz])))


@settings(max_examples=draws(20), deadline=None)
@example(rate_hz=125.0, name="fs", left=1, empty=0, counted=False, given_too=False)  # its first sample is 0
@given(
    rate_hz=st.sampled_from(RATES), name=st.sampled_from(OF_RATES), left=st.integers(0, 3), empty=st.integers(0, 2),
    counted=st.booleans(), given_too=st.booleans(),
)  # fmt: skip
def test_a_rate_in_a_row_that_begins_left_of_the_table_of_a_sheet_is_no_sample(
    rate_hz: float, name: str, left: int, empty: int, counted: bool, given_too: bool,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:  # fmt: skip
    openpyxl = pytest.importorskip("openpyxl", reason="needs openpyxl (pip install 'beatwire[formats]')")
    book = openpyxl.Workbook()
    rows = [["n", "ECG (mV)"], *([k, float(v)] for k, v in enumerate(MV[rate_hz]))]
    for row in [[name, rate_hz], *([[]] * empty), *([None] * left + row[not counted :] for row in rows)]:
        book.active.append(row)
    path = tmp_path_factory.getbasetemp() / f"stated{next(NUMBER)}.xlsx"
    book.save(path)
    recording = read_recording(path, fs=rate_hz if given_too else None)
    assert (recording.rate_hz, recording.leads, recording.samples.shape) == (rate_hz, ("ECG",), (1, len(MV[rate_hz])))
