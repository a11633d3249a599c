"""Node `legged_twin`: a legged robot in the engine that replaces the real one for other nodes.

out       /clock          rosgraph_msgs/Clock, of every tick of the engine
          joint_states    sensor_msgs/JointState of legs and wheels, with efforts of the legs
          odom            nav_msgs/Odometry, where the robot truly is
          imu             sensor_msgs/Imu of the base
          foot_contacts   diffsim_interfaces/Stance, with loads
          /tf             the base in `odom`, every link in its parent (`tf_rate`)
          robot_description  std_msgs/String, latched
in        WHEELS/commands std_msgs/Float64MultiArray [rad/s] of wheels with motors, in their order
          ~/push          geometry_msgs/Vector3 [N], world frame, on the base for `push_time`
action    CONTROLLER/follow_joint_trajectory, and its topic, as of controller_server.py
service   ~/reset         std_srvs/Trigger: the robot stands again where it began

Its own time is simulated: others run with use_sim_time. Where the engine is slower than the wall's
time, time passes more slowly: /diagnostics has the real-time factor as it is.
"""

from __future__ import annotations

import time
from functools import partial
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from diffsim_interfaces.msg import Stance
from geometry_msgs.msg import Vector3
from nav_msgs.msg import Odometry
from rclpy.clock import Clock as SteadyClock
from rclpy.clock import ClockType
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import Imu
from std_msgs.msg import Float64MultiArray, String
from std_srvs.srv import Trigger

from diffsim_ros.errors import NotConverged
from diffsim_ros.nodes import convert, convert_frames
from diffsim_ros.nodes import convert_locomotion as legged
from diffsim_ros.nodes.common import (
    LATCHED,
    STREAM,
    Declared,
    quality,
    run_node,
)
from diffsim_ros.nodes.controller_server import ControllerServer, Offer, ServingNode
from diffsim_ros.nodes.legged_parameters import (
    CONTROLLER,
    FOOT,
    ROBOT,
    WHEELS,
    robot_of,
)
from diffsim_ros.planning.locomotion.motion import base_poses
from diffsim_ros.planning.locomotion.simulation import LeggedJoints, LeggedSimulation
from diffsim_ros.robots.command import NANO, nanoseconds
from diffsim_ros.robots.controller import Controller, Settings
from diffsim_ros.sensing.frames import Transform
from diffsim_ros.twin.config import WORLD, robot_links

MOST_TICKS = 5
"""Made up for at once; what else is missed is time that passes more slowly."""
TOUCHING = 0.02
"""Share of the weight from which an end effector counts as in contact."""
STALE = 0.5
"""[s] after which wheels stop that get no commands any more."""


