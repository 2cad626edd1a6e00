"""Text tables whose cells are lists of samples, as watches export them."""

from pathlib import Path

import numpy as np
import pytest
from beatwire.recordings import read_recording
from draws import draws
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sources import heart, message_of

RATE_HZ = 250.0
UV = np.round(heart(RATE_HZ, seconds=8) * 1000).astype(int)
LIST = "[" + ", ".join(map(str, UV)) + "]"


@settings(max_examples=draws(40), deadline=None)
@example(size=10, delimiter="\t", between=",", quoted=False, lost=False, clock="time_s")
@given(
    size=st.integers(10, 300), delimiter=st.sampled_from(",;\t"), between=st.sampled_from([",", ", ", ";", " ", "  "]),
    quoted=st.booleans(), lost=st.booleans(), clock=st.sampled_from(["time_s", "timestamp_ms"]),
)  # fmt: skip
def test_a_row_is_a_packet_at_its_time(
    size: int, delimiter: str, between: str, quoted: bool, lost: bool, clock: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:  # fmt: skip
    path = tmp_path_factory.getbasetemp() / "listed.csv"
    starts = [k for k in range(0, len(UV), size) if not (lost and k == 3 * size)]
    if len(starts) < 6:
        starts, lost = list(range(0, len(UV), 50)), False
        size = 50
    quote = '"' if quoted else ""
    rows = []
    for k in starts:
        time = k * 4 if clock == "timestamp_ms" else k / RATE_HZ
        rows.append(f"{time:g}{delimiter}{quote}[{between.join(map(str, UV[k : k + size]))}]{quote}\n")
    path.write_text(f"{clock}{delimiter}ecg_uV\n{''.join(rows)}")
    recording = read_recording(path)
    expected = np.where((np.arange(len(UV)) // size == 3) & lost, -32768, UV)
    assert (recording.rate_hz, recording.uv_per_unit) == (RATE_HZ, 1.0)
    assert np.array_equal(recording.samples[0], expected)


@settings(max_examples=draws(20), deadline=None)
@given(
    delimiter=st.sampled_from(",;\t"), between=st.sampled_from([",", ", ", ";", " "]), quoted=st.booleans(),
    first=st.booleans(), size=st.sampled_from([10, 100, len(UV)]),
)  # fmt: skip
def test_a_list_needs_no_brackets(
    delimiter: str, between: str, quoted: bool, first: bool, size: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / "bare.csv"
    if (not quoted and (delimiter == "," or between != ",")) or (first and not quoted):
        quoted = True
    quote = '"' if quoted else ""
    lists = [quote + between.join(map(str, UV[k : k + size])) + quote for k in range(0, len(UV), size)]
    rows = [[cell, str(k)] if first else [str(k), cell] for k, cell in enumerate(lists)]
    names = ["ecg_uV", "packet"] if first else ["packet", "ecg_uV"]
    path.write_text("".join(delimiter.join(row) + "\n" for row in [names, *rows]))
    recording = read_recording(path, fs=RATE_HZ)
    assert recording.uv_per_unit == 1.0
    assert np.array_equal(recording.samples, UV[None])


@pytest.mark.parametrize(
    "text",
    [
        f'start,duration,signal\n2026-03-05T10:00:00+01:00,8,"{LIST}"\n',
        f'start,hertz,signal\n2026-03-05T10:00:00+01:00,250,"{LIST}"\n',
        f"Sample Rate;250\n\nstart;signal\n2026-03-05;{LIST}\n",
    ],
)
def test_the_rate_of_a_recording_in_a_row_is_the_one_that_it_states(text: str, tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text(text)
    recording = read_recording(path)
    assert (recording.rate_hz, recording.uv_per_unit) == (RATE_HZ, 0)
    assert np.array_equal(recording.samples[0], UV)


def test_samples_that_state_their_counts_in_a_millivolt_are_calibrated(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text(f'waveformSamples,samplingFrequencyHz,scalingFactor\n"{LIST}",250,2000\n')
    assert read_recording(path).uv_per_unit == 0.5


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f'start,signal\n2026-03-05,"{LIST}"\n', "expected a sampling rate; the table states none: give --fs"),
        (f'd,hz,signal\n1,250,"{LIST}"\n2,250,"{LIST}"\n', "expected one recording; got 2 lists of samples"),
        ('t,ecg\n0,"[1, 2, ..., 8, 9]"\n', "expected numbers in its lists; got '...'"),
        ('t,ecg\n0,"[1, 2, 3]"\n1,"[1, 2, 3]",7\n', "expected 2 cells in each row; row 2 of the table has 3"),
    ],
)
def test_what_is_missing_or_too_much_is_one_line(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text(text)
    found = message_of(path)
    assert found.startswith("x.csv: ")
    assert message in found


@pytest.mark.parametrize("row", ['"[{}]",{}', "{1},[{0}]", "[{}]\t{}", '"[{}]";{}'])
def test_a_clock_in_brackets_is_no_list(row: str, tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    clocks = [f"10:00:{k / RATE_HZ:06.3f} 05/03/2026" for k in range(len(UV))]
    path.write_text("".join(row.format(clock, uv) + "\n" for clock, uv in zip(clocks, UV, strict=True)))
    recording = read_recording(path)
    assert recording.rate_hz == RATE_HZ
    assert np.array_equal(recording.samples[0], UV)
