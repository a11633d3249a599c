"""A lab's sensors in a twin: poses, markers, clouds, forces, outputs, with noise and losses.

A sample depends on the seed, the episode, the sensor and the sample's number only, not on which
samples were drawn before.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy.spatial.transform import Rotation

from ..errors import InputError, nearest
from ..fields import Field, Reader
from ..scene.body_surface import BodySurface, body_surface
from ..scene.model import SceneModel
from ..sensing.cdr import NANO
from ..sensing.clouds.cloud import Cloud
from ..sensing.clouds.options import DepthNoise
from ..sensing.observation import MarkerFrame, PoseSample
from . import schema
from .depth_camera import KINECT, DepthCamera
from .output_sensors import read_output, read_wrench
from .record import TwinRecord
from .surfaces import surroundings, vertices_at

MOST_RATE = 1000.0
"""Of a sensor [Hz]."""
TOPIC_NAME = re.compile(r"/?[A-Za-z_]\w*(/[A-Za-z_]\w*)*", re.ASCII)
VISIBLE = ("box", "sphere", "cylinder", "capsule", "mesh", "compound", "soft")
NOISE = {
    "constant": Field("number", "along the ray", "m", KINECT.constant, minimum=0),
    "quadratic": Field("number", "times (r - reference)^2", "1/m", KINECT.quadratic, minimum=0),
    "reference": Field("number", "distance of the least noise", "m", KINECT.reference, minimum=0),
}


class TwinSensor(Protocol):
    """A sensor that measures bodies `rate` times a second and publishes on `topic`."""

    name: str
    rate: float
    topic: str

    def sample(self, record: TwinRecord, time: float, stamp: int, draw: np.random.Generator) -> Any:
        """Its sample at a time [s] of a record, stamped `stamp` [ns]; None where it is lost."""


def generator(seed: int, episode: int, sensor: str, number: int) -> np.random.Generator:
    """Of one sample of one sensor."""
    return np.random.default_rng([seed, episode, zlib.crc32(sensor.encode()), number])


@dataclass(frozen=True, eq=False)
class PoseSensor:
    """A tracker of one body; see `sensors.NAME.poses` in docs/reference/twin_keys.md."""

    name: str
    rate: float
    topic: str
    body: str
    frame: str
    sigma_position: float
    sigma_rotation: float
    dropout: float
    pivot: np.ndarray

    def sample(self, record, time, stamp, draw) -> PoseSample | None:
        """A PoseSample of the pivot."""
        noise, lost = draw.normal(size=(2, 3)), draw.random() < self.dropout
        if lost:
            return None
        state = record.state(self.body, time)
        turn = Rotation.from_quat(state.orientation[0])
        place = state.position[0] + turn.apply(self.pivot) + self.sigma_position * noise[0]
        q = (turn * Rotation.from_rotvec(self.sigma_rotation * noise[1])).as_quat()
        return PoseSample(stamp, self.frame, self.body, tuple(place.tolist()), tuple(q.tolist()))


@dataclass(frozen=True, eq=False)
class MarkerSensor:
    """Labelled markers on one body; of a soft one they sit on its nodes `nodes` (m,)."""

    name: str
    rate: float
    topic: str
    body: str
    frame: str
    sigma: float
    dropout: float
    points: np.ndarray
    nodes: np.ndarray | None

    def sample(self, record, time, stamp, draw) -> MarkerFrame:
        """A MarkerFrame of those that are not lost."""
        noise = draw.normal(size=self.points.shape)
        kept = np.flatnonzero(draw.random(len(self.points)) >= self.dropout)
        if self.nodes is None:
            state = record.state(self.body, time)
            turn = Rotation.from_quat(state.orientation[0])
            places = state.position[0] + turn.apply(self.points)
        else:
            places = record.nodes(self.body, time)[self.nodes]
        places = places + self.sigma * noise
        names = tuple(f"{self.body}_{k + 1}" for k in kept)
        number = round(time * self.rate)
        return MarkerFrame(stamp, self.frame, number, names, places[kept])


@dataclass(frozen=True, eq=False)
class CloudSensor:
    """A depth camera for the scene's bodies and, if wanted, its surfaces."""

    name: str
    rate: float
    topic: str
    frame: str
    camera: DepthCamera
    bodies: Mapping[str, BodySurface]
    still: tuple

    def sample(self, record, time, stamp, draw) -> Cloud | None:
        """A Cloud in the camera's optical frame."""
        meshes = [
            (vertices_at(surface, record, name, time), surface.triangles)
            for name, surface in self.bodies.items()
        ]
        try:
            return self.camera.frame(
                [*self.still, *meshes], stamp / NANO, draw, frame=self.frame
            )  # fmt: skip
        except InputError:  # nothing returned
            return None


