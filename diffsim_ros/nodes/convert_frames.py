"""Messages about frames to our types and back, beside convert.py."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from geometry_msgs.msg import Point, Pose, TransformStamped

from diffsim_ros.nodes.convert import pose, time_message
from diffsim_ros.real2sim.calibration import Calibration
from diffsim_ros.sensing.frames import Transform

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


def transform_message(transform: Transform, stamp: int) -> TransformStamped:
    """A transform; stamp [ns]."""
    message = TransformStamped(child_frame_id=transform.child)
    message.header.frame_id = transform.parent
    message.header.stamp = time_message(stamp)
    place, turn = message.transform.translation, message.transform.rotation
    place.x, place.y, place.z = map(float, transform.position)
    turn.x, turn.y, turn.z, turn.w = map(float, transform.orientation)
    return message


def static_message(transforms: Iterable[Transform], stamp: int) -> TFMessage:
    """Static transforms as /tf_static carries them."""
    return TFMessage(transforms=[transform_message(one, stamp) for one in transforms])


def calibration_response(response: Any, found: Calibration, path: str, stamp: int) -> Any:
    """Fill the response of ~/calibrate."""
    response.transform = transform_message(found.transform, stamp)
    if found.transform.covariance is not None:
        response.covariance = [float(v) for v in found.transform.covariance.ravel()]
    response.residual = found.residual
    response.residuals = [float(v) for v in found.residuals]
    if found.offset is not None:
        turn = (0.0, 0.0, 0.0, 1.0) if found.offset_turn is None else found.offset_turn
        response.on_flange = pose(found.offset, turn)
    response.path = path
    return response
