"""A tracker's pivot is not a body's centre of mass: where it sits in the body, given or estimated.

Measured are P = c + R o and R_P = R exp(theta); the six numbers (o, theta) are the body's offset.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from ...errors import nearest
from ...rotation import quat_conjugate, quat_exp, quat_multiply, quat_rotate
from ...sensing.observation import PoseTrial
from ..estimation import EstimationConfig

AXES = ("x", "y", "z", "turn x", "turn y", "turn z")


@dataclass(frozen=True)
class Pivot:
    """Offset of one body: numbers [m, rad], and the parameter in place of a number, or "" (6,)."""

    numbers: tuple[float, ...]
    names: tuple[str, ...]

    def at(self, values: Mapping[str, float]) -> np.ndarray:
        """The offset (6,) at values of the parameters."""
        pairs = zip(self.numbers, self.names, strict=True)
        return np.array([values[name] if name else number for number, name in pairs])

    @property
    def track(self) -> dict:
        """Arguments of a PoseTrack of the pivot."""
        return {"offset": self.numbers, "offset_names": self.names if any(self.names) else ()}


def read_pivots(config: EstimationConfig) -> dict[str, Pivot]:
    """Section measurement.body_offset; InputError naming what does not fit."""
    options, found = config.measurement, {}
    for body, entries in options.body_offset.items():
        key = f"measurement.body_offset.{body}"
        if body not in config.bodies:
            near = nearest(str(body), config.bodies)
            raise config.error(key, entries, "a body of `body`", near)
        if not isinstance(entries, (list, tuple)) or len(entries) != 6:
            rule = "six numbers or names of parameters: x, y, z [m] and a rotation vector [rad]"
            raise config.error(key, entries, rule)
        numbers, names = [], []
        for axis, entry in zip(AXES, entries, strict=True):
            number = isinstance(entry, (int, float)) and not isinstance(entry, bool)
            if not number and entry not in config.parameters:
                near = nearest(str(entry), config.parameters)
                raise config.error(f"{key} ({axis})", entry, "a number or a parameter", near)
            value = entry if number else config.parameters[entry].value
            if not np.isfinite(value):
                raise config.error(f"{key} ({axis})", entry, "a finite number")
            numbers.append(float(value))
            names.append("" if number else entry)
        found[body] = Pivot(tuple(numbers), tuple(names))
    if found and (options.observed == "velocities" or options.start == "file"):
        rule = "nothing, where velocities of the file are used (they are those of the body)"
        raise config.error("measurement.body_offset", sorted(found), rule)
    return found


def centred(
    trial: PoseTrial, pivots: Mapping[str, Pivot], values: Mapping[str, float]
) -> PoseTrial:
    """The trial with poses of the bodies' centres, by the offsets at these values."""
    if not pivots:
        return trial
    value = trial.poses.value.copy()
    for k, body in enumerate(trial.bodies):
        if body not in pivots:
            continue
        offset, columns = pivots[body].at(values), slice(7 * k, 7 * k + 7)
        place, turned = value[:, columns][:, :3], value[:, columns][:, 3:]
        back = quat_conjugate(quat_exp(offset[3:]))
        q = quat_multiply(turned, np.broadcast_to(back, turned.shape))
        value[:, columns] = np.concatenate([place - quat_rotate(q, offset[None, :3]), q], 1)
    return replace(trial, poses=replace(trial.poses, value=value))
