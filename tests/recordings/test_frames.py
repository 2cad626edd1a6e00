"""Tables of beats and RR statistics; the parsers are tested with the recordings."""

import numpy as np
import pandas as pd
import pytest
from beatwire.backends.cuda.card import missing
from beatwire.cli.main import app
from beatwire.cli.recordings.analysis import run_analysis
from beatwire.errors import UserError
from beatwire.offline.analyze import analyze
from beatwire.offline.results.beat import BEAT_FIELDS
from beatwire.recordings import read_recording
from beatwire.tables import arrow, rr_statistics
from typer.testing import CliRunner


def by_hand(rr: np.ndarray) -> dict[str, float]:
    """Return the RR statistics of one stream by their definitions."""
    known = [v for v in rr.tolist() if v == v]
    changes = [b - a for a, b in zip(rr[:-1].tolist(), rr[1:].tolist(), strict=True) if a == a and b == b]
    mean = sum(known) / len(known)
    return {
        "beats": len(rr),
        "mean_rr_ms": mean,
        "median_rr_ms": float(np.median(known)),
        "sdnn_ms": (sum((v - mean) ** 2 for v in known) / (len(known) - 1)) ** 0.5,
        "rmssd_ms": (sum(c * c for c in changes) / len(changes)) ** 0.5,
        "pnn50": 100 * sum(abs(c) > 50 for c in changes) / len(changes),
    }


def test_rr_statistics_of_every_stream_follow_their_definitions() -> None:
    rng = np.random.default_rng(3)
    streams = np.repeat(["b", "a", "c"], [40, 70, 5])
    rr = rng.normal(800, 60, len(streams))
    rr[[0, 40, 60, 110]] = np.nan
    order = rng.permutation(len(streams))
    order = order[np.argsort(np.where(streams[order] == "a", 0, 1), kind="stable")]
    for name in np.unique(streams):  # the beats of a stream stay in order of time
        order[streams[order] == name] = np.flatnonzero(streams == name)
    table = rr_statistics(streams[order], rr[order])
    assert table.index.tolist() == ["a", "b", "c"]
    for name in table.index:
        expected = by_hand(rr[streams == name])
        assert table.loc[name].to_dict() == pytest.approx(expected)


def test_a_stream_with_one_beat_has_no_statistics() -> None:
    table = rr_statistics(np.array([4]), np.array([np.nan]))
    assert table["beats"].tolist() == [1]
    assert table[["mean_rr_ms", "sdnn_ms", "rmssd_ms", "pnn50"]].isna().all(axis=None)


def test_beats_are_an_arrow_table_and_missing_values_are_null() -> None:
    result = analyze(read_recording("synthetic:seconds=60,seed=4"))
    table = result.table
    assert table.column_names == list(BEAT_FIELDS)
    assert table.num_rows == len(result.beats["sample"]) > 40
    assert table["rr_ms"].null_count == np.isnan(result.beats["rr_ms"]).sum() > 0
    pd.testing.assert_frame_equal(table.to_pandas(), pd.DataFrame(result.beats))
    assert arrow({"a": [1, 2]}).to_pydict() == {"a": [1, 2]}


def test_the_summary_of_a_recording_contains_rr_statistics() -> None:
    summary = run_analysis("synthetic:seconds=60,seed=4,bpm=75")
    assert summary["mean_rr_ms"] == pytest.approx(800, rel=0.03)
    assert 0 < summary["rmssd_ms"] < 200
    assert 0 <= summary["pnn50"] <= 100
    flat = run_analysis("synthetic:seconds=2,seed=4,bpm=20")
    assert flat["sdnn_ms"] is None


@pytest.mark.skipif(missing() is None, reason="a GPU is present")
def test_analyze_with_backend_gpu_but_no_gpu_is_an_error() -> None:
    with pytest.raises(UserError, match="--backend gpu: expected a usable GPU; got: "):
        CliRunner().invoke(app, ["analyze", "synthetic:seconds=20", "--backend", "gpu"], catch_exceptions=False)
