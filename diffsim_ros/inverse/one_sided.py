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
FLAT = 0.1
"""Of the threshold: rise a quarter of the way from a bound at which the parameter stopped to the
crossing; where the cost falls evenly towards the bound it is a quarter."""
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
    neither does, or the cost still falls at a bound at which the parameter stopped.

    sigma      guess of its standard deviation in z: the first step
    factor     as in `profile`;  threshold  of the rise, of a one-sided test at `level`
    """
    index = problem.names.index(name)
    walk = Walk(problem, solution, index, factor, threshold, options, cancel)
    low, high = float(problem.lower[index]), float(problem.upper[index])
    open_ = [
        (side, end)
        for side, end in (("upper", low), ("lower", high))
        if not walk.reaches(end, threshold)
    ]
    if len(open_) != 1 or getattr(cancel, "cancelled", False):
        return None
    ((side, end),) = open_
    found = walk.end(-1.0 if side == "lower" else 1.0, sigma, POINTS)
    if found is None:
        return None
    at_bound = abs(float(solution.z[index]) - end) <= 1e-9
    if at_bound and walk.reaches(end + 0.25 * (found - end), FLAT * threshold):
        return None  # the data push beyond the bound, it is not flat there
    return Bound(side, walk.value(found), level)
