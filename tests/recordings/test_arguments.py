"""Arguments of the public functions: what cannot be used is a UserError of one line, never an error of Python's."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import beatwire
import numpy as np
import pandas as pd
import pytest


@cache
def mv() -> np.ndarray:
    return beatwire.analyze("synthetic:seconds=10,rate=250").signal()[0]


@cache
def result() -> beatwire.Result:
    return beatwire.analyze(mv(), 250)


class Odd:
    """An object whose representation fails."""

    def __repr__(self) -> str:
        raise RuntimeError("no representation")


GARBAGE: dict[str, Any] = {
    "zero": 0, "minus": -1, "nan": float("nan"), "inf": float("inf"), "huge": 10**400, "fraction": 0.5, "true": True,
    "complex": 1j, "text": "nonsense", "empty": "", "null character": "a\0b", "bytes": b"x", "list": [1], "lists": [[]],
    "no list": [], "mapping": {}, "array": np.zeros(3), "one": np.array([250.0]), "frame": pd.DataFrame({"a": [1.0]}),
    "object": object(), "odd": Odd(), "function": len, "type": int, "date": pd.Timestamp(0), "nat": pd.NaT, "na": pd.NA,
}  # fmt: skip


def monitor(**options: Any) -> beatwire.Live:
    return beatwire.Live(**{"fs": 250, "units": "mV", "notes": lambda _: None} | options)


CALLS: dict[str, Callable[[Any, Path], Any]] = {
    "analyze source": lambda v, _: beatwire.analyze(v, 250),
    "analyze source without a rate": lambda v, _: beatwire.analyze(v),
    **{
        f"analyze {name}": lambda v, _, name=name: beatwire.analyze(mv(), **{"fs": 250, name: v})
        for name in (
            "fs",
            "leads",
            "units",
            "gain",
            "column",
            "lead",
            "model",
            "backend",
            "memory_bytes",
            "chunk_ms",
            "seed",
        )
    },
    **{
        f"analyze a path, {name}": lambda v, _, name=name: beatwire.analyze("synthetic:seconds=5", **{name: v})
        for name in ("fs", "column", "lead", "gain")
    },
    **{
        f"Live {name}": lambda v, _, name=name: monitor(**{name: v})
        for name in ("fs", "leads", "units", "gain", "resolution_uv", "model", "backend", "stream", "start_s")
    },
    "push": lambda v, _: monitor().push(v),
    "push first": lambda v, _: monitor().push(mv()[:10], v),
    "wait": lambda v, _: monitor().wait(v),
    **{
        f"iterate {name}": lambda v, _, name=name: list(beatwire.iterate([mv()], **{"fs": 250, "units": "mV", name: v}))
        for name in ("fs", "leads", "units", "gain", "model", "backend", "block_samples")
    },
    "iterate source": lambda v, _: list(beatwire.iterate(v, 250)),
    "iterate column of a file": lambda v, folder: list(beatwire.iterate(folder / "x.csv", 250, column=v)),
    "iterate rate of a file": lambda v, folder: list(beatwire.iterate(folder / "x.csv", v)),
    "signal": lambda v, _: result().signal(v),
    "signal seconds": lambda v, _: result().signal(0, v),
    "plot": lambda v, _: result().plot(v),
    "plot seconds": lambda v, _: result().plot(0, v),
    "save": lambda v, _: result().save(v),
    "report": lambda v, _: result().report(v),
    "evaluate": lambda v, _: beatwire.evaluate(v, backend="cpu"),
    **{
        f"evaluate {name}": lambda v, folder, name=name: beatwire.evaluate(folder, **{"backend": "cpu", name: v})
        for name in ("lead", "seed", "noise", "snr", "model", "backend")
    },
    "train": lambda v, folder: beatwire.train(v, [folder], folder / "x.safetensors"),
    "train folders": lambda v, folder: beatwire.train("vae", v, folder / "x.safetensors"),
    "train out": lambda v, folder: beatwire.train("vae", [folder], v),
    "train seed": lambda v, folder: beatwire.train("vae", [folder], folder / "x.safetensors", seed=v),
    "train noise": lambda v, folder: beatwire.train("detector", [folder], folder / "x.safetensors", noise=v),
}


@pytest.mark.parametrize("call", CALLS)
def test_a_wrong_argument_is_an_error_of_one_line(call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.csv").write_text("ECG (mV)\n" + "\n".join(f"{v:.3f}" for v in mv()) + "\n")
    wrong = []
    for what, value in GARBAGE.items():
        try:
            CALLS[call](value, tmp_path)
        except beatwire.UserError as error:
            if "\n" in str(error) or len(str(error)) > 400:
                wrong.append(f"{what}: {error}")
        except Exception as error:
            wrong.append(f"{what}: {type(error).__name__}: {error}")
    assert not wrong
