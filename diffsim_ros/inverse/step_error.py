"""How far a rollout and its derivatives are from those of ever smaller steps.

With x_h what steps of h give (poses at recorded times, or S of the last one),

    d_1 = |x_h - x_{h/2}|,  d_2 = |x_{h/2} - x_{h/4}|,  q = d_1/d_2,  order = log2 q.

Where differences go on falling by q the error of x_h is d_1 q/(q - 1) [Richardson]; q counts as 4
at most, the order of the schemes.  Below 1.7 or above 12 differences do not fall as those of a
scheme: the steps are too long for an estimate, or the motion has none, and the larger difference
is a lower bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from diffsim_ros.errors import InputError, NotConverged

from ..rotation import quat_conjugate, quat_log, quat_multiply
from .resampled import Refined, Resampled
from .simulation_problem import body_slots

LEAST, ORDER_TWO, LARGEST = 1.7, 4.0, 12.0  # of q
ROUNDING = 1e-8  # of the longest way that a body goes: below it is Newton's tolerance
HALVINGS = 10


@dataclass(frozen=True)
class StepError:
    """Error of one quantity at the step as run.

    differences  (d_1, d_2);  error  estimate, or a lower bound where `falls` is False
    order        log2 q; NaN where the differences are rounding
    """

    name: str
    unit: str
    differences: tuple[float, float]
    error: float
    order: float
    falls: bool

    @classmethod
    def of(cls, name: str, unit: str, first: float, second: float, rounding: float) -> StepError:
        """From both differences; what is below `rounding` has no order."""
        if max(first, second) <= rounding:
            return cls(name, unit, (first, second), max(first, second), float("nan"), True)
        q = first / second if second > 0 else np.inf
        falls = bool(LEAST <= q <= LARGEST)
        bound = min(q, ORDER_TWO)
        error = first * bound / (bound - 1.0) if falls else max(first, second)
        return cls(name, unit, (first, second), error, float(np.log2(max(q, 1e-300))), falls)

    def __str__(self) -> str:
        sign = "" if self.falls else ">= "
        note = f"order {self.order:.1f}" if self.falls else "differences do not fall as they should"
        note = "rounding" if np.isnan(self.order) else note
        return f"{self.name}: {sign}{self.error:.2g} {self.unit} ({note})"


@dataclass(frozen=True)
class StepErrors:
    """Errors of a rollout at steps of `step` [s].

    poses        per body: position [m] and, of rigid bodies, angle [rad], each at the end and the
                 largest of all recorded times
    derivatives  per parameter: change of the derivatives of all final positions, relative
    """

    step: float
    poses: tuple[StepError, ...]
    derivatives: tuple[StepError, ...] = ()

    @property
    def position(self) -> float:
        """Largest error of a position at any time [m]."""
        return max(e.error for e in self.poses if e.unit == "m")

    @property
    def falls(self) -> bool:
        """Whether all errors of poses are estimates, not lower bounds."""
        return all(e.falls for e in self.poses)

    def document(self) -> dict:
        """Plain numbers, for result.yaml."""
        return {
            "step": self.step,
            **{
                part: {
                    e.name: {
                        "unit": e.unit, "error": e.error, "lower_bound": not e.falls,
                        "order": None if np.isnan(e.order) else e.order,
                    }
                    for e in found
                }
                for part, found in (("poses", self.poses), ("derivatives", self.derivatives))
            },
        }  # fmt: skip


def step_errors(
    scene: Any, p: np.ndarray, steps: int, options: Any, *, active: Sequence[int] | None = None,
    names: Sequence[str] = (), directions: np.ndarray | None = None, cancel: Any = None,
) -> StepErrors:  # fmt: skip
    """Errors of a rollout by runs of h, h/2 and h/4; seven times its cost.

    active, directions  as of the engine's rollout: derivatives by these are compared too
    names               of the active parameters or of the directions
    Raises NotConverged where a run fails.
    """
    runs = _Runs(scene, p, steps, options, active, directions, cancel)
    return _errors(runs, 0, tuple(names))


def step_for(
    scene: Any, p: np.ndarray, steps: int, options: Any, tolerance: float, *, cancel: Any = None
) -> tuple[int, StepErrors]:
    """How often to halve the step so that no position errs by more than `tolerance` [m].

    Returns (halvings, errors there).  Raises InputError for a tolerance that is not above 0,
    NotConverged where HALVINGS are not enough or a run fails.
    """
    if not tolerance > 0:
        raise InputError("step_for", "tolerance", tolerance, "a length > 0 [m]")
    runs = _Runs(scene, p, steps, options, None, None, cancel)
    for level in range(HALVINGS + 1):
        found = _errors(runs, level)
        if found.falls and found.position <= tolerance:
            return level, found
    worst = max((e for e in found.poses if e.unit == "m"), key=lambda e: e.error)
    raise NotConverged(
        f"no step down to {found.step:.3g} s is known to keep positions within {tolerance:.3g} m: "
        f"there {worst}"
    )


class _Runs:
    """The rollout with its step halved any number of times, read at the same times."""

    def __init__(
        self, scene: Any, p: np.ndarray, steps: int, options: Any, active: Sequence[int] | None,
        directions: np.ndarray | None, cancel: Any,
    ) -> None:  # fmt: skip
        self.scene, self.p, self.options, self.active = scene, np.asarray(p, float), options, active
        self.steps = steps - steps % options.record_every
        self.directions, self.cancel = directions, cancel
        self._found: dict[int, Resampled] = {}

    def __getitem__(self, halvings: int) -> Resampled:
        if halvings not in self._found:
            along = None if self.directions is None else [self.directions]
            mode = "none" if self.active is None else "sensitivity"
            run = Refined(2.0**halvings)(
                self.scene, self.p[None], np.array([self.steps]), self.options, self.active, mode,
                0, self.cancel, along,
            )[0]  # fmt: skip
            if not run.ok:
                raise NotConverged(f"at steps of {run.step:.3g} s: {run.status}: {run.message}")
            self._found[halvings] = run
            self._found.pop(halvings - 3, None)
        return self._found[halvings]


def _errors(runs: _Runs, level: int, names: tuple[str, ...] = ()) -> StepErrors:
    three = [runs[level + k] for k in range(3)]
    poses: list[StepError] = []
    way = float(np.abs(three[2].position - three[2].position[0]).max())
    for body, slot in body_slots(runs.scene).items():
        nodes = slice(slot.index, slot.index + slot.count)
        x = [run.position[:, nodes] for run in three]
        poses += _both(body, "m", [np.linalg.norm(a - b, axis=2) for a, b in _pairs(x)], way)
        if slot.size == 6 and slot.count == 1:
            q = [run.orientation[:, slot.index] for run in three]
            turns = [
                np.linalg.norm(quat_log(quat_multiply(b, quat_conjugate(a))), axis=1)[:, None]
                for a, b in _pairs(q)
            ]
            poses += _both(f"{body} angle", "rad", turns, 1.0)
    if runs.active is None:
        return StepErrors(three[0].step, tuple(poses))
    S = [_final(runs.scene, run) for run in three]
    size = np.linalg.norm(S[2], axis=0)
    scale = np.maximum(size, max(1e-3 * size.max(initial=0.0), np.finfo(float).tiny))
    first, second = (np.linalg.norm(a - b, axis=0) / scale for a, b in _pairs(S))
    derivatives = tuple(
        StepError.of(name, "of its size", float(a), float(b), ROUNDING)
        for name, a, b in zip(names, first, second, strict=True)
    )
    return StepErrors(three[0].step, tuple(poses), derivatives)


def _pairs(three: Sequence[np.ndarray]) -> list[tuple[np.ndarray, np.ndarray]]:
    return [(three[0], three[1]), (three[1], three[2])]


def _both(name: str, unit: str, gaps: Sequence[np.ndarray], way: float) -> list[StepError]:
    """At the end and at any time, from differences (F, nodes)."""
    ends = {
        f"{name}, at the end": [float(g[-1].max()) for g in gaps],
        f"{name}, at any time": [float(g.max()) for g in gaps],
    }
    return [StepError.of(key, unit, a, b, ROUNDING * way) for key, (a, b) in ends.items()]


def _final(scene: Any, run: Resampled) -> np.ndarray:
    """Derivatives of all final positions (3 nodes, n)."""
    assert run.dx is not None
    rows = []
    for slot in body_slots(scene).values():
        for k in range(slot.count):
            first = slot.dof + k * (slot.size // slot.count)
            rows.append(run.dx[-1, first : first + 3])
    return np.concatenate(rows)
