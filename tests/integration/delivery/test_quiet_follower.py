"""A follower of a topic that ends with aborted messages: it has received what there is, and keeps its consumer."""

import pytest
from beatwire.kafka.local.broker import LocalKafka
from beatwire.kafka.reading import follower as following
from beatwire.kafka.reading.follower import BEGINNING, Follower
from beatwire.wire import names
from kafka_messages import abort_messages, send
from moments import wait_until

pytestmark = pytest.mark.kafka


def test_messages_that_were_aborted_are_not_waited_for(kafka: LocalKafka, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following, "_SILENCE_S", 0.2)
    send(kafka, b"first")
    found: list[bytes | None] = []
    with Follower(kafka.cluster, {names.SAMPLES: BEGINNING}) as follower:

        def has(count: int) -> bool:
            found.extend(record.value for record in follower.records(0.05))
            return len(found) >= count

        wait_until(lambda: has(1), 30)
        for partition in sorted({p for _, p in follower._at}):
            abort_messages(kafka.cluster, partition)
        checked: list[bool] = []
        is_stuck = follower._is_stuck
        monkeypatch.setattr(follower, "_is_stuck", lambda: checked.append(is_stuck()) or checked[-1])
        wait_until(lambda: has(2) or checked[-1:] == [False], 30)
        send(kafka, b"second")
        wait_until(lambda: has(2), 30)
    assert found == [b"first", b"second"]
