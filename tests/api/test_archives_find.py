"""Which recordings a folder, a pattern or an address holds: each once, under one name, whatever its files are."""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import fsspec
import pytest
from beatwire.archives.find import find
from beatwire.archives.store import Store, shown
from beatwire.errors import UserError
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st

WORDS = st.text(st.characters(categories=("L", "N"), include_characters=" =%-_"), min_size=1, max_size=8)
FOLDERS = st.lists(WORDS.filter(lambda w: w.strip() == w), max_size=2).map("/".join)
ENDINGS = st.sampled_from(
    [".edf", ".BDF", ".dcm", ".acq", ".parquet", ".npy", ".npz", ".csv", ".csv.gz", ".txt", ".tsv"]
)
FILES = st.dictionaries(st.tuples(FOLDERS, WORDS.filter(lambda w: w.strip() == w)), ENDINGS, min_size=1, max_size=6)


def write(folder: Path, *names: str, text: str = "x") -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def names(*sources: object) -> list[str]:
    return [one.name for one in find([str(source) for source in sources])[0]]


@settings(deadline=None, max_examples=draws(30))
@given(FILES)
def test_every_file_of_a_known_ending_is_found_once_here_and_at_an_address(
    tmp_path_factory: pytest.TempPathFactory, drawn: dict[tuple[str, str], str]
) -> None:
    folder = tmp_path_factory.mktemp("find")
    files = [f"{where}/{name}{ending}".lstrip("/") for (where, name), ending in drawn.items()]
    write(folder, *files, "notes.md", ".hidden/ecg.csv")
    assert names(folder) == sorted(files)
    found, notes = find([folder])
    assert notes == [f"{folder}: 1 file was left out, because no recording has such an ending: .md 1"]
    assert all(Path(one.source).is_file() for one in found)
    memory = fsspec.filesystem("memory")
    memory.store.clear()
    memory.put(str(folder), f"/{folder.name}", recursive=True)
    at_address, _ = find([f"memory://{folder.name}"])
    assert [one.name for one in at_address] == sorted(files)
    assert all(one.source.startswith("memory://") for one in at_address)
    assert len({shown(name) for name in files}) == len(files)


def test_the_endings_that_a_remark_does_not_name_are_counted(tmp_path: Path) -> None:
    for number in range(7):
        (tmp_path / f"note.a{number}").touch()
    for name in ("b.a0", "ecg.csv"):
        (tmp_path / name).touch()
    _, notes = find([tmp_path])
    assert notes[0].endswith(
        ": 8 files were left out, because no recording has such an ending: .a0 2, .a1 1, .a2 1, .a3 1, others 3"
    )


def test_a_file_whose_name_is_no_utf_8_is_left_out_and_said(tmp_path: Path) -> None:
    write(tmp_path, "a.csv", os.fsdecode(b"n\xfc.csv"), "ü.csv")
    found, notes = find([tmp_path])
    assert [one.name for one in found] == ["a.csv", "ü.csv"]
    assert notes == [f"{tmp_path}: 1 file was left out, because a name is not UTF-8: n\\udcfc.csv"]


def test_the_files_of_a_record_are_one_recording_and_its_segments_are_none(tmp_path: Path) -> None:
    write(tmp_path, "a/100.hea", text="100 2 360 1000\n100.dat 16 200\n100.dat 16 200\n")
    write(tmp_path, "a/100.dat", "a/100.atr", "a/100.xws", "a/100.qrs")
    write(tmp_path, "b/long.hea", text="long/3 1 250 3000\nlong_layout 0\nlong_1 1000\n~ 1000\nsub/long_2 1000\n")
    write(tmp_path, "b/long_layout.hea", text="long_layout 1 250 0\n~ 0 200\n")
    write(tmp_path, "b/long_1.hea", text="long_1 1 250 1000\nlong_1.dat 16 200\n")
    write(tmp_path, "b/sub/long_2.hea", text="long_2 1 250 1000\nother.dat 16 200\n")
    write(tmp_path, "b/long_1.dat", "b/sub/other.dat")
    write(tmp_path, "c/cinc.hea", text="cinc 1 300 9000\ncinc.mat 16+24 1000/mV\n")
    write(tmp_path, "c/cinc.mat", "c/alone.mat", "c/scan.edf", "table.csv", "SHA256SUMS.txt", "RECORDS")
    assert names(tmp_path) == ["a/100", "b/long", "c/alone.mat", "c/cinc", "c/scan.edf"]
    _, notes = find([tmp_path])
    assert notes[0].startswith(f"{tmp_path}: 2 text files were left out, because there are WFDB records: ")
    (pattern,) = re.findall(r"'(.+)' takes text", notes[0])
    assert "table.csv" in " ".join(names(pattern) + names(str(tmp_path / "*.csv")))
    assert names(tmp_path / "a" / "*") == names(tmp_path / "a" / "100.dat") == names(tmp_path / "a" / "100") == ["100"]
    assert names(tmp_path / "b" / "*.dat") == ["long"]
    assert names(tmp_path / "[ab]") == ["a/100", "b/long"]
    assert names(tmp_path / "a", tmp_path / "table.csv") == ["100", "table.csv"]


