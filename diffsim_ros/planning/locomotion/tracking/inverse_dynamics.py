"""Torques of a legged robot whose feet stand: a quadratic program over accelerations and contact
forces under the whole equations of motion [G 3.6.1]."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from diffsim_ros.errors import InputError

from ..legged_robot import LeggedRobot

BASE = 6
OCTAGON = np.array([[math.cos(k * math.pi / 4), math.sin(k * math.pi / 4)] for k in range(8)])
"""Directions (8, 2) in which a foot's force along the ground is bounded."""
EFFORT = 1e4
"""[N m] of joints without a known limit."""


@dataclass(frozen=True)
class InverseDynamicsOptions:
    """friction      [1] that forces may use, as an octagon within the cone
    least_load, most_load  of a foot that stands, in weights of the robot
    still         [1/s] by which the speed of feet that stand decays
    stance, base, turn, swing, forces, joints  weights of feet that stay, of wanted accelerations of
                  the base [1/(m/s^2)^2], of its turn [1/(rad/s^2)^2], of feet in the air, of forces
                  [in weights] and of joints
    """

    friction: float = 0.5
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
    """What the program is to come near to, of a robot with n joints and m feet.

    base     (6,) acceleration of the base [m/s^2], in its own axes [rad/s^2]
    stands   (m,) feet that touch and stay;  feet (m, 3) accelerations of the others [m/s^2]
    forces   (m, 3) [N];  joints (n,) accelerations [rad/s^2]
    """

    base: np.ndarray
    stands: np.ndarray
    feet: np.ndarray
    forces: np.ndarray
    joints: np.ndarray


@dataclass(frozen=True, eq=False)
class Efforts:
    """torques (n,) [N m]; accelerations (6 + n,); forces (m, 3) [N]; solved: whether the program
    was, else torques are those of the forces wanted.

    residual  of the base's equations of motion [N, N m], the largest
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

        InputError: a foot that is none, PIQP not installed.
        """
        for effector in robot.end_effectors:
            if effector.kind != "point":
                rule = "point: tracking has feet alone"
                raise InputError(robot.name, f"end effector {effector.name}", effector.kind, rule)
        try:
            import piqp
        except ImportError as error:
            rule = "the extra `tracking`"
            raise InputError("inverse dynamics", "piqp", "not installed", rule) from error
        self._piqp = piqp
        self.robot, self.options, self.model = robot, options, robot.model()
        self.weight = robot.mass * 9.81
        effort = np.array(robot.robot.limits["effort"], float)
        self.effort = np.where(np.isfinite(effort) & (effort > 0), effort, EFFORT)
        mounts = robot.mounts()
        standing = robot.link_poses(robot.stance, robot.standing_base())
        self.radii = np.array([(balls or {}).get(e.name, 0.0) for e in robot.end_effectors])
        up = np.array([standing[k - 1][2, :3] for k in mounts.links])
        self.centres = mounts.positions + self.radii[:, None] * up
        self.links = [int(k) for k in mounts.links]
        self._solvers: dict[int, Any] = {}

    def dynamics(self, q: np.ndarray, qd: np.ndarray) -> dict[str, np.ndarray]:
        """M, h, J, bias, point and velocity of the engine at a state (7 + n,), (6 + n,)."""
        found = self.model.contact_dynamics(q, qd, self.links, self.centres, self.radii)
        return {name: np.asarray(value) for name, value in found.items()}

    def program(self, at: dict[str, np.ndarray], wanted: Wanted) -> Program:
        """The quadratic program at `dynamics(q, qd)`."""
        o, n, m = self.options, len(at["h"]), len(self.links)
        stands = np.flatnonzero(wanted.stands)
        rows = (3 * stands[:, None] + np.arange(3)).ravel()
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
            J = at["J"][(3 * air[:, None] + np.arange(3)).ravel()]
            left = (wanted.feet - at["bias"])[air].ravel()
            P[:n, :n] += o.swing * J.T @ J
            c[:n] -= o.swing * J.T @ left
        forces = np.arange(n, size)
        P[forces, forces] += o.forces
        c[n:] -= o.forces * wanted.forces[stands].ravel() / self.weight
        W = self.weight
        A, b = np.zeros((BASE, size)), -at["h"][:BASE]
        A[:, :n], A[:, n:] = at["M"][:BASE], -W * Jc[:, :BASE].T
        left = -(at["bias"] + o.still * at["velocity"])[stands].ravel()
        P[:n, :n] += o.stance * Jc.T @ Jc
        c[:n] += -o.stance * Jc.T @ left
        # Of a foot: forces within an octagon in the cone, loads between bounds; then torques.
        sides, each = len(OCTAGON), len(OCTAGON) + 1
        G = np.zeros((each * len(stands) + n - BASE, size))
        low, high = np.full(len(G), -np.inf), np.full(len(G), np.inf)
        for s in range(len(stands)):
            at_f, r = n + 3 * s, each * s
            G[r : r + sides, at_f : at_f + 2] = OCTAGON
            G[r : r + sides, at_f + 2] = -o.friction * math.cos(math.pi / sides)
            high[r : r + sides] = 0.0
            G[r + sides, at_f + 2] = 1.0
            low[r + sides], high[r + sides] = o.least_load, o.most_load
        r = each * len(stands)
        G[r:, :n], G[r:, n:] = at["M"][BASE:], -W * Jc[:, BASE:].T
        low[r:], high[r:] = -self.effort - at["h"][BASE:], self.effort - at["h"][BASE:]
        return Program(P, c, A, b, G, low, high)

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
        at: dict[str, np.ndarray] | None = None,
    ) -> Efforts:  # fmt: skip
        """Torques at a state q (7 + n,), qd (6 + n,); at: of `dynamics` there."""
        at = self.dynamics(q, qd) if at is None else at
        n, stands = len(at["h"]), np.flatnonzero(wanted.stands)
        x, _, solved = self.solve(self.program(at, wanted))
        forces = np.zeros((len(self.links), 3))
        if solved:
            forces[stands] = self.weight * x[n:].reshape(-1, 3)
            qdd = x[:n]
        else:
            forces[stands], qdd = wanted.forces[stands], np.zeros(n)
        total = at["M"] @ qdd + at["h"] - at["J"].T @ forces.ravel()
        torques = np.clip(total[BASE:], -self.effort, self.effort)
        return Efforts(torques, qdd, forces, bool(solved), float(np.abs(total[:BASE]).max()))
