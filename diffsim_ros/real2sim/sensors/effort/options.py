"""Sections of an estimation YAML that are those of positions and efforts alone."""

# ruff: noqa: RUF009  `option` returns a dataclasses.field, nothing is shared between instances
from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from ....errors import InputError, nearest
from ....fields import REQUIRED, Reader
from ....robots.dynamics import GRAVITY
from ....sensing.observation import Observation
from ...efforts.friction import COMPARED, LAWS
from ...options import FilesOptions, is_number, option, positive, read_options
from ..joint.logs import logs_of
from ..joint.options import JointFiles, JointFilesOptions


@dataclass(frozen=True, kw_only=True)
class EffortTopOptions:
    """Top level of an estimation YAML of kind efforts."""

    name: str = option("name", "name of the estimation", "estimation")
    kind: str = option("choice", "this kind", REQUIRED, choices=("efforts",))
    robot: dict = option("mapping", "which robot, and which of its joints move", REQUIRED)
    data: dict = option("mapping", "logs", REQUIRED)
    measurement: dict = option("mapping", "what the efforts are, and their filter", None)
    fit: dict = option("mapping", "which laws are compared", None)


@dataclass(frozen=True, kw_only=True)
class LoggedRobotOptions:
    """Section `robot`."""

    urdf: str = option("text", "the robot, relative to the YAML; meshes are not needed", REQUIRED)
    joints: tuple = option(
        "list", "joints that move, all of them logged; the others are held still; absent: all "
        "that are logged", (),
    )  # fmt: skip
    held: dict = option("mapping", "position [rad or m] of held joints, 0 of those not named", {})
    gravity: tuple = option("vector3", "axes of the URDF's base", GRAVITY, "m/s^2")


@dataclass(frozen=True)
class LoggedRobot:
    """The robot of a log: path of its URDF, joints that move (empty: all logged), held ones."""

    urdf: Path
    joints: tuple[str, ...]
    held: Mapping[str, float]
    gravity: tuple[float, float, float]

    @classmethod
    def read(cls, reader: Reader, value: object, base: Path) -> LoggedRobot:
        """Section `robot`; names are checked when the URDF is read."""
        options = read_options(LoggedRobotOptions, reader, value, "robot")
        for i, name in enumerate(options.joints):
            if not isinstance(name, str) or options.joints.count(name) > 1:
                raise reader.error(f"robot.joints[{i}]", name, "names of joints, each once")
        for name, position in options.held.items():
            if not is_number(position):
                raise reader.error(f"robot.held.{name}", position, "a finite number [rad or m]")
        if not np.linalg.norm(options.gravity) < math.inf:
            raise reader.error("robot.gravity", options.gravity, "three finite numbers [m/s^2]")
        x, y, z = options.gravity
        return cls(base / options.urdf, options.joints, options.held, (x, y, z))


@dataclass(frozen=True, kw_only=True)
class EffortFilesOptions(JointFilesOptions):
    """Sections `data.train` and `data.validate`."""

    spans: tuple = option(
        "list", "[[from, to], ...]: stretches of every trial, since its first sample [s]; absent: "
        "whole trials", (),
    )  # fmt: skip


@dataclass(frozen=True)
class EffortTrial:
    """A stretch of a trial of a log, its times from 0 on.

    start, end  since the trial's first sample [s];  whole: all of it
    """

    log: Observation
    start: float
    end: float
    whole: bool = True

    @property
    def source(self) -> str:
        """The file."""
        return self.log.source

    @property
    def place(self) -> str:
        """File, trial and stretch, for messages."""
        return self.log.place if self.whole else f"{self.log.place}: {self._span}"

    @property
    def name(self) -> str:
        """As figures name it."""
        return self.log.name if self.whole else f"{self.log.name} {self._span}"

    @property
    def _span(self) -> str:
        return f"{self.start:g} to {self.end:g} s"

    def shares(self, other: EffortTrial) -> bool:
        """Whether samples of both are the same."""
        same = (self.log.source, self.log.trial) == (other.log.source, other.log.trial)
        return same and min(self.end, other.end) - max(self.start, other.start) > 1e-9


