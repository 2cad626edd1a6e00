"""BrainFlow's synthetic board, read as ``beatwire feed brainflow:SYNTHETIC`` does."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from beatwire.errors import UserError
from beatwire_producers.devices.packets import DeviceAwayError
from beatwire_producers.devices.sources import Options, open_source
from device_feeds import feeding

pytest.importorskip("brainflow", reason="needs brainflow")


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
