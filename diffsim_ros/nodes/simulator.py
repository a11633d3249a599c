"""Node `simulator`: a twin of robot, scene and sensors that replaces the lab for other nodes.

out       /clock            rosgraph_msgs/Clock at 500 Hz of simulated time
          <body>/pose       geometry_msgs/PoseStamped, reliable, depth 1000
          markers           mocap4r2_msgs/Markers, the same
          <camera>/points   sensor_msgs/PointCloud2, best effort, or by `cloud_quality`
          <sensor>/wrench   geometry_msgs/WrenchStamped, reliable, depth 1000
          <sensor>/output   std_msgs/Float64, the same, of one number of an output of the scene
          /tf, /tf_static   links of the robot, each in its parent; cameras (`publish_tf`)
          robot_description  std_msgs/String, latched
          those of controller_server.py: joint states, controller, gripper, speed scaling
services  ~/reset ~/play ~/pause ~/step   std_srvs/Trigger

Its own time is simulated: others run with use_sim_time. The bodies' true motion is written to
`truth_path`, and never published.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable
from concurrent.futures import Future as Job
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from geometry_msgs.msg import PoseStamped, WrenchStamped
from rclpy.clock import Clock as SteadyClock
from rclpy.clock import ClockType
from rclpy.publisher import Publisher
from rclpy.task import Future
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import PointCloud2
from std_msgs.msg import Float64, String
from std_srvs.srv import Trigger

from diffsim_ros import _engine
from diffsim_ros.commands.twin import twin_at
from diffsim_ros.errors import InputError, NotConverged
from diffsim_ros.nodes import convert, convert_frames
from diffsim_ros.nodes.common import (
    DRIVER,
    LATCHED,
    STATIC_TF,
    STREAM,
    Declared,
    plan_file,
    quality,
    run_node,
    share_folder,
)
from diffsim_ros.nodes.controller_server import ControllerServer, ServingNode
from diffsim_ros.nodes.mock_controller import CONTROLLER, offer_of
from diffsim_ros.rotation import quat_from_matrix
from diffsim_ros.sensing.cdr import NANO
from diffsim_ros.sensing.frames import Transform
from diffsim_ros.sensing.observation import MarkerFrame, PoseSample, WrenchSample
from diffsim_ros.twin.config import WORLD, LinkPose, link_tree
from diffsim_ros.twin.output_sensors import OutputSensor, WrenchSensor
from diffsim_ros.twin.record import TwinRecord
from diffsim_ros.twin.sensors import CloudSensor, MarkerSensor, TwinSensor, generator
from diffsim_ros.twin.world import TICK, World

PERIOD = 0.002
"""Seconds between two checks of what is due."""
MOST_TICKS = 10
"""Made up for at once; what else is missed is time that passes more slowly."""
MOST_CLOUDS = 2
"""Being rendered, before time waits for them."""
SERVED = ("controller", "state_rate", "feedback_rate", "gripper_gap", "gripper_pin",
          "speed_scaling")  # fmt: skip
CLOUDS = quality(5, reliable=False)


class Simulator(ServingNode):
    """Ticks by the wall's clock; the engine and the cameras work in threads of their own."""

    PARAMETERS = (
        Declared("twin", "", "TWIN.yaml, or a PLAN.yaml with an arm (its own scene then), or the "
                 "name of one in config/planning; empty: config/twin/ball.yaml"),
        Declared("rate_factor", 1.0, "simulated seconds per second, at most", 0.001, 1000.0),
        Declared("playing", True, "let time pass at once; otherwise wait for ~/play or ~/step"),
        Declared("step", 0.1, "[s] of simulated time that ~/step lets pass", 0.002, 3600.0),
        Declared("start_time", 10.0, "[s] of the clock at the start", 0.001, 4e9),
        Declared("cloud_quality", "sensor", "of clouds: best effort or not",
                 choices=("sensor", "reliable")),
        Declared("tf_rate", 25.0, "[Hz] of /tf; 0: none", 0.0, 500.0),
        Declared("publish_tf", "links", "what is on /tf and /tf_static; sensors: cameras and the "
                 "robot's root, for a robot_state_publisher beside; links: those and all links",
                 choices=("links", "sensors", "none")),
        Declared("frame_prefix", "", "before names of links and sensors' frames, e.g. robot1/"),
        Declared("truth_path", "", "folder for attempt_NNN.npz with what bodies truly did, written "
                 "at ~/reset and at the end; empty: none"),
        *(p for p in CONTROLLER if p.name in SERVED),
    )  # fmt: skip

    def __init__(self, **options: Any) -> None:
        super().__init__("simulator", **options)
        self._folder = self._truth_folder()
        lab = self["twin"] or share_folder() / "config" / "twin" / "ball.yaml"
        self.twin = twin_at(plan_file(lab))
        self._start = round(self["start_time"] * NANO)
        self.world = World(self.twin, self._start)
        self._opened: list[int] = []
        self.server = ControllerServer(
            self,
            self.world.controller,
            self.world.gripper,
            offer_of(self),
            self._on_gripper,
            self.world.efforts,
        )
        self._advertise()
        self._counts = dict.fromkeys(self.twin.config.sensors, 0)
        self._pool, self._eyes = ThreadPoolExecutor(1), ThreadPoolExecutor(1)
        self._cancel = _engine.CancelToken()
        self._engine_job: Job | None = None
        self._clouds: deque[tuple[TwinSensor, Job]] = deque()
        self._playing, self._until = bool(self["playing"]), 0
        self._stepped: Future | None = None
        self._failure, self._ended = "", False
        self._resets: list[Future] = []
        self._answers: list[tuple[Future, str]] = []  # of resets, due at its next joint state
        self._last_tf, self._looked, self._owed = -NANO, time.monotonic(), 0.0
        for name in ("reset", "play", "pause", "step"):
            self.create_service(
                Trigger, f"~/{name}", getattr(self, f"_on_{name}"), callback_group=self.together
            )
        steady = SteadyClock(clock_type=ClockType.STEADY_TIME)  # its own time makes others'
        self._ticker = self.create_timer(PERIOD, self._tick, clock=steady)

    def _truth_folder(self) -> Path | None:
        if not self["truth_path"]:
            return None
        folder = Path(self["truth_path"])
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            rule = "a folder that can be made"
            raise InputError("node simulator", "parameter truth_path", str(error), rule) from error
        if any(folder.glob("attempt_*.npz")):
            rule = "a folder without attempt_*.npz: nothing is overwritten"
            raise InputError("node simulator", "parameter truth_path", str(folder), rule)
        return folder

    def _advertise(self) -> None:
        """Publishers of clock, sensors and frames; what does not change is published at once."""
        config = self.twin.config
        self._ticks = self.create_publisher(Clock, "/clock", quality(10, reliable=False))
        self._out: dict[str, Publisher] = {}
        clouds = STREAM if self["cloud_quality"] == "reliable" else CLOUDS
        for name, sensor in config.sensors.items():
            kind: Any = (PoseStamped, DRIVER)
            if isinstance(sensor, CloudSensor):
                kind = PointCloud2, clouds
            elif isinstance(sensor, MarkerSensor):
                place = f"sensors.{name}"
                kind = convert.installed(convert.Markers, "node simulator", place, name), DRIVER
            elif isinstance(sensor, WrenchSensor):
                kind = WrenchStamped, DRIVER
            elif isinstance(sensor, OutputSensor):
                kind = Float64, DRIVER
            self._out[name] = self.create_publisher(kind[0], sensor.topic, kind[1])
        self._about = self.create_publisher(String, "robot_description", LATCHED)
        file = Path(config.arm.robot.place)
        if file.is_file():
            self._about.publish(String(data=file.read_text(encoding="utf-8")))
        self._tf = self._still = None
        if convert_frames.TFMessage is None or self["publish_tf"] == "none":
            return
        self._still = self.create_publisher(convert_frames.TFMessage, "/tf_static", STATIC_TF)
        links = link_tree(config, self.world.controller.position)
        if self["publish_tf"] == "links":
            self._tf = self.create_publisher(convert_frames.TFMessage, "/tf", STREAM)
            still = [link for link in links if link.fixed]
        else:
            still = [link for link in links if link.parent == WORLD]
        eyes = [
            LinkPose(WORLD, s.frame, np.array(s.camera.eye),
                     quat_from_matrix(s.camera.rotation), True)
            for s in config.sensors.values() if isinstance(s, CloudSensor)
        ]  # fmt: skip
        eyes += [
            LinkPose(WORLD, s.frame, s.origin, quat_from_matrix(s.turn), True)
            for s in config.sensors.values() if isinstance(s, WrenchSensor)
        ]  # fmt: skip
        self._still.publish(self._frames([*still, *eyes], self._start))

    def _frames(self, links: Iterable[LinkPose], stamp: int):
        """A message of frames at a stamp [ns]; all but the world have the prefix."""
        prefix = self["frame_prefix"]
        return convert_frames.static_message(
            (
                Transform(
                    WORLD if link.parent == WORLD else prefix + link.parent, prefix + link.child,
                    link.position, link.orientation,
                )
                for link in links
            ),
            stamp,
        )  # fmt: skip

    def _on_gripper(self, stamp: int, is_open: bool) -> None:
        if is_open:
            self._opened.append(stamp)

    # --- time -------------------------------------------------------------------------------------

    def _tick(self) -> None:
        """Advance time by as much as is due, unless the engine or a camera is not ready."""
        now = time.monotonic()
        passed, self._looked = now - self._looked, now
        self._send_clouds()
        if self._engine_job is not None:
            if not self._engine_job.done():
                return
            self._finish(self._engine_job)
        if self._resets:
            self._reset()
        if not self._playing and self.world.time >= self._until:
            self._answer_resets()
            if self._stepped is not None:
                self._stepped.set_result(True)
                self._stepped = None
            return
        owed = self._owed + passed * self["rate_factor"] * NANO / TICK
        if not self._playing:
            owed = (self._until - self.world.time) / TICK  # a step is as fast as it can be
        self._owed = min(owed, MOST_TICKS)
        while self._owed >= 1.0:
            if self._engine_job is not None or len(self._clouds) > MOST_CLOUDS:
                break
            self._pass()
            self._owed -= 1.0

    def _pass(self) -> None:
        """One tick."""
        stamp = self.world.time + TICK
        self._opened.clear()
        self.server.controller.speed_scaling = self["speed_scaling"]
        self.server.advance(stamp)
        self._answer_resets()  # not before joint states show where the robot is now
        self.world.follow(self._opened)
        self._ticks.publish(Clock(clock=convert.time_message(stamp)))
        if self._tf is not None and self["tf_rate"] > 0:
            if stamp - self._last_tf >= NANO / self["tf_rate"]:
                self._last_tf = stamp
                self._tf.publish(self._links(stamp))
        if self.world.known:
            self._sense()
        else:
            ahead = self.world.ahead()
            self._engine_job = self._pool.submit(self.world.record, ahead, self._cancel)

    def _links(self, stamp: int):
        links = link_tree(self.twin.config, self.world.controller.position)
        return self._frames((link for link in links if not link.fixed), stamp)

    def _finish(self, job: Job) -> None:
        """The engine is ready, or failed: then time stops until a reset."""
        self._engine_job = None
        try:
            job.result()
        except (NotConverged, InputError) as error:
            self._playing, self._until = False, self.world.time
            self._failure = f"time stops, ~/reset begins again: {error}"
            self.get_logger().error(self._failure)
            return
        self._sense()

    # --- sensors ----------------------------------------------------------------------------------

    def _sense(self) -> None:
        """Publish, or have rendered, what sensors measure until now."""
        record, world = None, self.world
        for name, sensor in self.twin.config.sensors.items():
            while (stamp := self._stamp(sensor, self._counts[name])) <= world.time:
                number, self._counts[name] = self._counts[name], self._counts[name] + 1
                if isinstance(sensor, CloudSensor) and not self._out[name].get_subscription_count():
                    continue  # rendering takes long, and nobody subscribes
                if record is None:
                    record = world.record()
                    self._say_end(record)
                draw = generator(self.twin.config.seed, world.number, name, number)
                asked = record, (stamp - world.origin) / NANO, stamp, draw
                if isinstance(sensor, CloudSensor):
                    self._clouds.append((sensor, self._eyes.submit(sensor.sample, *asked)))
                else:
                    self._publish(sensor, sensor.sample(*asked))

    def _say_end(self, record: TwinRecord) -> None:
        """Once an attempt: sensors go on, and what they see from here on is no motion."""
        if self._ended or not (bodies := record.stopped(self.world.elapsed)):
            return
        self._ended = True
        self.get_logger().warning(
            f"the scene ended {record.until:.3f} s after the attempt's begin: {', '.join(bodies)} "
            "moved and stands still from here on; end recordings before, or lengthen its duration"
        )

    def _stamp(self, sensor: TwinSensor, number: int) -> int:
        return self._start + round(number * NANO / sensor.rate)

    def _send_clouds(self) -> None:
        while self._clouds and self._clouds[0][1].done():
            sensor, job = self._clouds.popleft()
            self._publish(sensor, job.result())

    def _publish(self, sensor: TwinSensor, sample: Any) -> None:
        if sample is None:
            return
        if isinstance(sample, PoseSample):
            message = convert.pose_message(sample)
        elif isinstance(sample, MarkerFrame):
            message = convert.markers_message(sample)
        elif isinstance(sample, WrenchSample):
            fields = self["frame_prefix"] + sample.frame, sample.force, sample.torque
            message = convert.build.wrench(sample.stamp, *fields)
        elif isinstance(sample, float):
            message = Float64(data=sample)
        else:
            message = convert.cloud_message(sample)
            message.header.frame_id = self["frame_prefix"] + message.header.frame_id
        self._out[sensor.name].publish(message)

    # --- services ---------------------------------------------------------------------------------

    def _on_play(self, _request, response):
        self._playing = not self._failure
        answer = self._failure or f"playing at {self['rate_factor']:g}"
        response.success, response.message = self._playing, answer
        return response

    def _on_pause(self, _request, response):
        self._playing, self._until = False, self.world.time
        response.success, response.message = True, f"{self.world.time / NANO:.3f} s"
        return response

    async def _on_step(self, _request, response):
        if self._playing or self._stepped is not None or self._failure:
            answer = self._failure or "time passes already: ~/pause it"
            response.success, response.message = False, answer
            return response
        self._until = self.world.time + max(1, round(self["step"] * NANO / TICK)) * TICK
        self._stepped = done = Future()
        await done
        answer = self._failure or f"{self.world.time / NANO:.3f} s"
        response.success, response.message = not self._failure, answer
        return response

    async def _on_reset(self, _request, response):
        done: Future = Future()
        self._resets.append(done)
        response.success, response.message = True, await done
        return response

    def _reset(self) -> None:
        """Robot and bodies at their places; the last attempt's truth is written."""
        answer = self._save()
        self.server.close()
        self._failure, self._ended = "", False
        self.world.reset()
        self.server.controller, self.server.gripper = self.world.controller, self.world.gripper
        answer = f"attempt {self.world.number}{answer}"
        self._answers += [(done, answer) for done in self._resets]
        self._resets.clear()

    def _answer_resets(self) -> None:
        for done, answer in self._answers:
            done.set_result(answer)
        self._answers.clear()

    def _save(self) -> str:
        """Write the truth; returns the path."""
        if self._folder is None or not self.world.moved:
            return ""
        path = self._folder / f"attempt_{self.world.number:03d}.npz"
        truth, world = self.twin.truth, self.world
        try:
            world.history().save(path, {
                "entries": np.array(list(truth)), "values": np.array(list(truth.values())),
                "origin": np.array(world.origin),
                "begins": np.array([(b - world.origin) / NANO for b in world.begins]),
            })  # fmt: skip
        except (OSError, NotConverged) as error:
            self.get_logger().error(f"{path}: {error}")
            return f"; {path}: {error}"
        return f"; {path}"

    def close(self) -> None:
        """End worker threads, answer clients of goals, write the truth."""
        self._cancel.cancel()
        stopped = Future()

        def stop() -> None:
            self._ticker.cancel()
            self.server.close()
            stopped.set_result(True)

        self.from_thread(stop)
        self.flush()
        self._pool.shutdown(cancel_futures=True)
        self._eyes.shutdown(cancel_futures=True)
        self._save()


main = partial(run_node, Simulator)
"""Console script `simulator`."""

if __name__ == "__main__":
    raise SystemExit(main())
