"""Every body as plain Python equals what was compiled from it, on what a small ward puts into it."""

from __future__ import annotations

import inspect
import os
import shutil
import subprocess
import sys
import time
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from laws import Run, Signal, cut, grouped, listen, shuffled
from numba.core.registry import CPUDispatcher

import streaming.backend
import streaming.pipeline
from producers.synthetic import synthesise
from streaming import archive
from streaming.kernels import cpu, ricker
from streaming.model.checkpoint import load_model
from streaming.pipeline import Pipeline
from streaming.records import RawTick
from streaming.settings import Settings
from streaming.stages.score import weigh


def modules_in(*modules: types.ModuleType, package: str) -> list[types.ModuleType]:
    """Modules of a package that others have imported by name."""
    values = [value for module in modules for value in vars(module).values()]
    return list({v.__name__: v for v in values if inspect.ismodule(v) and v.__name__.startswith(package)}.values())


COMPILED = modules_in(
    streaming.backend, *modules_in(streaming.pipeline, package="streaming.stages."), package="streaming.kernels.cpu"
)


SCRATCH = {"work", "line", "scratch", "out"}  # what a kernel leaves there is nobody's business
ROUNDED = {"history": 2e-6, "forward": 2e-5}  # sums of float32: NumPy's scalars round each step, machine code does not
ON_A_DEVICE = {"ring.write_in_turn"}  # where items do not run one after the other
ON_THE_HOST = {"across.facts_of"}


def texts_of_kernels() -> list[types.ModuleType]:
    """The modules of bodies that are compiled, and of those that they call."""
    texts = modules_in(*COMPILED, package="streaming.kernels.")
    for text in texts:
        called = {f.__module__ for _, f in inspect.getmembers(text, inspect.isfunction)}
        texts += [
            sys.modules[name]
            for name in called
            if name.startswith("streaming.kernels.") and sys.modules[name] not in texts
        ]
    return texts


def bodies() -> dict[str, Callable[..., Any]]:
    """Every function of the texts that the graph's kernels are compiled from, by module and name."""
    texts = texts_of_kernels()
    return {
        f"{text.__name__.rpartition('.')[2]}.{name}": function
        for text in texts
        if not text.__name__.startswith("streaming.kernels.cpu")
        for name, function in inspect.getmembers(text, inspect.isfunction)
        if function.__module__ == text.__name__
    }


def entries() -> Iterator[tuple[types.ModuleType, str, Callable[..., Any], bool]]:
    """What stages call: where it is, its name, the body, and whether that is called once an item."""
    by_name = {key.rpartition(".")[2]: body for key, body in bodies().items()}
    for module in COMPILED:
        for name, function in vars(module).items():
            if isinstance(function, CPUDispatcher) and not name.startswith("_"):
                yield module, name, by_name[name], function.__qualname__.endswith("_of_all")


def messages() -> list[list[bytes]]:
    """Ticks of three people with something of everything wrong, and of one for longer than a minute."""
    rng = np.random.default_rng(5)
    queues = []
    for number, (rate_hz, leads, seconds) in enumerate(
        [(250.0, 1, 11), (128.0, 3, 11), (250.0, 1, 11), (128.0, 1, 75)]
    ):
        samples = synthesise(number, rate_hz=rate_hz, leads=leads, seconds=seconds).recording.samples
        signal = Signal(f"bed-{number}", samples, rate_hz, 2.0)
        queue = []
        for a, b in cut(samples.shape[1], rng, 60):
            x = samples[:, a:b].copy()
            wrong = rng.random() if a > 4 * rate_hz and seconds < 60 else 1.0
            x[0, wrong < 0.1 :: 5] = -32768 if wrong < 0.1 else x[0, ::5]
            if wrong > 0.05:
                queue.append(signal.chunk(a, b, samples=x, lead_off=int(wrong < 0.15) * 2 ** (leads - 1)))
            if 0.15 < wrong < 0.25:
                queue.append(queue.pop(-2))
        queue.append(signal.chunk(0, 40, session=2))
        queues.append(queue)
    queues.append([b"", b"\0\0\0\0\7", b'{"stream": 1}', queues[0][0][:-3], queues[0][0] + b"x", b"\xff" * 30])
    queues.append([Signal("bed-0", np.ones((2, 9), np.int16)).chunk(0, 9)])
    return grouped(shuffled(queues, rng), rng, 12)


