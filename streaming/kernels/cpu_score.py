"""The bodies of windows, network, history, drift and flutter compiled for the CPU; see ``cpu``."""

from __future__ import annotations

from typing import Any

from numba.core import config

from streaming.kernels import drift, flutter, history, windows
from streaming.kernels import forward as network
from streaming.kernels.cpu import _fetch, _fetch_ring, cache_folder, compiled, launcher
from streaming.kernels.windows import EARLIEST_S, LATEST_S

_previous = config.CACHE_DIR
config.CACHE_DIR = str(cache_folder())
_cut_window = compiled(windows.cut_window)
_place_in_time = compiled(history.place_in_time)
_in_usual_size = compiled(history.in_usual_size)
_is_known = compiled(history.is_known)
_in_terms = compiled(history.in_terms)
_forward = compiled(network.forward)
_recall_size = compiled(history.recall_size)
_recall_beats = compiled(history.recall_beats)
_find_bins = compiled(drift.find_bins)
_watch = compiled(drift.watch)
_find_waves = compiled(flutter.find_waves)


@launcher
def cut_window(
    n: int,
    lane: Any,
    at: Any,
    base: Any,
    lead: Any,
    rate_hz: Any,
    x: Any,
    work: Any,
    window: Any,
    amplitude: Any,
) -> None:
    """Cut ``n`` windows."""
    for i in range(n):
        if i + 1 < n:
            early = int(EARLIEST_S * rate_hz)
            _fetch_ring(x[lane[i + 1], lead], at[i + 1] - early, early + int(LATEST_S * rate_hz))
        _cut_window(i, lane, at, base, lead, rate_hz, x, work, window, amplitude)


@launcher
def place_in_time(n: int, sample: Any, rr_s: Any, rate_hz: Any, longest_s: Any, time_s: Any, known_rr_s: Any) -> None:
    """Tell when ``n`` beats were."""
    for i in range(n):
        _place_in_time(i, sample, rr_s, rate_hz, longest_s, time_s, known_rr_s)


@launcher
def in_usual_size(n: int, amplitude: Any, usual: Any, scale: Any) -> None:
    """Scale ``n`` beats."""
    for i in range(n):
        _in_usual_size(i, amplitude, usual, scale)


@launcher
def is_known(n: int, scale: Any, scored: Any, known: Any) -> None:
    """Tell which of ``n`` beats can be compared."""
    for i in range(n):
        _is_known(i, scale, scored, known)


@launcher
def in_terms(
    n: int,
    rr_s: Any,
    known: Any,
    distance: Any,
    spread: Any,
    early: Any,
    irregular: Any,
    population: Any,
    history: Any,
    prematurity: Any,
    haste: Any,
    latent: Any,
) -> None:
    """Put ``n`` beats into terms."""
    for i in range(n):
        _in_terms(i, rr_s, known, distance, spread, early, irregular, population, history, prematurity, haste, latent)


@launcher
def forward(
    n: int, windows: Any, scale: Any, first: Any, encode_bias: Any, latent: Any, latent_bias: Any, decode: Any,
    decode_bias: Any, gram: Any, crossed: Any, bias: Any, constants: Any, work: Any, latents: Any, misfit: Any,
) -> None:  # fmt: skip
    """Run the network over ``n`` times four windows."""
    for i in range(n):
        _forward(
            i, windows, scale, first, encode_bias, latent, latent_bias, decode, decode_bias, gram, crossed, bias,
            constants, work, latents, misfit,
        )  # fmt: skip


@launcher
def recall_size(
    n: int,
    run: Any,
    order: Any,
    slot: Any,
    time_s: Any,
    rr_s: Any,
    restart: Any,
    amplitude: Any,
    past_time: Any,
    past_rr: Any,
    past_size: Any,
    reference: Any,
) -> None:
    """Follow the sizes of the beats of ``n`` streams."""
    for i in range(n):
        if i + 1 < n and run[i + 1] < run[i + 2]:
            s = slot[order[run[i + 1]]]
            _fetch(past_time[s], 0, past_time.shape[1])
            _fetch(past_rr[s], 0, past_rr.shape[1])
            _fetch(past_size[s], 0, past_size.shape[1])
        _recall_size(
            i, run, order, slot, time_s, rr_s, restart, amplitude, past_time, past_rr, past_size, reference
        )  # fmt: skip


@launcher
def recall_beats(
    n: int,
    run: Any,
    order: Any,
    slot: Any,
    time_s: Any,
    rr_s: Any,
    restart: Any,
    latent: Any,
    seen: Any,
    past_time: Any,
    past_rr: Any,
    past_latent: Any,
    ordered: Any,
    place: Any,
    distance: Any,
    spread: Any,
    prematurity: Any,
    irregularity: Any,
) -> None:
    """Compare and remember the beats of ``n`` streams."""
    for i in range(n):
        if i + 1 < n and run[i + 1] < run[i + 2]:
            s = slot[order[run[i + 1]]]
            _fetch(past_rr[s], 0, past_rr.shape[1])
            _fetch(past_latent[s, 0], 0, place[s, 1] * past_latent.shape[2])
            _fetch(ordered[s], 0, place[s, 2])
        _recall_beats(
            i, run, order, slot, time_s, rr_s, restart, latent, seen,
            past_time, past_rr, past_latent, ordered, place, distance, spread, prematurity, irregularity,
        )  # fmt: skip


@launcher
def find_waves(n: int, row: Any, end: Any, lane: Any, base: Any, length: int, x: Any, work: Any, flat: Any) -> None:
    """Look at ``n`` blocks."""
    for i in range(n):
        _find_waves(i, row, end, lane, base, length, x, work, flat)


@launcher
def find_bins(
    n: int,
    score: Any,
    latent: Any,
    misfit: Any,
    centre: Any,
    whitener: Any,
    of_score: Any,
    of_latents: Any,
    of_radius: Any,
    of_misfit: Any,
    bins: Any,
    radius: Any,
) -> None:
    """Find the bins of ``n`` beats."""
    for i in range(n):
        _find_bins(
            i, score, latent, misfit, centre, whitener, of_score, of_latents, of_radius, of_misfit, bins, radius
        )  # fmt: skip


@launcher
def watch(
    n: int,
    run: Any,
    events: Any,
    bins: Any,
    seen: Any,
    length: Any,
    levels: Any,
    limit: float,
    counts: Any,
    block: Any,
    unlike: Any,
    over: Any,
    count: Any,
    where: Any,
    out: Any,
) -> None:
    """Count the beats of ``n`` streams."""
    for i in range(n):
        _watch(i, run, events, bins, seen, length, levels, limit, counts, block, unlike, over, count, where, out)


config.CACHE_DIR = _previous
