"""Structures, lists of them and cells, in files of arrays: their arrays by names with points."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from beatwire.recordings.readers.several import channels_of

_DEEPEST = 3  # structures within structures


def flat(values: Mapping[str, Any], prefix: str = "", depth: int = 0) -> Iterator[tuple[str, Any]]:
    """Yield the arrays of a file, those within structures by names with a point."""
    for name, value in values.items():
        channels = channels_of(cells) if (cells := _structures(value)) else None
        if isinstance(value, dict) and depth < _DEEPEST:
            yield from flat(value, f"{prefix}{name}.", depth + 1)
        elif channels is not None and depth < _DEEPEST:
            yield from flat(channels, f"{prefix}{name}.", depth + 1)
        elif (texts := _texts_of_structures(value)) is not None:
            yield from ((f"{prefix}{name}.{key}", np.asarray(one, str)) for key, one in texts.items())
        else:
            yield f"{prefix}{name}", _stacked(np.asarray(value))


def _structures(value: Any) -> list[dict[str, Any]]:
    """Return several structures, as a list or in cells; none if it is something else."""
    cells = np.ravel(value).tolist() if isinstance(value, np.ndarray) and value.dtype == object else value
    is_list = isinstance(cells, list) and len(cells) > 1 and all(isinstance(one, dict) for one in cells)
    return cells if is_list else []


def _texts_of_structures(value: Any) -> dict[str, list[str]] | None:
    """Return the texts that each of several structures has, as labels of channels; None if it is no list of them."""
    cells = _structures(value)
    if not cells:
        return None
    return {key: [one[key] for one in cells] for key in cells[0] if all(isinstance(one.get(key), str) for one in cells)}


def _stacked(values: Any) -> Any:
    """Return an array whose cells are leads of one length as [leads, n]; another array as it is."""
    if values.dtype != object or not all(isinstance(v, np.ndarray) and v.dtype.kind in "iuf" for v in values.flat):
        return values
    rows = [np.ravel(v) for v in values.flat]
    are_leads = len({len(row) for row in rows}) == 1 and all(v.size == max(v.shape) for v in values.flat)
    return np.stack(rows) if are_leads else values
