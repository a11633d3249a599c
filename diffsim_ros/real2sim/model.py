"""What every kind of experiment simulates: a scene, and the parameters that set its numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Self

import numpy as np

from ..errors import nearest
from ..fields import Reader
from ..inverse.engine_options import options_like
from ..inverse.joint_track import Scaled
from ..inverse.losses import Cauchy, Loss, SoftL1
from ..inverse.parameters import ParameterMap
from ..inverse.simulation_problem import SimulationProblem
from ..inverse.trial import Trial
from ..parameter import Parameter, read_sets
from ..scene.model import SceneModel, load_scene
from ..scene.vertices import vertex_positions
from ..sensing.observation import Observation
from .inertias import inertia_groups
from .options import EstimationConfig, ParameterOptions


@dataclass(frozen=True)
class Model:
    """Scene and parameters of an estimation; kinds add how a recording becomes a rollout."""

    config: EstimationConfig
    scene: SceneModel
    map: ParameterMap

    def __getstate__(self) -> dict[str, Any]:
        """The map without the engine's scene, which `scene` builds again; nothing remembered."""
        kept = [one.name for one in fields(self) if not one.name.startswith("_")]
        parameters = self.map.parameters, self.map.groups
        return {**{name: getattr(self, name) for name in kept}, "map": parameters}

    def __setstate__(self, state: dict[str, Any]) -> None:
        parameters, groups = state["map"]
        own = ParameterMap(parameters, state["scene"].engine, groups)
        remembered: Any = [one for one in fields(self) if one.name.startswith("_")]
        empty = {one.name: one.default_factory() for one in remembered}
        self.__dict__.update(state, map=own, **empty)

    def problem(self, trials: Sequence, z: np.ndarray, *, horizon: int = 0) -> SimulationProblem:
        """Estimation problem of these trials, with what starts depend on taken at z.

        horizon  last frame after the start that counts, 0: all
        """
        raise NotImplementedError

    def of_trials(
        self, trials: Sequence[Trial], options: Any = None, *, nuisance: bool = False
    ) -> SimulationProblem:
        """The problem of trials of the inverse layer; options: the engine's, by default the
        scene's."""
        return SimulationProblem(
            self.scene.engine,
            options or self.scene.options,
            self.map,
            trials,
            nuisance=nuisance,
            threads=self.config.simulation.threads,
        )

    def streams(self, trials: Sequence) -> list[Observation]:
        """The samples that are fitted, where a flight or rest before them can be checked."""
        return []

    def look(self, trials: Sequence) -> tuple[list[str], dict]:
        """Sentences and figures of the pre-flight that are the kind's own."""
        return [], {}

    def held(self, values: Mapping[str, float]) -> Self:
        """The same model with these parameters fixed at values."""
        parameters = [
            # a value at a bound may be beyond it by rounding
            replace(p, value=float(np.clip(values[p.name], p.lower, p.upper)), free=False)
            if p.name in values
            else p
            for p in self.map.parameters
        ]
        return replace(self, map=ParameterMap(parameters, self.scene.engine, self.map.groups))

    def scaled(self, named: Mapping[str, float]) -> np.ndarray:
        """Scaled vector z (nz,) of the free parameters' values, within their bounds."""
        z = self.map.scaled({name: named[name] for name in self.map.names})
        return np.clip(z, self.map.lower, self.map.upper)

    def scene_parameters(self, z: np.ndarray) -> dict[str, float]:
        """The scene's parameters at z, by name, in the units of the scene."""
        p = self.map.engine(z, self.scene.engine.values)
        names = dict.fromkeys(target for q in self.map.parameters for target in q.sets)
        names |= dict.fromkeys(n for group in self.map.groups for n in group.scene_parameters)
        return {name: float(p[self.scene.engine.index(name)]) for name in names}

    def number_of(self, target: str, rule: str) -> Scaled:
        """A number of the scene, for objectives that use it directly: the parameter that sets it,
        or the scene's number; InputError naming `rule` for several parameters."""
        sets = [(p, p.sets[target]) for p in self.map.parameters if target in p.sets]
        if not sets:
            return Scaled(float(self.scene.engine.values[self.scene.engine.index(target)]))
        if len(sets) > 1:
            raise self.config.error("parameters", [p.name for p, _ in sets], rule)
        (parameter, (factor, power)) = sets[0]
        if not parameter.free:
            return Scaled(factor * parameter.value**power)
        return Scaled(0.0, parameter.name, factor, power)

    @property
    def interval(self) -> float:
        """Time between recorded rows of a rollout by the scene's own steps [s]."""
        return self.scene.options.step * self.scene.options.record_every

    def rows(self, span: float) -> int:
        """Rows of a rollout that reaches one beyond `span` seconds."""
        return math.floor(span / self.interval + 1e-9) + 1

    def gravity(self, z: np.ndarray) -> np.ndarray:
        """Gravity of the model at z, recorded lengths [m/s^2] (3,)."""
        p = self.map.engine(z, self.scene.engine.values)
        return p[[self.scene.engine.index(f"gravity.{axis}") for axis in "xyz"]]

    def surface(self, run: Any, t: np.ndarray) -> tuple[np.ndarray | None, np.ndarray | None]:
        """Surface of a soft body as simulated, for pictures; (None, None) of another body.

        t  times since the start [s] (n,), of which the nearest rows are taken
        Returns vertices, world [m] (n, k, 3), and triangles (l, 3).
        """
        body = self.scene.parts.bodies[self.config.body]
        if not body.SOFT:
            return None, None
        rows = np.rint(np.maximum(t, 0.0) / self.interval).astype(int)
        rows = np.minimum(rows, len(run.time) - 1)
        used, triangles = np.unique(body.mesh.triangles, return_inverse=True)
        vertices = vertex_positions(self.scene, run, self.config.body, rows)[:, used]
        return vertices.astype(np.float32), triangles.reshape(-1, 3)

    @property
    def loss(self) -> Loss:
        """Loss of a trial's mean square."""
        fit = self.config.fit
        kinds: dict[str, Any] = {"soft_l1": SoftL1, "cauchy": Cauchy}
        return Loss() if fit.loss == "squared" else kinds[fit.loss](fit.loss_scale)

    def engine_options(self, dt: float, spf: int) -> Any:
        """Engine options with `spf` steps per frame of dt seconds."""
        return options_like(self.scene.options, step=dt / spf, record_every=spf)


