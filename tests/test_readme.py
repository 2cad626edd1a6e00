"""The README's examples run as they stand."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from beatwire.kafka.local.mock import MockKafka
from beatwire.recordings.synthetic.person import synthesise
from beatwire.wire.avro import decode_chunk
from beatwire.wire.names import SAMPLES
from laws import Signal

README = Path(__file__).parents[1] / "README.md"


def example(name: str) -> str:
    found = re.search(rf"<!-- example: {name} -->\n```python\n(.*?)```", README.read_text(), re.DOTALL)
    assert found, f"README has no example {name!r}"
    return found.group(1)


def test_the_feed_example_sends_chunks_that_can_be_read() -> None:
    from confluent_kafka import Consumer

    chunks = [np.arange(50, dtype=np.int16), np.arange(50, 100, dtype=np.int16)]
    with MockKafka() as kafka:
        exec(example("feed"), {"bootstrap": kafka.bootstrap, "my_chunks": chunks})
        consumer = Consumer(
            {"bootstrap.servers": kafka.bootstrap, "group.id": "readme", "auto.offset.reset": "earliest"}
        )
        consumer.subscribe([SAMPLES])
        got = consumer.consume(2, 20.0)
        consumer.close()
    decoded = [decode_chunk(message.value()) for message in got]
    assert [(c["stream"], c["first"], len(c["samples"])) for c in decoded] == [("bed-1", 0, 100), ("bed-1", 50, 100)]
    assert all(message.key() == b"bed-1" for message in got)


def test_the_sink_example_prints_peaks_and_alerts(capsys: pytest.CaptureFixture[str]) -> None:
    samples = synthesise(1, rate_hz=250.0, seconds=20).recording.samples.copy()
    samples[:, 2500:] = samples[0, 2500]
    signal = Signal("bed-1", samples)
    ticks = [[signal.chunk(a, a + 250)] for a in range(0, 5000, 250)]
    exec(example("sink"), {"my_messages": ticks})
    lines = capsys.readouterr().out.splitlines()
    assert "asystole: no beat for 4 s" in lines
    assert sum(int(line) for line in lines if line.isdigit()) > 10
