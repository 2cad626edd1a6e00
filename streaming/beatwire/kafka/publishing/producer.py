"""A producer of librdkafka whose errors are raised as what they are.

While confluent-kafka (2.16.1) serves its queue, an exception that a callback raises, or that is pending while another
callback runs, becomes a SystemError or is lost. Two occur: a fatal error, set while ``on_delivery`` is called for the
messages that failed with it, and Ctrl-C, which Python raises wherever it is in the main thread.
"""

import contextlib
import warnings
from collections.abc import Callable, Iterator

import confluent_kafka
from confluent_kafka import KafkaError, KafkaException

from beatwire.signals import deferred

__all__ = ["Producer"]

_LEFT = "is not a BaseException subclass"


class Producer(confluent_kafka.Producer):
    """A producer whose methods raise KafkaException for an error of librdkafka, and obey Ctrl-C when they return."""

    def poll(self, timeout: float = -1) -> int:
        """Handle the reports of delivered messages; return their number."""
        with _served():
            return _again(super().poll, timeout)

    def flush(self, timeout: float = -1) -> int:
        """Wait until every message is delivered; return the number of those that are not."""
        with _served():
            return _again(super().flush, timeout)

    def commit_transaction(self, timeout: float = -1) -> None:
        """Commit the transaction."""
        with _served():
            super().commit_transaction(timeout)

    def abort_transaction(self, timeout: float = -1) -> None:
        """Abort the transaction."""
        with _served():
            super().abort_transaction(timeout)

    def close(self) -> bool:
        """Close the connection; a transaction that is open is aborted, which a producer that has failed cannot do."""
        with warnings.catch_warnings(), _served():
            warnings.filterwarnings("ignore", "Producer abort_transaction failed during close", RuntimeWarning)
            return super().close()


def _again(call: Callable[[float], int], timeout: float) -> int:
    """Call a method that may be repeated; a second time if the first raised what is left of another exception.

    After a Ctrl-C outside of these methods the first of them may raise ``_LEFT``, which no error of librdkafka is.
    """
    try:
        return call(timeout)
    except SystemError as error:
        if _LEFT not in str(error):
            raise
        return call(timeout)


@contextlib.contextmanager
def _served() -> Iterator[None]:
    """Raise the KafkaException that a SystemError conceals; Ctrl-C has to wait."""
    with deferred():
        try:
            yield
        except SystemError as error:
            if isinstance(error.__cause__, KafkaException):
                raise error.__cause__ from None
            raise KafkaException(KafkaError(KafkaError._FATAL, str(error), fatal=True)) from error  # noqa: SLF001
