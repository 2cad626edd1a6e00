"""The alerts that are not off, in whatever order streams send, fall silent, begin anew and leave their slots."""

from typing import Any

from beatwire.stages.support.alerts.open_alerts import BY_CLOCK, OpenAlerts
from bedside import Ward, acknowledge, device_chunk
from hypothesis import given
from hypothesis import strategies as st

STREAMS = ("bed-1", "bed-2")
LEAST = 500  # samples of the five seconds that an alert lasts at least
FOLLOWS = {
    None: {"on"}, "on": {"on", "ack", "latched", "off"}, "ack": {"off"}, "latched": {"latched", "off"}, "off": {"on"},
}  # fmt: skip
STEPS = st.lists(
    st.tuples(
        st.sampled_from(STREAMS),
        st.sampled_from(
            ["samples", "samples", "still", "still", "gap", "session", "off", "silence", "day", "back", "ack"]
        ),
        st.sampled_from([30, 70, 130, 160]),
        st.integers(1, 18).map(lambda k: 50 * k),
    ),
    min_size=20,
    max_size=60,
)


class Beds:
    """Streams that do what is drawn."""

    def __init__(self) -> None:
        self.ward, self.now_us = Ward(), 1_000_000
        self.at = dict.fromkeys(STREAMS, (1, 0))  # session and next sample

    def step(self, stream: str, what: str, bpm: int, n: int) -> list[dict[str, Any]]:
        """Let one thing happen; return what is published."""
        ward, (session, first) = self.ward, self.at[stream]
        self.now_us += {"silence": 90, "day": 90_000, "back": -30}.get(what, 1) * 1_000_000
        self.now_us = max(self.now_us, 1_000_000)
        if what in ("silence", "day", "back"):
            ward.tick(now_us=self.now_us)
            return ward.published
        if what == "ack":
            for one in list(ward.lifecycle.alerts.by_id.values())[: n % 3]:
                acknowledge(ward, one.message)
            ward.tick(now_us=self.now_us)
            return ward.published
        session, first = (session + 1, 40) if what == "session" else (session, first + 3000 * (what == "gap"))
        chunk = device_chunk(first, n, stream, session=session, lead_off=int(what == "off"), arrival_us=self.now_us)
        beats = [(stream, at, bpm) for at in range(first + 20, first + n - 20, 6000 // bpm)]
        beats = [] if what in ("off", "still") else beats
        ward.last.pop(stream, None)
        known = [(stream, first + n)] if what != "off" else []
        blocks = [(stream, first + n, int(bpm < 100))] if known else []
        ward.tick(chunk, beats=beats, known=known, blocks=blocks, now_us=self.now_us)
        self.at[stream] = session, first + n
        return ward.published


def check(kept: OpenAlerts, slots: dict[str, int]) -> None:
    """Check that all that is kept of the alerts says the same."""
    messages = {name: one.message for name, one in kept.by_id.items()}
    by_stream: dict[str, set[str]] = {}
    for name, message in messages.items():
        by_stream.setdefault(message["stream"], set()).add(name)
    assert kept.of_stream == by_stream
    assert kept.current == {
        (m["stream"], m["rule"], m["priority"]): name for name, m in messages.items() if m["state"] != "latched"
    }
    assert kept.held.keys() <= set(kept.current.values())
    assert kept.by_clock.keys() == {name for name, m in messages.items() if m["rule"] in BY_CLOCK}
    assert {name: one.slot for name, one in kept.by_id.items()} == {
        name: slots.get(m["stream"], -1) for name, m in messages.items()
    }
    assert kept.unseen == {name for name, one in kept.by_id.items() if one.slot < 0}
    for one in kept.by_id.values():
        assert one.slot < 0 or one.begun == kept.begun[one.slot]
    for one in map(kept.by_id.__getitem__, kept.held):
        session, passed = kept.passed[one.slot].tolist()
        assert session == one.message["session"]
        assert passed < one.message["onset"] + LEAST


@given(STEPS)
def test_each_alert_goes_through_its_states_and_belongs_to_the_slot_of_its_stream(
    steps: list[tuple[str, str, int, int]],
) -> None:
    beds, state = Beds(), dict[str, str]()
    reminders: dict[str, int] = {}
    for one in steps:
        for message in beds.step(*one):
            name, before = message["id"], state.get(message["id"])
            assert message["state"] in FOLLOWS[before], (message, before)
            may_be_short = before != "on" or message["state"] != "off" or message["rule"] in BY_CLOCK
            assert message["decided"] >= message["onset"] + (0 if may_be_short else LEAST)
            if message["state"] == before:
                assert message["reminders"] > reminders[name], "else it is published twice"
            state[name], reminders[name] = message["state"], message["reminders"]
        directory = beds.ward.limits.directory
        known = directory.is_known()
        slots = {stream: slot for slot, stream in enumerate(directory.names) if known[slot]}
        kept = beds.ward.lifecycle.alerts
        check(kept, slots)
        assert one[1] != "session" or kept.begun[slots[one[0]]] == 40
        open_now = {name for name, now in state.items() if now != "off"}
        assert kept.by_id.keys() == open_now
