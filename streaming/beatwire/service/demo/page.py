"""What the demo needs to be looked at: the live page, and a ward that goes on until Ctrl-C."""

import threading
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace

from beatwire_producers.replay import Summary, play
from beatwire_producers.ward import Ward, plan, ward

from beatwire.errors import UserError
from beatwire.kafka.cluster import Cluster
from beatwire.kafka.publishing.sender import Sender
from beatwire.page.dashboard import PORT, Dashboard, missing_package

HUM_MV = 0.3  # of the last bed: the page says so
ROUND_S, ROUNDS = 60.0, 10  # events are planted in each minute; after ten minutes the devices restart their count


def long_ward(streams: int, seed: int) -> Ward:
    """Return a ward of ten minutes with new events in every minute."""
    plans = [plan(streams, ROUND_S, seed + k) for k in range(ROUNDS)]
    events = [
        [
            replace(event, start_s=event.start_s + k * ROUND_S, stop_s=event.stop_s + k * ROUND_S)
            for k, planned in enumerate(plans)
            for event in planned[bed]
        ]
        for bed in range(streams)
    ]
    return ward(streams, ROUND_S * ROUNDS, seed=seed, events=events, hum_mv=HUM_MV)


def play_rounds(made: Ward, sender: Sender, stop: threading.Event, *, repeat: bool) -> Summary:
    """Play a ward in real time, with ``repeat`` again and again until `stop` is set; return what was sent first."""
    first = play(made.feeds, sender, chunk_ms=200.0, seconds=made.seconds, stop=stop.is_set)
    session = 1
    while repeat and not stop.is_set():
        session += 1
        feeds = [replace(feed, session=session) for feed in made.feeds]
        play(feeds, sender, chunk_ms=200.0, seconds=made.seconds, stop=stop.is_set)
    return first


def show_page(stack: ExitStack, cluster: Cluster, say: Callable[[str], None]) -> None:
    """Start the live page until the stack ends, and say where it is; without its extra, how to install it."""
    package = missing_package()
    if package is not None:
        say(f"page     not shown: {package} is not installed (pip install 'beatwire[dashboard]')")
        return
    try:
        page = Dashboard(cluster, port=PORT)
    except UserError:  # another page has the port
        page = Dashboard(cluster, port=0)
    say(f"page     {stack.enter_context(page).url}")
