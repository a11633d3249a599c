"""Node `observer`: buffers what sensors publish, reports what is wrong with it, saves it as trials.

in        `pose_topics` PoseStamped, `odometry_topics` Odometry, `cloud_topics` PointCloud2,
          `joint_topics` JointState, `wrench_topics` WrenchStamped; where their packages are
          installed `named_poses_topics` NamedPoseArray, `rigid_bodies_topics` RigidBodies,
          `markers_topics` Markers, and of /tf the frames of `tf_bodies`; best effort and volatile
          unless set otherwise.  /tf_static
out       ~/saved         std_msgs/String, latched: path of the last saved file
          /diagnostics    diagnostic_msgs/DiagnosticArray: one status per topic and body
          /tf_static      what ~/calibrate found, and the files of `calibrations`
services  ~/start         std_srvs/Trigger: empty the buffer and record
          ~/stop          stop recording, keep the buffer
          ~/save          write what was received to `path`, all of it or none: .mcap every message;
                          .npz the poses of `body` as tosses (and .csv, _markers.csv); .csv tables
          ~/calibrate     diffsim_interfaces/Calibrate: a static transform from pairs
"""

from __future__ import annotations

import datetime
import re
from functools import partial
from pathlib import Path
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseStamped, WrenchStamped
from nav_msgs.msg import Odometry
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState, PointCloud2
from std_msgs.msg import String
from std_srvs.srv import Trigger

from diffsim_ros.errors import InputError
from diffsim_ros.nodes import convert, convert_frames, convert_poses
from diffsim_ros.nodes.calibration import Calibrator
from diffsim_ros.nodes.common import LATCHED, SENSOR, BaseNode, Declared, quality, run_node
from diffsim_ros.nodes.sources import MOST_CHILDREN, Source, figures_of
from diffsim_ros.sensing.bags import RawMessage
from diffsim_ros.sensing.check import contradiction
from diffsim_ros.sensing.frames import Edge
from diffsim_ros.sensing.messages import TEXT, WORLD, OfferedQos
from diffsim_ros.sensing.observation import Observation, PoseSample
from diffsim_ros.sensing.record import (
    MEGA,
    Budget,
    MarkerRecorder,
    MessageRecorder,
    PoseRecorder,
    StreamRecorder,
    write_recording,
)
from diffsim_ros.sensing.saving import save_trials

KINDS = {
    "pose_topics": (PoseStamped, ""),
    "odometry_topics": (Odometry, ""),
    "named_poses_topics": (convert_poses.NamedPoseArray, "motion_capture_tracking_interfaces"),
    "rigid_bodies_topics": (convert.RigidBodies, "mocap4r2_msgs"),
    "markers_topics": (convert.Markers, "mocap4r2_msgs"),
    "cloud_topics": (PointCloud2, ""),
    "joint_topics": (JointState, ""),
    "wrench_topics": (WrenchStamped, ""),
}
"""Parameter -> messages of its topics (None: not installed), and their package if optional."""
MOVING = "/tf"
LEVELS = ("ok", "warn", "error")
SUFFIXES = (".mcap", ".npz", ".csv")


