"""The programs of README and docs run: those of a page one after the other, the script in docs/examples."""

import re
import runpy
import socket
import sys
from contextlib import closing, suppress
from pathlib import Path
from types import SimpleNamespace

import beatwire
import matplotlib
import numpy as np
import pytest
from beatwire.archives.store import Store
from beatwire.kafka.local.mock import MockKafka
from beatwire.recordings.synthetic.person import synthesise
from beatwire.wire.avro import decode_chunk
from beatwire.wire.names import SAMPLES
from beatwire_producers.devices.sources import Options, open_source
from device_feeds import feeding
from distributed import Client, LocalCluster
from laws import Signal
from page_folder import write_records
from page_lines import EXAMPLE_PAGES, README, ROOT, blocks

DOCS = ROOT / "docs"
ARCHIVES = DOCS / "how-to" / "archives.md"
PYTHON, TUTORIAL, FEEDS, DEVICES, GATEWAYS = (
    DOCS / "how-to" / "python.md",
    DOCS / "tutorial" / "first-hour.md",
    DOCS / "how-to" / "feed.md",
    DOCS / "how-to" / "live-devices.md",
    DOCS / "how-to" / "gateways.md",
)
(THREE_LINES,) = blocks(README, "python")
FEED, SINK = blocks(FEEDS, "python")
(READER,) = blocks(DEVICES, "python")


def test_no_other_page_has_programs() -> None:
    pages = {README, ARCHIVES, PYTHON, TUTORIAL, FEEDS, DEVICES, GATEWAYS}
    assert {page for page in EXAMPLE_PAGES if blocks(page, "python")} == pages


def test_the_three_lines_of_the_readme_run(capsys: pytest.CaptureFixture[str]) -> None:
    exec(THREE_LINES, {})
    assert re.search(r"^heart rate    median \d+ /min", capsys.readouterr().out, re.MULTILINE)


def test_the_programs_of_the_tutorial_write_the_recording_that_its_commands_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    matplotlib.use("Agg")
    monkeypatch.chdir(tmp_path)
    scope: dict[str, object] = {}
    for program in blocks(TUTORIAL, "python"):
        exec(program, scope)
    assert "beat_class" in capsys.readouterr().out
    assert (tmp_path / "stretch.png").read_bytes()[1:4] == b"PNG"
    again = beatwire.analyze("ecg.csv", fs=250)
    assert again.recording.leads == ("II",)
    assert again.beats["sample"].tolist() == scope["result"].beats["sample"].tolist()  # type: ignore[attr-defined]


def test_the_examples_of_the_page_run_one_after_the_other(capsys: pytest.CaptureFixture[str]) -> None:
    matplotlib.use("Agg")
    programs, scope = blocks(PYTHON, "python"), dict[str, object]()
    for program in programs:
        exec(program, scope)
    printed = capsys.readouterr().out
    assert len(programs) >= 5
    assert "fs: expected a rate of 50-4000 Hz; got 20" in printed
    assert re.search(r"\d+\.\d\d s  \d+ /min  score \d", printed)


def test_the_example_script_finds_its_asystole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    matplotlib.use("Agg")
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(ROOT / "docs" / "examples" / "analyze_and_live.py"))
    assert re.search(r"8[3-6]\.\d s  on +asystole", capsys.readouterr().out)
    assert (tmp_path / "stretch.png").read_bytes()[1:4] == b"PNG"


def test_the_feed_example_sends_chunks_that_can_be_read() -> None:
    from confluent_kafka import Consumer

    chunks = [np.arange(50, dtype=np.int16), np.arange(50, 100, dtype=np.int16)]
    with MockKafka() as kafka:
        exec(FEED, {"bootstrap": kafka.bootstrap, "my_chunks": chunks})
        consumer = Consumer(
            {"bootstrap.servers": kafka.bootstrap, "group.id": "readme", "auto.offset.reset": "earliest"}
        )
        consumer.subscribe([SAMPLES])
        got = consumer.consume(2, 20.0)
        consumer.close()
    decoded = [decode_chunk(message.value()) for message in got]
    assert [(c["stream"], c["first"], len(c["samples"])) for c in decoded] == [("bed-1", 0, 100), ("bed-1", 50, 100)]
    assert all(message.key() == b"bed-1" for message in got)


def test_the_sink_example_prints_beats_and_alerts(capsys: pytest.CaptureFixture[str]) -> None:
    samples = synthesise(1, rate_hz=250.0, seconds=20).recording.samples.copy()
    samples[:, 2500:] = samples[0, 2500]
    signal = Signal("bed-1", samples)
    ticks = [[signal.chunk(a, a + 250)] for a in range(0, 5000, 250)]
    exec(SINK, {"my_messages": ticks})
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("asystole: ") for line in lines)
    assert sum(int(line) for line in lines if line.isdigit()) > 10


def test_the_reader_of_ones_own_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mydevice.py").write_text(READER)
    monkeypatch.syspath_prepend(tmp_path)
    with closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as sender:
        sender.bind(("127.0.0.1", 0))
        port = sender.getsockname()[1] ^ 1
        reader = open_source(f"py:mydevice:Udp:{port}", Options())
        with feeding([("udp", reader)]) as running:
            running.received.wait(lambda: bool(running.received.said))
            for k in (0, 1, 3, 4):
                content = (50 * k).to_bytes(4, "little") + np.arange(50 * k, 50 * k + 50, dtype="<i2").tobytes()
                sender.sendto(content, ("127.0.0.1", port))
            running.received.wait(lambda: running.received.count("bed-1") >= 200)
    expected = np.arange(250)
    expected[100:150] = -1
    np.testing.assert_array_equal(running.received.samples("bed-1")[0], expected)


class StandIn(LocalCluster):
    """A cluster that a page names, as threads of this process."""

    def __init__(self, **_: object) -> None:
        super().__init__(n_workers=1, threads_per_worker=1, processes=False, dashboard_address="127.0.0.1:0")

    def close(self, timeout: float | None = None) -> None:
        """Close the cluster; Dask gives its thread ten seconds to end, which is too short on a busy machine."""
        with suppress(TimeoutError):
            super().close(timeout)

    def scale(self, *_: object, **__: object) -> None:
        """Do nothing: there is one worker."""


@pytest.mark.slow  # two clusters start and end
def test_the_programs_of_the_page_of_archives_run_on_clusters_that_stand_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mitdb").mkdir()
    write_records(tmp_path / "mitdb", ("100",))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "dask_jobqueue", SimpleNamespace(SLURMCluster=StandIn))
    here, slurm = blocks(ARCHIVES, "python")
    with StandIn() as cluster, Client(cluster) as client:
        exec(here.replace('"tables")', '"tables", scheduler=client)'), {"client": client})
    assert "100" in capsys.readouterr().out
    exec(slurm.replace("/data/holter", str(tmp_path / "mitdb")).replace("/data", str(tmp_path / "data")), {})
    assert [list(Store(out).rows()) for out in (tmp_path / "tables", tmp_path / "data" / "tables")] == [["100"]] * 2


def test_the_program_of_a_gateway_makes_a_bundle_and_reads_it() -> None:
    (program,) = blocks(GATEWAYS, "python")
    exec(program, {})