def read_sensor(reader: Reader, name: str, value: object, scene: SceneModel) -> TwinSensor:
    """One entry of `sensors`: {a kind of schema.SENSORS: keys}; raises InputError."""
    kind, given = reader.variant(schema.SENSORS, value, f"sensors.{name}")
    key = f"sensors.{name}.{kind}"
    for share in ("dropout", "missing", "holes"):
        if given.get(share, 0.0) >= 1.0:
            raise reader.error(f"{key}.{share}", given[share], "a share below 1")
    if given["rate"] > MOST_RATE:
        raise reader.error(f"{key}.rate", given["rate"], f"at most {MOST_RATE:g} Hz")
    if given["topic"] is not None and not TOPIC_NAME.fullmatch(given["topic"]):
        rule = "a topic: words of letters, digits and _ between slashes"
        raise reader.error(f"{key}.topic", given["topic"], rule)
    if kind == "depth_camera":
        return _camera(reader, name, given, key, scene)
    if kind == "output":
        return read_output(reader, name, given, key, scene)
    body = given["body"]
    if body not in scene.bodies:
        near = nearest(body, scene.bodies)
        raise reader.error(f"{key}.body", body, "a body of the scene", near)
    if kind == "wrench":
        return read_wrench(reader, name, given, key, scene)
    if kind == "poses":
        return PoseSensor(
            name, given["rate"], given["topic"] or f"{body}/pose", body, given["frame"],
            given["sigma_position"], given["sigma_rotation"], given["dropout"],
            np.array(given["pivot"]),
        )  # fmt: skip
    points, nodes = np.array(given["points"]), None
    described = scene.parts.bodies[body]
    if described.SOFT:
        apart = np.linalg.norm(described.rest_nodes()[None] - points[:, None], axis=-1)
        nodes = apart.argmin(axis=1)
    return MarkerSensor(name, given["rate"], given["topic"] or "markers", body, given["frame"],
                        given["sigma"], given["dropout"], points, nodes)  # fmt: skip


def _camera(reader: Reader, name: str, given: Mapping, key: str, scene: SceneModel) -> CloudSensor:
    if len(given["size"]) != 2:
        raise reader.error(f"{key}.size", given["size"], "two whole numbers, width and height")
    if not given["view"] < 180:
        raise reader.error(f"{key}.view", given["view"], "below 180 deg")
    along = np.subtract(given["target"], given["eye"])
    if np.linalg.norm(np.cross(along, [0, 0, 1])) < 1e-6 * max(np.linalg.norm(along), 1e-9):
        raise reader.error(f"{key}.target", given["target"], "a place not right above or below eye")
    noise = DepthNoise(**reader.section(NOISE, given["noise"], f"{key}.noise"))
    keys = ("view", "jitter", "grazing", "missing", "holes")
    camera = DepthCamera(
        tuple(given["eye"]), tuple(given["target"]), tuple(given["size"]), noise=noise,
        **{k: given[k] for k in keys},
    )  # fmt: skip
    shown = {n: body_surface(scene, n, 1, given["radius"]) for n, b in scene.bodies.items()
            if b.kind in VISIBLE}  # fmt: skip
    still = tuple(surroundings(scene)) if given["surfaces"] else ()
    return CloudSensor(
        name,
        given["rate"],
        given["topic"] or f"{name}/points",
        given["frame"],
        camera,
        shown,
        still,
    )
