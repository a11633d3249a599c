"""Estimation of contact parameters from 50 recorded tosses: exact S, differences, CMA-ES.

Tosses are rolled out open loop from fixed starts, so that all methods minimise the very same
objective, from the same first guess, on the same threads, in this process and in turn:

    exact     Levenberg-Marquardt, Jacobian from the engine's sensitivities S
    central   the same solver and objective, Jacobian by central differences (2 n + 1 rollouts)
    forward   the same by forward differences (n + 1 rollouts)
    cma       CMA-ES (package cma, its default population and a first spread of 30 %), until it
              reaches `exact`'s objective or its budget is spent
    staged    CMA-ES with a third of that budget in every stage
    drawn     `exact`, then CMA-ES from its end, spread as the Gauss-Newton Hessian there says

All but `cma` fit a growing part of each toss, each stage from where the last one ended (as
`fit.horizons` of an estimation); what a stage has cost includes all stages before it.  `cma`
begins at the first guess in every stage, as `direct` does, which is `exact` without the others.

A rollout is one toss simulated once.  `cpu_s` are seconds of all threads together, in which waiting
for a busy machine does not count; ratios are of these.
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

from diffsim_ros.inverse.objectives import BodySlot
from diffsim_ros.inverse.optimizers import LMOptions, levenberg_marquardt
from diffsim_ros.inverse.problem import LeastSquaresProblem
from diffsim_ros.inverse.simulation_problem import SimulationProblem
from diffsim_ros.real2sim.config import load_estimation
from diffsim_ros.real2sim.sensors.pose.model import PoseModel

CONFIG = Path(__file__).resolve().parent.parent / "config" / "estimation" / "cube_toss.yaml"
TOSSES = 50
HORIZONS = (30, 60, 0)  # frames of each toss that are fitted, stage by stage; 0: all
AGAINST = (30, 0)  # stages at which CMA-ES is run
DIFFERENCE = 1e-5  # of a scaled variable
REACHED = 1e-3  # relative distance from the objective of `exact` at which CMA-ES has reached it
EVALUATIONS = 1000  # budget of CMA-ES, each TOSSES rollouts
SPREAD = 0.3  # first standard deviation of CMA-ES in scaled variables
DRAWS = 300  # evaluations of `drawn`
RISE = 0.1  # by which `drawn` spreads at first: the mean relative rise of the quadratic objective
SOLVER = LMOptions(
    max_iterations=60, cost_tolerance=1e-5, gradient_tolerance=1e-6, step_tolerance=1e-6
)


class Counted:
    """The engine's simulator, counting rollouts."""

    def __init__(self):
        self.rollouts = 0

    def __call__(self, scene, P, steps, options, active, mode, threads, cancel):
        """Roll out a batch."""
        from diffsim_ros import _engine

        self.rollouts += len(P)
        return _engine.rollout_batch(
            scene, P, steps, options, active=active, mode=mode, threads=threads, cancel=cancel
        )


def contact_names(config) -> list[str]:
    """Free parameters that act through contact alone."""
    inner = (".k_n", ".k_t", ".k_d", ".c_n", ".d_0", ".c_f", ".c_s", ".f_0", ".radius")
    return [
        name
        for name, options in config.parameters.items()
        if not options.fixed and all(target.endswith(inner) for target in options.sets)
    ]


def problem_of(tosses: int, horizon: int) -> tuple[SimulationProblem, Counted]:
    """The estimation problem of the configuration's first training tosses, and its counter."""
    names = contact_names(load_estimation(CONFIG))
    config = load_estimation(CONFIG, parameters=names)
    model = PoseModel.build(config)
    sigma = (config.measurement.sigma_position, np.radians(config.measurement.sigma_rotation))
    trials = config.train.read(config.body, sigma)[:tosses]
    template = model.problem(trials, model.map.start, horizon=horizon)
    counter = Counted()
    problem = SimulationProblem(
        template.scene, template.options, template.map, template.trials,
        threads=template.threads, simulator=counter,
    )  # fmt: skip
    return problem, counter


