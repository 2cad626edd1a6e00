"""Messages that wait for the broker on disk: in order, whatever ends in between, and whatever is damaged."""

import fcntl
import itertools
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import IO

import numpy as np
import pytest
from beatwire.errors import FatalError, UserError
from beatwire.locks import claimed
from beatwire_producers.devices import spool as spool_files
from beatwire_producers.devices.entries import entry_of
from beatwire_producers.devices.spool import Spool
from device_feeds import message
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st


@settings(max_examples=draws(60), deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["put", "take", "acknowledged", "end"]), st.integers(1, 40)), max_size=40))
def test_a_spool_gives_every_message_in_order_and_again_only_what_was_not_acknowledged(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int]]
) -> None:
    folder = tmp_path_factory.mktemp("spool")
    spool = Spool(folder)
    put = taken = acknowledged = 0
    largest = spool_files._FILE_BYTES
    spool_files._FILE_BYTES = 300
    try:
        for step, n in [*steps, ("end", 1)]:
            if step == "put":
                spool.put([message(put + k) for k in range(n)])
                put += n
            elif step == "take":
                found = spool.take(n, 0.0)
                assert found == [message(k) for k in range(taken, min(put, taken + n))]
                taken += len(found)
            elif step == "acknowledged":
                spool.all_acknowledged()
                acknowledged = taken
            else:
                spool.close()
                spool = Spool(folder)
                left = spool.take(10_000, 0.0)
                assert len(left) == spool.left
                assert left == [message(k) for k in range(put - len(left), put)]
                assert put - len(left) <= acknowledged
                spool.all_acknowledged()
                taken = acknowledged = put
        spool.finish()
        spool.close()
        assert list(folder.glob("*.spool")) == []
    finally:
        spool_files._FILE_BYTES = largest


