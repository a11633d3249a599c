"""The real cube's tosses by the engine: the middle of motions that every impact turns by chance.

As cube_ensemble does with its prototype, for the law that the engine has and the scene of
cube_toss.yaml: laws of one fold of the development half (cube_whole) predict the other fold.
The random part has the size with the least energy score on the fold that the law was fitted to.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from diffsim_ros.inverse.kicked import Kicked
from diffsim_ros.inverse.simulation_problem import SimulationProblem
from diffsim_ros.real2sim.config import load_estimation
from diffsim_ros.real2sim.sensors.pose.experiment import PoseExperiment
from diffsim_ros.real2sim.sensors.pose.model import PoseModel
from diffsim_ros.sensing.observation import PoseTrial
from diffsim_ros.sensing.tosses import read_tosses

from .cube_ensemble import FEW, KICKS, MEMBERS, Fold, beside, predicted
from .cube_laws import FILE, benchmark, folds
from .cube_prototype import Law
from .cube_toss import configured
from .cube_whole import WHOLE

NAMES = {
    "friction": "friction", "friction_unloaded": "friction_unloaded",
    "normal_stiffness": "stiffness", "damping_ratio": "damping_ratio",
    "tangential_time": "tangential_time", "corner_radius": "radius", "inertia": "inertia",
}  # fmt: skip
"""Parameter of cube_toss.yaml -> number of a Law."""


@dataclass(frozen=True)
class EngineFold(Fold):
    """A fold whose motions are the engine's."""

    model: PoseModel
    trials: list[PoseTrial]

    @classmethod
    def read(cls, ids: list[int]) -> EngineFold:
        """The fold of these tosses."""
        config = load_estimation(configured(ids, ids))
        experiment = PoseExperiment(config)
        trials = experiment.role(None, config.validate, [])
        fold = Fold.of(read_tosses(FILE, ids))
        assert fold.ids == tuple(trial.id for trial in trials)
        return cls(fold.ids, fold.start, fold.measured, fold.frames, experiment.model, trials)

    def problem(self, law: Law) -> tuple[SimulationProblem, np.ndarray]:
        """The tosses with starts taken at these numbers, and the numbers."""
        z = self.model.map.scaled({name: getattr(law, own) for name, own in NAMES.items()})
        return self.model.problem(self.trials, z), z

    def single(self, law: Law) -> np.ndarray:
        problem, z = self.problem(law)
        found = [
            np.concatenate([run.position[:, 0], run.orientation[:, 0]], axis=1)
            for run in problem.rollouts(z)
        ]
        return benchmark(found, self.measured)  # type: ignore[arg-type]

    def ensemble(self, law: Law, kick: float, members: int, seed: int) -> np.ndarray:
        problem, z = self.problem(law)
        kicked = Kicked(self.model.scene, kick, problem.options)
        P = np.tile(problem.vectors(z), (members, 1))
        steps = np.tile([trial.steps for trial in problem.trials], members)
        found, _ = kicked.run(P, steps, np.random.default_rng(seed))
        padded = [np.pad(p, ((0, self.frames - len(p)), (0, 0)), "edge") for p in found]
        return np.array(padded).reshape(members, len(self.ids), self.frames, 7)


def study(fraction: float = 1.0, seed: int = 0) -> dict:
    """The whole item; a tenth has few members."""
    whole = fraction >= 1
    members, few = (MEMBERS, FEW) if whole else (8, 2)
    parts = [EngineFold.read(ids) for ids in folds(fraction)[:2]]
    table, more = predicted(parts, {"present": WHOLE["present"]}, members, few, KICKS)
    rows = {name.removeprefix("present, "): e for name, e in table["development"].items()}
    return {
        "tosses": [len(f.ids) for f in parts],
        "members": members,
        "kick": more["kick"]["present"],
        **{name: beside(errors, rows["one motion"]) for name, errors in rows.items()},
        "calibration": more["calibration"]["present"]["development"],
    }
