"""A sender of live signal on a real broker: it outlives its producer."""

from dataclasses import replace

import pytest
from beatwire.errors import FatalError
from beatwire.kafka.publishing.live_sender import LiveSender
from beatwire.kafka.reading.readers import read_to_end
from beatwire.wire import names

pytestmark = pytest.mark.kafka
KEYS = [b"a", b"b"]
NOBODY = "127.0.0.1:1"


def lose_broker(sender: LiveSender) -> None:
    """Give the sender a producer that never reaches the broker, as one that has lost it."""
    there, sender.cluster = sender.cluster, replace(sender.cluster, bootstrap=NOBODY)
    sender.producer = sender._open(sender._settings())
    sender.cluster = there


def test_a_producer_that_has_lost_its_broker_is_replaced_and_everything_arrives_in_order(kafka, wait):
    with LiveSender(kafka.cluster, stuck_s=5.0) as sender:
        sender.send(names.SAMPLES, KEYS, [b"0", b"0"])
        sender.flush()
        assert sender.replaced == 0
        lose_broker(sender)
        for number in range(1, 50):
            sender.send(names.SAMPLES, KEYS, [b"%d" % number] * 2)
        assert sender.unacknowledged() == 98

        def looked() -> bool:
            sender.check()
            return sender.replaced == 1

        wait(looked)
        sender.send(names.SAMPLES, KEYS, [b"50", b"50"])
        sender.flush()
        assert sender.unacknowledged() == 0
    read = list(read_to_end(kafka.cluster, names.SAMPLES))
    for key in KEYS:
        assert [value for k, value in read if k == key] == [b"%d" % number for number in range(51)]


def test_a_broker_that_is_away_for_too_long_is_an_error_with_the_number_of_messages(kafka):
    sender = LiveSender(replace(kafka.cluster, bootstrap=NOBODY), outage_s=1.0)
    try:
        sender.send(names.SAMPLES, KEYS, [b"0", b"0"])
        with pytest.raises(FatalError, match=f"expected {NOBODY} to acknowledge every message; got 2 unanswered"):
            sender.flush()
        assert sender.replaced == 0
    finally:
        sender.close()
