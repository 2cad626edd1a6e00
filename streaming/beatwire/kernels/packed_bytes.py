"""Bytes that are stored in columns of int64, seven in each: the sign is not used."""

from beatwire.records import I64

PER_COLUMN = 7


def byte_at(row: I64, first: int, k: int) -> int:
    """Return byte ``k`` of those that begin at column ``first``."""
    return (int(row[first + k // PER_COLUMN]) >> (8 * (k % PER_COLUMN))) & 0xFF


def put_byte(row: I64, first: int, k: int, value: int) -> None:
    """Write byte ``k`` of those that begin at column ``first``."""
    column, shift = first + k // PER_COLUMN, 8 * (k % PER_COLUMN)
    row[column] = (int(row[column]) & ~(0xFF << shift)) | (value << shift)
