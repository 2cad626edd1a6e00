"""Lines of a serial port, however they are written: the numbers that were printed are those that are read."""

from datetime import UTC, datetime

import numpy as np
import pytest
from beatwire.errors import UserError
from beatwire.recordings.synthetic.person import synthetic_recording
from beatwire_producers.devices.readers import serial_port
from beatwire_producers.devices.readers.serial_lines import Lines, has_names, is_row
from beatwire_producers.devices.sources import Options
from hypothesis import given
from hypothesis import strategies as st

RECORDING = synthetic_recording("synthetic:seconds=4,seed=1,leads=3", rate_hz=250.0)
MV = RECORDING.samples * RECORDING.uv_per_unit / 1000.0
CLOCKS = {"ms": lambda k: 4 * k, "n": lambda k: k, "byte": lambda k: k % 256}


@given(
    leads=st.integers(1, 3),
    scale=st.sampled_from([(100.0, 512.0, 0), (8e5, 8e6, 0), (1.0, 0.0, 2), (1.0, 0.0, 4), (1.0, 1.5, 3)]),
    decimal=st.sampled_from(".,"),
    separator=st.sampled_from([",", ", ", ";", "; ", "\t", " ", "|"]),
    clock=st.sampled_from(["", *CLOCKS]),
    is_short=st.booleans(),
    is_labelled=st.booleans(),
    before=st.sampled_from(["", "boot", "boot ok"]),
)
def test_numbers_are_read_as_printed(
    leads: int, scale: tuple[float, float, int], decimal: str, separator: str, clock: str, is_short: bool,
    is_labelled: bool, before: str,
) -> None:  # fmt: skip
    gain, offset, digits = scale
    if decimal == "," and "," in separator:
        separator = ";"
    columns = [*([[CLOCKS[clock](k) for k in range(MV.shape[1])]] if clock else []), *(MV[:leads] * gain + offset)]
    printed = [[f"{v:.{digits if k >= bool(clock) else 0}f}" for v in column] for k, column in enumerate(columns)]
    if is_short:  # as printf writes them with %g
        printed = [[v.rstrip("0").rstrip(".") if "." in v else v for v in column] for column in printed]
    labels = [f"x{k}: " if is_labelled else "" for k in range(len(columns))]
    rows = [
        [label + v.replace(".", decimal) for label, v in zip(labels, row, strict=True)]
        for row in zip(*printed, strict=True)
    ]
    text = [separator.join(row) for row in rows]
    assert all(map(is_row, text))
    lines = Lines()
    assert lines.learn("serial", text, before).shape == (len(text), len(columns))
    found = lines.numbers([lines.cells(line) for line in text], len(columns))
    np.testing.assert_array_equal(found, np.array(printed, float).T)
    if is_labelled:
        assert lines.names == [label[:-2] for label in labels]


@given(
    start_ms=st.integers(0, 86_395_999), separator=st.sampled_from([";", "\t", " ", " ; "]),
    decimal=st.sampled_from(".,"), date=st.sampled_from(["", "2026-11-29T"]), lost=st.integers(0, 500),
)  # fmt: skip
def test_a_time_of_day_places_lines_as_it_does_in_files(
    start_ms: int, separator: str, decimal: str, date: str, lost: int
) -> None:
    rows = np.delete(np.arange(MV.shape[1]), slice(400, 400 + lost))
    ticks = start_ms + 4 * rows
    lines = [
        f"{date}{ms // 3_600_000:02d}:{ms // 60_000 % 60:02d}:{ms // 1000 % 60:02d}.{ms % 1000:03d}{separator}{mv:.4f}"
        for ms, mv in zip(ticks.tolist(), MV[0, rows], strict=True)
    ]
    lines = [line.replace(".", decimal) for line in lines]
    assert all(map(is_row, lines))
    reader = serial_port.SerialReader("/dev/x", 115_200, Options())
    assert reader._learn("serial:/dev/x", lines).leads == ("1",)
    packets = list(reader._packets_of(lines, 0.0))
    begin_s = datetime(2026, 11, 29, tzinfo=UTC).timestamp() if date else 0.0
    is_hole = lost > 25  # a tenth of a second; what is less is samples without a value
    assert [p.time_s for p in packets] == pytest.approx(
        [begin_s + ticks[k] / 1000 for k in ([0, 400] if is_hole else [0])], rel=1e-12
    )
    found = np.concatenate([p.samples[0] for p in packets])
    assert np.isnan(found[400 : 400 + lost]).all() or is_hole
    np.testing.assert_allclose(found[np.isfinite(found)], MV[0, rows], atol=1e-4)


