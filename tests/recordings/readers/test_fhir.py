"""SampledData of FHIR: rate, scale, leads and missing samples of a known ECG."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from beatwire.recordings import read_blocks, read_recording
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st
from sources import heart, message_of

RATE_HZ = 250.0
MV = np.stack([heart(RATE_HZ, seconds=8), -heart(RATE_HZ, seconds=8), heart(RATE_HZ, seconds=8) / 2])
LEADS = [("MDC_ECG_LEAD_I", "131329"), ("MDC_ECG_ELEC_POTL_V1", "131331"), ("MDC_ECG_LEAD_aVR", "131390")]
NAMES = ("I", "V1", "aVR")
CLOCKS: list[dict[str, Any]] = [
    {"period": 4}, {"interval": 4, "intervalUnit": "ms"}, {"interval": 250, "intervalUnit": "Hz"},
    {"interval": 4000, "intervalUnit": "us"},
]  # fmt: skip
UNITS = {"mV": 1.0, "uV": 1000.0, "V": 0.001}


def sampled(mv: np.ndarray, unit: str, factor: float, zero: float, clock: dict[str, Any]) -> dict[str, Any]:
    """Return SampledData whose steps are ``factor`` microvolts; ``zero`` is the origin in millivolts."""
    per = UNITS[unit] * factor / 1000
    counts = np.rint((mv - zero) * UNITS[unit] / per).astype(int)
    data = " ".join(map(str, counts.T.reshape(-1)))
    origin, dimensions = {"value": zero * UNITS[unit], "code": unit}, 1 if mv.ndim == 1 else len(mv)
    return {"origin": origin, "factor": per, "dimensions": dimensions, "data": data} | clock


def observation(elements: list[dict[str, Any]], *, coded: bool = False) -> dict[str, Any]:
    codes = [{"coding": [{"code": code} if coded else {"code": "x", "display": text}]} for text, code in LEADS]
    components = [{"code": c, "valueSampledData": e} for c, e in zip(codes, elements, strict=False)]
    return {"resourceType": "Observation", "id": "ekg", "effectiveDateTime": "2026-03-05", "component": components}


@settings(max_examples=draws(40), deadline=None)
@given(
    units=st.lists(st.sampled_from(list(UNITS)), min_size=3, max_size=3),
    factors=st.lists(st.sampled_from([0.5, 1.0, -1.0, 2.5]), min_size=3, max_size=3),
    zero=st.sampled_from([0.0, -2.048, 0.3]), clock=st.sampled_from(CLOCKS), coded=st.booleans(),
    shape=st.sampled_from(["observation", "bundle", "bundle of leads"]),
)  # fmt: skip
def test_leads_have_the_rate_and_the_scale_that_each_states(
    units: list[str], factors: list[float], zero: float, clock: dict[str, Any], coded: bool, shape: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:  # fmt: skip
    path = tmp_path_factory.getbasetemp() / "fhir.json"
    elements = [sampled(mv, unit, by, zero, clock) for mv, unit, by in zip(MV, units, factors, strict=True)]
    one: Any = observation(elements, coded=coded)
    if shape != "observation":
        parts = one["component"] if shape == "bundle of leads" else [one]
        parts = [{"resourceType": "Observation", "effectiveDateTime": "2026-03-05"} | part for part in parts]
        one = {"resourceType": "Bundle", "entry": [{"resource": {"resourceType": "Patient", "id": "p"}}]}
        one["entry"] += [{"resource": part} for part in parts]
    path.write_text(json.dumps(one))
    recording = read_recording(path)
    assert (recording.rate_hz, recording.leads) == (RATE_HZ, NAMES)
    got = recording.samples * recording.uv_per_unit / 1000
    expected = MV - np.median(MV - got, axis=1, keepdims=True)  # a scale may subtract an offset, and says so
    assert np.abs(got - expected).max() < 0.003
    joined = np.concatenate([block.samples for block in read_blocks(path, samples=2000)], axis=1)
    assert np.array_equal(joined, recording.samples)


def test_dimensions_are_leads_and_codes_are_no_values(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    one = sampled(MV, "uV", 1.0, 0.0, {"period": 4})
    one["data"] = " ".join(["E", "U", "L", *one["data"].split()[3:]])
    path.write_text(json.dumps({"resourceType": "Observation", "valueSampledData": one}))
    recording = read_recording(path)
    assert recording.leads == ("lead 0", "lead 1", "lead 2")
    assert (recording.samples[:, 0] == -32768).all()
    np.testing.assert_allclose(recording.samples[:, 1:] / 1000, MV[:, 1:], atol=0.001)


ONE = sampled(MV[0], "mV", 1.0, 0.0, {"period": 4})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"period": None}, "expected a number as period; got 'None'"),
        ({"period": 0}, "expected an interval in a unit of time or in Hz; got 0 'ms'"),
        ({"interval": 2, "intervalUnit": "ms"}, "expected one rate; got 250 Hz by its period, 500 Hz by its interval"),
        ({"dimensions": 3}, "expected 3 dimensions and a factor; got 2000 numbers"),
        ({"data": "1 2 x"}, "expected numbers, E, U or L; got: could not convert"),
        ({"data": None}, "expected data as a text of numbers; got NoneType"),
        ({"factor": "a"}, "expected a number as factor; got 'a'"),
        ({"offsets": "1 2"}, "expected samples at even intervals; got offsets"),
    ],
)
def test_damaged_samples_are_one_line(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps({"resourceType": "Observation", "valueSampledData": ONE | change}))
    assert message_of(path).startswith(f"x.json: SampledData: {message}")


def test_a_rate_may_be_given_and_two_recordings_or_pieces_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    alone = {key: value for key, value in ONE.items() if key != "period"}
    path.write_text(json.dumps({"resourceType": "Observation", "valueSampledData": alone}))
    assert message_of(path) == "x.json: SampledData: expected a period or an interval; got none: give --fs, in Hz"
    assert read_recording(path, fs=250).rate_hz == RATE_HZ
    path.write_text(json.dumps({"resourceType": "Bundle", "entry": [{"resource": observation([ONE])}] * 2}))
    assert message_of(path).startswith("x.json: expected one recording; got 2 resources with samples, ekg, ekg: save")
    twice = observation([ONE, ONE])
    twice["component"][1]["code"] = twice["component"][0]["code"]
    path.write_text(json.dumps(twice))
    assert message_of(path) == "x.json: expected the samples of a lead one after the other; got several of 'I'"


OTHERS = ["MDC_PULS_OXIM_PLETH", "MDC_RESP", "MDC_PRESS_BLD_ART_ABP", "MDC_EEG_ELEC_POTL_CRTX", "MDC_TEMP_SKIN"]


@settings(max_examples=draws(25), deadline=None)
@given(
    other=st.sampled_from(OTHERS), key=st.sampled_from(["code", "display"]), unit=st.sampled_from(["mV", "1", "%"]),
    at=st.integers(0, 3), seed=st.integers(0, 99),
)  # fmt: skip
def test_what_a_code_calls_another_signal_is_no_lead_alone_or_beside_some(
    other: str, key: str, unit: str, at: int, seed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / "others.json"
    values = np.random.default_rng(seed).uniform(-1, 1, MV.shape[1])
    element = sampled(values, "mV", 1.0, 0.0, {"period": 4})
    element["origin"]["code"] = unit
    part = {"code": {"coding": [{key: other}]}, "valueSampledData": element}
    path.write_text(json.dumps({"resourceType": "Observation"} | part))
    assert message_of(path).startswith(f"others.json: expected a lead in volts; got {other}")
    one = observation([sampled(mv, "mV", 1.0, 0.0, {"period": 4}) for mv in MV])
    one["component"].insert(at, part)
    path.write_text(json.dumps(one))
    recording = read_recording(path)
    assert (recording.leads, recording.notes) == (NAMES, (f"left out: {other}",))


@settings(max_examples=draws(25), deadline=None)
@given(
    key=st.sampled_from(["effectiveDateTime", "effectiveInstant", "effectivePeriod", "effectiveTiming", "subject"]),
    differ=st.booleans(), lines=st.booleans(),
)  # fmt: skip
def test_leads_in_several_observations_are_one_recording_if_they_are_of_one_time_and_one_subject(
    key: str, differ: bool, lines: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / "parts.json"
    values = {
        "effectivePeriod": [{"start": "2026-03-05"}, {"start": "2026-03-06"}],
        "subject": [{"reference": "Patient/1"}, {"reference": "Patient/2"}],
        "effectiveTiming": [{"event": ["2026-03-05"]}, {"event": ["2026-03-06"]}],
    }.get(key, ["2026-03-05T10:00:00Z", "2026-03-05T11:00:00Z"])  # fmt: skip
    parts = observation([sampled(mv, "mV", 1.0, 0.0, {"period": 4}) for mv in MV])["component"]
    made = [{"resourceType": "Observation", key: values[differ and k == 2]} | part for k, part in enumerate(parts)]
    bundle = json.dumps({"resourceType": "Bundle", "entry": [{"resource": one} for one in made]})
    path.write_text("\n".join(map(json.dumps, made)) if lines else bundle)
    if differ:
        assert message_of(path).startswith("parts.json: expected one recording; got 3 resources with samples")
    else:
        assert read_recording(path).leads == NAMES


@settings(max_examples=draws(20), deadline=None)
@given(apart=st.integers(86_400_001, 2**31 - 1), is_before=st.booleans())
def test_leads_that_begin_more_than_a_day_apart_are_no_recording(
    apart: int, is_before: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    one = observation([sampled(mv, "mV", 1.0, 0.0, {"period": 4}) for mv in MV[:2]])
    for part, offset in zip(one["component"], (0, -apart if is_before else apart), strict=True):
        part["extension"] = [{"url": "x/observation-timeOffset", "valueInteger": offset}]
    path = tmp_path_factory.getbasetemp() / "apart.json"
    path.write_text(json.dumps(one))
    assert f"expected gaps shorter than a day; got {apart / 1000:.0f} s without a sample of" in message_of(path)


@settings(max_examples=draws(25), deadline=None)
@given(
    offsets=st.lists(st.integers(0, 900).map(lambda k: 4 * k), min_size=3, max_size=3), inside=st.booleans(),
    end=st.sampled_from(["observation-timeOffset", "observation-time-offset"]),
)  # fmt: skip
def test_leads_that_were_recorded_one_after_the_other_are_at_their_times(
    offsets: list[int], inside: bool, end: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / "later.json"
    one = observation([sampled(mv, "mV", 1.0, 0.0, {"period": 4}) for mv in MV])
    for part, offset in zip(one["component"], offsets, strict=True):
        url = f"http://hl7.org/fhir/StructureDefinition/{end}"
        (part["valueSampledData"] if inside else part)["extension"] = [{"url": url, "valueInteger": offset}]
    path.write_text(json.dumps(one))
    recording = read_recording(path)
    first = (np.array(offsets) - min(offsets)) // 4
    assert recording.samples.shape == (3, MV.shape[1] + max(first))
    for mv, lead, at in zip(MV, recording.samples, first, strict=True):
        assert np.abs(lead[at : at + len(mv)] * recording.uv_per_unit / 1000 - mv).max() < 0.003
        assert (np.delete(lead, np.s_[at : at + len(mv)]) == -32768).all()


def pieces_of(lengths: list[int], gaps: list[int]) -> list[tuple[int, int]]:
    """Return begin and end of pieces with gaps between them, in samples, within those of ``MV``."""
    ends = np.cumsum([length + gap for length, gap in zip(lengths, gaps, strict=False)])
    return [(int(end) - length - gap, int(end) - gap) for end, length, gap in zip(ends, lengths, gaps, strict=False)]


PIECES = st.lists(st.integers(60, 400), min_size=1, max_size=4)
GAPS = st.lists(st.sampled_from([0, 0, 1, 25, 99]), min_size=4, max_size=4)


@settings(max_examples=draws(40), deadline=None)
@given(
    lengths=PIECES, gaps=GAPS, leads=st.integers(1, 3), order=st.randoms(use_true_random=False),
    by=st.sampled_from(["offset", "effectiveInstant", "effectivePeriod", "effectiveDateTime"]), lines=st.booleans(),
    zone=st.sampled_from(["Z", "+05:30"]),
)  # fmt: skip
def test_pieces_of_a_lead_are_at_their_times_whatever_states_these(
    lengths: list[int], gaps: list[int], leads: int, order: Any, by: str, lines: bool, zone: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:  # fmt: skip
    path, pieces, resources = tmp_path_factory.getbasetemp() / "pieces.json", pieces_of(lengths, gaps), []
    for begin, end in pieces:
        one = observation([sampled(mv[begin:end], "mV", 1.0, 0.0, {"period": 4}) for mv in MV[:leads]])
        at = f"2026-03-05T10:00:{4 * begin / 1000:06.3f}{zone}"
        one |= {} if by == "offset" else {by: {"start": at} if by == "effectivePeriod" else at}
        if by in ("effectiveInstant", "effectivePeriod"):
            del one["effectiveDateTime"]
        for part in one["component"] if by == "offset" else []:
            part["extension"] = [{"url": "x/observation-timeOffset", "valueInteger": 4 * begin}]
        resources.append(one)
    order.shuffle(resources)
    if by == "offset":
        parts = [part for one in resources for part in one["component"]]
        resources = [resources[0] | {"component": parts}]
    bundle = json.dumps({"resourceType": "Bundle", "entry": [{"resource": one} for one in resources]})
    path.write_text("\n".join(map(json.dumps, resources)) if lines else bundle)
    recording = read_recording(path)
    assert (recording.leads, recording.samples.shape) == (NAMES[:leads], (leads, pieces[-1][1]))
    held = np.zeros(pieces[-1][1], bool)
    for begin, end in pieces:
        held[begin:end] = True
    assert ((recording.samples != -32768) == held).all()
    got = recording.samples[:, held] * recording.uv_per_unit / 1000
    assert np.abs(got - MV[:leads, : len(held)][:, held]).max() < 0.003
    said = (f"{len(pieces)} pieces of a lead, placed by their times",) if len(pieces) > 1 else ()
    assert recording.notes == said


@settings(max_examples=draws(25), deadline=None)
@given(seconds=st.lists(st.floats(3.0, 9.9), min_size=2, max_size=4), gap_s=st.integers(0, 3))
def test_pieces_whose_times_are_whole_seconds_follow_each_other(
    seconds: list[float], gap_s: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path, begin_s, resources, pieces = tmp_path_factory.getbasetemp() / "coarse.json", 0.4, [], []
    rng = np.random.default_rng(round(1000 * sum(seconds)))
    for each_s in seconds:
        pieces.append(rng.integers(-900, 900, round(250 * each_s)) / 1000)
        one = observation([sampled(pieces[-1], "mV", 1.0, 0.0, {"period": 4})])
        resources.append(one | {"effectiveDateTime": f"2026-03-05T10:00:{int(begin_s):02}Z"})
        begin_s += len(pieces[-1]) / 250 + gap_s
    path.write_text(json.dumps({"resourceType": "Bundle", "entry": [{"resource": one} for one in resources]}))
    recording = read_recording(path)
    assert recording.notes[0].endswith("placed by their times, which are whole seconds: less is no gap")
    known = recording.samples[0] != -32768
    np.testing.assert_allclose(recording.samples[0, known] / 1000, np.concatenate(pieces), atol=0.002)
    lost_s = (~known).sum() / 250
    assert lost_s == 0 if gap_s == 0 else abs(lost_s - gap_s * (len(pieces) - 1)) <= 1


def test_the_same_lead_of_two_times_is_no_recording_if_these_cannot_be_compared(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    for times in (["2026-03-05", "2026-03-06"], ["2026-03-05T10:00:00", "2026-03-05T10:00:08"],
                  ["2026-03-05T10:00:00Z", "2026-03-07T10:00:08Z"], ["2026-03-05T10:00:00Z", None]):  # fmt: skip
        made = [observation([ONE]) | {"effectiveDateTime": time} for time in times]
        path.write_text(json.dumps({"resourceType": "Bundle", "entry": [{"resource": one} for one in made]}))
        assert message_of(path).startswith("x.json: expected one recording; got 2 resources with samples")


@settings(max_examples=draws(25), deadline=None)
@given(lengths=st.lists(st.integers(60, 400), min_size=2, max_size=5), at=st.integers(0, 3), by=st.floats(0.1, 3000.0))
def test_a_gap_longer_than_all_samples_parts_two_recordings(
    lengths: list[int], at: int, by: float, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path, begin, resources = tmp_path_factory.getbasetemp() / "days.json", 0, []
    gap, at = round(by * sum(lengths)), at % (len(lengths) - 1)
    for k, length in enumerate(lengths):
        time = (datetime(2026, 3, 5, tzinfo=UTC) + timedelta(milliseconds=4 * begin)).isoformat(timespec="milliseconds")
        resources.append(
            observation([sampled(MV[0, :length], "mV", 1.0, 0.0, {"period": 4})]) | {"effectiveDateTime": time}
        )
        begin += length + gap * (k == at)
    path.write_text(json.dumps({"resourceType": "Bundle", "entry": [{"resource": one} for one in resources]}))
    if gap > sum(lengths):
        assert message_of(path).startswith(f"days.json: expected one recording; got {len(lengths)} resources")
    else:
        assert read_recording(path).samples.shape[1] == sum(lengths) + gap
