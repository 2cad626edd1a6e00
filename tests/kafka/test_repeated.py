"""Messages before the one that is due: dropped if they were read, new if they replace what the broker has lost."""

from dataclasses import dataclass

import pytest
from beatwire.kafka.cluster import Cluster
from beatwire.kafka.consuming import batch, repeated
from beatwire.kafka.consuming.batch import join_messages
from beatwire.kafka.consuming.repeated import Repeated
from beatwire.kafka.reading import reread
from beatwire.kafka.reading.reread import Reread
from hypothesis import example, given
from hypothesis import strategies as st
from kafka_messages import Message


@dataclass
class Id:
    """The id of a topic, as the broker answers."""

    known: str | None = "a"
    now: str | None = "a"

    def ask(self, *, doubted: bool = False) -> None:
        pass

    def wait(self) -> str | None:
        return self.now


@pytest.fixture(autouse=True, scope="module")
def stand_ins() -> None:
    patched = pytest.MonkeyPatch()
    for module in (batch, repeated):
        patched.setattr(module, "Message", Message)
    yield
    patched.undo()


@st.composite
def histories(draw: st.DrawFn) -> tuple[list[Message], list[int], list[Message]]:
    """Return what a client receives of a partition, in which steps, and what it has to pass on.

    The log grows, loses its end, changes its leader; and the client is set back to a message that it has read.
    """
    log: list[Message] = []
    received: list[Message] = []
    new: list[Message] = []
    epoch = offset = 0
    for step in draw(st.lists(st.sampled_from(["grow", "grow", "set back", "leader", "cut"]), max_size=12)):
        if step == "grow":
            for gap in draw(st.lists(st.integers(0, 2), min_size=1, max_size=6)):
                log.append(Message(0, offset + gap, b"%d" % len(new), epoch))
                offset = log[-1].at + 1
                received.append(log[-1])
                new.append(log[-1])
        elif step == "leader":
            epoch += 1
        elif step == "set back" and log:
            received += log[draw(st.integers(0, len(log) - 1)) :]
        elif step == "cut" and log:
            log = log[: draw(st.integers(0, len(log) - 1))]
            offset, epoch = log[-1].at + 1 if log else 0, epoch + 1
    sizes = draw(st.lists(st.integers(1, 8), max_size=20))
    return received, sizes, new


def passed(of: Repeated, received: list[Message], sizes: list[int], due: int) -> list[Message]:
    """Poll the messages in parts of these sizes, and the rest at once; return what passes."""
    found, at, rest, now_s = [], {0: due}, list(received), 0.0
    while rest:
        count = sizes.pop() if sizes else len(rest)
        polled, rest, now_s = rest[:count], rest[count:], now_s + 0.1
        kept, _ = of.drop(polled, at, now_s)  # type: ignore[arg-type]
        part = join_messages(kept)  # type: ignore[arg-type]
        of.note(part)
        at |= part.next_offset
        found += kept
    return found


def again_behind_a_gap() -> tuple[list[Message], list[int], list[Message]]:
    """Return four offsets of which one is missing and one comes twice: as many as from the first to the last."""
    new = [Message(0, offset, b"%d" % offset, 0) for offset in (0, 1, 3)]
    return [*new, new[-1]], [], new


@given(histories())
@example(again_behind_a_gap())
def test_every_message_passes_once_wherever_a_client_is_set_back_and_whatever_a_log_loses(history) -> None:
    received, sizes, new = history
    of = Repeated("t", Id())  # type: ignore[arg-type]
    of.begin({0: 0})
    assert passed(of, received, sizes, 0) == new


def test_messages_of_a_topic_that_was_created_again_pass_although_their_leader_epochs_are_lower() -> None:
    of = Repeated("t", Id(now="b"))  # type: ignore[arg-type]
    of.begin({0: 3})
    again = [Message(0, k, b"x", 0) for k in range(4)]
    assert passed(of, again, [], 9) == again


def test_messages_without_leader_epochs_pass() -> None:
    of = Repeated("t", Id())  # type: ignore[arg-type]
    of.begin({0: None})
    again = [Message(0, k, b"x") for k in (7, 8, 3, 4)]
    assert passed(of, again, [], 7) == again


def test_a_broker_that_refuses_without_end_is_asked_once_a_second() -> None:
    of = Repeated("t", Id())  # type: ignore[arg-type]
    of.begin({0: 0})
    old = [Message(0, 1, b"x", 0)]
    asked = [of.drop(old, {0: 7}, now_s) for now_s in (0.0, 0.1, 0.9, 1.2, 1.3, 2.5)]  # type: ignore[arg-type]
    assert asked == [([], again) for again in ({0}, set(), set(), {0}, set(), {0})]


@given(st.lists(st.integers(0, 3), min_size=1).map(sorted), st.integers(0, 3), st.integers(0, 30))
def test_a_replay_ends_where_the_leader_epoch_exceeds_that_of_the_commit(epochs, committed, until) -> None:
    of = Repeated("t", Id())  # type: ignore[arg-type]
    of.begin({0: committed})
    messages = [Message(0, k, b"x", epoch) for k, epoch in enumerate(epochs)]
    newer = [m.at for m in messages if (m.leader or 0) > committed and m.at < until][:1]
    assert of.first_new(messages, {0: until}) == ({0: newer[0]} if newer else {})  # type: ignore[arg-type]


@dataclass
class OfTopic(Message):
    """A message that names its topic."""

    name: str = ""

    def topic(self) -> str:
        return self.name


@given(st.dictionaries(st.sampled_from(["acks", "beats"]), histories(), min_size=1), st.data())
def test_a_follower_returns_each_message_of_each_topic_once(drawn, data: st.DataObject) -> None:
    ids = {f"icu.{topic}": "a" for topic in drawn}
    waiting = {
        topic: [OfTopic(0, one.at, one.content, one.leader, f"icu.{topic}") for one in received]
        for topic, (received, _, _) in drawn.items()
    }
    of = Reread(Cluster("h:1", prefix="icu."), dict.fromkeys(drawn, "a"), lambda: None)  # type: ignore[arg-type, return-value]
    found, at, now_s = {topic: list[bytes]() for topic in drawn}, {(topic, 0): 0 for topic in drawn}, 0.0
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(reread, "request_ids", lambda *_: {})
        patched.setattr(reread, "answered_ids", lambda *_: ids)
        while any(waiting.values()):
            polled, now_s = list[OfTopic](), now_s + 0.1
            for topic in data.draw(st.lists(st.sampled_from(sorted(drawn)), min_size=1, max_size=6)):
                polled += waiting[topic][:2]
                del waiting[topic][:2]
            kept, _ = of.drop(polled, at, now_s)  # type: ignore[arg-type]
            for one in kept:
                topic = (one.topic() or "").removeprefix("icu.")
                found[topic].append(one.value() or b"")
                at[topic, 0] = (one.offset() or 0) + 1
    assert found == {topic: [one.content for one in new] for topic, (_, _, new) in drawn.items()}
