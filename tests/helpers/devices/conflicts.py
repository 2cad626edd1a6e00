"""When conflicting senders are announced."""

import random

from announced import play
from hostile_senders import SECOND_US
from laws import START_US

RULE = "conflicting senders"


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
