"""An arm strikes: its tool carries a kinematic body through a place at a velocity, and stops.

The controls are that place and velocity; the body goes along a straight line,

    x(t) = place + velocity phi(t - at),   phi(s) = s where |s| <= run,

and further out phi' falls to 0 over `ease`, continuous up to the jerk.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...errors import InputError, nearest
from ...fields import REQUIRED, Field, Reader, Section
from ...parameter import Parameter
from ...robots.arm import Arm
from ...scene.model import SceneModel
from ..config import PlanConfig
from ..controls import control
from .end_effector_task import (
    AXES,
    END_EFFECTOR,
    EndEffectorTask,
    Spline,
    read_carried,
    with_keys,
)
from .parts import slower

PERIOD = 0.01
"""Longest interval of the kinematic body's keys [s]."""
NAMES = tuple(f"{what}.{axis}" for what in ("place", "velocity") for axis in AXES)
ASKED = "strike"
KEYS: Section = {
    "strike": Field("mapping", "instead: a kinematic body that the tool carries strikes"),
}
STRIKE: Section = {
    **{key: END_EFFECTOR[key] for key in ("body", "in_tool", "orientation")},
    "at": Field("number", "time of the strike", "s", default=REQUIRED, minimum=0),
    "place": Field("vector3", "of the body then, first guess", "m", default=REQUIRED),
    "velocity": Field("vector3", "of it then, first guess", "m/s", default=REQUIRED),
    "range": Field("number", "of the place, +-", "m", default=0.1, minimum=0, strict=True),
    "speed": Field("number", "of the velocity, +- along each axis", "m/s", default=1.0,
                   minimum=0, strict=True),
    "chosen": Field("list", "place.x, velocity.x ... that the plan chooses; absent: all"),
    "run": Field("number", "before and after it in which the velocity holds", "s", default=0.05,
                 minimum=0),
    "ease": Field("number", "before and after that in which it begins and ends", "s", default=0.25,
                  minimum=0, strict=True),
    "weight": Field("number", "of the squares of (control - first guess) / its range",
                    default=1e-3, minimum=0),
}  # fmt: skip
SECTIONS = {"robot.strike": STRIKE}


@dataclass(frozen=True)
class StrikeTask(EndEffectorTask):
    """An arm whose tool carries a kinematic body of the scene through a strike.

    at, run, ease  [s], see the module
    """

    at: float = field(kw_only=True)
    run: float = field(kw_only=True)
    ease: float = field(kw_only=True)

    controls_key = "robot.strike"

    def bound(
        self, reader: Reader, scene: SceneModel, parameters: list[Parameter]
    ) -> tuple[SceneModel, list[Parameter], list[Any]]:
        """See Task.bound: place and velocity set all keys of the kinematic body."""
        keys = scene.description["bodies"][self.body]["keys"]
        count = int(np.ceil(keys["interval"] * (len(keys["positions"]) - 1) / PERIOD - 1e-9))
        times = np.linspace(0.0, keys["interval"] * (len(keys["positions"]) - 1), count + 1)
        if not self.run + self.ease <= self.at <= times[-1] - self.run - self.ease:
            rule = f"run + ease after 0 s and before the last key's {times[-1]:g} s"
            raise reader.error("robot.strike.at", self.at, rule)
        stroke = path(times - self.at, self.run, self.ease)
        matrix = np.vstack([
            np.stack([np.eye(6)[a] + s * np.eye(6)[3 + a] for s in stroke]) for a in range(3)
        ])  # fmt: skip
        theta = [p.value for p in self.parameters]
        fine = {"position": (matrix @ theta).reshape(3, -1).T,
                "rotation": np.tile(keys["rotations"][0], (len(times), 1))}  # fmt: skip
        names = tuple(f"{self.body}.position[{k}].{axis}" for axis in AXES
                      for k in range(len(times)))  # fmt: skip
        spline = Spline(NAMES, names, matrix, np.zeros(len(names)), keys)
        return with_keys(scene, self.body, fine, times[1]), parameters, [spline]

    def tightened(
        self, config: PlanConfig, bound: InputError, controls: Mapping[str, float], load: Callable
    ) -> tuple[PlanConfig, str]:
        """A slower strike."""
        return slower(config, bound, controls, NAMES[3:])


def path(s: np.ndarray, run: float, ease: float) -> np.ndarray:
    """phi(s) of the module (n,) [s]."""
    u = np.clip((np.abs(s) - run) / ease, 0.0, 1.0)
    beyond = ease * (u - u**4 * (2.5 - u * (3.0 - u)))
    return np.sign(s) * (np.minimum(np.abs(s), run) + beyond)


def read(reader: Reader, robot: Mapping, arm: Arm, scene: SceneModel) -> StrikeTask:
    """Key `strike` of section `robot`."""
    given = reader.section(STRIKE, robot["strike"], "robot.strike")
    carried = read_carried(reader, robot, arm, scene, given, "robot.strike")
    chosen = NAMES if given["chosen"] is None else tuple(given["chosen"])
    for name in chosen:
        if name not in NAMES:
            near = nearest(str(name), NAMES)
            raise reader.error("robot.strike.chosen", name, ", ".join(NAMES), near)
    found = []
    for what, unit, reach in (("place", "m", given["range"]), ("velocity", "m/s", given["speed"])):
        for axis, value in zip(AXES, given[what], strict=True):
            name = f"{what}.{axis}"
            bounds = (value - reach, value + reach) if what == "place" else (-reach, reach)
            if not bounds[0] <= value <= bounds[1]:
                raise reader.error(f"robot.strike.{what}", given[what], f"at most {reach:g} {unit}")
            found.append(control(name, unit, value, bounds, weight=given["weight"],
                                 free=name in chosen))  # fmt: skip
    return StrikeTask(
        **carried, stretch=1.0, parameters=tuple(found), at=given["at"], run=given["run"],
        ease=given["ease"],
    )  # fmt: skip
