"""A file's bytes come to their place by several threads, or it is said why not."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from beatwire.backends.cuda.upload import read
from beatwire.kernels.files import PIECE

SIZE = 3 * PIECE + 77


@pytest.fixture
def file(tmp_path: Path) -> Iterator[tuple[int, bytes]]:
    """A file of noise, open, and what it holds."""
    held = np.random.default_rng(3).bytes(SIZE)
    path = tmp_path / "noise"
    path.write_bytes(held)
    with path.open("rb") as opened:
        yield opened.fileno(), held


@pytest.mark.parametrize(
    ("first", "stop"), [(0, SIZE), (5, 6), (0, PIECE), (1, PIECE + 1), (PIECE - 1, 2 * PIECE), (SIZE - 1, SIZE), (9, 9)]
)
def test_bytes_of_a_file_come_to_their_place(file: tuple[int, bytes], first: int, stop: int) -> None:
    number, held = file
    room = np.zeros(stop - first, np.uint8)
    read(number, first, room)
    assert room.tobytes() == held[first:stop]


def test_a_file_that_ends_before_is_said_to(file: tuple[int, bytes]) -> None:
    with pytest.raises(OSError, match=f"expected {SIZE} bytes at 100; the file ends after {SIZE - 100}"):
        read(file[0], 100, np.zeros(SIZE, np.uint8))


def test_what_the_system_says_of_a_file_is_said(tmp_path: Path) -> None:
    folder = os.open(tmp_path, os.O_RDONLY)
    try:
        with pytest.raises(IsADirectoryError):
            read(folder, 0, np.zeros(8, np.uint8))
    finally:
        os.close(folder)