class LeggedTwin(ServingNode):
    """Ticks by the wall's clock; a tick is one call of the engine."""

    PARAMETERS = (
        ROBOT,
        CONTROLLER,
        WHEELS,
        FOOT,
        Declared("stiffness", 20.0, "of the legs' motors [weight times standing height per rad]",
                 0.1, 1000.0),
        Declared("damping_time", 0.02, "[s] of the legs' motors", 0.0, 1.0),
        Declared("delay", 0.0, "[s] from a command to its effect", 0.0, 0.5),
        Declared("friction", 0.8, "coefficient of the ground", 0.01, 10.0),
        Declared("step", 0.004, "[s] of the engine and of a tick", 0.0005, 0.02),
        Declared("rate_factor", 1.0, "simulated seconds per second, at most", 0.001, 1000.0),
        Declared("start_time", 10.0, "[s] of the clock at the start", 0.001, 4e9),
        Declared("path_tolerance", 0.0, "[rad] of the controller while moving; 0: none", 0.0, 10.0),
        Declared("state_rate", 125.0, "[Hz] of joint_states, odom, imu, contacts; 0: silent",
                 0.0, 1000.0),
        Declared("tf_rate", 25.0, "[Hz] of /tf; 0: none", 0.0, 500.0),
        Declared("frame_prefix", "", "before names of links and of odom, e.g. robot1/"),
        Declared("push_time", 0.1, "[s] that a push lasts", 0.001, 10.0),
        Declared("period", 1.0, "[s] between two diagnostics", 0.05, 60.0),
    )  # fmt: skip

    def __init__(self, **options: Any) -> None:
        super().__init__("legged_twin", **options)
        self.robot = robot_of(self)
        self.twin = LeggedSimulation(
            self.robot, self["stiffness"], self["damping_time"], foot=self["foot"],
            friction=self["friction"], step=self["step"], delay=self["delay"],
        )  # fmt: skip
        self._tick_time = nanoseconds(self["step"])
        self.time = round(self["start_time"] * NANO)
        tolerance = self["path_tolerance"] or float("inf")
        self._settings = Settings(
            rate=1.0 / self["step"], path=tolerance, goal=tolerance, deceleration=50.0,
            dynamics=self.twin,
        )  # fmt: skip
        offer = Offer(self["controller"], self["state_rate"])
        self.server = ControllerServer(
            self, self._controller(), None, offer, efforts=lambda: self.joints.efforts,
            others=lambda: (self.twin.wheels, self.joints.wheel_position,
                            self.joints.wheel_velocity),
        )  # fmt: skip
        actuated = [e.joint for e in self.robot.end_effectors if e.kind == "actuated"]
        self._wheels = [self.twin.wheels.index(name) for name in actuated]
        self._failure, self._pushed_until, self._commanded = "", 0, 0
        self._looked, self._owed, self._last_tf, self._last_state = time.monotonic(), 0.0, 0, 0
        self.factor, self._counted = 1.0, (time.monotonic(), self.time)
        self._advertise()
        steady = SteadyClock(clock_type=ClockType.STEADY_TIME)  # its own time makes others'
        self.create_timer(self["step"] / 2, self._tick, clock=steady)
        self.create_timer(self["period"], self._diagnose, clock=steady)

    def _controller(self) -> Controller:
        controller = Controller(
            self.robot.joint_names, self.robot.stance, self._settings, self.time
        )
        self.joints: LeggedJoints = controller._joints
        return controller

    def _advertise(self) -> None:
        publish = self.create_publisher
        self._ticks = publish(Clock, "/clock", quality(10, reliable=False))
        self._odometry = publish(Odometry, "odom", STREAM)
        self._imu = publish(Imu, "imu", STREAM)
        self._contacts = publish(Stance, "foot_contacts", STREAM)
        self._diagnostics = publish(DiagnosticArray, "/diagnostics", STREAM)
        self._tf = None
        if convert_frames.TFMessage is not None:
            self._tf = publish(convert_frames.TFMessage, "/tf", STREAM)
        self._about = publish(String, "robot_description", LATCHED)
        self._about.publish(String(data=self.twin.urdf))
        listen = self.create_subscription
        listen(Float64MultiArray, f"{self['wheels']}/commands", self._on_wheels, STREAM)
        listen(Vector3, "~/push", self._on_push, STREAM)
        self.create_service(Trigger, "~/reset", self._on_reset)

    # --- time -----------------------------------------------------------------------------------

    def _tick(self) -> None:
        """As many ticks as are due."""
        now = time.monotonic()
        passed, self._looked = now - self._looked, now
        if self._failure:
            return
        self._owed += passed * self["rate_factor"] * NANO / self._tick_time
        self._owed = min(self._owed, MOST_TICKS)
        while self._owed >= 1.0 and not self._failure:
            self._owed -= 1.0
            self._pass()

    def _pass(self) -> None:
        stamp, joints = self.time + self._tick_time, self.joints
        joints.push = joints.push if stamp <= self._pushed_until else np.zeros(3)
        if stamp - self._commanded > STALE * NANO:
            joints.wheel_commands = np.zeros(len(self.twin.wheels))
        try:
            self.server.advance(stamp)
        except NotConverged as error:
            self._failure = f"time stops, ~/reset begins again: {error}"
            self.get_logger().error(self._failure)
            return
        self.time = stamp
        self._ticks.publish(Clock(clock=convert.time_message(stamp)))
        rate = self["state_rate"]
        if rate > 0 and stamp - self._last_state >= NANO / rate - self._tick_time // 2:
            self._last_state = stamp
            self._publish(stamp)
        rate = self["tf_rate"]
        if rate > 0 and self._tf is not None and stamp - self._last_tf >= NANO / rate:
            self._last_tf = stamp
            self._tf.publish(self._frames(stamp))

    def _publish(self, stamp: int) -> None:
        joints, prefix, root = self.joints, self["frame_prefix"], self.twin.tree.base
        odom = f"{prefix}odom"
        where = joints.base, joints.twist
        self._odometry.publish(legged.odometry_message(*where, stamp, odom, prefix + root))
        self._imu.publish(legged.imu_message(*where, joints.acceleration, stamp, prefix + root))
        names = [effector.name for effector in self.robot.end_effectors]
        touching = joints.load > TOUCHING * 9.81 * self.robot.mass
        message = legged.stance_message(stamp, names, touching, frame=odom, load=joints.load)
        self._contacts.publish(message)

    def _frames(self, stamp: int):
        joints, prefix, tree = self.joints, self["frame_prefix"], self.twin.tree
        at = dict(zip(self.robot.joint_names, joints.position, strict=True))
        at |= dict(zip(self.twin.wheels, joints.wheel_position, strict=True))
        q = np.array([at[name] for name in tree.joint_names])
        links = robot_links(tree, base_poses(joints.base[None])[0], q)
        return convert_frames.static_message(
            (
                Transform(prefix + ("odom" if link.parent == WORLD else link.parent),
                          prefix + link.child, link.position, link.orientation)
                for link in links
            ), stamp,
        )  # fmt: skip

    # --- what is received -----------------------------------------------------------------------

    def _on_wheels(self, message: Float64MultiArray) -> None:
        row = np.array(message.data, float)
        if len(row) != len(self._wheels) or not np.isfinite(row).all():
            text = f"{len(row)} speeds of wheels; accepted: {len(self._wheels)} finite numbers"
            self.get_logger().error(text)
            return
        commands = np.zeros(len(self.twin.wheels))
        commands[self._wheels] = row
        self.joints.wheel_commands, self._commanded = commands, self.time

    def _on_push(self, message: Vector3) -> None:
        force = np.array([message.x, message.y, message.z])
        if np.isfinite(force).all():
            self.joints.push = force
            self._pushed_until = self.time + nanoseconds(self["push_time"])

    def _on_reset(self, _request, response):
        self.server.close()
        self.server.controller = self._controller()
        self._failure, self._commanded, self._pushed_until = "", 0, 0
        response.success, response.message = True, "the robot stands where it began"
        return response

    def _diagnose(self) -> None:
        now, (before, then) = time.monotonic(), self._counted
        self.factor = (self.time - then) / NANO / max(now - before, 1e-9)
        self._counted = now, self.time
        level = "error" if self._failure else "ok"
        if level == "ok" and self.factor < 0.9 * min(1.0, self["rate_factor"]):
            level = "warn"
        text = self._failure or f"{self.factor:.2f} simulated seconds per second"
        values = {"real_time_factor": self.factor, "tilt": self.joints.tilt}
        name, now = self.robot.name, self.time
        self._diagnostics.publish(convert.diagnostics(self, level, text, values, name, now))


main = partial(run_node, LeggedTwin)
"""Console script `legged_twin`."""

if __name__ == "__main__":
    raise SystemExit(main())