class Observer(BaseNode):
    """Buffers per topic and body; every check is a recorder's, this node reports it."""

    PARAMETERS = (
        Declared("pose_topics", ["cube/pose"], "PoseStamped topics to buffer"),
        Declared("odometry_topics", [""], "nav_msgs/Odometry topics to buffer"),
        Declared("named_poses_topics", [""], "NamedPoseArray topics to buffer"),
        Declared("tf_bodies", [""], "child frames of /tf to buffer as bodies, or PARENT->CHILD"),
        Declared("rigid_bodies_topics", [""], "mocap4r2_msgs/RigidBodies topics to buffer"),
        Declared("markers_topics", [""], "mocap4r2_msgs/Markers topics to buffer"),
        Declared("cloud_topics", [""], "PointCloud2 topics to buffer"),
        Declared("joint_topics", [""], "JointState topics to buffer"),
        Declared("wrench_topics", [""], "WrenchStamped topics to buffer"),
        Declared("body", "", "body to save, or its topic or PARENT->CHILD; empty: the only one"),
        Declared("world_frame", "", "frame to be placed in; empty: that of the first sample"),
        Declared("up_axis", "z", "axis of the tracker that points up (poses)", choices=("z", "y")),
        Declared("trial_gap", 0.5, "hole between two stamps that ends a trial [s]", 1e-3, 3600.0),
        Declared(
            "reliability",
            "best_effort",
            "quality of service of the subscriptions",
            choices=("best_effort", "reliable"),
        ),
        Declared("autostart", True, "record at once; otherwise wait for ~/start"),
        Declared("path", "", "file that ~/save writes; empty: a new dated one in out/"),
        Declared("trial_ids", (), "numbers of the saved trials, in order; empty: 1, 2, 3 ..."),
        Declared("max_samples", 1_000_000, "most samples kept per body", 1, 100_000_000),
        Declared("max_megabytes", 1000, "most memory for messages of all topics", 1, 1_000_000),
        Declared("no_data_after", 1.5, "silence after which a topic is reported [s]", 0.1, 3600.0),
        Declared("period", 1.0, "seconds between two diagnostics", 0.05, 60.0),
        Declared("calibrations", [""], "files of ~/calibrate whose transforms are known, and sent"),
    )

    def __init__(self, **options: Any) -> None:
        super().__init__("observer", **options)
        self._recording = bool(self["autostart"])
        self._budget = Budget(self["max_megabytes"] * MEGA)
        self._sources: list[Source] = []
        self._warned: dict[tuple[str, str], tuple[int, str]] = {}
        self._reported: dict[str, str] = {}
        self._calibrator = Calibrator(self, self._trials_of)
        self._profile = quality(SENSOR.depth, reliable=self["reliability"] == "reliable")
        for parameter, (kind, package) in KINDS.items():
            for name in filter(None, self[parameter] or ()):
                self._add(parameter, name, kind, package).subscribe(self._on_message)
        self._moving = self._add_transforms()
        self._saved = self.create_publisher(String, "~/saved", LATCHED)
        self._diagnostics = self.create_publisher(DiagnosticArray, "/diagnostics", 10)
        for name in ("start", "stop", "save"):
            self.create_service(Trigger, f"~/{name}", partial(self._serve, name))
        self.create_timer(self["period"], self._diagnose)

    def _add(
        self, parameter: str, name: str, kind: type | None, package: str, edge: Edge | None = None
    ) -> Source:
        """A source of one topic; InputError where its messages are unknown, or it is there."""
        kind = convert.installed(kind, "node observer", parameter, str(edge or name), package)
        source = Source(self, name, kind, self._profile, edge)
        if source.title in {other.title for other in self._sources}:
            got, rule = str(edge or name), "each once, whatever it carries"
            raise InputError("node observer", f"parameter {parameter}", got, rule)
        self._sources.append(source)
        return source

    def _add_transforms(self) -> list[Source]:
        """One source per body of /tf, all on one subscription."""
        place = "node observer: parameter tf_bodies"
        edges = [Edge.parse(name, place) for name in filter(None, self["tf_bodies"] or ())]
        moving = [
            self._add("tf_bodies", MOVING, convert_frames.TFMessage, "tf2_msgs", edge)
            for edge in edges
        ]
        for source in moving:
            source.link = moving[0].link
        if moving:
            moving[0].subscribe(self._on_transforms)
        return moving

    # --- what comes in

    def _on_message(self, source: Source, data: bytes) -> None:
        """Keep a message and its samples of bodies."""
        source.count_message()
        message = self._read(source, data) if self._recording else None
        if message is None:
            return
        stamp = convert.nanoseconds(message.header.stamp) or self.get_clock().now().nanoseconds
        samples = convert_poses.samples_of(message, source.body)
        if samples:
            self._take(source, samples, bytes(data))
            return
        # joints are in no frame, whatever their publisher writes there
        frame = message.header.frame_id if source.framed else ""
        trouble = convert.defect_of(message, source.topic)
        if trouble:
            source.trouble = trouble
            self._whole(source).keep(stamp, frame, "unreadable")
        elif source.framed and not self._placed(source, frame):
            self._whole(source).keep(stamp, frame, "unknown frame")
        elif self._whole(source).add(stamp, frame, bytes(data)) == "unknown frame":
            rule = f"{self._whole(source).seen_frame!r}, as that of the first sample"
            source.trouble = str(InputError(source.topic, "frame", frame, rule))

    def _on_transforms(self, source: Source, data: bytes) -> None:
        """Keep the transforms of the wanted frames, each as a message of its own."""
        message = self._read(source, data)
        for one in message.transforms if message else ():
            names = one.header.frame_id, one.child_frame_id
            if len(source.link.children) < MOST_CHILDREN:
                source.link.children.add(names[1])
            for wanted in self._moving:
                if wanted.edge.fits(*names):
                    wanted.count_message()
                    if self._recording:
                        alone = serialize_message(convert_frames.TFMessage(transforms=[one]))
                        self._take(wanted, [convert_poses.transform_sample(one)], alone)

    def _read(self, source: Source, data: bytes) -> Any:
        """The message of these bytes, None where they are none."""
        try:
            return convert.deserialize_message(data, source.kind)
        except Exception as error:  # whatever the middleware raises for bytes of no message
            source.trouble = f"{source.topic}: unreadable message: {error}"
            return None

    def _take(self, source: Source, samples: list[PoseSample], data: bytes) -> None:
        """Keep poses, and their message where one of them is kept."""
        reasons = [self._keep(source, sample) for sample in samples]
        stamp, frame = samples[0].stamp, samples[0].frame
        if all(reasons):
            self._whole(source).refuse(stamp, frame, reasons[0])
        else:
            self._whole(source).add(stamp, frame, data)

    def _whole(self, source: Source) -> MessageRecorder:
        if source.whole is None:
            markers = source.kind in (convert.Markers, convert.RigidBodies)
            source.whole = (MarkerRecorder if markers else MessageRecorder)(
                source.title,
                trial_gap=self["trial_gap"],
                limit=self["max_samples"],
                msgtype=source.type_name,
                budget=self._budget,
            )
        return source.whole

    def _placed(self, source: Source, frame: str) -> bool:
        """True where no world is named, or there is a static transform from `frame` to it."""
        world = self["world_frame"]
        if not world or frame == world:
            return True
        try:
            self._calibrator.frames.lookup(world, frame, f"node observer: {source.topic}")
        except InputError as error:
            source.trouble = str(error)
            return False
        return True

    def _keep(self, source: Source, sample: PoseSample) -> str:
        """Give a pose to its body's recorder, moved to the world; why it is dropped."""
        if sample.body not in source.recorders:
            source.recorders[sample.body] = PoseRecorder(
                f"{source.topic} ({sample.body})",
                self["world_frame"],
                self["trial_gap"],
                self["max_samples"],
                up_axis=self["up_axis"],
            )
        recorder, world, frame = source.recorders[sample.body], self["world_frame"], sample.frame
        first = source.origins.get(sample.body, frame)
        if world and frame != first:
            source.trouble = (
                f"{recorder.source}: comes in frame {frame!r}, before in {first!r}: are there two "
                "trackers? Only the first is kept; of /tf name PARENT->CHILD"
            )
            return recorder.refuse(sample.stamp, frame, "another frame")
        if world and frame != world and self._placed(source, frame):
            place = f"node observer: {source.topic}"
            sample = self._calibrator.frames.lookup(world, frame, place).of_sample(sample)
        reason = recorder.add(sample)
        if not reason:
            source.origins[sample.body] = frame
        return reason

    # --- services

    def _serve(self, name: str, _request, response):
        try:
            response.message = getattr(self, f"_{name}")()
            response.success = True
        except (InputError, OSError) as error:
            response.success, response.message = False, str(error)
            self.get_logger().error(f"{name}: {error}")
        return response

    def _start(self) -> str:
        for source in self._sources:
            source.clear()
        self._budget.used = 0
        self._warned.clear()
        self._recording = True
        return "recording into an empty buffer"

    def _stop(self) -> str:
        self._recording = False
        received = [f"{one.source}: {one.summary()}" for _, _, one in self._buffers()]
        return "; ".join(received) or "nothing was recorded"

    def _save(self) -> str:
        """Write what was received; return one line with path, counts and warnings."""
        path = Path(self["path"] or f"out/{datetime.datetime.now():%Y-%m-%d_%H-%M-%S}_recording")
        if path.suffix not in SUFFIXES:
            if path.suffix:
                rule = "a file that ends in " + ", ".join(SUFFIXES)
                raise InputError("node observer", "parameter path", str(path), rule)
            path = path.with_suffix(".mcap" if self._more_than_poses() else ".npz")
        path = path.absolute()
        if path.suffix == ".mcap":
            written, recorders = self._save_bag(path)
        else:
            written, recorders = self._save_tables(path)
        self._saved.publish(String(data=str(written)))
        trials = max((recorder.trial_count for recorder in recorders), default=0)
        lines = [f"{trials} trials", *self._counts(path, recorders)]
        lines += [f"warning: {w}" for recorder in recorders if (w := contradiction(recorder))]
        return f"{written}: " + "; ".join(lines)

    def _counts(self, path: Path, recorders: list[StreamRecorder]) -> list[str]:
        """By topic: what is in the file, what was dropped and why, what the format cannot store."""
        lines = [f"{one.source}: {one.summary()}" for one in recorders]
        for source in self._sources:
            whole, own = source.whole, [r for r in source.recorders.values() if r in recorders]
            if path.suffix != ".mcap" and not own and whole not in recorders and source.count:
                lines.append(f"not in this file: {source.title} ({source.count} messages)")
            if path.suffix == ".mcap" and own and whole is not None and whole.overflow:
                lines.append(f"{source.title}: {whole.overflow} of {whole.received} messages did "
                            f"not fit into the memory, and are not in the file")  # fmt: skip
            if source.lost:
                lines.append(f"{source.title}: {source.lost} messages were lost in transport")
        return lines

    def _more_than_poses(self) -> bool:
        return any(s.whole and len(s.whole) and not s.recorders for s in self._sources)

    def _save_bag(self, path: Path) -> tuple[Path, list[StreamRecorder]]:
        """Every message of every topic, and the static transforms."""
        received = [s for s in self._sources if s.whole is not None and len(s.whole)]
        if not received:
            raise self._nothing()
        messages = [m for s in received for m in s.whole.messages(s.topic)]
        first = min(message.stamp for message in messages)
        messages += [RawMessage(first, *one) for one in self._calibrator.stored()]
        offered = {s.topic: s.link.offers for s in received}
        if self["world_frame"]:
            topic = self.get_fully_qualified_name() + WORLD
            text = serialize_message(String(data=self["world_frame"]))
            messages.append(RawMessage(first, topic, TEXT, text))
            offered[topic] = (OfferedQos(latched=True, depth=1),)
        written = write_recording(path, messages, offered)
        return written, [r for _, _, r in self._buffers() if r.received]

    def _save_tables(self, path: Path) -> tuple[Path, list[StreamRecorder]]:
        """Trials of the chosen body, and of markers."""
        markers: list[Observation] = []
        recorders: list[StreamRecorder] = []
        for source in self._sources:
            if isinstance(source.whole, MarkerRecorder) and source.kind is convert.Markers:
                markers += source.whole.trials() if len(source.whole) else []
                recorders.append(source.whole)
        bodies = any(len(r) for s in self._sources for r in s.recorders.values())
        if not bodies and not markers and self._more_than_poses():
            rule = f"a file that ends in .mcap: {path.suffix} holds poses or markers alone"
            raise InputError("node observer", "parameter path", str(path), rule)
        if path.suffix == ".csv" and markers and not bodies:
            return save_trials(path, [], markers)[0], recorders
        chosen = self._chosen(self["body"])
        trials = chosen.trials(self["trial_ids"] or ())
        written = save_trials(path.with_suffix(".npz"), trials, markers)
        return written[0], [chosen]

    def _trials_of(self, body: str) -> list:
        """Trials of a buffered body, for ~/calibrate."""
        return self._chosen(body).trials()

    def _chosen(self, wanted: str) -> PoseRecorder:
        found = [(s, body, r) for s in self._sources for body, r in s.recorders.items() if len(r)]
        matches = [
            one for one in found if wanted in ("", one[1], one[0].topic, str(one[0].edge or ""))
        ]
        if len(matches) == 1:
            return matches[0][2]
        if not found:
            raise self._nothing()
        if not matches:
            received = "received: " + ", ".join(sorted({body for _, body, _ in found}))
            raise InputError(
                "node observer", "parameter body", wanted, "one with samples", received
            )
        received = "received: " + ", ".join(f"{body} on {s.title}" for s, body, _ in matches)
        rule = "exactly one body, its topic, or PARENT->CHILD of /tf"
        raise InputError("node observer", "parameter body", wanted, rule, received)

    def _nothing(self) -> InputError:
        """Why there is nothing to save, topic by topic."""
        why = "; ".join(f"{s.title}: {self._trouble(s)[1]}" for s in self._sources)
        what = "messages" if self._recording else "messages since ~/start"
        return InputError("node observer", "buffer", "no samples", what, f"received: none; {why}")

    # --- diagnostics

    def _buffers(self) -> list[tuple[Source, str, StreamRecorder]]:
        """Reported buffers: bodies of poses, and whole messages of other topics."""
        found = []
        for source in self._sources:
            found += [(source, body, r) for body, r in source.recorders.items()]
            if source.whole is not None and not source.recorders:
                found.append((source, "", source.whole))
        return found

    def _diagnose(self) -> None:
        message = DiagnosticArray()
        message.header.stamp = self.get_clock().now().to_msg()
        buffers = self._buffers()
        for source in self._sources:
            nothing = source.edge.child if source.edge else "", None
            own = [(body, r) for s, body, r in buffers if s is source] or [nothing]
            message.status += [self._status(source, body, recorder) for body, recorder in own]
        self._diagnostics.publish(message)

    def _status(self, source: Source, body: str, recorder: StreamRecorder | None):
        values = {**source.figures(), "recording": self._recording}
        found = [self._trouble(source)]
        self._report(source, *found[0])
        if recorder is not None:
            values |= figures_of(recorder)
            found.append(self._judge(source, body, recorder))
        wrong = [one for one in found if one[0] != "ok"] or found[-1:]
        level = max((level for level, _ in wrong), key=LEVELS.index)
        words = "; ".join(dict.fromkeys(words for _, words in wrong))
        name = f"{self.get_fully_qualified_name().lstrip('/')}: {source.topic}"
        return convert.diagnostic(level, name, words, values, body)

    def _trouble(self, source: Source) -> tuple[str, str]:
        """Level and one line about the connection, and why the last odd sample is unusable."""
        level, words = source.connection(self["no_data_after"])
        if level == "warn" and source.edge and not source.count:
            words += self._fixed(source.edge.child)
        if source.trouble:
            words = source.trouble if level == "ok" else f"{words}; {source.trouble}"
            level = "warn" if level == "ok" else level
        return level, words

    def _fixed(self, child: str) -> str:
        """A sentence on a wanted frame that does not move itself."""
        known = self._calibrator.frames.by_child.get(child)
        if known is None:
            return ""
        return f"; {child!r} hangs on {known.parent!r} by a static transform: name what moves"

    def _report(self, source: Source, level: str, words: str) -> None:
        """Log what is wrong with a topic, once until it changes."""
        key = re.sub(r"for [0-9.]+ s", "", words) if level != "ok" else level
        if self._reported.get(source.title, "ok") != key:
            self._reported[source.title] = key
            if level != "ok":
                self.get_logger().warning(f"{source.title}: {words}")

    def _judge(self, source: Source, body: str, recorder: StreamRecorder) -> tuple[str, str]:
        """Level and one line about the samples; flight is checked once per finished trial."""
        key = source.title, body
        done, warning = self._warned.get(key, (-1, ""))
        if recorder.trial_count - 1 > max(done, 0):
            done, warning = recorder.trial_count - 1, contradiction(recorder)
            self._warned[key] = done, warning
            if warning:
                self.get_logger().warning(warning)
        if recorder.overflow:
            return "error", recorder.summary()
        if warning:
            return "warn", warning
        return ("warn" if recorder.dropped or recorder.resets else "ok"), recorder.summary()


def main(arguments: list[str] | None = None) -> int:
    """Console script `observer`."""
    return run_node(Observer, arguments)


if __name__ == "__main__":
    raise SystemExit(main())
