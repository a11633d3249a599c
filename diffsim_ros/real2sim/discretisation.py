"""Are time step, mesh and element fine enough for a fit?

Its end is simulated once more with half the step, and, of solids, on a mesh twice as fine and with
the other element.  How far each would move the parameters is named, and std_dev is enlarged by what
mesh and element would.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..errors import InputError
from ..inverse.discretisation_shift import Shift, moving_trials, of_half_steps, shift_to
from ..inverse.simulation_problem import SimulationProblem
from ..inverse.solution import Solution
from ..inverse.uncertainty import Uncertainty, expansion_at
from ..scene.finer import LINEAR, OTHER, RESOLUTION, finer, numbered, solids, with_elements
from .experiment import experiment_of
from .fit import Fit
from .model import Model
from .options import EstimationConfig
from .spread import around, solution_of

SHIFT = 1.0
"""Standard deviations that a finer model may move a parameter by."""
MOST_TRIALS = 3
"""That are simulated on another mesh, and at most one of so many that are fitted."""
MOST_NODES = 30_000
"""Of all solids together, beyond which no finer mesh is simulated."""
MOST_NAMED = 3
"""Parameters that a sentence names."""
ENLARGE = ("mesh", "element")
"""Kinds whose shifts std_dev is enlarged by; a step is shortened instead."""
MOVED = {"step": "half", "mesh": "finer", "element": "other"}
"""What is changed -> what result.yaml calls the parameters' changes."""


@dataclass(frozen=True)
class Finer:
    """What another model is made of, and what is said of it.

    kind   step, mesh or element
    head   what is changed to what;  would  the same as the subject of "would move"
    doubt  what is wrong where it moves too much; "": std_dev says enough
    figures  further ones
    """

    kind: str
    head: str
    would: str
    doubt: str
    figures: Mapping[str, Any]


@dataclass(frozen=True)
class Check:
    """A finer model's shift of a fit.

    over     parameter -> change over its std_dev before that is enlarged, the largest first
    seconds  that it took
    """

    of: Finer
    shift: Shift
    over: Mapping[str, float]
    seconds: float

    @property
    def moved(self) -> dict[str, float]:
        """Parameters that move too far, over std_dev."""
        return {name: size for name, size in self.over.items() if abs(size) > SHIFT}

    @property
    def most(self) -> float:
        """Of these the largest [std_dev], 0: none."""
        return max(map(abs, self.moved.values()), default=0.0)

    def sentence(self) -> str:
        """For the notes of a fit."""
        text = f"{self.of.head} changes residuals by {self.shift.change:.2g} sigma"
        if self.over:
            name, most = next(iter(self.over.items()))
            text += f" and would move parameters by {abs(most):.2g} std_dev at most ({name})"
        return text + (f" ({self.seconds:.2g} s)" if self.of.kind != "step" else "")

    def moves(self) -> str:
        """`NAME by -7 std_dev` of parameters that move too far."""
        moved = self.moved
        if not moved:
            return ""
        found = ", ".join(f"{n} by {moved[n]:+.2g}" for n in list(moved)[:MOST_NAMED])
        rest = f" and {len(moved) - MOST_NAMED} more" if len(moved) > MOST_NAMED else ""
        return f"{self.of.would} would move {found}{rest} std_dev"

    def figures(self) -> dict:
        """A section of result.yaml and metrics.json, by its kind."""
        shift = self.shift
        return {
            **self.of.figures, "residuals_change_sigma": shift.change,
            "residuals_left_sigma": shift.left,
            MOVED[self.of.kind]: {
                name: {"change": value, "over_std_dev": self.over.get(name)}
                for name, value in shift.values.items()
            },
        }  # fmt: skip


def checks_of(
    model: Model, fit: Fit, found: Uncertainty | None, cancel: Any = None
) -> tuple[list[Check], list[str]]:
    """What finer models change at the end of a fit, and sentences on those that were left out.

    Nothing where it is not asked for, where nothing moves, or where the fit ended with a search:
    that smooths over what single derivatives say.
    """
    if fit.surface is not None:
        return [], []
    taken, last = around(model, fit)[2:4]
    return checks_at(model, fit.problem, solution_of(fit), fit.kept, found, (taken, last), cancel)


