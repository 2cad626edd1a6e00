"""What the user says of a device that states it itself is refused, not left aside."""

import pytest
from beatwire.cli.main import app
from beatwire.errors import UserError
from beatwire_producers.devices.sources import OWN, SCHEMES, Options, check_options
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

GIVEN = {"stream": "bed-1", "fs": 250.0, "gain": 200.0, "column": "0"}
TAKES = {scheme: set(kind.takes) for scheme, kind in SCHEMES.items()} | {OWN: set[str]()}


@given(schemes=st.lists(st.sampled_from([*TAKES]), max_size=3), names=st.sets(st.sampled_from([*GIVEN])))
def test_an_option_that_no_source_takes_is_refused(schemes: list[str], names: set[str]) -> None:
    options = Options(**{name: GIVEN[name] for name in names})  # type: ignore[arg-type]
    unused = names - set[str]().union(*(TAKES[scheme] for scheme in schemes))
    sources = [f"{scheme}:x" for scheme in schemes]
    if not schemes or not unused:
        check_options(sources, options)
        return
    with pytest.raises(UserError, match=r"^--\w+: expected a device that does not state it; ") as refused:
        check_options(sources, options)
    assert str(refused.value)[2:].partition(":")[0] in unused


@pytest.mark.parametrize("command", ["feed", "watch"])
@given(name=st.sampled_from(["fs", "gain"]), value=st.sampled_from(["0", "-0.0", "-3", "nan", "inf", "-inf", "1e400"]))
def test_a_number_that_no_rate_and_no_gain_can_be_is_refused_before_anything_is_opened(
    command: str, name: str, value: str
) -> None:
    done = CliRunner().invoke(app, [command, "serial:/dev/nowhere", f"--{name}", value])
    assert isinstance(done.exception, UserError)
    assert str(done.exception).startswith(f"--{name}: expected ")


@pytest.mark.parametrize("command", ["feed", "watch"])
@pytest.mark.parametrize("words", ["--fs 500", "--column 0", "--gain 200", "--stream bed-1"])
def test_a_class_of_the_user_states_all_itself(command: str, words: str) -> None:
    done = CliRunner().invoke(app, [command, "py:mine:Device", *words.split()])
    assert isinstance(done.exception, UserError)
    assert str(done.exception) == f"{words.split()[0]}: expected a device that does not state it; py:mine:Device does"
