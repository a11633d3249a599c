"""The surface of a scene's body: triangles whose vertices are carried by the body or its nodes.

A ball's tets have flat faces, which lie inside the sphere by edge^2/(8 radius): a millimetre or
two, as much as depth noise.  Its faces are therefore subdivided, the new vertices projected onto
the sphere, and moved by the tet behind them (by its shape functions, extended outwards).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from diffsim_ros import meshes
from diffsim_ros.errors import InputError
from diffsim_ros.scene.bodies.soft import SoftBody, SoftShape

if TYPE_CHECKING:
    from diffsim_ros.scene.model import SceneModel

SPHERE = 8  # subdivisions of a rigid sphere's surface
EDGES = ((0, 1), (1, 2), (0, 2), (0, 3), (1, 3), (2, 3))


@dataclass(frozen=True, eq=False)
class BodySurface:
    """Triangles (m, 3), counter-clockwise seen from outside, of n vertices.

    Of a soft body a vertex is x = fixed + sum_k weights_k x_nodes_k, with `nodes` (n, k) of the
    body's free nodes and weights (n, k); of a rigid one (nodes None) `fixed` (n, 3) [m] is in the
    body's frame.
    """

    triangles: np.ndarray
    fixed: np.ndarray
    nodes: np.ndarray | None = None
    weights: np.ndarray | None = None


def body_surface(
    model: SceneModel, name: str, refine: int = 2, radius: float | None = None
) -> BodySurface:
    """Surface of a body; `refine` times are a soft ball's faces cut into four.

    radius   of a soft ball [m], where its mesh was made with another (e.g. for equal volume)

    Raises InputError for a body without a surface (a particle, a string, a kinematic body) and for
    one that is glued to another body.
    """
    body = model.parts.bodies.get(name)
    if body is None:
        raise InputError(model.place, "body", name, "one of " + ", ".join(model.bodies))
    place = f"{model.place}: bodies.{name}"
    if body.SOFT:
        return _soft(body, refine, radius, place)
    info = model.bodies[name]
    if info.kind == "box":
        vertices, tets = meshes.box(info.size, (1, 1, 1))
    elif info.kind == "sphere":
        vertices, tets = meshes.ball(SPHERE, info.size[0] / 2)
    elif len(info.triangles):
        return BodySurface(info.triangles.astype(np.int32), info.vertices)
    else:
        raise InputError(place, "shape", info.kind, "a body with a shape")
    triangles, vertices = _compact(meshes.surface(tets), vertices)
    return BodySurface(triangles, vertices)


def _compact(triangles, vertices):
    used, numbers = np.unique(triangles, return_inverse=True)
    return numbers.reshape(-1, 3).astype(np.int32), vertices[used]


def _soft(body: SoftBody, refine, radius, place) -> BodySurface:
    shape = body.mesh
    if not len(shape.triangles):
        raise InputError(place, "type", body.type, "a body with a surface")
    start = body.placed_vertices()
    free = body.free()
    for carrier, _ in body.held_vertices():
        if carrier:
            raise InputError(place, "glue", carrier, "a body whose surface is its own nodes'")
    if "ball" in body.shape and refine > 0:
        size = radius or body.shape["ball"]["radius"]
        triangles, nodes, weights = _round(shape, size, refine)
    else:
        used, numbers = np.unique(shape.triangles, return_inverse=True)
        triangles = numbers.reshape(-1, 3)
        nodes, weights = used[:, None], np.ones((len(used), 1))
    fixed = np.einsum("nk,nki->ni", weights * ~free[nodes], start[nodes])
    number = np.cumsum(free) - 1
    free_nodes = np.where(free[nodes], number[nodes], 0)
    return BodySurface(triangles.astype(np.int32), fixed, free_nodes, weights * free[nodes])


def _round(shape: SoftShape, radius: float, refine: int):
    """Triangles of a sphere finer than the mesh; nodes and weights (n, 4 or 10) of its vertices."""
    corners = shape.tets[:, :4]
    faces = meshes.surface(corners)
    owner = _owners(faces, corners)
    places, triangles = shape.vertices[faces].reshape(-1, 3), np.arange(3 * len(faces))
    triangles = triangles.reshape(-1, 3)
    owner = np.repeat(owner, 3)
    for _ in range(refine):
        places, triangles, owner = _halved(places, triangles, owner)
    middle = shape.vertices.mean(axis=0)
    places = middle + radius * _unit(places - middle)
    _, first, merged = np.unique(
        np.round(places / (1e-7 * radius)).astype(np.int64), axis=0, return_index=True,
        return_inverse=True,
    )  # fmt: skip
    places, owner, triangles = places[first], owner[first], merged.reshape(-1)[triangles]
    return triangles, shape.tets[owner], _shape_functions(shape, places, owner)


def _unit(x):
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def _owners(faces, tets):
    """The tet of each boundary face."""
    of = {}
    for t, tet in enumerate(tets):
        for left_out in range(4):
            of[tuple(sorted(np.delete(tet, left_out)))] = t
    return np.array([of[tuple(sorted(face))] for face in faces])


def _halved(places, triangles, owner):
    """Every triangle cut into four at the middles of its edges."""
    a, b, c = (places[triangles[:, k]] for k in range(3))
    of, n = owner[triangles[:, 0]], len(triangles)
    corners = np.stack([a, b, c, (a + b) / 2, (b + c) / 2, (c + a) / 2], axis=1)
    first = 6 * np.arange(n)[:, None]
    pieces = [first + np.array(p) for p in ((0, 3, 5), (3, 1, 4), (5, 4, 2), (3, 4, 5))]
    return corners.reshape(-1, 3), np.concatenate(pieces), np.repeat(of, 6)


def _shape_functions(shape: SoftShape, places, owner):
    """(n, 4) or (n, 10) values of the owner's shape functions at rest places (n, 3)."""
    x = shape.vertices[shape.tets[owner][:, :4]]
    edges = np.transpose(x[:, 1:] - x[:, :1], (0, 2, 1))
    later = np.linalg.solve(edges, (places - x[:, 0])[..., None])[..., 0]
    share = np.concatenate([1 - later.sum(axis=1, keepdims=True), later], axis=1)
    if shape.tets.shape[1] == 4:
        return share
    middle = [4 * share[:, i] * share[:, j] for i, j in EDGES]
    return np.concatenate([share * (2 * share - 1), np.stack(middle, axis=1)], axis=1)
