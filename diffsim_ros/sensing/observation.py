"""Samples that a sensor recorded, and one toss made of them.

Quaternions are (x, y, z, w), body to world; lengths are in the units of the recording
("stored lengths": a tracker's metre need not be a metre, see docs/explanation/estimation.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InputError, nearest

MIN_SAMPLES = 8
"""Fewest samples of a usable toss: a start, an impact and something after it."""
UNIT_TOLERANCE = 1e-3
"""Accepted deviation of a quaternion's norm from 1."""
SIGMA = (1e-3, np.radians(0.5))
"""Default standard deviations of a pose: position [m], rotation [rad]."""
COMMAND = "command_"
"""Signals of joints that begin so were commanded, not measured."""


@dataclass(frozen=True)
class PoseSample:
    """One pose as it came: stamp [ns], frame, body, position [m], quaternion (x, y, z, w)."""

    stamp: int
    frame: str
    body: str
    position: tuple[float, float, float]
    orientation: tuple[float, float, float, float]


@dataclass(frozen=True)
class MarkerFrame:
    """Optical markers of one frame of a motion capture system.

    stamp [ns], frame, number of the frame; names ("" where unlabelled), points [m] (n, 3)
    """

    stamp: int
    frame: str
    number: int
    names: tuple[str, ...]
    points: np.ndarray


@dataclass(frozen=True)
class WrenchSample:
    """One reading of a force–torque sensor: stamp [ns], frame, force [N], torque [N m]."""

    stamp: int
    frame: str
    force: tuple[float, float, float]
    torque: tuple[float, float, float]


@dataclass(frozen=True)
class Lost:
    """Samples that were sent in place of measurements, and are taken for missing.

    reason  in words;  count, of: how many of how many samples
    first, t, until  the first of them, and the stamps [s] of the first and the last
    name    of the body, marker or signal, "" where there is one
    """

    reason: str
    count: int
    of: int
    first: int
    t: float
    until: float
    name: str = ""

    @property
    def share(self) -> float:
        """Share of the samples."""
        return self.count / self.of


@dataclass(frozen=True, eq=False, kw_only=True)
class Observation:
    """Samples of one sensor: what every reader returns and every consumer takes.

    kind     of sensor: poses, markers, joints, clouds, or the name in its module (read.sensors)
    t        stamps [s], since `epoch`                                                  (n,)
    names    of the m bodies, markers, joints or tools, in the order of the columns
    values   signal -> samples (n, m, ...), NaN: missing
             poses    position [m] (3), orientation x, y, z, w (4); where a file has it, spin
                      [rad/s, body frame] (3)
             markers  position [m] (3) and, where the file has it, residual [m] ()
             joints   position [rad], velocity [rad/s], effort [N m] (of sliders m, m/s, N) and,
                      as commanded, command_position, command_effort ()
             clouds   cloud: clouds.cloud.Cloud, one a sample, (n,); no names
    source   file, or topic of what is received live
    sensor   topic of a bag, or body of a file of several; "" the only one
    frame    that the values are given in ("" unknown)
    sigma    standard deviations in the order of the signals: of poses position [m] and rotation
             [rad]; empty: not known
    trial    its number in a source that holds several, None: all of the source, or the only one
    numbers  number of the trial of each sample (n,), None: not separated
    format   in words;  notes  of the reader
    epoch    what t = 0 is [ns since 1970]
    scale    metres per recorded unit, where values were scaled to metres
    lost     samples that stood for none, by reason: those of poses and markers are NaN, others gone
    """

    kind: str
    t: np.ndarray
    names: tuple[str, ...]
    values: Mapping[str, np.ndarray]
    source: str
    sensor: str = ""
    frame: str = ""
    sigma: np.ndarray = field(default_factory=lambda: np.zeros(0))
    trial: int | None = None
    numbers: np.ndarray | None = None
    format: str = ""
    notes: tuple[str, ...] = ()
    epoch: int = 0
    scale: float = 1.0
    lost: tuple[Lost, ...] = ()

    def __post_init__(self) -> None:
        shape = (len(self.t), len(self.names)) if self.names else (len(self.t),)
        for signal, table in self.values.items():
            if table.shape[: len(shape)] != shape:
                raise ValueError(f"{self.kind} {signal}: {table.shape}, expected {shape} first")

    def __len__(self) -> int:
        return len(self.t)

    # ------------------------------------------------------------------------ where from

    @property
    def path(self) -> Path:
        """The file."""
        return Path(self.source)

    @property
    def place(self) -> str:
        """File, and topic and trial if there are several, for messages."""
        place = f"{self.source}: {self.sensor}" if self.sensor else self.source
        return place if self.trial is None else f"{place}: trial {self.trial}"

    @property
    def name(self) -> str:
        """Of the file without folder and extension, and of the trial: beam, or beam_2."""
        name = self.path.name if self.path.is_dir() else self.path.stem
        return name if self.trial is None else f"{name}_{self.trial}"

    # ------------------------------------------------------------------------ values

    @property
    def stamps(self) -> np.ndarray:
        """Stamps [s] since 1970, or as the file has them (n,)."""
        return self.epoch * 1e-9 + self.t

    @property
    def interval(self) -> float:
        """Usual time between samples [s]."""
        return float(np.median(np.diff(self.t)))

    # `Any` where None is meant that who knows the kind never meets
    @property
    def position(self) -> Any:
        """Places (n, m, 3) of poses and markers, None of others."""
        return self.values["position"] if self.kind in ("poses", "markers") else None

    @property
    def orientation(self) -> Any:
        """Quaternions (n, 4) of the first body, None of what has none."""
        return self.values["orientation"][:, 0] if "orientation" in self.values else None

    @property
    def clouds(self) -> list[Any]:
        """The clouds, one a sample."""
        return list(self.values.get("cloud", ()))

    @property
    def value(self) -> np.ndarray:
        """Columns of every name in a row: of poses px py pz qx qy qz qw, of markers x y z."""
        parts = [self.values[k] for k in ("position", "orientation") if k in self.values]
        return np.concatenate(parts, axis=2).reshape(len(self), -1)

    @property
    def measured(self) -> dict[str, np.ndarray]:
        """Signals that were measured, not commanded."""
        return {k: v for k, v in self.values.items() if not k.startswith(COMMAND)}

    @property
    def command(self) -> dict[str, np.ndarray]:
        """Signals that were commanded, by what they command: position, effort."""
        return {k[len(COMMAND) :]: v for k, v in self.values.items() if k.startswith(COMMAND)}

    def column(self, table: np.ndarray, name: str) -> np.ndarray:
        """One name's column of a table (n, m, ...); InputError names the columns."""
        if name not in self.names:
            rule = f"a {self.kind.removesuffix('s')} of the log"
            near = nearest(name, self.names)
            raise InputError(self.place, self.kind, name, rule, near)
        return table[:, self.names.index(name)]

    # ------------------------------------------------------------------------ parts of it

    def kept(self, rows: np.ndarray | slice) -> Observation:
        """The samples of a mask (n,), of indices or of a slice."""
        return replace(
            self, t=self.t[rows], values={k: v[rows] for k, v in self.values.items()},
            numbers=None if self.numbers is None else self.numbers[rows],
        )  # fmt: skip

    def of(self, name: str) -> Observation:
        """One name's columns."""
        k = self.names.index(name)
        values = {signal: table[:, k : k + 1] for signal, table in self.values.items()}
        return replace(self, names=(name,), values=values)

    def with_value(self, value: np.ndarray) -> Observation:
        """The same observation with other values: columns as of `value`."""
        table = np.asarray(value, float).reshape(len(self), len(self.names), -1)
        moved = {"position": table[:, :, :3]}
        if self.kind == "poses":
            moved["orientation"] = table[:, :, 3:]
        return replace(self, values={**self.values, **moved})

    def trials(self) -> list[Observation]:
        """Its trials, numbered, in the order recorded; itself where there is one."""
        known = [] if self.numbers is None else list(dict.fromkeys(self.numbers.tolist()))
        if len(known) < 2:
            return [replace(self, numbers=None)]
        found = [(int(number), self.kept(self.numbers == number)) for number in known]
        return [replace(one, trial=number, numbers=None) for number, one in found]


