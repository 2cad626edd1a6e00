"""Law 1 for gateways: a ward in bundles gives what single messages give, to the bit, also after a recovery."""

import itertools
import random
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from beatwire.page.traces import Traces
from beatwire.pipeline import Pipeline
from beatwire.pipeline.settings import Settings
from beatwire.records import RawTick
from beatwire.wire.bundles import encode_bundle
from drawn_streams import KINDS, Sent, differences, drawn, in_ticks, undisturbed, with_successors
from received import Received, letters_among
from steps import chunk


def bundled(sent: Sequence[Sent], bounds: Sequence[int], cuts: Sequence[int]) -> tuple[list[RawTick], list[RawTick]]:
    """Return ticks of bundles, and ticks of the same messages alone: each has the arrival of its bundle."""
    groups = [sent[a:b] for a, b in itertools.pairwise(bounds)]
    packed = [Sent(group[-1].arrived_us, encode_bundle([one.value for one in group]), "a bundle") for group in groups]
    ticks = in_ticks(packed, cuts)
    whole = [[one for group in groups[a:b] for one in group] for a, b in itertools.pairwise(cuts)]
    singly = [
        RawTick.of([one.value for one in part], now_us=tick.now_us) for part, tick in zip(whole, ticks, strict=True)
    ]
    sizes = [[len(group) for group in groups[a:b]] for a, b in itertools.pairwise(cuts)]
    return ticks, [
        replace(tick, arrival_us=np.repeat(of.arrival_us, size), caught_up=False)
        for tick, of, size in zip(singly, ticks, sizes, strict=True)
    ]


@pytest.mark.parametrize("seed", range(2))
def test_a_ward_in_bundles_gives_to_the_bit_what_single_messages_give(seed: int) -> None:
    rng = random.Random(seed)
    sent = [
        one._replace(value=one.value.replace(b"\x06bed", b"\x06be%d" % (k % 2)))
        for k, one in enumerate(itertools.chain(*[(one, one) for one in drawn(rng, 120, rng.sample(KINDS, 3))]))
    ]
    bounds = sorted({0, len(sent), *(rng.randrange(len(sent)) for _ in range(60))})
    cuts = sorted({0, len(bounds) - 1, *(rng.randrange(1, len(bounds) - 1) for _ in range(20))})
    ticks, singly = bundled(sent, bounds, cuts)
    expected = undisturbed(singly)
    assert len(expected.beats) == 2
    assert not differences(expected, undisturbed(ticks))
    takeovers = sorted(rng.sample(range(1, len(ticks)), 2))
    assert not differences(expected, with_successors(ticks, takeovers))


def test_the_page_shows_the_streams_of_a_gateway_as_any_other() -> None:
    sent = drawn(random.Random(1), 20, KINDS[:2])
    ticks, singly = bundled(sent, range(0, len(sent) + 1, 5), [0, 1, 3, len(sent) // 5])
    one, other = Traces(), Traces()
    for a, b in zip(ticks, singly, strict=True):
        one.add(a)
        other.add(b)
    slot = one.numbers["bed"]
    stop = int(one.ints["stop"][slot])
    assert stop == int(other.ints["stop"][other.numbers["bed"]]) > 0
    first, samples = one.since(slot, 0, 1)
    assert (first, samples.tolist()) == (lambda found: (found[0], found[1].tolist()))(other.since(slot, 0, 1))


def test_a_graph_publishes_the_dead_letter_of_a_chunk_with_the_place_of_its_bundle() -> None:
    sent = [b"?", encode_bundle([b"one", chunk(), b"three"])]
    letters = letters_among(Pipeline(Settings()).emit(RawTick.of(sent), Received(sent, 7)))
    assert [(letter.offset, letter.value, letter.chunk) for letter in letters] == [
        (7, b"?", None), (8, b"one", 0), (8, b"three", 2),
    ]  # fmt: skip
