"""Law of leads: a clean lead added costs nothing, whatever size it states; and how noise is put on one lead."""

from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from beatwire.evaluation.beats.detection import Cuts, Detected
from beatwire.evaluation.beats.one_lead import (
    SATURATION,
    Disturbance,
    count_beats,
    disturbed,
    one_lead_as_text,
    one_lead_costs,
)
from beatwire.evaluation.records import AnnotatedRecord, read_annotated
from beatwire.offline.analyze import analyze
from beatwire.recordings import NO_VALUE, Recording, read_recording
from beatwire.recordings.synthetic.person import synthesise
from beatwire.records import I16, I64
from draws import draws
from hypothesis import example, given, settings
from hypothesis import strategies as st
from laws import Signal, assert_equal, run_graph
from steps import beats_of

SECONDS = 150
SIZED = ("mitdb/101", "mitdb/106", "mitdb/116", "mitdb/230", "svdb/821", "svdb/843", "qtdb/sel16265", "qtdb/sele0122")
BEGIN_S, NEAR_S = 40.0, 0.15
MOST = 2  # beats that differ
FEW = ("mitdb/114", "svdb/821", "qtdb/sele0126")  # of which noise once hid most beats


def detect(samples: I16, rate_hz: float, uv_per_unit: float, cuts: Cuts) -> Detected:
    """Return the beats, by the stages up to them."""
    return Detected(beats_of(Signal("bed", samples, rate_hz)).sample)


def beginning(record: AnnotatedRecord) -> AnnotatedRecord:
    """Return the first minutes of a record."""
    recording = record.recording
    n = round(SECONDS * recording.rate_hz)
    return replace(
        record,
        recording=replace(recording, samples=recording.samples[:2, :n]),
        beat=record.beat[record.beat < n],
        beat_class=record.beat_class[: int((record.beat < n).sum())],
    )


@pytest.mark.parametrize("lead", [0, 1])
def test_noise_comes_in_bursts_on_one_lead_and_the_cost_is_against_the_others(ecg_folder: Path, lead: int) -> None:
    short = beginning(read_annotated(ecg_folder / "mitdb", "114"))
    x = short.recording.samples
    for what in (Disturbance(str(ecg_folder / "nstdb/em100"), -12.0), Disturbance(SATURATION, None)):
        noisy = disturbed(short, lead, what, 0)
        np.testing.assert_array_equal(noisy[1 - lead], x[1 - lead])
        assert 0.1 < (noisy[lead] != x[lead]).mean() < 0.9


@pytest.mark.parametrize("name", FEW)
def test_a_clean_lead_added_costs_nothing(ecg_folder: Path, name: str) -> None:
    folder, _, record = name.partition("/")
    short = beginning(read_annotated(ecg_folder / folder, record))
    of_all, first = (count_beats(short, short.recording.samples[:n], detect, 0) for n in (2, 1))
    assert of_all.fn + of_all.fp <= first.fn + first.fp


def test_the_cost_is_that_against_the_other_leads_alone(ecg_folder: Path) -> None:
    costs = one_lead_costs(ecg_folder / "qtdb", detect, noise=[SATURATION], snr_db=[0.0], names=["sele0126"])
    assert [row["lead"] for row in costs["rows"]] == [0, 1]
    assert all(row["cost"] == row["others"] - row["all"] for row in costs["rows"])
    assert (costs["records"], costs["failed"]) == (1, [])
    assert len(one_lead_as_text(costs).splitlines()) == 4


@cache
def two_leads(folder: Path, name: str) -> tuple[Recording, list[I64]]:
    """Return the beginning of a record, two leads, and the beats of each alone."""
    source, _, record = name.partition("/")
    whole = read_annotated(folder / source, record).recording
    n = round(BEGIN_S * whole.rate_hz)
    two = replace(whole, samples=whole.samples[:2, :n], leads=whole.leads[:2])
    return two, [beats_in(two, two.samples[lead : lead + 1]) for lead in range(2)]


