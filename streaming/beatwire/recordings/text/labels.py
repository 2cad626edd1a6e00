"""Text whose cells have labels, as the plotter of Arduino reads it: ``ECG:512,HR:72`` in each line.

In:  the path of a text file
Out: the same as a table: the labels are the names of its columns

The first lines decide. A line with other labels is copied unchanged, and the reader of tables refuses it.
"""

import re
import zlib
from itertools import islice
from pathlib import Path

from beatwire.tables import open_text

_NUMBER = r"(?:[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|nan|NaN|!)"
_CELL = re.compile(rf"\s*([^\W\d][\w.()/+-]*)\s*[:=]\s*({_NUMBER})\s*(?:[,;\t|]|\s|$)")
_FIRST, _FEWEST = 50, 3  # lines
_LONGEST = 4096  # characters of a line


def are_labelled(path: Path) -> bool:
    """Return True if each of the first lines of a file has the same labels before its numbers.

    The first may have begun before a logger did.
    """
    try:
        with open_text(path) as text:
            lines = [line for _ in range(_FIRST) if (line := text.readline(_LONGEST)).strip()]
    except (OSError, EOFError, zlib.error):  # the reader of tables says it
        return False
    labels = [_parted(line)[0] for line in lines[1:-1]]
    return len(labels) >= _FEWEST and bool(labels[0]) and all(one == labels[0] for one in labels)


def write_unlabelled(path: Path, target: Path) -> None:
    """Write the numbers of labelled lines as a table."""
    with open_text(path) as text, target.open("w", encoding="utf-8") as file:
        begin = list(islice(text, _FEWEST))
        labels = _parted(begin[-1])[0]
        begin = begin if _parted(begin[0])[0] == labels else begin[1:]
        file.write(",".join(labels) + "\n")
        for lines in (begin, text):
            for line in lines:
                found, values = _parted(line)
                file.write(",".join(values) + "\n" if found == labels else line)


def _parted(line: str) -> tuple[list[str], list[str]]:
    """Return the labels and the numbers of a line; none if it has others.

    >>> _parted("t:4, ECG: -0.5"), _parted("10:04, 5")
    ((['t', 'ECG'], ['4', '-0.5']), ([], []))
    """
    labels, values, at = [], [], 0
    text = line.rstrip("\r\n ,;")
    while at < len(text):
        cell = _CELL.match(text, at)
        if cell is None:
            return [], []
        labels.append(cell[1])
        values.append(cell[2])
        at = cell.end()
    return labels, values
