"""The configuration as it is shown: origins, masks, what is missing, the page that describes it."""

import json
import re
import tomllib
from pathlib import Path

import pytest
from beatwire.cli.main import app
from beatwire.configuration.effect import cluster_of
from beatwire.configuration.keys import Configuration
from beatwire.configuration.load import check_with_librdkafka, load
from beatwire.configuration.settings import settings_of
from beatwire.configuration.show import rows
from beatwire.errors import UserError
from beatwire.kafka.properties import MASKED, is_secret, without_secrets
from configuration_files import error_of, file
from typer.testing import CliRunner

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "configuration.md"
EXAMPLE = ROOT / "docs" / "examples" / "beatwire.toml"


def test_a_missing_password_names_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "BEATWIRE_KAFKA__PROPERTIES__SASL_PASSWORD"
    with pytest.raises(
        UserError, match=rf"^beatwire.toml: kafka: .*sasl.password must be set \(in the env\w+: {name}\)$"
    ):
        check_with_librdkafka(load(EXAMPLE, {}, {}))
    check_with_librdkafka(load(EXAMPLE, {}, {name: "planted"}))
    first = PAGE.read_text().split("```sh\n")[1].splitlines()[0]
    assert first == f"export {name}=..."


def test_a_missing_address_names_the_ways_to_give_one() -> None:
    with pytest.raises(UserError, match="--bootstrap-servers, BEATWIRE_KAFKA__BOOTSTRAP or the file of --config"):
        cluster_of(load(None, {}, {}).values)


def test_secrets_are_masked_wherever_a_configuration_is_shown(tmp_path: Path) -> None:
    secrets = {
        name: f"planted-{k}"
        for k, name in enumerate(
            ["sasl.password", "ssl.key.password", "ssl.key.pem", "ssl.keystore.password",
             "sasl.oauthbearer.client.secret", "sasl.oauthbearer.config"]
        )
    }  # fmt: skip
    assert all(map(is_secret, secrets))
    assert not is_secret("ssl.key.location")
    assert not is_secret("sasl.oauthbearer.token.endpoint.url")
    options = {f"kafka.properties.{name}": ("-X", value) for name, value in secrets.items()}
    loaded = load(None, options | {"kafka.bootstrap": ("-X", "k:1"), "page.token": ("--token", "planted" * 3)}, {})
    shown = repr(rows(loaded)) + repr(cluster_of(loaded.values)) + str(cluster_of(loaded.values))
    assert "planted" not in shown
    assert shown.count(MASKED) >= 2 * len(secrets)


@pytest.mark.parametrize("key", ["registry.url", "kafka.properties.sasl.oauthbearer.token.endpoint.url"])
@pytest.mark.parametrize(
    "address",
    [
        "https://r:8081/?apikey=planted",
        "https://r:8081/apis?a=1,2&token=planted",
        "http://one/,http://two/?planted#planted",
        "https://r/#planted",
    ],
)
def test_the_query_of_an_address_is_masked_wherever_it_is_shown(
    key: str, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = load(None, {"kafka.bootstrap": ("-X", "k:1"), key: ("x", address)}, {})
    shown = {row.key: row.value for row in rows(loaded)}[key]
    assert shown.startswith(address.partition(":")[0])
    assert MASKED in shown
    section, _, name = key.removeprefix("kafka.").partition(".")
    section = "kafka__properties" if key.startswith("kafka") else section
    monkeypatch.setenv(f"BEATWIRE_{section}__{name.replace('.', '_')}".upper(), address)
    printed = CliRunner().invoke(app, ["config"]).output + CliRunner().invoke(app, ["config", "--json"]).output
    assert "planted" not in shown + repr(shown) + printed
    assert "planted" not in without_secrets(f"HTTPError: cannot reach {address}: refused")


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("registry.url", "r:8081/?apikey=hunter2", "an http(s) address without user and password"),
        ("registry.url", "http://user:hunter2@h/", "an http(s) address without user and password"),
        ("registry.url", "user:hunter2@h", "(those go into registry.user_info)"),
        ("registry.user_info", "hunter2", "USER:PASSWORD"),
        ("page.token", "hunter2", "at least 16 characters"),
        ("kafka.bootstrap", "user:hunter2@h", "HOST:PORT"),
    ],
)
def test_an_error_of_a_value_that_may_hold_a_secret_masks_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str, value: str, expected: str
) -> None:
    section, _, name = key.partition(".")
    variable = f"BEATWIRE_{section}__{name}".upper()
    table = json.dumps({name: value})
    messages = [
        error_of(tmp_path, f'[{section}]\n{name} = "{value}"'),
        error_of(tmp_path, "", {variable: value}),
        error_of(tmp_path, "", {f"BEATWIRE_{section}".upper(): table}),
        error_of(tmp_path, f'[{section}]\n{name} = ["{value}"]'),
    ]
    monkeypatch.setenv(variable, value)
    messages.append(str(CliRunner().invoke(app, ["config"]).exception))
    assert all(message.endswith(f"got {MASKED}") and f"{key}: " in message for message in messages)
    assert "hunter2" not in "".join(messages)
    assert expected in messages[0]


def test_a_wrong_prefix_is_explained_in_words(tmp_path: Path) -> None:
    expected = "kafka.prefix: expected letters, digits, '.', '_' and '-' alone; got 'a b'"
    assert error_of(tmp_path, '[kafka]\nprefix = "a b"') == f"beatwire.toml: {expected}"


def test_the_command_prints_values_units_and_origins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BEATWIRE_KAFKA__PROPERTIES__SASL_PASSWORD", "planted")
    words = ["config", "--config", str(file(tmp_path, "[limits]\nasystole_s = 5\n")), "-X", "linger.ms=7"]
    text = CliRunner().invoke(app, words).stdout
    lines = {tuple(re.split(r"\s{2,}", line)) for line in text.splitlines()}
    assert ("limits.asystole_s", "5 s", "beatwire.toml:limits.asystole_s") in lines
    assert ("kafka.properties.linger.ms", "7", "-X") in lines
    assert ("log.level", "info", "default") in lines
    found = json.loads(CliRunner().invoke(app, [*words, "--json"]).stdout)["values"]
    assert {row["key"]: row["value"] for row in found}["kafka.properties.sasl.password"] == MASKED
    assert "planted" not in text + json.dumps(found)


def test_the_example_is_accepted_and_shows_every_section() -> None:
    loaded = load(EXAMPLE, {}, {})
    assert set(tomllib.loads(EXAMPLE.read_text())) == set(Configuration.model_fields)
    assert loaded.values.kafka.properties["security.protocol"] == "SASL_SSL"
    settings_of(loaded.values)


@pytest.mark.parametrize(
    "name",
    ["error_cb", "stats_cb", "oauth_cb", "throttle_cb", "logger", "on_delivery", "on_commit", "default.topic.config"],
)
def test_a_property_that_only_a_program_can_set_is_refused_as_one(tmp_path: Path, name: str) -> None:
    text = error_of(tmp_path, f'[kafka.properties]\n"{name}" = "x"')
    assert f"expected a property whose value is a text; got '{name}': programs alone set it" in text


@pytest.mark.parametrize("name", ["topic.blacklist", "fetch.wait.max.ms", "group.instance.id", "test.mock.num.brokers"])
def test_a_property_with_which_nothing_would_be_read_is_reserved(tmp_path: Path, name: str) -> None:
    assert f"got '{name}': " in error_of(tmp_path, f'[kafka.properties]\n"{name}" = "1"')
