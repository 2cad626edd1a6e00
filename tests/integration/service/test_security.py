"""A broker with TLS, users and ACLs: each command works with the documented rights; no secret is shown."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import secured
from beatwire.cli.main import app
from beatwire.errors import UserError
from beatwire.kafka import topics
from beatwire.kafka.cluster import Cluster
from beatwire.kafka.consuming import commits
from beatwire.kafka.local.broker import LocalKafka
from beatwire.kafka.publishing.sender import Sender
from beatwire.kafka.reachability import Reachability
from beatwire.kafka.reading.readers import read_active_alerts, read_to_end
from beatwire.service.warmup import warm_up
from beatwire.wire import names
from moments import LIMIT_S, wait_until
from page_client import Client
from typer.testing import CliRunner

pytestmark = pytest.mark.kafka

PASSWORDS = {user: f"planted.{user}.5ecret" for user in ("admin", *secured.USERS)}
SAMPLE = "31234"  # planted in a chunk that can be used and in one that cannot


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> secured.Certificates:
    return secured.Certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def kafka(need_kafka: None, certificates: secured.Certificates) -> Iterator[LocalKafka]:
    warm_up(print)
    with LocalKafka(partitions=0, security=secured.with_users(certificates, PASSWORDS)) as kafka:
        secured.allow(kafka, secured.documented_acls())
        yield kafka


@pytest.fixture
def configured(kafka: LocalKafka, certificates: secured.Certificates, tmp_path: Path) -> Callable[..., Path]:
    """Return a function that writes the configuration of a user, with changes."""

    def write(user: str, **changes: str) -> Path:
        changed = {name.replace("_", "."): value for name, value in changes.items()}
        properties = secured.scram(certificates, user, PASSWORDS[user]) | changed
        lines = [f'"{name}" = "{value}"' for name, value in properties.items()]
        path = tmp_path / f"{user}.toml"
        path.write_text("\n".join(["[kafka]", f'bootstrap = "{kafka.bootstrap}"', "[kafka.properties]", *lines]))
        return path

    return write


class Running:
    """A command of beatwire whose output goes to a file."""

    def __init__(self, folder: Path, *words: str) -> None:
        self.path = folder / f"{words[0]}.log"
        with self.path.open("w") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "beatwire", *words], stdout=log, stderr=subprocess.STDOUT
            )

    def text(self) -> str:
        return self.path.read_text()

    def until(self, done: Callable[[str], object], within_s: float = LIMIT_S) -> None:
        wait_until(lambda: done(self.text()) or self.process.poll() is not None, within_s)
        assert done(self.text()), self.text()

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(LIMIT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def beatwire(*words: str, **environment: str) -> tuple[int, str]:
    """Run a command; return its exit code and all of its output."""
    done = subprocess.run(
        [sys.executable, "-m", "beatwire", *words],
        capture_output=True, text=True, timeout=LIMIT_S, check=False, env=os.environ | environment,
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


def refusal(*words: str) -> str:
    """Run a command in this process; return the one line of its error, which `main` prints with exit code 2."""
    done = CliRunner().invoke(app, words)
    assert isinstance(done.exception, UserError), done
    assert "\n" not in str(done.exception)
    return str(done.exception)


def descendants(pid: int) -> list[int]:
    """Return a process and its children, by the kernel's table."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [pid, *(one for child in children for one in descendants(int(child)))]


def plant(cluster: Cluster) -> None:
    """Send a chunk whose samples are planted, and one that cannot be used."""
    chunk = {
        "stream": "planted", "session": 1, "first": 0, "time": time.time_ns() // 1000, "rate_hz": 250.0,
        "leads": ["II"], "uv_per_unit": 5.0, "lead_off": 0, "samples": [int(SAMPLE), -int(SAMPLE)] * 32,
    }  # fmt: skip
    bad = json.dumps(chunk | {"samples": [SAMPLE, "x"] * 32})
    with Sender(cluster) as sender:
        sender.send(names.SAMPLES, [b"planted"] * 2, [json.dumps(chunk).encode(), bad.encode()])


