"""The first beat of a stream that begins anywhere in a heart's cycle: none where a wave is cut off."""

from dataclasses import replace
from pathlib import Path

import numpy as np
from beatwire.offline.analyzer import Analyzer
from beatwire.pipeline.settings import Settings
from beatwire.recordings import Recording, read_recording
from beatwire.recordings.synthetic.person import synthesise
from hypothesis import given
from hypothesis import strategies as st

ANALYZER = Analyzer(Settings(), rules=False)
TOLERANCE_S, WHOLE_S, FIRST_S = 0.06, 0.07, 0.3


def beats_from(recording: Recording, begin: int, seconds: float = 5.0) -> np.ndarray:
    """Return the seconds of the beats that are found from sample ``begin`` on, by the first lead or by all."""
    rest = recording.samples[:, begin : begin + round(seconds * recording.rate_hz)]
    part = replace(recording, samples=np.ascontiguousarray(rest))
    return ANALYZER.analyze(part, "x")[0].beats.sample / recording.rate_hz


def apart(times: np.ndarray, others: np.ndarray) -> list[float]:
    """Return the times that no other one is near."""
    return [t for t in times.tolist() if np.abs(others - t).min() > TOLERANCE_S]


@given(
    seed=st.integers(0, 10_000), rate_hz=st.sampled_from([128.0, 200.0, 250.0, 360.0, 500.0]), leads=st.integers(1, 3),
    since_s=st.floats(0.0, 0.8), noise=st.sampled_from([0.0, 1.0]),
)  # fmt: skip
def test_whole_beats_are_found_wherever_a_stream_begins(
    seed: int, rate_hz: float, leads: int, since_s: float, noise: float
) -> None:
    person = synthesise(seed, rate_hz=rate_hz, leads=leads, seconds=8.0, bpm=65.0, noise=noise)
    begin = int(person.beats[1] + since_s * rate_hz)
    found, true = beats_from(person.recording, begin), (person.beats - begin) / rate_hz
    assert not apart(true[(true > WHOLE_S) & (true < 4.0)], found)
    if since_s >= FIRST_S:  # at the end of a T wave or behind it
        assert not apart(found[found < FIRST_S], true)


def test_recordings_cut_anywhere_seldom_begin_with_a_false_beat(ecg_folder: Path) -> None:
    rng = np.random.default_rng(4)
    cuts = false = 0
    for header in sorted((ecg_folder / "ludb").glob("*.hea")):
        recording = read_recording(header).pick(0)
        rate_hz = recording.rate_hz
        true = beats_from(recording, 0, 10.0)  # what is found from the beginning on
        for begin in rng.integers(1.0 * rate_hz, 7.0 * rate_hz, 8).tolist():
            found = beats_from(recording, begin, 3.0)
            false += len(apart(found[found < FIRST_S], true - begin / rate_hz))
            cuts += 1
    assert cuts == 800
    assert false <= 0.02 * cuts
