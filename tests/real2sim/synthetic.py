"""Synthetic recordings for the tests of real2sim."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from diffsim_ros.rotation import quat_exp


def arrays(tosses: int = 3, frames: int = 30, columns: int = 13) -> dict:
    """Free flights with spin, as the arrays of a toss file; ids 10, 11, ..."""
    dt = 1.0 / 148.0
    t = np.arange(frames) * dt
    rows = []
    for k in range(tosses):
        state = np.zeros((frames, 13))
        state[:, 0] = 0.1 * k + 0.5 * t
        state[:, 2] = 0.4 + (0.3 + 0.01 * k) * t - 0.5 * 9.81 * t**2
        turn = quat_exp(t[:, None] * np.array([1.0, 2.0, 0.5 + k]))
        state[:, 3], state[:, 4:7] = turn[:, 3], turn[:, :3]
        state[:, 7], state[:, 9] = 0.5, 0.3 + 0.01 * k - 9.81 * t
        state[:, 10:] = [1.0, 2.0, 0.5 + k]
        rows.append(state[:, :columns])
    return {
        "toss_id": np.arange(tosses) + 10,
        "start": np.arange(tosses) * frames,
        "length": np.full(tosses, frames),
        "state": np.concatenate(rows),
        "dt": np.float64(dt),
    }


SCENE = {
    "world": {"step": 0.001, "duration": 0.1},
    "bodies": {
        "cube": {
            "shape": {"box": {"size": [0.1, 0.1, 0.1]}},
            "mass": 0.4,
            "inertia": 0.0008,
            "pose": {"position": [0.0, 0.0, 0.3]},
            "contact_spheres": {"corners": {"radius": 0.005}},
        }
    },
    "sdfs": {"table": {"plane": {}}},
    "contact": [
        {
            "name": "table",
            "points": "cube",
            "against": "table",
            "k_n": 4000.0,
            "k_t": 40.0,
            "c_n": 0.4,
            "c_f": 0.3,
        }
    ],
}
"""A soft cube that bounces, slides and comes to rest; the truth of the synthetic tosses."""

RATE = 100.0


def tossed(rng: np.random.Generator) -> dict:
    """Start of a toss: part -> three numbers."""
    from diffsim_ros.rotation import quat_log

    return {
        "position": [0.0, 0.0, rng.uniform(0.16, 0.2)],
        "rotation": quat_log(quat_exp(rng.normal(0.0, 1.0, 3))),
        "velocity": [*rng.normal(0.0, 0.8, 2), rng.uniform(-0.6, -0.2)],
        "angular_velocity": rng.normal(0.0, 3.0, 3),
    }


def recorded(
    tosses: int, seed: int, noise: tuple[float, float], seconds: float = 0.5, scene: dict = SCENE,
    start: Callable[[np.random.Generator], dict] = tossed, steps_per_frame: int = 10,
) -> dict:  # fmt: skip
    """Simulated tosses of the cube with noise [m], [rad], as arrays of a toss file (poses)."""
    from diffsim_ros import _engine
    from diffsim_ros.rotation import quat_multiply
    from diffsim_ros.scene.model import load_scene

    rng = np.random.default_rng(seed)
    engine = load_scene(scene).engine
    frames = int(seconds * RATE)
    options = _engine.Options(step=1.0 / RATE / steps_per_frame, record_every=steps_per_frame)
    rows = []
    for _ in range(tosses):
        p = engine.values
        begun = start(rng)
        for kind, values in begun.items():
            for axis, value in zip("xyz", values, strict=True):
                p[engine.index(f"cube.{kind}.{axis}")] = value
        run = _engine.rollout(engine, p, frames * steps_per_frame, options)
        assert run.ok, run.message
        position = run.position[:, 0] + rng.normal(0.0, noise[0], (frames + 1, 3))
        turn = quat_exp(rng.normal(0.0, noise[1], (frames + 1, 3)))
        q = quat_multiply(turn, run.orientation[:, 0])
        rows.append(np.concatenate([position, q[:, [3, 0, 1, 2]]], axis=1))
    length = np.full(tosses, frames + 1)
    return {
        "toss_id": np.arange(tosses) + 1,
        "start": np.arange(tosses) * (frames + 1),
        "length": length,
        "state": np.concatenate(rows),
        "dt": np.float64(1.0 / RATE),
    }


def _log(value: float, unit: str, bounds: list, entry: str) -> dict:
    """A parameter of the logarithm of one scene entry."""
    return {"value": value, "unit": unit, "bounds": bounds, "scale": "log", "sets": {entry: 1}}


def estimation(train: str, validate: str | None = None, **sections: dict) -> dict:
    """An estimation of friction, stiffness and damping of SCENE from files of tosses."""
    data: dict = {"train": {"files": [train]}}
    if validate is not None:
        data["validate"] = {"files": [validate], "exclude_train": False}
    return {
        "name": "synthetic",
        "body": "cube",
        "scene": SCENE,
        "data": data,
        "measurement": {"half_edge": 0.05, "sigma_position": 1e-3, "sigma_rotation": 0.5},
        "simulation": {"steps_per_frame": 10},
        "parameters": {
            "friction": _log(0.25, "1", [0.05, 1.0], "table.c_f"),
            "stiffness": _log(5000.0, "N/m", [500.0, 50000.0], "table.k_n"),
            "damping": _log(0.3, "s/m", [0.01, 5.0], "table.c_n"),
        },
        **sections,
    }


TRUTH = {"friction": 0.3, "stiffness": 4000.0, "damping": 0.4}