def beats_in(recording: Recording, samples: I16) -> I64:
    """Return the beats of other samples of a recording."""
    return np.asarray(
        analyze(replace(recording, samples=samples, leads=recording.leads[: len(samples)])).beats["sample"]
    )


def scaled(lead: I16, times: float) -> I16:
    """Return a lead that states so many times its size."""
    values = np.clip(np.rint(times * (lead - np.median(lead))), -32767, 32767)
    return np.where(lead == NO_VALUE, NO_VALUE, values).astype(np.int16)


@settings(deadline=None, max_examples=draws(40))
@given(name=st.sampled_from(SIZED), lead=st.integers(0, 1), times=st.floats(-1.0, 1.3).map(lambda power: 10.0**power))
def test_a_lead_that_states_a_wrong_size_hides_no_beat_of_the_other(
    ecg_folder: Path, name: str, lead: int, times: float
) -> None:
    two, alone = two_leads(ecg_folder, name)
    samples = two.samples.copy()
    samples[lead] = scaled(samples[lead], times)
    found, expected = beats_in(two, samples), alone[1 - lead]
    missed = np.abs(expected[:, np.newaxis] - found).min(axis=1) > NEAR_S * two.rate_hz
    assert missed.sum() <= MOST, (expected[missed] / two.rate_hz).tolist()


@settings(deadline=None, max_examples=draws(40))
@given(name=st.sampled_from(SIZED), times=st.floats(0.0, 1.3).map(lambda power: 10.0**power))
def test_two_leads_that_state_a_wrong_size_hide_no_beat(ecg_folder: Path, name: str, times: float) -> None:
    two, alone = two_leads(ecg_folder, name)
    samples = np.stack([scaled(lead, times) for lead in two.samples])
    found, expected = beats_in(two, samples), alone[0]
    missed = np.abs(expected[:, np.newaxis] - found).min(axis=1) > NEAR_S * two.rate_hz
    assert missed.sum() <= MOST, (expected[missed] / two.rate_hz).tolist()


@settings(max_examples=draws(2), deadline=None)
@example(stop=9_630)
@given(stop=st.integers(9_500, 9_800))
def test_where_a_fast_rhythm_ends_before_a_peak_of_a_lead_alone_does_not_depend_on_the_cut(
    ecg_folder: Path, stop: int
) -> None:
    samples = read_recording(str(ecg_folder / "mitdb" / "207")).samples[:, 560_526:572_000]
    signal = Signal("bed", samples, 360.0)
    n = samples.shape[1]
    whole = run_graph([[signal.chunk(a, min(a + 3_600, n)) for a in range(0, n, 3_600)]])
    cut = [0, 3_600, 7_200, stop, n]
    assert_equal(run_graph([[signal.chunk(a, b) for a, b in pairwise(cut[:4])], [signal.chunk(stop, n)]]), whole, 20)


@settings(max_examples=draws(12), deadline=None)
@given(seed=st.integers(0, 1 << 16), first=st.integers(1, 15), off=st.integers(0, 2))
def test_a_first_tick_of_few_samples_with_a_lead_off_changes_no_beat(seed: int, first: int, off: int) -> None:
    """None of its samples is final yet. Later a lead alone is better than all: the others are noise."""
    recording = synthesise(seed, rate_hz=250.0, seconds=40, leads=3).recording
    x, rng = recording.samples.astype(np.float64), np.random.default_rng(seed)
    noisy = (off + 1) % 3
    x[noisy, 2_500:] += rng.normal(0, 600, x.shape[1] - 2_500)
    x[off] = NO_VALUE
    recording = replace(recording, samples=x.round().astype(np.int16))
    n = x.shape[1]
    whole = analyze(recording, chunks=[n], ticks=[99]).beats
    parts = analyze(recording, chunks=[first, n - first], ticks=[1, 99]).beats
    assert len(whole["sample"]) > 20
    for name in ("sample", "quality", "expected_errors"):
        np.testing.assert_array_equal(parts[name], whole[name], err_msg=name)
