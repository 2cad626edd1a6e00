"""The counts in tables that are chunks of ``Live``: where samples or packets are missing by them, it is said.

In:  a chunk as a table, and the index of its first sample
Out: a note, where a count goes on otherwise than the samples do
State: the last row of each count

A count of samples rises by 1 from row to row; one of packets is the same in all rows of a chunk. Either may begin again
at 0 or 1, and a table may number its own rows.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from beatwire.recordings.columns.names import is_index_name

HINT = "samples count (where some are missing, give first)"
_BEGIN = 1  # a count begins at 0 or 1


class _Row(NamedTuple):
    """The last row of a chunk.

    at      its sample index
    begin   the number in the first row
    number  its own
    step    of a count of packets, from one chunk to the next; 0: unknown
    is_first  whether it is of the first chunk
    """

    at: int
    begin: int
    number: int
    step: int = 0
    is_first: bool = True


class ChunkCount:
    """Compares the counts of chunks with that of their samples; ``say`` is called with each remark, one line."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._before: dict[str, _Row] = {}
        self._own: set[str] = set()  # counts that begin anew in each chunk

    def compare(self, table: Any, first: int) -> None:
        """Look at the next chunk, a DataFrame or a Series, whose first sample has this index."""
        for name, numbers in _counts(table):
            steps, before = np.diff(numbers), self._before.pop(name, None)
            of_samples = len(steps) > 0 and bool((steps == 1).all())
            if name in self._own or (steps.any() and not of_samples):
                continue
            now = _Row(first + len(steps), int(numbers[0]), int(numbers[-1]))
            if before is not None and before.is_first and of_samples and now.begin == before.begin:
                self._own.add(name)
                continue
            if before is not None:
                is_next, step = first == before.at + 1, before.step or max(0, now.begin - before.number)
                self._before[name] = now._replace(step=0 if of_samples else step, is_first=False)
                right = (first - before.at,) if of_samples else range(step + 1) if is_next else ()
                if now.begin > _BEGIN and right and now.begin - before.number not in right:
                    self._say(
                        f"from sample {before.at} to {first} the count of {name!r} goes from {before.number} to "
                        f"{now.begin}: {HINT}"
                    )
            else:
                self._before[name] = now


def _counts(table: Any) -> Iterator[tuple[str, Any]]:
    """Yield the name and the numbers, int64 [n], of each column that is called a count, or of an index of integers."""
    index = table.index
    columns = [table.iloc[:, k] for k in range(table.shape[1])] if isinstance(table, pd.DataFrame) else []
    named = [(str(column.name), column) for column in columns]
    named = [(name, values) for name, values in named if name and is_index_name(name)]
    if not named and index.nlevels == 1:
        named = [("index" if index.name is None else str(index.name), index)]
    for name, values in named:
        if isinstance(values.dtype, np.dtype) and values.dtype.kind in "iu":
            yield name, values.to_numpy().astype(np.int64)
