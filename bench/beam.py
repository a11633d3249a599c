"""One objective of the silicone beam and its derivatives, split by part, against differences.

The estimation of config/estimation/silicone_beam.yaml with a mesh of at least 1000 tetrahedra, one
recording with a weight, 2 s, from the YAML's guess, one thread, everything in this process and in
turn:

    value      the objective alone
    gradient   by the adjoint
    equations  Gauss-Newton equations through the sensitivities S, as the estimation takes them
    central    the gradient by central differences (2 n values)

Parts are CPU seconds of: `motion` (the engine's rollout, with S where asked),
`adjoint` (its backward pass), `objective` (residuals and their partials), `python` (all the rest).
"""

from __future__ import annotations

import time
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import numpy as np

from diffsim_ros.inverse.simulation_problem import SimulationProblem, body_slots, engine_rollouts
from diffsim_ros.real2sim.config import load_estimation
from diffsim_ros.real2sim.sensors.marker.experiment import MarkerExperiment

ROOT = Path(__file__).resolve().parent.parent
CONFIG = ROOT / "config" / "estimation" / "silicone_beam.yaml"
RECORD = ROOT / "data" / "silicone_beam" / "load52_a.csv"
ELEMENT, CELLS = "p1_fbar", "[12, 4, 4]"  # 1152 tetrahedra
WINDOW = 2.0  # s
DIFFERENCE = 1e-4  # of a scaled variable


class Timed:
    """Another object, with the CPU seconds of some of its methods added to `spent`."""

    def __init__(self, inner, methods: dict[str, str], spent: dict[str, float]):
        self._inner, self._methods, self._spent = inner, methods, spent

    def __getattr__(self, name):
        found = getattr(self._inner, name)
        return timed(found, self._methods[name], self._spent) if name in self._methods else found


def timed(function, part: str, spent: dict[str, float]):
    """The function, its CPU seconds added to spent[part]."""

    def called(*given, **named):
        before = time.process_time()
        try:
            return function(*given, **named)
        finally:
            spent[part] += time.process_time() - before

    return called


def problem_of(spent: dict[str, float], element: str, cells: str, window: float):
    """The estimation problem, its parts timed, and figures of its size."""
    changes = [f"scene.bodies.beam.element={element}", "simulation.threads=1"]
    changes += [f"scene.bodies.beam.shape.box.cells={cells}", f"measurement.window={window}"]
    config = load_estimation(CONFIG, train=[RECORD], validate=[], set=changes)
    experiment = MarkerExperiment(config)
    releases = experiment.read({}).train
    plain = experiment.model.problem(releases, experiment.model.map.start)
    (trial,) = plain.trials
    objectives = tuple(Timed(o, {"term": "objective"}, spent) for o in trial.objectives)
    rolled = timed(engine_rollouts, "motion", spent)

    def simulator(*given):
        return [Timed(run, {"gradient": "adjoint"}, spent) for run in rolled(*given)]

    problem = SimulationProblem(
        plain.scene, plain.options, plain.map, [replace(trial, objectives=objectives)],
        threads=1, simulator=simulator,
    )  # fmt: skip
    nodes = sum(slot.count for slot in body_slots(plain.scene).values())
    size = {"steps": trial.steps, "parameters": len(problem.start), "nodes": nodes}
    tets = 6 * int(np.prod([int(n) for n in cells.strip("[]").split(",")]))
    return problem, size | {"tets": tets, "unknowns": int(plain.scene.ndof)}


def split(problem, spent: dict[str, float], want: str):
    """Evaluation at the guess, and its CPU seconds by part."""
    spent.clear()
    before = time.process_time()
    found = problem.evaluate(problem.start, want=want)
    total = time.process_time() - before
    return found, {**spent, "python": total - sum(spent.values()), "total": total}


def differences(problem) -> np.ndarray:
    """Gradient by central differences; steps turn round at bounds."""
    gradient = []
    for i, z in enumerate(problem.start):
        up, down = problem.start.copy(), problem.start.copy()
        up[i] = min(z + DIFFERENCE, problem.upper[i])
        down[i] = max(z - DIFFERENCE, problem.lower[i])
        ahead, behind = (problem.evaluate(point).value for point in (up, down))
        gradient.append((ahead - behind) / (up[i] - down[i]))
    return np.array(gradient)


def main(
    out: Path | None = None, *, element: str = ELEMENT, cells: str = CELLS, window: float = WINDOW
) -> dict:
    """Run everything once; returns the figures."""
    spent: dict[str, float] = defaultdict(float)
    problem, figures = problem_of(spent, element, cells, window)
    figures |= {"element": element, "seconds_simulated": window}
    gradients = {}
    for want in ("value", "gradient", "equations"):
        found, figures[want] = split(problem, spent, want)
        gradients[want] = None if want == "value" else found.gradient[0]
    before = time.process_time()
    gradients["central"] = differences(problem)
    central = time.process_time() - before
    figures["central"] = {"total": central}
    scale = np.linalg.norm(gradients["equations"])
    for want in ("gradient", "equations"):
        figures[f"central_to_{want}"] = central / figures[want]["total"]
        figures[f"{want}_to_value"] = figures[want]["total"] / figures["value"]["total"]
        apart = np.linalg.norm(gradients[want] - gradients["central"]) / scale
        figures[f"{want}_apart_from_central"] = float(apart)
    return figures
