"""What staff acknowledge is what they name: a stream, or one alert; nothing of another stream whose id begins alike."""

from typing import Any, Self, cast

import pytest
from beatwire.alerts.rule import SHORTEST_ID, alert_id
from beatwire.errors import UserError
from beatwire.kafka.cluster import Cluster
from beatwire.kafka.publishing import orders
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st

BEDS = st.sampled_from([*"0123456789abcdef", "a1", "b2", "e3", "bed", "12", "bed-1"])


class Taking:
    """A sender that keeps what it is given."""

    sent: list[bytes]

    def __init__(self, *_: object) -> None:
        Taking.sent = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is open."""

    def send_with_headers(self, _topic: str, keys: list[bytes], *_: object) -> None:
        Taking.sent += keys

    def flush(self, *_: object) -> None:
        """All is there."""


@settings(max_examples=draws(200), deadline=None)
@given(
    in_force=st.lists(st.tuples(BEDS, st.integers(0, 9**9), st.sampled_from(["on", "latched", "ack"])), max_size=30),
    named=BEDS, digits=st.none() | st.tuples(st.integers(0, 29), st.integers(1, 32)),
)  # fmt: skip
def test_an_acknowledgement_is_of_the_stream_that_is_named_or_of_the_alert(
    in_force: list[tuple[str, int, str]], named: str, digits: tuple[int, int] | None
) -> None:
    there = {
        name: {"id": name, "stream": stream, "state": state}
        for stream, onset, state in in_force
        if (name := alert_id(stream, 1, "asystole", onset))
    }
    if digits is not None and there:
        named = [*there][digits[0] % len(there)][: digits[1]]
    of_stream = {key for key, one in there.items() if one["stream"] == named}
    alike = {key for key in there if key.startswith(named)}
    expected = {key for key in of_stream if there[key]["state"] != "ack"}
    if not of_stream:
        expected = alike if len(alike) == 1 and len(named) >= SHORTEST_ID else set()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(orders, "read_active_alerts", lambda _: [*there.values()])
        patch.setattr(orders, "Sender", Taking)
        Taking.sent = []
        if expected:
            done: list[dict[str, Any]] = orders.acknowledge(cast(Cluster, None), named, "Ada")
            assert {one["id"] for one in done} == expected
        else:
            with pytest.raises(UserError, match=r"^ack: expected "):
                orders.acknowledge(cast(Cluster, None), named, "Ada")
    assert {key.decode() for key in Taking.sent} == expected