def test_a_spool_that_was_torn_gives_what_is_whole(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    spool.put([message(k) for k in range(10)])
    spool.close()
    (path,) = tmp_path.glob("*.spool")
    path.write_bytes(path.read_bytes()[:-3])
    again = Spool(tmp_path)
    assert again.take(100, 0.0) == [message(k) for k in range(9)]
    again.close()


@given(st.data(), st.integers(1, 12))
def test_a_damage_costs_the_messages_that_it_hits_and_is_said(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, n: int
) -> None:
    folder = tmp_path_factory.mktemp("spool")
    spool = Spool(folder)
    spool.put([message(k) for k in range(n)])
    spool.close()
    (path,) = folder.glob("*.spool")
    content = bytearray(path.read_bytes())
    whole, ends = bytes(content), np.cumsum([len(entry_of(message(k))) for k in range(n)]).tolist()
    kind = data.draw(st.sampled_from(["zeros behind", "zeros", "bit"]))
    hit = data.draw(st.integers(0, len(content) - 1))
    last = min(len(content) - 1, hit + data.draw(st.integers(0, 60))) if kind == "zeros" else hit
    if kind == "zeros behind":
        content += bytes(data.draw(st.integers(1, 200)))
    elif kind == "zeros":
        content[hit : last + 1] = bytes(last + 1 - hit)
    else:
        content[hit] ^= 1 << data.draw(st.integers(0, 7))
    path.write_bytes(content)
    spared = [k for k, (a, b) in enumerate(itertools.pairwise([0, *ends])) if content[a:b] == whole[a:b]]
    again = Spool(folder)
    assert again.take(100, 0.0) == [message(k) for k in spared]
    between = bool(spared) and spared[-1] + 1 > len(spared)
    assert again.lost == int(between)
    again.finish()
    again.close()
    assert bool(list(folder.glob("*.damaged"))) == between
    assert not list(folder.glob("*.spool"))


def test_what_is_left_of_damaged_files_is_kept_until_somebody_deletes_it(tmp_path: Path) -> None:
    for turn in range(3):
        path = tmp_path / f"{turn + 1:012}.spool"
        spool = Spool(tmp_path)
        spool.put([message(k) for k in range(3)])
        spool.close()
        path.write_bytes(path.read_bytes().replace(b"\0", b"\1", 1 + turn))
        again = Spool(tmp_path)
        again.take(100, 0.0)
        again.finish()
        again.close()
        assert len(list(tmp_path.glob("*.damaged"))) == turn + 1


def test_a_spool_belongs_to_one_process(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    program = (
        f"from pathlib import Path; from beatwire_producers.devices.spool import Spool; Spool(Path({str(tmp_path)!r}))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "expected a folder of one process; another one uses it" in done.stderr
    spool.close()
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match=r"--spool .*file.*: expected a folder that can be written"):
        Spool(tmp_path / "file" / "below")


def test_a_spool_that_ends_deletes_its_lock_before_another_process_can_take_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused: list[str] = []

    def unlink(path: Path, *, of: Callable[[Path], None] = Path.unlink) -> None:
        with pytest.raises(UserError) as caught:
            Spool(tmp_path)
        refused.append(str(caught.value))
        of(path)

    spool = Spool(tmp_path)
    monkeypatch.setattr(Path, "unlink", unlink)
    spool.close()
    (text,) = refused
    assert text.endswith("expected a folder of one process; another one uses it")
    assert not list(tmp_path.iterdir())


def test_a_lock_that_is_deleted_while_it_is_taken_is_taken_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, deleted = tmp_path / "lock", list[int]()

    def flock(file: IO[str], how: int, *, of: Callable[[IO[str], int], None] = fcntl.flock) -> None:
        of(file, how)
        if not deleted:
            deleted.append(file.fileno())
            path.unlink()

    monkeypatch.setattr(fcntl, "flock", flock)
    held = claimed(path)
    assert held is not None
    assert deleted
    assert claimed(path) is None
    held.close()
    again = claimed(path)
    assert again is not None
    again.close()


def test_a_spool_is_synchronised_once_a_second_and_at_the_end_of_a_file(tmp_path, monkeypatch) -> None:
    synced, now_s = [], [100.0]
    monkeypatch.setattr(spool_files.os, "fsync", synced.append)
    monkeypatch.setattr(spool_files.time, "monotonic", lambda: now_s[0])
    spool, counts = Spool(tmp_path), []
    for k in range(30):
        spool.put([message(k)])
        now_s[0] += 0.1
        counts.append(len(synced))
    spool.close()
    assert counts[:9] == [2] * 9, "the file, and its name in the folder"
    assert 4 <= counts[-1] <= 5
    assert len(synced) == counts[-1] + 1


def test_a_spool_reads_a_file_once_however_few_messages_are_taken(tmp_path, monkeypatch) -> None:
    read = []
    monkeypatch.setattr(
        spool_files, "entries_of", lambda content, of=spool_files.entries_of: read.append(len(content)) or of(content)
    )
    spool = Spool(tmp_path)
    spool.put([message(k) for k in range(500)])
    taken = [spool.take(3, 0.0) for _ in range(167)]
    assert [m for some in taken for m in some] == [message(k) for k in range(500)]
    assert sum(read) <= (tmp_path / "000000000001.spool").stat().st_size
    spool.close()


def test_what_an_earlier_feed_has_left_is_not_in_memory_at_once(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(spool_files, "_FILE_BYTES", 300_000)
    spool = Spool(tmp_path)
    for k in range(40):
        spool.put([message(k, 1_000) for k in range(100 * k, 100 * k + 100)])
    spool.close()
    tracemalloc.start()
    spool = Spool(tmp_path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert spool.left == 4_000
    assert peak < 1_500_000, "of 4 MB in 13 files"
    spool.close()


@pytest.mark.parametrize("call", ["take", "acknowledged", "begin"])
def test_an_error_of_the_disk_is_one_line(tmp_path, monkeypatch, call) -> None:
    spool = Spool(tmp_path)
    spool.put([message(k) for k in range(10)])

    def fail(*_: object) -> None:
        raise OSError(5, "Input/output error")

    if call == "take":
        monkeypatch.setattr(spool, "_read_on", fail)
        with pytest.raises(FatalError, match=r"--spool .*: cannot be read: Input/output error"):
            spool.take(3, 0.0)
    elif call == "acknowledged":
        monkeypatch.setattr(spool, "_delete", fail)
        with pytest.raises(FatalError, match=r"--spool .*: cannot be written: Input/output error"):
            spool.all_acknowledged()
    else:
        spool.close()
        monkeypatch.setattr(Path, "read_bytes", fail)
        with pytest.raises(FatalError, match=r"--spool .*: cannot be read: Input/output error"):
            Spool(tmp_path)
        return
    spool.close()


def test_what_a_full_disk_has_taken_of_a_batch_is_sent(tmp_path, monkeypatch) -> None:
    spool = Spool(tmp_path)
    spool.put([message(0)])
    assert spool.take(5, 0.0) == [message(0)]

    class Full:
        """A file on a disk with room for some messages."""

        def write(self, content: bytes) -> None:
            written.write(content[: len(content) // 2])
            written.flush()
            raise OSError(28, "No space left on device")

        close = property(lambda _: written.close)

    written = spool._written
    monkeypatch.setattr(spool, "_written", Full())
    with pytest.raises(FatalError, match="cannot be written: No space left on device"):
        spool.put([message(k) for k in range(1, 11)])
    assert 3 <= len(spool.take(20, 0.0)) <= 5
    assert len(spool) == 0
    monkeypatch.setattr(spool, "_written", written)
    spool.close()
