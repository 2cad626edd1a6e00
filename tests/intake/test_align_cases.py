"""Align, case by case: what is reordered, bridged, restarted or rejected, with its events and counters."""

from dataclasses import replace

import numpy as np
import pytest
from beatwire.pipeline.settings import Settings
from beatwire.records import slot_columns as columns
from beatwire.records.events import ALL_OFF
from hypothesis import given
from hypothesis import strategies as st
from oracles import SentChunk
from steps import Aligner

SHORT = Settings(reorder_s=0.4, bridge_s=0.2, pass_s=0.5, duplicate_s=2.0)


def sent(first: int, n: int = 10, **changed: object) -> SentChunk:
    return replace(SentChunk("bed-3", 1, first, np.arange(first, first + n, dtype=np.int16)[None]), **changed)


def ticked(*ticks: list[SentChunk]) -> tuple[Aligner, list]:
    """Process ticks; return the aligner and the events of each tick."""
    aligner = Aligner(SHORT, ring_s=60.0)
    return aligner, [
        aligner.event_rows(aligner.tick([c.message() for c in tick], arrival_us=[c.arrival_us for c in tick]))
        for tick in ticks
    ]


REJECTED = [
    (sent(10, rate_hz=360.0), "stream 'bed-3' is 100 Hz; this chunk says 360 Hz"),
    (sent(10, samples=np.ones((2, 4), np.int16)), "stream 'bed-3' has 1 leads; this chunk says 2"),
    (sent(10, uv_per_unit=2.5), "stream 'bed-3' has 5 microvolts per unit; this chunk says 2.5"),
    (sent(10, leads=("V1",)), "stream 'bed-3' has the leads 'L0'; this chunk says 'V1'"),
    (sent(0, 5), ("stream 'bed-3' is at sample 310 of session 1; this chunk goes back to 0; "
                  "a device that counts anew must change its session")),
]  # fmt: skip


@pytest.mark.parametrize(("bad", "message_of_it"), REJECTED)
def test_a_chunk_that_does_not_fit_its_stream_is_rejected_with_the_reason(bad: SentChunk, message_of_it: str) -> None:
    aligner = Aligner(SHORT)
    good = [sent(0).message(), sent(300).message()]
    aligned = aligner.tick([*good, bad.message(), sent(310).message()])
    assert (aligned.rejects.message, aligned.rejects.reason) == ([2], [f"align: {message_of_it}"])
    assert aligner.position("bed-3") == (1, 300, 320)


@given(st.integers(1, 5), st.data())
def test_the_reason_names_the_leads_that_a_stream_had_then_however_often_it_is_renamed_within_a_tick(
    sessions: int, data: st.DataObject
) -> None:
    misfit = data.draw(st.integers(1, sessions))
    chunks = [sent(0, session=0)]
    for session in range(1, sessions + 1):
        chunks.append(sent(0, session=session, leads=(f"of {session}",)))
        chunks += [sent(10, session=session, leads=("another",))] * (session == misfit)
    whole = data.draw(st.booleans())
    aligner = Aligner(SHORT)
    messages = [chunk.message() for chunk in chunks]
    ticks = [messages] if whole else [[message] for message in messages]
    reasons = [reason for tick in ticks for reason in aligner.tick(tick).rejects.reason]
    assert reasons == [f"align: stream 'bed-3' has the leads 'of {misfit}'; this chunk says 'another'"]


def test_a_new_session_may_change_the_rate_the_leads_and_the_scale() -> None:
    aligner, _ = ticked([sent(0)])
    for k, changed in enumerate([{"rate_hz": 360.0}, {"samples": np.ones((2, 9), np.int16)}, {"uv_per_unit": 1.0}]):
        assert not aligner.tick([sent(7, session=k + 2, **changed).message()]).rejects.message
        assert aligner.position("bed-3")[:2] == (k + 2, 7)


def test_rejected_chunks_open_no_bank() -> None:
    aligner, _ = ticked([sent(0)])
    wild = [sent(10, rate_hz=100 + k / 7).message() for k in range(1, 50)]
    aligned = aligner.tick([*wild, sent(10).message()])
    assert len(aligned.rejects.message) == 49
    assert [bank.rate_hz for bank in aligned.banks] == [100.0]
    assert aligner.position("bed-3") == (1, 0, 20)
    back = [sent(20, rate_hz=360.0), sent(0, session=2), sent(0, session=1, rate_hz=360.0), sent(10, session=2)]
    aligned = aligner.tick([c.message() for c in back])
    assert aligned.rejects.message == [0]
    assert [bank.rate_hz for bank in aligned.banks] == [100.0, 360.0]
    assert aligner.position("bed-3") == (2, 10, 20)


