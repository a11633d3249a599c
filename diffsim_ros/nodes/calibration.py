"""Static transforms of a node: received on /tf_static, read from files, found by ~/calibrate."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from diffsim_interfaces.srv import Calibrate
from rclpy.serialization import serialize_message

from diffsim_ros.errors import InputError
from diffsim_ros.nodes import convert, convert_frames
from diffsim_ros.nodes.common import STATIC_TF, BaseNode
from diffsim_ros.real2sim.calibration import (
    MAX_RESIDUAL,
    Calibration,
    from_bodies,
    from_flange,
    from_points,
)
from diffsim_ros.sensing.frames import (
    STATIC,
    Frames,
    Transform,
    from_messages,
    read_transform,
    write_transform,
)
from diffsim_ros.sensing.messages import TF
from diffsim_ros.sensing.observation import PoseTrial

STILL = 5e-3
"""Rms motion [m] of a body during a hold that is still one place."""


class Calibrator:
    """Frames that a node knows; serves ~/calibrate with trials of `trials_of(body)`."""

    def __init__(self, node: BaseNode, trials_of: Callable[[str], Sequence[PoseTrial]]) -> None:
        self.frames = Frames()
        self._node, self._trials_of = node, trials_of
        self._publisher = None
        self._sent: list[Transform] = []
        if convert_frames.TFMessage is not None:  # an optional package
            self._publisher = node.create_publisher(convert_frames.TFMessage, STATIC, STATIC_TF)
            node.create_subscription(convert_frames.TFMessage, STATIC, self._on_static, STATIC_TF)
        node.create_service(Calibrate, "~/calibrate", self._on_calibrate)
        self._send([read_transform(path) for path in filter(None, node["calibrations"] or ())])

    def stored(self) -> list[tuple[str, str, bytes]]:
        """Topic, type and bytes of the transforms that are known, for a bag."""
        if not self.frames.by_child or convert_frames.TFMessage is None:
            return []
        stamp = self._node.get_clock().now().nanoseconds
        message = convert_frames.static_message(self.frames.by_child.values(), stamp)
        return [(STATIC, TF, serialize_message(message))]

    def _on_static(self, message) -> None:
        try:
            self.frames.add(from_messages(message.transforms, STATIC))
        except InputError as error:
            self._node.get_logger().error(str(error))

    def _send(self, transforms: Sequence[Transform]) -> None:
        """Add transforms, and publish all that this node has found or read."""
        self.frames.add(transforms)
        known = {one.child: one for one in (*self._sent, *transforms)}
        self._sent = list(known.values())
        if self._publisher is not None and self._sent:
            stamp = self._node.get_clock().now().nanoseconds
            self._publisher.publish(convert_frames.static_message(self._sent, stamp))

    def _on_calibrate(self, request, response):
        try:
            found = self._solve(request)
            name = f"out/{datetime.datetime.now():%Y-%m-%d_%H-%M-%S}_calibration.yaml"
            path = Path(request.path or name).absolute()
            write_transform(path, found.transform, found.document())
        except (InputError, OSError) as error:
            code = "INVALID_DATA" if isinstance(error, InputError) else "INTERNAL"
            response.error_code, response.error_msg = int(convert.CODES[code]), str(error)
            self._node.get_logger().error(f"calibrate: {error}")
            return response
        self._send([found.transform])
        text = f"{found.transform.parent} -> {found.transform.child}: rms {found.residual:.3g} m"
        self._node.get_logger().info(f"{text}, {path}")
        stamp = self._node.get_clock().now().nanoseconds
        return convert_frames.calibration_response(response, found, str(path), stamp)

    def _solve(self, request) -> Calibration:
        """The calibration of a request; InputError for missing or degenerate data."""
        frames = request.parent_frame, request.child_frame
        for key, name in zip(("parent_frame", "child_frame"), frames, strict=True):
            if not name:
                raise InputError("calibrate", key, name, "the name of a frame")
        if frames[0] == frames[1]:
            raise InputError("calibrate", "child_frame", frames[1], "another than parent_frame")
        options = {"max_residual": request.max_residual or MAX_RESIDUAL}
        points, flange = (
            convert_frames.points(request.parent_points),
            convert_frames.poses(request.flange_poses),
        )
        if bool(len(points)) == bool(len(flange)):
            got = f"{len(points)} and {len(flange)}"
            rule = "one of the two"
            raise InputError("calibrate", "parent_points and flange_poses", got, rule)
        measured, bodies = (
            convert_frames.points(request.child_points),
            convert_frames.poses(request.child_poses),
        )
        if request.body:
            if len(measured) or len(bodies):
                raise InputError("calibrate", "body", request.body, "empty with points or poses")
            bodies = _held(self._trials_of(request.body), request.child_frame)
            measured = bodies[:, :3]
        if len(points):
            return from_points(*frames, points, measured, **options)
        if len(bodies):
            return from_bodies(*frames, flange, bodies, **options)
        return from_flange(*frames, flange, measured, **options)


def _held(trials: Sequence[PoseTrial], frame: str) -> np.ndarray:
    """Mean pose (n, 7) of every trial; InputError where the body moved during one.

    frame   that the poses must be given in
    """
    poses = []
    for trial in trials:
        if trial.poses.frame != frame:
            rule = f"poses in child_frame, {frame!r}"
            remedy = "empty the observer's world_frame, and record again"
            raise InputError(trial.place, "frame", trial.poses.frame, rule, remedy)
        middle = trial.position.mean(axis=0)
        moved = float(np.sqrt(np.mean(np.sum((trial.position - middle) ** 2, axis=1))))
        if moved > STILL:
            rule = f"a body that is held still (rms below {STILL:g} m)"
            raise InputError(trial.place, "position", f"moved by {moved:.3g} m", rule)
        q = trial.orientation * np.sign(trial.orientation @ trial.orientation[0])[:, None]
        poses.append(np.concatenate([middle, q.mean(axis=0) / np.linalg.norm(q.mean(axis=0))]))
    return np.array(poses)
