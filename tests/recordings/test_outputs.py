"""Files that commands write: never a source, by any name; complete, or as they were; refused before the work."""

import errno
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import beatwire
import numpy as np
import pytest
import wfdb
from beatwire import outputs
from beatwire.cli.main import app
from beatwire.errors import UserError
from beatwire.outputs import check_output, is_same, write_output
from beatwire.recordings.files import source_files
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

SIGNAL = beatwire.analyze("synthetic:seconds=12,rate=250").signal()[0]


def a_table(path: Path) -> Path:
    path.write_text("ECG (mV)\n" + "\n".join(f"{v:.4f}" for v in SIGNAL) + "\n")
    return path


def a_record(folder: Path, name: str = "r") -> Path:
    wfdb.wrsamp(name, 250, ["mV"], ["II"], SIGNAL[:, None], fmt=["16"], write_dir=str(folder))
    wfdb.wrann(name, "atr", np.array([100, 400]), symbol=["N", "V"], write_dir=str(folder))
    return folder / name


def aliases(source: Path) -> dict[str, Path]:
    """Return names of one file."""
    folder = source.parent
    (folder / "inner").mkdir(exist_ok=True)
    (folder / "linked").symlink_to(folder, target_is_directory=True)
    link, hard = folder / f"link{source.suffix}", folder / f"hard{source.suffix}"
    link.symlink_to(source)
    os.link(source, hard)
    return {
        "itself": source, "a link": link, "a hard link": hard, "with dots": Path(f"{folder}/./{source.name}"),
        "through a folder": folder / "inner" / ".." / source.name,
        "through a linked folder": folder / "linked" / source.name,
    }  # fmt: skip


@pytest.mark.parametrize("command", ["analyze {} --out {}", "analyze {} --alerts {}", "report {} --out {}"])
def test_a_source_is_refused_by_any_of_its_names_and_stays(command: str, tmp_path: Path) -> None:
    ending = ".html" if command.startswith("report") else ".csv"
    source = a_table(tmp_path / f"x{ending}")
    before = source.read_bytes()
    for what, name in aliases(source).items():
        for read, written in ((source, name), (name, source)):
            done = CliRunner().invoke(app, [*command.format(read, written).split(), "--fs", "250"])
            assert isinstance(done.exception, UserError), what
            assert "expected another file than those that are read" in str(done.exception)
            assert source.read_bytes() == before


@pytest.mark.parametrize("ending", ["hea", "dat", "atr"])
def test_no_file_of_a_record_is_written(ending: str, tmp_path: Path) -> None:
    record = a_record(tmp_path)
    target = Path(f"{record}.{ending}")
    before = target.read_bytes()
    for source in (record, record.with_suffix(".hea"), f"file://{record}"):
        done = CliRunner().invoke(app, ["analyze", str(source), "--alerts", str(target)])
        assert "expected another file than those that are read" in str(done.exception)
    with pytest.raises(UserError, match="expected"):
        beatwire.analyze(record).save(target)
    assert target.read_bytes() == before


def test_the_segments_of_a_record_are_its_files(tmp_path: Path) -> None:
    a_record(tmp_path, "s1")
    shutil.copy(tmp_path / "s1.dat", tmp_path / "other.bin")
    (tmp_path / "s2.hea").write_text(
        (tmp_path / "s1.hea").read_text().replace("s1.dat", "other.bin").replace("s1", "s2")
    )
    (tmp_path / "m.hea").write_text(f"m/2 1 250 {2 * len(SIGNAL)}\ns1 {len(SIGNAL)}\ns2 {len(SIGNAL)}\n# m.hea other\n")
    names = {path.name for path in source_files(tmp_path / "m")}
    assert {"m.hea", "s1.hea", "s1.dat", "s2.hea", "other.bin", "s1.atr"} <= names
    assert source_files("synthetic:seconds=3") == source_files("s3://bucket/100") == []


def test_a_file_in_a_folder_of_records_is_not_written(tmp_path: Path) -> None:
    a_record(tmp_path)
    os.link(tmp_path / "r.dat", tmp_path / "page.html")
    done = CliRunner().invoke(
        app, ["evaluate", str(tmp_path), "--html", str(tmp_path / "page.html"), "--backend", "cpu"]
    )
    assert "expected another file than those that are read" in str(done.exception)


@pytest.mark.parametrize("second", ["x.csv", "x.csv.alerts.jsonl", "./x.csv"])
def test_two_outputs_have_two_names(second: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["analyze", "synthetic:seconds=10", "--out", "x.csv", "--alerts", second])
    assert "expected another file than those of --out" in str(done.exception)


@settings(max_examples=draws(60), deadline=None)
@given(st.lists(st.sampled_from([".", "..", "a", "b", "link"]), max_size=6), st.sampled_from(["x", "y"]))
def test_two_spellings_are_one_file_exactly_if_they_open_one(parts: list[str], name: str) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as temporary:
        root = Path(temporary).resolve()
        for folder in ("a", "a/b", "b", "b/a"):
            (root / folder).mkdir()
        for folder in (".", "a", "b", "a/b"):
            (root / folder / "x").write_text(folder)
            (root / folder / "link").symlink_to(root, target_is_directory=True)
        spelled = Path(str(root) + "".join(f"/{part}" for part in parts) + f"/{name}")
        if not Path(os.path.realpath(spelled)).is_relative_to(root):
            return
        same = os.path.realpath(spelled) == str(root / "x")
        assert is_same(spelled, root / "x") is same


