"""A legged robot's twin, planner and driver for tests, and clients of them."""

from contextlib import contextmanager
from dataclasses import replace

import numpy as np
from diffsim_interfaces.action import ExecuteLocomotion, PlanLocomotion
from diffsim_interfaces.msg import Stance
from rclpy.parameter import Parameter
from std_srvs.srv import Trigger

from diffsim_ros.nodes.common import STREAM, share_folder
from diffsim_ros.nodes.legged_driver import LeggedDriver
from diffsim_ros.nodes.legged_planner import LeggedPlanner
from diffsim_ros.nodes.legged_twin import LeggedTwin

ROBOTS = share_folder() / "config" / "locomotion" / "robots"
WHEELED = {"gait": "roll", "gait_period": 0.5, "between": 1, "max_speed": 0.2}
"""Of the planner, for a robot on wheels."""


class Walker:
    """Twin, planner and driver of a robot, and what they say."""

    def __init__(self, ros, robot="quadruped", planner=None, driver=None, **twin):
        own, sim = {"robot": robot}, {"use_sim_time": True}
        self.ros, self.feedback = ros, []
        self.twin = ros.start_with(LeggedTwin, **{"tf_rate": 0.0} | own | twin)
        # a machine that is busy plans slowly
        planner = {"ahead": 1.0, **(planner or {})}
        driver = {"dry_run": False, "watchdog": 20.0, **(driver or {})}
        self.planner = ros.start_with(LeggedPlanner, **own | sim | planner)
        self.driver = ros.start_with(LeggedDriver, **own | sim | driver)
        self.plans = ros.action(PlanLocomotion, "/legged_planner/plan")
        self.walks = ros.action(ExecuteLocomotion, "/legged_driver/walk")
        self.stances = ros.listen(Stance, "/legged_driver/stance", STREAM)
        self.known()

    def known(self):
        """Wait until the driver knows where the robot is: a reset moves it as no joint can."""
        watching, there = self.driver.supervision, self.twin.joints

        def seen() -> bool:
            last = watching.states.last
            if last is None or not watching.states.is_fresh(watching.now):
                return False
            near = np.allclose(last.position, there.position, atol=0.01)
            return near and watching.tilt_age < 0.2

        self.ros.until(seen, "its state")

    @contextmanager
    def slowed(self):
        """The twin's time passes slowly: a machine that is busy plans before a walk is over."""
        self.twin.set_parameters([Parameter("rate_factor", value=0.1)])
        try:
            yield
        finally:
            self.twin.set_parameters([Parameter("rate_factor", value=1.0)])

    def planned(self, **goal):
        """The planner's answer, of a robot that stands or walks."""
        with self.slowed():
            return self.ros.act(self.plans, PlanLocomotion.Goal(**goal))[1]

    def plan(self, **goal):
        """A plan that holds."""
        result = self.planned(**goal)
        assert result.error_code == 0, result.error_msg
        return result.plan

    def walk(self, plan):
        """The handle of a walk that was sent."""
        return self.ros.accepted(self.walks, ExecuteLocomotion.Goal(plan=plan), self.feedback)

    def begun(self, travel=(0.9, 0.0), time=0.4):
        """The handle of a walk that has gone on for a time [s]."""
        handle = self.walk(self.plan(travel=list(travel)))
        self.ros.until(lambda: self.running() > time, f"{time} s of a walk")
        return handle

    def running(self):
        """Time of the plan that runs [s]; -1: none does."""
        last = self.stances[-1] if self.stances else None
        return last.time if last and last.state == "walking" else -1.0

    def report(self, handle):
        """The driver's answer, once the planner knows that the robot stands."""
        result = self.ros.outcome(handle, 120.0)[1]
        if "continued" not in result.error_msg:
            stands = lambda: self.stances and self.stances[-1].state == "standing"  # noqa: E731
            self.ros.until(stands, "standing")
        return result

    def silent(self, rate):
        """Joint states at a rate [Hz]; 0: none."""
        self.twin.server.offer = replace(self.twin.server.offer, state_rate=rate)

    def reset(self):
        """The robot stands where it began."""
        assert self.ros.call(Trigger, "/legged_twin/reset").success
        self.known()

    @property
    def place(self):
        """(x, y) of the body [m]."""
        return np.array(self.twin.joints.base[:2])
