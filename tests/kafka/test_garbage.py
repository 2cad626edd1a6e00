"""Mutated messages between those of good streams: they change nothing, and each is a dead letter with its reason."""

import logging
import random
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
from beatwire.bench.broker.garbage import stray_messages
from beatwire.bench.broker.mutations import KINDS, OVERSIZED_BYTES, mutated, oversized
from beatwire.pipeline import Pipeline
from beatwire.pipeline.settings import Settings
from beatwire.recordings.synthetic.person import synthesise
from beatwire.records import Fault, Outgoing, RawTick, Rejects
from beatwire.records.letters import Letter
from beatwire.service.observing.pace import EVERY_S
from beatwire.service.observing.reject_log import RejectLog
from laws import Run, Signal, assert_same, collect
from received import Received, letters_among

BEDS = [Signal(f"bed-{k}", synthesise(k, rate_hz=250.0, seconds=24).recording.samples) for k in range(6)]


def ticks(garbage: int, seed: int) -> list[list[bytes]]:
    """Ticks with a chunk of every bed, and so many mutated messages behind each."""
    rng = np.random.default_rng(seed)
    bad = mutated(stray_messages(), garbage * len(BEDS) * 96, seed)
    made = []
    for a in range(0, 6000, 64):
        tick = [
            value for bed in BEDS for value in (bed.chunk(a, min(a + 64, 6000)), *(next(bad) for _ in range(garbage)))
        ]
        made.append([tick[k] for k in rng.permutation(len(tick))])
    return made


def run_over(all_ticks: list[list[bytes]]) -> tuple[Pipeline, Run, list[Letter]]:
    """Return the graph, its output, and the dead letters."""
    pipeline, run, letters, first = Pipeline(Settings()), Run(), [], 0
    collect(pipeline, run)
    for number, values in enumerate(all_ticks):
        tick = RawTick.of(values, now_us=1_700_000_000_000_000 + 256_000 * number, partition=[3] * len(values))
        letters += letters_among(pipeline.emit(tick, Received(values, first)))
        first += len(values)
    return pipeline, run, letters


def test_dead_letters_are_known_before_the_samples_of_their_tick_are_processed() -> None:
    pipeline, order = Pipeline(Settings()), []
    pipeline.subscribe(pipeline.ringed, lambda _: order.append("samples"))
    values = [BEDS[0].chunk(0, 500), b"no chunk"]

    def ahead(outgoing: Sequence[Outgoing]) -> None:
        order.append([letter.value for letter in letters_among(outgoing)])

    out = pipeline.emit(RawTick.of(values, now_us=1_700_000_000_000_000), Received(values), ahead)
    assert (order[0], set(order[1:])) == ([b"no chunk"], {"samples"})  # of one pass or more
    assert [letter.value for letter in letters_among(out[:1])] == [b"no chunk"]


def test_mutated_messages_change_no_other_stream_and_are_dead_letters_with_reason_and_origin() -> None:
    mixed = ticks(4, seed=5)
    _, alone, none = run_over(ticks(0, seed=5))
    pipeline, run, letters = run_over(mixed)
    assert none == []
    assert_same(run.of(*(bed.stream for bed in BEDS)), alone)
    sent = [value for tick in mixed for value in tick]
    assert len(letters) > 0.5 * (len(sent) - 6 * 94)
    for letter in letters:
        assert (letter.key, letter.value) == (b"key %d" % letter.offset, sent[letter.offset])
        assert (letter.topic, letter.partition) == ("ecg.samples", 3)
        assert letter.reason.startswith(("decode: ", "align: "))
    assert len({letter.offset for letter in letters}) == len(letters)
    assert len(pipeline.aligned.state.admission.banks) <= 6  # 62.5 Hz: a chunk of 64 samples is longer than a second


@pytest.mark.parametrize("kind", [*KINDS, oversized], ids=lambda kind: kind.__name__)
def test_every_kind_of_mutation_gives_messages_that_the_graph_takes(kind, rng) -> None:
    chunks, source = stray_messages(), random.Random(8)
    values = [kind(chunks[k % len(chunks)], source) for k in range(300 if kind is not oversized else 3)]
    pipeline = Pipeline(Settings())
    pipeline.emit(RawTick.of([BEDS[0].chunk(0, 64), *values], now_us=1_700_000_000_000_000))
    assert 0 not in pipeline.rejected.message
    assert len(pipeline.rejected.message) > (0 if kind.__name__.startswith("flipped") else 0.9 * len(values))
    assert kind is not oversized or all(len(value) > OVERSIZED_BYTES for value in values)


def test_identical_reasons_are_counted_and_logged_once_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "beatwire")
    now_s = [0.0]
    log = RejectLog(lambda: now_s[0])
    for _ in range(1000):
        log.add(Rejects.of([(0, Fault("malformed", "decode: truncated")), (1, Fault("backwards", "align: back"))]))
        now_s[0] += 0.05
    assert [record.fields["count"] for record in caplog.records] == [2]
    now_s[0] = EVERY_S
    log.add(Rejects())
    log.add(Rejects())
    assert [record.fields["count"] for record in caplog.records] == [2, 1998]
    assert Counter(caplog.records[1].fields["kinds"]) == {"malformed": 999, "backwards": 999}
    assert "999 malformed (decode: truncated)" in caplog.records[1].getMessage()
