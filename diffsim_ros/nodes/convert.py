"""Messages to our types and back: the only module that knows both.

Stamps are integers of nanoseconds; quaternions are (x, y, z, w) on both sides.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from diffsim_interfaces.action import Estimate
from diffsim_interfaces.msg import ErrorCode, MaterialEstimate, Metric, Parameter
from geometry_msgs.msg import PoseStamped
from nav_msgs.msg import Path
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import PointCloud2
from visualization_msgs.msg import Marker as MarkerMessage
from visualization_msgs.msg import MarkerArray

from diffsim_ros.errors import InputError
from diffsim_ros.sensing.building import Builder
from diffsim_ros.sensing.cdr import NANO
from diffsim_ros.sensing.clouds import packed
from diffsim_ros.sensing.clouds.cloud import Cloud
from diffsim_ros.sensing.observation import MarkerFrame, PoseSample
from diffsim_ros.sensing.read import sensors_of_messages
from diffsim_ros.viz.markers import Action, Marker, MarkerKind

try:
    from mocap4r2_msgs.msg import Markers, RigidBodies, RigidBody
except ImportError:  # an optional package
    Markers = RigidBodies = RigidBody = None


def installed(
    kind: type | None, place: str, parameter: str, topic: str, package: str = "mocap4r2_msgs"
) -> type:
    """A message type of an optional package; InputError where that is not installed."""
    if kind is None:
        remedy = f"{package} is not installed"
        raise InputError(place, f"parameter {parameter}", topic, "empty", remedy)
    return kind


CODES = {
    name: getattr(ErrorCode, name)
    for name in (
        "SUCCESS INVALID_CONFIGURATION INVALID_DATA NOT_CONVERGED BUSY CANCELED INTERNAL REFUSED "
        "ABORTED".split()
    )
}
"""Name of an error code -> its number."""


# --- time, poses ------------------------------------------------------------------------------


def nanoseconds(stamp: Time) -> int:
    """Stamp [ns] of a message's time."""
    return stamp.sec * NANO + stamp.nanosec


@cache
def message_type(name: str, place: str) -> type:
    """The class of a message type ("sensor_msgs/msg/PointCloud2"); InputError if there is none."""
    package, _, kind = name.partition("/msg/")
    try:
        return getattr(import_module(f"{package}.msg"), kind)
    except (ImportError, AttributeError):
        raise InputError(place, "message type", name, "one that is installed") from None


def _made(name: str, /, **fields: Any) -> Any:
    return message_type(name, "message")(**fields)


build = Builder(_made)
time_message, point, pose = build.time, build.point, build.pose
pose_message, marker_array, markers_message = build.pose_stamped, build.marker_array, build.mocap


def unit(quaternion: Sequence[float]) -> tuple[float, ...]:
    """The quaternion scaled to length 1 (NaN if it has none), as viewers demand."""
    norm = math.hypot(*quaternion) or math.nan
    return tuple(float(part) / norm for part in quaternion)


def pose_sample(message: PoseStamped, body: str) -> PoseSample:
    """A tracker's sample of `body`, unchecked."""
    return sample(message.header, body, message.pose.position, message.pose.orientation)


def sample(header: Any, body: str, p: Any, q: Any) -> PoseSample:
    """A place and a quaternion of `body` with the stamp and frame of a header, unchecked."""
    return PoseSample(
        nanoseconds(header.stamp), header.frame_id, body, (p.x, p.y, p.z), (q.x, q.y, q.z, q.w)
    )


def bodies_message(samples: Sequence[PoseSample], frame_number: int) -> RigidBodies:
    """One frame of a motion capture system; all samples have the stamp and frame of the first."""
    message = RigidBodies(frame_number=int(frame_number))
    message.header = build.header(samples[0].stamp, samples[0].frame)
    message.rigidbodies = [
        RigidBody(rigid_body_name=s.body, pose=pose(s.position, s.orientation)) for s in samples
    ]
    return message


def type_name(kind: type) -> str:
    """Name of a class of messages, e.g. "sensor_msgs/msg/PointCloud2"."""
    return f"{kind.__module__.partition('.')[0]}/msg/{kind.__name__}"


def defect_of(message: Any, topic: str) -> str:
    """Why its sensor cannot use the content of a message, "" if it can."""
    sensor = sensors_of_messages().get(type_name(type(message)))
    if sensor is not None and sensor.sound is not None:
        try:
            sensor.sound(message, f"{topic}: {_when(message)}")
        except InputError as error:
            return str(error)
    return ""