@pytest.mark.slow  # every command against a broker of its own
def test_each_command_works_with_the_acls_of_the_page_and_shows_no_secret_and_no_sample(
    kafka: LocalKafka, configured: Callable[..., Path], tmp_path: Path
) -> None:
    config = {user: str(configured(user)) for user in secured.USERS}
    output = []
    code, text = beatwire("topics", "--config", config["topics"])
    assert (code, text.count("created")) == (0, len(topics.TOPICS)), text
    words = ("--workers", "2", "--backend", "cpu", "--log-level", "debug", "-X", "debug=security,broker")
    monitor = Running(tmp_path, "monitor", "--config", config["monitor"], *words)
    page = Running(tmp_path, "dashboard", "--config", config["dashboard"], "--port", "0", "-X", "debug=all")
    tail = Running(tmp_path, "tail", "beats", "--json", "--from-beginning", "--config", config["tail"])
    try:
        page.until(lambda text: "http://" in text)
        address = re.search(r"http://\S+", page.text())
        assert address is not None
        plant(kafka.cluster)
        monitor.until(lambda text: text.count("monitoring 127.0.0.1") == 2)
        replay = ("replay", "synthetic:seconds=20,rate=250", "--speed", "8", "--json", "--config", config["producer"])
        code, text = beatwire(*replay)
        assert code == 0, text
        output.append(text)
        wait_until(lambda: commits.group_lag(kafka.cluster, "beatwire") == 0)
        wait_until(lambda: read_active_alerts(kafka.cluster))
        (alert, *_) = read_active_alerts(kafka.cluster)
        for words in (["ack", alert["id"]], ["limits", "planted", "asystole=5"]):
            code, text = beatwire(*words, "--by", "Ada Lovelace", "--config", config[words[0]])
            assert code == 0, text
            output.append(text)
        tail.until(lambda text: text.count("\n") >= 15)
        with Client(address.group()) as client:
            client.expect("ward")
            client.until(lambda: any(m["type"] == "ward" and m["streams"] >= 2 for m in client.messages))
        arguments = [Path(f"/proc/{pid}/cmdline").read_bytes() for pid in descendants(monitor.process.pid)]
        assert len(arguments) == 3  # the parent and its workers
        assert not [line for line in arguments if b"5ecret" in line]
    finally:
        for running in (monitor, page, tail):
            running.stop()
    # A tail shows what it is asked to show: beats, whose sample numbers are no samples.
    output += [monitor.text(), page.text(), beatwire("config", "--config", config["monitor"])[1]]
    assert monitor.process.returncode == page.process.returncode == tail.process.returncode == 0
    assert "SASL" in monitor.text()  # of the debug level
    reasons = [json.loads(value)["rule"] for _, value in read_to_end(kafka.cluster, names.ALERTS) if value]
    assert "no data" in reasons  # alerts were published too
    assert len(list(read_to_end(kafka.cluster, names.DEAD_LETTERS))) == 1
    assert [text for text in output if "5ecret" in text or SAMPLE in text] == []


def test_a_wrong_password_is_one_line_without_the_password(configured: Callable[..., Path]) -> None:
    path = configured("monitor", sasl_password="an.0ther.password")
    expected = "by SASL_SSL with SCRAM-SHA-512 as user 'monitor'; got: SASL authentication error"
    code, text = beatwire("monitor", "--config", str(path))
    assert (code, text.count("\n")) == (2, 1), text
    assert expected in text
    assert "0ther" not in text
    assert expected in refusal("tail", "beats", "--config", str(path))


def test_a_refusal_of_a_client_at_work_is_waited_for_and_then_raised(
    kafka: LocalKafka, certificates: secured.Certificates
) -> None:
    wrong = Cluster(kafka.bootstrap, secured.scram(certificates, "monitor", "wr0ng"))
    reachability = Reachability(wrong, patience_s=1.0)
    began_s = time.monotonic()
    assert not reachability.responds()
    with pytest.raises(UserError, match="SASL authentication error"):
        wait_until(reachability.responds)
    assert time.monotonic() - began_s > 1.0
    assert Reachability(kafka.cluster).responds()


def test_an_untrusted_certificate_is_one_line(configured: Callable[..., Path], tmp_path: Path) -> None:
    stranger = secured.Certificates(tmp_path)
    path = configured("producer", ssl_ca_location=str(stranger.folder / "ca.pem"))
    text = refusal("replay", "synthetic:seconds=5", "--config", str(path))
    assert "got: SSL handshake failed" in text
    assert "certificate verify failed" in text


