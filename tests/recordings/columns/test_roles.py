"""Roles of columns: what rises evenly is a clock or a count whatever its name, and never a lead."""

from collections.abc import Callable

import numpy as np
import pytest
from beatwire.errors import UserError
from beatwire.recordings.columns.behaviour import Behaviour, behaviour
from beatwire.recordings.columns.count import positions_of
from beatwire.recordings.columns.evenrate import rate_and_positions
from beatwire.recordings.columns.roles import Table, roles_of
from beatwire.recordings.columns.timecolumn import times_of
from beatwire.recordings.synthetic.person import synthetic_recording
from beatwire.records import F64
from hypothesis import example, given, settings
from hypothesis import strategies as st

RATES = (125.0, 128.0, 200.0, 250.0, 360.0, 500.0, 512.0, 1000.0)
Clock = Callable[[F64, np.random.Generator], F64]
CLOCKS: dict[str, Clock] = {
    "exact": lambda t, _: t,
    "from an offset": lambda t, _: t + 12.345,
    "of the epoch": lambda t, _: t + 1.782e9,
    "in milliseconds": lambda t, _: t * 1e3,
    "in nanoseconds of the epoch": lambda t, _: np.rint((t + 1.782e9) * 1e9),
    "rounded to milliseconds": lambda t, _: np.round(t, 3),
    "rounded to 10 ms": lambda t, _: np.floor(t * 100 + 1e-6) / 100,
    "in whole seconds": lambda t, _: np.floor(t + 0.3),
    "with a jitter of 2 ms": lambda t, rng: t + rng.uniform(-0.002, 0.002, len(t)),
    "late at times": lambda t, rng: np.maximum.accumulate(t + rng.choice((0.0, 0.0, 0.0, 0.007), len(t))),
    "of the arrival of packets of 10": lambda t, _: t - (np.arange(len(t)) % 10) * (t[1] - t[0]) * 0.98,
    "of packets of 73 that are written at once": lambda t, _: (
        (np.arange(len(t)) // 73 + 1) * 73 * (t[1] - t[0]) + np.arange(len(t)) % 73 * 1e-5
    ),
    "through midnight": lambda t, _: (86390.0 + t) % 86400.0,
    "in milliseconds of the second": lambda t, _: np.floor(t * 1e3 + 0.5) % 1000,
}
COUNTS: dict[str, Callable[[int], F64]] = {
    "from 0": lambda n: np.arange(float(n)),
    "from 1": lambda n: np.arange(1.0, n + 1),
    "0-15": lambda n: np.arange(float(n)) % 16,
    "1-4": lambda n: np.arange(float(n)) % 4 + 1,
    "0-255, from 77": lambda n: (np.arange(float(n)) + 77) % 256,
}
NAMES = ("time", "t", "", "x", "A", "ECG", "II", "value", "0", "seconds_elapsed", "counter", "foo [bar]", "Zeit")


def ecg_of(rate_hz: float, seconds: float, seed: int) -> F64:
    recording = synthetic_recording(f"synthetic:seconds={seconds:g},seed={seed}", rate_hz=rate_hz)
    return recording.samples[0] * recording.uv_per_unit / 1000.0


@settings(deadline=None)
@given(
    st.sampled_from(sorted(CLOCKS)), st.sampled_from(sorted(COUNTS)), st.sampled_from(RATES),
    st.permutations(("clock", "count", "ecg")), st.permutations(NAMES), st.integers(0, 3),
)  # fmt: skip
@example("exact", "0-15", 200.0, ["clock", "count", "ecg"], ["time_sec", "nSeq", "A1"], 0)
def test_a_column_that_rises_evenly_is_no_lead_whatever_its_name_and_gives_the_rate(
    clock: str, count: str, rate_hz: float, order: list[str], names: list[str], seed: int
) -> None:
    ecg = ecg_of(rate_hz, 20, seed)
    n = len(ecg)
    times = CLOCKS[clock](np.arange(n) / rate_hz, np.random.default_rng(seed))
    columns = {"clock": times, "count": COUNTS[count](n), "ecg": ecg}
    table = Table(tuple(names[:3]), [columns[c] for c in order])
    roles = roles_of("x", table)
    assert roles.leads == (order.index("ecg"),)
    if roles.clock is not None and not (rate_hz == 1000.0 or "of the second" in clock):
        assert roles.clock == order.index("clock")
        found = times_of("x", table.columns[roles.clock], names[roles.clock], "", None)
        assert found is not None
        found_hz, position, _ = rate_and_positions("x", "t", found.seconds, None)
        assert found_hz == pytest.approx(rate_hz, rel=1e-3)
        assert position is None


@settings(deadline=None)
@given(
    st.sampled_from((*RATES, 60.0, 62.5, 133.33, 173.61, 977.0)), st.floats(0.4, 1.5), st.integers(0, 3),
    st.sampled_from((1.0, 100.0, 360.0, 2 * np.pi)), st.sampled_from(("cycle", "x", "", "value", "2", "angle")),
    st.sampled_from((None, "count", "clock")),
)  # fmt: skip
def test_the_phase_of_a_heartbeat_is_no_clock_whatever_its_name(
    rate_hz: float, period_s: float, digits: int, whole: float, name: str, other: str | None
) -> None:
    n = round(20 * rate_hz)
    t = np.arange(n) / rate_hz
    phase = np.round(whole * (t % period_s) / period_s, digits + 2)
    beside = {None: [], "count": [np.arange(n) * 1.0], "clock": [t]}[other]
    names = {None: (), "count": ("n",), "clock": ("time",)}[other]
    roles = roles_of("x", Table((*names, "ECG", name), [*beside, ecg_of(rate_hz, 20, 0)[:n], phase]))
    assert (roles.leads, roles.clock) == ((len(beside),), 0 if other == "clock" else None)


@settings(deadline=None)
@given(st.sampled_from(RATES), st.integers(0, 5), st.sampled_from((1.0, 1000.0, 200.0)), st.floats(-0.2, 0.2))
def test_an_ecg_is_a_signal_also_with_drift_offset_and_any_scale(
    rate_hz: float, seed: int, scale: float, drift: float
) -> None:
    ecg = ecg_of(rate_hz, 20, seed)
    assert behaviour((ecg + np.arange(len(ecg)) / rate_hz * drift + 300.0) * scale) is Behaviour.SIGNAL
    assert behaviour(np.rint(ecg * scale * 100)) is Behaviour.SIGNAL


@settings(deadline=None)
@given(st.sampled_from(RATES), st.integers(0, 1000), st.sampled_from(("exact", "rounded to milliseconds")))
@example(512.0, 118, "rounded to milliseconds")  # every 32nd: 504 Hz fits half of the gaps
def test_samples_that_are_missing_are_gaps_of_their_length_at_their_place(
    rate_hz: float, seed: int, clock: str
) -> None:
    rng = np.random.default_rng(seed)
    n = round(30 * rate_hz)
    kept = np.ones(n, bool)
    for at in rng.integers(20, n - 60, 5):
        kept[at : at + rng.integers(1, 30)] = False
    kept[:: rng.integers(30, 80)] = False
    kept[-20:] = True  # among the last rows a late one cannot be told from a gap
    truth = np.flatnonzero(kept) - np.flatnonzero(kept)[0]
    found_hz, position, _ = rate_and_positions("x", "t", CLOCKS[clock](np.arange(n) / rate_hz, rng)[kept], None)
    assert found_hz == rate_hz
    assert position is not None
    assert np.abs(position - truth).max() <= (0 if clock == "exact" else 2)
    for count in ("from 0", "0-255, from 77"):
        counted = positions_of("n", COUNTS[count](n)[kept]).position
        assert counted is not None
        assert np.array_equal(counted, truth)


def test_names_are_a_preference_among_signals() -> None:
    ecg, other = ecg_of(250.0, 10, 0), ecg_of(250.0, 10, 1)
    for names, lead in (
        (("acc_x", "value"), 1), (("value", "ECG"), 1), (("II", "HR (bpm)"), 0), (("Battery (V)", "chest (mV)"), 1),
        (("D2", "x"), 0), (("RA-LL", "x"), 0), (("ML2", "x"), 0), (("CB5", "x"), 0), (("L1", "x"), 0),
        (("resp", "x"), 1), (("V5", "label"), 0), (("temperature", "ECG_Raw"), 1), (("x", "y (uV)"), 1),
    ):  # fmt: skip
        roles = roles_of("x", Table(names, [ecg, other]))
        assert roles.leads == (lead,)
        assert roles.notes(names)[0].startswith(f"left out: {names[1 - lead]!r} (")
    assert roles_of("x", Table(("I", "V1"), [ecg, other])).leads == (0, 1)
    assert roles_of("x", Table(("a", "b"), [ecg, other])).leads == (0, 1)
    assert roles_of("x", Table(("ch4 (mV)", "ch5 (mV)"), [ecg, other])).leads == (0, 1)
    assert roles_of("x", Table(("HR", "II"), [ecg, other]), column="HR").leads == (0,)


@given(
    rises=st.lists(st.integers(0, 2499), min_size=1, max_size=900), is_first=st.booleans(),
    step=st.sampled_from([1.0, 0.1, 0.001]), name=st.sampled_from(["HR", "bpm", "temp", "resp", "SpO2", "acc_x"]),
)  # fmt: skip
def test_another_quantity_that_only_rises_is_no_clock(rises: list[int], is_first: bool, step: float, name: str) -> None:
    slow = 36.5 + step * np.searchsorted(sorted(rises), np.arange(2500), "right")
    columns = [ecg_of(250.0, 10, 0), slow]
    names, columns = ((name, "ecg"), columns[::-1]) if is_first else (("ecg", name), columns)
    roles = roles_of("x", Table(names, columns))
    assert (roles.clock, roles.count, roles.leads) == (None, None, (int(is_first),))


@pytest.mark.parametrize("gone", [slice(0, 60), slice(450, 452), slice(840, 900)])
@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_what_is_infinite_for_a_while_is_no_value_and_no_warning(gone: slice, value: float) -> None:
    counts = np.repeat(np.arange(300.0) % 16, 3)
    for column in (np.sin(np.arange(900) / 9), counts):
        column[gone] = value
        assert behaviour(column) is not Behaviour.EMPTY


def test_columns_without_values_of_one_value_or_of_rare_changes_are_left_out() -> None:
    ecg = ecg_of(250.0, 10, 0)
    still, rare, nothing = np.full(len(ecg), 3.0), np.floor(np.arange(len(ecg)) / 700) % 2, np.full(len(ecg), np.nan)
    roles = roles_of("x", Table(("a", "b", "c", "d"), [still, ecg, rare, nothing]))
    assert roles.leads == (1,)
    assert roles.left_out == {0: "constant", 2: "changes rarely", 3: "no value"}
    assert roles_of("x", Table(("I", "II"), [still, ecg])).leads == (0, 1)


def test_a_table_without_an_ecg_is_refused_and_so_is_a_clock_as_a_lead() -> None:
    ecg, t = ecg_of(250.0, 10, 0), np.arange(2500) / 250.0
    with pytest.raises(UserError, match=r"x: expected a column of ECG; column 'HR' is none \(another quantity"):
        roles_of("x", Table(("time", "HR"), [t, ecg]))
    with pytest.raises(UserError, match="x: expected a column of ECG; column 'II' rises evenly: a clock"):
        roles_of("x", Table(("II", "V"), [t, ecg]), column="II")


@settings(deadline=None)
@given(
    named=st.sampled_from((("II", "V5"), ("ECG", "ECG2"), ("value", "signal"))), seed=st.integers(0, 3),
    other=st.sampled_from((
        "ST-II", "ST_V5", "ST V1 (mm)", "QTc II", "PR_II", "VBAT (V)", "Vbat", "Supply (V)", "Vref (mV)", "ax", "aY",
        "Gz", "EDR", "ECG_Pace", "Flow (L/s)", "LO+", "ecg_lo_p",
    )),
    kind=st.sampled_from(("wave", "noise", "steps", "drift")), first=st.booleans(),
)  # fmt: skip
@example(("value", "signal"), 0, "VBAT (V)", "drift", False)
@example(("II", "V5"), 0, "ST-II", "steps", False)
def test_what_is_derived_from_an_ecg_or_measured_beside_it_is_no_lead(
    named: tuple[str, str], seed: int, other: str, kind: str, first: bool
) -> None:
    ecg, rng = ecg_of(250.0, 20, seed), np.random.default_rng(seed)
    t = np.arange(len(ecg)) / 250.0
    beside = {
        "wave": np.sin(3 * t),
        "noise": rng.normal(size=len(t)),
        "steps": np.round(rng.normal(size=99), 1)[(t // 2).astype(int)],
        "drift": np.round(3.7 - t / 1000 + 0.001 * rng.normal(size=len(t)), 3),
    }[kind]
    names, columns = ("time", *named, other), [t, ecg, -ecg, beside]
    order = [3, 0, 1, 2] if first else [0, 1, 2, 3]
    roles = roles_of("x", Table(tuple(names[k] for k in order), [columns[k] for k in order]))
    assert [order[k] for k in roles.leads] == [1, 2]


@pytest.mark.parametrize("name", ["ecg_gain", "II offset", "ECG range (mV)", "V5_scale"])
def test_a_setting_that_never_changes_is_no_lead_and_one_that_changes_is_a_column(name: str) -> None:
    ecg = ecg_of(250.0, 20, 0)
    t = np.arange(len(ecg)) / 250.0
    assert roles_of("x", Table(("time", "II", name), [t, ecg, np.full(len(t), 200.0)])).leads == (1,)
    assert roles_of("x", Table(("time", "II", name), [t, ecg, -ecg])).leads == (1, 2)
