"""Messages from constant bytes are those of fastavro."""

import numpy as np
from beatwire.wire import encode_chunk
from beatwire_producers.chunk_writer import ChunkWriter
from hypothesis import given, settings
from hypothesis import strategies as st

LONG = st.integers(-(2**63), 2**63 - 1)


@settings(max_examples=100, deadline=None)
@given(
    stream=st.text(min_size=1, max_size=20), leads=st.lists(st.text(max_size=8), min_size=1, max_size=12),
    rate_hz=st.floats(50, 4000), uv=st.floats(0, 1e4), session=LONG, first=LONG, time_us=LONG,
    lead_off=st.integers(0, 4095), values=st.lists(st.integers(-32768, 32767), max_size=80),
)  # fmt: skip
def test_a_message_has_the_bytes_that_fastavro_writes(  # type: ignore[no-untyped-def]
    stream, leads, rate_hz, uv, session, first, time_us, lead_off, values
) -> None:
    samples = np.array([values] * len(leads), np.int16)
    expected = encode_chunk(stream, session, first, time_us, rate_hz, leads, samples, uv_per_unit=uv, lead_off=lead_off)
    writer = ChunkWriter(stream, rate_hz, leads, uv)
    assert writer.message(session, first, time_us, lead_off, samples.astype("<i2").tobytes()) == expected
