"""Loose volumes of a mesh of tets that share an interface: their vertices in one place are one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from diffsim_ros import meshes
from diffsim_ros.scene.tets import EDGES, TetMesh
from diffsim_ros.surfaces import NEAR, groups_within

Array = np.ndarray
SHARE = 0.01  # of the shortest edge, above which NEAR is no rounding of the mesh


@dataclass(frozen=True)
class Joined:
    """A mesh whose loose volumes were joined: how many vertices were merged, volumes left, and
    vertices in which volumes touch."""

    mesh: TetMesh
    merged: int
    parts: int
    touching: int


def join_volumes(mesh: TetMesh, part: Array) -> Joined:
    """Merge vertices in one place that are of different loose parts, `part` of a vertex (n,).

    Two of one part stay apart: that is a slit.  Parts that touch in no face count as loose.
    """
    ends = mesh.vertices[mesh.corners[:, EDGES]]
    shortest = float(np.linalg.norm(ends[:, :, 1] - ends[:, :, 0], axis=2).min())
    extent = float(np.ptp(mesh.vertices, axis=0).max())
    first = groups_within(mesh.vertices, min(NEAR * extent, SHARE * shortest))
    members = np.bincount(first, minlength=len(first))
    kinds = np.unique(np.stack([first, part], axis=1), axis=0)[:, 0]
    slit = members != np.bincount(kinds, minlength=len(first))
    first = np.where(slit[first], np.arange(len(first)), first)
    touching = len(np.unique(first[members[first] > 1]))
    used, numbers = np.unique(first[mesh.tets], return_inverse=True)
    found = TetMesh(mesh.vertices[used], numbers.reshape(mesh.tets.shape))
    merged = len(mesh.vertices) - len(used)
    return Joined(found, merged, _parts_by_faces(found, part[mesh.tets[:, 0]]), touching)


def _parts_by_faces(mesh: TetMesh, part: Array) -> int:
    """Number of loose parts where `part` of every tet (m,) is joined by common faces."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    faces = np.sort(mesh.corners[:, meshes.FACES], axis=2).reshape(-1, 3)
    _, which = np.unique(faces, axis=0, return_inverse=True)
    order = np.argsort(which.ravel(), kind="stable")
    same = np.flatnonzero(np.diff(which.ravel()[order]) == 0)
    ends = part[np.stack([order[same], order[same + 1]]) // 4]
    links = coo_matrix((np.ones(len(same)), ends), shape=(part.max() + 1,) * 2)
    return len(np.unique(connected_components(links, directed=False)[1][np.unique(part)]))
