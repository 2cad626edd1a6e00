"""Signal quality over time: a row for every ten seconds, beats counted once, samples without a value."""

import numpy as np
from beatwire.offline.results.quality import COLUMNS, quality_table
from beatwire.recordings import NO_VALUE, Recording

RATE_HZ = 128.0


def recording(seconds: float, leads: int = 1) -> Recording:
    samples = np.ones((leads, round(seconds * RATE_HZ)), np.int16)
    return Recording("r", RATE_HZ, ("I", "II", "III")[:leads], 5.0, samples)


def beats(seconds: list[float], quality: list[float], errors: list[float]) -> dict[str, np.ndarray]:
    sample = np.array([round(s * RATE_HZ) for s in seconds], np.int64)
    return {"sample": sample, "quality": np.array(quality), "expected_errors": np.array(errors)}


def test_stretches_cover_the_recording_and_the_last_one_is_shorter() -> None:
    table = quality_table(recording(25.5), beats([], [], []))
    assert tuple(table) == COLUMNS
    assert table["time_s"].tolist() == [0.0, 10.0, 20.0]
    assert table["seconds"].tolist() == [10.0, 10.0, 5.5]
    assert {len(column) for column in table.values()} == {3}


def test_every_beat_is_counted_in_the_stretch_of_its_r() -> None:
    table = quality_table(recording(30), beats([0.5, 9.99, 10.0, 25.0], [0.9] * 4, [0.1] * 4))
    assert table["beats"].tolist() == [2, 1, 1]


def test_quality_is_the_median_and_expected_errors_the_largest_of_the_beats() -> None:
    table = quality_table(recording(30), beats([1, 2, 3, 21], [0.2, 0.9, 1.0, 0.5], [0.1, np.nan, 2.0, np.nan]))
    np.testing.assert_array_equal(table["quality"], [0.9, np.nan, 0.5])
    np.testing.assert_array_equal(table["expected_errors"], [2.0, np.nan, np.nan])


def test_there_is_a_signal_where_any_lead_has_a_value() -> None:
    gappy = recording(25, leads=2)
    gappy.samples[0, :640] = NO_VALUE  # 5 s of one of two leads
    gappy.samples[:, -320:] = NO_VALUE  # 2.5 s of both, half of the last stretch
    table = quality_table(gappy, beats([], [], []))
    assert table["with_signal"].tolist() == [1.0, 1.0, 0.5]


def test_a_beat_after_the_end_counts_in_the_last_stretch() -> None:
    assert quality_table(recording(20), beats([20.2], [1.0], [0.0]))["beats"].tolist() == [0, 1]
