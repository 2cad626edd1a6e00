"""What a feed keeps as WFDB records is what came: samples, places, rate, leads and unit."""

import tempfile
from pathlib import Path

import numpy as np
from beatwire.recordings import NO_VALUE, read_recording
from beatwire_producers.devices.chunks import Chunk
from beatwire_producers.devices.packets import Description
from beatwire_producers.devices.wfdb_files import WfdbFolder
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st

N = 1500


@settings(max_examples=draws(40), deadline=None)
@given(
    uv=st.sampled_from([0.0, 0.1, 1.0, 2.5, 4.88]), leads=st.integers(1, 3), rate_hz=st.sampled_from([130.0, 250.5]),
    gap=st.integers(0, 300), seed=st.integers(0, 99),
)  # fmt: skip
def test_a_record_reads_as_what_was_sent(uv: float, leads: int, rate_hz: float, gap: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    sent = np.clip(np.cumsum(rng.integers(-40, 41, (leads, N)), axis=1), -9000, 9000).astype(np.int16)
    described = Description("bed-1", tuple(f"L{k}" for k in range(leads)), rate_hz, uv)
    with tempfile.TemporaryDirectory() as name:
        folder = WfdbFolder(Path(name))
        for first, stop in ((0, 700), (700 + gap, N)):
            folder.keep(Chunk(described, rate_hz, uv, 1, first, 1_700_000_000_000_000, sent[:, first:stop]))
        folder.close()
        (header,) = Path(name).glob("*.hea")
        kept = read_recording(str(header))
    expected = sent.copy()
    expected[:, 700 : 700 + gap] = NO_VALUE
    assert (kept.rate_hz, kept.leads) == (rate_hz, described.leads)
    assert np.isclose(kept.uv_per_unit, uv, rtol=1e-6)
    np.testing.assert_array_equal(kept.samples, expected)
    assert any("not calibrated" in note for note in kept.notes) is (uv == 0.0)
