"""A trajectory sent to the twin's robot without ROS: what the joints and the bodies then do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import InputError
from ..robots.command import NANO, JointCommand
from ..robots.controller import Controller, Outcome, rejection
from ..robots.trajectory import JointTrajectory
from .config import TwinConfig
from .record import TwinRecord
from .twin import Twin, Variation

SAMPLED = 0.002
"""Seconds between samples of the executed motion."""
SETTLE = 0.5
"""Seconds that joints are watched after a trajectory's end, at most."""


@dataclass(frozen=True)
class Executed:
    """motion: of the joints;  outcome: how the controller ended it, None: not within SETTLE
    tracking_error: greatest difference of commanded and actual positions [rad or m]"""

    motion: JointTrajectory
    outcome: Outcome | None
    tracking_error: float


def executed(config: TwinConfig, trajectory: JointTrajectory) -> Executed:
    """The joints' motion when the twin's controller runs a trajectory from its first point.

    Raises InputError where the controller refuses it.
    """
    names = config.arm.robot.joint_names
    command = JointCommand.of(trajectory)
    reason = rejection(command, names, 0)
    if reason:
        rule = "a trajectory that the controller accepts"
        raise InputError("trajectory", "", reason, rule)
    first = command.trajectory(names).positions[0]
    controller = Controller(names, first, config.controller)
    controller.start(command)
    count = int(np.ceil((trajectory.duration + SETTLE) / SAMPLED)) + 1
    rows, outcome, worst = np.empty((2, count, len(names))), None, 0.0
    for k in range(count):  # the controller goes from cycle to cycle
        outcome = controller.advance(round(k * SAMPLED * NANO)) or outcome
        rows[:, k] = controller.position, controller.velocity
        worst = max(worst, float(np.abs(controller.error).max()))
    times = SAMPLED * np.arange(count)
    return Executed(JointTrajectory(names, times, *rows), outcome, worst)


def limit_shares(config: TwinConfig, motion: JointTrajectory) -> dict[str, float]:
    """Largest shares of the robot's limits that an executed motion takes; above 1 is outside.

    position_share counts from the middle of a joint's range. Accelerations are means over a cycle
    of the controller, which sends one position a cycle: a joint's own loop answers each with more
    at its beginning than at its end.
    """
    bound, rate = config.arm.limits, config.controller.rate
    ends = np.isfinite(bound.upper - bound.lower)  # of joints that have any
    middle, half = (0.5 * (bound.upper[ends] + sign * bound.lower[ends]) for sign in (1, -1))
    cycle = np.arange(motion.times[0], motion.times[-1], 1 / rate)
    push = np.abs(np.diff(motion.at(cycle)[1], axis=0) * rate / bound.acceleration)
    return {
        "position_share": float(
            (np.abs(motion.positions[:, ends] - middle) / half).max(initial=0.0)
        ),
        "velocity_share": float(np.abs(motion.velocities / bound.velocity).max()),
        "acceleration_share": float(push.max()),
    }


def simulate_execution(
    twin: Twin,
    trajectory: JointTrajectory,
    *,
    number: int = 0,
    variation: Variation | None = None,
    until: float | None = None,
    lead: float | None = None,
) -> TwinRecord:
    """One attempt: the trajectory executed, and released as it says.

    number     of the episode: another number, other draws
    until      [s] see Episode.play
    lead       [s] by which the gripper is told before the trajectory's release; absent: its latency
    """
    return simulate_executions(
        twin, trajectory, [(number, variation)], until=until, lead=lead
    )[0]  # fmt: skip


def simulate_executions(
    twin: Twin,
    trajectory: JointTrajectory,
    attempts: Sequence[tuple[int, Variation | None]],
    *,
    until: float | None = None,
    lead: float | None = None,
) -> list[TwinRecord]:
    """Several attempts, (number, variation) each, of one trajectory: the joints move alike."""
    motion, release = executed(twin.config, trajectory).motion, trajectory.release
    if release is not None:
        latency = twin.config.latency[0]
        release = release + latency - (latency if lead is None else lead)
    return [
        twin.episode(number, variation).play(motion, release, until)
        for number, variation in attempts
    ]
