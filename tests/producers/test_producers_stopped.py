"""A replay that is stopped while no broker answers ends soon."""

import contextlib
import math

import pytest
from beatwire.kafka.cluster import Cluster
from beatwire.kafka.publishing.live_sender import LiveSender
from beatwire.recordings import read_recording
from beatwire_producers.feeds import feeds_of
from beatwire_producers.replay import play


@pytest.mark.parametrize("how", ["ctrl-c", "sigterm", "stop"])
def test_a_replay_that_is_stopped_waits_for_seconds_only_for_a_broker_that_is_away(how: str) -> None:
    waited = []

    class Away(LiveSender):
        def flush(self, timeout_s: float = math.inf) -> None:
            waited.append(timeout_s)

    def stop() -> bool:
        if how == "stop":
            return True
        raise KeyboardInterrupt if how == "ctrl-c" else SystemExit(143)

    with contextlib.suppress(SystemExit), Away(Cluster("127.0.0.1:1")) as sender:
        play(feeds_of([read_recording("synthetic:seconds=5")], 1), sender, stop=stop)
    assert waited[0] <= 5.0
