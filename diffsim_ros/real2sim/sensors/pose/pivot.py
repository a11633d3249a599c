"""A tracker's pivot is not a body's centre of mass: where it sits in the body, given or estimated.

Measured are P = c + R o and R_P = R exp(theta); the six numbers (o, theta) are the body's offset.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ....errors import nearest
from ....inverse.clock import NamedNumbers
from ....rotation import quat_conjugate, quat_exp, quat_multiply, quat_rotate
from ....sensing.observation import PoseTrial
from ...options import EstimationConfig

AXES = ("x", "y", "z", "turn x", "turn y", "turn z")


def read_pivots(config: EstimationConfig) -> dict[str, NamedNumbers]:
    """Section measurement.body_offset; InputError naming what does not fit."""
    options, found = config.measurement, {}
    given = options.body_offset
    if isinstance(given, (list, tuple)):
        if len(given) not in (0, 6) or len(config.bodies) > 1:
            rule = "six numbers: x, y, z [m] and a rotation vector [rad]"
            raise config.error("measurement.body_offset", list(given), rule)
        given = {config.body: given} if given else {}
    if not isinstance(given, Mapping):
        rule = "a mapping of bodies to six numbers"
        raise config.error("measurement.body_offset", given, rule)
    for body, entries in given.items():
        key = f"measurement.body_offset.{body}"
        if body not in config.bodies:
            near = nearest(str(body), config.bodies)
            raise config.error(key, entries, "a body of `body`", near)
        if not isinstance(entries, (list, tuple)) or len(entries) != 6:
            rule = "six numbers or names of parameters: x, y, z [m] and a rotation vector [rad]"
            raise config.error(key, entries, rule)
        pairs = (
            config.number(entry, f"{key} ({axis})", "a number or a parameter")
            for axis, entry in zip(AXES, entries, strict=True)
        )
        found[body] = NamedNumbers(*zip(*pairs, strict=True))
    if found and (options.observed == "velocities" or options.start == "file"):
        rule = "nothing, where velocities of the file are used (they are those of the body)"
        raise config.error("measurement.body_offset", sorted(found), rule)
    if options.start == "height" and any(any(pivot.names) for pivot in found.values()):
        raise config.error("measurement.body_offset", sorted(found), "numbers, with start: height")
    return found


def pivot_arguments(pivots: Mapping[str, NamedNumbers], body: str) -> dict:
    """Arguments of a PoseTrack of a body's pivot, if it has one."""
    if body not in pivots:
        return {}
    pivot = pivots[body]
    return {"offset": pivot.numbers, "offset_names": pivot.names if any(pivot.names) else ()}


def centred(
    trial: PoseTrial, pivots: Mapping[str, NamedNumbers], values: Mapping[str, float]
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
