"""Live and iterate decide what analyze decides, in chunks of any length."""

from pathlib import Path

import beatwire
import numpy as np
import pandas as pd
import pytest
from beatwire.recordings import NO_VALUE
from beatwire.recordings.synthetic.person import synthesise
from two_leads import FS, assert_same, two_leads_fixture, whole_fixture  # noqa: F401  fixtures


@pytest.mark.parametrize("chunk", [pytest.param(1, marks=pytest.mark.slow), 37, 50, 20_000])
def test_live_decides_what_analyze_decides(chunk: int, samples: np.ndarray, whole: beatwire.Result) -> None:
    n = 15_000 if chunk > 1 else 2_000
    beats, alerts = [], []
    with beatwire.Live(FS, ["II", "V1"], gain=200, start_s=1e9, stream="analyze") as live:
        for first in range(0, n, chunk):
            events = live.push(samples[:, first : first + chunk])
            beats += events.beats
            alerts += events.alerts
        if n == samples.shape[1]:
            last = live.close()
            beats, alerts = [*beats, *last.beats], [*alerts, *last.alerts]
    expected = whole.beats[whole.beats["decided"] < n] if n < samples.shape[1] else whole.beats
    assert_same(pd.DataFrame(beats), expected)
    assert alerts == [a for a in whole.analysis.alerts if a["decided"] < n or n == samples.shape[1]]


def test_a_beat_is_decided_within_0_35_s_and_chunks_of_missing_values_are_a_gap(samples: np.ndarray) -> None:
    live = beatwire.Live(FS, ["II", "V1"], gain=200)
    late = [
        live.position - beat.sample
        for first in range(0, 5000, 10)
        for beat in live.push(samples[:, first : first + 10]).beats
    ]
    assert len(late) > 10
    assert max(late) <= 0.35 * FS + 10
    gap = beatwire.Live(FS, ["II", "V1"], gain=200)
    skipped = beatwire.Live(FS, ["II", "V1"], gain=200)
    of_gap = [*gap.push(samples[:, :8000]).beats, *gap.close().beats]
    of_skipped = [*skipped.push(samples[:, :5000]).beats, *skipped.push(samples[:, 5250:8000], first=5250).beats]
    assert [b.sample for b in of_gap] == [b.sample for b in [*of_skipped, *skipped.close().beats]]


def test_live_says_which_leads_hum_by_the_last_window_whatever_the_chunks(rng: np.random.Generator) -> None:
    made = synthesise(1, rate_hz=250.0, seconds=12, leads=3, noise=0.0).recording
    ecg = made.samples * made.uv_per_unit
    ecg[2, :2000] += 300 * np.sin(2 * np.pi * 60.0 / 250.0 * np.arange(2000))
    live, at = beatwire.Live(250.0, ["II", "V1", "V5"], units="uV"), 0
    assert live.hum == {}
    while at < 3000:
        chunk = ecg[:, at : at + int(rng.integers(1, 400))]
        at += chunk.shape[1]
        live.push(chunk)
        hums = {"V5": {"hz": 60.0, "mv": pytest.approx(0.3, abs=0.02)}} if 600 <= at < 2400 else {}
        assert live.hum == hums
    live.close()
    with pytest.raises(ValueError, match="it is closed"):
        _ = live.hum


def test_live_says_no_data_when_nothing_comes(samples: np.ndarray) -> None:
    live = beatwire.Live(FS, ["II", "V1"], gain=200)
    live.push(samples[:, :2500])
    assert not live.wait(1.0)
    assert [alert["rule"] for alert in live.wait(1.5).alerts] == ["no data"]
    assert [alert["state"] for alert in live.push(samples[:, 2500:2600]).alerts] == ["off"]


def test_a_chunk_that_cannot_be_used_changes_nothing(samples: np.ndarray, whole: beatwire.Result) -> None:
    live = beatwire.Live(FS, ["II", "V1"], gain=200)
    beats = list(live.push(samples[:, :7000]).beats)
    for chunk, first, message in (
        (np.zeros(5), None, r"push: expected a chunk of shape \[2, n\]; got \[5\]"),
        (np.array([["a"], ["b"]]), None, "push: expected numbers; got text"),
        (samples[:, :10], 7000.5, "push: first: expected the index of a sample, a whole number; got 7000.5"),
        (samples[:, :10], 6999, "push: expected a first sample of 7000 or greater; got 6999"),
    ):
        with pytest.raises(beatwire.UserError, match=message):
            live.push(chunk, first)
    beats += [*live.push(samples[:, 7000:]).beats, *live.close().beats]
    assert_same(pd.DataFrame(beats), whole.beats)
    with pytest.raises(ValueError, match="Live: expected an open monitor; it is closed"):
        live.push(samples[:, :10])


