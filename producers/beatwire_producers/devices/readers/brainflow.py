"""Boards that BrainFlow knows: ``brainflow:BOARD[?NAME=VALUE&...]``, by name or number.

The names of the query are the parameters of BrainFlow: ``serial_port``, ``mac_address``, ``ip_address``, ... Channels
are those that BrainFlow lists for ECG, or else for ExG; its unit is the microvolt. Where a board numbers its samples,
the number is the count. A file that is played, and a board that another program streams, have the channels of
``master_board``.
"""

import time
import warnings
from collections.abc import Iterator
from contextlib import suppress
from typing import Any
from urllib.parse import parse_qsl

import numpy as np
from beatwire.errors import UserError, shown
from beatwire.recordings.leads import find_lead
from beatwire.recordings.record import MAX_LEADS

from beatwire_producers.devices.packets import Description, DeviceAwayError, Packet, arrival_s
from beatwire_producers.devices.sources import Options
from beatwire_producers.feeds import pseudonym

with warnings.catch_warnings():
    # Its first call asks setuptools for its folder, which warns: in older versions by a DeprecationWarning.
    for warning in (DeprecationWarning, UserWarning):
        warnings.simplefilter("ignore", warning)
    from brainflow.board_shim import BoardIds, BoardShim, BrainFlowError, BrainFlowInputParams

    BoardShim.disable_board_logger()

_PULL_S = 0.02
_SILENT_S = 5.0
_TURN = 256  # of the numbers of samples
_JUDGED = 16  # numbers of samples


class BrainFlowReader:
    """Reads a board.

    Parameters
    ----------
    board
        Number of the board.
    name
        Its name, for the id of the stream.
    parameters
        Of BrainFlow.
    options
        What the user says.
    """

    def __init__(self, board: int, name: str, parameters: dict[str, str], options: Options) -> None:
        self._board, self._name, self._options = board, name, options
        self._parameters = BrainFlowInputParams()
        for key, value in parameters.items():
            setattr(self._parameters, key, _parameter(self._parameters, key, value))
        self._described = self._parameters.master_board if "master_board" in parameters else board
        self._shim: Any = None
        self._rows: list[int] = []
        self._rate_hz = 0.0
        self.notes: list[str] = []

    def describe(self) -> Description:
        """Connect to the board."""
        description = BoardShim.get_board_descr(self._described)
        channels = description.get("ecg_channels") or description.get("eeg_channels") or description.get("emg_channels")
        if not channels:
            raise UserError(
                f"brainflow: expected a board with channels of ECG or ExG; {self._name} has none (master_board=BOARD)"
            )
        names = [name for name in str(description.get("eeg_names") or "").split(",") if name]
        labels = names if len(names) == len(channels) else [f"{k + 1}" for k in range(len(channels))]
        chosen = self._options.column
        leads = range(min(MAX_LEADS, len(labels))) if chosen is None else [
            find_lead("brainflow", labels, one, "column") for one in chosen.split(",")
        ]  # fmt: skip
        self._rows = [channels[k] for k in leads]
        if chosen is None and len(labels) > MAX_LEADS:
            self.notes.append(f"{self._name}: of its {len(labels)} channels the first {MAX_LEADS} are taken (--column)")
        self._time, self._number = description["timestamp_channel"], description.get("package_num_channel")
        self._battery = description.get("battery_channel")
        try:
            self._shim = BoardShim(self._board, self._parameters)
            self._shim.prepare_session()
            self._shim.start_stream()
        except BrainFlowError as error:
            self.close()
            raise DeviceAwayError(f"{self._name}: {error.args[0]}") from error
        self._rate_hz = float(self._options.fs or description["sampling_rate"])
        return Description(
            self._options.stream or pseudonym(self._name.lower().replace("_board", "")),
            tuple(labels[k] for k in leads),
            self._rate_hz,
            self._options.uv if self._options.uv is not None else 1.0,
            turn=_TURN,
            is_epoch=True,
        )

    def packets(self) -> Iterator[Packet | None]:
        """Yield what the board has sent since the last look."""
        heard_s = arrival_s()
        early: list[tuple[Any, float]] | None = []  # until it is known whether the board numbers its samples
        counts, shim = False, self._shim
        while shim is not None:
            try:
                came = shim.get_board_data()
            except BrainFlowError as error:
                raise DeviceAwayError(str(error.args[0])) from error
            now_s = arrival_s()
            if came.shape[1] == 0:
                if now_s - heard_s > _SILENT_S:
                    raise DeviceAwayError("no sample has come for 5 s")
                yield None
                time.sleep(_PULL_S)
                continue
            heard_s = now_s
            pieces = [(came, now_s)]
            if early is not None:
                early.append((came, now_s))
                if self._number is not None and sum(one.shape[1] for one, _ in early) < _JUDGED:
                    continue
                pieces, early = early, None
                counts = self._number is not None and _counts(np.concatenate([p[self._number] for p, _ in pieces]))
            for piece, came_s in pieces:
                yield from self._packets_of(piece, came_s, counts=counts)
            time.sleep(_PULL_S)

    def _packets_of(self, came: Any, now_s: float, *, counts: bool) -> Iterator[Packet]:
        """Yield samples in packets whose numbers leave nothing out."""
        numbers = came[self._number] if counts else None
        cuts = [] if numbers is None else list(np.flatnonzero(np.diff(numbers) % _TURN != 1) + 1)
        for begin, stop in zip([0, *cuts], [*cuts, came.shape[1]], strict=True):
            times = came[self._time, begin:stop] - np.arange(stop - begin) / self._rate_hz
            battery = float(came[self._battery, stop - 1]) if self._battery is not None else np.nan
            yield Packet(
                came[self._rows, begin:stop], now_s, float(times.min()),
                None if numbers is None else int(numbers[begin]),
                battery=round(battery) if 0 < battery <= 100 else None,
            )  # fmt: skip

    def close(self) -> None:
        """Release the board."""
        shim, self._shim = self._shim, None
        with suppress(BrainFlowError):
            if shim is not None and shim.is_prepared():
                shim.release_session()


