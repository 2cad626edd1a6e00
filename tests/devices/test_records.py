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


@given(
    streams=st.lists(st.text("b /:-\n1", min_size=1, max_size=5), min_size=2, max_size=4, unique=True),
    lead=st.sampled_from(["II", "V 1", "a\nb"]),
)
def test_each_record_names_its_stream_though_names_of_files_are_alike(streams: list[str], lead: str) -> None:
    values = np.arange(500, dtype=np.int16)
    with tempfile.TemporaryDirectory() as name:
        folder = WfdbFolder(Path(name))
        for k, stream in enumerate(streams):
            described = Description(stream, (lead,), 250.0, 1.0)
            folder.keep(Chunk(described, 250.0, 1.0, 1, 0, 1_700_000_000_000_000, values[None, k:]))
        folder.close()
        found = {}
        for header in Path(name).glob("*.hea"):
            kept = read_recording(str(header))
            found[int(kept.samples[0, 0])] = header.read_text(encoding="utf-8").splitlines()[-1]
            assert kept.leads == (lead.replace("\n", "\\n"),)
    assert found == {k: f"# stream {stream}".replace("\n", "\\n") for k, stream in enumerate(streams)}


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
