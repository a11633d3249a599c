"""Model predictive control of a legged robot on the generator's own model [G 3.6.1].

Every tick takes the measured state as the first sample, the footfall pattern and the reference
ahead, and improves the former plan by one or two Gauss-Newton steps.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from diffsim_ros import _engine
from diffsim_ros.errors import InputError
from diffsim_ros.rotation import quat_conjugate, quat_exp, quat_log, quat_matrix, quat_multiply

from ..generator import engine_model
from ..legged_robot import LeggedRobot
from .contact_state import ContactModel
from .footfalls import Footfalls
from .reference import ComposedMotion, ReferenceStates

WHEELS = ("spin", "yaw", "tilt")
FADE = 0.1
"""[s] by which a measured deviation decays in the plan that a tick begins with."""


@dataclass(frozen=True)
class MpcOptions:
    """Of the horizon and its solver.

    horizon, step  [s] ahead, and between samples;  iterations: Gauss-Newton steps a tick
    friction, rolling_resistance  [1] that plans may use, and reckon with at free wheels
    body, velocity, contacts, posture, forces  weights of nearness to the reference
    """

    horizon: float = 1.0
    step: float = 0.04
    iterations: int = 3
    friction: float = 0.5
    rolling_resistance: float = 0.01
    body: float = 50.0
    velocity: float = 15.0
    contacts: float = 2.0
    posture: float = 0.5
    forces: float = 3.0

    def __post_init__(self) -> None:
        if not 0.0 < 4 * self.step <= self.horizon:
            rule = f"> 0, at most a quarter of the horizon of {self.horizon:g} s"
            raise InputError("predictive control", "step", self.step, rule)
        if self.iterations < 1:
            raise InputError("predictive control", "iterations", self.iterations, "at least 1")

    @property
    def samples(self) -> int:
        """Those of the horizon, and the one before the present."""
        return round(self.horizon / self.step) + 2


@dataclass(frozen=True, eq=False)
class Horizon:
    """What a tick plans: samples at `times` (N,), the second one now; its plan and the reference.

    plan        arrays of the engine, forces in weights;  reference at the same times; wanted: with
                contacts and footholds as `Footfalls` has them
    value       E;  iterations taken
    """

    times: np.ndarray
    plan: Mapping[str, np.ndarray]
    reference: ReferenceStates
    wanted: ReferenceStates
    value: float
    iterations: int

    def deviation(self) -> tuple[np.ndarray, ...]:
        """The plan beside the reference: base's shift (N, 3), its turn (N, 3), joints (N, n) and
        contact points (N, m, 3)."""
        q, of = self.plan["q"], self.reference.q
        turn = quat_log(quat_multiply(quat_conjugate(of[:, 3:7]), q[:, 3:7]))
        return (
            q[:, :3] - of[:, :3], turn, q[:, 7:] - of[:, 7:], self.plan["e"] - self.wanted.points
        )  # fmt: skip


class Mpc:
    """Plans of `horizon` seconds along a composed motion, from measured states."""

    def __init__(
        self, robot: LeggedRobot, motion: ComposedMotion, options: MpcOptions = MpcOptions()
    ) -> None:
        self.robot, self.motion, self.options = robot, motion, options
        self.contacts, self.tree = ContactModel(robot), robot.model()
        self.legged = engine_model(robot, options.rolling_resistance)
        self._wheel = np.array([effector.axis is not None for effector in robot.end_effectors])
        self.weight = robot.mass * 9.81
        self._solver = _engine.MotionSolverOptions()
        self._solver.iterations = options.iterations
        self._problem: Any = None
        self.last: Horizon | None = None

    def tick(
        self, time: float, q: np.ndarray, qd: np.ndarray, footfalls: Footfalls | None = None,
        offset: np.ndarray | None = None,
    ) -> Horizon:  # fmt: skip
        """The plan at `time` [s] from the state q (7 + n,), qd (6 + n + w,) as `ContactModel` has
        them; it begins with the former one, shifted.  offset (3,) [m]: of the body's reference."""
        options = self.options
        times = time + options.step * (np.arange(options.samples) - 1.0)
        motion = self.motion.at(times)
        of = motion
        at, qd = self.contacts(q, qd), qd[: 6 + len(self.robot.joint_names)]
        state, points = self.tree.centroidal(q, qd), at["point"].copy()
        com = np.asarray(state["com"])
        velocity = np.asarray(state["momentum"])[3:] / self.robot.mass
        if footfalls is not None:
            of = footfalls.adapt(time, times, of, points, com, velocity)
        if offset is not None:
            motion, of = _moved(motion, offset), _moved(of, offset)
        task = _engine.MotionTask(
            options.step, of.contact, np.where(of.contact, 0.0, np.maximum(of.points[..., 2], 0.0)),
            friction=options.friction, end="free", fixed=2, free_forces=True,
            tracking=[options.body, options.velocity, options.contacts, options.posture,
                      options.forces],
        )  # fmt: skip
        if self._problem is None:
            self._problem = _engine.MotionProblem(self.legged, task)
        reference = self._as_plan(of)
        self._problem.set_task(task, reference)
        wheels = self._measured(at, motion)
        guess = self._guess(times, motion, of, reference, q, com, wheels)
        self._begin(guess, motion, q, qd, com, velocity)
        points[of.contact[1], 2] = 0.0  # where the pattern has them stand
        guess["e"][:2] = points
        found = self._problem.improve(guess, self._solver)
        self.last = Horizon(times, found["plan"], motion, of, found["value"], found["iterations"])
        return self.last

    def _as_plan(self, of: ReferenceStates) -> dict[str, np.ndarray]:
        return {
            "x": of.com.copy(), "R": quat_matrix(of.q[:, 3:7]), "e": of.points.copy(),
            "f": of.forces / self.weight, "spin": of.spin, "yaw": of.yaw, "tilt": of.tilt,
            "q": of.q.copy(), "travel": np.zeros(4),
        }  # fmt: skip

    def _measured(self, at: Mapping[str, np.ndarray], of: ReferenceStates) -> np.ndarray:
        """(3, m) spin, yaw and tilt of wheels, the yaw within half a turn of the motion's."""
        axis = at["axis"]
        yaw = np.arctan2(-axis[:, 0], axis[:, 1]) - of.yaw[1]
        yaw = of.yaw[1] + np.remainder(yaw + np.pi, 2 * np.pi) - np.pi
        found = np.stack([at["spin"], yaw, np.arcsin(np.clip(axis[:, 2], -1.0, 1.0))])
        return np.where(self._wheel, found, 0.0)

    def _guess(
        self, times: np.ndarray, of: ReferenceStates, wanted: ReferenceStates,
        reference: Mapping[str, np.ndarray], q: np.ndarray, com: np.ndarray, wheels: np.ndarray,
    ) -> dict[str, np.ndarray]:  # fmt: skip
        """The former plan's deviation from the reference, at the new times."""
        guess = {name: value.copy() for name, value in reference.items()}
        guess["x"], guess["q"] = of.com.copy(), of.q.copy()
        former = self.last
        if former is None or times[0] - former.times[0] > self.options.horizon:
            for name, measured in zip(WHEELS, wheels, strict=True):
                guess[name][:2] = measured
            return guess
        u = np.clip((times - former.times[0]) / self.options.step, 1.0, len(times) - 1.0)
        before = np.minimum(np.floor(u).astype(int), len(times) - 2)
        part = u - before

        def mixed(rows: np.ndarray) -> np.ndarray:
            share = part.reshape(-1, *[1] * (rows.ndim - 1))
            return np.asarray((1 - share) * rows[before] + share * rows[before + 1])

        shift, turn, joints, points = map(mixed, former.deviation())
        # What the state is off the former plan decays along the new one.
        fade = np.exp(-self.options.step * np.maximum(np.arange(len(times)) - 1.0, 0.0) / FADE)[
            :, None
        ]
        shift = shift + fade * (q[:3] - of.q[1, :3] - shift[1])
        measured = quat_log(quat_multiply(quat_conjugate(of.q[1, 3:7]), q[3:7]))
        turn = turn + fade * (measured - turn[1])
        joints = joints + fade * (q[7:] - of.q[1, 7:] - joints[1])
        away = mixed(former.plan["x"] - former.reference.com)
        guess["x"] += away + fade * (com - of.com[1] - away[1])
        guess["q"][:, :3] += shift
        guess["q"][:, 3:7] = quat_multiply(guess["q"][:, 3:7], quat_exp(turn))
        guess["q"][:, 7:] += joints
        guess["R"] = quat_matrix(guess["q"][:, 3:7])
        guess["e"] += points
        for name, measured in zip(WHEELS, wheels, strict=True):
            beside = mixed(former.plan[name] - getattr(former.reference, name))
            guess[name] += beside + fade * (measured - guess[name][1] - beside[1])
            guess[name][:2] = measured
        near = np.floor(u + 0.5).astype(int)
        same = (wanted.contact & former.wanted.contact[near])[..., None]
        guess["f"] = np.where(same, former.plan["f"][near], guess["f"])
        return guess

    def _begin(
        self, guess: dict[str, np.ndarray], of: ReferenceStates, q: np.ndarray, qd: np.ndarray,
        com: np.ndarray, velocity: np.ndarray,
    ) -> None:  # fmt: skip
        """The measured state as the second sample, and the one before such that their difference is
        the reference's with the measured error of velocity."""
        h = self.options.step
        error = qd - of.qd[1]
        guess["x"][1], guess["q"][1] = com, q
        guess["x"][0] = com - (of.com[1] - of.com[0]) - h * (velocity - of.com_velocity[1])
        base = q[:3] - (of.q[1, :3] - of.q[0, :3]) - h * error[:3]
        turned = quat_log(quat_multiply(quat_conjugate(of.q[0, 3:7]), of.q[1, 3:7]))
        back = quat_multiply(q[3:7], quat_exp(-(turned + h * error[3:6])))
        joints = q[7:] - (of.q[1, 7:] - of.q[0, 7:]) - h * error[6:]
        guess["q"][0] = np.concatenate([base, back, joints])
        guess["R"][:2] = quat_matrix(guess["q"][:2, 3:7])


def _moved(of: ReferenceStates, offset: np.ndarray) -> ReferenceStates:
    """With the body elsewhere, and feet where they are."""
    q = of.q.copy()
    q[:, :3] += offset
    return replace(of, com=of.com + offset, q=q)
