"""A trajectory sent to the twin's robot without ROS: the motion of joints and bodies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..errors import InputError
from ..robots import controlled
from ..robots.command import NANO, JointCommand
from ..robots.controlled import Executed
from ..robots.controller import rejection
from ..robots.trajectory import JointTrajectory
from ..sensing.observation import Observation
from .config import TwinConfig
from .record import TwinRecord
from .twin import Twin, Variation
from .world import TICK, World


def executed(config: TwinConfig, trajectory: JointTrajectory) -> Executed:
    """The joints' motion when the twin's controller runs a trajectory from its first point.

    Raises InputError where the controller refuses it.
    """
    return controlled.executed(trajectory, config.arm.robot.joint_names, config.controller)


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


def joint_log(
    twin: Twin,
    trajectory: JointTrajectory,
    *,
    rate: float = 500.0,
    after: float = 0.1,
    number: int = 0,
) -> Observation:
    """What joint states have while the twin's controller runs a trajectory from its first point.

    rate    [Hz] of readings: a whole share of the twin's 500 Hz;  after  [s] beyond the end
    number  of the episode: another number, other noise
    InputError: another rate, a twin without `efforts`, a trajectory that the controller refuses.
    """
    every = round(NANO / rate) // TICK
    if every < 1 or abs(every * TICK * rate / NANO - 1) > 1e-6:
        rule = f"a whole share of {NANO / TICK:g} Hz"
        raise InputError(twin.config.place, "rate", rate, rule)
    efforts = twin.config.efforts
    if efforts is None:
        raise InputError(twin.config.place, "efforts", None, "the efforts of the twin's joints")
    command, names = JointCommand.of(trajectory), twin.config.arm.robot.joint_names
    reason = rejection(command, names, 0)
    if reason:
        rule = "a trajectory that the controller accepts"
        raise InputError("trajectory", "", reason, rule)
    first = command.trajectory(names).positions[0]
    world, rows = World(Twin(replace(twin.config, start=first))), []
    world.controller.start(command)
    for k in range(1, round((trajectory.duration + after) * NANO) // TICK + 1):
        world.controller.advance(k * TICK)
        if k % every == 0:
            joints = world.controller
            rows.append((joints.position.copy(), joints.velocity.copy(), world.exerted()))
        world.follow()
    q, qd, exerted = np.swapaxes(np.array(rows), 0, 1)
    seed, t = twin.config.seed, every * TICK / NANO * np.arange(len(q))
    effort = efforts.read(exerted)
    effort += [efforts.noise(seed, number, k + 1) for k in range(len(q))]
    values = {"position": q, "velocity": qd, "effort": effort}
    return Observation(
        kind="joints", t=t, names=names, values=values, source=twin.config.place, format="twin"
    )


def simulate_execution(
    twin: Twin,
    trajectory: JointTrajectory,
    *,
    number: int = 0,
    variation: Variation | None = None,
    until: float | None = None,
    lead: float | None = None,
) -> TwinRecord:
    """One attempt: the trajectory executed, and with its release.

    number     of the episode: another number, other draws
    until      [s] see Episode.play
    lead       [s] by which the gripper is commanded before the release; absent: its latency
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
    """Several attempts, (number, variation) each, of one trajectory: the joints move equally."""
    motion, release = executed(twin.config, trajectory).motion, trajectory.release
    if release is not None:
        latency = twin.config.latency[0]
        release = release + latency - (latency if lead is None else lead)
    return [
        twin.episode(number, variation).play(motion, release, until)
        for number, variation in attempts
    ]
