"""A rehearsal: made-up chunks through a graph, which call every kernel with the types that the monitor has."""

import numpy as np

from beatwire.backends.base import Backend
from beatwire.jit import copies
from beatwire.pipeline import Pipeline
from beatwire.pipeline.settings import DETECTOR, Detector, Settings
from beatwire.records import RawTick
from beatwire.records.columns import ORDERED_COLUMNS
from beatwire.stages.support.runs import runs_of
from beatwire.stages.support.streams import align_groups
from beatwire.wire.avro import encode_chunk
from beatwire.wire.bundles import encode_bundle


def rehearse(backend: Backend, detector: Detector = DETECTOR) -> None:
    """Run ten seconds of two streams with a beat each second and a gap through a graph: it calls every kernel.

    Two seconds of them come in bundles.
    """
    align_groups.rehearse()
    copies.rehearse()
    runs_of(np.zeros((0, ORDERED_COLUMNS), np.int64))  # where changed limits are inserted
    pipeline = Pipeline(Settings(detector=detector), backend)
    signal = (np.arange(2500) % 50).astype(np.int16)
    signal[::250] = 2000
    for first in range(0, 2500, 125):
        part = signal[first : first + (100 if first == 1500 else 125)]
        values = [
            encode_chunk(f"warm-up {bed} {len(leads)}", 1, first, 0, 250.0, leads, np.stack([part] * len(leads)))
            for bed in range(1 if first < 1250 else 2)
            for leads in (["I"], ["I", "II"])
        ]
        values = [encode_bundle(values)] if 1000 <= first < 1500 else values
        pipeline.emit(RawTick.of(values, now_us=first))
