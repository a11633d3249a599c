"""A PLAN.yaml with `excitation`, read strictly."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import InputError, nearest
from ...fields import Reader
from ...robots.arm import Arm, Limits
from ...robots.trajectory_check import Rules
from ...scene.model import load_scene
from ...scene.standing import own_surroundings, still_surfaces, together
from ...yaml_file import read_mapping
from .. import tasks
from ..arm_motion import derated
from . import schema
from .information import OWN, Information
from .series import Bounded, FourierSeries

GRAVITY = np.array([0.0, 0.0, -9.81])
"""[m/s^2], world."""
SHARE = 300.0
"""Effort limits over the noise of efforts, where none is given."""
QUICK = 0.1
"""Share of its limit of velocity that a joint must be able to reach within a period."""
ROOM = 0.05
"""[rad or m] that every joint must be able to go both ways from home."""
PER_HARMONIC = 8
"""Times at which a motion counts in the search, per harmonic."""


@dataclass(frozen=True)
class ExcitationConfig:
    """A checked excitation.

    arm, margin  as of other plans;  obstacles  name -> signed distance, world
    duration   of a period [s], and `periods` of them;  harmonics  of the series
    room       (2, n) [rad or m] that joints may go up and down from home
    clearance  [m];  rate [Hz] of readings;  sigma (n,) of their noise
    unknown    joints whose gain is to be found;  parameters  names that count more
    criterion  "mean" or "volume" of all, or "chosen": those parameters alone
    starts, iterations, seed  of the search;  source  the mapping as read
    """

    place: str
    name: str
    arm: Arm
    margin: float
    obstacles: Mapping[str, Any]
    duration: float
    periods: int
    harmonics: int
    room: np.ndarray
    clearance: float
    rate: float
    sigma: np.ndarray
    unknown: tuple[int, ...]
    parameters: tuple[str, ...]
    criterion: str
    starts: int
    iterations: int
    seed: int
    source: Mapping

    @property
    def limits(self) -> Limits:
        """Of rates, less the margin."""
        return derated(self.arm, self.margin).limits

    @property
    def bounded(self) -> Bounded:
        """The series within the limits."""
        samples = PER_HARMONIC * self.harmonics
        series = FourierSeries(self.duration, self.harmonics, samples)
        return Bounded(series, self.limits, self.room)

    @property
    def information(self) -> Information:
        """What efforts tell."""
        limits, home = self.limits, self.arm.home
        gravity = (np.array(self.arm.base)[:3, :3].T @ GRAVITY).tolist()
        ends = np.stack([home + self.room[0], home - self.room[1]])
        speeds = limits.velocity, limits.acceleration
        return Information(self.arm.robot, self.sigma, ends, *speeds, gravity, self.unknown)

    @property
    def readings(self) -> int:
        """Of every joint in the whole motion."""
        return int(self.rate * self.duration * self.periods)


def load_excitation(
    source: str | Path | Mapping, *, base: str | Path | None = None, set: Iterable[str] = ()
) -> ExcitationConfig:
    """Read a file or mapping (paths relative to `base`), with every "KEY=VALUE" of `set`;
    InputError naming file, key and rule."""
    content, place = read_mapping(source, base, set)
    reader = Reader(place)
    raw = reader.mapping(content, "")
    top = reader.section(schema.PLAN, raw)
    robot = reader.section(tasks.ARM, top["robot"], "robot")
    arm = tasks.read_arm(reader, robot)
    given = reader.section(schema.EXCITATION, top["excitation"], "excitation")
    search = reader.section(schema.SEARCH, top["search"], "search")
    obstacles = own_surroundings(arm)
    if top["scene"] is not None:
        folder = Path(place) if not isinstance(source, Mapping) else base
        found = still_surfaces(load_scene(top["scene"], base=folder))
        obstacles = together(obstacles, found, "scene")
    whole = given["duration"] * given["periods"]
    if whole > Rules.max_duration:
        rule = f"at most {Rules.max_duration:g} s of all periods"
        raise reader.error("excitation.duration", whole, rule)
    unknown = _unknown(reader, given["gains"], arm)
    config = ExcitationConfig(
        place, top["name"], arm, robot["margin"], obstacles, given["duration"], given["periods"],
        given["harmonics"], _room(reader, given["range"], arm), given["clearance"], given["rate"],
        _sigma(reader, given["sigma"], arm), unknown, tuple(given["parameters"]),
        given["criterion"], search["starts"], search["iterations"], search["seed"], raw,
    )  # fmt: skip
    _check_duration(reader, config)
    if config.criterion == "chosen" and not config.parameters:
        rule = "with `excitation.parameters`, of which it is"
        raise reader.error("excitation.criterion", "chosen", rule)
    return replace(config, parameters=_counted(reader, given["parameters"], config))


def _room(reader: Reader, value: object, arm: Arm) -> np.ndarray:
    """(2, n): up and down from home."""
    wide = arm.robot.values(value, "excitation.range", place=reader.place, unit="rad or m")
    if np.any(wide <= 0):
        raise reader.error("excitation.range", value, "greater than 0")
    up, down = arm.limits.upper - arm.home, arm.home - arm.limits.lower
    for name, *ways in zip(arm.robot.joint_names, up, down, strict=True):
        if min(ways) < ROOM:
            rule = f"at least {ROOM:g} rad or m within the limits of the joint"
            remedy = "the motion begins there and goes both ways: move `home`"
            raise InputError(arm.place, f"home.{name}", f"{min(ways):.3g} within", rule, remedy)
    return np.stack([np.minimum(wide, up), np.minimum(wide, down)])


def _sigma(reader: Reader, value: object, arm: Arm) -> np.ndarray:
    key = "excitation.sigma"
    if value is not None:
        found = arm.robot.values(value, key, place=reader.place)
        if np.any(found <= 0):
            raise reader.error(key, value, "greater than 0, of every joint")
        return found
    found = arm.robot.limits["effort"] / SHARE
    sound = np.isfinite(found) & (found > 0)
    if not sound.all():
        joint = arm.robot.joint_names[int(np.argmin(sound))]
        rule = "the noise of efforts [N m or N]"
        raise reader.error(key, None, rule, f"{joint} has no effort limit in the URDF")
    return found


def _unknown(reader: Reader, names: list, arm: Arm) -> tuple[int, ...]:
    joints = arm.robot.joint_names
    for i, name in enumerate(names):
        if name not in joints:
            near = nearest(str(name), joints)
            raise reader.error(f"excitation.gains[{i}]", name, "a joint that moves", near)
    if len(set(names)) == len(joints):
        remedy = "efforts alone do not tell heavier bodies from larger gains"
        rule = "all joints but one, at most"
        raise reader.error("excitation.gains", list(names), rule, remedy)
    return tuple(sorted({joints.index(name) for name in names}))


def _counted(reader: Reader, names: list, config: ExcitationConfig) -> tuple[str, ...]:
    """Names of columns; a word alone is of every joint."""
    known, found = config.information.names, []
    for i, name in enumerate(names):
        own = [one for one in known if one == name or one.endswith(f".{name}")]
        if not own:
            rule = (
                f"{', '.join(OWN)} of all joints, JOINT.{OWN[0]} ..., or .gain of those of `gains`"
            )
            near = nearest(str(name), [*OWN, *known])
            raise reader.error(f"excitation.parameters[{i}]", name, rule, near)
        found += own
    return tuple(dict.fromkeys(found))


def _check_duration(reader: Reader, config: ExcitationConfig) -> None:
    """InputError where the shortest period of the series is no motion, or too short to be sent."""
    limits, at = config.limits, "excitation.duration"
    for name, speed in zip(config.arm.robot.joint_names, limits.velocity, strict=True):
        if not (np.isfinite(speed) and speed > 0):
            rule = "a finite limit of velocity in the URDF"
            raise InputError(config.arm.robot.place, f"joint {name}: velocity", float(speed), rule)
    # from rest to QUICK and back, both ways, with the largest acceleration, and with the jerk
    wanted = QUICK * limits.velocity
    least = np.maximum(4.0 * wanted / limits.acceleration, np.sqrt(32.0 * wanted / limits.jerk))
    if config.duration < least.max():
        joint = config.arm.robot.joint_names[int(np.argmax(least))]
        rule = f"at least {least.max():.3g} s"
        remedy = f"{joint} reaches less than {QUICK:g} of its speed within its limits"
        raise reader.error(at, config.duration, rule, remedy)
    fastest = config.rate / 10.0
    if config.harmonics / config.duration > fastest:
        most = int(fastest * config.duration)
        rule = f"at most {most}: {fastest:g} Hz, a tenth of `rate`" if most >= 2 else (
            f"a longer `duration` than {config.duration:g} s at {config.rate:g} readings a second"
        )  # fmt: skip
        raise reader.error("excitation.harmonics", config.harmonics, rule)