NOT_TO_BE_WRITTEN: list[str] = ["/dev/full", "/proc/nope.json", "no/such/folder.json", "."]


@pytest.mark.parametrize("target", NOT_TO_BE_WRITTEN)
def test_a_target_that_cannot_be_written_is_one_line(
    target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert CliRunner().invoke(app, ["analyze", "synthetic:seconds=20,bpm=30", "--out", "b.csv"]).exit_code == 0
    shutil.copy("b.csv.alerts.jsonl", "a.jsonl")
    for command in (["analyze", "synthetic:seconds=20,bpm=30", "--alerts"],
                    ["export", "fhir", "--resource", "device-alert", "--alerts", "a.jsonl", "--out"]):  # fmt: skip
        done = CliRunner().invoke(app, [*command, target])
        assert isinstance(done.exception, UserError), done.output
        assert "\n" not in str(done.exception)


def interrupted(*_: object) -> None:
    raise KeyboardInterrupt


def full(*_: object) -> None:
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize("failure", [interrupted, full])
@pytest.mark.parametrize("step", ["write_bytes", "replace"])
def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(
    failure: Callable[..., None], step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "old.csv").write_text("old")
    monkeypatch.setattr(Path, step, failure)
    with pytest.raises((UserError, KeyboardInterrupt)):
        write_output("--out", tmp_path / "old.csv", "new")
    assert [path.name for path in tmp_path.iterdir()] == ["old.csv"]
    assert (tmp_path / "old.csv").read_text() == "old"


@pytest.mark.parametrize(
    ("number", "content"), [(0, "new"), (errno.EINVAL, "new"), (errno.ENOSPC, "old"), (errno.EDQUOT, "old")]
)
def test_the_disk_stores_a_file_before_it_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, content: str
) -> None:
    path, stored = tmp_path / "file.csv", list[str]()
    path.write_text("old")

    def fsync(file: int) -> None:
        stored.append(path.read_text())
        assert os.fstat(file).st_size == 3
        if number:
            raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", fsync)
    if content == "old":
        with pytest.raises(UserError, match=f"--out: expected to write .*{os.strerror(number)}"):
            write_output("--out", path, "new")
    else:
        write_output("--out", path, "new")
    assert (stored, path.read_text()) == (["old"], content)
    assert [one.name for one in tmp_path.iterdir()] == ["file.csv"]


def test_a_link_stays_a_link_and_rights_stay(tmp_path: Path) -> None:
    (tmp_path / "real.csv").write_text("old")
    (tmp_path / "real.csv").chmod(0o640)
    (tmp_path / "link.csv").symlink_to("real.csv")
    write_output("--out", tmp_path / "link.csv", "new")
    assert (tmp_path / "link.csv").is_symlink()
    assert ((tmp_path / "real.csv").read_text(), (tmp_path / "real.csv").stat().st_mode & 0o777) == ("new", 0o640)


def test_a_new_file_has_the_rights_of_any_new_file(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("")
    write_output("--out", tmp_path / "new", b"x")
    assert (tmp_path / "new").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_a_device_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_output("--out", pipe, "text")
    assert os.read(reader, 10) == b"text"
    os.close(reader)
    assert check_output("--out", pipe) == pipe
    assert pipe.is_fifo()


@pytest.mark.parametrize("name", ["r.pdf", "r", "r.html.gz", "r.csv"])
def test_a_report_ends_in_html(name: str, tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["report", "synthetic:seconds=10", "--out", str(tmp_path / name)])
    assert f"expected a file that ends in .html or .htm; got '{name}'" in str(done.exception)
    assert not list(tmp_path.iterdir())


def test_a_report_without_a_name_has_that_of_its_source_and_replaces_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    a_table(tmp_path / "ward.csv")
    assert CliRunner().invoke(app, ["report", "ward.csv", "--fs", "250"]).exit_code == 0
    assert (tmp_path / "ward.html").stat().st_size > 100_000
    (tmp_path / "ward.html").write_text("mine")
    done = CliRunner().invoke(app, ["report", "ward.csv", "--fs", "250"])
    assert "--out ward.html replaces it" in str(done.exception)
    assert (tmp_path / "ward.html").read_text() == "mine"
    done = CliRunner().invoke(app, ["report", "ward.csv", "ward.csv", "--fs", "250"])
    assert "expected a folder for 2 recordings" in str(done.exception)


def test_every_file_of_a_command_is_written_by_the_one_function() -> None:
    package = Path(outputs.__file__).parent
    writes = ("write_text(", "write_bytes(", ".to_csv(", ".to_parquet(", '.open("w', "savez(")
    allowed = {
        "outputs.py",
        "locks.py",  # of processes
        "kafka/local/broker.py",  # of a broker's own folder
        "bench/chaos/watch.py",  # of a process that is started
        "bench/chaos/workers.py",
        "bench/card/out_of_core_worker.py",
        "bench/recorded.py",
        "bench/broker/feed.py",
        "offline/results/exports.py",  # into memory
        "recordings/readers/packed.py",  # of its own folder
        "recordings/readers/sheets.py",
        "recordings/text/labels.py",
        "recordings/text/packed_rows.py",
        "recordings/text/strays.py",
        "recordings/text/turned.py",
    }
    found = {
        str(path.relative_to(package))
        for path in package.rglob("*.py")
        if any(text in path.read_text() for text in writes)
    }
    assert found <= allowed
