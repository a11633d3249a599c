"""Torques of a legged robot whose feet stand: a quadratic program over accelerations and contact
forces under the whole equations of motion [G 3.6.1]."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from diffsim_ros.errors import InputError

from ..legged_robot import LeggedRobot
from .contact_state import ContactModel

BASE = 6
OCTAGON = np.array([[math.cos(k * math.pi / 4), math.sin(k * math.pi / 4)] for k in range(8)])
"""Directions (8, 2) in which a foot's force along the ground is bounded."""
EFFORT = 1e4
"""[N m] of joints without a known limit."""
CREEP = 0.5
"""[rad/s] of a free wheel at which its rolling resistance is three quarters."""


@dataclass(frozen=True)
class InverseDynamicsOptions:
    """friction      [1] that forces may use, as an octagon within the cone
    least_load, most_load  of a foot that stands, in weights of the robot
    still         [1/s] by which the speed decays of what stands or rolls: of the material point
    stance, base, turn, swing, forces, joints  weights of feet that stay, of wanted accelerations of
                  the base [1/(m/s^2)^2], of its turn [1/(rad/s^2)^2], of feet in the air, of forces
                  [in weights] and of joints
    """

    friction: float = 0.5
    rolling_resistance: float = 0.01
    least_load: float = 0.01
    most_load: float = 1.5
    still: float = 20.0
    stance: float = 1e4
    base: float = 1.0
    turn: float = 0.05
    swing: float = 0.3
    forces: float = 100.0
    joints: float = 1e-3


@dataclass(frozen=True, eq=False)
class Wanted:
    """What the program is to come near to, of a robot with n joints, w wheels that turn and m end
    effectors.

    base     (6,) acceleration of the base [m/s^2], in its own axes [rad/s^2]
    stands   (m,) feet that touch and stay, wheels that touch and roll
    feet     (m, 3) accelerations of the lowest points of the others [m/s^2]
    forces   (m, 3) [N];  joints (n + w,) accelerations of joints, then of wheels [rad/s^2]
    """

    base: np.ndarray
    stands: np.ndarray
    feet: np.ndarray
    forces: np.ndarray
    joints: np.ndarray


@dataclass(frozen=True, eq=False)
class Efforts:
    """torques (n + w,) [N m], 0 of wheels that turn freely; accelerations (6 + n + w,); forces
    (m, 3) [N]; solved: whether the program was, else torques are those of the forces wanted.

    residual  of the equations of motion of base and free wheels [N, N m], the largest
    """

    torques: np.ndarray
    accelerations: np.ndarray
    forces: np.ndarray
    solved: bool
    residual: float


@dataclass(frozen=True, eq=False)
class Program:
    """min 1/2 x^T P x + c^T x, A x = b, low <= G x <= high; x: accelerations, then forces of the
    feet that stand, in weights of the robot."""

    P: np.ndarray
    c: np.ndarray
    A: np.ndarray
    b: np.ndarray
    G: np.ndarray
    low: np.ndarray
    high: np.ndarray


