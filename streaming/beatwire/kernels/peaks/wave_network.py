"""Body of the network that judges a peak by its waveform: integers, in matrices of float32.

In:    the channels of a lead around a peak (``kernels.peaks.wave_input``)
Out:   the logit that the peak is a heartbeat
State: none

Two layers of eight taps halve the rate each, to frames of 16 ms. Then each of ``depth`` layers looks back over five
frames, 1, 2, 4, ... of them apart: five taps, a rectifier, a matrix, added to the newest of the five, and a rectifier.
Of a layer only every second frame is read by the next one, so a peak takes a pyramid of frames: 509, 253, 125, ..., 1.

Values and weights are integers. Every sum of products is below 2^24 (``model.waveform`` checks it), so float32 holds it
exactly, in any order and with any instruction, and the logit is the same number on every machine.

Frames before the lane's first sample are zero and not computed: of a peak that is soon after it few are left.

The members of a team (``kernels.team``) share the columns of a matrix; on a card they share tiles
(``jit.cuda.tiles``).
"""

from beatwire.kernels.peaks.wave_input import CHANNELS
from beatwire.kernels.scores.vae import WINDOWS_AT_ONCE, multiply
from beatwire.kernels.team import WIDTH, member, wait
from beatwire.records import F32
from beatwire.records.waveform import WaveNetwork

TAPS, LOOKS = 8, 5  # of the layers that halve the rate, and of those that look back
FRAMES_AT_ONCE, MOST_FRAMES = WINDOWS_AT_ONCE, 32  # in a product; a card has room in 3 times 32 for all of a layer
SHIFT = 20  # bits of the factors of ``requantised``
LOGIT_UNIT = 1 << 16
INPUT, SUMS, HIDDEN = range(3)  # rows of the scratch
FIRST, SECOND, DEEP = range(3)  # rows of ``WaveNetwork.factor``: from ``DEEP`` on two for each layer that looks back


def frames_of(depth: int) -> int:
    """Return the frames that a network of a depth reads for a peak."""
    return (4 << depth) - 3


def grid_of(depth: int) -> int:
    """Return the points of the grid that a network of a depth reads for a peak."""
    halved = 2 * frames_of(depth) + TAPS - 2
    return 2 * halved + TAPS - 2


def requantised(total: int, factor: int, offset: int, most: int) -> int:
    """Return a sum of products in the unit of a layer's output, not below zero."""
    return min(most, max(0, (total * factor + offset) >> SHIFT))


def write_zeros(n: int, columns: int, out: F32) -> int:
    """Write ``n`` frames of zeros and return their number."""
    for m in range(member(), n * columns, WIDTH):
        out[m] = 0.0
    return n


def copy_rows(x: F32, j: int, rows: int, pitch: int, size: int, out: F32) -> None:
    """Copy ``rows`` rows of ``size`` values of ``x`` from row ``j`` on; they begin ``pitch`` values apart."""
    for k in range(rows):
        old, new = x[(j + k) * pitch :], out[k]
        for m in range(member(), size, WIDTH):
            new[m] = old[m]
    wait()


def halve(x: F32, inputs: int, n: int, begin: int, layer: int, matrix: F32, network: WaveNetwork, work: F32,
          out: F32) -> None:  # fmt: skip
    """Write ``n`` frames, each of ``TAPS`` rows of ``inputs`` values of ``x`` that begin two rows apart.

    Frames before ``begin`` are zero.
    """
    columns, size = matrix.shape[1], TAPS * inputs
    factor, offset, most = network.factor[layer], network.offset[layer], int(network.most[layer])
    for j in range(write_zeros(min(begin, n), columns, out), n, FRAMES_AT_ONCE):
        rows = min(FRAMES_AT_ONCE, n - j)
        copy_rows(x, j, rows, 2 * inputs, size, work[INPUT])
        multiply(work[INPUT], size, matrix, work[SUMS])
        wait()
        for k in range(rows):
            sums, frame = work[SUMS, k], out[(j + k) * columns :]
            for h in range(member(), columns, WIDTH):
                frame[h] = requantised(int(sums[h]), int(factor[h]), int(offset[h]), most)
    wait()


def look_back(x: F32, n: int, begin: int, deep: int, network: WaveNetwork, work: F32, out: F32) -> None:
    """Write the ``n`` frames of a layer, each from ``LOOKS`` frames of ``x`` that begin two frames apart."""
    size, wide, narrow = network.narrow.shape[2], DEEP + 2 * deep, DEEP + 2 * deep + 1
    factor, offset, most = network.factor[wide], network.offset[wide], int(network.most[wide])
    factor_out, offset_out, most_out = network.factor[narrow], network.offset[narrow], int(network.most[narrow])
    residual = int(network.residual[deep])
    for j in range(write_zeros(min(begin, n), size, out), n, FRAMES_AT_ONCE):
        rows = min(FRAMES_AT_ONCE, n - j)
        copy_rows(x, j, rows, 2 * size, LOOKS * size, work[INPUT])
        multiply(work[INPUT], LOOKS * size, network.wide[deep], work[SUMS])
        wait()
        for k in range(rows):
            sums, hidden = work[SUMS, k], work[HIDDEN, k]
            for h in range(member(), size, WIDTH):
                hidden[h] = requantised(int(sums[h]), int(factor[h]), int(offset[h]), most)
        wait()
        multiply(work[HIDDEN], size, network.narrow[deep], work[SUMS])
        wait()
        for k in range(rows):
            sums, frame = work[SUMS, k], out[(j + k) * size :]
            newest = x[(2 * (j + k) + LOOKS - 1) * size :]
            for h in range(member(), size, WIDTH):
                added = int(newest[h]) * residual + int(offset_out[h])
                frame[h] = requantised(int(sums[h]), int(factor_out[h]), added, most_out)
    wait()


def before(early: int, taken: int, spacing: int) -> int:
    """Return how many frames are before the lane's first sample, if frame ``j`` ends at point ``taken + spacing j``.

    ``early`` points are before it; the first frame has as many points as it is apart from the next one.
    """
    return max(0, (early + spacing - 1 - taken + spacing - 1) // spacing)


def judge_waveform(channels: F32, early: int, network: WaveNetwork, frames: F32, work: F32) -> int:
    """Return the logit of a peak, in ``LOGIT_UNIT``.

    Parameters
    ----------
    channels : float32 [grid * CHANNELS]
        Of the grid of the network's depth.
    early
        Points of the grid that are before the lane's first sample.
    frames, work
        Scratch, see ``WaveScratch``; ``channels`` may be the first row of ``frames``.
    """
    depth, size = network.narrow.shape[0], network.narrow.shape[2]
    n = frames_of(depth)
    halved = 2 * n + TAPS - 2
    a, b = frames[0], frames[1]
    halve(channels, CHANNELS, halved, before(early, TAPS - 1, 2), FIRST, network.first, network, work, b)
    halve(b, network.first.shape[1], n, before(early, 3 * (TAPS - 1), 4), SECOND, network.second, network, work, a)
    spacing, taken = 4, 3 * (TAPS - 1)
    for deep in range(depth):
        n = (n - LOOKS) // 2 + 1
        taken += (LOOKS - 1) * spacing
        begin = max(0, (early + 3 - taken + 2 * spacing - 1) // (2 * spacing))
        a, b = frames[deep % 2], frames[1 - deep % 2]
        look_back(a, n, begin, deep, network, work, b)
        spacing *= 2
    total = int(network.head[size])
    for h in range(size):
        total += int(network.head[h]) * int(frames[depth % 2, h])
    return total
