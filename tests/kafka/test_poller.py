"""The polling thread on a drawn broker: whatever changes, no message is left out, and an epoch reads each one once."""

import random
from typing import Any

import pytest
from beatwire.kafka.cluster import Cluster
from beatwire.kafka.consuming import batch, handover, poller, replay, source
from beatwire.kafka.consuming.batch import PolledTick
from beatwire.kafka.consuming.commits import as_commit, as_position
from beatwire.kafka.consuming.handover import HandOver
from beatwire.kafka.consuming.positions import Position
from beatwire.kafka.consuming.progress import Beginning
from beatwire.kafka.consuming.source import Source
from confluent_kafka import OFFSET_INVALID, KafkaError, KafkaException, TopicPartition
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st
from kafka_messages import Message

TOPIC, PARTITIONS, POLLS = "ecg.samples", range(4), 60


def received(first: int, stop: int) -> set[int]:
    """Return the offsets of messages; the others are ends of transactions, which nobody receives."""
    return {offset for offset in range(first, stop) if offset % 7 != 3}


class World:
    """A topic, what its group has committed, and the member that is tested, which is the monitor as well.

    length     of the log of each partition
    commits    of the group
    assigned   partition -> the next offset that the library returns
    due        of the monitor: partition -> the next offset that it has to see
    asked      partition -> the offset that the monitor has committed last, or wants to be committed
    lived      partition -> what was taken as live, by anybody
    """

    def __init__(self, rng: random.Random, hectic: float, *, exactly_once: bool) -> None:
        self.rng, self.hectic, self.exactly_once = rng, hectic, exactly_once
        self.length = {p: rng.randrange(30) for p in PARTITIONS}
        self.commits = {p: Position(n := rng.randrange(self.length[p] + 1), rng.randint(0, n)) for p in PARTITIONS}
        self.assigned, self.paused, self.polls = dict[int, int](), set[int](), 0
        self.due, self.until, self.asked = dict[int, int](), dict[int, int](), dict[int, int]()
        self.lived = {p: received(0, at.offset) for p, at in self.commits.items()}
        self.last: PolledTick | None = None
        self.unpublished, self.epoch = False, 0
        self.source: Source

    # ---- the monitor ----

    def turn(self) -> None:
        """Take a tick, and commit what was read up to its end, or fail to."""
        polled = self.source.take(0.0)
        if polled is None:
            return
        if polled.epoch != self.epoch:
            self._begin_epoch(polled)
        for message in polled.origin.messages:
            p, offset = message.partition(), message.offset()
            assert received(self.due[p], offset + 1) == {offset}, "in order, and once in an epoch"
            assert polled.replay is (offset < self.until[p])
            self.due[p] = offset + 1
        if not polled.replay:
            assert polled.positions == {p: self.due[p] for p in polled.positions}
        if polled.tick.caught_up:
            assert self.unread() == {}
        if polled.replay:
            return
        self.last = polled
        if self.rng.random() < self.hectic:
            self.unpublished = True
            self.source.rewind(anew=self.rng.random() < 0.3)
        else:
            self._publish(polled)

    def _publish(self, polled: PolledTick) -> None:
        """Commit the end of a tick: in its transaction, so at once; or by the polling thread."""
        for p, offset in polled.positions.items():
            assert not received(polled.start[p], self.asked[p]), "a tick begins where the one before has ended"
            self.lived[p] |= received(self.asked[p], offset)
            self.asked[p] = offset
        at = {p: Position(offset, self.rng.randint(0, offset)) for p, offset in polled.positions.items()}
        if self.exactly_once:
            assert not any(received(polled.start[p], self.commits[p].offset) for p in at)
            self.commits |= at
        else:
            self.source.commit(at)

    def _begin_epoch(self, polled: PolledTick) -> None:
        """Begin an epoch as the monitor does."""
        begun = self.source._poller.began
        assert begun.keys() == self.assigned.keys()
        self.asked = {p: at.offset for p, at in begun.items()}
        kept = dict(self.due)
        self.due = {p: at.rewind for p, at in begun.items()}
        self.until = {p: at.offset for p, at in begun.items()}
        unpublished, self.unpublished, self.epoch = self.unpublished, False, polled.epoch
        if polled.beginning is Beginning.ANEW:
            assert begun == {p: self.commits[p]._replace(leader=None) for p in begun}
            return
        for p in kept:
            assert self.due[p] == self.until[p] == kept[p], "the state goes on"
        if polled.beginning is Beginning.UNPUBLISHED:
            assert unpublished
            assert self.last is not None
            self.asked |= {p: self.commits[p].offset for p in self.last.positions}
            self._publish(self.last)

    # ---- a member of the group, and its library ----

    def poll(self, most: int) -> tuple[list[Message], bool]:
        for _ in range(self.rng.randrange(3)):
            self.turn()
        self.polls += 1
        if self.polls < POLLS or not self.assigned:
            self._happen()
        else:
            self.hectic = 0.0
            self.source._poller._closing = self.polls > POLLS + 300
        found = []
        for p in self.rng.sample(sorted(self.assigned), len(self.assigned)):
            if p not in self.paused:
                stop = min(self.length[p], self.assigned[p] + self.rng.randrange(most - len(found) + 1))
                found += [Message(p, offset, b"x") for offset in sorted(received(self.assigned[p], stop))]
                self.assigned[p] = stop
        return found, not any(self.assigned[p] < self.length[p] for p in self.assigned.keys() - self.paused)

    def _happen(self) -> None:
        rng, listener = self.rng, self.source._poller
        self.length = {p: n + rng.choice([0, 0, 1, 4]) for p, n in self.length.items()}
        others = sorted(PARTITIONS - self.assigned.keys())
        for p in others:  # of which other members read on
            stop = rng.randint(self.commits[p].offset, self.length[p])
            self.lived[p] |= received(self.commits[p].offset, stop)
            self.commits[p] = Position(stop, rng.randint(self.commits[p].rewind, stop))
        if others and (not self.assigned or rng.random() < self.hectic):
            listener.on_change(grows=True)
            self.assigned |= dict.fromkeys(rng.sample(others, rng.randint(1, len(others))), 0)
        elif self.assigned and rng.random() < self.hectic:
            is_lost, gone = rng.random() < 0.5, rng.sample(sorted(self.assigned), 1)
            listener.on_change(grows=False)
            if not is_lost:
                listener.on_revoke()
            for p in gone:
                del self.assigned[p]
            self.paused -= set(gone)

    def committed(self, assigned: list[TopicPartition], timeout: float) -> list[TopicPartition]:
        if self.rng.random() < self.hectic:
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT))
        found = [as_commit(TOPIC, at.partition, self.commits[at.partition]) for at in assigned]
        for at in found:  # the group has none yet
            if self.commits[at.partition] == Position(0, 0):
                at.offset = OFFSET_INVALID
                assert as_position(at) is None
        return found

    def assignment(self) -> list[TopicPartition]:
        return [TopicPartition(TOPIC, p) for p in self.assigned]

    def get_watermark_offsets(self, at: TopicPartition, **_: object) -> tuple[int, int]:
        return 0, self.length[at.partition]

    def unread(self) -> dict[int, set[int]]:
        return {p: left for p in self.assigned if (left := received(self.due.get(p, 0), self.length[p]))}

    def waits(self, begin: dict[int, int]) -> dict[int, bool]:
        return {p: bool(received(offset, self.length[p])) for p, offset in begin.items()}

    def at_end(self, next_offset: dict[int, int]) -> tuple[bool, frozenset[int]]:
        return not any(self.waits(next_offset).values()), frozenset()

    def commit(self, offsets: list[TopicPartition], *, asynchronous: bool) -> None:
        self.commits |= {at.partition: as_position(at) for at in offsets if at.partition in self.assigned}

    def replace(self) -> None:
        """The new client has no partitions; others may read them on meanwhile."""
        self.assigned.clear()
        self.paused.clear()

    def rejoin_if_unassigned(self, _: object) -> bool:
        if gone := bool(self.assigned) and self.rng.random() < self.hectic / 8:
            self.replace()
        return gone

    def is_stuck(self, _: object) -> bool:
        return self.rng.random() < self.hectic / 8

    def seek(self, at: TopicPartition) -> None:
        if at.partition not in self.assigned:
            raise KafkaException(KafkaError(KafkaError._UNKNOWN_PARTITION))
        self.assigned[at.partition] = at.offset

    def pause(self, partitions: list[TopicPartition]) -> None:
        self.paused |= {at.partition for at in partitions} & self.assigned.keys()

    def resume(self, partitions: list[TopicPartition]) -> None:
        self.paused -= {at.partition for at in partitions}

    def nothing(self, *_: object, **__: object) -> None:
        """There is no broker."""

    join = close = ask = wait = consumer_group_metadata = is_stuck_unassigned = nothing
    known = None

    @property
    def consumer(self) -> Any:
        return self


