"""Kernels: every body as plain Python gives the bytes of its machine code, on the arguments of a small ward."""

import builtins
import inspect
import sys
import types
from collections.abc import Callable
from cProfile import Profile
from typing import Any, NamedTuple

import kernel_calls
import numpy as np
import pytest
from beatwire.jit import cpu
from beatwire.jit.arguments import caller, flattened
from beatwire.jit.cuda import launchers
from beatwire.kernels.detection import ricker
from beatwire.kernels.table import HostKernels, Kernels, OverItems
from beatwire.pipeline import Pipeline
from beatwire.pipeline.settings import Settings
from beatwire.recordings.synthetic.person import synthesise
from beatwire.records import LimitChange, RawTick
from beatwire.stages.support.streams import align_groups
from beatwire.wire.bundles import encode_bundle
from fast_hearts import heart, units
from laws import Run, Signal, collect, cut, grouped, shuffled
from numba.core.registry import CPUDispatcher
from pulses import with_pulses

BODIES = {kernel.name: kernel for kernel in HostKernels.members()}
SCRATCH = {"work", "stretch", "numbers", "features", "scratch"}  # scratch: its content after a call is undefined
ROUNDED = {"history": 2e-6, "vae": 2e-5}  # sums of float32: NumPy's scalars round each step, machine code does not
ON_A_DEVICE = {"ring.write_in_turn"}  # used where items run in parallel
ON_THE_HOST = {"lead_agreement.past_columns", "files._read_by_c", "wave_network.grid_of"}
BY_THE_SYSTEM = {"files.read_at"}  # a system call, which machine code makes without Python


def texts_of_kernels() -> list[types.ModuleType]:
    """Return the modules of the bodies that are compiled, and of the functions that they call."""
    texts = list({sys.modules[kernel.body.__module__]: None for kernel in BODIES.values()})
    for text in texts:
        called = {f.__module__ for _, f in inspect.getmembers(text, inspect.isfunction)}
        texts += [
            sys.modules[name]
            for name in called
            if name.startswith("beatwire.kernels.") and sys.modules[name] not in texts
        ]
    return texts


def bodies() -> dict[str, Callable[..., Any]]:
    """Return every function of the modules of the kernels, by module and name."""
    texts = texts_of_kernels()
    return {
        f"{text.__name__.rpartition('.')[2]}.{name}": function
        for text in texts
        for name, function in inspect.getmembers(text, inspect.isfunction)
        if function.__module__ == text.__name__
    }


def messages() -> list[list[bytes]]:
    """Return ticks of three people with faults of every kind, of one with pulses for a minute, and of a fast heart.

    The first one's electrode is touched, a lead of the second one hums. The fast heart's chunks come in bundles.
    """
    rng = np.random.default_rng(5)
    queues = []
    for number, (rate_hz, leads, seconds) in enumerate(
        [(250.0, 1, 11), (128.0, 3, 11), (250.0, 1, 11), (250.0, 1, 75)]
    ):
        samples = synthesise(number, rate_hz=rate_hz, leads=leads, seconds=seconds).recording.samples
        if seconds > 60:
            samples = with_pulses(samples, rate_hz, np.arange(60.0, 74.0, 0.73) * rate_hz, 2.0)
        if number == 1:
            samples[1] += np.rint(90 * np.sin(2 * np.pi * 60.05 / rate_hz * np.arange(samples.shape[1]))).astype("i2")
        if number == 0:
            samples[:, 1500:1900] += 15_000
            samples[:, 2200:2500] += np.rint(np.interp(np.arange(300), [0, 8, 290, 300], [0, 15e3, 15e3, 0])).astype(
                "i2"
            )
        signal = Signal(f"bed-{number}", samples, rate_hz, 2.0)
        queue = []
        for a, b in cut(samples.shape[1], rng, 60):
            x = samples[:, a:b].copy()
            wrong = rng.random() if a > 4 * rate_hz and seconds < 60 else 1.0
            if wrong < 0.2:
                x[:, 1::5] = -32768
            if wrong > 0.05:
                queue.append(signal.chunk(a, b, samples=x, lead_off=int(wrong < 0.15) * 2 ** (leads - 1)))
            if 0.15 < wrong < 0.25:
                queue.append(queue.pop(-2))
        queue.insert(-2, signal.chunk(0, 40, first=10**9))
        queue.append(signal.chunk(0, 40, session=2))
        if seconds > 60:  # again, and with other values
            again = [
                signal.chunk(k, k + 300, samples=samples[:, k : k + 300] + off) for off in (0, 9) for k in (0, 300, 600)
            ]
            queue[40:40] = again
        queues.append(queue)
    fast = Signal("fast", units(heart([(280, 280, 9)], 250.0, 0.012, leads=2)[0]))
    chunks = [fast.chunk(a, b) for a, b in cut(fast.samples.shape[1], rng, 60)]
    queues.append([encode_bundle(chunks[k : k + 3]) for k in range(0, len(chunks), 3)])
    still = Signal("still", np.zeros((2, 1500), np.int16))
    queues.append([still.chunk(k, k + 50) for k in range(0, 1500, 50)])
    queues.append([b"", b"\0\0\0\0\7", b'{"stream": 1}', queues[0][0][:-3], queues[0][0] + b"x", b"\xff" * 30])
    queues.append([Signal("bed-0", np.ones((2, 9), np.int16)).chunk(0, 9)])
    return grouped(shuffled(queues, rng), rng, 12)