def pose_values(poses: np.ndarray) -> dict[str, np.ndarray]:
    """The signals of poses px py pz qx qy qz qw (n, 7 m)."""
    table = np.asarray(poses, float).reshape(len(poses), -1, 7)
    return {"position": table[:, :, :3], "orientation": table[:, :, 3:]}


def joined(parts: Sequence[Observation]) -> Observation:
    """Trials of one source, one after the other, each on its own clock."""
    numbers = [np.full(len(one), one.trial) for one in parts]
    values = {k: np.concatenate([one.values[k] for one in parts]) for k in parts[0].values}
    t = np.concatenate([one.t for one in parts])
    return replace(parts[0], t=t, values=values, trial=None, numbers=np.concatenate(numbers))


@dataclass(frozen=True)
class PoseTrial:
    """One toss: poses of one or several bodies on a uniform time grid that may have gaps.

    id        number of the toss in its source
    poses     Observation of kind "poses"
    dt        spacing of the grid [s]
    frames    grid index of every sample, increasing, the first is 0      (n,)
    velocity  velocity columns of the file, world frame: vx vy vz [m/s]
              wx wy wz [rad/s]; None for a recording of poses alone       (n, 6 * bodies) | None
    """

    id: int
    poses: Observation
    dt: float
    frames: np.ndarray
    velocity: np.ndarray | None = None
    notes: tuple[str, ...] = field(default=())

    @property
    def bodies(self) -> tuple[str, ...]:
        """Names of the bodies."""
        return self.poses.names

    def of(self, body: str) -> PoseTrial:
        """The same toss with this body alone."""
        k = self.bodies.index(body)
        velocity = None if self.velocity is None else self.velocity[:, 6 * k : 6 * k + 6]
        return replace(self, poses=self.poses.of(body), velocity=velocity)

    @property
    def position(self) -> np.ndarray:
        """Positions of the (first) body in the frame of the observation [m], (n, 3)."""
        return self.poses.position[:, 0]

    @property
    def orientation(self) -> np.ndarray:
        """Unit quaternions (x, y, z, w) of the (first) body, body to world, (n, 4)."""
        return self.poses.orientation

    @property
    def place(self) -> str:
        """File and toss, for error messages."""
        return f"{self.poses.source}: toss {self.id}"

    @property
    def source(self) -> str:
        """Where it was read from."""
        return self.poses.source

    @property
    def gridded(self) -> Observation:
        """The poses at the times of the grid, numbered as the toss."""
        return replace(self.poses, t=self.frames * self.dt, trial=self.id)

    def __len__(self) -> int:
        return len(self.frames)
