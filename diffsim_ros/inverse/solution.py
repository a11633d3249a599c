"""What a solver returns, and what it reports meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from .problem import Evaluation, Problem

# status -> (converged, sentence)
STATUSES = {
    "gradient": (True, "converged: no free direction lowers the cost"),
    "objective": (True, "converged: the cost no longer changes"),
    "step": (True, "converged: the parameters no longer change"),
    "kink": (True, "converged at a kink of the cost (a contact switches); steps gain little"),
    "target": (True, "ended: the cost is below the target"),
    "beyond": (True, "ended: no step promises to bring the cost below the target"),
    "stalled": (
        False,
        "stalled: no step along the model lowers the cost; it has a kink or jump here, or a wrong "
        "gradient (see `check-gradient`); try another start or a softer k_n",
    ),
    "max_iterations": (False, "stopped at the iteration limit; raise `max_iterations`"),
    "cancelled": (False, "cancelled; the values are the best found so far"),
    "start_failed": (False, "the simulation failed at the start values"),
}


@dataclass(frozen=True)
class Iteration:
    """One iteration, for callbacks and the history.

    gradient  largest slope of the cost along a free variable, relative: see `gradient_tolerance`
    step      largest change of a scaled variable
    accepted  False: the step was rejected (worse, or a simulation failed: `failures`)
    """

    iteration: int
    max_iterations: int
    value: float
    gradient: float
    step: float
    damping: float
    accepted: bool
    parameters: Mapping[str, float]
    failures: tuple[str, ...] = ()


@dataclass(frozen=True)
class Solution:
    """End of an optimisation; failure is data.

    z (nz,), y (K, ny)   best point; `parameters`: its natural values by name
    value                cost there (inf when the start failed)
    status, message      a key of STATUSES and its sentence, with the cause
    at_bound             name -> "lower" or "upper" for parameters that stopped at a bound
    failures             rejected steps' sentences, in order
    """

    z: np.ndarray
    y: np.ndarray
    value: float
    parameters: Mapping[str, float]
    status: str
    message: str
    iterations: int
    evaluations: int
    history: tuple[Iteration, ...] = ()
    at_bound: Mapping[str, str] = field(default_factory=dict)
    failures: tuple[str, ...] = ()

    @property
    def converged(self) -> bool:
        """True if the status is a converged one."""
        return STATUSES[self.status][0]


Callback = Callable[[Iteration], None]


def bounds_reached(problem: Problem, z: np.ndarray) -> dict[str, str]:
    """Name -> "lower" | "upper" of the parameters at a bound (within 1e-9 of a unit of z)."""
    at = {}
    for name, value, low, high in zip(problem.names, z, problem.lower, problem.upper, strict=True):
        if value <= low + 1e-9:
            at[name] = "lower"
        elif value >= high - 1e-9:
            at[name] = "upper"
    return at


class Recorder:
    """Collects the history of a run and builds its Solution."""

    def __init__(self, problem: Problem, max_iterations: int, callback: Callback | None) -> None:
        self.problem, self.limit, self.callback = problem, max_iterations, callback
        self.history: list[Iteration] = []
        self.failures: list[str] = []
        self.evaluations = 0

    def counted(self, evaluation: Evaluation) -> Evaluation:
        """Count an evaluation and keep its failures."""
        self.evaluations += 1
        self.failures.extend(evaluation.failures)
        return evaluation

    def record(
        self, z: np.ndarray, value: float, gradient: float, step: float, damping: float,
        accepted: bool, failures: Sequence[str] = (),
    ) -> None:  # fmt: skip
        """Note an iteration and pass it to the callback."""
        entry = Iteration(
            len(self.history) + 1, self.limit, float(value), float(gradient), float(step),
            float(damping), bool(accepted), self.named(z), tuple(failures),
        )  # fmt: skip
        self.history.append(entry)
        if self.callback is not None:
            self.callback(entry)

    def named(self, z: np.ndarray) -> dict[str, float]:
        """Natural values by name."""
        return dict(zip(self.problem.names, self.problem.values(z).tolist(), strict=True))

    def solution(
        self, z: np.ndarray, y: np.ndarray, value: float, status: str, cause: str = ""
    ) -> Solution:
        """Return the Solution at (z, y)."""
        message = STATUSES[status][1] + (f" ({cause})" if cause else "")
        return Solution(
            np.array(z), np.array(y), float(value), self.named(z), status, message,
            len(self.history), self.evaluations, tuple(self.history),
            bounds_reached(self.problem, z), tuple(self.failures),
        )  # fmt: skip
