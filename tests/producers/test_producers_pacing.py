"""Pacing: no drift against the clock, and no more unread messages than the broker keeps."""

import numpy as np
import pytest
from beatwire.errors import UserError
from beatwire_producers.pacing import MAX, LagLimit, Pacer, parse_speed


class Time:
    """A clock that advances only by sleep and by work."""

    def __init__(self, oversleep_s: float = 0.0) -> None:
        self.now_s, self.oversleep_s = 1000.0, oversleep_s

    def clock(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        assert seconds > 0
        self.now_s += seconds + self.oversleep_s


@pytest.mark.parametrize("speed", [1.0, 20.0, 0.5])
def test_ten_thousand_deadlines_do_not_drift(speed: float) -> None:
    time = Time(oversleep_s=0.0007)
    pacer = Pacer(speed, time.clock, time.sleep)
    late_s = []
    for n in range(10_000):
        pacer.wait(n * 0.2)
        late_s.append(time.now_s - 1000.0 - n * 0.2 / speed)
        time.now_s += 0.001  # the work of sending
    assert min(late_s) >= -1e-9
    assert max(late_s) < 0.0008
    assert pacer.worst_s == pytest.approx(max(late_s), abs=1e-6)


def test_after_a_stall_the_pacer_catches_up_and_returns_its_delay() -> None:
    time = Time()
    pacer = Pacer(1.0, time.clock, time.sleep)
    pacer.wait(0.2)
    time.now_s += 3.0
    assert pacer.wait(0.4) == pytest.approx(2.8)
    assert pacer.wait(2.0) == pytest.approx(1.2)
    assert pacer.wait(5.0) == pytest.approx(0.0)
    assert time.now_s == pytest.approx(1005.0)
    assert pacer.worst_s == pytest.approx(2.8)


def test_at_full_speed_the_pacer_never_sleeps() -> None:
    def never(_: float) -> None:
        raise AssertionError

    assert Pacer(MAX, lambda: 0.0, never).wait(1e9) == 0.0


def test_unread_messages_stay_below_the_limit() -> None:
    time, rng = Time(), np.random.default_rng(3)
    unread, unread_bytes = 0, 0.0
    worst = worst_bytes = 0.0

    def lag() -> int:
        return unread

    def read(seconds: float) -> None:  # the reader reads while the producer sleeps
        nonlocal unread, unread_bytes
        taken = min(unread, int(rng.integers(0, 400)))
        unread_bytes -= unread_bytes * taken / max(unread, 1)
        unread -= taken
        time.sleep(seconds)

    limit = LagLimit(lag, "g", most_bytes=200_000, most=1500, clock=time.clock, sleep=read)
    for _ in range(500):
        limit.wait(100, 20_000)
        unread, unread_bytes = unread + 100, unread_bytes + 20_000
        worst, worst_bytes = max(worst, unread), max(worst_bytes, unread_bytes)
    assert worst <= 1500
    assert worst_bytes <= 200_000
    assert limit.waited_s > 0


def test_a_reader_without_commits_is_an_error_that_names_its_group() -> None:
    time = Time()
    limit = LagLimit(lambda: 70_000, "beatwire", patience_s=30.0, clock=time.clock, sleep=time.sleep)
    with pytest.raises(
        UserError, match="expected group 'beatwire' to commit; got no commit in 30 s with 70000 messages unread"
    ):
        limit.wait(1, 200)
    assert time.now_s == pytest.approx(1030.0, abs=0.1)


def test_a_batch_above_the_limit_is_sent_when_nothing_is_unread() -> None:
    time = Time()
    limit = LagLimit(lambda: 0, "g", most_bytes=10, clock=time.clock, sleep=time.sleep)
    limit.wait(1, 100)
    assert limit.waited_s == 0


def test_speeds_are_parsed() -> None:
    assert [parse_speed(t) for t in ("1", "20x", "0.5", "MAX")] == [1.0, 20.0, 0.5, MAX]
    for text in ("0", "-1", "fast", "nan", "inf"):
        with pytest.raises(UserError, match=f"--speed: expected a number above 0, or max; got '{text}'"):
            parse_speed(text)
