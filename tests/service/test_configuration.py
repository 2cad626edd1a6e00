"""The configuration: three sources, each over the one before; what is wrong is named with its place."""

from pathlib import Path

import pytest
from beatwire.alerts.settings import KEYS
from beatwire.cli.main import app
from beatwire.configuration.keys import Configuration
from beatwire.configuration.load import check_with_librdkafka, load
from beatwire.configuration.settings import settings_of
from beatwire.errors import UserError
from beatwire.kafka.properties import MASKED
from beatwire.pipeline import HORIZON_S
from beatwire.pipeline.settings import Settings
from configuration_files import error_of, file
from typer.testing import CliRunner

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "beatwire.toml"


def test_an_option_overrides_a_variable_and_a_variable_overrides_the_file(tmp_path: Path) -> None:
    path = file(tmp_path, '[log]\nlevel = "error"\nformat = "json"\n[monitor]\ngroup = "of-file"\nworkers = 3\n')
    environment = {"BEATWIRE_LOG__LEVEL": "warning", "BEATWIRE_MONITOR__GROUP": "of-variable"}
    options = {"monitor.group": ("--group", "of-option"), "log.level": ("--log-level", None)}
    loaded = load(path, options, environment)
    values = loaded.values
    assert (values.log.format, values.log.level, values.monitor.group) == ("json", "warning", "of-option")
    assert values.monitor.workers == 3
    assert {key: loaded.origin(key) for key in ("log.format", "log.level", "monitor.group", "metrics.port")} == {
        "log.format": "beatwire.toml:log.format",
        "log.level": "environment variable BEATWIRE_LOG__LEVEL",
        "monitor.group": "--group",
        "metrics.port": "default",
    }


def test_properties_of_the_three_sources_are_merged_by_name(tmp_path: Path) -> None:
    path = file(tmp_path, '[kafka.properties]\nsecurity.protocol = "SSL"\n"sasl.username" = "a"\nbatch.size = 9\n')
    environment = {"BEATWIRE_KAFKA__PROPERTIES__SASL_PASSWORD": "1e5", "BEATWIRE_KAFKA__PROPERTIES__SASL_USERNAME": "b"}
    loaded = load(path, {"kafka.properties.security.protocol": ("-X", "SASL_SSL")}, environment)
    assert loaded.values.kafka.properties == {
        "security.protocol": "SASL_SSL",
        "sasl.username": "b",
        "batch.size": "9",
        "sasl.password": "1e5",
    }
    assert loaded.origin("kafka.properties.security.protocol") == "-X"
    assert loaded.origin("kafka.properties.batch.size") == "beatwire.toml:kafka.properties.batch.size"


def test_an_empty_variable_counts_as_not_set_and_short_names_are_read(tmp_path: Path) -> None:
    environment = {"BEATWIRE_LOG__LEVEL": "", "BEATWIRE_BOOTSTRAP": "k:1", "BEATWIRE_TOKEN": "a-token-of-24-characters"}
    loaded = load(None, {}, environment)
    assert (loaded.values.log.level, loaded.values.kafka.bootstrap) == ("info", "k:1")
    assert loaded.origin("page.token") == "environment variable BEATWIRE_TOKEN"


@pytest.mark.parametrize("key", ["kafka.bootstrap", "page.token"])
def test_a_short_variable_overrides_the_long_one_as_the_page_says(key: str) -> None:
    short, long = ("k:1", "k:2") if key == "kafka.bootstrap" else ("a-token-of-24-characters", "a-token-of-others")
    names = {"kafka.bootstrap": "BEATWIRE_BOOTSTRAP", "page.token": "BEATWIRE_TOKEN"}
    loaded = load(None, {}, {names[key]: short, f"BEATWIRE_{key.upper().replace('.', '__')}": long})
    section, _, name = key.partition(".")
    assert getattr(getattr(loaded.values, section), name) == short
    assert loaded.origin(key) == f"environment variable {names[key]}"


def test_limits_and_streams_reach_the_graph_with_the_fields_of_its_settings(tmp_path: Path) -> None:
    assert settings_of(load(None, {}, {}).values) == Settings()
    assert set(Configuration().limits.model_dump()) == set(KEYS)
    text = '[limits]\nasystole_s = 6\n[streams]\nevict_s = 999\n[models]\ndetector = "rule"\n'
    settings = settings_of(load(file(tmp_path, text), {}, {}).values)
    assert (settings.alert.limit("asystole"), settings.evict_s, settings.detector) == (6.0, 999.0, "rule")