def _counts(numbers: Any) -> bool:
    """Return True if numbers count samples."""
    return bool((np.diff(numbers) % _TURN == 1).mean() > 0.5)


def _parameter(parameters: Any, key: str, value: str) -> str | int:
    """Return a parameter in the type that BrainFlow expects."""
    if key == "master_board":
        return _board(value)[1]
    if not isinstance(getattr(parameters, key), int):
        return value
    if not value.isdecimal():
        raise UserError(f"brainflow: expected {key}: a whole number; got {shown(value)}")
    return int(value)


def _board(name: str) -> tuple[str, int]:
    """Return the name and the number of a board, given by its name or its number."""
    boards = {one.name: one.value for one in BoardIds if one.name != "NO_BOARD"}
    wanted = name.strip().upper().replace("-", "_")
    found = next((n for n in (wanted, f"{wanted}_BOARD") if n in boards), None)
    if found is None and wanted.lstrip("_").isdecimal():
        number = -int(wanted[1:]) if wanted.startswith("_") else int(wanted)
        found = next((n for n, value in boards.items() if value == number), None)
    if found is None:
        raise UserError(f"brainflow: expected a board such as SYNTHETIC, CYTON, GANGLION or a number; got {name!r}")
    return found, boards[found]


def open_reader(text: str, options: Options) -> BrainFlowReader:
    """Return the reader of a board."""
    name, _, query = text.partition("?")
    found, number = _board(name)
    parameters = dict(parse_qsl(query))
    known = vars(BrainFlowInputParams())
    unknown = sorted(parameters.keys() - known.keys())
    if unknown:
        raise UserError(f"brainflow: expected names among {', '.join(sorted(known))}; got {unknown[0]!r}")
    return BrainFlowReader(number, found, parameters, options)
