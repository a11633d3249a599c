"""Finished plans at half of their step, with joints as planned and as their controller moves them.

A search at one step can end at a motion of that step alone: a cube that balances on its edge until
the goal's time does not at half of the step, and neither where joints are a few mrad from the plan.
So a plan that an arm executes is run again so before it is handed out:

    p' = p + d,   d = (the body's keys or start where the joints are) - (where they should be),

with the joints' motion through the controller that the plan anticipates (`robot.tracking`), or
through the simulated one.  d is constant to first order, so searches run over p and p + d at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..inverse.engine_options import options_like
from ..inverse.output_term import outputs_of
from ..inverse.parameters import Group, ParameterMap
from ..inverse.simulation_problem import SimulationProblem, body_slots, engine_rollouts
from ..inverse.trial import Trial
from ..parameter import Parameter
from ..scene.build import engine_options
from .arm_motion import Carried
from .config import PlanConfig
from .evaluation import evaluated, tolerances

EXECUTED = "executed"
"""Parameter: share of the difference that the controller makes; held at 0 but in trials."""


@dataclass(frozen=True)
class ExecutionCheck:
    """Distances from the goals at half of the step, joints as planned and as executed.

    planned, executed  goal -> [m, m/s, rad or an output's unit], infinite where a rollout failed
    deviation  parameter of the scene -> its difference with joints as executed
    missed   goals that are required and not within tolerance, by either
    worst    largest distance of these two of a required goal, in tolerances, if it changed from
             that of the plan's own step by as much again: above 1 the plan is too near an edge
    """

    planned: Mapping[str, float]
    executed: Mapping[str, float]
    deviation: Mapping[str, float]
    missed: tuple[str, ...]
    worst: float

    @property
    def reached(self) -> bool:
        """All required goals are within tolerance."""
        return not self.missed

    @property
    def settled(self) -> bool:
        """They would be if the distances changed by as much again."""
        return self.worst <= 1.0

    def sentence(self, allowed: Mapping[str, float]) -> str:
        """The goals that are missed, with figures."""
        if self.reached:
            doubled = f"{self.worst:.2g} tolerances if they changed so again"
            return f"distances change at half of the step, or as executed: {doubled}"
        far = (
            f"{name} is {self.planned[name]:.3g} with joints as planned, "
            f"{self.executed[name]:.3g} as executed, {allowed[name]:g} allowed"
            for name in self.missed
        )
        return "at half of the step the plan misses: " + "; ".join(far)


@dataclass(frozen=True)
class Deviated:
    """Parameters of a group and EXECUTED: its values, and that share of a deviation; see `Group`.

    others     parameters of the scene that the group does not set -> their value in the scene
    deviation  (k,) of `scene_parameters`
    """

    group: Group
    others: Mapping[str, float]
    deviation: np.ndarray

    @property
    def name(self) -> str:
        """Of the group."""
        return self.group.name

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the parameters."""
        return (*self.group.names, EXECUTED)

    @property
    def scene_parameters(self) -> tuple[str, ...]:
        """The group's, then the others."""
        return (*self.group.scene_parameters, *self.others)

    def values(self, theta: Sequence[float]) -> np.ndarray:
        """Values of the scene's parameters (k,)."""
        own = self.group.values(theta[:-1])
        return np.concatenate([own, list(self.others.values())]) + theta[-1] * self.deviation

    def jacobian(self, theta: Sequence[float]) -> np.ndarray:
        """Their slopes by the parameters (k, m)."""
        own = self.group.jacobian(theta[:-1])
        rows = np.vstack([own, np.zeros((len(self.others), own.shape[1]))])
        return np.hstack([rows, self.deviation[:, None]])


def halved(
    scene: Any, P: np.ndarray, steps: np.ndarray, options: Any, *settings: Any, **more: Any
) -> list[Any]:
    """See `engine_rollouts`: the same rows, with twice as many steps."""
    finer = options_like(
        options, step=options.step / 2, record_every=2 * options.record_every,
        stagnate=options.stagnate, record_modes=options.record_modes,
    )  # fmt: skip
    return engine_rollouts(scene, P, 2 * np.asarray(steps), finer, *settings, **more)


@dataclass(frozen=True)
class Alternating:
    """Simulator of a `SimulationProblem`: trial k at half of the step where `fine[k]`."""

    fine: tuple[bool, ...]

    def __call__(
        self, scene: Any, P: np.ndarray, steps: np.ndarray, options: Any,
        active: Sequence[int] | None, mode: str, threads: int, cancel: Any,
        directions: Sequence[np.ndarray] | None = None, **more: Any,
    ) -> list[Any]:  # fmt: skip
        """See `engine_rollouts`; all trials of one point after the other."""
        steps = np.broadcast_to(steps, len(P))
        found: dict[int, Any] = {}
        for simulate, fine in ((engine_rollouts, False), (halved, True)):
            rows = [k for k in range(len(P)) if self.fine[k % len(self.fine)] is fine]
            if rows:
                along = None if directions is None else [directions[k] for k in rows]
                runs = simulate(
                    scene, P[rows], steps[rows], options, active, mode, threads, cancel, along,
                    **more,
                )  # fmt: skip
                found |= dict(zip(rows, runs, strict=True))
        return [found[k] for k in range(len(P))]


def check_execution(
    config: PlanConfig, controls: Mapping[str, float], carried: Carried, own: Mapping[str, float]
) -> ExecutionCheck:
    """The plan run at half of its step, with joints as planned and as executed.

    own  goal -> distance at the plan's step
    """
    scene = config.scene
    z = config.map.scaled(controls)
    deviation = config.task.deviation(config, controls, carried)
    P = np.stack([config.map.engine(z, scene.engine.values)] * 2)
    for name, difference in deviation.items():
        P[1, scene.engine.index(name)] += difference
    runs = [_run(config, p) for p in P]
    slots, values = body_slots(scene.engine), config.map.named(z)
    names = [goal.name for goal in config.goals]
    planned, moved = (
        dict.fromkeys(names, np.inf)
        if run is None
        else {n: d for n, d in evaluated(config, run, slots, values)[0].items() if n in names}
        for run in runs
    )
    allowed = tolerances(config)
    largest = {n: max(planned[n], moved[n]) for n in names if n not in config.guides}
    far = tuple(n for n, distance in largest.items() if not distance <= allowed[n])
    again = [(d + abs(d - own[n])) / allowed[n] for n, d in largest.items()]
    return ExecutionCheck(planned, moved, deviation, far, max(again, default=0.0))


def _run(config: PlanConfig, p: np.ndarray) -> Any | None:
    """The rollout of these parameters at half of the step; None: it failed or cannot be."""
    scene = config.scene
    options, steps = engine_options(scene.description["world"]), np.array([scene.steps])
    try:
        (run,) = halved(
            scene.engine, p[None], steps, options, None, "none", 1, None,
            outputs=outputs_of(config.goals),
        )  # fmt: skip
    except ValueError:  # the engine refuses the parameters
        return None
    return run if run.ok else None


def executed_trials(config: PlanConfig) -> list[tuple[bool, Trial]]:
    """(Whether at half of the step, trial) with joints as planned and as executed, both so."""
    steps, objectives = config.scene.steps, config.objectives
    return [
        (fine, Trial(name, steps, objectives, weight=0.25, held={EXECUTED: share}))
        for fine in (False, True)
        for name, share in (("as planned", 0.0), ("as executed", 1.0))
    ]


def every_other_executed(trials: Sequence[Trial]) -> list[Trial]:
    """The trials, every other one with joints as executed."""
    return [
        replace(trial, held={**trial.held, EXECUTED: float(k % 2)})
        for k, trial in enumerate(trials)
    ]


def executed_problem(
    config: PlanConfig, trials: Sequence[Trial], deviation: Mapping[str, float]
) -> SimulationProblem:
    """The plan over these trials, which hold EXECUTED; without a deviation, all as planned."""
    scene, controls = config.scene, config.map
    if deviation:
        controls = _deviated(config, deviation)
    else:
        trials = [replace(one, held=_others(one.held)) for one in trials]
    return SimulationProblem(
        scene.engine, scene.options, controls, trials, threads=config.search["threads"]
    )


def _others(held: Mapping[str, float]) -> dict[str, float]:
    return {name: value for name, value in held.items() if name != EXECUTED}


def _deviated(config: PlanConfig, deviation: Mapping[str, float]) -> ParameterMap:
    """The plan's controls with the task's group (its last) deviated."""
    *groups, group = config.map.groups
    engine, own = config.scene.engine, group.scene_parameters
    others = {n: float(engine.values[engine.index(n)]) for n in deviation if n not in own}
    by = np.array([deviation.get(name, 0.0) for name in (*own, *others)])
    share = Parameter(EXECUTED, "1", 0.0, free=False)
    return ParameterMap(
        [*config.map.parameters, share], engine, [*groups, Deviated(group, others, by)]
    )
