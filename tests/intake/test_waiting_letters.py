"""Chunks that waited for a bank in vain are dead letters, each once."""

from dataclasses import replace

import numpy as np
import pytest
from beatwire.pipeline import Pipeline
from beatwire.pipeline.settings import Settings
from beatwire.records import RawTick
from beatwire.records.letters import Letter
from beatwire.stages.support.streams import waiting
from laws import Signal
from of_several_rates import beds, chunks_of, strays
from received import Received, letters_among


def letters_of(ticks: list[list[bytes]], settings: Settings, tick_us: int) -> tuple[Pipeline, list[Letter]]:
    """Run ticks whose messages are at consecutive offsets; return all dead letters."""
    pipeline = Pipeline(settings)
    return pipeline, emit_to(pipeline, [(number * tick_us, values) for number, values in enumerate(ticks)])


def emit_to(pipeline: Pipeline, ticks: list[tuple[int, list[bytes]]], first: int = 0) -> list[Letter]:
    """Run ticks, each with its time, whose messages are at consecutive offsets; return the dead letters."""
    letters = []
    for at_us, values in ticks:
        now_us = 1_700_000_000_000_000 + at_us
        tick = RawTick.of(values, now_us=now_us, partition=[3] * len(values), caught_up=False)
        letters += letters_among(pipeline.emit(tick, Received(values, first)))
        first += len(values)
    return letters


@pytest.mark.parametrize("taken_over_after", [1, 50, 62, 63, 70])
@pytest.mark.parametrize("goes_on", [True, False])
def test_a_successor_rejects_what_waited_once(taken_over_after: int, goes_on: bool) -> None:
    bed = Signal("bed", np.zeros((1, 20_000), np.int16), 250.0)
    messages = [(k, bed.chunk(250 * k, 250 * k + 50)) for k in range(80)]
    stray = Signal("stray", np.zeros((1, 50_000), np.int16), 333.0)
    messages.insert(1, (0, stray.chunk(0, 50)))
    if goes_on:
        messages.insert(65, (63, stray.chunk(21_000, 21_050)))  # more than a minute after the first
    seconds, values = [at for at, _ in messages], [value for _, value in messages]
    undisturbed = emit_to(Pipeline(Settings()), [(1_000_000 * at, [value]) for at, value in messages])

    commit = seconds.index(taken_over_after)
    before = emit_to(Pipeline(Settings()), [(1_000_000 * at, [value]) for at, value in messages[:commit]])
    successor = Pipeline(Settings())
    banks = {3: frozenset({(250.0, 1)})}
    replayed = RawTick.of(values[:commit], now_us=1_700_000_000_000_000, partition=[3] * commit, caught_up=False)
    arrival_us = 1_700_000_000_000_000 + 1_000_000 * np.array(seconds[:commit])
    successor.emit(replace(replayed, arrival_us=arrival_us, open_banks=banks), Received(values[:commit], 0))
    after = emit_to(successor, [(1_000_000 * at, [value]) for at, value in messages[commit:]], commit)
    assert [letter.value for letter in undisturbed] == [stray.chunk(0, 50)]
    assert [*before, *after] == undisturbed


def test_a_stray_that_is_dropped_is_a_dead_letter_with_its_own_place(rng: np.random.Generator) -> None:
    first, sent = chunks_of(beds(), 0.25)[0][:1], strays(3, rng)
    pipeline, letters = letters_of([first, sent[:2], [b"{", *first], sent[2:], []], Settings(), 40_000_000)
    malformed, *dropped = letters
    assert malformed.offset == 3
    for k, letter in enumerate(dropped):
        assert letter[1:6] == ("ecg.samples", 3, k + 1, b"key %d" % (k + 1), sent[k])
        assert "expected 1 s of samples of a stream whose rate" in letter.reason
        assert "; got 0." in letter.reason
    assert len(dropped) == 2
    assert (pipeline.counts["strays"], len(pipeline.held)) == (2, 1), "the third still waits"


def test_what_has_no_room_to_wait_is_a_dead_letter_in_the_same_tick(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "MOST_BYTES", 300)
    first, sent = chunks_of(beds(), 0.25)[0][:1], strays(5, rng)
    pipeline, letters = letters_of([first, sent], Settings(), 250_000)
    assert [(letter.value, letter.offset) for letter in letters] == [(v, k) for k, v in enumerate(sent[:3], 1)]
    assert (pipeline.counts["strays"], len(pipeline.held)) == (3, 2)


def test_chunks_that_are_refused_after_they_have_waited_are_dead_letters() -> None:
    first, *others = beds()
    ticks = [[first.chunk(0, 63)]]
    ticks += [[bed.chunk(*(round(bed.rate_hz * at / 4) for at in (k, k + 1))) for bed in others] for k in range(8)]
    pipeline, letters = letters_of(ticks, replace(Settings(), most_banks=2), 250_000)
    assert [bank.rate_hz for bank in pipeline.aligned.state.admission.banks] == [250.0, 360.0]
    refused = [value for values in ticks for value in values if b"bed-2" in value]
    assert [letter.value for letter in letters] == refused
    assert [letter.offset for letter in letters] == [2 * k + 2 for k in range(8)]
    assert all("'bed-2' is refused: 500 Hz" in letter.reason for letter in letters)
    assert len(pipeline.held) == 0
