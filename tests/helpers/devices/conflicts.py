"""Two devices that send one session, and when conflicting senders are announced."""

import itertools
import random

from announced import play
from hostile_senders import RATE_HZ, SECOND_US, Device, heart
from laws import START_US

RULE = "conflicting senders"
Sent = list[tuple[int, str, bytes]]
OTHER = 7_000  # samples by which the other patient's heart is elsewhere: 28 s


def sent_by(first: int, size: int, begins_s: float, seconds: float, shift: int) -> Sent:
    """Return the messages of a device of the one session, whose first sample has an index."""
    device, sent = Device("bed", 1, first=first), Sent()
    for at in range(0, round(seconds * RATE_HZ) - size + 1, size):
        arrives_us = START_US + round(begins_s * SECOND_US) + (at + size) * SECOND_US // RATE_HZ
        sent.append((arrives_us, "bed", device.chunk(heart(1, at + shift, size))))
    return sent


def in_order(*sent: Sent) -> Sent:
    """Return the messages of several devices in order of arrival."""
    return sorted(itertools.chain(*sent), key=lambda one: one[0])


def transitions(sent: list[tuple[int, str, bytes]], longest_s: float = 0.5, seed: int = 1) -> list[tuple[str, float]]:
    """Return the transitions of the rule for messages in ticks cut at random: state, and seconds since the start."""
    rng, end_us, ends = random.Random(seed), START_US, list[int]()
    while end_us < sent[-1][0]:
        end_us += round(rng.uniform(0.01, longest_s) * SECOND_US)
        ends.append(end_us)
    alerts = play(sent, ends).run.alerts
    return [
        (a["state"], (a["decided_us"] - START_US) / 1e6) for a in alerts if a["rule"] == RULE and not a["reminders"]
    ]
