"""Clouds of a thrown, turning box over a floor, made without a renderer, for tests of the kind."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.spatial.transform import Rotation

from diffsim_ros import _engine
from diffsim_ros.inverse.simulation_problem import body_slots
from diffsim_ros.real2sim.sensors.cloud.detections import skin_of
from diffsim_ros.scene import load_scene
from diffsim_ros.sensing import bags
from diffsim_ros.sensing.clouds.cloud import Cloud
from diffsim_ros.sensing.clouds.files import observation_of
from diffsim_ros.sensing.observation import Observation

NOISE = 0.002
TRUTH = {
    "position": np.array([0.02, -0.01, 0.33]), "velocity": np.array([1.2, 0.1, -0.6]),
    "angular_velocity": np.array([0.5, 4.0, 1.0]), "turn": np.array([0.1, 0.2, 0.3]),
    "c_f": 0.3,
}  # fmt: skip
EYE = np.array([0.3, -1.2, 0.8])
LOOK = Rotation.from_euler("x", -120, degrees=True)  # optical: z forward, y down


def scene(truth=None) -> dict:
    """A rigid box above a floor; with a truth it is thrown."""
    body = {
        "type": "rigid", "shape": {"box": {"size": [0.16, 0.12, 0.1]}}, "mass": 0.4,
        "pose": {"position": [0, 0, 0.4]},
    }  # fmt: skip
    if truth is not None:
        body["pose"] = {
            "position": truth["position"].tolist(),
            "orientation": Rotation.from_rotvec(truth["turn"]).as_quat().tolist(),
        }
        body["velocity"] = truth["velocity"].tolist()
        body["angular_velocity"] = truth["angular_velocity"].tolist()
    return {
        "world": {"step": 1 / 240, "duration": 0.44},
        "bodies": {"box": body},
        "sdfs": {"floor": {"plane": {}}},
        "contact": [{"name": "ground", "points": "box", "against": "floor", "k_n": 2e4,
                     "k_t": 100, "c_n": 0.3, "c_f": TRUTH["c_f"] if truth else 0.5}],
    }  # fmt: skip


SIDE = np.array([-1.1, -0.5, 0.7])
AT_SIDE = Rotation.from_euler("zx", [-65, -115], degrees=True)
"""Another camera, which faces along the throw."""


def recording(
    seed: int, name: str = "box", frames: int = 13, *, eye=EYE, look=LOOK, late: float = 0.0
) -> Observation:
    """A camera's image of the thrown box and of the floor, 30 frames a second, its own frame.

    late  [s] by which its stamps are
    """
    model, generator = load_scene(scene(TRUTH)), np.random.default_rng(seed)
    run = _engine.rollout(model.engine, model.engine.values, model.steps, model.options)
    skin = skin_of(model, "box")
    rows = 8 * np.arange(frames)
    places, _ = skin.motion(run, body_slots(model.engine)["box"], rows)
    clouds = []
    for x, row in zip(places, rows, strict=True):
        floor = np.column_stack([generator.uniform(-1.5, 1.5, (2500, 2)), np.zeros(2500)])
        floor = floor[np.linalg.norm(floor - x.mean(axis=0), axis=1) > 0.2]
        points = np.concatenate([_front(x, skin.triangles, generator, eye), floor])
        ray = (points - eye) / np.linalg.norm(points - eye, axis=1, keepdims=True)
        points = points + NOISE * generator.normal(size=(len(ray), 1)) * ray
        observed = look.inv().apply(points - eye)
        clouds.append(
            Cloud(observed, stamp=5.0 + row / 240 + late, frame="camera", source=f"{name} {row}")
        )
    return observation_of(name, clouds)


def _front(x, triangles, generator, eye, count=250):
    """Points evenly over the faces that look at the camera."""
    a, b, c = (x[triangles[:, k]] for k in range(3))
    normal = np.cross(b - a, c - a)
    facing = np.maximum(np.einsum("ni,ni->n", normal, eye - a), 0.0)
    which = generator.choice(len(triangles), count, p=facing / facing.sum())
    u, v = generator.random((2, count, 1))
    u, v = np.where(u + v > 1, 1 - u, u), np.where(u + v > 1, 1 - v, v)
    return a[which] + u * (b - a)[which] + v * (c - a)[which]


def camera(eye=EYE, look=LOOK) -> dict:
    """Section `cloud` of such a camera."""
    return {
        "position": eye.tolist(), "orientation": look.as_quat().tolist(),
        "planes": {"distance": 0.012, "frames": 2},
        "object": {"distance": 0.05, "least": 5, "gravity": [0, 0, -9.81]},
        "noise": {"constant": NOISE},
    }  # fmt: skip


def estimation(**measurement) -> dict:
    """Friction of the box, and its start, from such a recording."""
    cloud = camera()
    return {
        "name": "box", "kind": "clouds", "scene": scene(), "body": "box",
        "data": {"train": {"files": ["none.npz"]}},
        "measurement": {"cloud": cloud, "floor": "floor", "turning": True, **measurement},
        "simulation": {"threads": 1},
        "parameters": {"c_f": {"value": 0.5, "bounds": [0.01, 1.5], "sets": {"ground.c_f": 1}}},
        "fit": {"horizons": [8, 10, 0], "iterations": 25},
        "uncertainty": {"method": "covariance"},
    }  # fmt: skip


SENSOR = {
    "delay": 0.015, "drift": 0.02, "shift": np.array([0.03, -0.02, 0.01]),
    "pivot": np.array([0.02, 0.01, 0.05]), "sigma": 1e-3, "turn_sigma": 0.005,
}  # fmt: skip
"""A tracker whose stamps are late and slow, 3.7 cm away from where the YAML puts it."""


def tracked(seed: int, places: np.ndarray | None = None, rows: int = 97) -> Observation:
    """What that tracker records of the same throw: poses of its pivot, or markers at `places`."""
    model, generator = load_scene(scene(TRUTH)), np.random.default_rng(100 + seed)
    run = _engine.rollout(model.engine, model.engine.values, model.steps, model.options)
    slot, every = body_slots(model.engine)["box"], np.arange(0, rows, 2)
    turn, centre = Rotation.from_quat(run.orientation[every, slot.index]), run.position[every]
    local = SENSOR["pivot"][None] if places is None else places
    x = np.stack([turn.apply(p) + centre[:, slot.index] for p in local], axis=1) - SENSOR["shift"]
    x += SENSOR["sigma"] * generator.normal(size=x.shape)
    t = 5.0 + (every / 240 + SENSOR["delay"]) / (1 + SENSOR["drift"])
    if places is not None:
        names = tuple(f"m{k}" for k in range(len(places)))
        return Observation(kind="markers", t=t, names=names, values={"position": x}, source="mocap")
    shaken = Rotation.from_rotvec(SENSOR["turn_sigma"] * generator.normal(size=(len(t), 3)))
    values = {"position": x, "orientation": (shaken * turn).as_quat()[:, None]}
    return Observation(kind="poses", t=t, names=("box",), values=values, source="tracker")


def two_sensors(path, poses: str = "/box/pose", points: str = "/points") -> None:
    """Write a bag as a lab records it: two throws, camera and tracker, stamps of one clock."""
    clouds, t, position, turns = [], [], [], []
    for k in range(2):
        camera, samples = recording(k), tracked(k)
        clouds += [replace(cloud, stamp=cloud.stamp + 3 * k) for cloud in camera.clouds]
        t.append(samples.t + 3 * k)
        position.append(samples.position[:, 0])
        turns.append(samples.orientation)
    motion = (poses, "world", *map(np.concatenate, (t, position, turns)))
    observed = bags.RecordedClouds(points, "camera", [cloud.stamp for cloud in clouds], clouds)
    bags.write_motion(path, [motion], clouds=[observed], transforms=False)


def sensor_estimation(**sensor) -> dict:
    """The estimation above with a tracker whose clock and place are estimated."""
    tracker = {
        "kind": "poses", "delay": "late", "drift": "slow", "position": ["sx", "sy", "sz"],
        "pivot": [*SENSOR["pivot"].tolist(), 0, 0, 0], "sigma_position": SENSOR["sigma"],
        "sigma_rotation": float(np.degrees(SENSOR["turn_sigma"])), **sensor,
    }  # fmt: skip
    content = estimation(sensors={"tracker": tracker})
    near = {"value": 0.0, "bounds": [-0.1, 0.1], "unit": "m", "sets": {}}
    content["parameters"] |= {
        "late": {"value": 0.0, "bounds": [-0.03, 0.03], "unit": "s", "sets": {}},
        "slow": {"value": 0.0, "bounds": [-0.05, 0.05], "sets": {}},
        **{name: dict(near) for name in ("sx", "sy", "sz")},
    }
    content["fit"]["horizons"] = [0]
    return content
