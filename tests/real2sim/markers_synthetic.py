"""Synthetic recordings of markers on a small clamped beam, for the tests of real2sim.markers."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from diffsim_ros import _engine
from diffsim_ros.real2sim.config import load_estimation
from diffsim_ros.real2sim.experiment import kind_of

TRUTH = {"young": 1.2e5, "viscosity": 40.0}
PLACES = {
    "tip": [0.1, 0.0, 0.018],
    "side": [0.098, -0.017, 0.003],
    "middle": [0.05, 0.012, 0.016],
    "root": [0.012, -0.016, 0.004],
}
TURN = np.array([[0.0, -1.0, 0.0], [0.0, 0.0, 1.0], [-1.0, 0.0, 0.0]])
SHIFT = np.array([0.3, -0.2, 0.05])
OWN_MODEL = {"check_mesh": False}
"""The truth has the mesh of the fit."""
RATE, RELEASED = 100.0, 0.4037
"""Frames per second, and when the beam is released: between two frames."""


def scene() -> dict:
    """A rubber beam along x, clamped at x = 0, with a weight on a thread."""
    return {
        "world": {"step": 0.005, "duration": 0.5, "record_every": 2, "scheme": "bdf2"},
        "bodies": {
            "beam": {
                "type": "solid",
                "shape": {"box": {"size": [0.1, 0.024, 0.024], "cells": [3, 1, 1]}},
                "element": "p2",
                "density": 1000,
                "young": 1.0e5,
                "poisson": 0.45,
                "viscosity": 30,
                "pose": {"position": [0.05, 0, 0]},
                "pinned": [{"plane": {"normal": [1, 0, 0], "offset": -0.05}}],
                "contact_spheres": "none",
            },
            "weight": {"type": "particle", "mass": 0.02, "pose": {"position": [0.1, 0, -0.1]}},
        },
        "links": [
            {
                "name": "thread",
                "type": "bundle",
                "body": "beam",
                "where": {"box": {"centre": [0.05, 0, -0.012], "size": [0.001, 0.1, 0.001]}},
                "to": {"body": "weight"},
                "acts": "threads",
                "stiffness": 2000,
            }
        ],
    }


def estimation(train, validate=(), **changes) -> dict:
    """An estimation of Young's modulus and viscosity from such recordings."""
    content = {
        "name": "small_beam",
        "kind": "markers",
        "scene": scene(),
        "body": "beam",
        "data": {
            "train": {"files": [str(f) for f in train]},
            "conditions": [
                {"records": "free_*", "sets": {"thread.stiffness": 0}},
                {"records": "load_*", "sets": {"weight.mass": 0.02}},
            ],
        },
        "measurement": {
            "markers": {name: list(place) for name, place in PLACES.items()},
            "sigma": 5e-5,
            "position_count": 200,
            "release_marker": "tip",
            "swing_marker": "tip",
            "swing_axis": "y",
            "window": 0.6,
        },
        "parameters": {
            "young": _free(1.0e5, "Pa", [2e4, 1e6], "beam.young"),
            "viscosity": _free(20.0, "Pa s", [1, 500], "beam.viscosity"),
        },
        "fit": {"loss": "squared", "iterations": 15, **OWN_MODEL},
        "uncertainty": {"method": "covariance"},
    }
    if validate:
        content["data"]["validate"] = {"files": [str(f) for f in validate]}
    for section, values in changes.items():
        content[section] = {**content.get(section, {}), **values}
    return content


def _free(value, unit, bounds, entry) -> dict:
    return {"value": value, "unit": unit, "bounds": bounds, "scale": "log", "sets": {entry: 1}}


def record(path: Path, *, noise: float, seed: int, truth=TRUTH, after: float = 0.9, **beam) -> Path:
    """Write a recording made by the simulator, in another frame and with noise [m].

    beam  keys of the scene's beam that differ
    """
    from diffsim_ros.inverse.marker_track import interpolated
    from diffsim_ros.inverse.simulation_problem import body_slots
    from diffsim_ros.real2sim.sensors.marker.attach import carrier_of

    content = estimation([path])
    content["scene"]["bodies"]["beam"].update(beam)
    config = load_estimation(content)
    model = kind_of("markers")(config).model
    engine, p = model.scene.engine, model.scene.engine.values
    for name, value in truth.items():
        p[engine.index(f"beam.{name}")] = value
    for name, value in config.train.condition(path.stem).items():
        p[engine.index(name)] = value
    run = _engine.rollout(engine, p, int(after / 0.005) + 2, model.scene.options)
    assert run.ok, run.message
    t = np.arange(int((RELEASED + after) * RATE)) / RATE
    clock = np.maximum(t - RELEASED, 0.0)
    carrier = carrier_of(model.scene, "beam", np.array(list(PLACES.values())))
    slot = body_slots(engine)["beam"]
    places = interpolated(carrier, run, slot, clock, model.interval)[0]
    observed = places @ TURN.T + SHIFT
    observed += noise * np.random.default_rng(seed).normal(size=observed.shape)
    header = ["t", *(f"{name}_{axis}" for name in PLACES for axis in "xyz")]
    rows = np.concatenate([t[:, None], observed.reshape(len(t), -1)], axis=1)
    np.savetxt(path, rows, delimiter=",", header=",".join(header), comments="", fmt="%.9f")
    return path
