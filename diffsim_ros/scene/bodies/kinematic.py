"""Kinematic bodies: their motion is prescribed by keys."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from diffsim_ros.fields import REQUIRED, Field, Reader, Section, join
from diffsim_ros.rotation import quat_exp, quat_log, quat_matrix
from diffsim_ros.scene.bodies.body import COLOUR, Body
from diffsim_ros.scene.bodies.shape_keys import (
    CONTACT_SPHERES,
    DEFAULTS,
    WORDS,
    read_contact_spheres,
    read_shape,
)
from diffsim_ros.scene.bodies.touching import Touching
from diffsim_ros.scene.part import key, part, shared
from diffsim_ros.scene.parts import Parts
from diffsim_ros.scene.placing import resolve_pose
from diffsim_ros.scene.rigid_shape import RigidShape, rigid_shape
from diffsim_ros.scene.targets import AXES, Entries, Target

LONGEST_TURN = 6.2  # rotation vectors of keys must be shorter [rad]
KEYS: Section = {
    "interval": Field("number", "time between keys", "s", 1.0, minimum=0, strict=True),
    "positions": Field("points", "of the kinematic body's origin, world frame", "m", REQUIRED),
    "rotations": Field("points", "rotation vectors, shorter than 6.2 rad; absent: none", "rad"),
    "count": Field("integer", "of keys, all equal, where one is given", minimum=1),
}
WAYPOINT: Section = {
    "time": Field("number", "a whole number of steps; the first is 0", "s", REQUIRED, minimum=0),
    "position": Field("vector3", "of the kinematic body's origin, world frame", "m", REQUIRED),
    "rotation": Field("vector3", "rotation vector; absent: none", "rad"),
    "orientation": Field("quaternion", "instead of rotation: x, y, z, w", "1"),
}


@part
class KinematicBody(Touching, Body):
    """See the module."""

    WORD = "kinematic"
    CARRIES: ClassVar[bool] = True
    MOVES: ClassVar[bool] = False
    POINT: ClassVar[str] = "frame"
    MORE: ClassVar = {".keys": KEYS, ".waypoints[i]": WAYPOINT}
    pose: None = key("mapping", "where it rests; or give keys, or waypoints")
    keys: dict = key("mapping", "poses at equal intervals: {interval, positions, rotations}")
    waypoints: None = key("list", "poses at times: {time, position, rotation or orientation}")
    shape: dict | list | None = key("any", f"{WORDS}; for pictures and contact `pairs`")
    contact_spheres: dict | None = key(
        "any",
        "points that touch other bodies by `pairs`: "
        + ", ".join(f"`{kind}`" for kind in CONTACT_SPHERES)
        + "; absent: those of a rigid body of this shape",
    )
    colour: list[float] = shared(COLOUR)

    @classmethod
    def check(cls, parts: Parts, values: dict, given: object, key: str) -> None:
        """Keys from `pose`, `keys` or `waypoints`."""
        reader = parts.reader
        values["shape"] = read_shape(reader, values["shape"], join(key, "shape"))
        form = rigid_shape(values["shape"], about_mass=False)
        if form and form.given_centre is not None:
            rule = "no centre of mass of a kinematic body"
            place = join(key, "shape.mesh.centre")
            raise reader.error(place, values["shape"]["mesh"]["centre"], rule, "remove it")
        spheres = values["contact_spheres"] or DEFAULTS.get(form.kind if form else "")
        values["contact_spheres"] = spheres and read_contact_spheres(
            reader, spheres, values["shape"], join(key, "contact_spheres")
        )
        words = [name for name in ("pose", "keys", "waypoints") if values[name] is not None]
        if len(words) != 1:
            raise reader.error(key, words, "one of pose, keys and waypoints", "give exactly one")
        (word,) = words
        place = join(key, word)
        read = {"pose": _resting, "keys": _keys, "waypoints": _waypoints}[word]
        keys = read(reader, parts.world, values[word], place)
        for k, vector in enumerate(keys["rotations"]):
            if math.hypot(*vector) > LONGEST_TURN:
                raise reader.error(
                    f"{place}: rotation {k}",
                    vector,
                    f"a rotation vector shorter than {LONGEST_TURN} rad",
                    "use the equivalent vector of length <= pi",
                )
        values |= {"keys": keys, "pose": None, "waypoints": None}

    def add(self, scene: Any, parts: Parts) -> None:
        keys = self.keys
        scene.add_kinematic_body(
            self.name,
            interval=keys["interval"],
            position=keys["positions"],
            rotation=keys["rotations"],
        )
        if any(contact.points == self.name for contact in parts.contacts):
            self.add_contact_spheres(scene)

    def start_pose(self):
        keys = self.keys
        return np.array(keys["positions"][0]), quat_matrix(quat_exp(keys["rotations"][0]))

    @cached_property
    def form(self) -> RigidShape | None:
        """Its shape, whose frame is its own."""
        return rigid_shape(self.shape, about_mass=False)

    def samples(self):
        return self.form.samples() if self.form else super().samples()

    def surface(self):
        return self.form and self.form.surface()

    def targets(self, entries: Entries) -> dict[str, Target]:
        """Every key: keys.positions[k].x, .rotations[k].x."""
        return {
            f"keys.{word}s[{k}].{axis}": entries.target(f"{self.name}.{word}[{k}].{axis}")
            for word in ("position", "rotation")
            for k in range(len(self.keys["positions"]))
            for axis in AXES
        } | self.contact_sphere_targets(entries)


def _resting(reader: Reader, world: dict, given: dict, key: str) -> dict:
    pose = resolve_pose(reader, given, key)
    turn = quat_log(pose["orientation"]).tolist()
    return {"interval": 1.0, "positions": [list(pose["position"])], "rotations": [turn]}


def _keys(reader: Reader, world: dict, given: dict, key: str) -> dict:
    keys = reader.section(KEYS, given, key)
    if keys["rotations"] is None:
        keys["rotations"] = [[0.0] * 3 for _ in keys["positions"]]
    count = keys.pop("count")
    if count is not None:
        if len(keys["positions"]) > 1 or len(keys["rotations"]) > 1:
            rule = "one position, and at most one rotation, that all keys have"
            raise reader.error(f"{key}.count", count, rule)
        for name in ("positions", "rotations"):
            keys[name] = [list(keys[name][0]) for _ in range(count)]
    if len(keys["rotations"]) != len(keys["positions"]):
        rule = f"one rotation for each of the {len(keys['positions'])} positions"
        raise reader.error(f"{key}.rotations", len(keys["rotations"]), rule)
    return keys


def _waypoints(reader: Reader, world: dict, given: list, key: str) -> dict:
    """Keys at the greatest interval that meets all times; straight in between, as the engine is."""
    points = [reader.section(WAYPOINT, v, f"{key}[{i}]") for i, v in enumerate(given)]
    if not points:
        raise reader.error(key, given, "at least one waypoint")
    step, ticks, turns = world["step"], [], []
    for i, point in enumerate(points):
        tick = round(point["time"] / step)
        if abs(tick * step - point["time"]) > 1e-6 * step or (i == 0) != (tick == 0):
            rule = "0 s" if i == 0 else f"a whole number of steps of {step:g} s, above 0"
            raise reader.error(f"{key}[{i}].time", point["time"], rule)
        if i and tick <= ticks[-1]:
            raise reader.error(f"{key}[{i}].time", point["time"], "times that increase")
        ticks.append(tick)
        turns.append(_turn(reader, point, turns[-1] if turns else np.zeros(3), f"{key}[{i}]"))
    stride = math.gcd(*ticks) or 1
    at = np.arange(0, ticks[-1] + 1, stride)
    places = np.array([point["position"] for point in points])
    keys = {"interval": stride * step}
    for name, values in (("positions", places), ("rotations", np.array(turns))):
        keys[name] = np.stack([np.interp(at, ticks, values[:, a]) for a in range(3)], 1).tolist()
    return keys


def _turn(reader: Reader, point: dict, before: np.ndarray, key: str) -> np.ndarray:
    """Rotation vector of a waypoint; of an orientation the one nearest to the waypoint before."""
    if point["orientation"] is None:
        return np.array(point["rotation"] or [0.0] * 3)
    if point["rotation"] is not None:
        raise reader.error(
            join(key, "rotation"), point["rotation"], "either rotation or orientation", "remove one"
        )
    vector = quat_log(point["orientation"])
    angle = np.linalg.norm(vector)
    axis = vector / angle if angle > 0 else np.zeros(3)
    around = [vector + 2 * math.pi * k * axis for k in (-1, 0, 1)]
    return min(around, key=lambda v: float(np.linalg.norm(v - before)))