def checks_at(
    model: Model, problem: Any, solution: Solution, trials: Sequence, found: Uncertainty | None,
    made: tuple[np.ndarray, int], cancel: Any = None,
    only: Sequence[str] = ("step", "mesh", "element"),
) -> tuple[list[Check], list[str]]:  # fmt: skip
    """The same at any point of a model's problem of these trials.

    made  z at which its starts were taken, and its last frame;  only  kinds that are wanted
    """
    options = model.config.fit
    if not isinstance(problem, SimulationProblem) or not moving_trials(problem):
        return [], []
    if not (options.check_step or options.check_mesh):
        return [], []
    checks: list[Check] = []
    sentences: list[str] = []
    try:
        expansion = expansion_at(problem, solution)
    except (InputError, np.linalg.LinAlgError):
        return [], []
    for what, chosen, make in _finer(model, problem, trials, made, sentences):
        if what.kind not in only or getattr(cancel, "cancelled", False):
            continue
        begun = time.perf_counter()
        try:
            shift = shift_to(make(), problem, solution, chosen, cancel, expansion)
        except (InputError, np.linalg.LinAlgError) as error:
            sentences.append(f"{what.head}: could not be simulated ({error})")
            continue
        if shift is None:
            if what.kind != "step" and not getattr(cancel, "cancelled", False):
                sentences.append(f"{what.head}: could not be simulated at the end of the fit")
            continue
        over = {} if found is None else shift.over(found.covariance_z, found.names)
        checks.append(Check(what, shift, over, time.perf_counter() - begun))
    return checks, sentences


Made = tuple[Finer, list[int], Callable[[], SimulationProblem]]


