"""A producer of librdkafka whose fatal errors are raised as what they are.

confluent-kafka (2.16.1) sets the exception of a fatal error while it serves its queue, and may go on to call
``on_delivery`` for messages that failed with it. Python then raises SystemError, with the error as its cause; or the
error is lost, and all that is known is that there was one.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator

import confluent_kafka
from confluent_kafka import KafkaError, KafkaException

__all__ = ["Producer"]


class Producer(confluent_kafka.Producer):
    """A producer whose methods raise KafkaException, never SystemError, for an error of librdkafka."""

    def poll(self, timeout: float = -1) -> int:
        """Handle the reports of delivered messages; return their number."""
        with _as_it_is():
            return super().poll(timeout)

    def flush(self, timeout: float = -1) -> int:
        """Wait until every message is delivered; return the number of those that are not."""
        with _as_it_is():
            return super().flush(timeout)

    def commit_transaction(self, timeout: float = -1) -> None:
        """Commit the transaction."""
        with _as_it_is():
            super().commit_transaction(timeout)

    def abort_transaction(self, timeout: float = -1) -> None:
        """Abort the transaction."""
        with _as_it_is():
            super().abort_transaction(timeout)

    def close(self) -> bool:
        """Close the connection; a transaction that is open is aborted, which a producer that has failed cannot do."""
        with warnings.catch_warnings(), _as_it_is():
            warnings.filterwarnings("ignore", "Producer abort_transaction failed during close", RuntimeWarning)
            return super().close()


@contextlib.contextmanager
def _as_it_is() -> Iterator[None]:
    """Raise the KafkaException that a SystemError conceals."""
    try:
        yield
    except SystemError as error:
        if isinstance(error.__cause__, KafkaException):
            raise error.__cause__ from None
        raise KafkaException(KafkaError(KafkaError._FATAL, str(error), fatal=True)) from error  # noqa: SLF001
