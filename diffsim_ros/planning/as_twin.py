"""The twin that a plan is rehearsed in, as the mapping of a TWIN.yaml (docs/how-to/twin.md).

It has the plan's own scene (resolved, so that defaults that depend on the step do not change) at
half of the step, its arm, and what the arm holds or carries.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InputError, nearest
from .config import PlanConfig

TRACKED = 120.0
"""Poses a second that the twin's tracker sends of every body that has a goal."""
LONGER = 0.05
"""Seconds by which the twin's scene outlasts the plan's, whenever bodies are released."""
EYE = (0.5, -1.6, 0.6)
"""Of the camera, from the place of the first goal [m]."""
CAMERA = {"size": [212, 160], "view": 70, "rate": 30}


def twin_of(
    config: PlanConfig,
    *,
    friction: float = 1.0,
    shift: Mapping[str, Sequence[float]] | None = None,
    jitter: float = 0.0,
    camera: bool = False,
) -> dict[str, Any]:
    """Mapping of the twin of a plan with an arm; its paths are absolute.

    friction  factor on every c_f
    shift     body -> (3,) [m] by which it is placed elsewhere: in the tool's frame what the arm
              holds, in the world's the others
    jitter    sigma of the gripper's latency [s]
    camera    a depth camera that looks at the first goal's place, besides the tracker
    InputError where the plan has no arm, or a body is unknown.
    """
    if config.task is None:
        rule = "an arm that executes the plan"
        raise InputError(config.place, "robot", None, rule, "only plans with `robot:` have a twin")
    scene, task = _scene(config, friction), config.task
    moved = {name: _metres(config, name, by) for name, by in (shift or {}).items()}
    found = {"name": f"twin of: {config.name}", "scene": scene, "robot": _arm(config)}
    found |= task.to_twin(scene, moved, jitter)
    for name, by in moved.items():
        if name not in scene["bodies"]:
            near = nearest(name, scene["bodies"])
            raise InputError(config.place, "shift", name, "a body of the scene", near)
        pose = scene["bodies"][name]["pose"]
        pose["position"] = _moved(pose["position"], by)
    found["sensors"] = _sensors(config, camera)
    return found


def _scene(config: PlanConfig, friction: float) -> dict[str, Any]:
    """The resolved scene at half of its step, with the same instants recorded, and LONGER."""
    scene = copy.deepcopy(dict(config.scene.description))
    world, options = scene["world"], config.scene.options
    world["step"] = options.step / 2
    world["record_every"] = 2 * options.record_every
    interval = options.step * options.record_every
    world["duration"] = (config.scene.steps // options.record_every) * interval
    world["duration"] += interval * float(np.ceil(LONGER / interval))
    for contact in scene["contact"]:
        contact["c_f"] *= friction
    return scene


def _arm(config: PlanConfig) -> str | dict[str, Any]:
    """The arm's file, absolute."""
    named, folder = config.source["robot"]["arm"], Path(config.place)
    if isinstance(named, Mapping):
        return {**named, "urdf": str(Path(config.task.arm.robot.place).absolute())}
    folder = folder if folder.is_dir() else folder.parent
    return str((folder / named).resolve())


def _metres(config: PlanConfig, name: str, by: Sequence[float]) -> np.ndarray:
    try:
        found = np.asarray(by, float)
    except ValueError:
        found = np.full(3, np.nan)
    if found.shape != (3,) or not np.isfinite(found).all():
        raise InputError(config.place, f"shift.{name}", list(by), "x, y, z in m, finite")
    return found


def _moved(position: Sequence[float] | np.ndarray, by: Sequence[float] | np.ndarray) -> list[float]:
    return (np.asarray(position, float) + np.asarray(by, float)).tolist()


def _sensors(config: PlanConfig, camera: bool) -> dict[str, Any]:
    bodies = dict.fromkeys(goal.body for goal in config.goals)
    found = {f"{body}_tracker": {"poses": {"body": body, "rate": TRACKED}} for body in bodies}
    if camera:
        place = next((goal.targets[0] for goal in config.goals if len(goal.targets)), np.zeros(3))
        eye = {"eye": _moved(place, EYE), "target": place.tolist()}
        found["camera"] = {"depth_camera": {**eye, **CAMERA}}
    return found
