"""A foot's stiffness from a leg's drop on a guide: recorded as in a lab, then estimated.

The recording is not the model's: twice as fine a mesh where asked for, a quarter of the step,
markers with noise at 240 Hz; the leg hangs still first, as a camera sees it before the release.
"""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np

from diffsim_ros import _engine
from diffsim_ros.inverse.marker_track import interpolated
from diffsim_ros.inverse.simulation_problem import body_slots
from diffsim_ros.real2sim.config import load_estimation
from diffsim_ros.real2sim.estimate import estimate
from diffsim_ros.real2sim.sensors.marker.attach import carrier_of
from diffsim_ros.scene import load_scene
from diffsim_ros.yaml_file import read_yaml

from .common import ROOT

SCENE = ROOT / "config" / "scenes" / "leg_drop.yaml"
ESTIMATION = ROOT / "config" / "estimation" / "leg_drop.yaml"
RATE, STILL, NOISE = 240.0, 0.2, 2e-4  # [Hz], [s] before the release, [m]


def recorded(
    folder: Path, truth: dict[str, float], *, layers: int, seed: int, drops: int = 2
) -> list[Path]:
    """Recordings of drops of a foot with `truth` (foot.young, foot.viscosity)."""
    raw: Any = copy.deepcopy(read_yaml(SCENE))
    raw["bodies"]["foot"]["shape"]["ball"]["layers"] = layers
    raw["world"] |= {"step": 1 / 3840, "record_every": 16}
    raw["values"] = truth
    model = load_scene(raw, base=SCENE)
    run = _engine.rollout(model.engine, model.engine.values, model.steps, model.options)
    assert run.ok, run.message
    places: Any = read_yaml(ESTIMATION)["measurement"]["markers"]
    carrier = carrier_of(model, "shank", np.array(list(places.values())))
    t = np.arange(int((model.steps - 1) / 3840 * RATE)) / RATE
    slot = body_slots(model.engine)["shank"]
    x, _ = interpolated(carrier, run, slot, t, 16 / 3840)
    still = np.repeat(x[:1], round(STILL * RATE), axis=0)
    generator, found = np.random.default_rng(seed), []
    columns = [f"{name}_{axis}" for name in places for axis in "xyz"]
    for k in range(drops):
        seen = np.concatenate([still, x])
        seen = (seen + NOISE * generator.normal(size=seen.shape)).reshape(len(seen), -1)
        path = folder / f"drop_{k + 1}.csv"
        rows = [",".join(["t", *columns])]
        rows += [",".join(f"{v:.6f}" for v in (i / RATE, *row)) for i, row in enumerate(seen)]
        path.write_text("\n".join(rows) + "\n")
        found.append(path)
    return found


def estimated(files: list[Path]) -> Any:
    """The estimation's result."""
    return estimate(load_estimation(ESTIMATION, train=[str(f) for f in files]))