@settings(max_examples=draws(60), deadline=None)
@given(
    seed=st.integers(0, 1 << 32), hectic=st.sampled_from([0.05, 0.2, 0.5]), full=st.sampled_from([5, 40, 1000]),
    exactly_once=st.booleans(),
)  # fmt: skip
def test_whatever_changes_the_live_ticks_have_every_message_and_an_epoch_each_once(
    seed: int, hectic: float, full: int, exactly_once: bool
) -> None:
    world = World(random.Random(seed), hectic, exactly_once=exactly_once)

    class Turning(HandOver):
        def wait_until_idle(self, timeout_s: float) -> bool:
            world.turn()
            return super().wait_until_idle(0.0)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batch, "Message", Message)
        patch.setattr(handover, "TICK_MESSAGES", full)
        patch.setattr(source, "HandOver", Turning)
        patch.setattr(source.topics, "check_broker", lambda *_: None)
        patch.setattr(poller, "GroupClient", lambda *_, **__: world)
        patch.setattr(poller, "TopicId", lambda *_: world)
        patch.setattr(poller, "_FULL_S", 0.0)
        patch.setattr(replay, "_SILENCE_S", 0.0)
        patch.setattr(replay, "look_ahead", lambda *asked: world.waits(asked[-1]))
        patch.setattr(poller.commits, "check_pending", lambda *_: False)
        world.source = Source(Cluster("nowhere"), "g")
        world.source._poller._run()
        world.hectic = 0.0
        for _ in range(400):
            world.turn()
    assert world.assigned
    assert world.unread() == {}
    for p in world.assigned:
        assert world.lived[p] == received(0, world.length[p])
