"""Settings: values out of range are refused in one line; durations are consistent with each other."""

import math
from dataclasses import FrozenInstanceError

import pytest
from beatwire.errors import UserError
from beatwire.pipeline.settings import Settings
from beatwire.settings import HORIZON_S
from beatwire.stages.detection import nms

DURATIONS = ("pass_s", "reorder_s", "bridge_s", "silence_s", "duplicate_s")


@pytest.mark.parametrize("name", DURATIONS)
@pytest.mark.parametrize("value", [0.0, -1.0, HORIZON_S + 1, math.nan, math.inf])
def test_a_duration_out_of_range_is_refused_with_its_name_and_value(name: str, value: float) -> None:
    with pytest.raises(UserError) as refused:
        Settings(**{name: value})
    assert str(refused.value) == f"settings: expected 0 < {name} <= {HORIZON_S:g}; got {value:g}"


def test_a_longer_nms_window_after_a_peak_than_before_it_is_refused() -> None:
    with pytest.raises(UserError) as refused:
        Settings(nms=nms.Settings(left_s=0.1, right_s=0.2))
    assert str(refused.value) == "settings: expected nms.left_s of at least nms.right_s; got 0.1 and 0.2"


def test_settings_are_frozen() -> None:
    with pytest.raises(FrozenInstanceError):
        Settings().pass_s = 1.0  # type: ignore[misc]


@pytest.mark.parametrize("changed", [{}, {"pass_s": 0.1}, {"pass_s": 20.0}, {"reorder_s": 2.0}, {"bridge_s": 1.0}])
def test_rings_are_long_enough_for_a_pass_the_reorder_window_and_the_samples_that_a_decision_reads(
    changed: dict[str, float],
) -> None:
    s = Settings(**changed)
    assert s.longest_pass_s > max(s.pass_s, s.reorder_s, s.bridge_s)
    assert s.ring_s >= s.nms.block_s + s.design.delay_s + s.longest_pass_s + s.reorder_s
    assert s.response_ring_s >= s.longest_pass_s + s.nms.right_s + s.nms.left_s + s.design.delay_s
    assert s.decide_s < 0.35


def test_each_stage_gets_its_own_settings() -> None:
    s = Settings(pass_s=1.0, reorder_s=0.2, bridge_s=0.1, silence_s=30.0, duplicate_s=20.0, schema_id=9)
    assert (Settings(evict_s=999.0).align().evict_s, s.align().evict_s) == (999.0, 86_400.0)
    a = s.align()
    assert (a.pass_s, a.reorder_s, a.bridge_s, a.silence_s, a.duplicate_s) == (1.0, 0.2, 0.1, 30.0, 20.0)
    assert s.admission().most_banks == s.most_banks
    assert s.decode().schema_id == 9
    assert (s.ring().ring_s, s.ricker().ring_s) == (s.ring_s, s.response_ring_s)
    assert s.ricker().design == s.beats().design == s.design
