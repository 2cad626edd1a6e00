"""The parts of a report: strips, hours, episodes, decoded beats, packed samples, annotations."""

import base64
import re
import zlib
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from annotated import BEATS, write_record
from beatwire.errors import escape
from beatwire.evaluation.records import AnnotatedRecord
from beatwire.model.checkpoint import load_model
from beatwire.offline.analyze import Analysis
from beatwire.offline.results.episodes import episodes_of
from beatwire.recordings import NO_VALUE, Recording, read_recording
from beatwire.report import sections
from beatwire.report.annotations import annotations_of
from beatwire.report.events import PER_KIND, Event, kinds_of
from beatwire.report.figures import axes, overview
from beatwire.report.figures.hours import hours_of
from beatwire.report.figures.paper import scale_of
from beatwire.report.figures.plane import decoded
from beatwire.report.figures.response import responses_of
from beatwire.report.figures.strips import Strips
from beatwire.report.sections import MOST_ALERTS
from beatwire.report.study import study_of
from beatwire.report.unusual import unusual_beats
from beatwire.stages.support.filters import Design, filter_for
from hypothesis import given
from hypothesis import strategies as st


def test_the_response_of_a_strip_is_that_of_the_filter() -> None:
    rng = np.random.default_rng(3)
    x = rng.integers(-90, 90, (2, 1, 1500), dtype=np.int16)
    one = filter_for(Design(), 250.0, 1)
    kernel = np.concatenate([one.taps[:0:-1], one.taps]).astype(np.int64)
    found = responses_of(x, 250.0)
    for samples, response in zip(x[:, 0], found, strict=True):
        magnitude = np.abs(np.convolve(samples.astype(np.int64), kernel, "same")) >> one.shift
        expected = np.convolve(magnitude, np.ones(2 * one.box + 1, np.int64), "same")
        known = np.flatnonzero(np.isfinite(response))
        assert len(known) > 1400
        np.testing.assert_array_equal(response[known][50:], expected[known][50:])


def unpacked(text: str, n: int) -> Any:
    """What `overview.js` does with a packed lead."""
    parts = np.frombuffer(zlib.decompress(base64.b64decode(text)), np.uint8).astype(np.int64)
    zigzag = parts[:n] | (parts[n:] << 8)
    return np.cumsum((zigzag >> 1) ^ -(zigzag & 1)).astype(np.int16)


def test_packed_samples_are_the_samples() -> None:
    x = np.random.default_rng(1).integers(-32768, 32768, 4000).astype(np.int16)
    np.testing.assert_array_equal(unpacked(overview.packed(x), len(x)), x)