def test_a_short_gap_is_bridged_by_a_straight_line_and_emits_an_event() -> None:
    aligner, events = ticked([sent(0)], [sent(15)], [sent(25, 30)])
    assert events == [[("bed-3", "RESTART", 0, -1)], [], [("bed-3", "GAP", 10, 15)]]
    assert aligner.ring_samples("bed-3", 0, 55)[0].tolist() == list(range(55))
    assert aligner.counts == {"reordered": 1, "bridged": 1, "lost_samples": 5}


def test_a_hole_of_40_ms_is_filled_in_without_an_event() -> None:
    aligner, events = ticked([sent(0)], [sent(14)], [sent(24, 30)])
    assert events == [[("bed-3", "RESTART", 0, -1)], [], []]
    assert aligner.ring_samples("bed-3", 0, 54)[0].tolist() == list(range(54))
    assert aligner.counts == {"reordered": 1, "bridged": 1, "lost_samples": 4}


def test_samples_said_to_have_no_value_are_not_waited_for() -> None:
    x = np.arange(20, dtype=np.int16)[None].copy()
    x[0, [3, 4, 12]] = -32768
    aligner, _ = ticked([sent(0, samples=x)])
    assert aligner.position("bed-3") == (1, 0, 20)
    assert aligner.final("bed-3") == 20
    assert aligner.ring_samples("bed-3", 0, 20)[0].tolist() == list(range(20))


def test_samples_before_an_open_hole_are_final_and_those_behind_it_are_not() -> None:
    x = np.arange(10, dtype=np.int16)[None].repeat(2, axis=0)
    x[1, 7:] = -32768
    more = np.arange(10, 20, dtype=np.int16)[None].repeat(2, axis=0)
    aligner, _ = ticked([sent(0, samples=x)])
    assert (aligner.position("bed-3"), aligner.final("bed-3")) == ((1, 0, 10), 7)
    aligner.tick([sent(10, samples=more).message()])
    assert aligner.final("bed-3") == 20
    assert aligner.ring_samples("bed-3", 0, 20).tolist() == [list(range(20))] * 2


def test_a_bridge_between_levels_is_rounded_down() -> None:
    aligner, _ = ticked(
        [sent(0, samples=np.full((1, 10), 7, np.int16))], [sent(15, 90, samples=np.full((1, 90), 0, np.int16))]
    )
    assert aligner.ring_samples("bed-3", 9, 16)[0].tolist() == [7, 5, 4, 3, 2, 1, 0]


def test_a_long_gap_restarts_the_lane_at_the_first_sample_after_it() -> None:
    aligner, events = ticked([sent(0)], [sent(200)])
    assert events[1] == [("bed-3", "RESTART", 200, 10)]
    assert aligner.position("bed-3") == (1, 200, 210)
    assert aligner.counts == {"restarts": 1, "lost_samples": 190}


FAR = 30_000
WRONG = sent(FAR)  # after one at 0


@pytest.mark.parametrize("first", [10, 10 + 200])
def test_a_stream_goes_on_where_it_was_after_one_chunk_far_ahead(first: int) -> None:
    aligner, events = ticked([sent(0)], [WRONG], [sent(first)], [sent(first + 10)])
    assert events[1:] == [[("bed-3", "RESTART", FAR, 10)], [("bed-3", "RESTART", first, FAR + 10)], []]
    assert aligner.position("bed-3") == (1, first, first + 20)
    assert aligner.ring_samples("bed-3", first, first + 20)[0].tolist() == list(range(first, first + 20))
    assert aligner.counts == {"restarts": 2, "lost_samples": FAR - 10}
    assert ticked([sent(0), WRONG, sent(first), sent(first + 10)])[0].counts == aligner.counts


