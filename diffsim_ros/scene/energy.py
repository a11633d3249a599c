"""Energy of a recorded motion, by kind [J]."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from diffsim_ros.rotation import quat_matrix
from diffsim_ros.scene.build import contact_spheres_name, contact_spheres_of
from diffsim_ros.scene.build_links import (
    armature_name,
    bundle_lengths,
    bundle_vertices,
    twins,
)
from diffsim_ros.scene.build_soft import SPRINGS, springs_name
from diffsim_ros.scene.soft_shapes import SOFT, soft_shape
from diffsim_ros.scene.solid_energy import solid_energy
from diffsim_ros.scene.targets import INERTIA
from diffsim_ros.scene.vertices import vertex_positions

if TYPE_CHECKING:
    from diffsim_ros.scene.model import SceneModel

Array = np.ndarray


def energies(model: SceneModel, rollout: Any, p: Array | None = None) -> dict[str, Array]:
    """Energy at every recorded frame by kind, and the total  (F,) each.

    kinetic   m v^2 / 2 + w . I w / 2, of soft bodies with lumped masses
    gravity   -m g . c, zero at the world's origin
    springs   of links, cloth, strings, cables and joints: k (l - rest length)^2 / 2
    elastic   of solids (solid_energy.py)
    contact   k_n w_i d_i^2 / 2 of the normal penalty, d = max(radius - g(x), 0)
    p         engine parameter vector; default: the scene's own values
    """
    vector = model.engine.values if p is None else np.asarray(p, float)
    values = dict(zip((i.name for i in model.engine.parameters), vector.tolist(), strict=True))
    poses = _Poses(model, rollout)
    kinds = ("kinetic", "gravity", "springs", "elastic", "contact")
    found = {kind: np.zeros(len(rollout.time)) for kind in kinds}
    gravity = np.array([values[f"gravity.{axis}"] for axis in "xyz"])
    mass = model.engine.masses(vector)
    found["kinetic"] += np.sum(np.asarray(rollout.velocity) ** 2, axis=-1) @ mass / 2
    found["gravity"] -= poses.position @ gravity @ mass
    for name, body in model.description["bodies"].items():
        if body["type"] == "rigid":
            i = poses.index[name]
            spin = np.einsum("fji,fj->fi", poses.turn[:, i], rollout.angular_velocity[:, i])
            inertia = _matrix([values[f"{name}.inertia.{k}"] for k in INERTIA])
            found["kinetic"] += np.einsum("fi,ij,fj->f", spin, inertia, spin) / 2
        elif body["type"] in SOFT:
            _add_soft(found, poses, name, body, values)
    for link in model.description["links"]:
        if link["type"] == "spring":
            found["springs"] += _springs(poses, link, values)
        elif link["type"] == "cable":
            found["springs"] += _cable(poses, link, values)
        elif link["type"] == "bundle":
            found["springs"] += _bundle(poses, link, values)
        elif link["type"] == "payload":
            _add_payload(found, poses, link["name"], link["body"], values, gravity)
        elif link["type"] == "joint":
            coordinate = f"{armature_name(link['name'])}.inertia"
            motion = model.engine.joint_motion(link["name"], vector, rollout)
            found["springs"] += motion["energy"]
            if coordinate in values:
                found["kinetic"] += values[coordinate] * motion["rate"] ** 2 / 2
    for contact in model.description["contact"]:
        found["contact"] += _penalty(model, poses, contact, values)
    found["total"] = np.sum(list(found.values()), axis=0)
    return found


def _add_payload(
    found: dict, poses: _Poses, name: str, body: str, values: dict, gravity: Array
) -> None:
    i = poses.index[body]
    turn, run = poses.turn[:, i], poses.rollout
    v, w = np.asarray(run.velocity)[:, i], np.asarray(run.angular_velocity)[:, i]
    mass = values[f"{name}.mass"]
    moment = turn @ np.array([values[f"{name}.moment.{axis}"] for axis in "xyz"])
    inertia = _matrix([values[f"{name}.inertia.{k}"] for k in INERTIA])
    spin = np.einsum("fji,fj->fi", turn, w)
    found["kinetic"] += mass * np.sum(v * v, axis=1) / 2 + np.sum(v * np.cross(w, moment), axis=1)
    found["kinetic"] += np.einsum("fi,ij,fj->f", spin, inertia, spin) / 2
    found["gravity"] -= (mass * poses.position[:, i] + moment) @ gravity


def _add_soft(found: dict, poses: _Poses, name: str, body: dict, values: dict) -> None:
    vertices, shape = poses.vertices(name), soft_shape(body)
    if body["type"] == "solid":
        found["elastic"] += solid_energy(name, body, shape, vertices, values)
        return
    for kind in SPRINGS:
        springs = springs_name(name, kind)
        if kind in body and f"{springs}.stiffness" in values:
            ends = vertices[:, shape.web.pairs[kind]]
            length = np.linalg.norm(ends[:, :, 1] - ends[:, :, 0], axis=-1)
            rest = shape.web.lengths(kind) * body["rest_scale"] * values[f"{springs}.rest_scale"]
            stretch = np.sum((length - rest) ** 2, axis=1)
            found["springs"] += values[f"{springs}.stiffness"] / 2 * stretch


class _Poses:
    """Body poses of a rollout by body name."""

    def __init__(self, model: SceneModel, rollout: Any) -> None:
        self.model, self.rollout = model, rollout
        bodies = model.description["bodies"]
        self.index = {name: model.engine.nodes_of(name)[0] for name in bodies}
        self.position = np.asarray(rollout.position)
        self.turn = quat_matrix(rollout.orientation)
        self._vertices: dict[str, Array] = {}

    def vertices(self, body: str) -> Array:
        """World positions [m] (F, n, 3) of a soft body's vertices."""
        if body not in self._vertices:
            self._vertices[body] = vertex_positions(self.model, self.rollout, body)
        return self._vertices[body]

    def points(self, body: str, local: Array) -> Array:
        """World positions [m] (F, n, 3) of points of a body (n, 3), body frame."""
        i = self.index[body]
        turned = np.einsum("fij,nj->fni", self.turn[:, i], local)
        return self.position[:, i, None] + turned

    def end(self, end: dict) -> Array:
        """World positions [m] (F, 3) of a link's end."""
        if "world" in end:
            return np.broadcast_to(np.array(end["world"]), self.position[:, 0].shape)
        if "vertex" in end:
            return self.vertices(end["body"])[:, end["vertex"]]
        return self.points(end["body"], np.array([end["point"]]))[:, 0]


