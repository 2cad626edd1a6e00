"""Law 6 with a scoring model that does not answer: alarms come in time, and scores when it answers again."""

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from beatwire.backends import network, patient
from beatwire.backends.cpu import CPU
from beatwire.backends.patient import PATIENCE_S, PatientCpu
from beatwire.pipeline import Pipeline
from beatwire.pipeline.settings import Settings
from beatwire.recordings.synthetic.person import synthesise
from beatwire.records import Alerts, RawTick
from beatwire.service.run import patient as patient_backend
from laws import Run, Signal, assert_equal, collect
from moments import LIMIT_S, own_s

RATE = 250
TICK = RATE // 4
LETHAL = {"asystole", "ventricular fibrillation", "extreme tachycardia"}
BUDGET_S = 0.5


@pytest.fixture(scope="module")
def signal() -> Signal:
    """Return two minutes with waves of fibrillation, an asystole, and a fast heart."""
    samples = synthesise(2, rate_hz=RATE, seconds=120).recording.samples.copy()
    t = np.arange(20 * RATE) / RATE
    samples[:, 30 * RATE : 50 * RATE] = np.rint(200 * np.sin(2 * np.pi * 4.5 * t))
    samples[:, 62 * RATE : 70 * RATE] = samples[:, 62 * RATE : 62 * RATE + 1]
    fast = synthesise(2, rate_hz=RATE, seconds=90, bpm=75).recording.samples[:, ::2]
    samples[:, 80 * RATE : 120 * RATE] = fast[:, : 40 * RATE]
    return Signal("bed", samples, RATE)


def stream(pipeline: Pipeline, signal: Signal, first: int, last: int) -> tuple[Run, dict[str, float]]:
    """Emit ticks of 250 ms; return the output, and for each rule the longest tick in which its alert began."""
    run, began = Run(), dict[str, float]()
    collect(pipeline, run)
    tick_s = 0.0

    def note(alerts: Alerts) -> None:
        took_s = own_s() - tick_s
        for rule in {a["rule"] for a in alerts.transitions if a["state"] == "on"}:
            began[rule] = max(began.get(rule, 0.0), took_s)

    pipeline.subscribe(pipeline.alerts, note)
    for start in range(first, last, TICK):
        tick_s = own_s()
        pipeline.emit(RawTick.of([signal.chunk(start, min(last, start + TICK))]))
    return run, began


class Model:
    """The network, which answers only after ``answers`` is set."""

    def __init__(self) -> None:
        self.answers, self.calls = threading.Event(), 0

    def __call__(self, *given: Any) -> Any:
        self.calls += 1
        assert self.answers.wait(LIMIT_S)
        return network.embed_into(*given)


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Any:
    one = Model()
    monkeypatch.setattr(patient, "embed_into", one)
    yield one
    one.answers.set()


def ended(backend: PatientCpu) -> bool:
    """Wait until the network has ended."""
    assert backend._running is not None
    backend._running.result(LIMIT_S)
    return not backend.is_stalled


def test_a_model_that_does_not_answer_delays_no_alarm_and_scores_return_with_it(signal: Signal, model: Model) -> None:
    n, backend = signal.samples.shape[1], PatientCpu()
    expected, _ = stream(Pipeline(Settings()), signal, 0, n)
    pipeline = Pipeline(Settings(), backend)
    begin_s = own_s()
    stalled, began = stream(pipeline, signal, 0, n - 10 * RATE)
    assert own_s() - begin_s < 30, "expected two minutes of signal in less"
    assert (model.calls, backend.is_stalled) == (1, True)
    assert set(began) >= LETHAL
    assert max(began[rule] for rule in LETHAL) < BUDGET_S
    assert lethal(stalled) == lethal(expected, n - 11 * RATE)
    assert {row[9] for row in stalled.beats["bed"]} == {2}  # overload
    model.answers.set()
    assert ended(backend)
    after, _ = stream(pipeline, signal, n - 10 * RATE, n)
    assert not np.isnan([row[7] for row in after.beats["bed"][2:]]).any()


def lethal(run: Run, until: int = 1 << 40) -> list[tuple[str, str, int]]:
    """Return the transitions of lethal alarms, and check that an asystole begins four seconds after the last beat."""
    beats = np.array([row[1] for row in run.beats["bed"]])
    for a in run.alerts:
        if a["rule"] == "asystole" and a["state"] == "on":
            assert a["onset"] - beats[beats <= a["onset"]].max() == 4 * RATE
    return [(a["rule"], a["state"], a["decided"]) for a in run.alerts if a["rule"] in LETHAL and a["decided"] < until]


def test_a_model_that_answers_in_time_changes_nothing(signal: Signal) -> None:
    short = replace(signal, samples=signal.samples[:, : 20 * RATE])
    one, _ = stream(Pipeline(Settings(), PatientCpu(30.0)), short, 0, 20 * RATE)
    other, _ = stream(Pipeline(Settings(), CPU), short, 0, 20 * RATE)
    assert_equal(one, other)


def test_the_first_tick_waits_no_longer_than_its_patience(signal: Signal, model: Model) -> None:
    backend = PatientCpu()
    begin_s = own_s()
    stream(Pipeline(Settings(), backend), signal, 0, 3 * RATE)
    assert PATIENCE_S <= own_s() - begin_s < 10
    assert model.calls == 1


def test_the_monitor_is_patient_unless_all_beats_have_to_be_scored() -> None:
    choose: Callable[..., Any] = patient_backend
    assert isinstance(choose(CPU, 30.0), PatientCpu)
    assert choose(CPU, 0.0) is CPU
