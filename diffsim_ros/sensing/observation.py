"""What a sensor saw, and one recorded motion made of it.

Quaternions are (x, y, z, w), body to world; lengths are in the units of the recording
("stored lengths": a tracker's metre need not be a metre, see docs/explanation/estimation.md).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

MIN_SAMPLES = 8
"""Fewest samples of a usable toss: a start, an impact and something after it."""
UNIT_TOLERANCE = 1e-3
"""Accepted deviation of a quaternion's norm from 1."""
SIGMA = (1e-3, np.radians(0.5))
"""Default standard deviations of a pose: position [m], rotation [rad]."""


@dataclass(frozen=True)
class Observation:
    """Samples of one sensor in one frame, sorted by time.

    t       stamps [s], strictly increasing                              (n,)
    kind    "pose": value is px py pz qx qy qz qw [m, 1] per body        (n, 7 * bodies)
            "markers": x y z [m] per marker, NaN where it was not seen   (n, 3 * markers)
    frame   name of the frame that the values are given in
    names   names of the observed bodies or markers, in the order of the columns
    value   the samples
    sigma   standard deviations: position [m] and, of poses, rotation [rad]   (2,) or (1,)
    source  where they come from (a file, a topic), for messages and provenance
    residual  what the tracker says of each marker's place [m], (n, markers), or None
    trial   its number in a source that holds several, else None
    """

    t: np.ndarray
    kind: str
    frame: str
    names: tuple[str, ...]
    value: np.ndarray
    sigma: np.ndarray
    source: str
    residual: np.ndarray | None = None
    trial: int | None = None

    @property
    def name(self) -> str:
        """Of the file without folder and extension, and of the trial: beam, or beam_2."""
        name = self.source.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1].rsplit(".", 1)[0]
        return name if self.trial is None else f"{name}_{self.trial}"


@dataclass(frozen=True)
class PoseTrial:
    """One toss: poses of one or several bodies on a uniform time grid that may have holes.

    id        number of the toss in its source
    poses     Observation of kind "pose"                                  (n, 7 * bodies)
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
        poses = replace(self.poses, names=(body,), value=self.poses.value[:, 7 * k : 7 * k + 7])
        velocity = None if self.velocity is None else self.velocity[:, 6 * k : 6 * k + 6]
        return replace(self, poses=poses, velocity=velocity)

    @property
    def position(self) -> np.ndarray:
        """Positions of the (first) body in the frame of the observation [m], (n, 3)."""
        return self.poses.value[:, :3]

    @property
    def orientation(self) -> np.ndarray:
        """Unit quaternions (x, y, z, w) of the (first) body, body to world, (n, 4)."""
        return self.poses.value[:, 3:7]

    @property
    def place(self) -> str:
        """File and toss, for error messages."""
        return f"{self.poses.source}: toss {self.id}"

    @property
    def source(self) -> str:
        """Where it was read from."""
        return self.poses.source

    def __len__(self) -> int:
        return len(self.frames)