class Twin:
    """Stands for a compiled kernel: runs it, runs the body as Python on a copy of the same, compares."""

    def __init__(self, kernel: Callable[..., Any], body: Callable[..., Any], each: bool) -> None:
        self.kernel, self.body, self.each, self.calls = kernel, body, each, 0
        self.ran: set[types.CodeType] = set()

    def __call__(self, *args: Any) -> Any:
        copies = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
        returned = self.kernel(*args)
        sys.setprofile(lambda frame, event, _: self.ran.add(frame.f_code) if event == "call" else None)
        try:
            if self.each:
                for i in range(copies[0]):
                    self.body(i, *copies[1:])
            else:
                assert self.body(*copies) == returned
        finally:
            sys.setprofile(None)
        names = self.body.__code__.co_varnames
        for k, (a, b) in enumerate(zip(args, copies, strict=True)):
            if isinstance(a, np.ndarray) and not (self.each and names[k] in SCRATCH):
                where = f"{self.body.__name__}: {names[k]}"
                off = ROUNDED.get(self.body.__module__.rpartition(".")[2], 0.0)
                if off > 0.0:
                    np.testing.assert_allclose(a, b, rtol=off, atol=off, err_msg=where)
                else:
                    assert a.tobytes() == b.tobytes(), where
        self.calls += int(args[0]) if self.each else 1
        return returned


def of_recordings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Call what only recordings in pieces, and training, have a use for."""
    monkeypatch.setattr(archive, "WARM_S", 2.0)
    recording = synthesise(1, rate_hz=128.0, seconds=9.0).recording
    beats = archive.Archive(Settings(), archive.Plan(4.0, 5.0), rules=False).analyze(recording, "x")[0].beats
    weigh(load_model().calibration, beats.terms)
    start, stop = np.array([0, 5, 9]), np.array([4, 12, 11])
    cpu.take_stretch(3, recording.samples, start, stop, np.zeros((3, 1, 8), np.int16))


def test_python_and_machine_code_give_the_same_bytes_in_every_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    twins: list[Twin] = []
    for module, name, body, each in list(entries()):
        twins.append(Twin(getattr(module, name), body, each))
        monkeypatch.setattr(module, name, twins[-1])
    pipeline, run = Pipeline(Settings(pass_s=1.0)), Run()
    listen(pipeline, run)
    for values in messages():
        pipeline.emit(RawTick.of(values))
    assert len(run.rejects) == 7
    assert sum(map(len, run.beats.values())) > 20
    of_recordings(monkeypatch)
    seldom = {twin.body.__name__ for twin in twins if twin.calls < 3}
    never = {name for name, body in bodies().items() if not any(body.__code__ in twin.ran for twin in twins)}
    assert not seldom | never - ON_A_DEVICE - ON_THE_HOST, "what hardly runs shows nothing"


def test_the_kernels_of_the_graph_are_known_here() -> None:
    assert {module.__name__.rpartition(".")[2] for module in COMPILED} == {"cpu"}
    texts = {name.partition(".")[0] for name in bodies()}
    assert texts >= {"align", "arrivals", "avro", "beats", "directory", "history", "nms", "past", "ricker", "ring"}
    assert texts >= {"rules", "windows"}


def test_compiling_leaves_the_body_a_python_function() -> None:
    for name, body in bodies().items():
        assert isinstance(body, types.FunctionType), name
        assert not any(isinstance(body.__globals__.get(callee), CPUDispatcher) for callee in body.__code__.co_names), (
            name
        )
    assert cpu.compiled(ricker.sum_box) is cpu.compiled(ricker.sum_box)
    assert isinstance(cpu.compiled(ricker.sum_box), CPUDispatcher)


def test_bodies_call_nothing_but_bodies_and_math() -> None:
    allowed = {"math", "min", "max", "abs", "int", "float", "range", "round", "len"}
    for name, body in bodies().items():
        for used in body.__code__.co_names:
            value = body.__globals__.get(used)
            if isinstance(value, types.FunctionType):
                assert value.__module__.startswith("streaming.kernels"), (name, used)
            elif isinstance(value, types.ModuleType) or used in dir(__builtins__):
                assert used in allowed, (name, used)


def test_machine_code_lies_in_a_folder_named_by_the_text_of_all_kernels(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    texts = tmp_path / "kernels"
    shutil.copytree(Path(cpu.__file__).parent, texts, ignore=shutil.ignore_patterns("__pycache__"))
    now = cpu.cache_folder()
    assert Path(cpu.respond.stats.cache_path).is_relative_to(now)
    assert Path(cpu.compiled(ricker.respond).stats.cache_path).is_relative_to(now)
    monkeypatch.setattr(cpu, "__file__", str(texts / "cpu.py"))
    assert cpu.cache_folder() == now
    for name in ("ring.py", "windows.py", "cpu_ahead.py"):
        before = (texts / name).read_text()
        (texts / name).write_text(before + "# another text\n")
        assert cpu.cache_folder() != now, name
        (texts / name).write_text(before)
    assert cpu.cache_folder() == now


def test_machine_code_of_other_texts_goes_when_no_start_has_used_it_for_a_month(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    now = cpu.cache_folder()
    kept, old, own = now.with_name("kept"), now.with_name("old"), now / "own"
    for folder, days in ((kept, 29), (old, 31), (own, 99), (now, 99)):
        (folder / "cuda").mkdir(parents=True)
        (folder / "cuda" / "machine.nbc").touch()
        os.utime(folder, (time.time() - days * 86400,) * 2)
    cpu.cache_folder()
    assert time.time() - now.stat().st_mtime < 60, "a start marks its folder as used"
    assert old.exists(), "nothing goes before something new comes"
    shutil.rmtree(now)
    assert cpu.cache_folder() == now
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
    assert cpu.cache_folder().parent == tmp_path / "home" / ".cache" / "beatwire" / "kernels"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cpu.cache_folder().parent == tmp_path / "xdg" / "beatwire" / "kernels"
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    monkeypatch.setenv("HOME", str(tmp_path / "file"))
    assert cpu.cache_folder().is_relative_to(temporary)
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.delenv("HOME")
    assert cpu.cache_folder().is_relative_to(temporary)
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
    ours = cpu.cache_folder()
    assert ours.is_dir()
    assert ours == cpu.cache_folder()
    assert ours.is_relative_to(tmp_path)
    assert not ours.resolve().is_relative_to(theirs.resolve())
    assert ours.parents[1].stat().st_mode & 0o077 == 0


def test_a_warm_up_reaches_every_kernel_but_those_of_pieces_and_of_training_and_nothing_is_compiled_after_it() -> None:
    script = """
