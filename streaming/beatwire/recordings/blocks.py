"""A recording in blocks, for recordings that are larger than memory.

In:  the name of a file, WFDB record or address
Out: one :class:`Recording` for each block; together the recording as ``read_recording`` returns it

The scale is that of the first block: a later value beyond the range of int16 on that scale is clipped.
"""

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

from beatwire.errors import UserError
from beatwire.recordings.formats import open_file
from beatwire.recordings.opening import check_options
from beatwire.recordings.places import is_address
from beatwire.recordings.record import Recording
from beatwire.recordings.remote import fetched
from beatwire.recordings.signals import Signals, blocks_of
from beatwire.recordings.text.recording import text_blocks
from beatwire.recordings.units import Block, Scale, ValueRange, scale_for, value_ranges

BLOCK_SAMPLES = 1 << 20  # of a lead
_FEW_STEPS = 50  # of a stretch: an ECG is hardly more than its signs


def read_blocks(
    source: str | Path,
    *,
    fs: float | None = None,
    column: str | None = None,
    gain: float | None = None,
    samples: int = BLOCK_SAMPLES,
) -> Iterator[Recording]:
    """Yield a recording in blocks of so many samples of each lead.

    Parameters
    ----------
    source, fs, column, gain
        See :func:`beatwire.recordings.read_recording`; not ``synthetic``.
    samples
        Samples of each lead, or rows of a CSV file, in a block.

    Raises
    ------
    UserError
        The source, or an option, cannot be used.
    """
    fs, column, gain = check_options(fs, column, gain)
    with fetched(str(source)) if is_address(str(source)) else nullcontext(Path(source).expanduser()) as path:
        opened = open_file(path, fs, column, gain)
        if isinstance(opened, Recording):
            yield from _parts(opened, samples)
        elif isinstance(opened, Signals):
            yield from _on_one_scale(opened.name, blocks_of(opened, fs, column, None, gain, samples))
        else:
            yield from _on_one_scale(path.name, text_blocks(path, fs, column, gain, samples))


def _parts(recording: Recording, samples: int) -> Iterator[Recording]:
    """Yield the parts of a recording in memory."""
    for first in range(0, recording.samples.shape[1], samples):
        notes = recording.notes if first == 0 else ()
        yield replace(recording, samples=recording.samples[:, first : first + samples].copy(), notes=notes)


def _on_one_scale(name: str, blocks: Iterator[Block]) -> Iterator[Recording]:
    """Yield blocks as recordings on the scale of the first."""
    scale: Scale | None = None
    is_said = False  # that later numbers are rounded
    for block in blocks:
        ranges = value_ranges(block.columns)
        notes = block.notes
        if scale is None:
            if not any(r.any_valid for r in ranges):
                raise UserError(f"{name}: expected values in the first {len(block.columns[0])} samples; got none")
            scale = scale_for(block.columns, block.uv_per_value, ranges, more=True)
            notes += scale.notes
        elif beyond := scale.beyond(block.columns, ranges):
            notes += (f"{beyond} values beyond the scale of the first block are clipped",)
        elif 0 < (steps := _steps_of_fractions(scale, ranges)) < _FEW_STEPS and not is_said:
            is_said = True
            notes += (f"fractions span {steps:.2g} steps of the first block, which has whole numbers: give --gain",)
        yield Recording(name, block.rate_hz, block.leads, scale.uv_per_unit, scale.apply(block.columns, ranges), notes)


def _steps_of_fractions(scale: Scale, ranges: Sequence[ValueRange]) -> float:
    """Return how many steps of a scale without a unit the leads with fractions span, in an ordinary stretch."""
    sizes = [r.typical * per for r, per in zip(ranges, scale.units_per_value, strict=True) if not r.integers]
    return 0.0 if scale.uv_per_unit else float(max(sizes, default=0.0))
