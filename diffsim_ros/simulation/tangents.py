"""From dO/d(what is observed of a motion) to dO/dx and dO/dv, the tangents of the engine."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from diffsim_ros import _engine

Array = NDArray[np.float64]

OBSERVABLE = ("position", "velocity", "orientation", "angular_velocity")


class NodeTangents:
    """Degrees of freedom of every node: (nodes, 3) of its place and, of frames, of its rotation."""

    def __init__(self, scene: _engine.Scene) -> None:
        bodies = sorted((*scene.nodes_of(b), scene.dof_offset(b)) for b in scene.body_names)
        ends = [dof for _, _, dof in bodies[1:]] + [scene.body_ndof]
        self.ndof = int(scene.ndof)
        first, frames = [], []
        for (node, count, dof), end in zip(bodies, ends, strict=True):
            size = (end - dof) // count
            first += [dof + size * i for i in range(count)]
            if size == 6:
                frames.append(node)
        self.dof = np.array(first)[:, None] + np.arange(3)
        self.frames = np.array(frames, int)

    def zeros(self, frames: int) -> tuple[Array, Array]:
        """dO/dx, dO/dv (frames, ndof) to be added to."""
        return np.zeros((frames, self.ndof)), np.zeros((frames, self.ndof))

    def add(
        self, name: str, gradient: Array, run: _engine.Rollout, gx: Array, gv: Array,
        rows: slice = slice(None),
    ) -> None:  # fmt: skip
        """Add dO/d(observed) to dO/d(c, psi) or dO/d(v, omega), tangents of engine.md (2).

        name, gradient  of OBSERVABLE, of the nodes `rows`: (F, n, 3), orientation (F, n, 4)
        run             the engine's rollout
        """
        if name == "position":
            gx[:, self.dof[rows]] += gradient
        elif name == "velocity":
            gv[:, self.dof[rows]] += gradient
        else:
            nodes = np.arange(len(self.dof))[rows]
            turning = np.isin(nodes, self.frames)
            turns, own = self.dof[nodes[turning]] + 3, gradient[:, turning]
            if name == "angular_velocity":
                gv[:, turns] += own
            else:
                gx[:, turns] += _by_rotation(np.asarray(run.orientation)[:, nodes[turning]], own)


def _by_rotation(q: Array, g: Array) -> Array:
    """dO/dpsi (..., 3) from dO/dq (..., 4): dq = (dpsi, 0) q / 2, the quaternion product."""
    vector, scalar = q[..., :3], q[..., 3:]
    gv, gs = g[..., :3], g[..., 3:]
    return np.asarray((scalar * gv + np.cross(vector, gv) - gs * vector) / 2)
