"""The latent plane: where the model sees each beat, and the beats that it decodes from places of the plane.

The plane is the projection ``latent @ map`` of the model. A place of it is decoded through the shortest latent that is
projected there, the most probable one under the prior of the VAE. A decoded beat is a window of 0.52 s without unit.
"""

from typing import Any

import numpy as np

from beatwire.backends.network import Network
from beatwire.records import F32, F64, Bool
from beatwire.report.figures.axes import chosen_rows
from beatwire.report.figures.style import new_figure
from beatwire.report.study import Study

MOST_POINTS = 2500  # of a group
COLUMNS, ROWS = 9, 6  # decoded beats
_FLATTEST = 0.25  # of the largest decoded beat; one that is smaller is not enlarged to fill its cell
_ROOM = 0.8  # of a cell that a decoded beat fills
_HIDDEN_SHARE = 0.5  # per cent of the beats beyond each edge


def decoded(network: Network, position: F64) -> F32:
    """Return the windows that the model decodes from places of its plane.

    Parameters
    ----------
    position
        float64 [k, 2].

    Returns
    -------
    float32 [k, 256], in units of the usual size.
    """
    latent = position @ np.linalg.pinv(network.map.astype(np.float64))
    hidden = np.maximum(latent @ network.decode + network.decode_bias, 0.0)
    out: F32 = (hidden @ network.output + network.output_bias).astype(np.float32)
    return out


def plane_figure(study: Study, with_decoded: bool) -> Any:
    """Return the plane with the beats of each group and the decoded beats; None if no beat has a place."""
    position = np.stack([np.asarray(study.beats[name], np.float64) for name in ("map_x", "map_y")], axis=1)
    known: Bool = np.isfinite(position[:, 0]) & np.isfinite(position[:, 1])
    if not known.any():
        return None
    low, high = np.percentile(position[known], [_HIDDEN_SHARE, 100 - _HIDDEN_SHARE], axis=0)
    margin = 0.12 * np.maximum(high - low, 0.5)
    low, high = low - margin, high + margin
    figure = new_figure(
        520, "first coordinate of the plane", "second coordinate",
        x_range=(float(low[0]), float(high[0])), y_range=(float(low[1]), float(high[1])),
    )  # fmt: skip
    for group in study.groups:
        rows = chosen_rows(group.rows[known[group.rows]], MOST_POINTS)
        if not len(rows):
            continue
        figure.scatter(
            x=position[rows, 0].astype(np.float32), y=position[rows, 1].astype(np.float32), size=3.5,
            color=group.colour, line_color=None, fill_alpha=0.45,
        )  # fmt: skip
    if with_decoded:
        x, y = _decoded_lines(study.model.network, low, high)
        figure.line(x, y, line_color="white", line_width=3.0, line_alpha=0.8)
        figure.line(x, y, line_color="black", line_width=1.2)
    return figure


def _decoded_lines(network: Network, low: F64, high: F64) -> tuple[F32, F32]:
    """Return decoded beats as one line, drawn in a cell around their places; NaN separates them."""
    cell = (high - low) / np.array([COLUMNS, ROWS])
    across, up = (low[k] + (np.arange(n) + 0.5) * cell[k] for k, n in ((0, COLUMNS), (1, ROWS)))
    centre = np.stack([part.ravel() for part in np.meshgrid(across, up)], axis=1)
    windows = decoded(network, centre)[:, ::2]
    size = np.abs(windows).max(axis=1, keepdims=True)
    size = np.maximum(size, _FLATTEST * size.max())
    t = np.linspace(-0.5, 0.5, windows.shape[1]) * _ROOM
    x = centre[:, :1] + t * cell[0]
    y = centre[:, 1:] + windows / size * (_ROOM / 2) * cell[1]
    gap = np.full((len(centre), 1), np.nan)
    return np.hstack([x, gap]).ravel().astype(np.float32), np.hstack([y, gap]).ravel().astype(np.float32)