class Twin:
    """Replaces a compiled kernel: calls it, calls its body as Python on copies of the arguments, compares both."""

    def __init__(self, kernel: Callable[..., Any], body: Callable[..., Any], each: bool, profile: Profile) -> None:
        self.kernel, self.body, self.each, self.profile, self.calls = kernel, body, each, profile, 0

    def __call__(self, *args: Any) -> Any:
        copies = [copied(a) for a in args]
        returned = self.kernel(*args)
        with self.profile:
            if self.each:
                for i in range(copies[0]):
                    self.body(i, *copies[1:])
            else:
                assert self.body(*copies) == returned
        names = self.body.__code__.co_varnames
        for k, (a, b) in enumerate(zip(args, copies, strict=True)):
            if not (self.each and names[k] in SCRATCH):
                self.compare(a, b, f"{self.body.__name__}: {names[k]}")
        self.calls += int(args[0]) if self.each else 1
        return returned

    def compare(self, found: Any, expected: Any, where: str) -> None:
        """Compare an argument after both calls, field by field if it is a NamedTuple."""
        off = ROUNDED.get(self.body.__module__.rpartition(".")[2], 0.0)
        if isinstance(found, tuple):
            for name, a, b in zip(type(found)._fields, found, expected, strict=True):  # type: ignore[attr-defined]
                self.compare(a, b, f"{where}.{name}")
        elif isinstance(found, np.ndarray) and off > 0.0:
            np.testing.assert_allclose(found, expected, rtol=off, atol=off, err_msg=where)
        elif isinstance(found, np.ndarray):
            assert found.tobytes() == expected.tobytes(), where


def copied(argument: Any, known: dict[int, Any] | None = None) -> Any:
    """Copy an argument of a kernel, arrays in NamedTuples included; a view of another one stays a view of it."""
    known = {} if known is None else known
    if isinstance(argument, tuple):
        return type(argument)(*(copied(one, known) for one in argument))
    if not isinstance(argument, np.ndarray):
        return argument
    if id(argument.base) in known and argument.base.nbytes == argument.nbytes:  # type: ignore[union-attr]
        return known[id(argument.base)].view(argument.dtype)
    known[id(argument)] = argument.copy()
    return known[id(argument)]


