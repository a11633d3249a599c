"""`diffsim simulate --ensemble`: a motion that chance decides, with its middle and its spread."""

from __future__ import annotations

import argparse
import csv
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from diffsim_ros.errors import InputError
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


def ensemble_of(model: Any, options: argparse.Namespace, token: Any) -> Ensemble:
    """Simulate the members; InputError where none came to its end."""
    from diffsim_ros.real2sim.draws import drawn

    rng = np.random.default_rng(options.seed)
    engine = model.engine
    P = np.tile(engine.values, (options.ensemble, 1))
    if options.estimated is not None:
        P = drawn(options.estimated, engine, options.ensemble, rng)
    kicked = Kicked(model, options.kick or 0.0)
    poses, ok = kicked.run(P, np.full(len(P), model.steps), rng, cancel=token)
    if not ok.any():
        rule = "a scene whose motions can be simulated to their end"
        raise InputError(model.place, "ensemble", f"0 of {len(P)} members", rule)
    kept = np.array([p for p, fine in zip(poses, ok, strict=True) if fine])
    time = np.arange(kept.shape[1]) * model.options.step * model.options.record_every
    return Ensemble(time, kept, int((~ok).sum()), float(options.kick or 0.0), options.seed)
