"""One body's measured and simulated motion on a common clock, and how far apart they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray

POSES = {
    "measured_position": 3, "measured_orientation": 4, "simulated_position": 3,
    "simulated_orientation": 4,
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Motion:
    """Measured and simulated poses of one box at the same n times, world frame, z up.

    name                   what the picture calls it, e.g. "toss 12"
    t                      time [s], increasing                          (n,)
    *_position             centre of the body [m]                        (n, 3)
    *_orientation          quaternion x, y, z, w, body to world          (n, 4)
    size                   full edge lengths of the box [m]              (3,)
    Raises ValueError naming the field if shapes disagree or numbers are not finite.
    """

    name: str
    t: Array
    measured_position: Array
    measured_orientation: Array
    simulated_position: Array
    simulated_orientation: Array
    size: tuple[float, float, float] = (0.1048, 0.1048, 0.1048)

    def __post_init__(self) -> None:
        n = len(self.t)
        put(self, "t", self.t, (n,))
        for key, width in POSES.items():
            put(self, key, getattr(self, key), (n, width))

    @property
    def frames(self) -> int:
        """Number of frames n."""
        return len(self.t)

    def position_error(self) -> Array:
        """Return the distance of the two centres [m] (n,)."""
        return np.linalg.norm(self.simulated_position - self.measured_position, axis=1)

    def rotation_error(self) -> Array:
        """Return the angle of R_sim R_meas^T [rad], 0 ... pi (n,)."""
        from scipy.spatial.transform import Rotation

        measured = Rotation.from_quat(self.measured_orientation)
        return (Rotation.from_quat(self.simulated_orientation) * measured.inv()).magnitude()


def put(owner: Any, key: str, value: Any, shape: tuple[int, ...]) -> None:
    """Store `value` as a read-only finite float array of `shape` in a frozen dataclass."""
    array = np.array(value, dtype=float)
    if array.shape != shape:
        raise ValueError(f"{key}: expected shape {shape}, got {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError(f"{key}: expected finite numbers, got {array[~np.isfinite(array)][0]}")
    array.setflags(write=False)
    object.__setattr__(owner, key, array)


def corners(size: tuple[float, float, float]) -> Array:
    """Return the eight corners of a centred box [m] (8, 3); corner i has bit b of i as its sign."""
    bits = (np.arange(8)[:, None] >> np.arange(3)) & 1
    return (bits - 0.5) * np.asarray(size, dtype=float)


EDGES = tuple((i, i | 1 << b) for b in range(3) for i in range(8) if not i & 1 << b)
FACES = (  # counter-clockwise seen from outside
    (1, 3, 7, 5),
    (0, 4, 6, 2),
    (2, 6, 7, 3),
    (0, 1, 5, 4),
    (4, 5, 7, 6),
    (0, 2, 3, 1),
)
