"""BrainFlow's synthetic board, read as ``beatwire feed brainflow:SYNTHETIC`` does."""

import itertools
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from beatwire.errors import UserError
from beatwire_producers.devices.packets import DeviceAwayError, Packet
from beatwire_producers.devices.places import Placer
from beatwire_producers.devices.sources import Options, open_source
from device_feeds import feeding
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("brainflow", reason="needs brainflow")
from beatwire_producers.devices.readers import brainflow as reader_module


def test_the_synthetic_board_is_a_stream_without_holes() -> None:
    began = time.monotonic()
    with feeding([("brainflow", open_source("brainflow:synthetic", Options(column="0,1")))]) as running:
        running.received.wait(lambda: running.received.count("synthetic") >= 1000)
    took_s = time.monotonic() - began
    chunk = running.received.chunks[0]
    assert (len(chunk["leads"]), chunk["rate_hz"]) == (2, 250.0)
    assert chunk["uv_per_unit"] > 0
    assert running.summary is not None
    assert (running.summary.sessions, running.summary.holes, running.summary.doubled) == (1, 0, 0)
    assert running.received.samples("synthetic").shape[1] == running.received.count()
    assert running.received.count() <= 250 * (took_s + 1)


@pytest.mark.parametrize("board", ["synthetic", "SYNTHETIC_BOARD", "-1", "synthetic-board"])
def test_a_board_has_a_name_or_a_number(board: str) -> None:
    reader = open_source(f"brainflow:{board}", Options())
    described = reader.describe()
    assert described is not None
    assert (described.stream, len(described.leads)) == ("synthetic", 12)
    reader.close()


def test_a_board_that_is_unknown_or_away_is_one_line() -> None:
    with pytest.raises(UserError, match="expected a board such as SYNTHETIC, CYTON"):
        open_source("brainflow:toaster", Options())
    with pytest.raises(UserError, match=r"expected names among .*; got 'colour'"):
        open_source("brainflow:cyton?colour=red", Options())
    with pytest.raises(DeviceAwayError, match="CYTON_BOARD"):
        open_source("brainflow:cyton?serial_port=/dev/no-such-port", Options()).describe()


@pytest.mark.parametrize("kind", ["DeprecationWarning", "UserWarning"])
def test_what_setuptools_says_of_itself_is_no_error_of_the_reader(kind: str, tmp_path: Path) -> None:
    (tmp_path / "pkg_resources.py").write_text(
        "import importlib, pathlib, warnings\n"
        f"warnings.warn('pkg_resources is deprecated as an API', {kind}, stacklevel=2)\n"
        "def resource_filename(name, path):\n"
        "    return str(pathlib.Path(importlib.import_module(name).__file__).parent / path)\n"
    )
    command = [sys.executable, "-W", f"error::{kind}", "-c", "import beatwire_producers.devices.readers.brainflow"]
    paths = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(command, env=os.environ | {"PYTHONPATH": paths}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]


class Shim:
    """A board that has these samples, in pieces of these sizes."""

    def __init__(self, samples: np.ndarray, sizes: list[int]) -> None:
        self._pieces = np.split(samples, np.cumsum(sizes), axis=1)

    def get_board_data(self) -> np.ndarray:
        return self._pieces.pop(0) if self._pieces else np.zeros((3, 0))


