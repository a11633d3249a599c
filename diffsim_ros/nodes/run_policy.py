"""Command: a learned policy moves the robot, through the driver and all its checks.

    python -m diffsim_ros.nodes.run_policy ENVIRONMENT.yaml policy.npz [--robot ROBOT.yaml]
        [--duration S] [--motions N] [--set PARAMETER=VALUE ...] [--prefix TEXT] [--driver NAME]
        [--ros-args -r __ns:=/robot1]

in      joint_states             sensor_msgs/JointState: where the robot is
action  DRIVER/execute           diffsim_interfaces/Execute, of the driver

From where the robot rests the policy acts in its environment's scene; the joints' motion there,
slowed down to rest at its end, is sent to the driver as any trajectory. So the policy sees the
model's motion during a motion, and the robot's own place before each of `--motions` (0: until
Ctrl-C, or until the environment's `ends` are met). A driver in dry run checks one motion.

Exit code 0: done (or would be: dry run); 2: an unusable file or argument; 3: not done, the line
has the reason. Ctrl-C, SIGTERM and a closed terminal cancel the motion.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Sequence
from time import monotonic

import numpy as np
from rclpy.utilities import remove_ros_args
from sensor_msgs.msg import JointState

from diffsim_ros.errors import InputError
from diffsim_ros.learning import load_environment
from diffsim_ros.learning.motion import PolicyMotion, check_joints, parameter_values, simulate
from diffsim_ros.learning.policy import Policy
from diffsim_ros.nodes import convert_motion
from diffsim_ros.nodes.commander import CallFailed, Commander, interrupts
from diffsim_ros.nodes.common import AGAIN, quality, share_folder
from diffsim_ros.nodes.convert import nanoseconds
from diffsim_ros.nodes.convert_motion import Report
from diffsim_ros.nodes.execute import reported
from diffsim_ros.robots.arm import load_arm
from diffsim_ros.robots.blend import brought_to_rest
from diffsim_ros.robots.execution import RESTS
from diffsim_ros.robots.joint_states import JointStates
from diffsim_ros.robots.trajectory import JointTrajectory

LATEST = quality(1, reliable=False)
STATE_AGE = 0.25
"""[s] after which a joint state is late."""
WAIT = 30.0
"""[s] that joint states get to come, and the arm to rest and its driver to be free."""
BRAKING = 0.5
"""Share of the limits of acceleration that the end of a motion takes."""


class PolicyRun:
    """A policy, its environment and the robot that it moves.

    prefix  of the robot's joints in the environment's scene
    """

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.config = load_environment(options.environment)
        self.policy = Policy.load(options.policy)
        self.policy.check(self.config, options.policy)
        self.arm = load_arm(options.robot or share_folder() / "config" / "robots" / "ur5.yaml")
        self.names, self.prefix = tuple(self.arm.robot.joint_names), options.prefix
        check_joints(self.config, [self.prefix + name for name in self.names])
        self.parameters = dict(_number(text) for text in options.set)
        parameter_values(self.config, self.parameters)  # refused before anything moves
        self.actions = 0
        if options.duration is not None:
            most = self.config.horizon * self.config.period
            if not self.config.period <= options.duration <= most * (1 + 1e-9):
                rule = f"{self.config.period:g} (one action) to {most:g} s, the environment's"
                raise InputError("run_policy", "--duration", options.duration, rule)
            self.actions = round(options.duration / self.config.period)

    def motion(self, position: np.ndarray) -> tuple[PolicyMotion, JointTrajectory]:
        """What the policy does from a place (n,) at rest, and that as the driver gets it."""
        start = {self.prefix + name: float(q) for name, q in zip(self.names, position, strict=True)}
        found = simulate(
            self.policy, self.config, start, parameters=self.parameters, actions=self.actions
        )
        moved = JointTrajectory(self.names, found.times, found.positions, found.velocities)
        return found, brought_to_rest(moved, BRAKING * self.arm.limits.acceleration)


def _number(text: str) -> tuple[str, float]:
    name, _, value = text.partition("=")
    try:
        return name, float(value)
    except ValueError:
        raise InputError("run_policy", "--set", text, "PARAMETER=NUMBER") from None


def _arguments(given: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="run_policy", description=__doc__.split("\n")[0])
    parser.add_argument("environment", help="ENVIRONMENT.yaml that the policy was learned in")
    parser.add_argument("policy", help="policy.npz, as `diffsim policy train` writes it")
    parser.add_argument("--robot", help="robot YAML; absent: config/robots/ur5.yaml")
    parser.add_argument("--duration", type=float, help="[s] of a motion; absent: the environment's")
    parser.add_argument("--motions", type=int, default=1, help="how many, 0: until Ctrl-C")
    parser.add_argument(
        "--set",
        nargs="*",
        default=[],
        metavar="PARAMETER=VALUE",
        help="parameters of the scene, instead of what `reset` draws",
    )
    parser.add_argument("--prefix", default="", help="of the robot's joints in the scene")
    parser.add_argument("--driver", default="driver", help="name of the driver's node")
    options = parser.parse_args(remove_ros_args(list(given)))
    if options.motions < 0:
        raise InputError("run_policy", "--motions", options.motions, "0 or more")
    return options


class _States:
    """Where the robot is, by its joint states."""

    def __init__(self, ros: Commander, run: PolicyRun) -> None:
        self._ros, self._clock = ros, ros.node.get_clock()
        self._states = JointStates(run.names, run.arm.limits.velocity, STATE_AGE)
        ros.node.create_subscription(JointState, "joint_states", self._on_state, LATEST)

    def now(self) -> int:
        """ROS time [ns]."""
        return self._clock.now().nanoseconds

    def _on_state(self, message: JointState) -> None:
        if self.now():  # simulated time has begun
            sample = convert_motion.joint_sample(message)
            self._states.add(nanoseconds(message.header.stamp), self.now(), sample)

    def resting(self) -> np.ndarray:
        """Positions (n,) of a robot at rest; InputError where none come, CallFailed: it moves."""

        def rests() -> bool:
            return self._states.is_fresh(self.now) and self._states.rests(RESTS)

        with contextlib.suppress(CallFailed):
            self._ros.wait(rests, "", WAIT)
        found = self._states.present(self.now)  # or why there is none
        if not self._states.rests(RESTS):
            raise CallFailed(f"the robot still moves after {WAIT:g} s; it must rest first")
        return found.rows(self._states.names)[0]


def _motion(run: PolicyRun, ros: Commander, states: _States) -> tuple[PolicyMotion, Report]:
    """One motion from where the robot rests, and how it ended.

    The driver may be at work where the robot seems to rest: at the slow end of another's motion.
    """
    end = monotonic() + WAIT
    while True:
        try:
            found, trajectory = run.motion(states.resting())
        except InputError as error:  # the files were sound: it is where the robot is
            raise CallFailed(str(error)) from None
        said = f"{found.times[-1]:.2f} s, return {found.rewards.sum():.4g} in the model"
        print(f"a motion of {said}", file=sys.stderr)
        report = ros.execute(trajectory, name=f"{run.options.driver}/execute")
        if report.code != "BUSY" or monotonic() > end:
            return found, report
        print(f"{report.message}; waiting", file=sys.stderr)
        ros.pause(AGAIN)


def _carried_out(run: PolicyRun, given: Sequence[str], made: list[PolicyMotion]) -> Report:
    """Move the robot as often as asked for; the last motion's report. made: those that ended."""
    options = run.options
    with interrupts() as watch, Commander(watch, given) as ros:
        states = _States(ros, run)
        while True:
            found, report = _motion(run, ros, states)
            if report.code != "SUCCESS" or report.dry_run:
                return report
            made.append(found)
            if found.terminated or len(made) == options.motions:
                return report


def main(arguments: Sequence[str] | None = None) -> int:
    """Load, move, report."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    made: list[PolicyMotion] = []

    def count() -> str:
        return f"{len(made)} motion{'s' if len(made) > 1 else ''}" if made else ""

    return reported(
        "run_policy", lambda: _carried_out(PolicyRun(_arguments(given)), given, made), count
    )


if __name__ == "__main__":
    raise SystemExit(main())