def marker_frame(message: Markers) -> MarkerFrame:
    """One frame of optical markers; an index is no identity, so only names are kept."""
    points = [[m.translation.x, m.translation.y, m.translation.z] for m in message.markers]
    names = [m.marker_name if m.id_type != m.USE_INDEX else "" for m in message.markers]
    return MarkerFrame(
        nanoseconds(message.header.stamp),
        message.header.frame_id,
        int(message.frame_number),
        tuple(names),
        np.array(points, dtype=float).reshape(-1, 3),
    )


def cloud(message: PointCloud2, topic: str, scale: float = 1.0, thin: int = 1) -> Cloud:
    """The points of a depth camera; scale: metres per unit. Raises InputError as packed.decode."""
    return packed.decode_message(message, f"{topic}: {_when(message)}", scale=scale, thin=thin)


def _when(message: Any) -> str:
    return f"stamp {message.header.stamp.sec}.{message.header.stamp.nanosec:09d}"


def cloud_message(points: Cloud) -> PointCloud2:
    """A cloud as an unorganised PointCloud2 of FLOAT32 x, y, z (and rgb), its stamp from 1970."""
    whole = int(points.stamp // 1)  # a product with 1e9 would round to 256 ns
    stamp = whole * NANO + round((points.stamp - whole) * NANO)
    return build.cloud(build.header(stamp, points.frame), points)


# --- pictures ---------------------------------------------------------------------------------


def path_message(stamps: Iterable[int], poses: np.ndarray, frame: str) -> Path:
    """A path of poses (n, 7): position [m], quaternion (x, y, z, w), at stamps [ns]."""
    path = Path()
    path.header.frame_id = frame
    for stamp, row in zip(stamps, poses, strict=True):
        path.poses.append(pose_message(PoseSample(int(stamp), frame, "", row[:3], row[3:])))
    return path


def marker(message: MarkerMessage) -> Marker:
    """The description of a received marker; raises ValueError as Marker does."""
    p, q, c = message.pose.position, message.pose.orientation, message.color
    return Marker(
        message.ns,
        message.id,
        MarkerKind(message.type),
        Action(message.action),
        position=(p.x, p.y, p.z),
        orientation=(q.x, q.y, q.z, q.w),
        scale=(message.scale.x, message.scale.y, message.scale.z),
        colour=(c.r, c.g, c.b, c.a),
        points=[(v.x, v.y, v.z) for v in message.points],
        colours=[(v.r, v.g, v.b, v.a) for v in message.colors],
        text=message.text,
        frame_id=message.header.frame_id,
        lifetime=message.lifetime.sec + message.lifetime.nanosec / NANO,
    )


def markers(message: MarkerArray) -> list[Marker]:
    """The descriptions of all markers of a message."""
    return [marker(one) for one in message.markers]


def stored_markers(raw: bytes, frame: str) -> MarkerArray:
    """A marker array of a bag (CDR), moved into `frame`."""
    message = deserialize_message(raw, MarkerArray)
    for one in message.markers:
        one.header.frame_id = frame
    return message


def stored_cloud(raw: bytes, frame: str) -> PointCloud2:
    """A cloud of a bag (CDR), moved into `frame`."""
    message = deserialize_message(raw, PointCloud2)
    message.header.frame_id = frame
    return message


def split_markers(message: MarkerArray) -> tuple[MarkerArray, MarkerArray, bool]:
    """What stays while a motion plays, what moves, and whether all earlier markers are deleted."""
    still, moving, clear = [], [], False
    for one in message.markers:
        clear = clear or one.action == Action.DELETE_ALL
        stays = one.ns == "table" or one.ns.startswith("path/")
        (still if stays else moving).append(one)
    return MarkerArray(markers=still), MarkerArray(markers=moving), clear


# --- estimation -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Answer:
    """How an estimation ended: a name of CODES, one line, and the result.

    parameters   objects with name, unit, value, std_dev, lower, upper, identifiable, at_bound, note
    correlation  (n, n) or empty;  metrics  nested figures;  report  absolute path or ""
    verdict      grade, reason and advice in a line, or ""
    """

    code: str
    message: str = ""
    parameters: Sequence[Any] = ()
    correlation: Any = ()
    metrics: Mapping[str, Any] = field(default_factory=dict)
    report: str = ""
    verdict: str = ""


def parameter_message(result: Any) -> Parameter:
    """One parameter; what is unknown (None) becomes NaN."""
    return Parameter(
        name=str(result.name),
        unit=str(result.unit or "1"),
        **{key: _number(getattr(result, key)) for key in ("value", "std_dev", "lower", "upper")},
        identifiable=bool(result.identifiable),
        at_bound=bool(result.at_bound),
        note=str(result.note or ""),
    )


def _value_message(name: str, value: float) -> Parameter:
    """A parameter of which only the present value is known."""
    unknown = {key: math.nan for key in ("std_dev", "lower", "upper")}
    return Parameter(name=name, value=_number(value), identifiable=True, **unknown)


def _number(value: Any) -> float:
    return math.nan if value is None else float(value)


def flat_metrics(metrics: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, float]]:
    """Names with dots and numbers of nested metrics; lists of numbers are numbered from 0.

    Texts and lists of mappings (figures of single tosses) are left to metrics.json.
    """
    for key, value in metrics.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping):
            yield from flat_metrics(value, f"{name}.")
        elif isinstance(value, (list, tuple)) and not any(isinstance(v, Mapping) for v in value):
            yield from flat_metrics({str(i): v for i, v in enumerate(value)}, f"{name}.")
        elif value is None or isinstance(value, (bool, int, float, np.number)):
            yield name, _number(value)


