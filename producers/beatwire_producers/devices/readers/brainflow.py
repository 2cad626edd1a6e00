"""Boards that BrainFlow knows: ``brainflow:BOARD[?NAME=VALUE&...]``, by name or number.

The names of the query are the parameters of BrainFlow: ``serial_port``, ``mac_address``, ``ip_address``, ... Channels
are those that BrainFlow lists for ECG, or else for ExG; its unit is the microvolt. Where a board numbers its samples,
the number is the count.
"""

import time
import warnings
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qsl

import numpy as np
from beatwire.errors import UserError
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
            setattr(
                self._parameters,
                key,
                int(value) if value.isdecimal() and "port" in key and key != "serial_port" else value,
            )
        self._shim: Any = None
        self._rows: list[int] = []

    def describe(self) -> Description:
        """Connect to the board."""
        description = BoardShim.get_board_descr(self._board)
        channels = description.get("ecg_channels") or description.get("eeg_channels") or description.get("emg_channels")
        if not channels:
            raise UserError(f"brainflow: expected a board with channels of ECG or ExG; {self._name} has none")
        names = str(description.get("eeg_names") or "").split(",")
        labels = names if len(names) == len(channels) else [f"{k + 1}" for k in range(len(channels))]
        chosen = self._options.column
        leads = range(min(MAX_LEADS, len(labels))) if chosen is None else [
            find_lead("brainflow", labels, one, "column") for one in chosen.split(",")
        ]  # fmt: skip
        self._rows = [channels[k] for k in leads]
        self._time, self._number = description["timestamp_channel"], description.get("package_num_channel")
        self._battery = description.get("battery_channel")
        try:
            self._shim = BoardShim(self._board, self._parameters)
            self._shim.prepare_session()
            self._shim.start_stream()
        except BrainFlowError as error:
            self.close()
            raise DeviceAwayError(f"{self._name}: {error.args[0]}") from error
        return Description(
            self._options.stream or pseudonym(self._name.lower().replace("_board", "")),
            tuple(labels[k] for k in leads),
            float(self._options.fs or description["sampling_rate"]),
            self._options.uv if self._options.uv is not None else 1.0,
            turn=_TURN,
            is_epoch=True,
        )

    def packets(self) -> Iterator[Packet | None]:
        """Yield what the board has sent since the last look."""
        heard_s, counts = arrival_s(), None
        rate_hz = float(BoardShim.get_sampling_rate(self._board))
        shim = self._shim
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
            numbers = came[self._number] if self._number is not None else None
            if counts is None and numbers is not None and len(numbers) >= _JUDGED:
                counts = bool((np.diff(numbers) % _TURN == 1).mean() > 0.5)
            cuts = [] if not counts or numbers is None else list(np.flatnonzero(np.diff(numbers) % _TURN != 1) + 1)
            for begin, stop in zip([0, *cuts], [*cuts, came.shape[1]], strict=True):
                times = came[self._time, begin:stop] - np.arange(stop - begin) / rate_hz
                battery = float(came[self._battery, stop - 1]) if self._battery is not None else np.nan
                yield Packet(
                    came[self._rows, begin:stop], now_s, float(times.min()),
                    int(numbers[begin]) if counts and numbers is not None else None,
                    battery=round(battery) if 0 < battery <= 100 else None,
                )  # fmt: skip
            time.sleep(_PULL_S)

    def close(self) -> None:
        """Release the board."""
        shim, self._shim = self._shim, None
        if shim is not None and shim.is_prepared():
            shim.release_session()


def open_reader(text: str, options: Options) -> BrainFlowReader:
    """Return the reader of a board."""
    name, _, query = text.partition("?")
    boards = {one.name: one.value for one in BoardIds if one.name != "NO_BOARD"}
    wanted = name.strip().upper().replace("-", "_")
    found = next((n for n in (wanted, f"{wanted}_BOARD") if n in boards), None)
    if found is None and wanted.lstrip("_").isdecimal():
        number = -int(wanted[1:]) if wanted.startswith("_") else int(wanted)
        found = next((n for n, value in boards.items() if value == number), None)
    if found is None:
        raise UserError(f"brainflow: expected a board such as SYNTHETIC, CYTON, GANGLION or a number; got {name!r}")
    parameters = dict(parse_qsl(query))
    known = vars(BrainFlowInputParams())
    unknown = sorted(parameters.keys() - known.keys())
    if unknown:
        raise UserError(f"brainflow: expected names among {', '.join(sorted(known))}; got {unknown[0]!r}")
    return BrainFlowReader(boards[found], found, parameters, options)