def scene_and_map(
    config: EstimationConfig, description: Mapping | None = None
) -> tuple[SceneModel, ParameterMap]:
    """Scene and parameters of an estimation; InputError naming what does not fit.

    description  scene to load instead of the configuration's
    """
    scene = load_scene(description or config.scene, base=config.base)
    for body in config.bodies:
        if body not in scene.bodies:
            remedy = nearest(body, scene.bodies)
            raise config.error("body", body, "a body of the scene", remedy)
    known = {info.name for info in scene.engine.parameters}
    parameters = [
        # sorted, so that the order of the keys in a YAML changes no digit
        _parameter(config, name, options, known)
        for name, options in sorted(config.parameters.items())
    ]
    groups = inertia_groups(config, scene.description)
    return scene, ParameterMap(parameters, scene.engine, groups)


def _parameter(
    config: EstimationConfig, name: str, options: ParameterOptions, known: set[str]
) -> Parameter:
    """One Parameter of the inverse layer; `known` are those of the scene."""
    unbounded = options.fixed or options.bounds is None
    low, high = (-np.inf, np.inf) if unbounded else options.bounds
    return Parameter(
        name,
        options.unit,
        options.value,
        low,
        high,
        options.scale,
        options.prior_mean,
        options.prior_sigma,
        read_sets(Reader(config.place), options.sets, f"parameters.{name}.sets", known),
        free=not options.fixed,
    )


def on_one_thread(model: Any) -> Any:
    """A Model whose rollouts take one thread, as a worker has: digits do not depend on it."""
    simulation = model.config.simulation
    if "threads" not in {one.name for one in fields(simulation)}:
        return model
    config = replace(model.config, simulation=replace(simulation, threads=1))
    return replace(model, config=config)
