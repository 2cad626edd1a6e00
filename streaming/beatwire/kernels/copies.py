"""Copy bytes: blocks of an array, which threads share."""

from beatwire.records import U8

BLOCK = 1 << 16  # bytes of an item


def copy_block(i: int, source: U8, target: U8) -> None:
    """Copy block ``i`` of ``source`` to the same place of ``target``, which has as many bytes."""
    begin, stop = i * BLOCK, min(source.shape[0], (i + 1) * BLOCK)
    given, written = source[begin:stop], target[begin:stop]
    for k in range(given.shape[0]):
        written[k] = given[k]
