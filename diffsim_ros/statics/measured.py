"""Measured places at rest and natural frequencies: objectives, and the problem that they are of.

A trial is a scene at rest, under loads of its own: `Trial` with no steps.  To a `SimulationProblem`
its equilibrium is a rollout of one row, so objectives that need no velocities (PoseTrack at frame
0) serve as they are, beside

    PlacesAtRest  r = (x_sim - x)/sigma                                                     [Eq. 5]
    Frequencies   r = (f_sim - f)/sigma                                                     [Eq. 6]
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from diffsim_ros.errors import InputError, NotConverged
from diffsim_ros.inverse.losses import Loss
from diffsim_ros.inverse.marker_track import Carrier
from diffsim_ros.inverse.objectives import BodySlot, Term
from diffsim_ros.inverse.output_term import outputs_of
from diffsim_ros.inverse.parameters import ParameterMap
from diffsim_ros.inverse.simulation_problem import SimulationProblem, engine_rollouts
from diffsim_ros.inverse.trial import Trial
from diffsim_ros.statics.at_rest import SceneAtRest
from diffsim_ros.statics.equilibrium import Equilibrium, equilibrium
from diffsim_ros.statics.modes import Modes, modes_about

Array = np.ndarray
ALIKE = 0.01  # of the modal assurance criterion, for a factor e in frequency
SEARCHED = 10  # modes among which a measured one is looked for


class AtRest:
    """An equilibrium as a rollout of one row, or why there is none.

    found   Equilibrium, or the error of the search for it
    active  indices of the parameters that derivatives are by
    """

    def __init__(self, found: Equilibrium | Exception) -> None:
        self.active: list[int] = []
        self.ok = isinstance(found, Equilibrium)
        self.status, self.message = ("ok", "") if self.ok else ("not at rest", str(found))
        if isinstance(found, Equilibrium):
            self.rest = found
            self.position, self.orientation = found.position[None], found.orientation[None]
            self.velocity = self.angular_velocity = np.zeros_like(self.position)
            self.time = np.zeros(1)
            self.mode_hash = hash(found.forces.branches)
        self._modes: list[Modes] = []  # shared with copies

    def by(self, active: Sequence[int]) -> AtRest:
        """The same with derivatives by these parameters."""
        other = copy.copy(self)
        other.active = list(active)
        return other

    @property
    def names(self) -> list[str]:
        """Of the active parameters."""
        return [self.rest.scene.names[i] for i in self.active]

    @property
    def dx(self) -> Array:
        """(1, ndof, active): how the pose moves with the parameters."""
        return self.rest.derivatives(self.names)[None]

    @property
    def dv(self) -> Array:
        """(1, ndof, active): zero."""
        return np.zeros_like(self.dx)

    def gradient(self, gx: Array, gv: Array) -> Array:
        """(active,): dO/dp through the pose, by one solution with K^T."""
        return self.rest.gradient(gx[0], self.names) if np.any(gx) else np.zeros(len(self.active))

    def modes(self, count: int) -> Modes:
        """At least `count` modes about the equilibrium."""
        if not self._modes or self._modes[0].count < count:
            self._modes[:] = [modes_about(self.rest, count)]
        return self._modes[0]


def rest_problem(
    scene: Any, parameters: ParameterMap, trials: Sequence[Trial]
) -> SimulationProblem:
    """Estimation problem of scenes at rest, for the solvers and uncertainties of `inverse`.

    scene   _engine.Scene
    trials  of no steps; a load of one trial alone is in its `parameters`
    Raises InputError for a trial with steps or starts, and what `equilibrium` refuses.
    """
    from diffsim_ros import _engine

    _check(scene, trials)
    options = _engine.Options(step=1.0)
    return SimulationProblem(scene, options, parameters, trials, simulator=_Equilibria())


def at_rest_beside(problem: SimulationProblem, trials: Sequence[Trial]) -> SimulationProblem:
    """The problem with these trials at rest behind its own; raises as `rest_problem`."""
    _check(problem.scene, trials)
    return SimulationProblem(
        problem.scene, problem.options, problem.map, [*problem.trials, *trials],
        nuisance=problem.nuisance, threads=problem.threads, adjoint=problem.adjoint,
        simulator=_Equilibria(),
    )  # fmt: skip


def _check(scene: Any, trials: Sequence[Trial]) -> None:
    SceneAtRest(scene)
    for trial in trials:
        outputs = len(outputs_of(trial.objectives))
        counts = {"steps": trial.steps, "starts": len(trial.starts), "outputs": outputs}
        for key, given in counts.items():
            if given:
                raise InputError(f"trial {trial.name}", key, given, "none, as it is at rest")


class _Equilibria:
    """Equilibria in place of rollouts of no steps, see `engine_rollouts`; those last found are
    kept."""

    def __init__(self) -> None:
        self._kept: dict[bytes, AtRest] = {}

    def __call__(
        self, scene: Any, P: Array, steps: Array, options: Any, active: Sequence[int] | None,
        mode: str, threads: int, cancel: Any, outputs: Sequence[str] = (),
    ) -> list[Any]:  # fmt: skip
        still = steps == 0
        moving = iter(())
        if not still.all():
            settings = options, active, mode, threads, cancel
            found = engine_rollouts(scene, P[~still], steps[~still], *settings, outputs=outputs)
            moving = iter(found)
        resting = iter(self._at_rest(scene, P[still], active, cancel))
        return [next(resting if rests else moving) for rests in still]

    def _at_rest(
        self, scene: Any, P: Array, active: Sequence[int] | None, cancel: Any
    ) -> list[AtRest]:
        found = {}
        for p in P:
            key = p.tobytes()
            found[key] = self._kept.get(key) or _rest_of(scene, p, cancel)
            if cancel is not None and cancel.cancelled:
                found[key].status = "cancelled"
        self._kept = {key: rest for key, rest in found.items() if rest.status == "ok"}
        return [found[p.tobytes()].by(active or ()) for p in P]


def _rest_of(scene: Any, p: Array, cancel: Any) -> AtRest:
    try:
        return AtRest(equilibrium(scene, p, cancel=cancel))
    except (NotConverged, InputError) as error:
        return AtRest(error)


@dataclass(frozen=True, eq=False)
class PlacesAtRest:
    """Measured places of points of one body at rest: r = (x_sim - x)/sigma  [Eq. 5].

    carrier   n points: SoftPoints or RigidPoints
    position  (n, 3)  measured [m, world]; NaN: a coordinate that is not
    sigma     ()  (n, 1) or (n, 3)  [m]
    """

    body: str
    carrier: Carrier
    position: Array
    sigma: ArrayLike = 1e-3
    loss: Loss = field(default_factory=Loss, kw_only=True)
    name: str = field(default="places", kw_only=True)
    soft: ClassVar[bool] = True
    parameters: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        place, shape = f"objective {self.name!r} of {self.body!r}", (len(self.carrier), 3)
        position = np.array(self.position, float)
        if position.shape != shape:
            raise InputError(place, "position", position.shape, f"shape {shape}")
        object.__setattr__(self, "position", position)
        object.__setattr__(self, "sigma", _positive(place, "sigma", self.sigma, shape))

    def term(self, rollout: Any, slot: BodySlot, values: Mapping[str, float]) -> Term:
        """Residual (n, 3), 0 where nothing was measured."""
        x, _, by_x, _ = self.carrier.motion(rollout, slot, np.zeros(1, int))
        weight = np.isfinite(self.position) / np.asarray(self.sigma)
        residual = np.where(weight > 0, x[0] - self.position, 0.0) * weight
        rows, dofs = np.zeros(len(residual), int), self.carrier.dofs(slot)
        return Term(residual, rows, jx=by_x[0] * weight[..., None], dofs=dofs)

    def until(self, frame: int) -> PlacesAtRest:
        """See `Objective.until`: all of it is at frame 0."""
        return self


@dataclass(frozen=True, eq=False)
class Frequencies:
    """Measured natural frequencies: r = (f_sim - f)/sigma  [Eq. 6].

    f is undamped: of a damped swing sqrt(f_d^2 + (decay/2 pi)^2).  Which modes were measured is
    said by their numbers, as `diffsim modes` lists them (from 1), by their shapes (and, of those
    that are alike where it was measured, the nearest frequency), or by the nearest frequencies.
    A mode is taken once at most.

    body       of the scene, on which shapes were measured
    frequency  (m,) [Hz];  sigma () or (m,) [Hz]
    number     (m,) of the modes
    carrier    n points of the body, shape (m, n, 3) how they move, of any length and sign; NaN: a
               coordinate that was not measured
    count      modes that are searched
    """

    body: str
    frequency: Array
    sigma: ArrayLike
    number: tuple[int, ...] | None = None
    carrier: Carrier | None = None
    shape: Array | None = None
    count: int = SEARCHED
    loss: Loss = field(default_factory=Loss, kw_only=True)
    name: str = field(default="frequencies", kw_only=True)
    soft: ClassVar[bool] = True
    parameters: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        put, place = object.__setattr__, self.place
        frequency = np.atleast_1d(np.asarray(self.frequency, float))
        count = len(frequency)
        put(self, "frequency", _positive(place, "frequency", frequency, (count,)))
        put(self, "sigma", _positive(place, "sigma", self.sigma, (count,)))
        if self.number is not None:
            numbers = tuple(self.number)
            if len(set(numbers)) != count or min(numbers) < 1 or max(numbers) > self.count:
                rule = f"{count} different numbers from 1 to {self.count} (count)"
                raise InputError(place, "number", numbers, rule)
        if (self.carrier is None) != (self.shape is None) or (self.number and self.carrier):
            raise InputError(place, "shape", "part of it", "a carrier and a shape, or numbers")
        if self.carrier is not None:
            shape, wanted = np.array(self.shape, float), (count, len(self.carrier), 3)
            if shape.shape != wanted:
                raise InputError(place, "shape", shape.shape, f"shape {wanted}")
            if not np.all(np.nanmax(np.abs(shape), axis=(1, 2), initial=0.0) > 0):
                raise InputError(place, "shape", "no motion at all", "how points move in a mode")
            put(self, "shape", shape)

    @property
    def place(self) -> str:
        """For messages."""
        return f"objective {self.name!r} of {self.body!r}"

    def term(self, rollout: AtRest, slot: BodySlot, values: Mapping[str, float]) -> Term:
        """Residual (1, m), its partials by the active parameters; signature: the modes chosen."""
        found = rollout.modes(self.count)
        chosen = self.chosen(found, rollout, slot)
        simulated = np.array([found.group_frequency(i) for i in chosen])
        residual = ((simulated - self.frequency) / self.sigma)[None]
        direct = None
        if rollout.active:
            by = found.derivatives(rollout.names, of=chosen)
            direct = (by / np.asarray(self.sigma)[:, None])[None]
        return Term(residual, np.zeros(1, int), direct=direct, signature=hash(tuple(chosen)))

    def chosen(self, found: Modes, rollout: AtRest, slot: BodySlot) -> list[int]:
        """Which of the modes were measured, from 0; InputError where they are not among them."""
        from scipy.optimize import linear_sum_assignment

        if self.number is not None:
            for number in self.number:
                kind = found.kind[number - 1] if number <= found.count else "not there"
                if kind != "vibration":
                    rule = "a mode that is a vibration"
                    raise InputError(self.place, "number", f"{number}, which is {kind}", rule)
            return [number - 1 for number in self.number]
        able = found.vibrations
        if len(able) < len(self.frequency):
            raise InputError(self.place, "frequency", len(self.frequency), f"at most {len(able)}, "
                             f"the vibrations among {self.count} modes")  # fmt: skip
        ratio = np.log(self.frequency[:, None] / found.frequency[able])
        cost = np.minimum(np.abs(ratio), 1e6)
        if self.shape is not None:  # of modes that are equally alike, the nearest frequency
            cost = 1 - self.likeness(found, rollout, slot)[:, able] + ALIKE * np.minimum(cost, 10)
        rows, columns = linear_sum_assignment(cost)
        return [able[j] for _, j in sorted(zip(rows.tolist(), columns.tolist(), strict=True))]

    def likeness(self, found: Modes, rollout: AtRest, slot: BodySlot) -> Array:
        """(m, modes) 0 ... 1, the modal assurance criterion; of equal modes that of their span."""
        assert self.carrier is not None and self.shape is not None
        _, _, by_x, _ = self.carrier.motion(rollout, slot, np.zeros(1, int))
        dofs = slot.dof + self.carrier.dofs(slot)
        moves = by_x[0].reshape(3 * len(self.carrier), -1) @ found.vectors[dofs]
        like = np.zeros((len(self.shape), found.count))
        for k, measured in enumerate(self.shape.reshape(len(self.shape), -1)):
            seen = np.isfinite(measured)
            for i in range(found.count):
                span = moves[seen][:, list(found.group(i))]
                share = np.linalg.lstsq(span, measured[seen], rcond=None)[0]
                like[k, i] = np.sum((span @ share) ** 2) / np.sum(measured[seen] ** 2)
        return like

    def until(self, frame: int) -> Frequencies:
        """See `Objective.until`: they are not of a frame."""
        return self


def _positive(place: str, key: str, value: ArrayLike, shape: tuple[int, ...]) -> Array:
    """Array of this shape, from one that broadcasts; InputError where not finite and > 0."""
    found = np.asarray(value, float)
    try:
        spread = np.broadcast_to(found, shape)
    except ValueError:
        raise InputError(place, key, found.shape, f"shape {shape}, or one number") from None
    if not np.all(np.isfinite(found)) or not np.all(found > 0):
        raise InputError(place, key, value, "finite numbers > 0")
    return spread
