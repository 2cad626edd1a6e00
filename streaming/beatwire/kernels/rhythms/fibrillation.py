"""Features by which a block is judged to be ventricular fibrillation or flutter.

In:    the descriptions of the last three blocks (``kernels.rhythms.wave_shape``), and the last beats
Out:   float32 features in the order of ``NAMES``
State: none
"""

from beatwire.kernels.rhythms.beat_ring import BEATS, DOUBTFUL, UNKNOWN, UNSURE
from beatwire.kernels.rhythms.wave_shape import NUMBERS, known_number
from beatwire.records import F32, I64, U8, U16

BLOCKS = 3  # that a judgement reads
BEATS_S = 6.0  # of the beats
MARGIN_S = 0.4  # before the end of the block: later beats may not be decided yet

SHAPES = ("leakage", "half", "size", "baseline", "crest", "steep", "bend", "upward")
NAMES = (
    *SHAPES, *(f"mean {name}" for name in SHAPES), *(f"range {name}" for name in SHAPES),
    "beats", "doubtful", "unsure", "mean interval", "range of intervals",
)  # fmt: skip
FIRST_OF_BEATS = 3 * NUMBERS


def write_features(
    end: int, rate_hz: float, blocks: I64, count: int, last_beat: int, intervals: U16, flags: U8, features: F32
) -> None:
    """Write the features of the block that ends at sample ``end``.

    Parameters
    ----------
    blocks : int64 [BLOCKS]
        Packed descriptions, the newest first.
    count
        Beats of the stream so far, the last one at sample ``last_beat``; ``intervals``, ``flags`` [BEATS] are rings.
    """
    for k in range(NUMBERS):
        newest = known_number(int(blocks[0]), k)
        total, least, largest = newest, newest, newest
        for b in range(1, BLOCKS):
            number = known_number(int(blocks[b]), k)
            total += number
            least, largest = min(least, number), max(largest, number)
        features[k] = newest
        features[NUMBERS + k] = total
        features[2 * NUMBERS + k] = largest - least
    write_features_of_beats(end, rate_hz, count, last_beat, intervals, flags, features)


def write_features_of_beats(
    end: int, rate_hz: float, count: int, last_beat: int, intervals: U16, flags: U8, features: F32
) -> None:
    """Write how many beats there were, how doubtful, and mean and range of their intervals in milliseconds."""
    last = end - int(MARGIN_S * rate_hz)
    first = last - int(BEATS_S * rate_hz)
    beats = doubtful = unsure = known = 0
    shortest, longest, total, sample = 1 << 40, 0, 0, last_beat
    for k in range(min(BEATS, count)):
        at = (count - 1 - k) % BEATS
        sample -= int(intervals[(at + 1) % BEATS]) if k > 0 else 0
        if sample <= first:
            break
        if sample > last:
            continue
        beats += 1
        doubtful += int(flags[at]) & DOUBTFUL > 0
        unsure += int(flags[at]) & UNSURE > 0
        if int(flags[at]) & UNKNOWN == 0 and k + 1 < min(BEATS, count):
            interval = int(intervals[at])
            known += 1
            total += interval
            shortest, longest = min(shortest, interval), max(longest, interval)
    features[FIRST_OF_BEATS] = beats
    features[FIRST_OF_BEATS + 1] = doubtful / max(beats, 1)
    features[FIRST_OF_BEATS + 2] = unsure / max(beats, 1)
    features[FIRST_OF_BEATS + 3] = 1000.0 * total / (max(known, 1) * rate_hz)
    features[FIRST_OF_BEATS + 4] = (longest - shortest) * known / max(total, 1) if known > 1 else 0.0
