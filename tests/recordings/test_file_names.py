"""Files by any name, and what is no file."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.io
from beatwire.cli.main import main
from beatwire.recordings import as_recording, read_recording
from hypothesis import given
from hypothesis import strategies as st
from sources import message_of

MV = np.random.default_rng(7).uniform(-1, 1, 600)
PLAIN = st.binary(min_size=1, max_size=20).filter(
    lambda name: not {0, ord("/")} & {*name} and name not in (b".", b"..")
)


@given(
    name=PLAIN | st.sampled_from([b"n\xfc", b"- a;b", b"#1", b"a\nb", b"~"]),
    kind=st.sampled_from(["csv", "gz", "parquet", "npz", "mat"]),
)
def test_a_file_is_read_by_any_name(name: bytes, kind: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("names")
    table, written = pd.DataFrame({"time": np.arange(600) / 250, "II": MV}), folder / f"x.{kind}"
    if kind in ("csv", "gz"):
        table.to_csv(written, index=False)
    elif kind == "parquet":
        table.to_parquet(written)
    elif kind == "npz":
        np.savez(written, **{column: table[column] for column in table})
    else:
        scipy.io.savemat(written, {column: table[column].to_numpy() for column in table})
    path = folder / os.fsdecode(name + b"." + kind.encode())
    written.rename(path)
    recording = read_recording(path)
    assert (recording.leads, recording.rate_hz, recording.samples.shape) == (("II",), 250, (1, 600))


def test_a_pipe_or_a_device_is_one_error_and_does_not_wait(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "ecg.csv")
    for path in (tmp_path / "ecg.csv", Path("/dev/null")):
        assert message_of(path) == (
            f"{path}: expected a file, which is read twice; got a pipe or a device: save to a file first"
        )
    pd.DataFrame({"II": MV}).to_csv(tmp_path / "real.csv", index=False)
    (tmp_path / "link.csv").symlink_to(tmp_path / "real.csv")
    assert as_recording(tmp_path / "link.csv", fs=250).leads == ("II",)


def test_a_path_that_the_system_refuses_is_one_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    got = "expected a path that can be looked for; got: File name too long"
    assert message_of(Path("x" * 5000)) == f"{'x' * 200}: {got}"
    monkeypatch.setattr("sys.argv", ["beatwire", "evaluate", "x" * 5000])
    with pytest.raises(SystemExit, match="2"):
        main()
    assert capsys.readouterr().err == f"beatwire: {'x' * 200}: {got}\n"
