"""Designs of legged robots changed together with their motions [G 2.5].

A motion is the minimum of E(m, p) for design parameters p (places of joints and end effectors,
directions of wheels' axes).  Where G = dE/dm vanishes, the implicit function theorem has

    dm/dp = -(d2E/dm2)^-1 d2E/(dm dp)                                                 [G (2.21)]

All of it is about E with its penalties alone: constraints hold to what these leave.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from diffsim_ros import _engine
from diffsim_ros.errors import InputError, nearest

from .build import with_values
from .config import LocomotionConfig
from .description import design_parameters
from .generator import engine_model, engine_task
from .legged_robot import LeggedRobot

Plan = dict[str, np.ndarray]
ALL = 63
"""All groups of unknowns."""
STEP = 1e-6
"""Of differences by design parameters [m or rad]."""
SHARP = 100
"""Newton steps with the whole second derivative, at most."""
FEATURES = {
    "centre_of_mass": ("x",), "orientation": ("R",), "joints": ("q",), "end_effectors": ("e",),
}  # fmt: skip
"""Features of a motion that can be held -> unknowns; of q the joints."""
WHOLE: tuple[str, ...] = ()
"""Terms of E as an objective: all."""


@dataclass(frozen=True, eq=False)
class DesignStep:
    """A design and its motion.

    values  (k,) of the design parameters;  plan  the engine's;  energy  E
    """

    values: np.ndarray
    plan: Plan
    energy: float


class MotionDesign:
    """Motions of a plan as functions of the robot's design parameters.

    config  a plan whose robot was read from a description
    names   design parameters that may change; absent: all
    shared  copies of a leg share their parameters;  axes  directions of axes are parameters, too
    """

    def __init__(
        self, config: LocomotionConfig, names: Sequence[str] | None = None, *, shared: bool = True,
        axes: bool = False,
    ) -> None:  # fmt: skip
        if config.robot.description is None:
            rule = "a robot from a description of its legs"
            raise InputError(config.place, "robot", config.robot.name, rule)
        self.config = config
        self._all = design_parameters(config.robot.description, shared=shared, axes=axes)
        for name in names or ():
            if name not in self._all.names:
                near = nearest(name, self._all.names)
                raise InputError(config.place, "design parameter", name, "one of the robot's", near)
        self.names = tuple(names or self._all.names)
        self._places = [self._all.names.index(name) for name in self.names]
        self.values = self._all.values[self._places]

    def robot(self, values: np.ndarray) -> LeggedRobot:
        """The robot of values (k,)."""
        every = self._all.values.copy()
        every[self._places] = values
        return with_values(self._all, every)

    def problem(self, values: np.ndarray) -> Any:
        """The engine's `MotionProblem` of values (k,)."""
        changed = replace(self.config, robot=self.robot(values))
        model = engine_model(changed.robot, changed.rolling_resistance)
        return _engine.MotionProblem(model, engine_task(changed))

    def begin(self, *, sharp: bool = True) -> DesignStep:
        """The motion of the robot as it is, from standing; sharp as in `solve`."""
        return self.solve(self.values, self.problem(self.values).standing(), sharp=sharp)

    def solve(self, values: np.ndarray, plan: Plan, *, sharp: bool = True) -> DesignStep:
        """The minimum of E near a plan; sharp: to rounding, as `derivative` needs it."""
        problem = self.problem(values)
        found = problem.solve(plan, self._options())
        plan, energy = found["plan"], found["value"]
        problem.select(ALL, [])
        if sharp:
            plan, energy = _sharpened(problem, plan)
        return DesignStep(np.array(values, float), plan, energy)

    def derivative(self, step: DesignStep) -> np.ndarray:
        """dm/dp (unknowns, k): of all unknowns, zero for those that are held [G (2.21)]."""
        problem = self.problem(step.values)
        free = np.array(problem.free)
        hessian = problem.second_derivative(step.plan)
        mixed = self._differences(step, lambda p: p.linearize(step.plan)[1][free])
        found = np.zeros((problem.size, len(self.names)))
        found[free] = -np.linalg.solve(hessian, mixed)
        return found

    def change(self, step: DesignStep, change: np.ndarray) -> DesignStep:
        """Manual design [G 2.5.3]: parameters moved by `change` (k,), the motion along dm/dp and
        then to its minimum."""
        moved = self.problem(step.values).move(step.plan, self.derivative(step) @ change)
        return self.solve(step.values + change, moved)

    def compensated(self, step: DesignStep, change: np.ndarray, features: Sequence[str]
                    ) -> np.ndarray:  # fmt: skip
        """Semi-automatic design [G (2.22)]: `change` (k,), whose zeros are filled so that features
        of the motion (FEATURES) move as little as can be."""
        problem, slopes = self.problem(step.values), self.derivative(step)
        rows = np.concatenate([_rows(problem, feature) for feature in features])
        given = np.asarray(change, float)
        own = np.flatnonzero(given == 0.0)
        held = slopes[rows]
        filled = given.copy()
        filled[own] = -np.linalg.lstsq(held[:, own], held @ given, rcond=1e-6)[0]
        return filled

    def gradient(self, step: DesignStep, terms: Sequence[str] = WHOLE) -> tuple[float, np.ndarray]:
        """An objective, terms of E, and its derivative (k,) along with the motion [G 2.5.5]."""
        problem = self.problem(step.values)
        problem.select(ALL, list(terms))
        value, by_motion = problem.linearize(step.plan)[:2]

        def own(other: Any) -> np.ndarray:
            other.select(ALL, list(terms))
            return np.array([other.value(step.plan)])

        slope = self._differences(step, own)[0]
        if terms:  # of E itself the motion's share vanishes: it is a minimum
            slope = slope + self.derivative(step).T @ by_motion
        return float(value), slope

    def optimise(
        self, step: DesignStep, terms: Sequence[str] = WHOLE, *, most: float = 0.02,
        iterations: int = 20, progress: Callable[[int, float], None] | None = None,
    ) -> list[DesignStep]:  # fmt: skip
        """Automatic design [G 2.5.5]: steps down the objective, each parameter by at most `most` in
        the first; all designs, first to last."""
        designs, length = [step], most
        value, slope = self.gradient(step, terms)
        for iteration in range(iterations):
            size = np.abs(slope).max()
            if size == 0.0 or length < 1e-5:
                break
            values = designs[-1].values - length * slope / size
            tried = self.solve(values, designs[-1].plan, sharp=bool(terms))
            found, next_slope = self.gradient(tried, terms)
            if found < value:
                gain = (value - found) / max(abs(value), 1e-12)
                designs.append(tried)
                value, slope, length = found, next_slope, 1.5 * length
                if progress is not None:
                    progress(iteration, value)
                if gain < 1e-3:
                    break
            else:
                length *= 0.3
        return designs

    def _options(self) -> Any:
        options = _engine.MotionSolverOptions()
        options.iterations, options.multiplier_steps = self.config.iterations, 0
        return options

    def _differences(self, step: DesignStep, of: Callable[[Any], np.ndarray]) -> np.ndarray:
        """Central differences (rows, k) of what a problem has at the step's plan."""
        columns = []
        for k in range(len(self.names)):
            moved = np.zeros(len(self.names))
            moved[k] = STEP
            ends = [of(self.problem(step.values + side * moved)) for side in (1.0, -1.0)]
            columns.append((ends[0] - ends[1]) / (2 * STEP))
        return np.stack(columns, axis=1)


