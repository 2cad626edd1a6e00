"""What a single column is called: a label before each number, as sketches print it for a plotter; a name and a unit."""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from beatwire.recordings import read_blocks, read_recording
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st
from sources import UV_PER, heart, message_of

RATE_HZ = 250.0
ADC = np.round(heart(RATE_HZ, seconds=8) * 200).astype(int) + 512


@settings(max_examples=draws(20), deadline=None)
@given(
    sign=st.sampled_from((":", "=", ": ", " : ")), between=st.sampled_from((",", ", ", ";", "\t", " ")),
    others=st.sets(st.sampled_from(("HR", "lim", "LO+", "temp.1"))), clock=st.sampled_from(("t", "millis", "")),
    off=st.booleans(), begun=st.sampled_from(("", "12\n", "ready\n")), end=st.sampled_from(("\n", "\r\n")),
)  # fmt: skip
def test_labels_are_names_of_columns(
    sign: str, between: str, others: set[str], clock: str, off: bool, begun: str, end: str
) -> None:
    lines = []
    for k, value in enumerate(ADC.tolist()):
        cells = {clock: 9000 + 4 * k} if clock else {}
        cells |= {"ECG": "!" if off and 300 <= k < 320 else value}
        cells |= {name: 72 if name == "lim" else k // 200 % 3 for name in sorted(others)}
        lines.append(between.join(f"{name}{sign}{cell}" for name, cell in cells.items()))
    with TemporaryDirectory() as folder:
        path = Path(folder) / "x.log"
        path.write_bytes((begun + end.join(lines) + end).encode())
        recording = read_recording(path, fs=RATE_HZ)
        blocks = list(read_blocks(path, fs=RATE_HZ, samples=700))
    assert recording.leads == ("ECG",)
    expected = np.where(off & (np.arange(len(ADC)) // 20 == 15), -32768, ADC)
    assert np.array_equal(recording.samples[0], expected)
    assert np.array_equal(np.concatenate([b.samples[0] for b in blocks]), expected)


@pytest.mark.parametrize("bad", ["ECG:5,HR:70,x:1", "ECG:,HR:7", "lost"])
def test_a_line_with_other_labels_is_no_row(bad: str, tmp_path: Path) -> None:
    lines = [f"ECG:{v},HR:72" for v in ADC.tolist()]
    lines[900] = bad
    (tmp_path / "x.log").write_text("\n".join(lines) + "\n")
    assert message_of(tmp_path / "x.log", fs=RATE_HZ).startswith("x.log: ")


@settings(max_examples=draws(40), deadline=None)
@given(
    unit=st.sampled_from(["V", "mV", "uV", "µV", "microvolts", "(mV)", "[V]"]),
    name=st.sampled_from(["ECG", "Lead I", "chest", "II", ""]),
    head=st.sampled_from(["", "# rate: 250 Hz\n", "Fs: 250\n", "Device;X\nSampling rate (Hz);250\n", "\n"]),
    quoted=st.booleans(), decimal=st.sampled_from(".,"),
)  # fmt: skip
def test_a_unit_below_the_name_of_a_single_column_is_its_unit(
    unit: str, name: str, head: str, quoted: bool, decimal: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path, per = tmp_path_factory.getbasetemp() / "single.csv", UV_PER[_plain(unit)]
    mv = heart(250, 8)
    names = [f'"{one}"' if quoted else one for one in (name, unit) if one]
    rows = [f"{v * 1000 / per:.7f}".replace(".", decimal) for v in mv]
    path.write_text(head + "".join(f"{row}\n" for row in (*names, *rows)))
    recording = read_recording(path, fs=250)
    if name:
        assert recording.leads == (name,)
    if name or _plain(unit) == "mV":
        assert np.abs(recording.samples[0] * recording.uv_per_unit / 1000 - mv).max() < 0.003


def _plain(unit: str) -> str:
    plain = unit.strip("()[]").replace("µ", "u")
    return "uV" if plain == "microvolts" else plain
