"""Which partition a key belongs to, and whether a stream has got another one since partitions were added.

In: keys, and the numbers of partitions that the topic has had. Out: partitions. No state. The partitioner is that of
Kafka's Java clients, MurmurHash2, which all producers of samples are to use; a stream that was never where it puts the
key has another partitioner, and of it nothing is known.
"""

from collections.abc import Sequence

_M, _MASK = 0x5BD1E995, 0xFFFFFFFF
_SEED = 0x9747B28C


def murmur2(key: bytes) -> int:
    """Return the hash of a key, 31 bits, as Kafka's partitioner takes it.

    >>> murmur2(b"21"), murmur2(b"foobar"), murmur2(b"a-little-bit-long-string")
    (1173551340, 1357151166, 1161502112)
    """
    h = (_SEED ^ len(key)) & _MASK
    whole = len(key) & ~3
    for at in range(0, whole, 4):
        k = int.from_bytes(key[at : at + 4], "little") * _M & _MASK
        k = (k ^ (k >> 24)) * _M & _MASK
        h = (h * _M & _MASK) ^ k
    if len(key) > whole:
        h = (h ^ int.from_bytes(key[whole:], "little")) * _M & _MASK
    h = (h ^ (h >> 13)) * _M & _MASK
    return (h ^ (h >> 15)) & 0x7FFFFFFF


def has_moved(key: bytes, partition: int, counts: Sequence[int]) -> bool:
    """Return True if a key belonged to a partition by an earlier number of partitions, and does not any more.

    Parameters
    ----------
    counts
        Numbers of partitions that the topic has had, the present one last.
    """
    place = murmur2(key)
    return len(counts) > 1 and place % counts[-1] != partition and any(place % n == partition for n in counts[:-1])