def _rows(problem: Any, feature: str) -> np.ndarray:
    if feature not in FEATURES:
        near = nearest(feature, list(FEATURES))
        raise InputError("design", "feature", feature, " or ".join(FEATURES), near)
    places = np.concatenate([problem.unknowns[name].ravel() for name in FEATURES[feature]])
    if feature == "joints":
        places = problem.unknowns["q"][:, 6:].ravel()
    return places[places >= 0]


def _sharpened(problem: Any, plan: Plan) -> tuple[Plan, float]:
    """Newton's method with the whole second derivative: E's minimum, to rounding."""
    free = np.array(problem.free)
    for _ in range(SHARP):
        value, gradient, _ = problem.linearize(plan)
        values, vectors = np.linalg.eigh(problem.second_derivative(plan))
        bent = np.maximum(np.abs(values), 1e-6 * values[-1] * 1e-3)
        step = np.zeros(problem.size)
        step[free] = -vectors @ ((vectors.T @ gradient[free]) / bent)
        slope, length = float(gradient @ step), 1.0
        while length > 1e-6:
            moved = problem.move(plan, length * step)
            if problem.value(moved) <= value + 1e-4 * length * slope:
                break
            length *= 0.5
        else:
            break
        plan = moved
        if -slope < 1e-12 * (1e-3 + value):
            break
    return plan, float(problem.value(plan))