def answer_message(answer: Answer, message: Any) -> Any:
    """Fill a service response, an action result or a MaterialEstimate with an answer."""
    message.parameters = [parameter_message(p) for p in answer.parameters]
    message.correlation = [float(v) for v in np.asarray(answer.correlation, dtype=float).ravel()]
    message.metrics = [Metric(name=n, value=v) for n, v in flat_metrics(answer.metrics)]
    message.error_code = int(CODES[answer.code])
    message.error_msg = answer.message
    message.report_path = answer.report
    message.verdict = answer.verdict
    return message


def answer(message: Any) -> Answer:
    """The answer in a response, result or MaterialEstimate; metrics stay flat names with dots."""
    code = {number: name for name, number in CODES.items()}[message.error_code]
    size = len(message.parameters)
    flat = np.array(message.correlation, dtype=float)
    correlation = flat.reshape(size, size) if len(flat) == size * size else flat
    metrics = {metric.name: metric.value for metric in message.metrics}
    return Answer(
        code, message.error_msg, list(message.parameters), correlation, metrics,
        message.report_path, message.verdict,
    )  # fmt: skip


def estimate_message(configuration: str, found: Answer) -> MaterialEstimate:
    """The latched last result."""
    return answer_message(found, MaterialEstimate(configuration=configuration))


def feedback_message(progress: Any) -> Estimate.Feedback:
    """Progress (phase, iteration, objective, fraction_done, seconds_left, parameters)."""
    return Estimate.Feedback(
        phase=str(progress.phase),
        iteration=max(int(progress.iteration or 0), 0),
        objective=_number(progress.objective),
        fraction_done=_number(progress.fraction_done),
        seconds_left=_number(progress.seconds_left),
        parameters=[_value_message(n, v) for n, v in progress.parameters.items()],
    )


# --- diagnostics ------------------------------------------------------------------------------

LEVELS = {
    "ok": DiagnosticStatus.OK,
    "warn": DiagnosticStatus.WARN,
    "error": DiagnosticStatus.ERROR,
    "stale": DiagnosticStatus.STALE,
}


def diagnostic(
    level: str, name: str, message: str, values: Mapping[str, Any], hardware: str = ""
) -> DiagnosticStatus:
    """One diagnostic: level of LEVELS, who, one line, and figures."""
    pairs = [KeyValue(key=str(key), value=_text(value)) for key, value in values.items()]
    return DiagnosticStatus(
        level=LEVELS[level], name=name, message=message, hardware_id=hardware, values=pairs
    )


def diagnostics(
    node: Any, level: str, message: str, values: Mapping[str, Any], hardware: str, stamp: int
) -> DiagnosticArray:
    """A node's own diagnostic at a time [ns]."""
    name = node.get_fully_qualified_name().lstrip("/")
    array = DiagnosticArray(status=[diagnostic(level, name, message, values, hardware)])
    array.header.stamp = time_message(stamp)
    return array


def _text(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def values_of(status: DiagnosticStatus) -> dict[str, str]:
    """Figures of a diagnostic by name."""
    return {pair.key: pair.value for pair in status.values}
