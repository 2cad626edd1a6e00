"""A measured value with the value it is compared with, and timing functions that alternate between the two."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Log = Callable[[str], None]  # takes a line of progress


@dataclass(frozen=True, slots=True)
class Result:
    """A measured value.

    against, against_value  a rival measured in the same run, or a limit
    target                  what the ratio must reach, for instance ">= 2"; None if the value is for information
    """

    name: str
    value: float
    unit: str
    against: str
    against_value: float
    target: str | None = None

    @property
    def ratio(self) -> float:
        """The value divided by the one it is compared with."""
        return self.value / self.against_value

    @property
    def meets(self) -> bool | None:
        """True if the ratio reaches the target; None without a target."""
        if self.target is None:
            return None
        sign, limit = self.target.split()
        return self.ratio >= float(limit) if sign == ">=" else self.ratio <= float(limit)

    @property
    def cells(self) -> tuple[str, str, str, str, str]:
        """The columns of the table: measurement, value, compared with, ratio, target."""
        target = {True: f"met ({self.target})", False: f"missed ({self.target})", None: ""}[self.meets]
        value, against = f"{short(self.value)} {self.unit}", f"{self.against}: {short(self.against_value)}"
        return self.name, value, against, short(self.ratio), target

    def as_dict(self) -> dict[str, Any]:
        """Return the object that ``--json`` prints."""
        return {
            "name": self.name,
            "value": self.value,
            "unit": self.unit,
            "against": self.against,
            "against_value": self.against_value,
            "ratio": self.ratio,
            "bar": self.target,
            "meets": self.meets,
        }


def short(value: float) -> str:
    """Return a number with three digits, or in whole thousands."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def median_s(work: Callable[[], object], repeats: int = 5) -> float:
    """Return the median seconds of ``repeats`` runs after one that is not counted."""
    return alternating_median_s(work, lambda: None, repeats)[0]


def alternating_median_s(
    ours: Callable[[], object], theirs: Callable[[], object], repeats: int = 11
) -> tuple[float, float]:
    """Return the median seconds of two functions run alternately, after one run of each that is not counted."""
    taken_s: tuple[list[float], list[float]] = [], []
    for _ in range(repeats + 1):
        for work, seconds in zip((ours, theirs), taken_s, strict=True):
            begin = time.perf_counter()
            work()
            seconds.append(time.perf_counter() - begin)
    medians = [sorted(seconds[1:])[repeats // 2] for seconds in taken_s]
    return medians[0], medians[1]