def test_a_client_without_tls_is_told_to_look_at_the_protocol(kafka: LocalKafka) -> None:
    assert "does security.protocol agree with the listener?" in refusal(
        "topics", "--bootstrap-servers", kafka.bootstrap
    )


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["topics"], "to be allowed to"),
        (["replay", "synthetic:seconds=5"], "user 'nobody' to be allowed to describe topic 'ecg.samples'"),
        (["monitor", "--backend", "cpu"], "user 'nobody' to be allowed to describe topic 'ecg.samples'"),
        (["tail", "alerts"], "user 'nobody' to be allowed to describe topic 'ecg.alerts'"),
        (["dashboard", "--port", "0"], "user 'nobody' to be allowed to describe topic 'ecg.samples'"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_a_missing_acl_is_one_line_of_each_command(
    kafka: LocalKafka, configured: Callable[..., Path], words: list[str], expected: str
) -> None:
    topics.create_topics(kafka.cluster)
    assert expected in refusal(*words, "--config", str(configured("nobody")))


def test_a_missing_acl_of_a_group_or_of_writing_is_named(kafka: LocalKafka, configured: Callable[..., Path]) -> None:
    topics.create_topics(kafka.cluster)
    monitor = ("monitor", "--backend", "cpu", "--config", str(configured("monitor")))
    text = refusal(*monitor, "--group", "another")
    assert "user 'monitor' to be allowed to read ecg.samples as group 'another'" in text
    secured.allow(kafka, [secured.Acl("topics", "topic", "ecg.samples", "literal", ("Read",))])
    text = refusal("replay", "synthetic:seconds=5", "--config", str(configured("topics")))
    assert "user 'topics' to be allowed to write" in text


def test_a_monitor_that_may_read_its_output_and_not_write_it_names_the_topics_before_it_begins(
    kafka: LocalKafka, configured: Callable[..., Path]
) -> None:
    topics.create_topics(kafka.cluster)
    secured.allow(kafka, [secured.Acl("limits", "topic", "ecg.", "prefixed", ("Read",))])
    text = refusal("monitor", "--backend", "cpu", "--config", str(configured("limits")))
    assert "user 'limits' to be allowed to write to ecg.beats, ecg.alerts, ecg.samples.dlq" in text


def test_a_client_is_known_by_the_token_that_it_fetches(kafka: LocalKafka, certificates: secured.Certificates) -> None:
    topics.create_topics(kafka.cluster)
    with secured.TokenServer(PASSWORDS) as identity:
        for password, user in ((PASSWORDS["topics"], "topics"), ("wr0ng", "topics")):
            mine = secured.by_token(certificates, identity.url, user, password)
            words = [word for name, value in mine.items() for word in ("-X", f"{name}={value}")]
            done = CliRunner().invoke(app, ["topics", "--bootstrap-servers", kafka.bootstrap, *words])
            if password == "wr0ng":
                assert isinstance(done.exception, UserError)
                assert "wr0ng" not in str(done.exception)
                assert "token" in str(done.exception).lower()
            else:
                assert (done.exit_code, done.stdout.count("already exists")) == (0, len(topics.TOPICS)), done


def test_a_client_is_known_by_its_certificate(
    need_kafka: None, certificates: secured.Certificates, tmp_path: Path
) -> None:
    with LocalKafka(partitions=0, security=secured.with_certificates(certificates)) as kafka:
        secured.allow(kafka, [acl for acl in secured.documented_acls() if acl.command == "topics"])
        mine = secured.by_certificate(certificates, certificates.issue("topics", "topics.example.org"))
        words = [word for name, value in mine.items() for word in ("-X", f"{name}={value}")]
        done = CliRunner().invoke(app, ["topics", "--bootstrap-servers", kafka.bootstrap, *words])
        assert (done.exit_code, done.stdout.count("created")) == (0, len(topics.TOPICS)), done
        without = words[:4]  # no certificate
        found = refusal("topics", "--bootstrap-servers", kafka.bootstrap, *without)
        assert kafka.bootstrap in found
        assert "alert bad certificate" in found
        assert "ssl.certificate.location" in found
        other = secured.Certificates(tmp_path)
        strange = secured.by_certificate(certificates, other.issue("topics", "topics.example.org"))
        words = [word for name, value in strange.items() for word in ("-X", f"{name}={value}")]
        begin = time.monotonic()
        assert "SSL alert" in refusal("topics", "--bootstrap-servers", kafka.bootstrap, *words)
        assert time.monotonic() - begin < 30