def test_python_and_machine_code_give_the_same_bytes_in_every_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    twins, profile = list[Twin](), Profile(subcalls=False, builtins=False)
    for name, kernel in BODIES.items():
        if f"{kernel.body.__module__.rpartition('.')[2]}.{name}" not in ON_A_DEVICE:
            twins.append(Twin(getattr(cpu.kernels, name), kernel.body, isinstance(kernel, OverItems), profile))
            monkeypatch.setattr(cpu.kernels, name, twins[-1])
    pipeline, run = Pipeline(Settings(detector="trees", pass_s=1.0)), Run()
    collect(pipeline, run)
    pipeline.change_limits([LimitChange(f"bed-{k}", {"tachycardia": 90.0}, {}, "Ada", 0, 0) for k in range(4)])
    monkeypatch.setattr(align_groups, "_groups", lambda chunks: min(3, max(1, chunks)))
    for values in messages():
        pipeline.emit(RawTick.of(values))
    assert len(run.rejects) == 7
    assert sum(map(len, run.beats.values())) > 20
    kernel_calls.of_recordings(monkeypatch)
    kernel_calls.of_copies()
    kernel_calls.of_drift()
    kernel_calls.of_doubt()
    kernel_calls.of_rhythm()
    kernel_calls.of_silence()
    kernel_calls.of_resized_waves()
    kernel_calls.of_runs(np.random.default_rng(4))
    seldom = {twin.body.__name__ for twin in twins if twin.calls < 3}
    ran = {entry.code for entry in profile.getstats()}
    never = {name for name, body in bodies().items() if body.__code__ not in ran}
    assert not seldom | never - ON_A_DEVICE - ON_THE_HOST, "expected each kernel to be called at least three times"


def test_kernels_are_named_by_their_bodies_and_each_of_a_backend_has_a_plan() -> None:
    assert [kernel.body.__name__ for kernel in BODIES.values()] == list(BODIES)
    assert {kernel.name: kernel.body for kernel in Kernels.members()} == {
        name: plan.body for name, plan in launchers.PLANS.items()
    }


def test_a_kernel_is_compiled_when_it_is_first_used() -> None:
    table = cpu.CpuKernels()
    assert not vars(table)
    assert table.find_runs is table.find_runs
    assert list(vars(table)) == ["find_runs"]


class Inner(NamedTuple):
    a: int
    b: int


class Outer(NamedTuple):
    inner: Inner
    c: int


def body(i: int, first: int, outer: Outer) -> tuple[int, int, Outer]:
    return i, first, outer


def test_arguments_in_named_tuples_are_taken_apart_and_put_together() -> None:
    flat, given = flattened(body), Outer(Inner(2, 3), 4)
    assert flat.names == ("first", "outer.inner.a", "outer.inner.b", "outer.c")
    assert flat.arguments(1, outer=given) == (1, 2, 3, 4)
    assert flat.body(9, 1, 2, 3, 4) == (9, 1, given)
    called = caller(body, len, lambda *given: given)
    assert called(5, 1, outer=given) == (5, 1, 2, 3, 4)
    assert called.dispatcher is len  # type: ignore[attr-defined]


def test_these_tests_cover_the_kernels_of_the_graph() -> None:
    texts = {name.partition(".")[0] for name in bodies()}
    assert texts >= {
        "align",
        "arrivals",
        "avro",
        "beats",
        "directory",
        "history",
        "nms",
        "peak_history",
        "ricker",
        "ring",
    }
    assert texts >= {"rules", "windows"}


def test_compilation_leaves_the_body_a_python_function() -> None:
    for name, body in bodies().items():
        assert isinstance(body, types.FunctionType), name
        assert not any(isinstance(body.__globals__.get(callee), CPUDispatcher) for callee in body.__code__.co_names), (
            name
        )
    assert cpu.compiled(ricker.sum_box) is cpu.compiled(ricker.sum_box)
    assert isinstance(cpu.compiled(ricker.sum_box), CPUDispatcher)


def test_bodies_call_other_bodies_and_math_only() -> None:
    allowed = {"math", "min", "max", "abs", "bool", "int", "float", "range", "round", "len"}
    for name, body in bodies().items():
        for used in () if name in BY_THE_SYSTEM else body.__code__.co_names:
            value = body.__globals__.get(used)
            if isinstance(value, types.FunctionType):
                assert value.__module__.startswith("beatwire.kernels."), (name, used)
            elif isinstance(value, types.ModuleType) or used in vars(builtins):
                assert used in allowed, (name, used)