class InverseDynamics:
    """The program of one robot; PIQP solves it (extra `tracking`)."""

    def __init__(
        self, robot: LeggedRobot, options: InverseDynamicsOptions = InverseDynamicsOptions(), *,
        balls: dict[str, float] | None = None,
    ) -> None:  # fmt: skip
        """balls: radii [m] of point feet that are balls, which roll; others are points.

        InputError: an end effector that is not tracked, PIQP not installed.
        """
        try:
            import piqp
        except ImportError as error:
            rule = "the extra `tracking`"
            raise InputError("inverse dynamics", "piqp", "not installed", rule) from error
        self._piqp = piqp
        self.robot, self.options, self.dynamics = robot, options, ContactModel(robot, balls)
        self.weight = robot.mass * 9.81
        effort = np.array(robot.robot.limits["effort"], float)
        effort = np.concatenate([effort, np.zeros(len(self.dynamics.wheels))])
        self.effort = np.where(np.isfinite(effort) & (effort > 0), effort, EFFORT)
        wheels = enumerate(self.dynamics.wheels, len(robot.joint_names))
        passive = [pair for pair in wheels if robot.end_effectors[pair[1]].kind == "passive"]
        self.free = np.array([joint for joint, _ in passive], int)
        self.free_wheels = [wheel for _, wheel in passive]
        self.effort[self.free] = 0.0
        self.driven = np.setdiff1d(np.arange(self.dynamics.size), self.free)

    def program(self, at: Mapping[str, np.ndarray], wanted: Wanted) -> Program:
        """The quadratic program at `dynamics(q, qd)`."""
        o, n, m = self.options, len(at["h"]), len(self.robot.end_effectors)
        stands = np.flatnonzero(wanted.stands)
        rows = _rows(stands)
        Jc = at["J"][rows]
        size = n + len(rows)
        P, c = np.zeros((size, size)), np.zeros(size)
        base = np.repeat([o.base, o.turn], 3)
        P[np.arange(BASE), np.arange(BASE)] += base
        c[:BASE] -= base * wanted.base
        joints = np.arange(BASE, n)
        P[joints, joints] += o.joints
        c[BASE:n] -= o.joints * wanted.joints
        air = np.setdiff1d(np.arange(m), stands)
        if len(air):
            J = at["place_J"][_rows(air)]
            left = (wanted.feet - at["place_bias"])[air].ravel()
            P[:n, :n] += o.swing * J.T @ J
            c[:n] -= o.swing * J.T @ left
        forces = np.arange(n, size)
        P[forces, forces] += o.forces
        c[n:] -= o.forces * wanted.forces[stands].ravel() / self.weight
        left = -(at["bias"] + o.still * at["velocity"])[stands].ravel()
        P[:n, :n] += o.stance * Jc.T @ Jc
        c[:n] += -o.stance * Jc.T @ left
        A, b = self._unmoved(at, stands)
        # Of a foot: forces within an octagon in the cone, loads between bounds; then torques.
        W, driven = self.weight, BASE + self.driven
        sides, each = len(OCTAGON), len(OCTAGON) + 1
        G = np.zeros((each * len(stands) + len(driven), size))
        low, high = np.full(len(G), -np.inf), np.full(len(G), np.inf)
        for s in range(len(stands)):
            at_f, r = n + 3 * s, each * s
            G[r : r + sides, at_f : at_f + 2] = OCTAGON
            G[r : r + sides, at_f + 2] = -math.cos(math.pi / 8) * o.friction
            high[r : r + sides] = 0.0
            G[r + sides, at_f + 2] = 1.0
            low[r + sides], high[r + sides] = o.least_load, o.most_load
        r, effort = each * len(stands), self.effort[self.driven]
        G[r:, :n], G[r:, n:] = at["M"][driven], -W * Jc[:, driven].T
        low[r:], high[r:] = -effort - at["h"][driven], effort - at["h"][driven]
        return Program(P, c, A, b, G, low, high)

    def _unmoved(
        self, at: Mapping[str, np.ndarray], stands: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """A x = b: the equations of motion of what no motor moves, base and free wheels."""
        n, W, rows = len(at["h"]), self.weight, _rows(stands)
        of = np.concatenate([np.arange(BASE), BASE + self.free])
        A = np.hstack([at["M"][of], -W * at["J"][np.ix_(rows, of)].T])
        b = -at["h"][of]
        for k, j in enumerate(self.free_wheels):
            on = np.flatnonzero(stands == j)
            if len(on):  # rolling resistance, over the load
                A[BASE + k, n + 3 * on[0] + 2] += W * self._resistance(at, j)
            scale = np.abs(A[BASE + k]).max()
            A[BASE + k] /= scale
            b[BASE + k] /= scale
        return A, b

    def _resistance(self, at: Mapping[str, np.ndarray], j: int) -> float:
        """Moment of rolling resistance of wheel j over its load [m]."""
        share = math.tanh(at["spin"][j] / CREEP)
        return float(self.options.rolling_resistance * self.dynamics.radii[j] * share)

    def solve(self, program: Program) -> tuple[np.ndarray, Any, bool]:
        """x, PIQP's result with multipliers, and whether it was solved."""
        f = np.asfortranarray
        solver = self._piqp.DenseSolver()
        solver.settings.eps_abs = solver.settings.eps_rel = 1e-7
        solver.settings.verbose = False
        solver.setup(
            f(program.P), program.c, f(program.A), program.b, f(program.G), program.low,
            program.high,
        )  # fmt: skip
        status = solver.solve()
        return np.array(solver.result.x), solver.result, status == self._piqp.PIQP_SOLVED

    def __call__(
        self, q: np.ndarray, qd: np.ndarray, wanted: Wanted,
        at: Mapping[str, np.ndarray] | None = None,
    ) -> Efforts:  # fmt: skip
        """Torques at a state q (7 + n,), qd (6 + n + w,); at: of `dynamics` there."""
        at = self.dynamics(q, qd) if at is None else at
        n, stands = len(at["h"]), np.flatnonzero(wanted.stands)
        x, _, solved = self.solve(self.program(at, wanted))
        forces = np.zeros((len(wanted.stands), 3))
        if solved:
            forces[stands] = self.weight * x[n:].reshape(-1, 3)
            qdd = x[:n]
        else:
            forces[stands], qdd = wanted.forces[stands], np.zeros(n)
        total = at["M"] @ qdd + at["h"] - at["J"].T @ forces.ravel()
        for joint, j in zip(self.free, self.free_wheels, strict=True):
            total[BASE + joint] += self._resistance(at, j) * forces[j, 2]
        torques = np.clip(total[BASE:], -self.effort, self.effort)
        left = np.concatenate([total[:BASE], total[BASE:][self.free]])
        return Efforts(torques, qdd, forces, bool(solved), float(np.abs(left).max()))


def _rows(effectors: np.ndarray) -> np.ndarray:
    """Rows of contact points in Jacobians."""
    return np.asarray((3 * effectors[:, None] + np.arange(3)).ravel())