import numpy as np
from streaming.kafka.batch import Part, tick_of
from streaming.kernels import cpu
from streaming.pipeline import Pipeline
from streaming.settings import Settings
from streaming.warmup import warm_up
from streaming.wire import encode_chunk

def compiled():
    return {(name, str(types)) for name, kernel in vars(cpu).items() for types in getattr(kernel, "signatures", ())}

def part(*values):
    m = len(values)
    payload, length = np.frombuffer(b"".join(values), np.uint8), np.array([len(value) for value in values])
    return Part([], payload, length, np.zeros(m, np.int64), np.zeros(m, np.int32), {})

def chunk(first, *leads):
    beat = (np.arange(first, first + 125) % 250 == 0) * np.float32(2000)
    return encode_chunk("bed", 1, first, 0, 250.0, list(leads), np.stack([beat.astype(np.int16)] * len(leads)))

warm_up(lambda _: None)
print(*sorted(name for name, kernel in vars(cpu).items() if not getattr(kernel, "signatures", True)))
warm = compiled()
one, two = Pipeline(Settings()), Pipeline(Settings())
for first in range(0, 2500, 250):  # nothing, what one poll brought, what several brought
    parts = [part(chunk(first, "I"), b"{"), part(chunk(first + 125, "I", "II"))]
    for pipeline, taken in ((one, parts), (two, parts[:1]), (two, parts[1:]), (two, [])):
        pipeline.emit(tick_of(taken, now_us=first, caught_up=True)[0])
print(*sorted(name for name, _ in compiled() - warm))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    never, late = done.stdout.splitlines()
    assert never.split() == ["is_answered", "take_stretch", "tell_beat", "weigh_beat"]
    assert late == ""