@pytest.mark.parametrize(
    ("chunks", "at"),
    [
        ([sent(0), WRONG, sent(FAR + 10), sent(10)], FAR + 20),  # the device goes on ahead
        ([sent(0), WRONG, sent(10 + 201)], FAR + 10),
        ([sent(100), WRONG, sent(0)], FAR + 10),
        ([sent(0), sent(0, session=2), sent(FAR, session=2), sent(FAR, session=3), sent(10, session=3)], FAR + 10),
    ],
)
def test_a_stream_does_not_go_back_from_a_chunk_far_ahead_otherwise(chunks: list[SentChunk], at: int) -> None:
    aligner = Aligner(SHORT)
    for c in chunks:
        aligned = aligner.tick([c.message()])
    assert len(aligned.rejects.reason) == 1
    assert "goes back" in aligned.rejects.reason[0]
    assert aligner.position("bed-3")[2] == at


def test_two_chunks_far_ahead_are_undone_as_one_is() -> None:
    aligner, _ = ticked([sent(0)], [WRONG], [sent(FAR + 2_000)], [sent(10)])
    assert aligner.position("bed-3") == (1, 10, 20)


def test_a_chunk_that_arrives_after_its_gap_was_bridged_is_dropped() -> None:
    aligner, _ = ticked([sent(0)], [sent(14, 50)], [sent(10, 4, samples=np.full((1, 4), 999, np.int16))], [sent(64)])
    assert aligner.ring_samples("bed-3", 0, 74)[0].tolist() == list(range(74))
    assert aligner.counts["duplicates"] == 1


def test_chunks_out_of_order_within_the_reorder_window_are_put_in_order_without_an_event() -> None:
    aligner, events = ticked([sent(0)], [sent(20), sent(30)], [sent(10)])
    assert events[1:] == [[], []]
    assert aligner.position("bed-3") == (1, 0, 40)
    assert aligner.ring_samples("bed-3", 0, 40)[0].tolist() == list(range(40))
    assert aligner.counts == {"reordered": 2}


def test_samples_that_arrive_twice_are_dropped() -> None:
    other = np.full((1, 10), -1, np.int16)
    aligner, _ = ticked([sent(0), sent(0, samples=other), sent(5, samples=other), sent(12, samples=other)])
    assert aligner.ring_samples("bed-3", 0, 15)[0].tolist() == [*range(10), -1, -1, -1, -1, -1]
    assert aligner.counts == {"duplicates": 1, "overlaps": 2}


def test_a_stream_restarts_after_a_silence_longer_than_the_limit() -> None:
    for seconds, base in ((60, 0), (61, 10)):
        aligner, events = ticked([sent(0)], [sent(10, arrival_us=seconds * 1_000_000)])
        assert aligner.position("bed-3") == (1, base, 20)
        assert (("bed-3", "RESTART", 10, -12) in events[1]) == (base == 10)


@pytest.mark.parametrize(("bad", "message_of_it"), REJECTED)
def test_a_chunk_that_did_not_fit_its_stream_is_accepted_after_a_silence(bad: SentChunk, message_of_it: str) -> None:
    del message_of_it
    after = [replace(bad, arrival_us=seconds * 1_000_000) for seconds in (30, 60, 61)]
    aligner = Aligner(SHORT)
    for c in [sent(0), sent(300), *after[:2]]:
        aligned = aligner.tick([c.message()], arrival_us=[c.arrival_us])
    assert len(aligned.rejects.reason) == 1
    aligned = aligner.tick([after[2].message()], arrival_us=[after[2].arrival_us])
    assert aligned.rejects.reason == []
    assert aligner.position("bed-3") == (1, bad.first, bad.stop)
    assert aligner.counts["silences"] == 1


def test_a_stream_begins_anew_after_a_silence_although_its_chunk_was_sent_before() -> None:
    aligner, events = ticked([sent(0), sent(10)], [sent(0, arrival_us=61_000_000)])
    assert aligner.position("bed-3") == (1, 0, 10)
    assert ("bed-3", "RESTART", 0, -22) in events[1]
    assert aligner.counts == {"silences": 1}


