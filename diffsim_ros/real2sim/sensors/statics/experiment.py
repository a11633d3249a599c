"""Scenes at rest as an experiment: places under loads and natural frequencies, alone or beside
recordings of motions.  No rollout: equilibria and modes about them (diffsim_ros.statics)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ....errors import NotConverged, nearest
from ....inverse.simulation_problem import SimulationProblem, body_slots
from ....inverse.trial import Trial
from ....statics.measured import Frequencies, PlacesAtRest, at_rest_beside, rest_problem
from ...experiment import Assessment, Data, Experiment, RecordingPrediction
from ...fit import Fit
from ...model import Model, scene_and_map
from ...options import EstimationConfig, SquaresOptions
from ...progress import Reporter
from ..marker.attach import carrier_of
from .loads import Load, Loads


@dataclass(frozen=True, kw_only=True)
class NoOptions:
    """Sections `measurement` and `simulation`, which have no keys."""


@dataclass(frozen=True)
class LoadPrediction(RecordingPrediction):
    """A load, measured and simulated; *before*: at the first guess, None where that has no rest.

    points     names (n,);  position, simulated, before (n, 3) [m], NaN: not measured;  sigma (n, 1)
    frequency  (m,) [Hz], frequency_simulated, frequency_before, sigma_frequency likewise
    modes      numbers of the modes that were compared, from 1
    errors     position_rms_m, frequency_rms_Hz, rms_sigmas
    """

    points: tuple[str, ...]
    position: np.ndarray
    simulated: np.ndarray
    before: np.ndarray | None
    sigma: np.ndarray
    frequency: np.ndarray
    frequency_simulated: np.ndarray
    frequency_before: np.ndarray | None
    sigma_frequency: np.ndarray
    modes: tuple[int, ...]


@dataclass(frozen=True)
class StaticsModel(Model):
    """Scene and parameters of a scene at rest."""

    @classmethod
    def build(cls, config: EstimationConfig) -> StaticsModel:
        """Build the scene and bind the parameters; InputError naming what does not fit."""
        return cls(config, *scene_and_map(config)).checked()

    def checked(self) -> StaticsModel:
        """Itself; InputError for a body or parameter of a load that the scene lacks."""
        scene, statics = self.scene, self.config.statics
        if statics.body not in scene.bodies:
            near = nearest(statics.body, scene.bodies)
            raise self.config.error("statics.body", statics.body, "a body of the scene", near)
        known = [info.name for info in scene.engine.parameters]
        estimated = {target for p in self.map.parameters for target in p.sets}
        for load in (*statics.train, *statics.validate):
            for name in load.sets:
                key = f"statics.loads.{load.name}.sets.{name}"
                if name not in known:
                    near = nearest(name, known)
                    raise self.config.error(key, name, "a parameter of the scene", near)
                if name in estimated:
                    rule = "set by the load or by an entry of `parameters`, not both"
                    raise self.config.error(key, load.sets[name], rule)
        return self

    def objectives(self, load: Load) -> tuple[PlacesAtRest | Frequencies, ...]:
        """Of what was measured under a load."""
        statics = self.config.statics
        body, found = statics.body, list[PlacesAtRest | Frequencies]()
        if load.points:
            at = np.array([statics.points[name] for name in load.points])
            carrier = carrier_of(self.scene, body, at)
            found.append(PlacesAtRest(body, carrier, load.position, load.sigma))
        if len(load.frequency):
            shaped: dict[str, Any] = {"number": load.modes}
            if load.shapes is not None:
                at = np.array(list(statics.points.values()))
                shaped = {"carrier": carrier_of(self.scene, body, at), "shape": load.shapes}
            found.append(
                Frequencies(
                    body, load.frequency, load.sigma_frequency, count=statics.count, **shaped
                )
            )
        return tuple(found)

    def trial(self, load: Load) -> Trial:
        """The load as a trial of the inverse layer."""
        return Trial(load.name, 0, self.objectives(load), (), parameters=load.sets)

    def problem(
        self, trials: Sequence[Load], z: np.ndarray, *, horizon: int = 0
    ) -> SimulationProblem:
        """Estimation problem of these loads; they have no frames that a horizon could cut."""
        return rest_problem(self.scene.engine, self.map, [self.trial(load) for load in trials])

    def simulated(self, load: Load, run: Any, z: np.ndarray) -> tuple[np.ndarray, Any, tuple]:
        """Places (n, 3) [m], frequencies (m,) [Hz] and numbers of the modes at an equilibrium."""
        slot = body_slots(self.scene.engine)[self.config.statics.body]
        places, tones = np.zeros((0, 3)), np.zeros(0)
        modes: tuple[int, ...] = ()
        for objective in self.objectives(load):
            if isinstance(objective, PlacesAtRest):
                places = objective.carrier.motion(run, slot, np.zeros(1, int))[0][0]
            else:
                found = run.modes(objective.count)
                chosen = objective.chosen(found, run, slot)
                tones = np.array([found.group_frequency(i) for i in chosen])
                modes = tuple(i + 1 for i in chosen)
        return places, tones, modes


class StaticsExperiment(Experiment):
    """See experiment.Experiment; trials are Loads."""

    measurement, simulation, fit = NoOptions, NoOptions, SquaresOptions
    recordings = Loads
    model_of = StaticsModel.build
    what = "loads"

    def __init__(self, config: EstimationConfig, model: StaticsModel | None = None) -> None:
        self.config, self.model = config, model or StaticsModel.build(config)

    def read(self, observations: Mapping[str, Sequence]) -> Data:
        """The loads of section `statics`; what is passed is of recordings."""
        statics, wanted = self.config.statics, "validate" not in observations
        validate = statics.validate if wanted or observations["validate"] else ()
        return Data(list(statics.train), list(validate), [])

    def title(self, trial: Load) -> str:
        """Name of the load."""
        return trial.name

    def prediction(
        self, trial: Load, run: Any, ours: Any, before: Any, role: str
    ) -> LoadPrediction:
        """See Experiment.prediction."""
        places, tones, modes = ours
        guess = (None, None) if before is None else before[:2]
        apart, off = places - trial.position, tones - trial.frequency
        errors, squares = {}, []
        for key, values, sigma in (
            ("position_rms_m", apart, trial.sigma),
            ("frequency_rms_Hz", off, trial.sigma_frequency),
        ):
            seen = np.isfinite(values)
            if seen.any():
                errors[key] = float(np.sqrt(np.mean(values[seen] ** 2)))
                squares.append((values / sigma)[seen] ** 2)
        errors["rms_sigmas"] = float(np.sqrt(np.mean(np.concatenate(squares))))
        return LoadPrediction(
            trial.name, role, trial.source, trial.points, trial.position, places, guess[0],
            trial.sigma, trial.frequency, tones, guess[1], trial.sigma_frequency, modes,
            errors=errors,
        )  # fmt: skip

    def assess(self, data: Data, fit: Fit, reporter: Reporter, cancel: Any) -> Assessment:
        """See Experiment.assess; what was predicted is at rest, and no recording."""
        found = super().assess(data, fit, reporter, cancel)
        return replace(found, predictions=[], at_rest=found.predictions)

    @classmethod
    def beside(cls, other: Experiment) -> Experiment:
        """The recordings of another experiment, and these loads."""
        return BesideExperiment(other, cls)


@dataclass(frozen=True)
class BesideModel(Model):
    """A model of recordings, and the same scene at rest; trials are of either.

    moving  the other model
    """

    moving: Model

    def problem(self, trials: Sequence, z: np.ndarray, *, horizon: int = 0) -> SimulationProblem:
        """Estimation problem of recordings, then loads."""
        moving, loads = split(trials)
        if [*moving, *loads] != list(trials):
            raise ValueError("loads stand behind recordings")
        still = StaticsModel(self.config, self.scene, self.map)
        if not moving:
            return still.problem(loads, z)
        model = replace(self.moving, config=self.config, scene=self.scene, map=self.map)
        problem = model.problem(moving, z, horizon=horizon)
        return at_rest_beside(problem, [still.trial(load) for load in loads]) if loads else problem

    def streams(self, trials: Sequence) -> list:
        """Those of the recordings."""
        return self.moving.streams(split(trials)[0])

    def look(self, trials: Sequence) -> tuple[list[str], dict]:
        """That of the recordings."""
        return self.moving.look(split(trials)[0])


class BesideExperiment(Experiment):
    """Recordings of another kind, and loads behind them."""

    def __init__(self, moving: Experiment, statics: type[StaticsExperiment]) -> None:
        self.config, self.moving = moving.config, moving
        model = moving.model
        self.model = BesideModel(self.config, model.scene, model.map, model)
        still = StaticsModel(self.config, model.scene, model.map).checked()
        self.still = statics(self.config, still)
        self.what, self.named = moving.what, moving.named

    def read(self, observations: Mapping[str, Sequence]) -> Data:
        """Recordings, then loads."""
        one, two = self.moving.read(observations), self.still.read(observations)
        return replace(one, train=[*one.train, *two.train], validate=[*one.validate, *two.validate])

    def flight_of(self, trial: Any) -> Any:
        """See Experiment.flight_of."""
        return None if isinstance(trial, Load) else self.moving.flight_of(trial)

    def set_flight(self, trial: Any, flight: Any) -> None:
        """See Experiment.set_flight."""
        self.moving.set_flight(trial, flight)
        self.model = replace(self.model, moving=self.moving.model)

    def counts(self, fit: Fit) -> dict:
        """Which recordings and loads were fitted."""
        moving, loads = split(fit.kept)
        names = [load.name for load in loads]
        return {**self.moving.counts(replace(fit, kept=moving)), "loads": names}

    def assess(self, data: Data, fit: Fit, reporter: Reporter, cancel: Any) -> Assessment:
        """See Experiment.assess, of recordings and loads."""
        trained, validated = split(data.train), split(data.validate)
        kept = split(fit.kept)
        if not kept[0] and trained[0]:
            raise NotConverged(
                f"no recording can be simulated at the first guess: {fit.dropped[0]}"
            )
        if not kept[0]:  # a load alone, as a comparison of models holds it out
            return self.still.assess(Data([], [], []), fit, reporter, cancel)
        found = self.moving.assess(
            Data(trained[0], validated[0], []), _of(fit, kept[0]), reporter, cancel
        )
        if not kept[1]:
            return found
        rest = self.still.assess(
            Data(trained[1], validated[1], []), _of(fit, kept[1]), reporter, cancel
        )
        validate = found.validate
        if rest.validate is not None:
            validate = {**(found.validate or {}), "statics": rest.validate}
        return replace(
            found, train={**found.train, "statics": rest.train}, validate=validate,
            at_rest=rest.at_rest, notes=[*found.notes, *rest.notes],
        )  # fmt: skip


def split(trials: Sequence) -> tuple[list, list]:
    """Recordings, and loads."""
    loads = [trial for trial in trials if isinstance(trial, Load)]
    return [trial for trial in trials if not isinstance(trial, Load)], loads


def _of(fit: Fit, trials: list) -> Fit:
    """The part of a fit that is of these of its trials."""
    rows = [i for i, trial in enumerate(fit.kept) if any(trial is one for one in trials)]
    return replace(fit, kept=trials, y=fit.y[rows], problem=fit.problem.only(rows))
