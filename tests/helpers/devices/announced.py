"""The law that each stream is analysed or announced, over all that a graph publishes.

`play` takes messages through the whole graph and notes after each tick what was published by then; `unannounced`
returns the moments at which the law does not hold. Messages belong to a stream from its first one on. That it is silent
is announced once it is known: a sample was placed, or a message that was turned away has come again.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from beatwire.pipeline import Pipeline
from beatwire.pipeline.settings import Settings
from beatwire.records import Alerts, RawTick
from laws import START_US, Run, collect

# The law says 10 s. A beat is published 0.3 s after its R, a mark of `kernels.intake.senders` comes each half second,
# and each chunk and tick takes as long as it lasts.
WITHIN_S, SLACK_S = 10.0, 2.0
SILENT_S, NOTICED_S = 2.0, 5.0  # without a message: the stream is silent; `no data` says so by then
AGAIN_S = 30.0  # two messages of a stream: it is none that only a damaged message names
HEART = ("asystole", "ventricular fibrillation")
TECHNICAL = (
    "no data", "lead off", "flat line", "cannot analyse", "saturated", "not monitored",
    "conflicting senders",
)  # fmt: skip


@dataclass
class Moment:
    """What was published up to the end of a tick.

    at_s       of the tick's end, since the start
    messages   streams of which messages arrived in the tick
    known      streams of which a sample was placed, or a message has come again
    beat       streams of which a beat was published in the tick
    on         (stream, rule) of the alerts that are on
    """

    at_s: float
    messages: frozenset[str]
    known: frozenset[str]
    beat: frozenset[str]
    on: frozenset[tuple[str, str]]


@dataclass
class Played:
    """The output of a graph, and the moments at the ends of its ticks."""

    run: Run = field(default_factory=Run)
    moments: list[Moment] = field(default_factory=list)


def play(sent: Sequence[tuple[int, str, bytes]], ends_us: Sequence[int]) -> Played:
    """Take messages (arrival, stream, value), in order, through a graph in ticks that end at some times."""
    pipeline, played, on = Pipeline(Settings()), Played(), dict[str, tuple[str, str]]()
    beats, known, last_us = set[str](), set[str](), dict[str, int]()
    collect(pipeline, played.run, published=True)
    pipeline.subscribe(
        pipeline.scored, lambda tick: beats.update(pipeline.directory.names[s] for s in tick.slot.tolist())
    )

    pipeline.subscribe(pipeline.aligned, lambda tick: known.update(pipeline.directory.names[s] for s in tick.used))

    def note(alerts: Alerts) -> None:
        for alert in alerts.transitions:
            on.pop(alert["id"], None)
            if alert["state"] in ("on", "ack"):
                on[alert["id"]] = alert["stream"], alert["rule"]

    pipeline.subscribe(pipeline.lifecycle, note)
    at = 0
    for end_us in ends_us:
        begin = at
        while at < len(sent) and sent[at][0] <= end_us:
            at += 1
        part = sent[begin:at]
        beats.clear()
        for arrived_us, stream, _ in part:
            if stream in last_us and arrived_us - last_us[stream] <= AGAIN_S * 1e6:
                known.add(stream)
            last_us[stream] = arrived_us
        pipeline.emit(RawTick.of([v for _, _, v in part], now_us=end_us, arrival_us=[a for a, _, _ in part]))
        played.moments.append(
            Moment(
                (end_us - START_US) / 1e6,
                frozenset(s for _, s, _ in part),
                frozenset(known),
                frozenset(beats),
                frozenset(on.values()),
            )
        )
    return played


def unannounced(played: Played, stream: str, slack_s: float = SLACK_S) -> list[float]:
    """Return the moments at which a stream, or that it has become silent, is neither analysed nor announced, seconds.

    The ten seconds begin with the first message, anew after 2 s without one, and with the end of what explained it.
    """
    wrong, last_beat, last_message = [], None, None
    for moment in played.moments:
        if stream in moment.messages:
            if last_message is None or moment.at_s - last_message > SILENT_S:
                last_beat = moment.at_s
            last_message = moment.at_s
        if stream in moment.beat:
            last_beat = moment.at_s
        if last_message is None or last_beat is None:
            continue
        silent_s = moment.at_s - last_message
        if any((stream, rule) in moment.on for rule in HEART + TECHNICAL):
            last_beat = moment.at_s
        elif silent_s > NOTICED_S:
            wrong += [moment.at_s] if stream in moment.known else []
        elif silent_s <= SILENT_S and moment.at_s - last_beat > WITHIN_S + slack_s:
            wrong.append(moment.at_s)
    return wrong