def _finer(
    model: Model, problem: SimulationProblem, trials: Sequence, made: tuple[np.ndarray, int],
    sentences: list[str],
) -> Iterator[Made]:  # fmt: skip
    """Finer models, the trials that they are simulated for, and how their problems are made."""
    options, moving = model.config.fit, moving_trials(problem)
    if options.check_step:
        step = float(problem.options.step)
        what = Finer(
            "step", f"time step: half of {step:.3g} s", "half of it",
            f"the time step of {step:.3g} s is too long", {"seconds": step},
        )  # fmt: skip
        yield what, moving, lambda: of_half_steps(problem, moving)
    described = model.scene.description
    names = solids(described)
    if not options.check_mesh or not names:
        return
    count = min(MOST_TRIALS, -(-len(moving) // MOST_TRIALS))
    some = np.linspace(0, len(moving) - 1, count).astype(int)
    chosen = [moving[k] for k in some]

    def with_scene(changed: Mapping) -> Callable[[], SimulationProblem]:
        def make() -> SimulationProblem:
            other = model_with(model, changed)
            z, last = made
            return other.problem([trials[k] for k in chosen], z, horizon=last)

        return make

    who = ", ".join(names)
    where = numbered(described)
    nodes = 8 * sum(len(model.scene.parts.bodies[name].mesh.vertices) for name in names)
    if where:
        sentences.append(f"mesh: not compared with a finer one, {where} names vertices by number")
    elif nodes > MOST_NODES:
        sentences.append(
            f"mesh: not compared with one twice as fine, of about {nodes} nodes ({MOST_NODES} at "
            "most)"
        )
    else:
        what = Finer(
            "mesh", f"mesh of {who}: one twice as fine", "one twice as fine",
            f"the mesh of {who} is too coarse", {"bodies": names},
        )  # fmt: skip
        yield what, chosen, with_scene(finer(described))
    others = {name: OTHER[described["bodies"][name]["element"]] for name in names}
    own = {described["bodies"][name]["element"] for name in names}
    if where:
        return
    theirs = ", ".join(sorted(set(others.values())))
    linear = any(element in LINEAR for element in own)
    what = Finer(
        "element", f"element of {who}: {theirs} for {', '.join(sorted(own))}", f"element {theirs}",
        f"element {', '.join(sorted(own))} of {who} is too stiff" if linear else "",
        {"bodies": names, "to": others},
    )  # fmt: skip
    yield what, chosen, with_scene(with_elements(described, others))


def model_with(model: Model, described: Mapping) -> Model:
    """The model of another scene that has the same parameters; the body's surface, as a camera sees
    it, stays where it is."""
    config = replace(model.config, scene=described)
    if getattr(config.measurement, "radius", 0.0) is None:
        shape = model.scene.description["bodies"][config.body].get("shape") or {}
        if "ball" in shape:
            measurement = replace(config.measurement, radius=shape["ball"]["radius"])
            config = replace(config, measurement=measurement)
    return experiment_of(config).model


def noted(checks: Sequence[Check], found: Uncertainty | None) -> Uncertainty | None:
    """The uncertainty enlarged by shifts that are too large (ENLARGE), with notes on parameters.

    With d the shift of the scaled variables the covariance gets d d^T: as if d were drawn.
    """
    moving = [check for check in checks if check.moved]
    if found is None or not moving:
        return found
    more, notes = np.zeros_like(found.covariance_z), list(found.notes)
    for check in moving:
        if check.of.kind in ENLARGE:
            d = np.array([check.shift.dz.get(name, 0.0) for name in found.names])
            more += np.outer(d, d)
        for i, name in enumerate(found.names):
            if name in check.moved:
                change = check.of.would.replace("half of it", "half the time step")
                change = change.replace("one twice as fine", "a mesh twice as fine")
                note = f"{change} would move it by {check.moved[name]:+.2g} std_dev"
                notes[i] = "; ".join(filter(None, [notes[i], note]))
    covariance = found.covariance_z + more
    with np.errstate(invalid="ignore", divide="ignore"):
        sigma = np.sqrt(np.diagonal(covariance))
        factors = sigma / np.sqrt(np.diagonal(found.covariance_z))
        correlation = covariance / np.outer(sigma, sigma)
    factors = np.where(np.isfinite(factors), factors, 1.0)
    np.fill_diagonal(correlation, 1.0)
    samples = None if found.samples is None else found.z + factors * (found.samples - found.z)
    return replace(
        found, covariance_z=covariance, std_dev=factors * found.std_dev, correlation=correlation,
        samples=samples, notes=tuple(notes),
    )  # fmt: skip


def enlarged_note(before: Uncertainty | None, after: Uncertainty | None) -> str:
    """A sentence on how much `noted` enlarged std_dev, "": not at all."""
    if before is None or after is None or after is before:
        return ""
    with np.errstate(invalid="ignore", divide="ignore"):
        factors = after.std_dev / before.std_dev
    if not np.nanmax(factors, initial=1.0) > 1.0:
        return ""
    i = int(np.nanargmax(factors))
    return (
        f"std_dev: enlarged by what mesh and element would move, most of all "
        f"{after.names[i]}'s, to {factors[i]:.2g} times"
    )


def times_finer(most: float) -> int:
    """By which power of two to shorten steps or edges whose half moves a parameter by `most`
    standard deviations, which falls about as h^2."""
    return 2 ** max(1, math.ceil(0.5 * math.log2(max(most / SHIFT, 1.0))))


def remedy(model: Model, check: Check) -> str:
    """Advice on which number to change to what."""
    config, factor = model.config, times_finer(check.most)
    described = model.scene.description
    if check.of.kind == "step":
        key = step_key(config, check.of.figures["seconds"], factor)
        return f"set {key} before anything else, and fit again"
    if check.of.kind == "element":
        keys = [f"bodies.{n}.element: {to}" for n, to in check.of.figures["to"].items()]
        return f"set {', '.join(keys)} of the scene, and fit again"
    keys = [key for name in solids(described) for key in mesh_keys(name, described, factor)]
    cost = f"about {factor**3} to {factor**4} times the time of this fit"
    return f"set {', '.join(keys)} of the scene ({cost}), and fit again"


def step_key(config: EstimationConfig, step: float, factor: int) -> str:
    """KEY: VALUE of a step [s] that is so many times shorter."""
    steps = getattr(config.simulation, "steps_per_frame", None)
    if steps is None:
        return f"world.step of the scene: {step / factor:.3g}"
    return f"simulation.steps_per_frame: {steps * factor}"


def mesh_keys(name: str, described: Mapping, factor: int) -> list[str]:
    """KEY: VALUE of a solid's mesh with edges so many times shorter."""
    changed = finer(described, factor)["bodies"][name]["shape"]
    ((kind, shape),) = changed.items()
    return [f"bodies.{name}.shape.{kind}.{key}: {shape[key]}" for key in RESOLUTION[kind]]
