"""Sections of an estimation YAML that are those of joint logs."""

# ruff: noqa: RUF009  `option` returns a dataclasses.field, nothing is shared between instances
from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from ....fields import REQUIRED, Reader
from ....sensing.observation import Observation
from ...options import DataOptions, FilesOptions, SimulationOptions, option, positive
from ...recordings import Recordings
from .logs import Topics, logs_of


@dataclass(frozen=True, kw_only=True)
class JointDataOptions(DataOptions):
    """Section `data` of joint logs."""

    topic: str = option(
        "text", "of measured JointState, in bags; absent: the one with the robot's joints", ""
    )
    commands: str = option(
        "text",
        "topic of commands, in bags: JointState, or a controller's state; absent: those that have "
        "the robot's joints; none: no commands are read",
        "",
    )


@dataclass(frozen=True, kw_only=True)
class JointFilesOptions(FilesOptions):
    """Sections `data.train` and `data.validate` of joint logs."""

    trials: object = option("any", "all, or a list of trial numbers", "all")


@dataclass(frozen=True)
class JointFiles(Recordings):
    """Files of a role and the numbers of their trials, None: all; topics of bags."""

    trials: tuple[int, ...] | None = None
    topics: Topics = Topics()

    data: ClassVar[type[DataOptions]] = JointDataOptions
    section: ClassVar[type[FilesOptions]] = JointFilesOptions
    accepted: ClassVar[str] = "an NPZ or CSV file"

    @classmethod
    def details(
        cls, reader: Reader, options: JointFilesOptions, base: Path, key: str, data: Any
    ) -> dict[str, Any]:
        """Numbers of the trials, and topics."""
        trials: Any = options.trials
        topics = Topics(data.topic, data.commands)
        if trials == "all":
            return {"topics": topics}
        whole = isinstance(trials, (list, tuple)) and trials
        if not whole or not all(isinstance(t, int) and not isinstance(t, bool) for t in trials):
            raise reader.error(f"{key}.trials", trials, "all, or a list of whole numbers")
        return {"trials": tuple(trials), "topics": topics}

    def whole(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Every trial."""
        return {"trials": None}, {"trials": "all"}

    def read(self, joints: Collection[str] = ()) -> list[Observation]:
        """Every trial of the role, with the joints of a robot (empty: all)."""
        return [
            log for file in self.files for log in logs_of(file, self.topics, joints, self.trials)
        ]


@dataclass(frozen=True, kw_only=True)
class JointMeasurementOptions:
    """Section `measurement` of joint logs."""

    joints: tuple = option("list", "joints whose readings count; absent: all of the log", ())
    position: dict = option("mapping", "readings of positions, see below; absent: not used", None)
    velocity: dict = option("mapping", "readings of velocities; absent: not used", None)
    effort: dict = option(
        "mapping", "readings of the drives' torques or forces; absent: not used", None
    )
    still: float = positive(
        "every trial begins at rest for this long; its mean position is where the robot starts",
        0.1,
        "s",
    )
    skip: float = option("number", "samples before this time do not count", 0.0, "s", minimum=0)
    start: str = option(
        "choice",
        "start at the measured positions, or at the commanded ones (needed where positions have a "
        "gain or bias)",
        "measured",
        choices=("measured", "command"),
    )


@dataclass(frozen=True, kw_only=True)
class ReadingOptions:
    """Sections `measurement.position`, `.velocity` and `.effort`."""

    sigma: object = option(
        "any", "noise [rad, rad/s, N m; of sliders m, m/s, N]: a number, or {joint: number}",
        REQUIRED,
    )  # fmt: skip
    delay: object = option("any", "of the sensor [s]: a number, or the name of a parameter", 0.0)
    drift: object = option(
        "any",
        "what its clock loses per second of its own: a number > -1, or a parameter",
        0.0,
    )
    gain: object = option(
        "any", "reading = gain * value + bias: a number, a parameter, or {joint: either}", 1.0
    )
    bias: object = option("any", "a number, a parameter, or {joint: either}", 0.0)


@dataclass(frozen=True, kw_only=True)
class JointSimulationOptions(SimulationOptions):
    """Section `simulation` of joint logs; steps are the scene's."""

    commands: str = option(
        "choice",
        "what the drives get between the samples of the log: a cubic spline, or a straight line",
        "cubic",
        choices=("cubic", "linear"),
    )