@given(channel=st.integers(0, 12), value=st.integers(0, 1023), part=st.sampled_from(["", ".5", ",25"]))
def test_a_number_behind_the_number_of_its_channel_is_no_time(channel: int, value: int, part: str) -> None:
    assert not is_row(f"{channel}:{value}{part}")


def test_a_comma_that_is_both_is_refused() -> None:
    text = [", ".join(f"{v:.4f}".replace(".", ",") for v in row) for row in MV[:2].T]
    with pytest.raises(
        UserError, match=r"serial:/dev/x: expected a delimiter other than .*; got '.*', in which a comma"
    ):
        Lines().learn("serial:/dev/x", text)


def test_columns_that_are_no_leads_are_said() -> None:
    reader = serial_port.SerialReader("/dev/x", 115_200, Options())
    reader._learn("serial:/dev/x", [f"{v:.4f};{72 + k // 300}" for k, v in enumerate(MV[0])], "ecg_mV;HR")
    assert reader.notes == ["serial:/dev/x: left out: 'HR' (another clock or count)"]


@given(turns=st.lists(st.integers(0, 999), min_size=1, max_size=60), name=st.sampled_from(["", "HR", "resp", "temp"]))
def test_what_rises_slowly_is_no_place(turns: list[int], name: str) -> None:
    values = np.searchsorted(sorted(turns), np.arange(MV.shape[1]), "right")
    lines = [f"{v:.4f};{72 + slow}" for v, slow in zip(MV[0], values, strict=True)]
    reader = serial_port.SerialReader("/dev/x", 115_200, Options())
    described = reader._learn("serial:/dev/x", lines, f"ecg_mV;{name}" if name else "")
    assert described.leads == ("ecg_mV" if name else "0",)
    assert (reader._clock, reader._count) == (None, None)
    assert len(reader.notes) == 1


@given(
    unit=st.sampled_from(["ms", "us"]), start=st.integers(0, 10**7), name=st.sampled_from(["time", "s"]),
    lost=st.integers(0, 500),
)  # fmt: skip
def test_seconds_and_their_parts_place_lines_together(unit: str, start: int, name: str, lost: int) -> None:
    rows = np.delete(np.arange(MV.shape[1]), slice(400, 400 + lost))
    per = {"ms": 1000, "us": 1_000_000}[unit]
    ticks = start * (per // 1000) + rows * (per // 250)
    lines = [f"{at // per},{at % per},{v:.4f}" for at, v in zip(ticks.tolist(), MV[0, rows], strict=True)]
    reader = serial_port.SerialReader("/dev/x", 115_200, Options())
    assert reader._learn("serial:/dev/x", lines, f"{name},{unit},ecg_mV").leads == ("ecg_mV",)
    packets = list(reader._packets_of(lines, 0.0))
    begins = [0, 400] if lost > 25 else [0]  # what is less than a tenth of a second is no hole
    assert [packet.time_s for packet in packets] == pytest.approx([ticks[k] / per for k in begins])


@given(
    separator=st.sampled_from([",", ", ", ";", "\t", " | "]),
    lead=st.sampled_from(["ECG (mV)", "Lead II [mV]", "ecg_mV"]),
    rate=st.sampled_from(["Heart Rate", "HR (bpm)", "pulse rate", "skin temp"]), at_end=st.booleans(),
)  # fmt: skip
def test_names_with_blanks_in_them_say_what_columns_are(separator: str, lead: str, rate: str, at_end: bool) -> None:
    before = separator.join(["time (ms)", lead, rate])
    assert has_names(before)
    values = enumerate(MV[0].tolist())
    lines = [separator.join([f"{4 * k}", f"{v:.4f}", f"{72 + (k // 50) % 3}"]) + ";" * at_end for k, v in values]
    reader = serial_port.SerialReader("/dev/x", 115_200, Options())
    described = reader._learn("serial:/dev/x", lines, before)
    assert (described.leads, described.uv) == ((lead.split(" (")[0].split(" [")[0],), 1000.0)
    assert reader._clock == (0, 1000.0)
