"""Node `observer`: buffers what trackers publish, says what is wrong with it, saves it as trials.

in        `pose_topics` PoseStamped; `rigid_bodies_topics` RigidBodies and `markers_topics` Markers
          of mocap4r2_msgs where that is installed; best effort and volatile unless told otherwise
out       ~/saved         std_msgs/String, latched: path of the last saved file
          /diagnostics    diagnostic_msgs/DiagnosticArray: one status per topic and body
services  ~/start         std_srvs/Trigger: empty the buffer and record
          ~/stop          stop recording, keep the buffer
          ~/save          write the trials of `body` to `path` (.npz and .csv; markers to
                          _markers.csv where any were heard): all of them or none
"""

from __future__ import annotations

import datetime
import math
import time
from functools import partial
from pathlib import Path
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseStamped
from rclpy.event_handler import SubscriptionEventCallbacks
from rclpy.qos import QoSCompatibility, QoSProfile, qos_check_compatible
from std_msgs.msg import String
from std_srvs.srv import Trigger

from diffsim_ros.errors import InputError
from diffsim_ros.nodes import convert
from diffsim_ros.nodes.common import LATCHED, SENSOR, BaseNode, Declared, quality, run_node
from diffsim_ros.real2sim.recorder import PoseRecorder, PoseSample, save_trials


class Source:
    """One subscribed topic: when it last spoke, and what its middleware reported."""

    def __init__(self, topic: str, kind: type, profile: QoSProfile) -> None:
        self.topic, self.kind, self.profile = topic, kind, profile
        self.count, self.lost, self.matched, self.mismatch = 0, 0, 0, ""
        self.heard = self.since = time.monotonic()

    @property
    def body(self) -> str:
        """Name of the body that a pose topic speaks of: /vrpn_mocap/cube/pose is cube."""
        parts = [part for part in self.topic.split("/") if part]
        return parts[-2] if len(parts) > 1 and parts[-1] == "pose" else parts[-1]

    def quiet(self) -> float:
        """Seconds of wall time since the last message (or since it was subscribed)."""
        return time.monotonic() - self.heard