@dataclass(frozen=True)
class EffortFiles(JointFiles):
    """Files of a role, numbers of their trials, and stretches of these (empty: whole trials)."""

    spans: tuple[tuple[float, float], ...] = ()

    section: ClassVar[type[FilesOptions]] = EffortFilesOptions

    @classmethod
    def details(
        cls, reader: Reader, options: Any, base: Path, key: str, data: Any
    ) -> dict[str, Any]:
        """Numbers of the trials, and stretches."""
        spans = []
        for i, one in enumerate(options.spans):
            good = isinstance(one, (list, tuple)) and len(one) == 2 and all(map(is_number, one))
            if not good or not 0.0 <= one[0] < one[1]:
                raise reader.error(f"{key}.spans[{i}]", one, "[from, to] with 0 <= from < to [s]")
            spans.append((float(one[0]), float(one[1])))
        return {**super().details(reader, options, base, key, data), "spans": tuple(spans)}

    def whole(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Every trial from end to end."""
        return {"trials": None, "spans": ()}, {"trials": "all"}

    def stretches(self, joints: Collection[str] = ()) -> list[EffortTrial]:
        """Every stretch of the role, with the joints of a robot (empty: all); InputError for one
        without samples."""
        found = []
        for file in self.files:
            for log in logs_of(file, self.topics, joints, self.trials):
                end = float(log.t[-1])
                if not self.spans:
                    found.append(EffortTrial(log, 0.0, end))
                for span in self.spans:
                    kept = (log.t >= span[0]) & (log.t < span[1])
                    if not kept.any():
                        rule = f"stretches of the log, which ends at {end:.6g} s"
                        raise InputError(self.place, f"{self.key}.spans", list(span), rule)
                    own = log.kept(kept)
                    own = replace(own, t=own.t - own.t[0])
                    found.append(EffortTrial(own, *span, whole=False))
        return found


@dataclass(frozen=True, kw_only=True)
class EffortMeasurementOptions:
    """Section `measurement`."""

    gains: object = option(
        "any", "effort per N m (of sliders N): a number for all joints, or {joint: number}; "
        "joints without one are estimated, with their sign. Efforts in N m: 1", None,
    )  # fmt: skip
    unit: str = option("text", "of the efforts, for reports; with gains of 1: N m", "effort")
    bandwidth: float = positive(
        "of the filter of positions and efforts; absent: five times that of the motion", None, "Hz"
    )


@dataclass(frozen=True, kw_only=True)
class EffortFitOptions:
    """Section `fit`."""

    friction: tuple = option(
        "list", "laws that are compared joint by joint, the simplest first: " + ", ".join(LAWS),
        COMPARED,
    )  # fmt: skip
    inertias: str = option(
        "choice",
        "those of the URDF are held, or estimated near them, or whichever predicts left-out parts "
        "of the logs no worse",
        "auto",
        choices=("auto", "held", "estimated"),
    )
    payload: str = option(
        "text", "link of which mass, centre and inertia alone are estimated, the other bodies as "
        "in the URDF: what it carries, or lacks; gains should be known. Absent: see inertias", "",
    )  # fmt: skip
    physical: bool = option(
        "bool",
        "rotors and friction that come out with the wrong sign are 0, so that the robot can be "
        "simulated; else they stay, as they may predict efforts better",
        False,
    )


def gains_of(place: str, given: Any, joints: Sequence[str]) -> dict[str, float]:
    """Known gains by joint; InputError for what is none."""
    if given is None:
        return {}
    values = given if isinstance(given, Mapping) else dict.fromkeys(joints, given)
    for name, value in values.items():
        key = f"measurement.gains.{name}" if isinstance(given, Mapping) else "measurement.gains"
        if name not in joints:
            near = nearest(str(name), joints)
            raise InputError(place, key, value, "a joint that moves", near)
        if not is_number(value) or value == 0:
            raise InputError(place, key, value, "a number other than 0")
    return {name: float(value) for name, value in values.items()}
