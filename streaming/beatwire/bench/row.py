"""One measured figure beside what it is compared with."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Row:
    """A figure.

    against, against_value   the rival or the limit, measured in the same run where it is a rival
    bar                      what the ratio has to reach, for instance ">= 2"; None: the figure is for information
    """

    name: str
    value: float
    unit: str
    against: str
    against_value: float
    bar: str | None = None

    @property
    def ratio(self) -> float:
        """Value over the rival's."""
        return self.value / self.against_value

    @property
    def meets(self) -> bool | None:
        """Whether the ratio is on the right side of the bar; None where there is none."""
        if self.bar is None:
            return None
        sign, limit = self.bar.split()
        return self.ratio >= float(limit) if sign == ">=" else self.ratio <= float(limit)

    @property
    def cells(self) -> tuple[str, str, str, str, str]:
        """What a reader sees of it: name, value, what it is compared with, ratio, whether it meets the bar."""
        verdict = {True: f"met ({self.bar})", False: f"missed ({self.bar})", None: ""}[self.meets]
        value, against = f"{_said(self.value)} {self.unit}", f"{self.against}: {_said(self.against_value)}"
        return self.name, value, against, _said(self.ratio), verdict

    def as_dict(self) -> dict[str, Any]:
        """Return what ``--json`` prints."""
        plain = asdict(self)
        bar = plain.pop("bar")
        return plain | {"ratio": self.ratio, "bar": bar, "meets": self.meets}


def _said(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def median_s(work: Callable[[], object], repeats: int = 5) -> float:
    """Return the median seconds of ``repeats`` runs after one that is not counted."""
    return in_turn_s(work, lambda: None, repeats)[0]


def in_turn_s(ours: Callable[[], object], theirs: Callable[[], object], repeats: int = 11) -> tuple[float, float]:
    """Return the median seconds of either over ``repeats`` runs in turn, after one of each that is not counted."""
    taken: tuple[list[float], list[float]] = [], []
    for _ in range(repeats + 1):
        for work, seconds in zip((ours, theirs), taken, strict=True):
            begin = time.perf_counter()
            work()
            seconds.append(time.perf_counter() - begin)
    middle = [sorted(seconds[1:])[repeats // 2] for seconds in taken]
    return middle[0], middle[1]