@pytest.mark.parametrize("block", [999, 4000])
def test_iterate_yields_what_analyze_returns(
    block: int, samples: np.ndarray, whole: beatwire.Result, tmp_path: Path
) -> None:
    table = pd.DataFrame({"time": np.arange(15_000) / FS, "II": samples[0], "V1": samples[1]})
    table = table[table["II"] != NO_VALUE]  # the gap shows in the times
    table.to_csv(tmp_path / "ecg.csv", index=False)
    table.to_csv(tmp_path / "ecg.csv.gz", index=False)
    chunks = (samples[:, first : first + block] for first in range(0, 15_000, block))
    for parts in (
        beatwire.iterate(tmp_path / "ecg.csv", gain=200, block_samples=block),
        beatwire.iterate(str(tmp_path / "ecg.csv.gz"), gain=200, block_samples=block),
        beatwire.iterate(chunks, FS, leads=["II", "V1"], gain=200),
    ):
        collected = list(parts)
        assert len(collected) > 3
        assert_same(pd.concat([p.beats for p in collected if len(p.beats)]), whole.beats)
        rows = [row for p in collected for row in p.alerts[["rule", "state", "onset"]].to_numpy().tolist()]
        assert rows == whole.alerts[["rule", "state", "onset"]].to_numpy().tolist()


def test_iterate_reads_a_wfdb_record_in_blocks(ecg_folder: Path) -> None:
    path = ecg_folder / "mitdb" / "208"
    parts = list(beatwire.iterate(path, block_samples=100_000))
    expected = beatwire.analyze(path)
    assert len(parts) == 8
    assert_same(pd.concat([p.beats for p in parts if len(p.beats)]), expected.beats)
    assert sum(len(p.alerts) for p in parts) == len(expected.alerts)


@pytest.mark.parametrize(("unit", "per_mv"), [("mV", 1.0), ("uV", 1e3), ("V", 1e-3), ("µV", 1e3)])
def test_the_columns_of_a_table_are_leads_by_their_names_in_the_unit_of_their_names(
    unit: str, per_mv: float, samples: np.ndarray
) -> None:
    plain = beatwire.Live(FS, ["II", "V1"], units="mV", start_s=0.0)
    table = beatwire.Live(FS, ["II", "V1"], start_s=0.0)
    mv = samples[:, :2500] / 200.0
    expected = plain.push(mv).frame()
    columns = {"t": np.arange(2500.0), f"V1 [{unit}]": per_mv * mv[1], f"II ({unit})": per_mv * mv[0]}
    found = [table.push(pd.DataFrame({n: v[k : k + 500] for n, v in columns.items()})) for k in range(0, 2500, 500)]
    pd.testing.assert_frame_equal(pd.concat([one.frame() for one in found], ignore_index=True), expected)
    assert len(expected) > 5


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (["II", "V2"], r"push: expected columns of all leads, II, V1; got none of V1"),
        (["II (mV)", "V1 (uV)"], r"push: expected columns of one unit \(or give units\); got mv in 'II \(mV\)', uv"),
        (["II (uV)", "V1 (uV)"], r"push: expected the unit of the chunks before in the names of columns; got 1 uV a"),
    ],
)
def test_a_table_with_other_leads_or_units_than_before_is_an_error(columns: list[str], message: str) -> None:
    live = beatwire.Live(FS, ["II", "V1"])
    live.push(pd.DataFrame(np.zeros((500, 2)), columns=["II (mV)", "V1 (mV)"]))
    with pytest.raises(beatwire.UserError, match=message):
        live.push(pd.DataFrame(np.zeros((500, 2)), columns=columns))
    assert live.position == 500


@pytest.mark.parametrize(
    ("source", "options", "message"),
    [
        (
            np.zeros((2, 5000)),
            {"fs": 250},
            r"iterate: expected a path, .* an array of shape \[2, 5000\]; analyze takes",
        ),
        (pd.DataFrame({"II": np.zeros(500)}), {"fs": 250}, r"iterate: expected .*; analyze takes an array or a table"),
        ({"II": np.zeros(500)}, {"fs": 250}, r"iterate: expected .*; analyze takes an array or a table"),
        ([np.zeros(500)], {}, r"fs: expected the rate of the chunks, 50-4000 Hz; got none"),
        ([np.zeros(500)], {"fs": 250, "column": "II"}, r"column: expected a path or an address with it; got chunks"),
        ("ecg.csv", {"units": "uV"}, r"units: expected chunks with it, a file states its own; got 'uV'"),
        ("ecg.csv", {"leads": ["II"]}, r"leads: expected chunks with it, a file states its own; got \['II'\]"),
    ],
)
def test_iterate_refuses_what_it_would_read_otherwise_or_not_at_all(
    source: object, options: dict, message: str
) -> None:
    with pytest.raises(beatwire.UserError, match=message):
        next(beatwire.iterate(source, **options))
