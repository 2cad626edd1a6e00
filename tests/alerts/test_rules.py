"""The table of alert rules, and what follows from it."""

import json
import re
from importlib import resources

import numpy as np
import pytest
from beatwire.alerts.limits import ORDER, SETTABLE, check_limits
from beatwire.alerts.rule import Rule
from beatwire.alerts.rules import NUMBERS, RULES, SERVICE_RULES, number_of
from beatwire.alerts.settings import KEYS, Settings
from beatwire.configuration.ranges import UNITS
from beatwire.errors import UserError
from beatwire.kernels.alerts import alert_state
from beatwire.kernels.intake import senders
from hypothesis import given
from hypothesis import strategies as st

EVERY = (*RULES, *SERVICE_RULES)
NAMES = [rule.name for rule in EVERY]


def test_rules_are_numbered_by_their_place_and_named_once() -> None:
    assert [rule.number for rule in RULES] == list(range(len(RULES)))
    assert {rule.number for rule in SERVICE_RULES} == {None}
    assert len({rule.key for rule in EVERY}) == len(EVERY)


@pytest.mark.parametrize("rule", EVERY, ids=NAMES)
def test_a_limit_is_in_its_range_and_stands_in_the_definition(rule) -> None:
    limit = rule.limit
    assert (limit is not None) == ("{limit}" in rule.definition)
    if limit is None:
        return
    assert bool(limit.key) == bool(limit.meaning)
    assert not limit.settable or limit.key
    if limit.key:
        assert limit.least <= limit.default <= limit.most
        suffix = limit.key.rpartition("_")[2]
        assert UNITS.get(suffix, limit.unit) == limit.unit


@pytest.mark.parametrize("key", KEYS)
def test_each_key_of_the_configuration_changes_one_number_of_the_settings(key) -> None:
    limit, meaning = KEYS[key]
    assert meaning.endswith(".")
    before, after = (Settings.of(**{key: value}) for value in (limit.default, limit.least))
    assert before == Settings()
    changed = sum(a != b for a, b in zip(before.limits, after.limits, strict=True))
    assert (
        changed + sum(getattr(before, s) != getattr(after, s) for s in ("missed_s", "ventricular_most_errors", "sure"))
        == 1
    )


def test_a_key_that_is_not_known_is_an_error() -> None:
    with pytest.raises(TypeError):
        Settings.of(asystole=5.0)


def test_limits_in_order_are_so_by_default() -> None:
    defaults = Settings().limits
    assert all(defaults[NUMBERS[low]] <= defaults[NUMBERS[high]] for low, high in ORDER)
    assert set(SETTABLE) <= set(NUMBERS)


def test_the_schema_lists_every_rule() -> None:
    schema = json.loads(resources.files("beatwire.wire").joinpath("schemas/alert.schema.json").read_text("utf-8"))
    assert sorted(schema["properties"]["rule"]["enum"]) == sorted(set(NAMES))
    assert set(schema["properties"]["priority"]["enum"]) == {rule.priority for rule in EVERY}


def test_kernels_know_the_rules_by_their_numbers_in_the_table() -> None:
    assert len(RULES) == alert_state.RULES
    assert [alert_state.latches(rule.number) for rule in RULES] == [rule.latches for rule in RULES]
    fixed = {rule.name: rule.default for rule in RULES}
    assert fixed["anomalous beats"] == alert_state.FEWEST_ANOMALOUS
    assert fixed["flat line"] == 2.0 * alert_state.FLAT_LINE_BLOCKS  # blocks of 2 s
    assert fixed["conflicting senders"] == senders.TURN_US / 1e6


def test_a_limit_below_its_least_or_over_its_most_is_refused_with_its_unit() -> None:
    for rule, limit in SETTABLE.items():
        for value in (limit.least - 0.5, limit.most + 0.5):
            with pytest.raises(UserError, match=f"{limit.least:g} to {limit.most:g} {limit.unit}; got {value:g}"):
                check_limits("bed-1", {rule: value}, Settings().limits)


def test_a_rule_that_raises_a_priority_has_the_name_and_the_texts_of_another_one() -> None:
    for rule in (one for one in RULES if one.raises):
        below = RULES[NUMBERS[rule.name]]
        assert (below.name, below.title, below.text, below.technical) == (
            rule.name, rule.title, rule.text, rule.technical,
        )  # fmt: skip
        assert (below.priority, rule.priority) == ("medium", "high")
        assert number_of(rule.name, rule.priority) == rule.number


@given(st.lists(st.tuples(st.sampled_from(range(len(RULES))), st.integers(0, alert_state.NEVER_BEATS)), max_size=60))
def test_the_beats_since_rules_held_are_each_rules_own(stored: list[tuple[int, int]]) -> None:
    row = np.zeros(alert_state.STATE_COLUMNS, np.int64)
    alert_state.forget_rules(row)
    held = dict.fromkeys(range(len(RULES)), alert_state.NEVER_BEATS)
    for rule, beats in stored:
        alert_state.set_since(row, rule, beats)
        held[rule] = beats
    assert {rule: alert_state.since_of(row, rule) for rule in held} == held
    assert row[alert_state.SINCE_VENTRICULAR] == alert_state.NEVER
    assert (row >= 0).all()


@given(
    rule=st.sampled_from([rule for rule in RULES if "{value:.0f}" in rule.text and "{limit:g}" in rule.text]),
    above=st.floats(-3, 3).map(lambda value: round(value, 3)),
)
def test_the_value_in_the_text_of_an_alert_is_on_the_side_of_the_limit_that_it_was_on(rule: Rule, above: float) -> None:
    assert rule.limit is not None
    limit = rule.limit.default
    found = re.search(r"(?:rate )?([0-9.]+)(?:/min| ventricular)", rule.text_of("on", limit + above, limit))
    assert found is not None
    shown = float(found[1]) - limit
    assert (shown > 0, shown < 0) == (above > 0, above < 0)
    assert abs(shown - above) <= 0.5


@pytest.mark.parametrize("rule", RULES, ids=NAMES[: len(RULES)])
def test_the_text_of_an_alert_has_a_dash_for_a_value_that_is_unknown(rule: Rule) -> None:
    text = rule.text_of("on", float("nan"), rule.default)
    assert "nan" not in text
    assert ("-/min" in text) == ("{value:.0f}/min" in rule.text)
