"""Kernels are compiled before the first sample by several processes; machine code is stored between starts."""

import json
import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from beatwire.jit import cache, cpu, precompile
from beatwire.kernels.detection import ricker
from beatwire.locks import locked
from beatwire.service import warmup


def test_machine_code_is_stored_in_a_folder_named_by_the_text_of_all_kernels(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    shutil.copytree(cache.PACKAGE, tmp_path / "beatwire", ignore=shutil.ignore_patterns("__pycache__", "weights"))
    now = cache.cache_folder()
    assert Path(cpu.kernels.respond.dispatcher.stats.cache_path).is_relative_to(now)
    assert Path(cpu.compiled(ricker.respond).stats.cache_path).is_relative_to(now)
    monkeypatch.setattr(cache, "PACKAGE", tmp_path / "beatwire")
    assert cache.cache_folder() == now
    for name in ("kernels/intake/ring.py", "kernels/detection/windows.py", "jit/x86/prefetch.py", "records/events.py"):
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


def test_folders_that_no_start_has_used_for_a_month_are_removed(
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
    assert old.exists(), "nothing is removed until a folder is created"
    shutil.rmtree(now)
    assert cache.cache_folder() == now
    assert {path.name for path in now.parent.iterdir()} == {now.name, "kept"}
    assert (kept / "cuda" / "machine.nbc").exists()


@pytest.mark.parametrize("home", ["", ".cache"])
def test_the_cache_is_in_the_users_cache_folder_else_in_the_temporary_folder(
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
def test_machine_code_is_not_loaded_from_a_temporary_folder_that_other_users_can_write_to(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, prepared: str
) -> None:
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path))
    for name in ("XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    shared, elsewhere = tmp_path / f"beatwire-{os.getuid()}", tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    if prepared == "a link":
        shared.symlink_to(elsewhere)
    else:
        shared.mkdir()
        shared.chmod(0o777)
    private = cache.cache_folder()
    assert private.is_dir()
    assert private == cache.cache_folder()
    assert private.is_relative_to(tmp_path)
    assert not private.resolve().is_relative_to(shared.resolve())
    assert private.parents[1].stat().st_mode & 0o077 == 0


def test_after_a_warm_up_nothing_is_compiled_and_only_kernels_of_shards_and_of_training_are_left() -> None:
    script = """
import numpy as np
from beatwire.kafka.consuming.batch import Part, join_parts
from beatwire.jit import cpu
from beatwire.pipeline import Pipeline
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
for first in range(0, 2500, 250):  # an empty tick, the messages of one poll, of several
    parts = [part(chunk(first, "I"), b"{"), part(chunk(first + 125, "I", "II"))]
    for pipeline, taken in ((one, parts), (two, parts[:1]), (two, parts[1:]), (two, [])):
        pipeline.emit(join_parts(taken, now_us=first, caught_up=True)[0])
print(*sorted(name for name, _ in compiled() - warm))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    never, late = done.stdout.splitlines()
    assert never.split() == ["copy_owned", "mark_owned", "read_piece", "sum_levels", "take_stretch", "write_in_turn"]
    assert late == ""


def test_the_listed_signatures_are_those_that_a_warm_up_of_the_graph_uses() -> None:
    script = "import kernel_signatures as k, json; print(json.dumps(k.used_by_a_warm_up()))"
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        check=True,
    )
    listed = {name: sorted(signatures) for name, signatures in precompile.table().items()}
    assert json.loads(done.stdout) == listed, "write them again: python tests/helpers/kernels/kernel_signatures.py"


def test_every_listed_signature_can_be_read_and_written() -> None:
    for signatures in precompile.table().values():
        for signature in signatures:
            assert precompile.as_text(precompile.from_text(signature)) == signature


SMALL = ("enter", "find_runs", "mark_embedded", "write_scale", "time_beat")  # each compiles in a tenth of a second


def precompiled(
    folder: Path, before: str = "", processes: int = 2, at: Path = cache.PACKAGE.parent
) -> tuple[int, list[tuple[int, int]], int]:
    """Compile ``SMALL`` of the package in ``at`` in a process of its own.

    Returns the number that was returned, the progress, and what that process compiled.
    """
    script = f"""
import json, sys
from beatwire.jit import cpu, precompile
{before}
seen = []
n = precompile.precompile({SMALL}, lambda done, of: seen.append((done, of)), {processes})
own = sum(bool(kernel.dispatcher.signatures) for kernel in vars(cpu.kernels).values())
print(json.dumps([n, seen, own]))
"""
    environment = {**os.environ, "XDG_CACHE_HOME": str(folder), "PYTHONPATH": str(at)}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    n, seen, own = json.loads(done.stdout)
    return n, [(a, b) for a, b in seen], own


def test_kernels_are_compiled_once_counted_and_found_by_another_installation_of_the_same_text(tmp_path: Path) -> None:
    n, seen, _ = precompiled(tmp_path)
    assert n == len(SMALL)
    assert seen == [(k, n) for k in range(n + 1)]
    stored = {path.name.split(".")[1].split("-")[0] for path in tmp_path.rglob("*.nbi")}
    assert len(stored) == len(SMALL), "each kernel is stored once, functions that kernels call are not"
    assert precompiled(tmp_path) == (0, [], 0), "the next start finds them"
    ignored = shutil.ignore_patterns("__pycache__", "weights")
    for other in ("one", "two"):
        shutil.copytree(cache.PACKAGE, tmp_path / other / "beatwire", ignore=ignored)
    ring = tmp_path / "two" / "beatwire" / "kernels" / "intake" / "ring.py"
    ring.write_text(ring.read_text() + "# another text\n")
    assert precompiled(tmp_path, at=tmp_path / "one") == (0, [], 0)
    assert precompiled(tmp_path, at=tmp_path / "two")[0] == len(SMALL), "another text is compiled"


def test_a_helper_compiles_what_this_process_does_not(tmp_path: Path) -> None:
    slow = """
import os, pathlib, time
compile_here, ends_s = precompile.compile_kernel, time.monotonic() + 120
def compile_kernel(name, signatures):
    while not any(pathlib.Path(os.environ["XDG_CACHE_HOME"]).rglob("*.nbi")) and time.monotonic() < ends_s:
        time.sleep(0.05)  # until the helper has stored a kernel
    compile_here(name, signatures)
precompile.compile_kernel = compile_kernel
"""
    n, seen, own = precompiled(tmp_path, slow)
    assert (n, len(seen)) == (len(SMALL), len(SMALL) + 1)
    assert 0 < own < len(SMALL)


@pytest.mark.parametrize(
    "helper",
    [
        pytest.param("/bin/false", marks=pytest.mark.slow),
        "/nowhere",
        "import sys; print('ready', flush=True); sys.stdin.readline()",
    ],
)
def test_what_a_helper_that_ends_has_not_compiled_this_process_compiles(tmp_path: Path, helper: str) -> None:
    command = f"[sys.executable, '-c', {helper!r}]" if " " in helper else f"[{helper!r}]"
    broken = f"""
import subprocess
start = subprocess.Popen
precompile.subprocess.Popen = lambda command, **options: start({command}, **options)
"""
    assert precompiled(tmp_path, broken) == (len(SMALL), [(k, len(SMALL)) for k in range(len(SMALL) + 1)], len(SMALL))


def test_whoever_waits_for_another_process_is_told_at_the_beginning_and_at_the_end(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(cpu, "folder", lambda: tmp_path)
    monkeypatch.setattr(precompile, "compile_kernel", lambda *_: pytest.fail("the other process has compiled it"))
    seen: list[tuple[int, int]] = []
    begun, counts = threading.Event(), []

    def on_progress(done: int, of: int) -> None:
        seen.append((done, of))
        begun.set()

    def wait() -> None:
        counts.append(precompile.precompile(SMALL, on_progress, 1))

    waiting = threading.Thread(target=wait)
    with locked(tmp_path / "lock"):
        waiting.start()
        assert begun.wait(60)
        kernels = [name for name in precompile.table() if name in SMALL]
        (tmp_path / f"compiled-{precompile._key(kernels)}").touch()
    waiting.join()
    assert (seen, counts) == ([(0, len(SMALL)), (len(SMALL), len(SMALL))], [len(SMALL)])
    assert precompile.precompile(SMALL, on_progress, 1) == 0


def test_whoever_has_to_wait_for_the_compiler_is_told_how_many_kernels_there_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def precompile_two(_: object, on_progress: precompile.Progress) -> int:
        for done in range(3):
            on_progress(done, 2)
        return 2

    lines, counts = list[str](), list[tuple[int, int]]()
    monkeypatch.setattr(warmup, "precompile", precompile_two)
    warmup.compile_kernels(lines.append)
    assert [line.partition(" in ")[0] for line in lines] == [
        "compiling the kernels, once for this version: 2 kernels, about half a minute",
        "2 kernels compiled",
    ]
    warmup.compile_kernels(lines.append, on_progress=lambda done, of: counts.append((done, of)))
    assert counts == [(0, 2), (1, 2), (2, 2)]
    monkeypatch.setattr(warmup, "precompile", lambda *_: 0)
    warmup.compile_kernels(lines.append)
    assert len(lines) == 3
