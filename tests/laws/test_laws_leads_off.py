"""Law of cuts where leads are off: behind a hole, and while several senders use one id."""

import random

import numpy as np
from beatwire.alerts.settings import Lifecycle
from beatwire.wire.avro import encode_chunk
from drawn_streams import ECG, RATE_HZ, SAMPLE_US, Entered, Sent, differences, in_ticks, undisturbed
from hypothesis import example, given, settings
from hypothesis import strategies as st
from laws import START_US

SECOND = round(RATE_HZ)


class Device:
    """A device of one lead: what it has sent."""

    def __init__(self) -> None:
        self.session, self.first, self.at_us, self.now_us, self.sent = 1, 0, START_US, START_US, list[Sent]()

    def send(self, samples: np.ndarray, lead_off: int = 0, session: int | None = None) -> None:
        """Send samples, int16 [n]; those of another ``session`` are another device's, whose count begins with 0."""
        own, first = session is None, self.first if session is None else 0
        value = encode_chunk(
            "bed", session or self.session, first, self.at_us, RATE_HZ, ["I"], samples[None], lead_off=lead_off
        )
        self.sent.append(Sent(self.now_us, value, f"{session or self.session}, {first}, off {lead_off}"))
        if own:
            self.first += len(samples)
            self.at_us, self.now_us = (us + SAMPLE_US * len(samples) for us in (self.at_us, self.now_us))

    def jump(self, samples: int) -> None:
        """Go on so many samples later, or earlier."""
        self.first, self.at_us = self.first + samples, self.at_us + SAMPLE_US * samples


def check_cuts(sent: list[Sent], lifecycle: Lifecycle, rng: random.Random) -> None:
    n, entered = len(sent), Entered(lifecycle)
    whole = undisturbed(in_ticks(sent, (0, n)), entered)
    for cuts in (range(n + 1), *(sorted({0, n, *rng.sample(range(n), 4)}) for _ in range(2))):
        found = differences(whole, undisturbed(in_ticks(sent, cuts), entered))
        assert not found, (cuts, [one.note for one in sent])


@settings(max_examples=12)
@example(seed=4)
@example(seed=22)
@given(seed=st.integers(0, 1 << 32))
def test_reminders_of_an_alert_of_an_earlier_session_depend_on_no_cut(seed: int) -> None:
    rng, device = random.Random(seed), Device()
    for k in range(6):
        device.send(ECG[1][SECOND * k : SECOND * (k + 1)])
    for _ in range(rng.randrange(5, 12)):
        device.send(np.zeros(SECOND, np.int16))
    device.session, device.first = 2, rng.choice([0, 5000, device.first])
    for off in (0, rng.choice([0, 1]), 1, 0, 1):
        for k in range(rng.randrange(1, 4)):
            device.send(ECG[1][SECOND * k :][: rng.choice([17, 125, 250, 400])], off)
        device.jump(SECOND * rng.choice([0, 8, 30, 100]))
    check_cuts(device.sent, Lifecycle(shortest_s=0, remind_high_s=rng.choice([1, 3, 7]), remind_medium_s=5), rng)


@settings(max_examples=6)
@example(seed=17)
@given(seed=st.integers(0, 1 << 32))
def test_a_conflict_that_begins_with_late_chunks_behind_another_depends_on_no_cut(seed: int) -> None:
    rng, device, placed = random.Random(seed), Device(), 0
    for _ in range(rng.randrange(4, 8)):
        kind, off = rng.choice(["on", "on", "rival", "back"]), rng.choice([0, 1, 1])
        shift = 0
        if kind == "back":
            device.jump(max(0, placed - SECOND * rng.randrange(5, 9)) - device.first)
            shift = 100  # other values
        for k in range(rng.choice([3, 12, 35])):
            device.send(ECG[1][SECOND * (k % 20) + shift :][:SECOND], off)
            if kind == "rival":
                device.send(ECG[0][:50], session=77)
            if not off:
                placed = max(placed, device.first)
    check_cuts(device.sent, Lifecycle(shortest_s=5), rng)