@settings(max_examples=draws(40), deadline=None)
@given(
    sizes=st.lists(st.integers(1, 9), min_size=24, max_size=40), begin=st.integers(0, 255),
    lost=st.lists(st.integers(1, 200), max_size=4, unique=True), numbered=st.booleans(),
)  # fmt: skip
def test_numbers_of_samples_place_them_however_few_come_together(
    sizes: list[int], begin: int, lost: list[int], numbered: bool
) -> None:
    count = sum(sizes) + len(lost)
    k = np.array([n for n in range(count) if n not in lost])
    reader: Any = open_source("brainflow:cyton", Options(fs=250.0))
    reader._rows, reader._time, reader._number, reader._battery, reader._rate_hz = [0], 1, 2, None, 250.0
    reader._shim = Shim(np.stack([k, 1e9 + k / 250.0, (begin + k) % 256 if numbered else 0 * k]), sizes)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reader_module, "_PULL_S", 0.0)
        packets: list[Packet] = list(itertools.takewhile(lambda packet: packet is not None, reader.packets()))
    np.testing.assert_array_equal(np.concatenate([one.samples for one in packets], axis=1), k[None])
    assert all((one.count is not None) == numbered for one in packets)
    if numbered:
        described = reader_module.Description("cyton", rate_hz=250.0, turn=256, is_epoch=True)
        placer = Placer(described)
        placed = [one for packet in packets for one in placer.place(packet)]
        assert [int(one.packet.samples[0, 0]) - one.first for one in placed] == [int(k[0])] * len(placed)


def channels(board: int) -> int:
    """Return how many channels of ECG or ExG a board has; 0: none, or it is described by another one."""
    try:
        description = reader_module.BoardShim.get_board_descr(board)
    except reader_module.BrainFlowError:
        return 0
    kinds = ("ecg_channels", "eeg_channels", "emg_channels")
    return next((len(found) for kind in kinds if (found := description.get(kind))), 0)


def test_every_lead_of_every_board_has_a_name_by_which_it_can_be_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    for step in ("prepare_session", "start_stream"):
        monkeypatch.setattr(reader_module.BoardShim, step, lambda *_: None)
    boards = {one.name: one.value for one in reader_module.BoardIds if channels(one.value)}
    assert len(boards) > 20
    for name, board in boards.items():
        described = open_source(f"brainflow:{board}", Options()).describe()
        assert described is not None
        assert len(set(described.leads)) == min(12, channels(board)), name
        assert all(described.leads), name
        for lead in described.leads[:1]:
            one = open_source(f"brainflow:{board}", Options(column=lead)).describe()
            assert one is not None
            assert one.leads == (lead,)


def test_more_channels_than_leads_are_said() -> None:
    reader: Any = open_source("brainflow:synthetic", Options())
    reader.describe()
    reader.close()
    assert reader.notes == ["SYNTHETIC_BOARD: of its 16 channels the first 12 are taken (--column)"]


def test_a_file_that_is_played_has_the_channels_of_its_board(tmp_path: Path) -> None:
    from brainflow.board_shim import BoardShim
    from brainflow.data_filter import DataFilter

    board = BoardShim.get_board_descr(0)
    content = np.zeros((board["num_rows"], 500))
    content[board["ecg_channels"][1]] = np.arange(500) % 90
    content[board["package_num_channel"]] = np.arange(500) % 256
    content[board["timestamp_channel"]] = 1.7e9 + np.arange(500) / 250.0
    DataFilter.write_file(content, str(tmp_path / "played.csv"), "w")
    source = f"brainflow:playback_file?file={tmp_path}/played.csv&master_board=cyton"
    with feeding([("brainflow", open_source(source, Options(column="Fp2")))]) as running:
        running.received.wait(lambda: running.received.count() >= 240)
    found = running.received.samples("playback_file")[0]
    np.testing.assert_array_equal(found[:240], np.arange(240) % 90)
    assert {(tuple(c["leads"]), c["rate_hz"]) for c in running.received.chunks} == {(("Fp2",), 250.0)}


def test_a_parameter_has_the_type_that_brainflow_expects() -> None:
    reader: Any = open_source("brainflow:cyton?timeout=15&ip_port=6677&serial_port=1", Options())
    parameters = reader._parameters
    assert (parameters.timeout, parameters.ip_port, parameters.serial_port) == (15, 6677, "1")
    with pytest.raises(UserError, match="expected timeout: a whole number; got 'soon'"):
        open_source("brainflow:cyton?timeout=soon", Options())
