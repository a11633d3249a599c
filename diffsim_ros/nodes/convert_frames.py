"""Messages about frames to our types and back, as convert.py."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from geometry_msgs.msg import Point, Pose

from diffsim_ros.nodes.convert import build
from diffsim_ros.real2sim.calibration import Calibration
from diffsim_ros.sensing.frames import Transform
from diffsim_ros.sensing.observation import PoseSample

try:
    from tf2_msgs.msg import TFMessage
except ImportError:  # an optional package
    TFMessage = None


def points(messages: Sequence[Point]) -> np.ndarray:
    """Points (n, 3) [m]."""
    return np.array([(p.x, p.y, p.z) for p in messages], float).reshape(-1, 3)


def poses(messages: Sequence[Pose]) -> np.ndarray:
    """Poses (n, 7): position [m], quaternion (x, y, z, w)."""
    rows = [
        (m.position.x, m.position.y, m.position.z, m.orientation.x, m.orientation.y,
         m.orientation.z, m.orientation.w)
        for m in messages
    ]  # fmt: skip
    return np.array(rows, float).reshape(-1, 7)


def _sample(transform: Transform, stamp: int) -> PoseSample:
    """The child's pose in its parent."""
    place, turn = transform.position, transform.orientation
    return PoseSample(stamp, transform.parent, transform.child, place, turn)


def static_message(transforms: Iterable[Transform], stamp: int) -> TFMessage:
    """Static transforms as /tf_static carries them; stamp [ns]."""
    return build.transforms(_sample(one, stamp) for one in transforms)


def calibration_response(response: Any, found: Calibration, path: str, stamp: int) -> Any:
    """Fill the response of ~/calibrate."""
    response.transform = build.transform(_sample(found.transform, stamp))
    if found.transform.covariance is not None:
        response.covariance = [float(v) for v in found.transform.covariance.ravel()]
    response.residual = found.residual
    response.residuals = [float(v) for v in found.residuals]
    if found.offset is not None:
        turn = (0.0, 0.0, 0.0, 1.0) if found.offset_turn is None else found.offset_turn
        response.on_flange = build.pose(found.offset, turn)
    response.path = path
    return response
