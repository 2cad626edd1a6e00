"""Machine code is made before the first sample, and kept between starts."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from beatwire.jit import cache, cpu
from beatwire.kernels import ricker


def test_machine_code_lies_in_a_folder_named_by_the_text_of_all_kernels(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    shutil.copytree(cache.PACKAGE, tmp_path / "beatwire", ignore=shutil.ignore_patterns("__pycache__", "weights"))
    now = cache.cache_folder()
    assert Path(cpu.kernels.respond.dispatcher.stats.cache_path).is_relative_to(now)
    assert Path(cpu.compiled(ricker.respond).stats.cache_path).is_relative_to(now)
    monkeypatch.setattr(cache, "PACKAGE", tmp_path / "beatwire")
    assert cache.cache_folder() == now
    for name in ("kernels/ring.py", "kernels/windows.py", "jit/x86/prefetch.py", "records/events.py"):
        text = tmp_path / "beatwire" / name
        before = text.read_text()
        text.write_text(before + "# another text\n")
        assert cache.cache_folder() != now, name
        text.write_text(before)
    assert cache.cache_folder() == now


def test_importing_the_package_makes_no_folder_and_compiles_nothing(tmp_path: Path) -> None:
    script = """
import importlib, pkgutil, beatwire
for found in pkgutil.walk_packages(beatwire.__path__, "beatwire."):
    if not found.name.startswith(("beatwire.training", "beatwire.bench", "beatwire.evaluation", "beatwire.__main__")):
        importlib.import_module(found.name)
"""
    environment = {**os.environ, "HOME": str(tmp_path), "XDG_CACHE_HOME": "", "TMPDIR": str(tmp_path)}
    subprocess.run([sys.executable, "-B", "-c", script], check=True, env=environment)
    assert not list(tmp_path.iterdir())


def test_machine_code_of_other_texts_goes_when_no_start_has_used_it_for_a_month(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    now = cache.cache_folder()
    kept, old, own = now.with_name("kept"), now.with_name("old"), now / "own"
    for folder, days in ((kept, 29), (old, 31), (own, 99), (now, 99)):
        (folder / "cuda").mkdir(parents=True)
        (folder / "cuda" / "machine.nbc").touch()
        os.utime(folder, (time.time() - days * 86400,) * 2)
    cache.cache_folder()
    assert time.time() - now.stat().st_mtime < 60, "a start marks its folder as used"
    assert old.exists(), "nothing goes before something new comes"
    shutil.rmtree(now)
    assert cache.cache_folder() == now
    assert {path.name for path in now.parent.iterdir()} == {now.name, "kept"}
    assert (kept / "cuda" / "machine.nbc").exists()


@pytest.mark.parametrize("home", ["", ".cache"])
def test_the_cache_is_where_caches_are_and_in_the_temporary_folder_when_that_cannot_be(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, home: str
) -> None:
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(temporary))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CACHE_HOME", "")
    (tmp_path / "home" / home).mkdir(parents=True)
    assert cache.cache_folder().parent == tmp_path / "home" / ".cache" / "beatwire" / "kernels"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache.cache_folder().parent == tmp_path / "xdg" / "beatwire" / "kernels"
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    monkeypatch.setenv("HOME", str(tmp_path / "file"))
    assert cache.cache_folder().is_relative_to(temporary)
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.delenv("HOME")
    assert cache.cache_folder().is_relative_to(temporary)
    assert os.access(temporary, os.W_OK)


@pytest.mark.parametrize("prepared", ["open to all", "a link"])
def test_machine_code_is_not_taken_from_a_temporary_folder_that_others_can_write_to(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, prepared: str
) -> None:
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path))
    for name in ("XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    theirs, elsewhere = tmp_path / f"beatwire-{os.getuid()}", tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    if prepared == "a link":
        theirs.symlink_to(elsewhere)
    else:
        theirs.mkdir()
        theirs.chmod(0o777)
    ours = cache.cache_folder()
    assert ours.is_dir()
    assert ours == cache.cache_folder()
    assert ours.is_relative_to(tmp_path)
    assert not ours.resolve().is_relative_to(theirs.resolve())
    assert ours.parents[1].stat().st_mode & 0o077 == 0


def test_a_warm_up_reaches_every_kernel_but_those_of_pieces_and_of_training_and_nothing_is_compiled_after_it() -> None:
    script = """
import numpy as np
from beatwire.kafka.batch import Part, join_parts
from beatwire.jit import cpu
from beatwire.pipeline.graph import Pipeline
from beatwire.pipeline.settings import Settings
from beatwire.service.warmup import warm_up
from beatwire.wire.avro import encode_chunk

def compiled():
    kernels = vars(cpu.kernels).items()  # those that were called
    return {(name, str(types)) for name, kernel in kernels for types in kernel.dispatcher.signatures}

def part(*values):
    m = len(values)
    payload, length = np.frombuffer(b"".join(values), np.uint8), np.array([len(value) for value in values])
    return Part([], payload, length, np.zeros(m, np.int64), np.zeros(m, np.int32), {})

def chunk(first, *leads):
    beat = (np.arange(first, first + 125) % 250 == 0) * np.float32(2000)
    return encode_chunk("bed", 1, first, 0, 250.0, list(leads), np.stack([beat.astype(np.int16)] * len(leads)))

warm_up(lambda _: None)
warm = compiled()
print(*sorted({kernel.name for kernel in cpu.kernels.members()} - {name for name, _ in warm}))
one, two = Pipeline(Settings()), Pipeline(Settings())
for first in range(0, 2500, 250):  # nothing, what one poll brought, what several brought
    parts = [part(chunk(first, "I"), b"{"), part(chunk(first + 125, "I", "II"))]
    for pipeline, taken in ((one, parts), (two, parts[:1]), (two, parts[1:]), (two, [])):
        pipeline.emit(join_parts(taken, now_us=first, caught_up=True)[0])
print(*sorted(name for name, _ in compiled() - warm))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    never, late = done.stdout.splitlines()
    assert never.split() == ["copy_owned", "mark_owned", "read_piece", "sum_levels", "take_stretch", "write_in_turn"]
    assert late == ""
