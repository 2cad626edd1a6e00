"""A ward: synthetic people, a plan of events for them, and the ground truth.

In: the number of streams, seconds, a seed. Out: `Ward`: a feed for each stream, its beats, and the planted events.
Every kind of event is planted at least once if there is time for it, and early enough to be detected before the end;
the longest takes 15 s after 8 s of normal rhythm. With eight streams or more, one has no events.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from beatwire.errors import UserError
from beatwire.recordings.synthetic.person import Synthetic, synthesise
from beatwire.recordings.synthetic.rhythm import (  # fmt: skip
    ASYSTOLE,
    BRADYCARDIA,
    GAP,
    LEAD_OFF,
    MALFORMED,
    TACHYCARDIA,
    VENTRICULAR_RUN,
    Event,
)

from beatwire_producers.feeds import GOLDEN_RATIO, Feed

NORMAL_S = 8.0  # normal rhythm at the start: detectors need some seconds for their levels
_AFTER_S = 2.0  # after the last event, so that it is detected before the end
_PAUSE_S = 6.0  # between two events of a stream
# Kind of event -> its duration, and the shortest one that a rule can detect, seconds.
_DURATION_S = {
    BRADYCARDIA: (16.0, 13.0),
    TACHYCARDIA: (14.0, 8.0),
    ASYSTOLE: (8.0, 6.5),
    LEAD_OFF: (5.0, 4.0),
    GAP: (3.0, 3.0),
    VENTRICULAR_RUN: (2.4, 2.0),
    MALFORMED: (0.0, 0.0),
}
KINDS = tuple(_DURATION_S)


@dataclass(frozen=True)
class Planted:
    """A planted event.

    stream           id of its stream
    kind             one of `KINDS`
    start_s, stop_s  seconds from the start of the stream
    first, last      the same as sample indices
    """

    stream: str
    kind: str
    start_s: float
    stop_s: float
    first: int
    last: int


@dataclass(frozen=True)
class Ward:
    """Streams and their ground truth.

    feeds    the streams to play
    truth    the beats of each stream
    planted  all planted events, by time
    seconds  duration of each stream
    """

    feeds: tuple[Feed, ...]
    truth: tuple[Synthetic, ...]
    planted: tuple[Planted, ...]
    seconds: float

    def truth_of(self, stream: str) -> Synthetic:
        """Return the ground truth of a stream."""
        return next(t for f, t in zip(self.feeds, self.truth, strict=True) if f.stream == stream)


def plan(streams: int, seconds: float, seed: int = 0) -> list[list[Event]]:
    """Distribute events over streams: every kind once, and once more for each hundred streams.

    Parameters
    ----------
    streams, seconds, seed
        The number of streams, their duration, and the random seed.

    Returns
    -------
    list of list of Event
        The events of each stream, by time and without overlap; events that do not fit are left out.
    """
    rng = np.random.default_rng((seed, 77))
    events: list[list[Event]] = [[] for _ in range(streams)]
    free_s = NORMAL_S + rng.uniform(0.0, 1.5, streams)
    # With a stream for each kind, the long ones first; otherwise the short ones, so that more of them fit.
    short_first = (ASYSTOLE, *(k for k in sorted(KINDS, key=lambda k: _DURATION_S[k]) if k != ASYSTOLE))
    kinds = KINDS if streams >= len(KINDS) else short_first
    busy = streams - 1 if streams >= len(KINDS) + 1 else streams
    for _ in range(1 + streams // 100):
        order = rng.permutation(busy)
        for k, kind in enumerate(kinds):
            longest, shortest = _DURATION_S[kind]
            candidates = np.roll(order, -k)
            bed = int(candidates[np.argmin(free_s[candidates])])
            left_s = seconds - _AFTER_S - free_s[bed]
            if left_s < shortest:
                continue
            start_s = float(free_s[bed])
            stop_s = start_s + min(longest, float(left_s))
            events[bed].append(Event(kind, start_s, stop_s))
            free_s[bed] = stop_s + (_PAUSE_S if stop_s > start_s else 1.0)
    return events


def ward(
    streams: int = 8,
    seconds: float = 30.0,
    *,
    seed: int = 0,
    rates_hz: Sequence[float] = (250.0,),
    leads: Sequence[int] = (1,),
    events: Sequence[Sequence[Event]] | None = None,
    distinct: int | None = None,
    hum_mv: float = 0.0,
) -> Ward:
    """Synthesise a ward.

    Parameters
    ----------
    streams, seconds, seed
        The number of streams, their duration, and the random seed.
    rates_hz, leads
        Sampling rates and numbers of leads; all combinations are used in turn.
    events
        The events of each stream; by default those of :func:`plan`; ``()``: none.
    distinct
        The largest number of people to synthesise; further streams without events play the same people from other
        offsets. By default 2,000.
    hum_mv
        Mains hum of the last stream, millivolts.

    Raises
    ------
    UserError
        There is less than 1 stream, or less than 1 second.
    """
    if streams < 1:
        raise UserError(f"--streams: expected at least 1; got {streams}")
    if seconds < 1:
        raise UserError(f"--seconds: expected at least 1; got {seconds:g}")
    planned = plan(streams, seconds, seed) if events is None else [list(e) for e in events]
    planned += [[] for _ in range(streams - len(planned))]
    distinct = 2000 if distinct is None else distinct
    shapes = len(rates_hz) * len(leads)
    feeds: list[Feed] = []
    truth: list[Synthetic] = []
    people: dict[int, list[Synthetic]] = {}
    for k in range(streams):
        shape = k % shapes
        healthy = people.setdefault(shape, [])
        rate_hz, lead_count = rates_hz[shape % len(rates_hz)], leads[shape // len(rates_hz)]
        offset = 0
        if not planned[k] and sum(map(len, people.values())) >= distinct and healthy:
            person = healthy[(k // shapes) % len(healthy)]
            offset = int(person.recording.samples.shape[1] * ((k * GOLDEN_RATIO) % 1.0))
            person = _rotate(person, offset)
        else:
            person = synthesise(
                (seed, k), name=f"bed-{k + 1}", rate_hz=rate_hz, leads=lead_count, seconds=seconds, events=planned[k],
                hum_mv=hum_mv if k == streams - 1 else 0.0,
            )  # fmt: skip
            if not planned[k]:
                healthy.append(person)
        feeds.append(_feed(f"bed-{k + 1}", person, offset))
        truth.append(person)
    planted = [
        Planted(f.stream, e.kind, e.start_s, e.stop_s, *(int(s * f.recording.rate_hz) for s in (e.start_s, e.stop_s)))
        for f, t in zip(feeds, truth, strict=True)
        for e in t.events
    ]
    return Ward(tuple(feeds), tuple(truth), tuple(sorted(planted, key=lambda p: p.start_s)), seconds)


def _feed(stream: str, person: Synthetic, offset: int) -> Feed:
    rate_hz = person.recording.rate_hz
    every = (1 << len(person.recording.leads)) - 1

    def spans(kind: str) -> list[tuple[int, int]]:
        return [(int(e.start_s * rate_hz), int(e.stop_s * rate_hz)) for e in person.events if e.kind == kind]

    return Feed(
        stream,
        person.recording,
        offset,
        lead_off=tuple((start, stop, every) for start, stop in spans(LEAD_OFF)),
        absent=tuple(spans(GAP)),
        malformed=tuple(start for start, _ in spans(MALFORMED)),
    )


def _rotate(person: Synthetic, offset: int) -> Synthetic:
    """Return the ground truth of a recording that is played from an offset, continuing at its beginning."""
    n = person.recording.samples.shape[1]
    around = round(0.5 * person.recording.rate_hz)
    beats = (person.beats - offset) % n
    order = np.argsort(beats)
    seam = np.array([[n - offset - around, n - offset + around]], np.int64)
    return Synthetic(person.recording, beats[order], person.wide[order], (), seam)
