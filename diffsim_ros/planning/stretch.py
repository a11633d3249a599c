"""The same task with more time: all its times are multiplied."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..fields import Reader
from .config import PlanConfig
from .goals import GOAL


def stretched(config: PlanConfig, factor: float, load: Callable) -> PlanConfig:
    """An end effector's task `factor` times as long: the scene, the keys of kinematic bodies, times
    of goals.

    The controls keep their names and bounds.  It is another task, to be planned again: sliding,
    swinging and falling do not scale with time.
    load  load.load_plan
    """
    carrying: Any = config.task  # an EndEffectorTask, whose module imports this one
    scene, moved = config.scene.description, carrying.body
    spline: Any = next(group for group in config.map.groups if group.name == "end_effector")
    bodies = {**scene["bodies"], moved: {**scene["bodies"][moved], "keys": spline.keys}}
    for name, body in bodies.items():
        if body["type"] == "kinematic" and body.get("keys"):
            keys = {**body["keys"], "interval": factor * body["keys"]["interval"]}
            bodies[name] = {**body, "keys": keys}
    world = {**scene["world"], "duration": factor * scene["world"]["duration"]}
    interval = world["step"] * world["record_every"]
    end = round(world["duration"] / world["step"]) // world["record_every"] * interval
    robot = dict(config.source["robot"])
    task = robot.pop("end_effector", None) or robot.pop("hand")  # its former name
    left = max(carrying.stretch / factor, 1.0)
    source = {
        **config.source,
        "scene": {**scene, "world": world, "bodies": bodies},
        "estimated": None,  # the scene has its values
        "goals": [_later(config, goal, factor, end) for goal in config.source["goals"]],
        "robot": {**robot, "end_effector": {**task, "stretch": left}},
    }
    return load(source, base=config.place)


def _later(config: PlanConfig, goal: Mapping, factor: float, end: float) -> dict:
    """An entry of `goals` at later times, the end [s] of the scene at most."""
    read = Reader(config.place).section(GOAL, goal, "goals")
    times = {} if read["at"] is None else {"at": min(factor * read["at"], end)}
    if read["during"] is not None:
        times["during"] = [min(factor * time, end) for time in read["during"]]
    return {**goal, **times}