def _matrix(six: list[float]) -> Array:
    xx, yy, zz, xy, xz, yz = six
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def _springs(poses: _Poses, link: dict, values: dict[str, float]) -> Array:
    total = np.zeros(len(poses.position))
    for pair in link["pairs"]:
        length = np.linalg.norm(poses.end(pair["a"]) - poses.end(pair["b"]), axis=-1)
        stretch = length - values[f"{link['name']}.rest_length"]
        total += values[f"{link['name']}.stiffness"] / 2 * stretch**2
    return total


def _cable(poses: _Poses, link: dict, values: dict[str, float]) -> Array:
    ends = np.stack([poses.end(end) for end in link["via"]], axis=1)
    length = np.linalg.norm(np.diff(ends, axis=1), axis=-1).sum(axis=1)
    stretch = np.maximum(length - values[f"{link['name']}.rest_length"], 0.0)
    return values[f"{link['name']}.stiffness"] / 2 * stretch**2


def _bundle(poses: _Poses, link: dict, values: dict[str, float]) -> Array:
    bodies = poses.model.description["bodies"]
    index, to = bundle_vertices(link, bodies), link["to"]
    here = poses.vertices(link["body"])[:, index[:, 0]]
    k = values[f"{link['name']}.stiffness"] / len(index)
    if twins(link):
        there = poses.vertices(to["body"])[:, index[:, 1]]
        return k / 2 * np.sum((here - there) ** 2, axis=(1, 2))
    length = np.linalg.norm(here - poses.end(to)[:, None], axis=-1)
    stretch = length - bundle_lengths(link, bodies) * values[f"{link['name']}.rest_scale"]
    if link["acts"] == "threads":
        stretch = np.maximum(stretch, 0.0)
    return k / 2 * np.sum(stretch**2, axis=1)


def _penalty(model: SceneModel, poses: _Poses, contact: dict, values: dict[str, float]) -> Array:
    name = contact["points"]
    body, key = model.description["bodies"][name], contact_spheres_name(name)
    if body["type"] in SOFT:
        shape = soft_shape(body)
        world, weights = poses.vertices(name)[:, shape.contact], shape.weights
    else:
        points = contact_spheres_of(body)
        local = values[f"{key}.scale"] * points.local + values[f"{key}.radius"] * points.inset
        world, weights = poses.points(name, local), np.full(len(local), 1 / len(local))
    at = world
    if "carrier" in contact:  # the surface stands in its carrier's frame
        i = poses.index[contact["carrier"]]
        at = np.einsum("fij,fni->fnj", poses.turn[:, i], world - poses.position[:, i, None])
    gap, *_ = model.surfaces[contact["name"]].evaluate(at.reshape(-1, 3))
    depth = np.maximum(values[f"{key}.radius"] - np.reshape(gap, at.shape[:2]), 0.0)
    weights = np.array(contact.get("weights", weights))
    return values[f"{contact['name']}.k_n"] / 2 * depth**2 @ weights
