"""`diffsim simulate --ensemble`: a motion that chance decides, with its middle and its spread."""

from __future__ import annotations

import argparse
import csv
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from diffsim_ros.errors import InputError
from diffsim_ros.executors import executor_of, gather
from diffsim_ros.executors.tasks import Report
from diffsim_ros.inverse.ensemble import centre, distances
from diffsim_ros.inverse.kicked import Kicked, check_kick

FILE = "ensemble.csv"
LEVELS = (0.05, 0.95)
"""Quantiles of the positions along the axes."""
INSIDE = 0.9
"""Share of the members within the distance and the angle that are given."""


@dataclass(frozen=True)
class Ensemble:
    """Members and what is written of them.

    time    (n,) [s];  poses  of the members that came to their end (members, n, 7)
    failed  members that did not;  kick, seed  as given
    """

    time: np.ndarray
    poses: np.ndarray
    failed: int
    kick: float
    seed: int

    def columns(self) -> dict[str, np.ndarray]:
        """Columns of ensemble.csv (n,)."""
        middle = centre(self.poses)
        found = {"t": self.time}
        found |= dict(zip(("x", "y", "z", "qx", "qy", "qz", "qw"), middle.T, strict=True))
        for level, values in zip(LEVELS, np.quantile(self.poses[..., :3], LEVELS, axis=0),
                                 strict=True):  # fmt: skip
            found |= {f"{k}_{100 * level:g}": v for k, v in zip("xyz", values.T, strict=True)}
        for name, d in zip(("distance", "angle"), distances(self.poses, middle), strict=True):
            found[f"{name}_{100 * INSIDE:g}"] = np.quantile(d, INSIDE, axis=0)
        return found

    def document(self) -> dict:
        """Section `ensemble` of result.yaml: units m and rad."""
        final = {name: float(values[-1]) for name, values in self.columns().items()}
        counts = {"members": len(self.poses), "failed": self.failed}
        return {**counts, "kick": self.kick, "seed": self.seed, "final": final}

    def write(self, folder: Path) -> None:
        """Write ensemble.csv."""
        columns = self.columns()
        with (folder / FILE).open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(columns)
            writer.writerows(np.stack(list(columns.values()), axis=1).tolist())


def check_scene(model: Any, options: argparse.Namespace) -> None:
    """InputError for a scene that has no such ensemble, before it is simulated."""
    check_kick(model, options.kick or 0.0)


def ensemble_of(
    model: Any, options: argparse.Namespace, token: Any, progress: Report | None = None
) -> Ensemble:
    """Simulate the members; InputError where none came to its end.

    Each has random numbers of its own, so that executors and their workers do not matter.
    progress  called with (done, all)
    """
    from diffsim_ros.real2sim.draws import drawn

    engine, kick = model.engine, options.kick or 0.0
    P = np.tile(engine.values, (options.ensemble, 1))
    if options.estimated is not None:
        rng = np.random.default_rng(options.seed)
        P = drawn(options.estimated, engine, options.ensemble, rng)
    seeds = [(options.seed, k) for k in range(len(P))]
    tasks = list(zip(P, seeds, strict=True))
    with executor_of(options.ray) as executor:
        found = gather(
            member, tasks, (model, kick), executor=executor, folder=options.resume,
            progress=progress, cancel=token,
        )  # fmt: skip
    kept = [poses for poses in found if poses is not None]
    if not kept:
        rule = "a scene whose motions can be simulated to their end"
        raise InputError(model.place, "ensemble", f"0 of {len(P)} members", rule)
    time = np.arange(len(kept[0])) * model.options.step * model.options.record_every
    return Ensemble(time, np.array(kept), len(P) - len(kept), float(kick), options.seed)


def member(shared: Any, task: Any, cancel: Any) -> np.ndarray | None:
    """Poses (frames, 7) of one motion, None where it does not come to its end.

    shared  (SceneModel, kick);  task  (parameters (np,), seed of its kicks)
    """
    (model, kick), (values, seed) = shared, task
    rng, steps = [np.random.default_rng(seed)], np.array([model.steps])
    poses, ok = Kicked(model, kick).run(values[None], steps, rng, threads=1, cancel=cancel)
    return poses[0] if ok[0] else None
