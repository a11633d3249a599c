"""Motions as the compact JSON-ready data that templates/player.js plays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from diffsim_ros.viz import style
from diffsim_ros.viz.motion import Motion

LEAST_FORCE = 0.05  # [N]: weaker contacts are not drawn


def motion_data(motion: Motion, title: str = "") -> dict[str, Any]:
    """Return one playable trial: the measured body as a ghost, the simulated one solid."""
    bodies = []
    for who, colour, ghost, position, orientation in (
        (
            "simulated",
            style.SIMULATED,
            False,
            motion.simulated_position,
            motion.simulated_orientation,
        ),
        ("measured", style.MEASURED, True, motion.measured_position, motion.measured_orientation),
    ):
        if position is not None:
            bodies.append(body_data(who, "box", motion.size, colour, position, orientation, ghost))
    data = {
        "name": title or motion.name,
        "t": rounded(motion.t - motion.t[0], 4),
        "bodies": bodies,
        "planes": [{"p": [0, 0, 0], "q": [0, 0, 0, 1]}],
        "errors": [],
        "forces": [],
    }
    if motion.paired:
        data["errors"] = [
            {"label": "distance [mm]", "value": rounded(1e3 * motion.position_error(), 2)},
            {"label": "angle [°]", "value": rounded(np.degrees(motion.rotation_error()), 2)},
        ]
    if motion.contact_force is not None and motion.contact_point is not None:
        data["forces"] = force_data(motion.contact_point, motion.contact_force)
    return data


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
