"""Several threads read a stretch of a file; an error names the cause."""

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from beatwire.backends.cuda.upload import read
from beatwire.kernels.intake.files import PIECE

SIZE = 3 * PIECE + 77


@pytest.fixture
def file(tmp_path: Path) -> Iterator[tuple[int, bytes]]:
    """An open file of random bytes, and its contents."""
    contents = np.random.default_rng(3).bytes(SIZE)
    path = tmp_path / "noise"
    path.write_bytes(contents)
    with path.open("rb") as opened:
        yield opened.fileno(), contents


@pytest.mark.parametrize(
    ("first", "stop"), [(0, SIZE), (5, 6), (0, PIECE), (1, PIECE + 1), (PIECE - 1, 2 * PIECE), (SIZE - 1, SIZE), (9, 9)]
)
def test_a_stretch_of_a_file_is_read(file: tuple[int, bytes], first: int, stop: int) -> None:
    number, contents = file
    out = np.zeros(stop - first, np.uint8)
    read(number, first, out)
    assert out.tobytes() == contents[first:stop]


def test_a_file_that_is_too_short_is_an_error(file: tuple[int, bytes]) -> None:
    with pytest.raises(OSError, match=f"expected {SIZE} bytes at 100; the file ends after {SIZE - 100}"):
        read(file[0], 100, np.zeros(SIZE, np.uint8))


def test_an_error_of_the_system_is_raised(tmp_path: Path) -> None:
    folder = os.open(tmp_path, os.O_RDONLY)
    try:
        with pytest.raises(IsADirectoryError):
            read(folder, 0, np.zeros(8, np.uint8))
    finally:
        os.close(folder)
