"""A robot in simulated time and a driver before it, for the tests of the driver."""

import time
from dataclasses import replace

import numpy as np
from diffsim_interfaces.action import Execute
from rclpy.clock import Clock, ClockType
from rosgraph_msgs.msg import Clock as ClockMessage

from diffsim_ros.nodes import convert, convert_motion
from diffsim_ros.nodes.common import STREAM, BaseNode
from diffsim_ros.nodes.controller_server import ControllerServer, Offer
from diffsim_ros.nodes.driver import Driver
from diffsim_ros.robots.controller import Controller, Settings
from diffsim_ros.robots.gripper import Gripper
from tests.robots.motions import ARM, NAMES, swing

STEP, FACTOR = 4_000_000, 0.6
LATENCY = 0.05
MOTION = swing(size=0.1, duration=0.6, release=0.35)
LONG = swing(size=0.2, duration=3.0, release=2.5)


def back(position, duration=0.6):
    """From where the robot is to home, almost."""
    home = swing(size=-0.1, duration=duration, release=duration - 0.1)
    return replace(home, positions=home.positions + position - ARM.home)


class Lab(BaseNode):
    """A robot in simulated time, `FACTOR` as fast as the wall's, or in the wall's.

    events   its commands: "started", ("gripper", is open, time of the trajectory)
    paused   True: time stands;  desired  every position that was commanded
    """

    def __init__(self, wall=False, **settings):
        super().__init__("lab")
        self.wall, self.paused, self.desired = wall, False, []
        self.events, self.time = [], time.time_ns() if wall else STEP
        mock = Controller(NAMES, ARM.home, Settings(deceleration=20.0, **settings), self.time)
        self.server = ControllerServer(self, mock, Gripper(LATENCY), Offer(), self.on_gripper)
        self.clock = self.create_publisher(ClockMessage, "/clock", STREAM)
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self.create_timer(STEP / 1e9 / (1.0 if wall else FACTOR), self.step, clock=steady)
        run = mock.replace  # what an action's goal and a topic's message both come to
        mock.replace = lambda command: (self.events.append("started"), run(command))[1]

    def step(self):
        if self.paused:
            return
        self.time = time.time_ns() if self.wall else self.time + STEP
        self.server.advance(self.time)
        self.desired.append(self.mock.desired)
        self.clock.publish(ClockMessage(clock=convert.time_message(self.time)))

    def set_clock(self, time):
        """Simulated time shows `time` [ns] from now on; the arm does not move for that."""
        self.time = time
        self.mock.set_clock(time)
        self.server.set_clock()

    def on_gripper(self, stamp, is_open):
        self.events.append(("gripper", is_open, self.server.controller.elapsed))

    @property
    def mock(self):
        return self.server.controller

    def destroy_node(self):
        self.server.destroy()
        super().destroy_node()


class Bench:
    """The lab, a driver, and a client of its action."""

    def __init__(self, ros, **lab):
        self.ros, self.lab, self.feedback = ros, ros.start(Lab(**lab)), []

    def drive(self, **parameters):
        given = {"dry_run": False, "use_sim_time": not self.lab.wall, "gripper": "command"}
        self.driver = self.ros.start_with(Driver, **given | {"lead": LATENCY} | parameters)
        return self.ready()

    @property
    def watching(self):
        """The driver's supervision."""
        return self.driver.supervision

    def ready(self):
        self.client = self.ros.action(Execute, "/driver/execute")
        return self

    def known(self):
        """Wait until the driver knows where the robot is."""
        self.ros.until(lambda: self.driver.supervision.states.last, "joint states")
        return self

    def goal(self, motion=MOTION, blend=0.0):
        """The handle of an accepted goal."""
        message = convert_motion.execute_goal(motion, blend)
        return self.ros.accepted(self.client, message, self.feedback)

    def send(self, motion=MOTION, blend=0.0):
        """Have a motion executed."""
        self.handle = self.goal(motion, blend)
        self.result = self.ros.asked(self.handle.get_result_async)
        return self

    def report(self):
        self.ros.until(self.result.done, lambda: f"an end; {self.feedback[-1:]}")
        return convert_motion.report(self.result.result().result)

    def until(self, elapsed):
        """Wait until the controller is so far."""
        self.ros.until(lambda: self.lab.mock.elapsed >= elapsed, f"{elapsed} s of the motion")

    def phases(self):
        return [message.phase for message in self.feedback]

    def rests(self):
        return not self.lab.mock.active and np.abs(self.lab.mock.velocity).max() < 1e-3


def wait_moves(bench):
    """A moment, in which an arm that was commanded would begin to move."""
    later = bench.lab.time + 300_000_000
    bench.ros.until(lambda: bench.lab.time > later, "simulated time")
