"""One-sided answers: a parameter that the data bound on one side only.

Of a body that sticks any larger friction explains the data as well: the rise of the cost (Eq. 19)
is flat towards one bound of the parameter and crosses the threshold on the other side.  "At least
0.31" is that crossing, at the level of a one-sided test.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .optimizers import LMOptions
from .problem import Problem
from .profile import Walk
from .solution import Solution

LEVEL = 0.95
POINTS = 8
"""Of the side that is walked, at most."""


@dataclass(frozen=True)
class Bound:
    """side "lower": the parameter is at least `value`; "upper": at most; with probability level."""

    side: str
    value: float
    level: float

    def __str__(self) -> str:
        word = "at least" if self.side == "lower" else "at most"
        return f"{word} {self.value:.2g} ({100 * self.level:g} %)"

    def document(self) -> dict:
        """Plain data for result.yaml."""
        return {"side": self.side, "value": self.value, "level": self.level}


def one_sided(
    problem: Problem, solution: Solution, name: str, sigma: float, *, factor: float = 1.0,
    threshold: float = 2.705543454095404, level: float = LEVEL, options: LMOptions | None = None,
    cancel: Any = None,
) -> Bound | None:  # fmt: skip
    """The bound of a parameter whose other side the data leave open; None where both sides rise, or
    neither does.

    sigma      guess of its standard deviation in z: the first step
    factor     as in `profile`;  threshold  of the rise, of a one-sided test at `level`
    """
    index = problem.names.index(name)
    walk = Walk(problem, solution, index, factor, threshold, options, cancel)
    low, high = float(problem.lower[index]), float(problem.upper[index])
    open_ = [side for side, end in (("upper", low), ("lower", high)) if walk.flat(end)]
    if len(open_) != 1 or getattr(cancel, "cancelled", False):
        return None
    side = open_[0]
    found = walk.end(-1.0 if side == "lower" else 1.0, sigma, POINTS)
    return None if found is None else Bound(side, found, level)
