"""Energy of a recorded motion, by kind [J]."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from diffsim_ros.scene.build import proxies_name, proxies_of
from diffsim_ros.scene.parameters import INERTIA
from diffsim_ros.scene.rotation import matrix_from_quaternion

if TYPE_CHECKING:
    from diffsim_ros.scene.model import SceneModel

Array = np.ndarray


def energies(model: SceneModel, rollout: Any, p: Array | None = None) -> dict[str, Array]:
    """Energy at every recorded frame: kinetic, gravity, springs, contact and total  (F,) each.

    kinetic   m v^2 / 2 + w . I w / 2
    gravity   -m g . c, zero at the world's origin
    springs   k (|x_a - x_b| - rest_length)^2 / 2
    contact   k_n w_i d_i^2 / 2 of the normal penalty, d = max(radius - g(x), 0)
    p         engine parameter vector; default: the scene's own values
    """
    vector = model.engine.values if p is None else np.asarray(p, float)
    values = dict(zip((i.name for i in model.engine.parameters), vector.tolist(), strict=True))
    poses = _Poses(model, rollout)
    frames = len(rollout.time)
    found = {kind: np.zeros(frames) for kind in ("kinetic", "gravity", "springs", "contact")}
    gravity = np.array([values[f"gravity.{axis}"] for axis in "xyz"])
    for i, (name, body) in enumerate(model.description["bodies"].items()):
        mass = values[f"{name}.mass"]
        found["kinetic"] += mass / 2 * np.sum(rollout.velocity[:, i] ** 2, axis=-1)
        found["gravity"] -= mass * rollout.position[:, i] @ gravity
        if body["type"] == "rigid":
            spin = np.einsum("fji,fj->fi", poses.turn[:, i], rollout.angular_velocity[:, i])
            inertia = _matrix([values[f"{name}.inertia.{k}"] for k in INERTIA])
            found["kinetic"] += np.einsum("fi,ij,fj->f", spin, inertia, spin) / 2
    for link in model.description["links"]:
        found["springs"] += _springs(poses, link, values)
    for contact in model.description["contact"]:
        found["contact"] += _penalty(model, poses, contact, values)
    found["total"] = np.sum(list(found.values()), axis=0)
    return found


class _Poses:
    """Body poses of a rollout by body name."""

    def __init__(self, model: SceneModel, rollout: Any) -> None:
        self.index = {name: i for i, name in enumerate(model.description["bodies"])}
        self.position = np.asarray(rollout.position)
        self.turn = matrix_from_quaternion(rollout.orientation)

    def points(self, body: str, local: Array) -> Array:
        """World positions [m] (F, n, 3) of points of a body (n, 3), body frame."""
        i = self.index[body]
        turned = np.einsum("fij,nj->fni", self.turn[:, i], local)
        return self.position[:, i, None] + turned


def _matrix(six: list[float]) -> Array:
    xx, yy, zz, xy, xz, yz = six
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def _springs(poses: _Poses, link: dict, values: dict[str, float]) -> Array:
    total = np.zeros(len(poses.position))
    for pair in link["pairs"]:
        ends = [
            np.array(end["world"])
            if "world" in end
            else poses.points(end["body"], np.array([end["point"]]))[:, 0]
            for end in (pair["a"], pair["b"])
        ]
        length = np.linalg.norm(ends[0] - ends[1], axis=-1)
        stretch = length - values[f"{link['name']}.rest_length"]
        total += values[f"{link['name']}.stiffness"] / 2 * stretch**2
    return total


def _penalty(model: SceneModel, poses: _Poses, contact: dict, values: dict[str, float]) -> Array:
    body = contact["points"]
    points = proxies_of(model.description["bodies"][body])
    key = proxies_name(body)
    local = values[f"{key}.scale"] * points.local + values[f"{key}.radius"] * points.inset
    world = poses.points(body, local)
    gap, *_ = model.surfaces[contact["name"]].evaluate(world.reshape(-1, 3))
    depth = np.maximum(values[f"{key}.radius"] - np.reshape(gap, world.shape[:2]), 0.0)
    count = len(local)
    weights = np.array(contact.get("weights", [1 / count] * count))
    return values[f"{contact['name']}.k_n"] / 2 * depth**2 @ weights
