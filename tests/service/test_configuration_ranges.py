"""The ranges of the keys, and the order of limits: what is refused, and how it is said."""

from pathlib import Path
from typing import get_args

import pytest
from beatwire.configuration.keys import Configuration, keys
from beatwire.configuration.load import load
from beatwire.configuration.settings import settings_of
from beatwire.errors import UserError
from configuration_files import error_of


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "[limits]\nbradycardia_bpm = 60\ntachycardia_bpm = 55",
            "limits.bradycardia_bpm: expected at most 55, which is limits.tachycardia_bpm (beatwire.toml); got 60",
        ),
        ("[limits]\npause_s = 6", "limits.pause_s: expected at most 4, which is limits.asystole_s (default); got 6"),
        (
            "[limits]\nextreme_tachycardia_bpm = 100",
            "limits.extreme_tachycardia_bpm: expected at least 120, which is limits.tachycardia_bpm (default); got 100",
        ),
        (
            "[limits]\nunjudged_s = 50",
            "limits.unjudged_s: expected at most 30, which is limits.long_unjudged_s (default); got 50",
        ),
    ],
)
def test_limits_in_the_wrong_order_are_refused_with_file_key_and_both_values(
    tmp_path: Path, text: str, expected: str
) -> None:
    assert error_of(tmp_path, text) == f"beatwire.toml: {expected}"


def test_limits_of_two_sources_in_the_wrong_order_name_both(tmp_path: Path) -> None:
    message = error_of(tmp_path, "[limits]\npause_s = 3.5", {"BEATWIRE_LIMITS__ASYSTOLE_S": "3"})
    other = "limits.asystole_s (environment variable BEATWIRE_LIMITS__ASYSTOLE_S)"
    assert message == f"beatwire.toml: limits.pause_s: expected at most 3, which is {other}; got 3.5"


def test_every_number_has_a_range_and_every_limit_both_ends_of_it() -> None:
    for section, field in Configuration.model_fields.items():
        for name, one in field.annotation.model_fields.items():
            if {int, float} & {one.annotation, *get_args(one.annotation)}:
                bounds = {type(bound).__name__ for bound in one.metadata}
                assert bounds & {"Ge", "Gt"}, f"{section}.{name}"
                assert section != "limits" or bounds >= {"Ge", "Le"}, f"{section}.{name}"


def test_a_range_refuses_what_the_settings_of_the_graph_refuse() -> None:
    """The graph's own checks name no file: nothing that they refuse may pass the ranges of the keys."""
    numbers = [(key, type(default)) for key, default, *_ in keys() if key.startswith(("limits", "alerts", "streams"))]
    refused = 0
    for key, kind in [one for one in numbers if one[1] in (int, float)]:
        for value in map(kind, (-1, 0, 1e-9, 0.5, 1, 119, 120, 121, 239, 240, 1e6, 1e12)):
            try:
                loaded = load(None, {key: ("-X", value)}, {})
            except UserError:
                refused += 1
            else:
                settings_of(loaded.values)
    assert refused > len(numbers)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[limits]\nno_data_s = true", "limits.no_data_s: expected a value that is not true or false; got True"),
        (
            "[alerts]\nremind_high_s = true",
            "alerts.remind_high_s: expected a value that is not true or false; got True",
        ),
        ("[metrics]\nport = false", "metrics.port: expected a value that is not true or false; got False"),
        ("[streams]\nevict_s = 1e18", "streams.evict_s: expected less than or equal to 1000000000; got 1e+18"),
        ("[monitor]\nworkers = 5000", "monitor.workers: expected less than or equal to 1024; got 5000"),
        ('[monitor]\ngroup = "a\\u0000b"', "monitor.group: expected a name without control characters; got 'a\\x00b'"),
        ("kafka = 3", "expected a table [kafka]; got kafka = 3"),
        ("[[limits]]\npause_s = 3", "expected a table [limits]; got limits = [{'pause_s': 3}]"),
        (
            '\ufeff[kafka]\nprefix = "icu."',
            "expected TOML; got: a byte-order mark before it (save as UTF-8 without one)",
        ),
    ],
)
def test_values_of_another_kind_are_refused(tmp_path: Path, text: str, expected: str) -> None:
    assert error_of(tmp_path, text) == f"beatwire.toml: {expected}"
