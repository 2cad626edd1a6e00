"""Body that compares what the leads say of a peak: a beat is on all of them as it was before, an artefact is not.

What a lead says is the magnitude of the wavelet of 22 ms, its size the mean of that over the high peaks of the last ten
seconds. Leads that were silent then take no part.
"""

from __future__ import annotations

from beatwire.kernels.peak_features import (
    ACROSS,
    BACK,
    EVEN,
    FACTS,
    FIRST,
    FIRST_LEAD,
    HEIGHT,
    HIGHEST,
    KEPT,
    LOWEST,
    TURNED,
)
from beatwire.records import F32, F64, I64

MOST_HIGH = 9


def facts_of(leads: int) -> int:
    """Return how many facts of a peak are kept."""
    return FACTS + (leads if leads > 1 else 0)


def neutral(out: F32) -> None:
    """Write what is said where there is nothing to compare with."""
    out[FIRST_LEAD] = out[LOWEST] = out[HIGHEST] = out[EVEN] = 1.0
    out[TURNED] = 0.0


def look_across(c: int, level: float, span: I64, seen: I64, facts: F32, scratch: F64, out: F32) -> None:
    """Compare the leads at the peak ``c``, from ``scratch[ACROSS:]``, with their sizes; one member does this.

    The first lead's height, the lowest, the highest and the mean, and how far the share of the leads has turned.
    """
    leads = facts.shape[1] - FACTS
    size, now = scratch[:leads], scratch[ACROSS : ACROSS + leads]
    for lead in range(leads):
        size[lead] = 0.0
    high = 0
    total = int(seen[0])
    at = total % KEPT
    for _ in range(min(total, KEPT)):
        at = KEPT - 1 if at == 0 else at - 1
        if high == MOST_HIGH or c - int(seen[FIRST + at]) > span[BACK]:
            break
        if float(facts[at, HEIGHT]) > 0.5 * level:
            high += 1
            for lead in range(leads):
                size[lead] += float(facts[at, FACTS + lead])
    neutral(out)
    all_now = all_then = 0.0
    for lead in range(leads):
        size[lead] = size[lead] / max(1, high)
        all_now += now[lead]
        all_then += size[lead]
    if high < 2 or all_now <= 0.0 or all_then <= 0.0:
        return
    speaking = 0
    first = lowest = highest = even = turned = 0.0
    for lead in range(leads):
        if size[lead] < 1.0:
            continue
        height = now[lead] / size[lead]
        if lead == 0:
            first = height
        lowest = height if speaking == 0 else min(lowest, height)
        highest = max(highest, height)
        even += height
        turned += abs(now[lead] / all_now - size[lead] / all_then)
        speaking += 1
    out[FIRST_LEAD], out[LOWEST], out[HIGHEST] = first, lowest, highest
    out[EVEN] = even / max(1, speaking)
    out[TURNED] = turned
