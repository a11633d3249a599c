"""Node `observer`: buffers what sensors publish, says what is wrong with it, saves it as trials.

in        `pose_topics` PoseStamped, `cloud_topics` PointCloud2, `joint_topics` JointState;
          `rigid_bodies_topics` RigidBodies and `markers_topics` Markers of mocap4r2_msgs where
          that is installed; best effort and volatile unless told otherwise.  /tf_static
out       ~/saved         std_msgs/String, latched: path of the last saved file
          /diagnostics    diagnostic_msgs/DiagnosticArray: one status per topic and body
          /tf_static      what ~/calibrate found, and the files of `calibrations`
services  ~/start         std_srvs/Trigger: empty the buffer and record
          ~/stop          stop recording, keep the buffer
          ~/save          write what was heard to `path`, all of it or none: .mcap every message;
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
from geometry_msgs.msg import PoseStamped
from sensor_msgs.msg import JointState, PointCloud2
from std_msgs.msg import String
from std_srvs.srv import Trigger

from diffsim_ros.errors import InputError
from diffsim_ros.nodes import convert
from diffsim_ros.nodes.calibration import Calibrator
from diffsim_ros.nodes.common import LATCHED, SENSOR, BaseNode, Declared, quality, run_node
from diffsim_ros.nodes.sources import Source, figures_of
from diffsim_ros.real2sim.bags import RawMessage
from diffsim_ros.real2sim.buffers import (
    MEGA,
    Budget,
    MarkerRecorder,
    MessageRecorder,
    write_recording,
)
from diffsim_ros.real2sim.observation import Observation
from diffsim_ros.real2sim.recorder import PoseRecorder, PoseSample, StreamRecorder
from diffsim_ros.real2sim.saving import save_trials

KINDS = {
    "pose_topics": PoseStamped,
    "rigid_bodies_topics": convert.RigidBodies,
    "markers_topics": convert.Markers,
    "cloud_topics": PointCloud2,
    "joint_topics": JointState,
}
"""Parameter -> messages of its topics (None: not installed)."""
LEVELS = ("ok", "warn", "error")
SUFFIXES = (".mcap", ".npz", ".csv")


class Observer(BaseNode):
    """Buffers per topic and body; every check is a recorder's, this node reports it."""

    PARAMETERS = (
        Declared("pose_topics", ["cube/pose"], "PoseStamped topics to buffer"),
        Declared("rigid_bodies_topics", [""], "mocap4r2_msgs/RigidBodies topics to buffer"),
        Declared("markers_topics", [""], "mocap4r2_msgs/Markers topics to buffer"),
        Declared("cloud_topics", [""], "PointCloud2 topics to buffer"),
        Declared("joint_topics", [""], "JointState topics to buffer"),
        Declared("body", "", "body to save; empty: the only one heard"),
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
        self._told: dict[str, str] = {}
        self._calibrator = Calibrator(self, self._trials_of)
        for parameter, kind in KINDS.items():
            for name in filter(None, self[parameter] or ()):
                kind = convert.installed(kind, "node observer", parameter, name)
                profile = quality(SENSOR.depth, reliable=self["reliability"] == "reliable")
                self._sources.append(Source(self, name, kind, profile))
                self._sources[-1].subscribe(self._on_message)
        self._saved = self.create_publisher(String, "~/saved", LATCHED)
        self._diagnostics = self.create_publisher(DiagnosticArray, "/diagnostics", 10)
        for name in ("start", "stop", "save"):
            self.create_service(Trigger, f"~/{name}", partial(self._serve, name))
        self.create_timer(self["period"], self._diagnose)

    # --- what comes in

    def _on_message(self, source: Source, data: bytes) -> None:
        """Keep a message and what it says of bodies."""
        source.hear()
        if not self._recording:
            return
        try:
            message = convert.deserialize_message(data, source.kind)
        except Exception as error:  # whatever the middleware raises for bytes of no message
            source.trouble = f"{source.topic}: unreadable message: {error}"
            return
        stamp = convert.nanoseconds(message.header.stamp) or self.get_clock().now().nanoseconds
        frame = message.header.frame_id
        reasons = [self._keep(source, s) for s in convert.samples_of(message, source.body)]
        if reasons and all(reasons):  # a whole message is as good as its best sample
            return
        trouble = convert.defect_of(message, source.topic)
        if trouble:
            source.trouble = trouble
            self._whole(source).keep(stamp, frame, "unreadable")
        elif not reasons and not self._placed(source, frame):
            self._whole(source).keep(stamp, frame, "unknown frame")
        else:
            self._whole(source).add(stamp, frame, bytes(data))

    def _whole(self, source: Source) -> MessageRecorder:
        if source.whole is None:
            markers = source.kind in (convert.Markers, convert.RigidBodies)
            source.whole = (MarkerRecorder if markers else MessageRecorder)(
                source.topic,
                trial_gap=self["trial_gap"],
                limit=self["max_samples"],
                msgtype=source.type_name,
                budget=self._budget,
            )
        return source.whole

    def _placed(self, source: Source, frame: str) -> bool:
        """True where no world is named, or a static transform from `frame` to it is known."""
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
        world = self["world_frame"]
        if world and sample.frame != world and self._placed(source, sample.frame):
            place = f"node observer: {source.topic}"
            sample = self._calibrator.frames.lookup(world, sample.frame, place).of_sample(sample)
        return source.recorders[sample.body].add(sample)

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
            source.recorders.clear()
            source.whole, source.trouble = None, ""
        self._budget.used = 0
        self._warned.clear()
        self._recording = True
        return "recording into an empty buffer"

    def _stop(self) -> str:
        self._recording = False
        heard = [recorder.summary() for _, _, recorder in self._buffers()]
        return "; ".join(heard) or "nothing was recorded"

    def _save(self) -> str:
        """Write what was heard; return one line with path, counts and warnings."""
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
        told = [f"{trials} trials", *(recorder.summary() for recorder in recorders)]
        told += [f"warning: {w}" for recorder in recorders if (w := recorder.warning())]
        return f"{written}: " + "; ".join(told)

    def _more_than_poses(self) -> bool:
        return any(s.whole and len(s.whole) and s.kind is not PoseStamped and not s.recorders
                   for s in self._sources)  # fmt: skip

    def _save_bag(self, path: Path) -> tuple[Path, list[StreamRecorder]]:
        """Every message of every topic, and the static transforms."""
        heard = [s for s in self._sources if s.whole is not None and len(s.whole)]
        if not heard:
            raise self._nothing()
        messages = [m for s in heard for m in s.whole.messages(s.topic)]
        first = min(message.stamp for message in messages)
        messages += [RawMessage(first, *one) for one in self._calibrator.stored()]
        return write_recording(path, messages), [r for _, _, r in self._buffers() if len(r)]

    def _save_tables(self, path: Path) -> tuple[Path, list[StreamRecorder]]:
        """Trials of the chosen body, and of markers."""
        markers: list[Observation] = []
        recorders: list[StreamRecorder] = []
        for source in self._sources:
            if isinstance(source.whole, MarkerRecorder) and source.kind is convert.Markers:
                markers += source.whole.trials() if len(source.whole) else []
                recorders.append(source.whole)
        bodies = any(len(r) for s in self._sources for r in s.recorders.values())
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
        found = {
            (s.topic, body): r for s in self._sources for body, r in s.recorders.items() if len(r)
        }
        matches = {k: r for k, r in found.items() if not wanted or k[1] == wanted}
        if len(matches) == 1:
            return next(iter(matches.values()))
        if not found:
            raise self._nothing()
        names = sorted({body for _, body in found})
        if not matches:
            heard = "heard: " + ", ".join(names)
            raise InputError("node observer", "parameter body", wanted, "one with samples", heard)
        topics = ", ".join(f"{body} on {topic}" for topic, body in matches)
        raise InputError(
            "node observer", "parameter body", wanted, "exactly one body", f"heard: {topics}"
        )

    def _nothing(self) -> InputError:
        """Why there is nothing to save, topic by topic."""
        why = "; ".join(f"{s.topic}: {self._trouble(s)[1]}" for s in self._sources)
        what = "messages" if self._recording else "messages since ~/start"
        return InputError("node observer", "buffer", "no samples", what, f"heard: none; {why}")

    # --- diagnostics

    def _buffers(self) -> list[tuple[Source, str, StreamRecorder]]:
        """What is reported: bodies of poses, and whole messages of other topics."""
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
            own = [(body, r) for s, body, r in buffers if s is source] or [("", None)]
            message.status += [self._status(source, body, recorder) for body, recorder in own]
        self._diagnostics.publish(message)

    def _status(self, source: Source, body: str, recorder: StreamRecorder | None):
        values = {**source.figures(), "recording": self._recording}
        found = [self._trouble(source)]
        self._tell(source, *found[0])
        if recorder is not None:
            values |= figures_of(recorder)
            found.append(self._judge(source, body, recorder))
        wrong = [one for one in found if one[0] != "ok"] or found[-1:]
        level = max((level for level, _ in wrong), key=LEVELS.index)
        words = "; ".join(dict.fromkeys(words for _, words in wrong))
        return convert.diagnostic(level, f"observer: {source.topic}", words, values, body)

    def _trouble(self, source: Source) -> tuple[str, str]:
        """Level and one line about the connection, and why the last odd sample is of no use."""
        level, words = source.connection(self["no_data_after"])
        if source.trouble:
            words = source.trouble if level == "ok" else f"{words}; {source.trouble}"
            level = "warn" if level == "ok" else level
        return level, words

    def _tell(self, source: Source, level: str, words: str) -> None:
        """Log what is wrong with a topic, once until it changes."""
        key = re.sub(r"for [0-9.]+ s", "", words) if level != "ok" else level
        if self._told.get(source.topic, "ok") != key:
            self._told[source.topic] = key
            if level != "ok":
                self.get_logger().warning(f"{source.topic}: {words}")

    def _judge(self, source: Source, body: str, recorder: StreamRecorder) -> tuple[str, str]:
        """Level and one line about the samples; flight is looked at once per finished trial."""
        key = source.topic, body
        done, warning = self._warned.get(key, (-1, ""))
        if recorder.trial_count - 1 > max(done, 0):
            done, warning = recorder.trial_count - 1, recorder.warning()
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
