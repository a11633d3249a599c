"""Springs and cables of a scene as lines between their ends, at a recorded frame."""

from __future__ import annotations

from typing import Any

import numpy as np

from diffsim_ros.rotation import quat_matrix
from diffsim_ros.scene.vertices import vertex_positions
from diffsim_ros.viz.markers import Marker, MarkerKind

LINE_WIDTH = 0.002  # [m]
COLOUR = (0.35, 0.37, 0.42, 1.0)


def link_markers(scene: Any, rollout: Any, frame: int = -1) -> list[Marker]:
    """One LINE_LIST for every batch of springs and every cable."""
    found = []
    for i, link in enumerate(scene.description["links"]):
        if link["type"] == "spring":
            ends = [end for pair in link["pairs"] for end in (pair["a"], pair["b"])]
        elif link["type"] == "cable":
            ends = [end for two in zip(link["via"], link["via"][1:], strict=False) for end in two]
        else:
            continue
        points = np.array([place_at(scene, rollout, end, frame) for end in ends])
        look = {"scale": (LINE_WIDTH, 0.0, 0.0), "colour": COLOUR, "points": points}
        found.append(Marker(f"link/{link['name']}", i, MarkerKind.LINE_LIST, **look))
    return found


def place_at(scene: Any, rollout: Any, end: dict, frame: int) -> np.ndarray:
    """Place (3,) of a link's end at a recorded frame, world frame [m]."""
    if "world" in end:
        return np.array(end["world"])
    if "vertex" in end:
        frames = np.atleast_1d(np.arange(len(rollout.time))[frame])
        return vertex_positions(scene, rollout, end["body"], frames)[0, end["vertex"]]
    row = scene.engine.nodes_of(end["body"])[0]
    turn = quat_matrix(np.asarray(rollout.orientation)[frame, row])
    return np.asarray(rollout.position)[frame, row] + turn @ np.array(end["point"])