def test_a_recording_too_large_for_a_page_is_held_as_minima_and_maxima(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.random.default_rng(2).integers(-300, 300, (1, 100_001)).astype(np.int16)
    x[0, 40_000:40_100] = NO_VALUE
    monkeypatch.setattr(overview, "MOST_TEXT", 60_000)
    signal = overview.signal_of(x)
    assert signal.factor > 1
    assert sum(map(len, signal.texts)) <= 60_000
    pairs = unpacked(signal.texts[0], signal.lengths[0]).reshape(-1, 2)
    for k, (low, high) in enumerate(pairs.tolist()):
        part = x[0, k * signal.factor : (k + 1) * signal.factor]
        part = part[part != NO_VALUE]
        assert [low, high] == ([part.min(), part.max()] if len(part) else [NO_VALUE, NO_VALUE])


def test_a_decoded_beat_lies_at_the_place_that_it_was_decoded_from() -> None:
    from beatwire.backends.network import embed

    network = load_model().network
    place = np.array([[-0.6, 0.8], [2.0, 0.5], [3.5, 0.0]])
    windows = decoded(network, place)
    latents, _ = embed(network, windows, np.ones(len(windows), np.float32))
    assert np.abs(latents @ network.map - place).max() < 0.6


SIGNAL = np.zeros((1, 1000), np.int16)


def test_an_episode_ends_when_its_condition_does() -> None:
    first = {"rule": "asystole", "priority": "high", "technical": False, "text": "t", "onset": 10}
    alerts = [
        {**first, "id": "a", "state": "on", "decided": 20},
        {**first, "id": "a", "state": "latched", "decided": 30},
        {**first, "id": "a", "state": "off", "decided": 900},
        {**first, "id": "b", "state": "on", "decided": 50, "onset": 5},
    ]
    assert [(e.onset, e.decided, e.end) for e in episodes_of(alerts, SIGNAL)] == [(5, 50, None), (10, 20, 30)]


def test_an_alert_whose_priority_rises_is_one_episode_of_the_highest() -> None:
    one = {"rule": "cannot analyse", "technical": True, "state": "on"}
    alerts = [
        one | {"id": "a", "priority": "medium", "text": "10 s", "onset": 10, "decided": 10},
        one | {"id": "a", "priority": "medium", "text": "ended", "onset": 10, "decided": 30, "state": "off"},
        one | {"id": "b", "priority": "high", "text": "30 s", "onset": 30, "decided": 30},
        one | {"id": "b", "priority": "high", "text": "ended", "onset": 30, "decided": 70, "state": "off"},
        one | {"id": "c", "priority": "medium", "text": "10 s", "onset": 90, "decided": 90},
    ]
    found = [(e.priority, e.text, e.onset, e.end) for e in episodes_of(alerts, SIGNAL)]
    assert found == [("high", "30 s", 10, 70), ("medium", "10 s", 90, None)]


def test_an_alert_that_a_gap_ends_has_ended_before_the_gap() -> None:
    one = {"rule": "tachycardia", "priority": "medium", "technical": False, "text": "t"}
    alerts = [
        one | {"id": "a", "state": "on", "onset": 100, "decided": 100},
        one | {"id": "a", "state": "off", "onset": 100, "decided": 600},
        one | {"id": "b", "state": "on", "onset": 700, "decided": 700},
    ]
    samples = np.zeros((2, 1000), np.int16)
    samples[:, 200:600] = samples[:, 900:] = NO_VALUE
    samples[0, 300] = samples[1, 950] = 1  # for a sample
    assert [(e.onset, e.end) for e in episodes_of(alerts, samples)] == [(100, 301), (700, 951)]
    samples[:, 300] = samples[:, 950] = NO_VALUE
    assert [(e.onset, e.end) for e in episodes_of(alerts, samples)] == [(100, 200), (700, 900)]


def made_up(hours: float, alerts: int) -> Any:
    """A study of a long recording without a signal: a beat each second, and alerts in equal distances."""
    recording = Recording("long", 50.0, ("II",), 5.0, np.zeros((1, round(hours * 180_000)), np.int16))
    sample = np.arange(100, recording.samples.shape[1], 50)
    beats = {
        "sample": sample, "rr_ms": np.full(len(sample), 1000.0), "rate_bpm": np.full(len(sample), 60.0),
        "score": np.full(len(sample), 0.5), "quality": np.ones(len(sample)),
        "beat_class": np.where(np.arange(len(sample)) % 100 == 0, "V", "N"),
        "time_s": sample / 50.0, "expected_errors": np.zeros(len(sample)),
    }  # fmt: skip
    beats["rr_ms"][[10, 5000]] = 3500.0
    one = {"rule": "pause", "priority": "medium", "technical": False, "text": "pause", "state": "on"}
    onset = np.linspace(0, recording.samples.shape[1] - 1, alerts).astype(int).tolist()
    raised = [one | {"id": str(k), "onset": at, "decided": at} for k, at in enumerate(onset)]
    return study_of(recording, Analysis(beats, raised, {}, "none"), load_model(), None)


def test_hours_count_beats_classes_pauses_and_alerts_once() -> None:
    study = made_up(2.5, alerts=9)
    hours = hours_of(study)
    assert [h.first_s for h in hours] == [0, 3600, 7200]
    assert sum(h.beats for h in hours) == len(study.sample)
    assert sum(h.marked["V"] for h in hours) == (study.beats["beat_class"] == "V").sum() > 80
    assert [h.pauses for h in hours] == [1, 1, 0]
    assert sum(h.alerts for h in hours) == 9
    assert {h.mean_bpm for h in hours[2:]} == {60.0}


def test_strips_of_one_kind_are_limited_and_the_rest_is_counted() -> None:
    kinds = {kind.name: kind for kind in kinds_of(made_up(1.5, alerts=40))}
    assert (len(kinds["Alert: pause"].events), kinds["Alert: pause"].total) == (PER_KIND, 40)
    assert kinds["Class V, ventricular"].total > PER_KIND == len(kinds["Class V, ventricular"].events)


def test_the_alerts_that_the_table_leaves_out_are_named_by_rule_before_it() -> None:
    study = made_up(1.5, alerts=MOST_ALERTS)
    assert "Left out" not in sections.alerts(study, kinds_of(study))
    study = made_up(1.5, alerts=MOST_ALERTS + 50)
    couplets = {k: replace(study.episodes[k], rule="couplet", priority="low") for k in range(9, 60, 2)}
    study = replace(study, episodes=tuple(couplets.get(k, e) for k, e in enumerate(study.episodes)))
    text = sections.alerts(study, kinds_of(study))
    note, rows = text.split("<table>")
    assert "100 of 150 alerts, those with a strip first, then by priority. Left out: pause 30, couplet 20. " in note
    assert rows.count("<tr>") == 1 + MOST_ALERTS


def test_a_recording_without_eight_intervals_says_why_it_has_no_lowest_and_highest_rate() -> None:
    study = made_up(1.5, alerts=0)
    why = "no beat with eight intervals and good signal"
    assert why not in sections.summary(study, hours_of(study), {"good": 1.0, "with_signal": 0.51234}, [])
    study.beats["expected_errors"][:] = 2.0
    quality = {"good": None, "with_signal": 0.51234}
    head = sections.summary(study, hours_of(study), quality, None)
    assert "51.2" in head
    assert head.count(why) == 2
    assert "no rate of good signal" in head
    assert "too short to say" in head
    hours = sections.hourly(study, hours_of(study), quality)
    assert "of poor signal too" in hours
    assert "51.2" in hours.split("<tr>")[-1]


@given(size=st.integers(-300, 600).filter(lambda k: abs(k) > 20), is_one=st.booleans())
def test_the_most_unusual_beats_lie_on_their_paper(size: int, is_one: bool) -> None:
    study = made_up(1.5, alerts=0)
    for k, at in enumerate(study.sample.tolist()):
        strange = k % 400 == 10
        study.beats["score"][k] = 5.0 if strange else 0.5
        study.recording.samples[0, at - 2 : at + 3] = size if strange and not is_one else 200
        if k == 10 and is_one:  # few samples among those of all beats
            study.recording.samples[0, at : at + 2] = size
    drawn = unusual_beats(study, scale_of(study))
    height = float(re.findall(r'class="paper" width="40.0mm" viewBox="0 0 40.0 (\d+)"', drawn)[0])
    traces = re.findall(r'<path class="ecg" transform="scale\(.01\)" d="M([^"]+)"', drawn)
    assert len(traces) == 12
    for one in traces:
        y = np.array(one.split()[1::2], float) / 100
        assert 0 <= y.min() < y.max() <= height


@pytest.mark.parametrize(("at", "x"), [(0, 1.1), (75, 37.5), (374, 186.4)])
def test_the_mark_of_a_beat_at_the_edge_of_a_strip_is_not_cut(at: int, x: float) -> None:
    study = made_up(1.5, alerts=0)  # the beat at sample 5100 is ventricular
    (drawn,) = Strips(study, scale_of(study)).draw([Event("Beat", 5100, 5100 - at, 1)])
    assert re.findall(r"""<text x="([\d.]+)" y="[\d.]+" class='kind'>V<""", drawn) == [f"{x:.2f}"]


def test_the_annotations_of_a_record_are_read_and_a_file_that_is_none_gives_a_note(tmp_path: Path) -> None:
    write_record(tmp_path, "beats", symbols=["V", *["N"] * (len(BEATS) - 1)], extra=[(50, "+", "(AFIB")])
    write_record(tmp_path, "broken")
    (tmp_path / "broken.atr").write_bytes(b"?")
    notes: list[str] = []

    def read(name: str) -> AnnotatedRecord | None:
        source = str(tmp_path / name)
        return annotations_of(source, read_recording(source), notes.append)

    found = read("beats.hea")
    assert found is not None
    assert (found.beat.tolist(), found.beat_class[:2]) == (BEATS.tolist(), ("V", "N"))
    assert [rhythm.name for rhythm in found.rhythms] == ["AFIB"]
    assert notes == []
    assert read("broken") is None
    assert len(notes) == 1
    assert notes[0].startswith("report without annotations: broken.atr: ")


@given(st.text(min_size=1))
def test_no_name_of_a_file_or_lead_changes_the_page_or_the_text_around_it(name: str) -> None:
    shown = escape(f"{name}\x1b[2J\u202e</script>")
    assert shown.isprintable()
    assert not re.search("[<>\"']", shown)
    assert re.fullmatch(r"(?:[^&]|&(?:amp|lt|gt|quot|#x27);)*", shown)


@given(st.lists(st.floats(200, 20_000), min_size=2, max_size=30))
def test_every_interval_is_in_the_tachogram(rr_ms: list[float]) -> None:
    rr = np.array([np.nan, *rr_ms])
    group = SimpleNamespace(rows=np.arange(len(rr)), colour="black")
    time_s = np.arange(float(len(rr)))
    study: Any = SimpleNamespace(rr_ms=rr, recording=SimpleNamespace(seconds=60.0), groups=[group], time_s=time_s)
    figure = axes.tachogram_figure(study)
    shown = figure.renderers[0].data_source.data["y"][1:]
    assert (shown < figure.y_range.end).all()
    np.testing.assert_allclose(shown, np.minimum(rr_ms, 5000.0), rtol=1e-6)
    assert ("5000 and more" in figure.yaxis[0].axis_label) == (max(rr_ms) > 5000)