def test_lanes_of_silent_streams_are_reused_and_the_output_stays_the_same() -> None:
    def run_with(release: bool) -> tuple[Aligner, list[object]]:
        aligner, out = Aligner(SHORT), []
        for k in range(40):
            now_us = 70_000_000 * k
            back = sent(1000 + k, arrival_us=now_us) if k % 7 == 6 else sent(0, arrival_us=now_us)
            both = [replace(sent(k, stream=f"bed-{k}"), arrival_us=now_us), back]
            values, arrivals = [c.message() for c in both], [c.arrival_us for c in both]
            aligned = aligner.tick(values, arrival_us=arrivals, now_us=now_us, caught_up=release)
            out.append((aligner.event_rows(aligned), aligned.rejects.reason, aligner.position("bed-3"), aligner.counts))
        return aligner, out

    kept, one = run_with(release=False)
    shared, other = run_with(release=True)
    assert one == other
    assert kept.align.admission.lanes == [40]
    assert shared.align.admission.lanes[0] < 6
    held = shared.align.slots[shared.align.slots[:, columns.SLOT_LANE] >= 0, columns.SLOT_LANE].tolist()
    assert len(set(held)) == len(held)


def test_a_late_read_is_not_a_silence_of_the_device() -> None:
    aligner = Aligner(SHORT)
    aligner.tick([sent(0).message()], arrival_us=[0], now_us=1)
    late = [sent(10 * k) for k in range(1, 4)]  # the worker was stopped; the device was not
    aligned = aligner.tick([c.message() for c in late], arrival_us=[0, 10**5, 10**5], now_us=400_000_000)
    assert aligner.event_rows(aligned) == []
    assert aligner.position("bed-3") == (1, 0, 40)


def test_a_change_of_leads_emits_one_event_at_the_newest_chunk() -> None:
    def two(first: int, mask: int) -> SentChunk:
        return sent(first, samples=np.ones((2, 10), np.int16), lead_off=mask)

    ticks = [two(0, 0), two(20, 1), two(10, 0), two(30, 1), two(40, 0)]
    _, apart = ticked(*[[c] for c in ticks])
    assert [e for tick in apart for e in tick if e[1] == "LEADS"] == [
        ("bed-3", "LEADS", 20, 1),
        ("bed-3", "LEADS", 40, 0),
    ]
    assert [e for e in ticked(ticks)[1][0] if e[1] == "LEADS"] == [("bed-3", "LEADS", 20, 1), ("bed-3", "LEADS", 40, 0)]


def test_a_lead_that_is_off_has_no_value() -> None:
    samples = np.array([[1, 2, 3, 4, 5, 6], [7] * 6], np.int16)
    aligner, _ = ticked([sent(0, samples=np.array([[5], [9]], np.int16)), sent(1, samples=samples, lead_off=2)])
    assert aligner.ring_samples("bed-3", 0, 7).tolist() == [[5, 1, 2, 3, 4, 5, 6], [9, *[-32768] * 6]]


def test_chunks_with_all_leads_off_add_no_samples() -> None:
    aligner, events = ticked([sent(0)], [sent(10, lead_off=1)], [sent(20, lead_off=1)])
    assert aligner.position("bed-3") == (1, 0, 10)
    assert events[1:] == [[("bed-3", "LEADS", 10, 1 | ALL_OFF)], []]


def test_a_released_lane_is_not_claimed_within_the_same_tick() -> None:
    first, second = sent(0, 40), replace(sent(0, 40), stream="bed-4", samples=np.full((1, 40), 77, np.int16))
    aligner, _ = ticked([first])
    aligner.tick([c.message() for c in (sent(40, 20), sent(0, 20, session=2, rate_hz=360.0), second)], watch=True)
    fresh, x = aligner.watched[0]
    assert len(set(fresh.lane.tolist())) == len(fresh.lane) == 2
    lane = fresh.lane[fresh.slot == 0][0]
    assert x[lane, 0, :60].tolist() == list(range(60))
    aligner.tick([replace(second, stream="bed-5").message()])
    assert len(x) == 64
    assert aligner.ring_samples("bed-5", 0, 40)[0].tolist() == [77] * 40


def test_a_chunk_of_missing_values_is_accepted() -> None:
    aligner, _ = ticked([sent(0)], [sent(10, samples=np.full((1, 10), -32768, np.int16))], [sent(20)])
    assert aligner.position("bed-3") == (1, 0, 30)
    assert aligner.counts == {"no_value": 10, "bridged": 1, "lost_samples": 10}


def test_an_empty_tick_passes_and_leaves_the_state_usable() -> None:
    aligner, _ = ticked([], [sent(0)], [], [sent(10)])
    assert aligner.position("bed-3") == (1, 0, 20)
