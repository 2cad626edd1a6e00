"""The cards of a machine: each worker has one, in turn, and its share of the memory."""

import json
from pathlib import Path
from typing import Any

import pytest
from beatwire.backends import cards
from beatwire.backends.cuda.pool import SHARE, share_of
from beatwire.service import workers
from drivers import built_driver
from hypothesis import given
from hypothesis import strategies as st

# A worker: it writes what it was told, and ends with its standard input.
_SCRIPT = """
import json, os, pathlib, sys
told = {"arguments": sys.argv[1:], "card": os.environ.get("CUDA_VISIBLE_DEVICES")}
path = pathlib.Path(__file__).with_name(f"told-{sys.argv[3]}")
path.with_suffix(".part").write_text(json.dumps(told))
path.with_suffix(".part").rename(path)
sys.stdin.read()
"""


def told_to_workers(
    folder: Path, monkeypatch: pytest.MonkeyPatch, count: int, *, with_cards: bool
) -> list[tuple[str | None, list[str]]]:
    """Return the card of each worker, and its options; the workers are stopped once all have begun."""
    (folder / "worker_that_tells.py").write_text(_SCRIPT)
    monkeypatch.setenv("PYTHONPATH", str(folder))

    class Worker(workers.Worker):
        def __init__(self, module: str, *arguments: str, **options: Any) -> None:
            super().__init__("worker_that_tells", *arguments, **options)

    class Signals:
        def __enter__(self) -> Any:
            return self

        def __exit__(self, *_: object) -> None: ...

        def wait(self, _: float) -> bool:
            return self.is_set()

        def is_set(self) -> bool:
            return len(list(folder.glob("told-*[0-9]"))) == count

    monkeypatch.setattr(workers, "Worker", Worker)
    monkeypatch.setattr(workers, "stop_on_signals", Signals)
    workers.run_workers(count, "{}", None, "127.0.0.1", with_cards=with_cards)
    told = [json.loads((folder / f"told-{k}").read_text()) for k in range(1, count + 1)]
    return [(one["card"], one["arguments"][3:]) for one in told]


def test_workers_have_the_cards_in_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    library = built_driver(tmp_path, gpus=2)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setattr(workers, "driver_of", lambda: cards.driver_of(library))
    told = told_to_workers(tmp_path, monkeypatch, 3, with_cards=True)
    assert told == [("0", ["--sharing", "2"]), ("1", ["--sharing", "1"]), ("0", ["--sharing", "2"])]


@pytest.mark.parametrize("with_cards", [False, True])
def test_without_cards_workers_are_told_of_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, with_cards: bool
) -> None:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setattr(workers, "driver_of", lambda: None)
    assert told_to_workers(tmp_path, monkeypatch, 2, with_cards=with_cards) == [(None, []), (None, [])]


@given(workers=st.integers(1, 40), n=st.integers(1, 9))
def test_each_card_has_its_part_of_the_workers(workers: int, n: int) -> None:
    found = cards.places(workers, [cards.Card("A", 1)] * n, {"CUDA_VISIBLE_DEVICES": "5,3,GPU-7,1,2,8,9,6,4"})
    names = [place.card for place in found]
    of_cards = [names.count(name) for name in set(names)]
    assert len(found) == workers
    assert len(of_cards) == min(workers, n)
    assert max(of_cards) - min(of_cards) <= 1
    assert all(place.workers == names.count(place.card) for place in found)
    assert names[0] == "5"


@given(whole=st.integers(1 << 30, 1 << 40), sharing=st.integers(1, 16), others=st.integers(0, 15))
def test_processes_that_share_a_card_find_their_part_whoever_starts_last(whole: int, sharing: int, others: int) -> None:
    each = share_of(whole, whole, sharing)
    assert sharing * each <= SHARE * whole + sharing
    taken = min(others, sharing - 1) * each
    assert share_of(whole - taken, whole, sharing) >= 0.9 * each
