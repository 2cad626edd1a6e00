"""Align, case by case: what is put right, bridged, begun anew or rejected, and what is said of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from beatwire.kernels import align as columns
from beatwire.pipeline.settings import Settings
from oracles import Sent
from steps import Aligner

SHORT = Settings(reorder_s=0.4, bridge_s=0.2, pass_s=0.5, duplicate_s=2.0)


def sent(first: int, n: int = 10, **changed: object) -> Sent:
    return replace(Sent("bed-3", 1, first, np.arange(first, first + n, dtype=np.int16)[None]), **changed)


def ticked(*ticks: list[Sent]) -> tuple[Aligner, list]:
    """Take ticks through; the events of each."""
    aligner = Aligner(SHORT, ring_s=60.0)
    return aligner, [
        aligner.kinds(aligner.tick([c.message() for c in tick], arrival_us=[c.arrival_us for c in tick]))
        for tick in ticks
    ]


REJECTED = [
    (sent(10, rate_hz=360.0), "stream 'bed-3' is 100 Hz; this chunk says 360 Hz"),
    (sent(10, samples=np.ones((2, 4), np.int16)), "stream 'bed-3' has 1 leads; this chunk says 2"),
    (sent(10, uv_per_unit=2.5), "stream 'bed-3' has 5 microvolts per unit; this chunk says 2.5"),
    (sent(0, 5), ("stream 'bed-3' stands at sample 310 of session 1; this chunk goes back to 0; "
                  "a device that counts anew must change its session")),
]  # fmt: skip


@pytest.mark.parametrize(("bad", "message_of_it"), REJECTED)
def test_a_chunk_that_does_not_fit_its_stream_is_a_reject_that_says_why(bad: Sent, message_of_it: str) -> None:
    aligner = Aligner(SHORT)
    good = [sent(0).message(), sent(300).message()]
    aligned = aligner.tick([*good, bad.message(), sent(310).message()])
    assert (aligned.rejects.message, aligned.rejects.reason) == ([2], [f"align: {message_of_it}"])
    assert aligner.stands("bed-3") == (1, 300, 320)


def test_a_new_session_may_have_another_rate_other_leads_and_another_scale() -> None:
    aligner, _ = ticked([sent(0)])
    for k, changed in enumerate([{"rate_hz": 360.0}, {"samples": np.ones((2, 9), np.int16)}, {"uv_per_unit": 1.0}]):
        assert not aligner.tick([sent(7, session=k + 2, **changed).message()]).rejects.message
        assert aligner.stands("bed-3")[:2] == (k + 2, 7)


def test_rates_of_chunks_that_are_rejected_leave_no_trace() -> None:
    aligner, _ = ticked([sent(0)])
    wild = [sent(10, rate_hz=100 + k / 7).message() for k in range(1, 50)]
    aligned = aligner.tick([*wild, sent(10).message()])
    assert len(aligned.rejects.message) == 49
    assert [bank.rate_hz for bank in aligned.banks] == [100.0]
    assert aligner.stands("bed-3") == (1, 0, 20)
    back = [sent(20, rate_hz=360.0), sent(0, session=2), sent(0, session=1, rate_hz=360.0), sent(10, session=2)]
    aligned = aligner.tick([c.message() for c in back])
    assert aligned.rejects.message == [0]
    assert [bank.rate_hz for bank in aligned.banks] == [100.0, 360.0]
    assert aligner.stands("bed-3") == (2, 10, 20)


def test_a_short_gap_is_bridged_by_a_straight_line_and_marked() -> None:
    aligner, events = ticked([sent(0)], [sent(14)], [sent(24, 30)])
    assert events == [[("bed-3", "RESTART", 0, -1)], [], [("bed-3", "GAP", 10, 14)]]
    assert aligner.held("bed-3", 0, 54)[0].tolist() == list(range(54))
    assert aligner.counts == {"reordered": 1, "bridged": 1, "lost_samples": 4}


def test_a_bridge_between_levels_is_rounded_down() -> None:
    aligner, _ = ticked(
        [sent(0, samples=np.full((1, 10), 7, np.int16))], [sent(13, 90, samples=np.full((1, 90), 0, np.int16))]
    )
    assert aligner.held("bed-3", 9, 14)[0].tolist() == [7, 5, 3, 1, 0]


def test_a_long_gap_restarts_the_lane_where_samples_come_again() -> None:
    aligner, events = ticked([sent(0)], [sent(200)])
    assert events[1] == [("bed-3", "RESTART", 200, 10)]
    assert aligner.stands("bed-3") == (1, 200, 210)
    assert aligner.counts == {"restarts": 1, "lost_samples": 190}


def test_a_chunk_that_comes_after_its_gap_was_given_up_is_dropped_and_shifts_nothing() -> None:
    aligner, _ = ticked([sent(0)], [sent(14, 50)], [sent(10, 4, samples=np.full((1, 4), 999, np.int16))], [sent(64)])
    assert aligner.held("bed-3", 0, 74)[0].tolist() == list(range(74))
    assert aligner.counts["duplicates"] == 1


def test_chunks_inside_the_window_are_put_right_and_nothing_is_said() -> None:
    aligner, events = ticked([sent(0)], [sent(20), sent(30)], [sent(10)])
    assert events[1:] == [[], []]
    assert aligner.stands("bed-3") == (1, 0, 40)
    assert aligner.held("bed-3", 0, 40)[0].tolist() == list(range(40))
    assert aligner.counts == {"reordered": 2}


def test_duplicates_and_overlaps_are_dropped_to_the_sample() -> None:
    other = np.full((1, 10), -1, np.int16)
    aligner, _ = ticked([sent(0), sent(0, samples=other), sent(5, samples=other), sent(12, samples=other)])
    assert aligner.held("bed-3", 0, 15)[0].tolist() == [*range(10), -1, -1, -1, -1, -1]
    assert aligner.counts == {"duplicates": 1, "overlaps": 2}


def test_a_silence_starts_the_stream_anew_and_less_does_not() -> None:
    for seconds, base in ((60, 0), (61, 10)):
        aligner, events = ticked([sent(0)], [sent(10, arrival_us=seconds * 1_000_000)])
        assert aligner.stands("bed-3") == (1, base, 20)
        assert (("bed-3", "RESTART", 10, 10) in events[1]) == (base == 10)


@pytest.mark.parametrize(("bad", "message_of_it"), REJECTED)
def test_what_did_not_fit_the_stream_is_taken_after_a_silence_as_a_monitor_just_started_would(
    bad: Sent, message_of_it: str
) -> None:
    del message_of_it
    after = [replace(bad, arrival_us=seconds * 1_000_000) for seconds in (30, 60, 61)]
    aligner = Aligner(SHORT)
    for c in [sent(0), sent(300), *after[:2]]:
        aligned = aligner.tick([c.message()], arrival_us=[c.arrival_us])
    assert len(aligned.rejects.reason) == 1
    aligned = aligner.tick([after[2].message()], arrival_us=[after[2].arrival_us])
    assert aligned.rejects.reason == []
    assert aligner.stands("bed-3") == (1, bad.first, bad.stop)
    assert aligner.counts["silences"] == 1


def test_a_repetition_after_a_silence_is_still_one() -> None:
    aligner, _ = ticked([sent(0)], [sent(0, arrival_us=61_000_000)])
    assert aligner.stands("bed-3") == (1, 0, 10)
    assert aligner.counts == {"duplicates": 1}


def test_lanes_of_silent_streams_are_given_to_others_and_nothing_else_changes() -> None:
    def told(release: bool) -> tuple[Aligner, list[object]]:
        aligner, out = Aligner(SHORT), []
        for k in range(40):
            now_us = 70_000_000 * k
            back = sent(1000 + k, arrival_us=now_us) if k % 7 == 6 else sent(0, arrival_us=now_us)
            both = [replace(sent(k, stream=f"bed-{k}"), arrival_us=now_us), back]
            values, arrivals = [c.message() for c in both], [c.arrival_us for c in both]
            aligned = aligner.tick(values, arrival_us=arrivals, now_us=now_us, caught_up=release)
            out.append((aligner.kinds(aligned), aligned.rejects.reason, aligner.stands("bed-3"), aligner.counts))
        return aligner, out

    kept, one = told(release=False)
    shared, other = told(release=True)
    assert one == other
    assert kept.align.lanes == [40]
    assert shared.align.lanes[0] < 6
    held = shared.align.slots[shared.align.slots[:, columns.SLOT_LANE] >= 0, columns.SLOT_LANE].tolist()
    assert len(set(held)) == len(held)


def test_what_is_read_minutes_late_was_not_silent() -> None:
    aligner = Aligner(SHORT)
    aligner.tick([sent(0).message()], arrival_us=[0], now_us=1)
    late = [sent(10 * k) for k in range(1, 4)]  # the worker stood still; the device did not
    aligned = aligner.tick([c.message() for c in late], arrival_us=[0, 10**5, 10**5], now_us=400_000_000)
    assert aligner.kinds(aligned) == []
    assert aligner.stands("bed-3") == (1, 0, 40)


def test_a_change_of_leads_is_told_once_by_the_newest_chunk() -> None:
    def two(first: int, mask: int) -> Sent:
        return sent(first, samples=np.ones((2, 10), np.int16), lead_off=mask)

    ticks = [two(0, 0), two(20, 1), two(10, 0), two(30, 1), two(40, 0)]
    _, apart = ticked(*[[c] for c in ticks])
    assert [e for tick in apart for e in tick if e[1] == "LEADS"] == [
        ("bed-3", "LEADS", 20, 1),
        ("bed-3", "LEADS", 40, 0),
    ]
    assert [e for e in ticked(ticks)[1][0] if e[1] == "LEADS"] == [("bed-3", "LEADS", 20, 1), ("bed-3", "LEADS", 40, 0)]


def test_a_lead_that_is_off_holds_its_last_value_and_needs_none() -> None:
    samples = np.array([[1, 2, 3], [-32768, -32768, -32768]], np.int16)
    aligner, _ = ticked([sent(0, samples=np.array([[5], [9]], np.int16)), sent(1, samples=samples, lead_off=2)])
    assert aligner.held("bed-3", 0, 4).tolist() == [[5, 1, 2, 3], [9, 9, 9, 9]]


def test_while_all_leads_are_off_nothing_is_known() -> None:
    aligner, events = ticked([sent(0)], [sent(10, lead_off=1)], [sent(20, lead_off=1)])
    assert aligner.stands("bed-3") == (1, 0, 10)
    assert events[1:] == [[("bed-3", "LEADS", 10, 1)], []]


def test_a_lane_given_back_is_not_claimed_within_the_same_tick() -> None:
    first, second = sent(0, 40), replace(sent(0, 40), stream="bed-4", samples=np.full((1, 40), 77, np.int16))
    aligner, _ = ticked([first])
    aligner.tick([c.message() for c in (sent(40, 20), sent(0, 20, session=2, rate_hz=360.0), second)], watch=True)
    fresh, x = aligner.watched[0]
    assert len(set(fresh.lane.tolist())) == len(fresh.lane) == 2
    lane = fresh.lane[fresh.slot == 0][0]
    assert x[lane, 0, :60].tolist() == list(range(60))
    aligner.tick([replace(second, stream="bed-5").message()])
    assert len(x) == 64
    assert aligner.held("bed-5", 0, 40)[0].tolist() == [77] * 40


def test_a_chunk_of_nothing_but_missing_values_passes() -> None:
    aligner, _ = ticked([sent(0)], [sent(10, samples=np.full((1, 10), -32768, np.int16))], [sent(20)])
    assert aligner.stands("bed-3") == (1, 0, 10)
    assert aligner.counts == {"no_value": 10, "reordered": 1}


def test_an_empty_tick_passes_and_leaves_the_state_usable() -> None:
    aligner, _ = ticked([], [sent(0)], [], [sent(10)])
    assert aligner.stands("bed-3") == (1, 0, 20)