def test_a_configuration_reaches_a_worker_whole(tmp_path: Path) -> None:
    values = load(EXAMPLE, {"kafka.properties.sasl.password": ("-X", "x")}, {}).values
    assert Configuration.model_validate_json(values.model_dump_json()) == values


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('[kafka]\nbootstap = "x"', "expected a known key; got 'kafka.bootstap' (nearest: kafka.bootstrap)"),
        ("[limit]\nasystole_s = 5", "expected a known key; got 'limit.asystole_s' (nearest: limits.asystole_s)"),
        ("asystole_s = 5", "expected a known key; got 'asystole_s'"),
        ("[limits]\nasystole_s = 20", "limits.asystole_s: expected less than or equal to 10; got 20"),
        ("[limits]\nasystole_s = inf", "limits.asystole_s: expected a finite number; got inf"),
        ("[limits]\nsure = 2", "limits.sure: expected less than or equal to 0.99; got 2"),
        ("[limits]\nmost_errors = 0", "limits.most_errors: expected greater than or equal to 0.1; got 0"),
        ("[streams]\nmost_streams = 0", "streams.most_streams: expected greater than or equal to 1; got 0"),
        ("[streams]\nreorder_s = -5", "streams.reorder_s: expected greater than 0; got -5"),
        ("[streams]\nevict_s = 1", f"streams.evict_s: expected greater than or equal to {2 * HORIZON_S:g}; got 1"),
        ("[alerts]\nshortest_s = -1", "alerts.shortest_s: expected greater than or equal to 0; got -1"),
        ("[alerts]\nremind_low_s = 0.5", "alerts.remind_low_s: expected 0 or at least 1; got 0.5"),
        ('[kafka]\nbootstrap = "x:abc"', "kafka.bootstrap: expected HOST:PORT[,HOST:PORT...]; got 'x:abc'"),
        ('[kafka]\nbootstrap = "x:0"', "kafka.bootstrap: expected HOST:PORT with a port of 1 to 65535; got 'x:0'"),
        ('[compute]\ngpu_memory = "8XB"', "compute.gpu_memory: expected a size like 8GiB or 500MB; got '8XB'"),
        ('[metrics]\nport = "x"', "metrics.port: expected a valid integer"),
        ('[log]\nformat = "xml"', "log.format: expected 'console' or 'json'; got 'xml'"),
        ('[page]\ntoken = "short"', f"page.token: expected at least 16 characters; got {MASKED}"),
        ("[kafka.properties]\nacks = 1", "kafka.properties: expected a property that is not reserved; got 'acks'"),
        ("[kafka.properties]\nsasl.password = [1]", "kafka.properties.sasl.password: expected a text"),
        ("[kafka", "expected TOML; got: "),
    ],
)
def test_a_wrong_key_or_value_names_file_key_expected_and_got(tmp_path: Path, text: str, expected: str) -> None:
    message = error_of(tmp_path, text)
    assert message.startswith("beatwire.toml: ")
    assert expected in message


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("BEATWIRE_LOG_LEVEL", "debug", "got BEATWIRE_LOG_LEVEL (nearest: BEATWIRE_LOG__LEVEL)"),
        ("BEATWIRE_KAFKA__BOTSTRAP", "k", "got BEATWIRE_KAFKA__BOTSTRAP (nearest: BEATWIRE_KAFKA__BOOTSTRAP)"),
        ("BEATWIRE_METRICS__PORT", "x", "environment variable BEATWIRE_METRICS__PORT: metrics.port: expected a valid"),
        ("BEATWIRE_METRICS", "x", "expected JSON in a variable that holds a table"),
        ("BEATWIRE_KAFKA__PROPERTIES__ISOLATION_LEVEL", "x", "got 'isolation.level': beatwire sets it"),
    ],
)
def test_a_wrong_variable_names_itself_and_the_nearest_one(
    tmp_path: Path, name: str, value: str, expected: str
) -> None:
    assert expected in error_of(tmp_path, "", {name: value})


def test_variables_of_other_programs_are_left_alone() -> None:
    assert load(None, {}, {"BEATWIRE_SERVICE_HOST": "10.0.0.1", "BEATWIRE_PORT": "tcp://10.0.0.1:80"}).origins == {}


def test_a_folder_is_no_file_and_so_it_is_said(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"--config: expected a file; got '.*', which is a folder$"):
        load(tmp_path, {}, {})
    with pytest.raises(UserError, match=r"--config: expected a file; got '.*', which there is not$"):
        load(tmp_path / "none.toml", {}, {})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("no.such = 1", 'beatwire.toml: kafka: expected properties that librdkafka accepts; got: No such .* "no.such"'),
        ('security.protocol = "TLS"', 'beatwire.toml: .*Invalid value "TLS" for configuration property "security.prot'),
        ('security.protocol = "SSL"\nssl.ca.location = "/no.pem"', "beatwire.toml: .*ssl.ca.location"),
    ],
)
def test_a_property_that_librdkafka_refuses_is_named_with_its_place(tmp_path: Path, text: str, expected: str) -> None:
    with pytest.raises(UserError, match=expected):
        check_with_librdkafka(load(file(tmp_path, f"[kafka.properties]\n{text}"), {}, {}))


@pytest.mark.parametrize(
    ("name", "value", "delivery"),
    [
        ("retries", "0", "at-least-once"),
        ("message.send.max.retries", "0", "exactly-once"),
        ("session.timeout.ms", "1000", "at-least-once"),
        ("heartbeat.interval.ms", "50000", "exactly-once"),
        ("socket.timeout.ms", "70000", "exactly-once"),
        ("message.timeout.ms", "1", "at-least-once"),
        ("fetch.max.bytes", "10", "exactly-once"),
    ],
)
def test_what_a_monitor_cannot_use_is_refused_by_config_in_the_same_words(
    tmp_path: Path, name: str, value: str, delivery: str
) -> None:
    path = file(tmp_path, f'[kafka.properties]\n"{name}" = "{value}"\n[monitor]\ndelivery = "{delivery}"')
    said = []
    for command in (["config"], ["monitor", "--bootstrap-servers", "127.0.0.1:1"]):
        done = CliRunner().invoke(app, [*command, "--config", str(path)])
        assert isinstance(done.exception, UserError | SystemExit)
        said.append(str(done.exception) if isinstance(done.exception, UserError) else done.output)
    assert said[0] == said[1]
    assert name.replace("message.send.max.", "") in said[0]


def test_what_a_monitor_alone_cannot_use_is_accepted_for_other_commands(tmp_path: Path) -> None:
    loaded = load(file(tmp_path, "[kafka.properties]\nsocket.timeout.ms = 70000"), {}, {})
    check_with_librdkafka(loaded)
    with pytest.raises(UserError, match=r"beatwire.toml: kafka: .*socket.timeout.ms"):
        check_with_librdkafka(loaded, monitors=True)