class Differenced(LeastSquaresProblem):
    """The same problem with a Jacobian by differences: one block of residuals per toss."""

    def __init__(self, problem: SimulationProblem, *, central: bool):
        self.inner, self.central = problem, central
        self.slot = BodySlot(0, 0, 6)  # the scene's only body
        super().__init__(
            problem.names, problem.start, self._residuals, self._jacobians, problem.lower,
            problem.upper, problem.trials[0].loss,
        )  # fmt: skip

    @property
    def nuisance_shape(self):
        """(number of tosses, 0)."""
        return len(self.inner.trials), 0

    def values(self, z):
        """Natural values (nz,) at z."""
        return self.inner.values(z)

    def _residuals(self, z):
        """Residuals (1, q) of every toss; a failed rollout's are infinite."""
        named, blocks = self.inner.map.named(z), []
        for trial, run in zip(self.inner.trials, self.inner.rollouts(z), strict=True):
            (objective,) = trial.objectives
            if run.ok:
                blocks.append(objective.term(run, self.slot, named).residual.reshape(1, -1))
            else:
                blocks.append(np.full((1, 6 * len(objective.frames)), np.inf))
        return blocks

    def _jacobians(self, z):
        """Jacobians (1, q, nz) of every toss; steps turn round at the bounds."""
        columns = []
        base = None if self.central else self._residuals(z)
        for i in range(len(z)):
            up, down = np.array(z), np.array(z)
            up[i] = min(z[i] + DIFFERENCE, self.upper[i])
            if self.central or up[i] == z[i]:
                down[i] = max(z[i] - DIFFERENCE, self.lower[i])
            ahead = self._residuals(up) if up[i] != z[i] else base or self._residuals(z)
            behind = self._residuals(down) if down[i] != z[i] else base or self._residuals(z)
            width = up[i] - down[i]
            columns.append([(a - b) / width for a, b in zip(ahead, behind, strict=True)])
        return [np.stack(per_toss, axis=-1) for per_toss in zip(*columns, strict=True)]


class Clock:
    """CPU and wall seconds, and rollouts of a counter, since it was made."""

    def __init__(self, counter: Counted):
        self.counter, self.before = counter, counter.rollouts
        self.cpu, self.wall = time.process_time(), time.perf_counter()

    def read(self) -> dict:
        """What was spent so far."""
        return {
            "cpu_s": time.process_time() - self.cpu,
            "wall_s": time.perf_counter() - self.wall,
            "rollouts": self.counter.rollouts - self.before,
        }


def descent(problem, counter: Counted, z: np.ndarray | None = None) -> tuple[dict, np.ndarray]:
    """Figures of one Levenberg-Marquardt run from z (the first guess), and its end z."""
    clock = Clock(counter)
    solution = levenberg_marquardt(problem, z, options=SOLVER)
    figures = clock.read() | {
        "objective": solution.value, "iterations": solution.iterations, "status": solution.status,
        "parameters": dict(solution.parameters),
    }  # fmt: skip
    return figures, solution.z


def descents(kind: str, tosses: int, horizons) -> list[tuple[dict, np.ndarray]]:
    """Figures of one method, and its z, at the end of every stage; costs are of all so far."""
    found, z, spent = [], None, dict.fromkeys(("cpu_s", "wall_s", "rollouts", "iterations"), 0)
    for horizon in horizons:
        problem, counter = problem_of(tosses, horizon)
        searched = problem if kind == "exact" else Differenced(problem, central=kind == "central")
        figures, z = descent(searched, counter, z)
        spent = {key: spent[key] + figures[key] for key in spent}
        # the very same objective: its value by the exact problem
        found.append((figures | spent | {"objective_check": problem.evaluate(z).value}, z))
    return found


