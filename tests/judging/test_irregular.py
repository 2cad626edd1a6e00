"""The rule of an irregular rhythm, and what a fibrillation of the ventricles hides."""

import pytest
from beatwire.kernels.rhythms.flutter import WAVES
from beatwire.stages import lifecycle
from beatwire.stages.judging import alert
from bedside import Ward, device_chunk, rows_of, states_of

RUN, NO_RUN = 2.0, -5.0


def test_fibrillation_is_announced_in_place_of_ventricular_tachycardia() -> None:
    ward = Ward()
    ward.tick(device_chunk())
    ward.tick(blocks=[("bed", 200, 2)])
    found = rows_of(ward.tick(beats=[("bed", 200 + 50 * k, 130) for k in range(1, 5)], runs=[RUN] * 4))
    assert [name for name, *_ in found] == []


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize(
    ("block_s", "begins"), [((6.5,), [("on", 600)]), ((5.5,), []), ((5.5, 5.9), [])], ids=["after", "before", "twice"]
)
def test_a_beat_is_dominated_by_the_fibrillation_before_it_whenever_it_is_decided(
    late: bool, block_s: tuple[float, ...], begins: list[tuple[str, int]]
) -> None:
    ward = Ward()
    ward.tick(device_chunk())
    before = [("bed", 100 * k, 130.0) for k in range(1, 6)]
    ward.tick(beats=before, runs=[NO_RUN] * 4 + [RUN])
    blocks, last = [("bed", round(100 * s), WAVES) for s in block_s], [("bed", 600, 130.0)]
    found = ward.tick(blocks=blocks) if late else []
    found += ward.tick(beats=last, runs=[RUN]) if late else ward.tick(beats=last, runs=[RUN], blocks=blocks)
    assert states_of(rows_of(found), "ventricular tachycardia") == begins
    assert ("ventricular fibrillation", "on") in [(rule, state) for rule, state, *_ in rows_of(found)]


@pytest.mark.parametrize(
    ("blocks", "last", "begins"), [(2, 400, [("on", 400)]), (2, 401, []), (10, 2000, []), (10, 2001, [("on", 2001)])]
)
def test_a_fibrillation_dominates_what_is_behind_its_beginning_up_to_its_end_also_if_that_is_decided_later(
    ward: Ward, blocks: int, last: int, begins: list[tuple[str, int]]
) -> None:
    ward.tick(blocks=[("bed", 200 * k, WAVES if k == 2 else 0) for k in range(1, blocks + 1)])
    found = rows_of(ward.tick(beats=[("bed", last - 50, 130.0), ("bed", last, 130.0)], runs=[RUN, RUN]))
    assert states_of(found, "ventricular tachycardia") == begins


@pytest.mark.parametrize(
    ("classes", "errors", "begins"), [("NNNNV" * 4, 0.0, True), ("NNNNV" * 4, 2.0, False), ("NNV" * 6, 0.0, False)]
)
def test_a_rhythm_that_ventricular_beats_or_noise_make_irregular_is_no_fibrillation(
    classes: str, errors: float, begins: bool
) -> None:
    ward = Ward()
    ward.tick(device_chunk())
    beats = [("bed", 100 * k, 60.0) for k in range(1, len(classes) + 1)]
    ward.tick(beats=beats, classes=classes)
    last = [("bed", 100 * len(classes) + 100, 60.0, False, errors)]
    assert bool(states_of(rows_of(ward.tick(beats=last, classes="N", atrial=True)), "irregular rhythm")) == begins


def test_an_irregular_rhythm_ends_when_none_of_the_last_decisions_is_for_it() -> None:
    ward = Ward()
    ward.tick(device_chunk())
    found = []
    for begin, held in (
        (1, {"atrial_possible": True}),
        (11, {"atrial": True}),
        (21, {"atrial_possible": True}),
        (31, {}),
    ):
        found += ward.tick(beats=[("bed", 100 * k, 60.0) for k in range(begin, begin + 10)], **held)
    assert states_of(rows_of(found), "irregular rhythm") == [("on", 1100), ("off", 3100)]


def test_an_irregular_rhythm_that_the_beginning_of_a_replay_alone_has_raised_is_not_kept() -> None:
    """A graph that begins has no ventricular beats yet, and announces what they would not let begin."""

    def beats(begin: int, end: int) -> list[tuple[str, int, float]]:
        return [("bed", 100 * k, 60.0) for k in range(begin, end)]

    undisturbed, successor = Ward(), Ward()
    undisturbed.tick(device_chunk())
    successor.tick(device_chunk(1850))
    undisturbed.tick(beats=beats(1, 19), classes="NNV" * 6)
    log = undisturbed.published
    for ward in (undisturbed, successor):
        ward.tick(beats=beats(19, 43), classes="NNV" * 8, atrial=True)
    begun = [a["state"] for a in successor.published if a["rule"] == "irregular rhythm"]
    assert begun == ["on"], "expected the replay to raise it"
    log += undisturbed.published
    assert {(a["rule"], a["state"]) for a in log} == {("trigeminy", "on"), ("frequent ventricular beats", "on")}
    alert.adopt(successor.alert, log)
    lifecycle.adopt(successor.lifecycle, log)
    for begin, classes in ((43, "NNV" * 6), (61, "N" * 18)):
        for ward in (undisturbed, successor):
            ward.tick(beats=beats(begin, begin + 18), classes=classes, atrial=begin == 43)
        assert successor.published == undisturbed.published
