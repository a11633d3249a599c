"""What tasks have in common: poses and the controller's dynamics in a YAML."""

from __future__ import annotations

import numpy as np

from ...fields import Reader
from ...robots.arm import Arm
from ...robots.controller import Settings
from ...rotation import quat_from_matrix, quat_matrix
from ...scene.controllers import FOLLOWING, read_following
from .. import robot_schema as schema


def read_pose(reader: Reader, value: object, key: str) -> np.ndarray:
    """A pose (4, 4) of {position, orientation}."""
    pose = reader.section(schema.POSE, value, key)
    turn, matrix = np.array(pose["orientation"], float), np.eye(4)
    matrix[:3, :3] = quat_matrix(turn / np.linalg.norm(turn))
    matrix[:3, 3] = pose["position"]
    return matrix


def pose_mapping(matrix: np.ndarray) -> dict[str, list[float]]:
    """{position, orientation} of a pose (4, 4)."""
    return {
        "position": matrix[:3, 3].tolist(),
        "orientation": quat_from_matrix(matrix[:3, :3]).tolist(),
    }


def read_tracking(reader: Reader, value: object, arm: Arm) -> Settings | None:
    """How the joints follow what is commanded; None: it is not anticipated."""
    if value is None:
        return None
    given = reader.section(FOLLOWING, value, "robot.tracking")
    return read_following(reader, given, arm.robot, "robot.tracking")
