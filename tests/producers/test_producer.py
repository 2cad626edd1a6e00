"""A producer at Ctrl-C: what is raised does not depend on where in its queue the client is."""

import os
import signal
import threading
from collections.abc import Iterator

import pytest
from beatwire import signals
from beatwire.kafka.local.mock import MockKafka
from beatwire.kafka.publishing.producer import Producer, _again
from beatwire.wire import names
from confluent_kafka import KafkaError, KafkaException


@pytest.fixture
def handlers() -> Iterator[None]:
    """Signals end the command, as before it has a loop that they stop."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    signals.end_on_signals()
    yield
    signals._ASKED.clear()
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.usefixtures("handlers")
@pytest.mark.parametrize(("number", "raised"), [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, SystemExit)])
def test_a_signal_while_reports_of_messages_are_handled_ends_the_command(
    number: int, raised: type[BaseException]
) -> None:
    begun, inside = threading.Event(), []

    def report(error: KafkaError | None, message: object) -> None:
        if not begun.is_set():
            begun.set()
            os.kill(os.getpid(), number)
            inside.append(1)  # an interrupt here would be lost

    with MockKafka() as kafka:
        producer = Producer({"bootstrap.servers": kafka.bootstrap, "on_delivery": report})
        for _ in range(5):
            begun.clear()
            producer.produce(names.BEATS, b"x")
            with pytest.raises(raised):
                producer.flush(5.0)
        assert len(inside) == 5
        producer.flush(5.0)
        producer.close()


def test_an_error_of_a_callback_that_the_client_has_lost_is_a_fatal_error() -> None:
    class Broken(Exception):
        pass

    def report(error: KafkaError | None, message: object) -> None:
        raise Broken

    with MockKafka() as kafka:
        producer = Producer({"bootstrap.servers": kafka.bootstrap, "on_delivery": report})
        producer.produce(names.BEATS, b"x")
        with pytest.raises((Broken, KafkaException)):
            producer.flush(5.0)
        producer.close()


def test_what_is_left_of_an_interrupt_does_not_end_a_producer() -> None:
    left = [SystemError("_PyErr_SetObject: exception <class 'str'> is not a BaseException subclass")]

    def flush(timeout: float) -> int:
        if left:
            raise left.pop()
        return round(timeout)

    assert _again(flush, 3.0) == 3
    left.append(SystemError("flush returned a result with an exception set"))
    with pytest.raises(SystemError, match="a result with an exception set"):
        _again(flush, 3.0)
