"""A point cloud: the finite returns of one frame of a depth camera, and what was left out of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ...errors import InputError

FAR = 200.0
"""Median distance [m] beyond which a cloud is taken for one in millimetres."""


FARTHEST = 1e6
"""Distance [m] beyond which a return is none."""


MILLIMETRES = "if these are millimetres, give scale: 0.001"
"""Remedy for a cloud that is too far by as much as that."""


@dataclass(frozen=True, eq=False)
class Cloud:
    """Points of one frame, none of them NaN.

    points   [m], in `frame`                                                       (n, 3) float64
    colour   red, green, blue from 0 to 1, or None                                 (n, 3) float64
    stamp    time [s]; of a message since the epoch, of a file as in its sequence
    frame    name of the frame that the points are given in ("" unknown)
    shape    (height, width) of an organised cloud, else None
    pixel    row-major index of each point in an organised cloud, else None        (n,) int64
    eye      where the sensor is, in `frame` [m]                                   (3,)
    source   file or topic and sample, for messages
    dropped  reason -> number of returns that are not points
    notes    what was read otherwise than its header states
    """

    points: np.ndarray
    colour: np.ndarray | None = None
    stamp: float = 0.0
    frame: str = ""
    shape: tuple[int, int] | None = None
    pixel: np.ndarray | None = None
    eye: np.ndarray = field(default_factory=lambda: np.zeros(3))
    source: str = "cloud"
    dropped: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.points)

    def kept(self, which: np.ndarray) -> Cloud:
        """The cloud with only the points of a mask (n,) or of indices."""
        some: dict[str, Any] = {
            key: None if getattr(self, key) is None else getattr(self, key)[which]
            for key in ("points", "colour", "pixel")
        }
        return replace(self, **some)

    def moved(
        self, rotation: np.ndarray, translation: np.ndarray | Sequence[float], frame: str
    ) -> Cloud:
        """The cloud in another frame: x -> rotation (3, 3) x + translation (3,) [m]."""
        turn, shift = np.asarray(rotation, float), np.asarray(translation, float)
        return replace(
            self, points=self.points @ turn.T + shift, eye=turn @ self.eye + shift, frame=frame
        )


def checked(
    points: np.ndarray, colour: np.ndarray | None = None, *, source: str,
    shape: tuple[int, int] | None = None, scale: float = 1.0,
    dropped: Mapping[str, int] | None = None, **rest: Any,
) -> Cloud:  # fmt: skip
    """A Cloud of raw returns (n, 3), any of them NaN, infinite or exactly zero (no return).

    scale    metres per unit of the points
    dropped  what was left out before
    Raises InputError where nothing is left, or the numbers seem to be millimetres.
    """
    raw = np.asarray(points, np.float64)
    if raw.ndim != 2 or raw.shape[1] != 3:
        raise InputError(source, "points", raw.shape, "an array (n, 3) of x, y, z [m]")
    if not len(raw):
        raise InputError(source, "points", 0, "at least one point", "the cloud is empty")
    finite = np.isfinite(raw).all(axis=1)
    with np.errstate(invalid="ignore"):  # of signalling NaN
        zero = finite & (raw == 0.0).all(axis=1)
    there = finite & ~zero
    counts = {"not finite": int((~finite).sum()), "zero": int(zero.sum())}
    counts.update(dropped or {})
    if not there.any():
        what = f"{len(raw)} returns, {counts['not finite']} not finite, {counts['zero']} zero"
        raise InputError(source, "points", what, "at least one finite point", "nothing in range?")
    with np.errstate(over="ignore", invalid="ignore"):
        eye = np.asarray(rest.get("eye", np.zeros(3)), float)
        away = np.linalg.norm(scale * raw[there] - eye, axis=1)
    far = float(np.median(away))
    if far > FAR:
        rule, odd = f"metres, median below {FAR:g} m", "of another byte order or type?"
        remedy = MILLIMETRES if far < 1000 * FAR else odd
        raise InputError(source, "points", f"median distance {far:.4g}", rule, remedy)
    good = np.flatnonzero(there)[away <= FARTHEST]
    counts["farther than 1000 km"] = int((away > FARTHEST).sum())
    grid = shape if shape is not None and shape[0] > 1 else None
    return Cloud(
        scale * raw[good],
        None if colour is None else np.asarray(colour, np.float64)[good],
        shape=None if grid is None else (grid[0], grid[1]),
        pixel=None if grid is None else good,
        source=source,
        dropped={reason: count for reason, count in counts.items() if count},
        **rest,
    )
