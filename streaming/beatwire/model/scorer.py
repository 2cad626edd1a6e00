"""A network of one's own that scores windows, in place of the reconstruction error of the VAE.

In:    ``FILE.pt2`` of ``torch.export``: windows float32 [beats, 256] -> float32 [beats], the larger the stranger, or
       latents [beats, n], whose squared length is that; with the values of normal beats in it (``save_scorer``)
Out:   reconstruction errors that are as rare among normal beats
State: why the network failed last

A value becomes the reconstruction error that as many normal beats exceed: what follows (score, drift) needs no other
tables. Windows and results are shared with torch by DLPack, without a copy, on the card as on the processor. A beat's
value depends on its own window alone. A network that cannot be used is an error when it is loaded. One that fails later
gives no scores, and the reason (``failure``); one value that is not finite costs the score of its beat alone. Beats and
rules do not depend on it.
"""

import hashlib
import importlib.util
import io
import json
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from beatwire.errors import UserError
from beatwire.kernels.detection.windows import WINDOW
from beatwire.kernels.scores.scoring import SLOPE_KNOTS
from beatwire.outputs import write_output
from beatwire.records import F32, F64
from beatwire.records.scoring import Calibration

SUFFIX = ".pt2"
TABLE = "beatwire.json"  # inside of the file
FORMAT = 1
SIZES = (1, 2, 5, 64)  # of the batches that a network is tried with
NEAR = 1e-3  # values of a window alone and among others
LEAST_BEATS = 30  # normal beats: the tables end at the rarest of them, and are continued
FAR = 10.0  # levels that the tables are continued for


class Scorer:
    """A loaded network; ``score_into`` is what backends call.

    name      of the file and a hash of it
    failure   why it gave no values, or not all of them, the last time; None: it gave all
    """

    def __init__(self, name: str, network: Any, values: F32, errors: F64) -> None:
        import torch

        self.name, self.failure = name, None  # type: str, str | None
        self._torch: Any = torch
        self._network = network
        self._values, self._errors = (torch.from_numpy(table).float() for table in (values, errors))

    def score_into(self, windows: Any, scale: Any, out: Any, count: Any = None) -> bool:
        """Write the reconstruction errors of windows times their scale, or NaN; return False if the network failed.

        A value that is not finite is no failure of the network: only its beat has NaN.

        Parameters
        ----------
        windows, scale, out
            float32 [b, 256], [b], [b], of NumPy or CuPy. A scale of NaN gives NaN.
        count
            int64 [1] on the card: so many of the rows are set; None: all.
        """
        torch = self._torch
        into = self._shared(out)
        self.failure = None
        try:
            with torch.no_grad():
                number = None if count is None else self._shared(count)
                into.copy_(self._errors_of(self._shared(windows), self._shared(scale), number))
        except Exception as error:  # whatever a network of others raises
            into.fill_(float("nan"))
            self.failure = _line(error)
            return False
        return True

    def values_of(self, windows: Any) -> Any:
        """Return the values [b] that the network gives windows of the usual size, a tensor [b, 256]."""
        return checked(self._network(windows), len(windows))

    def _errors_of(self, windows: Any, scale: Any, count: Any) -> Any:
        """Return the reconstruction errors that are as rare as the values of windows."""
        torch = self._torch
        if windows.device != self._values.device:
            self._network = self._network.to(windows.device)
            self._values, self._errors = self._values.to(windows.device), self._errors.to(windows.device)
        known = ~torch.isnan(scale)
        if count is not None:
            known &= torch.arange(len(scale), device=scale.device) < count
        sized = torch.where(known[:, None], windows * scale[:, None], 0.0)  # of a beat without a window: zeros
        value = self.values_of(sized)
        finite = torch.isfinite(value)
        if not value.is_cuda and not bool(finite[known].all()):  # on the card the host would wait for the answer
            self.failure = "expected finite values; got NaN or infinity"
        at = torch.clamp(torch.searchsorted(self._values, value.contiguous()), 1, len(self._values) - 1)
        low, high = self._values[at - 1], self._values[at]
        share = ((value - low) / (high - low)).clamp(0.0, 1.0)
        error = self._errors[at - 1] + share * (self._errors[at] - self._errors[at - 1])
        return torch.where(known & finite, error, float("nan"))

    def _shared(self, array: Any) -> Any:
        """Return an array as a tensor of the same memory."""
        return self._torch.from_numpy(array) if isinstance(array, np.ndarray) else self._torch.from_dlpack(array)


def checked(result: Any, beats: int) -> Any:
    """Return the values [beats] of what a network returned.

    Raises
    ------
    ValueError
        It has another shape or type.
    """
    shape = list(getattr(result, "shape", ()))
    if not hasattr(result, "is_floating_point") or not result.is_floating_point():
        raise ValueError(f"expected float values; got {getattr(result, 'dtype', type(result).__name__)}")
    if len(shape) == 2 and shape[0] == beats and shape[1]:
        return result.float().square().sum(1)
    if shape != [beats]:
        raise ValueError(f"expected values of shape [{beats}] or latents [{beats}, n]; got {shape}")
    return result.float()


