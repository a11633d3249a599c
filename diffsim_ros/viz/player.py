"""Motions as the compact JSON-ready data that templates/player.js plays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

LEAST_FORCE = 0.05  # [N]: weaker contacts are not drawn
GROUND = {"p": [0, 0, 0], "q": [0, 0, 0, 1]}
"""The plane z = 0."""


def playable(
    name: str,
    t: np.ndarray,
    bodies: Sequence[dict],
    *,
    planes: Sequence[dict] = (GROUND,),
    errors: Mapping[str, np.ndarray] | None = None,
    forces: Sequence[list] = (),
    digits: int = 4,
    loop: bool = False,
) -> dict[str, Any]:
    """Return one playable motion at times t (n,) [s] that begin at 0.

    bodies  of body_data or mesh_data;  errors  label -> values (n,) below it;  forces  of
    force_data;  digits  decimals of times;  loop  one cycle that goes on without a pause
    """
    curves = [{"label": key, "value": rounded(v, 2)} for key, v in (errors or {}).items()]
    return {
        "name": name, "t": rounded(t, digits), "bodies": list(bodies), "planes": list(planes),
        "errors": curves, "forces": list(forces), "loop": loop,
    }  # fmt: skip


def body_data(
    name: str,
    kind: str,
    size: Sequence[float],
    colour: str,
    position: np.ndarray,
    orientation: np.ndarray,
    ghost: bool = False,
) -> dict[str, Any]:
    """Return one body: kind "box", "sphere", "point" or "mesh", edges [m], poses (n, 3), (n, 4)."""
    return {
        "name": name,
        "kind": kind,
        "size": [float(edge) for edge in size],
        "colour": colour,
        "ghost": ghost,
        "p": rounded(position, 5),
        "q": rounded(orientation, 5),
    }


def mesh_data(
    name: str,
    colour: str,
    vertices: np.ndarray,
    faces: np.ndarray,
    lines: np.ndarray,
    sheet: bool = False,
) -> dict[str, Any]:
    """Return one soft body: vertices (n, m, 3) [m] in the world, faces (k, 3), lines (s, 2).

    Only vertices that a face or line has are kept; `sheet` shows both sides of its faces.
    """
    used, index = np.unique(np.concatenate([faces.ravel(), lines.ravel()]), return_inverse=True)
    shown = vertices[:, used]
    centre = shown.mean(axis=1)
    extent = np.ptp(shown[0], axis=0) if len(shown) else np.zeros(3)
    upright = np.tile([0.0, 0.0, 0.0, 1.0], (len(centre), 1))
    return {
        **body_data(name, "mesh", extent, colour, centre, upright),
        "v": rounded(shown.reshape(len(shown), -1), 4),
        "f": index[: faces.size].reshape(-1, 3).tolist(),
        "l": index[faces.size :].reshape(-1, 2).tolist(),
        "sheet": sheet,
    }


def rigid_mesh_data(
    name: str,
    colour: str,
    vertices: np.ndarray,
    faces: np.ndarray,
    position: np.ndarray,
    orientation: np.ndarray,
    ghost: bool = False,
) -> dict[str, Any]:
    """Return one rigid body: vertices (m, 3) [m] in its frame, faces (k, 3), poses as above."""
    extent = np.ptp(vertices, axis=0)
    return {
        **body_data(name, "mesh", extent, colour, position, orientation, ghost),
        "local": rounded(vertices, 5),
        "f": faces.tolist(),
        "l": [],
        "sheet": False,
    }


def force_data(point: np.ndarray, force: np.ndarray) -> list[list[list[float]]]:
    """Return, per frame, [px, py, pz, fx, fy, fz] of the contacts that carry a force."""
    active = np.linalg.norm(force, axis=-1) > LEAST_FORCE
    return [
        rounded(np.concatenate([p[a], f[a]], axis=-1), 4)
        for p, f, a in zip(point, force, active, strict=True)
    ]


def rounded(values: np.ndarray, digits: int) -> list:
    """Return nested lists of numbers rounded to `digits` decimals (-0.0 becomes 0.0)."""
    return (np.round(np.asarray(values, dtype=float), digits) + 0.0).tolist()