def test_a_header_that_names_itself_or_in_a_circle_is_one_recording(tmp_path: Path) -> None:
    write(tmp_path, "a.hea", text="a/1 1 250 1\na 1\n")
    write(tmp_path, "b.hea", text="b/1 1 250 1\nc 1\n")
    write(tmp_path, "c.hea", text="c/1 1 250 1\nb 1\n")
    write(tmp_path, "d.hea", text="\xff\x00")
    assert len(names(tmp_path)) >= 3
    assert set(names(tmp_path)) <= {"a", "b", "c", "d"}


@pytest.mark.parametrize("changed", ["100.hea", "100.dat", "100.atr"])
def test_a_recording_has_another_stamp_when_one_of_its_files_changes(tmp_path: Path, changed: str) -> None:
    write(tmp_path, "100.hea", text="100 1 360 1000\n100.dat 16 200\n")
    write(tmp_path, "100.dat", "100.atr", "ecg.csv")
    before = {one.name: one.stamp for one in find([tmp_path])[0] + find([tmp_path / "*.csv"])[0]}
    os.utime(tmp_path / changed, ns=(5, 5))
    after = {one.name: one.stamp for one in find([tmp_path])[0] + find([tmp_path / "*.csv"])[0]}
    assert before["ecg.csv"] == after["ecg.csv"]
    assert before["100"] != after["100"]


@settings(max_examples=draws(25), deadline=None)
@given(
    names=st.sets(st.sampled_from(["a_physio", "b_ecg", "c_stim", "d_other"]), min_size=1),
    ending=st.sampled_from([".tsv", ".tsv.gz"]), address=st.booleans(), pattern=st.sampled_from(["", "/*", "/*.tsv*"]),
)  # fmt: skip
def test_the_json_of_a_table_of_bids_is_part_of_it(names: set[str], ending: str, address: bool, pattern: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        source = f"{'file://' if address else ''}{folder}{pattern}"
        for name in names:
            (Path(folder) / f"{name}{ending}").write_text("1\n2\n")
            (Path(folder) / f"{name}.json").write_text("{}")
        of_bids = names - {"d_other"}
        before, notes = find([source])
        tables = {one.name: one.stamp for one in before if not one.name.endswith(".json")}
        assert set(tables) == {f"{name}{ending}" for name in names}
        assert [one.name for one in before if one.name not in tables] == (
            ["d_other.json"] if "d_other" in names and pattern == "/*" else []
        )
        assert any("left out" in note for note in notes) is ("d_other" in names and pattern == "")
        for name in names:
            (Path(folder) / f"{name}.json").write_text('{"SamplingFrequency": 250}')
        after = {one.name: one.stamp for one in find([source])[0]}
        assert {name for name in tables if after[name] != tables[name]} == {f"{name}{ending}" for name in of_bids}


def test_the_folder_of_the_results_is_not_searched(tmp_path: Path) -> None:
    write(tmp_path, "ecg.csv", "out/beats/recording=x/0.parquet", "outside/b.csv")
    assert [one.name for one in find([tmp_path], without=tmp_path / "out")[0]] == ["ecg.csv", "outside/b.csv"]


@pytest.mark.parametrize("out", ["ecg", "ecg/", "ecg/../ecg", ".", "link", "memory://"])
@pytest.mark.parametrize("below", ["", "/ward"])
def test_results_among_the_recordings_are_refused_by_name(tmp_path: Path, out: str, below: str) -> None:
    folder = f"memory://{tmp_path.name}" if out == "memory://" else f"{tmp_path}/ecg"
    without = folder if out == "memory://" else f"{tmp_path}/{out}"
    (tmp_path / "ecg" / "ward").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "ecg")
    fsspec.filesystem("memory").pipe_file(f"/{tmp_path.name}/ward/b.csv", b"time,II\n")
    for path in ("a.csv", "ward/b.csv"):
        (tmp_path / "ecg" / path).write_text("time,II\n")
    with pytest.raises(UserError, match="--out: expected a folder that does not hold the recordings"):
        find([f"{folder}{below}"], without=without)
    other = [one.name for one in find([f"{folder}{below}"], without=f"{without}x")[0]]
    assert other == (["b.csv"] if below else ["ward/b.csv"] if out == "memory://" else ["a.csv", "ward/b.csv"])