class Observer(BaseNode):
    """Buffers per topic and body; every check is PoseRecorder's, this node reports it."""

    PARAMETERS = (
        Declared("pose_topics", ["cube/pose"], "PoseStamped topics to buffer"),
        Declared("rigid_bodies_topics", [""], "mocap4r2_msgs/RigidBodies topics to buffer"),
        Declared("markers_topics", [""], "mocap4r2_msgs/Markers topics to buffer"),
        Declared("body", "", "body to save; empty: the only one heard"),
        Declared("world_frame", "", "accepted frame; empty: that of the first sample"),
        Declared("up_axis", "z", "axis of the tracker that points up", choices=("z", "y")),
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
        Declared("no_data_after", 2.0, "silence after which a topic is reported [s]", 0.1, 3600.0),
        Declared("period", 1.0, "seconds between two diagnostics", 0.05, 60.0),
    )

    def __init__(self, **options: Any) -> None:
        super().__init__("observer", **options)
        self._recording = bool(self["autostart"])
        self._recorders: dict[tuple[str, str], PoseRecorder] = {}
        self._markers: list[convert.MarkerFrame] = []
        self._sources: list[Source] = []
        self._warned: dict[tuple[str, str], tuple[int, str]] = {}
        self._subscribe("pose_topics", PoseStamped, self._on_pose)
        self._subscribe("rigid_bodies_topics", convert.RigidBodies, self._on_bodies)
        self._subscribe("markers_topics", convert.Markers, self._on_markers)
        self._saved = self.create_publisher(String, "~/saved", LATCHED)
        self._diagnostics = self.create_publisher(DiagnosticArray, "/diagnostics", 10)
        for name in ("start", "stop", "save"):
            self.create_service(Trigger, f"~/{name}", partial(self._serve, name))
        self.create_timer(self["period"], self._diagnose)

    # --- what comes in

    def _subscribe(self, parameter: str, kind: type | None, callback) -> None:
        for name in filter(None, self[parameter] or ()):
            if kind is None:
                raise InputError(
                    "node observer",
                    f"parameter {parameter}",
                    name,
                    "empty",
                    "mocap4r2_msgs is not installed",
                )
            profile = quality(SENSOR.depth, reliable=self["reliability"] == "reliable")
            source = Source(self.resolve_topic_name(name), kind, profile)
            events = SubscriptionEventCallbacks(
                incompatible_qos=partial(self._on_incompatible, source),
                message_lost=partial(self._on_lost, source),
                matched=partial(self._on_matched, source),
            )
            self.create_subscription(
                kind, name, partial(callback, source), profile, event_callbacks=events
            )
            self._sources.append(source)

    def _on_incompatible(self, source: Source, event) -> None:
        policy = str(event.last_policy_kind).rsplit(".", 1)[-1].lower()
        source.mismatch = f"a publisher's quality of service does not fit: {policy}"
        self.get_logger().error(f"{source.topic}: {source.mismatch}")

    def _on_lost(self, source: Source, event) -> None:
        source.lost = event.total_count

    def _on_matched(self, source: Source, event) -> None:
        source.matched = event.current_count

    def _hear(self, source: Source) -> None:
        source.heard = time.monotonic()
        source.count += 1

    def _on_pose(self, source: Source, message: PoseStamped) -> None:
        self._hear(source)
        self._keep(source, convert.pose_sample(message, source.body))

    def _on_bodies(self, source: Source, message) -> None:
        self._hear(source)
        for sample in convert.body_samples(message):
            self._keep(source, sample)

    def _on_markers(self, source: Source, message) -> None:
        self._hear(source)
        if self._recording and len(self._markers) < self["max_samples"]:
            self._markers.append(convert.marker_frame(message))

    def _keep(self, source: Source, sample: PoseSample) -> None:
        if not self._recording:
            return
        key = source.topic, sample.body
        if key not in self._recorders:
            self._recorders[key] = PoseRecorder(
                f"{source.topic} ({sample.body})",
                self["world_frame"],
                self["up_axis"],
                self["trial_gap"],
                self["max_samples"],
            )
        self._recorders[key].add(sample)

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
        self._recorders.clear()
        self._markers.clear()
        self._warned.clear()
        self._recording = True
        return "recording into an empty buffer"

    def _stop(self) -> str:
        self._recording = False
        return "; ".join(r.summary() for r in self._recorders.values()) or "nothing was recorded"

    def _save(self) -> str:
        """Write the trials of the chosen body; return one line with path and counts."""
        recorder = self._chosen()
        path = self["path"] or f"out/{datetime.datetime.now():%Y-%m-%d_%H-%M-%S}_recording.npz"
        trials = recorder.trials(self["trial_ids"] or ())
        path = Path(path).with_suffix(".npz").absolute()
        written = save_trials(path, trials, self._markers)
        self._saved.publish(String(data=str(written[0])))
        warning = recorder.gravity_warning()
        return f"{written[0]}: {len(trials)} trials; {recorder.summary()}" + (
            f"; warning: {warning}" if warning else ""
        )

    def _chosen(self) -> PoseRecorder:
        wanted = self["body"]
        found = {k: r for k, r in self._recorders.items() if len(r)}
        matches = {k: r for k, r in found.items() if not wanted or k[1] == wanted}
        if len(matches) == 1:
            return next(iter(matches.values()))
        names = sorted({body for _, body in found})
        if not matches:
            heard = "heard: " + (", ".join(names) or "none; see /diagnostics")
            raise InputError("node observer", "parameter body", wanted, "one with samples", heard)
        topics = ", ".join(f"{body} on {topic}" for topic, body in matches)
        raise InputError(
            "node observer", "parameter body", wanted, "exactly one body", f"heard: {topics}"
        )

    # --- diagnostics

    def _diagnose(self) -> None:
        message = DiagnosticArray()
        message.header.stamp = self.get_clock().now().to_msg()
        for source in self._sources:
            bodies = [k for k in self._recorders if k[0] == source.topic] or [(source.topic, "")]
            message.status += [self._status(source, key) for key in bodies]
        self._diagnostics.publish(message)

    def _status(self, source: Source, key: tuple[str, str]):
        recorder = self._recorders.get(key)
        values = {
            "topic": source.topic,
            "messages": source.count,
            "lost": source.lost,
            "publishers": source.matched,
            "recording": self._recording,
            "seconds_quiet": source.quiet(),
        }
        level, words = self._trouble(source)
        if recorder is not None:
            values |= _figures(recorder)
            if level == "ok":
                level, words = self._judge(key, recorder)
        return convert.diagnostic(level, f"observer: {source.topic}", words, values, key[1])

    def _trouble(self, source: Source) -> tuple[str, str]:
        """Level and one line about the connection itself."""
        publishers = self.get_publishers_info_by_topic(source.topic)
        expected = f"{source.kind.__module__.split('.')[0]}/msg/{source.kind.__name__}"
        for info in publishers:
            who = f"publisher {info.node_namespace.rstrip('/')}/{info.node_name}"
            if info.topic_type != expected:
                return "error", f"{who} sends {info.topic_type}, expected {expected}"
            fit, reason = qos_check_compatible(info.qos_profile, source.profile)
            if fit == QoSCompatibility.ERROR:
                return "error", f"{who} has a quality of service that does not fit: {reason}"
        if source.mismatch and not publishers:
            return "error", source.mismatch
        if not publishers and not source.count:
            return "warn", "no publisher"
        if source.quiet() > self["no_data_after"]:
            return "warn", f"no data for {source.quiet():.1f} s"
        return "ok", f"{source.count} messages"

    def _judge(self, key: tuple[str, str], recorder: PoseRecorder) -> tuple[str, str]:
        """Level and one line about the samples; flight is looked at once per finished trial."""
        done, warning = self._warned.get(key, (-1, ""))
        if recorder.trial_count - 1 > max(done, 0):
            done, warning = recorder.trial_count - 1, recorder.gravity_warning()
            self._warned[key] = done, warning
            if warning:
                self.get_logger().warning(warning)
        if recorder.overflow:
            return "error", recorder.summary()
        if warning:
            return "warn", warning
        return ("warn" if recorder.dropped or recorder.resets else "ok"), recorder.summary()


def _figures(recorder: PoseRecorder) -> dict:
    """What the diagnostics say of a buffer."""
    rate = recorder.rate()
    figures = {
        "received": recorder.received,
        "kept": len(recorder),
        "trials": recorder.trial_count,
        "frame": recorder.seen_frame,
        "rate": rate if math.isfinite(rate) else "unknown",
        "missing": recorder.missing(),
        "clock_resets": recorder.resets,
    }
    for reason, drop in recorder.drops.items():
        figures[f"dropped, {reason}"] = drop.count
        if drop.count:
            figures[f"dropped, {reason}, last"] = drop.last
    return figures


def main(arguments: list[str] | None = None) -> int:
    """Console script `observer`."""
    return run_node(Observer, arguments)


if __name__ == "__main__":
    raise SystemExit(main())