def evolution(
    problem: SimulationProblem, counter: Counted, begin: np.ndarray, budget: int, goal: float = 0.0,
    axes: np.ndarray | None = None,
) -> tuple[dict, np.ndarray]:  # fmt: skip
    """Figures of CMA-ES until it reaches the goal, what its whole budget brings, and its end z.

    begin  z of its first mean;  axes  (nz, nz), its first draws are begin + axes N(0, 1)
    """
    import cma  # a test-only dependency

    axes = SPREAD * np.eye(len(begin)) if axes is None else axes
    search = cma.CMAEvolutionStrategy(
        np.zeros(len(begin)), 1.0, {"seed": 1, "verbose": -9, "maxfevals": budget}
    )
    clock, best, end, reached = Clock(counter), np.inf, begin, None
    while not search.stop():
        draws = search.ask()
        points = [np.clip(begin + axes @ u, problem.lower, problem.upper) for u in draws]
        found = problem.evaluate_many(points, [None] * len(points))
        costs = np.array([e.value if e.ok else 1e9 for e in found])
        outside = [begin + axes @ u - z for u, z in zip(draws, points, strict=True)]
        search.tell(draws, costs * (1.0 + np.square(outside).sum(axis=1)))
        if costs.min() < best:
            best, end = float(costs.min()), points[int(costs.argmin())]
        if reached is None and best <= goal * (1 + REACHED):
            reached = clock.read() | {"objective": best}
    at_end = clock.read() | {"objective": best}
    return {"reached": reached is not None} | (reached or at_end) | {"at_budget": at_end}, end


def hessian_axes(problem: SimulationProblem, z: np.ndarray) -> np.ndarray:
    """Axes (nz, nz) of draws around z by which the quadratic objective rises by RISE on average."""
    found = problem.evaluate(z, want="equations")
    curvatures, vectors = np.linalg.eigh(found.equations.reduced()[1])
    rise = RISE * found.value / len(z)
    spread = np.sqrt(2.0 * rise / np.maximum(curvatures, 1e-9))
    return vectors * np.minimum(spread, 0.5)


def compared(tosses: int, horizons, against, evaluations: int, draws: int) -> dict:
    """All methods at the end of every stage."""
    kinds = ("exact", "central", "forward")
    found = {kind: descents(kind, tosses, horizons) for kind in kinds}
    figures, staged, spent = {}, None, dict.fromkeys(("cpu_s", "wall_s", "rollouts"), 0)
    for stage, horizon in enumerate(horizons):
        problem, counter = problem_of(tosses, horizon)
        row: dict = {"parameters": list(problem.names), "tosses": tosses, "frames": horizon}
        row["start_objective"] = problem.evaluate(problem.start).value
        row |= {kind: found[kind][stage][0] for kind in kinds}
        if stage:
            row["direct"], _ = descent(problem, counter)
        if horizon in against:
            goal = row["exact"]["objective"]
            row["cma"], _ = evolution(problem, counter, problem.start, evaluations, goal)
        begin = problem.start if staged is None else staged
        part, staged = evolution(problem, counter, begin, evaluations // len(horizons))
        spent = {key: spent[key] + part["at_budget"][key] for key in spent}
        row["staged"] = part["at_budget"] | spent
        if horizon == horizons[-1]:
            end = found["exact"][stage][1]
            part, _ = evolution(problem, counter, end, draws, axes=hessian_axes(problem, end))
            row["drawn"] = part["at_budget"] | {
                k: part["at_budget"][k] + row["exact"][k] for k in spent
            }
        for kind in {"central", "forward", "cma", "staged", "drawn"} & row.keys():
            for quantity in ("cpu_s", "rollouts"):
                ratio = row[kind][quantity] / row["exact"][quantity]
                row[f"{kind}_to_exact_{quantity}"] = ratio
        figures[f"frames_{horizon or 'all'}"] = row
    return figures


def main(
    out: Path | None = None, *, tosses: int = TOSSES, horizons=HORIZONS, against=AGAINST,
    evaluations=EVALUATIONS, draws=DRAWS,
) -> dict:  # fmt: skip
    """Run the comparison over the stages; returns the figures."""
    return compared(tosses, horizons, against, evaluations, draws)
