"""The notebook in docs/examples runs from top to bottom, and its plane parts the classes of beats."""

import ast
import json
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pytest

NOTEBOOK = json.loads((Path(__file__).parents[2] / "docs" / "examples" / "heartbeats.ipynb").read_text())
CELLS = ["".join(cell["source"]) for cell in NOTEBOOK["cells"] if cell["cell_type"] == "code"]


def test_the_notebook_has_ten_cells_and_what_they_show() -> None:
    assert len(CELLS) == 10
    code = [cell for cell in NOTEBOOK["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == list(range(1, 11))
    assert sum("image/png" in output.get("data", {}) for cell in code for output in cell["outputs"]) == 6
    assert (NOTEBOOK["nbformat"], len({cell["id"] for cell in NOTEBOOK["cells"]})) == (4, 20)


@pytest.mark.slow  # trains a network
def test_the_cells_run_and_beats_of_a_class_lie_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch", reason="needs torch (pip install 'beatwire[train]')")
    monkeypatch.chdir(tmp_path)
    matplotlib.use("Agg")
    from matplotlib import pyplot

    threads, scope = torch.get_num_threads(), dict[str, Any]()
    try:
        for cell in CELLS:
            exec(compile(ast.parse(cell), "cell", "exec"), scope)
    finally:
        torch.set_num_threads(threads)
        pyplot.close("all")
    is_wide = (scope["beats"]["beat_class"] == "V").to_numpy()
    places = scope["latents"]
    centres = np.array([places[is_wide].mean(axis=0), places[~is_wide].mean(axis=0)])
    nearest = np.linalg.norm(places[:, None] - centres, axis=2).argmin(axis=1)
    assert ((nearest == 0) == is_wide).mean() > 0.95
    assert scope["losses"][-1] < scope["losses"][0] / 5
    assert len(scope["live_latents"]) > 60
    assert np.isfinite(scope["live_latents"]).all()