def load_scorer(path: Path, calibration: Calibration) -> Scorer:
    """Return the scorer of a file, after it has been tried.

    Parameters
    ----------
    calibration
        Of the scoring model whose reconstruction errors are replaced.

    Raises
    ------
    UserError
        torch is not installed, the file is no exported program, its tables are missing, or it does not give a finite
        value for each window, whatever the others are.
    """
    where = f"--scorer {path}"
    if importlib.util.find_spec("torch") is None:
        raise UserError(f"{where}: expected torch; it is not installed (pip install 'beatwire[train]')")
    if not path.is_file():
        raise UserError(f"{where}: expected a file of torch.export; there is no such file")
    import torch

    raw, extra = path.read_bytes(), {TABLE: ""}
    if not zipfile.is_zipfile(path):
        raise UserError(f"{where}: expected a file of torch.export, NAME.pt2; got one of another kind")
    try:
        network = torch.export.load(io.BytesIO(raw), extra_files=extra).module()
    except Exception as error:  # of any version
        raise UserError(f"{where}: expected a file of torch.export, NAME.pt2; got: {_line(error)}") from None
    level, values = _table(where, extra[TABLE])
    scorer = Scorer(
        f"{path.stem}+{hashlib.sha256(raw).hexdigest()[:8]}", network, *_matched(level, values, calibration)
    )
    _try(where, scorer)
    return scorer


def save_scorer(network: Any, path: str | Path, normal: F32 | Sequence[Any]) -> Path:
    """Export a network of torch as a scorer; return the path.

    Parameters
    ----------
    network
        A ``torch.nn.Module``: windows float32 [beats, 256], in units of the usual size of the stream's beats, to
        [beats] or [beats, latents].
    path
        ``NAME.pt2``.
    normal
        Windows of normal beats that it was not trained on, float32 [n, 256]: how rare a value is, is measured on them.

    Raises
    ------
    UserError
        The network has no finite value for one of them, or the file cannot be written.
    """
    import torch

    path = Path(path).expanduser()
    if path.suffix != SUFFIX:
        raise UserError(f"--out: expected NAME{SUFFIX}; got {path.name!r}")
    windows = torch.as_tensor(np.ascontiguousarray(normal, np.float32))
    network = network.eval().cpu()
    with torch.no_grad():
        try:
            values = checked(network(windows), len(windows)).double().numpy()
        except ValueError as error:
            raise UserError(f"{path}: {error}") from None
    if len(values) < LEAST_BEATS or not np.isfinite(values).all():
        got = f"{np.isfinite(values).sum()} of {len(values)} beats"
        raise UserError(f"{path}: expected finite values of at least {LEAST_BEATS} normal beats; got {got}")
    level = np.round(np.arange(0.0, np.log10(len(values)), 0.05), 3)
    table = {"format": FORMAT, "level": level.tolist(), "values": np.quantile(values, 1 - 10**-level).tolist()}
    shapes = ({0: torch.export.Dim.DYNAMIC},)
    program = torch.export.export(network, (windows[:4].clone(),), dynamic_shapes=shapes)
    buffer = io.BytesIO()
    torch.export.save(program, buffer, extra_files={TABLE: json.dumps(table)})
    return write_output("--out", path, buffer.getvalue())


def _table(where: str, text: str | bytes) -> tuple[F64, F64]:
    """Return the levels and the values of normal beats in a file."""
    if not text:
        raise UserError(f"{where}: expected the values of normal beats in it; got none (beatwire.save_scorer)")
    try:
        table = json.loads(text)
        level, values = (np.asarray(table[name], np.float64) for name in ("level", "values"))
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(f"{where}: expected {TABLE} with level and values; got {error}") from None
    is_table = level.ndim == 1 and level.shape == values.shape and len(level) > SLOPE_KNOTS
    if not is_table or not np.isfinite(values).all() or not (np.diff(level) > 0).all() or (np.diff(values) < 0).any():
        raise UserError(f"{where}: expected {TABLE} with ascending levels and values; got {level.size} levels")
    return level, values


def _matched(level: F64, values: F64, calibration: Calibration) -> tuple[F32, F64]:
    """Return values and the reconstruction errors that are as rare, both [k], continued by their slopes.

    The values are ascending, and no two are equal, whatever their unit is.
    """

    def at(levels: F64, of: F64, knots: F64) -> F64:
        slope = (knots[-1] - knots[-SLOPE_KNOTS]) / (of[-1] - of[-SLOPE_KNOTS])
        continued: F64 = np.interp(levels, of, knots) + np.maximum(levels - of[-1], 0.0) * float(slope)
        return continued

    levels = np.union1d(np.concatenate([level, calibration.level]), [FAR])
    rising: F32 = at(levels, level, values).astype(np.float32)
    for k in range(1, len(rising)):
        rising[k] = max(rising[k], np.nextafter(rising[k - 1], np.float32(np.inf)))
    return rising, at(levels, calibration.level, calibration.errors)


def _try(where: str, scorer: Scorer) -> None:
    """Raise UserError unless every window has a finite value that does not depend on the others."""
    import torch

    rng = np.random.default_rng(0)
    windows = rng.normal(size=(max(SIZES), WINDOW)).cumsum(axis=1).astype(np.float32) / WINDOW**0.5
    scale = np.ones(len(windows), np.float32)
    alone = np.full(len(windows), np.nan, np.float32)
    for size in SIZES:
        scorer.score_into(windows[:size], scale[:size], np.empty(size, np.float32))
        if scorer.failure is not None:
            raise UserError(f"{where}: [{size}, {WINDOW}] windows: {scorer.failure}")
        with torch.no_grad():
            found = scorer.values_of(torch.from_numpy(windows[:size])).numpy()
        alone[:size] = np.where(np.isnan(alone[:size]), found, alone[:size])
        if not np.allclose(alone[:size], found, NEAR, NEAR):
            raise UserError(f"{where}: expected a value of each window alone; got another one among {size} windows")


def _line(error: Exception) -> str:
    lines = str(error).strip().splitlines() or [""]
    return lines[0] if isinstance(error, ValueError) else f"{type(error).__name__}: {lines[0]}"
