"""AcqKnowledge files of the tests, written with the structures of ``bioread``, which has no writer of its own."""

from pathlib import Path

import numpy as np

REVISION = 38  # AcqKnowledge 3.7.0: the first with channels of different rates


def write_acq(path: Path, rate_hz: float, channels: list[tuple[str, str, int, float, float, np.ndarray]]) -> None:
    """Write channels of int16 or float64: name, unit, divider of the rate, scale, offset, values."""
    from bioread import headers

    def packed(kind: type, **fields: object) -> bytes:
        made = kind.for_revision(REVISION, "<")._struct_class()
        for name, value in fields.items():
            setattr(made, name, value)
        return bytes(made)

    graph = packed(headers.GraphHeader)
    chunks = [
        packed(headers.GraphHeader, lVersion=REVISION, lExtItemHeaderLen=len(graph), nChannels=len(channels),
               dSampleTime=1000 / rate_hz)
    ]  # fmt: skip
    size = len(packed(headers.ChannelHeader))
    for k, (name, unit, divider, scale, offset, values) in enumerate(channels):
        chunks.append(
            packed(headers.ChannelHeader, lChanHeaderLen=size, nNum=k, szCommentText=name.encode("latin1"),
                   szUnitsText=unit.encode("latin1"), lBufLength=len(values), dAmplScale=scale, dAmplOffset=offset,
                   nChanOrder=k, nVarSampleDivider=divider)
        )  # fmt: skip
    chunks.append(packed(headers.ForeignHeader, nLength=4, nType=0))
    for *_, values in channels:
        floats = values.dtype.kind == "f"
        chunks.append(np.array([8 if floats else 2, 1 if floats else 2], "<i2").tobytes())
    slots = max(len(values) * divider for _, _, divider, _, _, values in channels)
    places = [0] * len(channels)
    for slot in range(slots):  # a channel has a value in each slot that its divider divides
        for k, (_, _, divider, _, _, values) in enumerate(channels):
            if slot % divider == 0 and places[k] < len(values):
                chunks.append(values[places[k] : places[k] + 1].tobytes())
                places[k] += 1
    chunks.append(np.array([8, 0], "<i4").tobytes())  # no markers
    path.write_bytes(b"".join(chunks))