def test_a_link_to_a_folder_above_does_not_end_in_a_circle(tmp_path: Path) -> None:
    write(tmp_path, "a/ecg.csv")
    (tmp_path / "a" / "up").symlink_to(tmp_path)
    assert names(tmp_path) == ["a/ecg.csv"]


def test_what_cannot_be_found_is_one_error(tmp_path: Path) -> None:
    for source, message in (
        (tmp_path / "none", "expected a folder, a pattern or an address of recordings; there is none"),
        (tmp_path / "*.edf", "no file matches it"),
        (tmp_path, "there is none"),
        ("nothing://bucket", "expected recordings that can be listed"),
    ):
        with pytest.raises(UserError, match=re.escape(f"{source}: ") + f".*{re.escape(message)}"):
            find([source])


def test_two_recordings_of_one_name_are_refused(tmp_path: Path) -> None:
    write(tmp_path, "a/ecg.csv", "b/ecg.csv")
    with pytest.raises(UserError, match="expected one recording of each name"):
        find([tmp_path / "a", tmp_path / "b"])
    assert len(find([tmp_path / "a", tmp_path / "a" / "ecg.csv"])[0]) == 1


@settings(deadline=None)
@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\0/"), min_size=1, max_size=120), min_size=1))
def test_any_name_is_the_name_of_a_file_that_the_file_system_takes(parts: list[str]) -> None:
    name = "/".join(parts)
    path = Path(Store("/out").path("beats", name))
    assert len(path.parts) == 5
    assert len(path.parent.name.encode()) <= 255
    assert shown(shown(name)) == shown(name) or len(name) > 60


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["none", "--out", "out"], "none: expected a folder, a pattern or an address of recordings; there is none"),
        ([".", "--out", "out", "--processes", "2", "--scheduler", "tcp://x:1"], "--processes: expected it without"),
    ],
)
def test_errors_of_arguments_load_nothing_heavy(given: list[str], message: str, tmp_path: Path) -> None:
    program = f"""
import sys
from beatwire.cli.main import app
from beatwire.errors import UserError
try:
    app({["archive", *given]!r}, standalone_mode=False)
except UserError as error:
    print(error)
print({{"numba", "numpy", "pandas", "pyarrow", "scipy", "distributed"}} & set(sys.modules))
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout.startswith(message), done.stderr
    assert done.stdout.splitlines()[-1] == "set()"


def test_links_to_files_are_followed_and_others_are_said(tmp_path: Path) -> None:
    write(tmp_path, "store/x1", "store/x2", "ward/b.csv")
    ward = tmp_path / "ward"
    (ward / "a.csv").symlink_to("../store/x1")
    (ward / "c.csv").symlink_to("../store/not-fetched")
    (ward / "d.csv").symlink_to("nowhere")
    (ward / "up").symlink_to("..")
    for source, base in ((ward, ""), (tmp_path / "ward" / "*", "")):
        found, notes = find([source])
        assert [one.name for one in found] == [f"{base}a.csv", f"{base}b.csv"]
        assert {note.removeprefix(f"{source}: ") for note in notes} >= {
            "2 links were left out, to nothing: c.csv", "1 link was left out, to folders: up",
        }  # fmt: skip
    (tmp_path / "lost").mkdir()
    (tmp_path / "lost" / "a.csv").symlink_to("nowhere")
    with pytest.raises(UserError, match=r"there is none; 1 link was left out, to nothing: a\.csv"):
        find([tmp_path / "lost"])
    before = found[0].stamp
    (tmp_path / "store" / "x1").write_text("other")
    assert find([ward])[0][0].stamp != before
