"""Several points, each at its own place: given, or those of a copy of the body placed elsewhere."""

from __future__ import annotations

import numpy as np

from ...fields import Field, Section
from ...inverse.goals import Goal
from ...rotation import quat_matrix
from ...scene.placing import resolve_pose
from .entry import GoalEntry

ASKED = ("positions", "pose")
PASSES = True
KEYS: Section = {
    "points": Field("points", "of a rigid body, its own frame, for `positions` or `pose`", "m"),
    "vertices": Field("any", "of a soft body: a region, as in `glue`, or a list; absent: all"),
    "positions": Field("points", "of `points` or `vertices`, each its own", "m"),
    "pose": Field(
        "mapping",
        "position, orientation or rotation: each vertex (of a rigid body corners, poles, contact "
        "spheres or `points`) where it is in a copy of the body placed so",
    ),
}


def check(entry: GoalEntry) -> None:
    """Rules between its keys."""
    goal = entry.goal
    entry.of_rigid("points")
    if goal["vertices"] is not None and not entry.soft:
        raise entry.error("vertices", "of a solid, cloth or string", "a rigid body has `points`")
    if goal["pose"] is not None and not entry.body.TURNS:
        raise entry.error("pose", "of a body that has one: no particle")
    if sum(goal[key] is not None for key in ("position", *ASKED)) > 1:
        rule = "one of position, positions and pose"
        raise entry.reader.error(entry.key, entry.asked, rule)


def read(entry: GoalEntry) -> Goal:
    """See the module."""
    goal = entry.goal
    if goal["pose"] is not None:
        pose = resolve_pose(entry.reader, goal["pose"], f"{entry.key}.pose")
        points, own = entry.points()
        turn = quat_matrix(np.array(pose["orientation"]))
        target = pose["position"] + own @ turn.T
    else:
        if goal["vertices"] is None and goal["points"] is None:
            raise entry.error("positions", "given together with `vertices` or `points`")
        points, own = entry.points()
        target = np.array(goal["positions"])
        if len(target) != len(own):
            rule = f"{len(own)} positions, one for each point that is not held"
            raise entry.error("positions", rule)
    return Goal(goal["body"], entry.frames, target, entry.sigma, points=points,
                softness=goal["softness"], name=entry.name)  # fmt: skip
