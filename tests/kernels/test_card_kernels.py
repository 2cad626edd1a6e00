"""The processes that compile a card's kernels: what is said, what is stored, and when they end. No card is needed."""

import signal
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest
from moments import LIMIT_S

pytest.importorskip("_numba_cuda_redirector", reason="numba-cuda is not installed (extra dev or gpu, on Linux)")
from beatwire.service import card_kernels

FINDS_NO_CARD = "raise SystemExit('no card is found')"
CARD = SimpleNamespace(name="a card", free_bytes=64 << 30)


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setattr(card_kernels, "cache_folder", lambda: tmp_path)
    return tmp_path


def run_instead(monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    monkeypatch.setattr(card_kernels, "command", lambda claims, _: [sys.executable, "-c", script, str(claims)])


def marks(folder: Path) -> list[Path]:
    return [path for path in folder.glob("card-*") if path.name != "card-lock"]


def test_what_failed_is_said_and_tried_again_at_the_next_start(monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    run_instead(monkeypatch, FINDS_NO_CARD)
    for _ in range(2):
        said: list[str] = []
        card_kernels.precompile(CARD, said.append)
        assert said[0] == "compiling the kernels of a card, once for this version: about a minute"
        assert said[1].endswith("processes failed: no card is found; the rest is compiled when it is used")
        assert not marks(cache)


def test_what_has_been_compiled_is_not_compiled_again(monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    run_instead(monkeypatch, "pass")
    said: list[str] = []
    card_kernels.precompile(CARD, said.append)
    assert said[1].startswith("compiled in ")
    assert len(marks(cache)) == 1
    card_kernels.precompile(CARD, said.append)
    assert len(said) == 2


def test_a_card_without_free_memory_gets_no_processes(monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    run_instead(monkeypatch, "pass")
    said: list[str] = []
    card_kernels.precompile(SimpleNamespace(name="a card", free_bytes=1 << 29), said.append)
    assert "1 of 1 processes failed: too little of its memory is free" in said[1]
    assert not marks(cache)


def test_a_process_that_takes_too_long_is_ended(monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    monkeypatch.setattr(card_kernels, "ENDS_WITHIN_S", 0.2)
    run_instead(monkeypatch, f"import time; time.sleep({LIMIT_S})")
    said: list[str] = []
    card_kernels.precompile(CARD, said.append)
    assert "not ready after 0 s" in said[1]
    assert not marks(cache)


def test_of_two_that_start_at_once_one_compiles(monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    run_instead(monkeypatch, f"import pathlib, uuid; pathlib.Path({str(cache)!r}, f'run-{{uuid.uuid4()}}').touch()")
    said: list[str] = []
    both = [threading.Thread(target=card_kernels.precompile, args=(CARD, said.append)) for _ in range(2)]
    for one in both:
        one.start()
    for one in both:
        one.join(LIMIT_S)
    count = min(card_kernels.cores(), card_kernels.MOST_PROCESSES)
    assert len(list(cache.glob("run-*"))) == count
    assert said.count("another process has compiled them") == (len(said) == 4)  # or the second began when all was done


def serving(compiles: str) -> "subprocess.Popen[bytes]":
    """Return a process that serves; in place of a card's kernels there is one, which is compiled by some Python."""
    script = f"""
import time
from pathlib import Path
from tempfile import mkdtemp
from beatwire.service import card_kernels

class Kernel:
    def compile(self, _):
        print("begins", flush=True)
        {compiles}

card_kernels.ListingCard = object
card_kernels.listed = lambda *_: {{("kernel", ()): Kernel()}}
card_kernels._serve(Path(mkdtemp()), "trees")
"""
    return subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def test_a_process_ends_with_the_one_that_started_it() -> None:
    with serving(f"time.sleep({LIMIT_S})") as helper:
        assert helper.stdin is not None
        assert helper.stdout is not None
        assert helper.stdout.readline() == b"begins\n"
        helper.stdin.close()
        assert helper.wait(LIMIT_S) == -signal.SIGTERM


def test_a_process_that_has_compiled_everything_has_not_failed() -> None:
    with serving("pass") as helper:
        assert helper.wait(LIMIT_S) == 0
