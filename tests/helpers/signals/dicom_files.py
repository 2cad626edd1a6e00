"""DICOM waveforms of the tests, in any encoding of samples and order of bytes, written with ``pydicom``."""

from pathlib import Path
from typing import Any

import numpy as np


def write_dicom(path: Path, groups: list[dict[str, Any]], *, big: bool = False) -> None:
    """Write waveforms in an order of bytes.

    A group has ``rate_hz`` and ``channels``: name, sensitivity, unit, baseline, stored values. It may have
    ``offset_ms``, ``originality``, ``stored`` (``SS`` and the like), ``bits``, ``bits_stored``, ``padding`` and
    ``cut``, the bytes that are missing at its end.
    """
    from pydicom.dataset import Dataset, FileDataset, FileMetaDataset
    from pydicom.uid import (  # fmt: skip
        ExplicitVRBigEndian,
        ExplicitVRLittleEndian,
        TwelveLeadECGWaveformStorage,
        generate_uid,
    )

    def code(value: str, meaning: str) -> list[Dataset]:
        item = Dataset()
        item.CodeValue, item.CodingSchemeDesignator, item.CodeMeaning = value, "X", meaning
        return [item]

    meta = FileMetaDataset()
    meta.MediaStorageSOPClassUID, meta.MediaStorageSOPInstanceUID = TwelveLeadECGWaveformStorage, generate_uid()
    meta.TransferSyntaxUID = ExplicitVRBigEndian if big else ExplicitVRLittleEndian
    made = FileDataset(
        str(path), {}, file_meta=meta, preamble=bytes(128), is_implicit_VR=False, is_little_endian=not big
    )
    made.SOPClassUID, made.SOPInstanceUID = meta.MediaStorageSOPClassUID, meta.MediaStorageSOPInstanceUID
    sequence = []
    for given in groups:
        group, channels = Dataset(), []
        bits, stored = given.get("bits", 16), given.get("stored", "SS")
        kind = f"{'>' if big else '<'}{'u' if stored[0] == 'U' else 'i'}{bits // 8}"
        for name, sensitivity, unit, baseline, values in given["channels"]:
            channel = Dataset()
            channel.ChannelSourceSequence = code("2:2", name)
            channel.WaveformBitsStored = given.get("bits_stored", bits)
            if sensitivity is not None:
                channel.ChannelSensitivity, channel.ChannelBaseline = sensitivity, baseline
                channel.ChannelSensitivityCorrectionFactor = 1
                channel.ChannelSensitivityUnitsSequence = code(unit, unit)
            channels.append((channel, values))
        group.MultiplexGroupTimeOffset = given.get("offset_ms", 0)
        group.WaveformOriginality = given.get("originality", "ORIGINAL")
        group.NumberOfWaveformChannels = len(channels)
        group.NumberOfWaveformSamples = len(channels[0][1])
        group.SamplingFrequency = given["rate_hz"]
        group.ChannelDefinitionSequence = [channel for channel, _ in channels]
        group.WaveformBitsAllocated, group.WaveformSampleInterpretation = bits, stored
        content = np.stack([values for _, values in channels], axis=1).astype(kind).tobytes()
        representation = "OB" if bits == 8 else "OW"
        group.add_new("WaveformData", representation, _even(content[: len(content) - given.get("cut", 0)]))
        if given.get("padding") is not None:
            group.add_new("WaveformPaddingValue", representation, _even(np.array(given["padding"], kind).tobytes()))
        sequence.append(group)
    made.WaveformSequence = sequence
    made.save_as(path, enforce_file_format=True)


def _even(content: bytes) -> bytes:
    """Return bytes in an even number, as all elements of DICOM."""
    return content + b"\0" * (len(content) % 2)
