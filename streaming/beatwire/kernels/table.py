"""The table of kernels: every body that a stage calls, by name and with its types.

A kernel runs a body over items, or, if it is ``Serial``, once. An attribute of a table is called with the arguments
of the body that it names; the number of items takes the place of the item::

    backend.kernels.respond(n, fresh.lanes, response_filter, rings, work)

runs ``kernels.detection.ricker.respond(i, ...)`` for ``i`` = 0 ... n - 1. Type checkers check such a call against the
signature of the body.

``Kernels`` run where the rings are (``Backend.kernels``), ``HostKernels`` on the host (``jit.cpu.kernels``). A subclass
decides in ``prepare`` what a call does: ``jit.cpu`` compiles the body and runs it, ``backends.cuda.launch_list``
appends the call to a launch list.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, Concatenate, Generic, ParamSpec, SupportsIndex, TypeVar

from beatwire.kernels import beat_message, copies, streams
from beatwire.kernels.alerts import rules
from beatwire.kernels.classes import beat_class, beat_shape
from beatwire.kernels.detection import beats, fusion, intervals, lead_choice, lead_levels, nms, ricker, windows
from beatwire.kernels.intake import avro, bundles, clock, directory, files, groups, hum, ordering, ring, shards
from beatwire.kernels.peaks import classify, doubt, past_samples
from beatwire.kernels.rhythms import flutter, rhythm, ventricular
from beatwire.kernels.scores import drift, history, scoring, vae

P = ParamSpec("P")
R = TypeVar("R")

WORTH = 512  # items of a microsecond or a fraction of one: to share fewer takes longer than to run them
MIDDLE = 2048  # items of some tens of nanoseconds
LIGHT = 8192  # items of some nanoseconds


class Kernel:
    """An attribute of a table: the body of a kernel, and its name."""

    body: Callable[..., Any]
    name: str

    def __set_name__(self, owner: type, name: str) -> None:
        """Store the name of the attribute."""
        self.name = name


class OverItems(Kernel, Generic[P]):
    """A kernel that runs ``body(i, ...)`` for each item ``i`` of ``n``.

    Parameters
    ----------
    scratch
        Names of arguments, as ``jit.arguments.Flattened`` has them, that only one thread may use at a time.
    kept
        Scratch that may be kept: with more rows than one it has one for each result, and threads share it.
    grain
        How many items are worth another thread of the host; None: items run one after the other.
    """

    def __init__(
        self, body: Callable[Concatenate[int, P], None], *scratch: str, kept: tuple[str, ...] = (),
        grain: int | None = WORTH,
    ) -> None:  # fmt: skip
        self.body, self.scratch, self.kept, self.grain = body, scratch, kept, grain

    def __get__(self, table: Table, owner: type[Table]) -> Callable[Concatenate[SupportsIndex, P], None]:
        """Return what the table calls ``kernel(n, ...)``; from then on it is an attribute of the table."""
        return vars(table).setdefault(self.name, table.prepare(self))  # type: ignore[no-any-return]


class Serial(Kernel, Generic[P, R]):
    """A kernel that runs ``body(...)`` once and returns its result."""

    def __init__(self, body: Callable[P, R]) -> None:
        self.body = body

    def __get__(self, table: Table, owner: type[Table]) -> Callable[P, R]:
        """Return what the table calls ``kernel(...)``; from then on it is an attribute of the table."""
        return vars(table).setdefault(self.name, table.prepare(self))  # type: ignore[no-any-return]


class Table(ABC):
    """Kernels by name."""

    @abstractmethod
    def prepare(self, kernel: Kernel) -> Callable[..., Any]:
        """Return the function that runs a kernel; called when the kernel is first used."""

    @classmethod
    def members(cls) -> Iterator[Kernel]:
        """Yield every kernel of the table."""
        for one in reversed(cls.__mro__):
            yield from (value for value in vars(one).values() if isinstance(value, Kernel))


class Kernels(Table):
    """The kernels between ring and gather: they read and write arrays of a backend."""

    # samples and peaks
    put_back_hum = OverItems(hum.put_back_hum)
    take_out_hum = OverItems(hum.take_out_hum)
    begin_lane = OverItems(ring.begin_lane, grain=LIGHT)
    write_samples = OverItems(ring.write_samples, grain=None)  # of a lane in turn
    write_in_turn = OverItems(ring.write_in_turn)
    respond = OverItems(ricker.respond, "work")
    respond_leads = OverItems(fusion.respond_leads, "work")
    suppress = OverItems(nms.suppress, "work")
    level_peaks = OverItems(lead_levels.level_peaks)

    # heartbeats
    classify_peaks = OverItems(classify.classify_peaks, "stretch", "numbers", "features")
    choose_peaks = OverItems(lead_choice.choose_peaks)
    store_past = OverItems(past_samples.store_past, "work")
    copy_logits = OverItems(doubt.copy_logits, grain=LIGHT)
    count_doubts = OverItems(doubt.count_doubts, grain=LIGHT)
    list_doubts = OverItems(doubt.list_doubts, grain=LIGHT)
    judge_doubt = OverItems(doubt.judge_doubt, "scratch.numbers", "scratch.frames", "scratch.rows", grain=1)
    correct_errors = OverItems(doubt.correct_errors, grain=LIGHT)
    select_beats = OverItems(beats.select_beats, "work")
    store_quiet = OverItems(intervals.store_quiet, grain=None)  # of a lane in turn
    list_beats = OverItems(beats.list_beats, grain=LIGHT)
    list_blocks = OverItems(beats.list_blocks, grain=LIGHT)
    find_waves = OverItems(flutter.find_waves, "work")
    cut_window = OverItems(windows.cut_window, "work")
    measure_shape = OverItems(beat_shape.measure_shape, "work")

    # terms of a score
    time_beat = OverItems(history.time_beat, grain=LIGHT)
    find_usual_size = OverItems(history.find_usual_size)
    write_scale = OverItems(history.write_scale, grain=LIGHT)
    mark_embedded = OverItems(history.mark_embedded, grain=LIGHT)
    compare_with_history = OverItems(history.compare_with_history)
    write_terms = OverItems(history.write_terms, grain=LIGHT)
    score_beat = OverItems(scoring.score_beat)

    # shards of a recording
    mark_owned = OverItems(shards.mark_owned, grain=LIGHT)
    copy_owned = OverItems(shards.copy_owned)


class HostKernels(Kernels):
    """All kernels: those above, and those that only the host runs."""

    # messages, streams and their place
    copy_block = OverItems(copies.copy_block, grain=4)
    may_be_bundle = OverItems(bundles.may_be_bundle, grain=MIDDLE)
    count_chunks = OverItems(bundles.count_chunks, grain=256)
    copy_message = OverItems(bundles.copy_message, grain=256)
    read_chunk = OverItems(avro.read_chunk, grain=MIDDLE)
    find_slot = OverItems(directory.find_slot, grain=MIDDLE)
    find_bank = OverItems(directory.find_bank, grain=MIDDLE)
    enter = Serial(directory.enter)
    note_partition = Serial(directory.note_partition)
    group_chunks = Serial(groups.group_chunks)
    align_group = OverItems(groups.align_group, grain=1)
    count_before = Serial(groups.count_before)
    order_rows = OverItems(groups.order_rows, grain=1)
    take_fresh = OverItems(groups.take_fresh, grain=MIDDLE)
    take_place = OverItems(groups.take_place, grain=MIDDLE)
    mark_seen = Serial(groups.mark_seen)
    copy_position = OverItems(groups.copy_position, grain=MIDDLE)
    note_arrivals = Serial(streams.note_arrivals)
    note_times = OverItems(streams.note_times, grain=MIDDLE)
    add_mark = OverItems(streams.add_mark)
    device_time = OverItems(clock.device_time, grain=MIDDLE)

    # scores, events, alerts and messages
    embed_windows = OverItems(vae.embed_windows, "work", grain=128)
    count_entered = Serial(ordering.count_entered)
    find_begins = OverItems(ordering.find_begins, grain=LIGHT)
    count_merged = OverItems(ordering.count_merged, grain=MIDDLE)
    place_counted = Serial(ordering.place_counted)
    enter_events = Serial(ordering.enter_events)
    merge_lane = OverItems(ordering.merge_lane, grain=MIDDLE)
    find_runs = Serial(ordering.find_runs)
    find_end = OverItems(ordering.find_end, grain=MIDDLE)
    sum_levels = OverItems(scoring.sum_levels)
    find_bins = OverItems(drift.find_bins)
    classify_beats = OverItems(
        beat_class.classify_beats, "work.shape", "work.normal", "work.total", "work.measures", "work.shapes",
        "work.numbers", "work.rows", "work.chosen",
        kept=("work.features",),
    )  # fmt: skip
    track_drift = OverItems(drift.track_drift)
    judge_ventricular = OverItems(ventricular.judge_ventricular, kept=("features",))
    judge_rhythm = OverItems(rhythm.judge_rhythm, kept=("judged.features",))
    find_open = OverItems(streams.find_open, grain=MIDDLE)
    apply_rules = OverItems(rules.apply_rules)
    write_beat = OverItems(beat_message.write_beat)

    # recordings
    take_stretch = OverItems(ring.take_stretch)
    read_piece = OverItems(files.read_piece)
