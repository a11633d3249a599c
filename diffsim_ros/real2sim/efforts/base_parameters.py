"""Base parameters: the combinations of inertial parameters that efforts depend on at all.

Of the regressor's columns some are zero and others sums of others, whatever the motion.  With the
columns Y1 of a basis, Y = Y1 C, so that efforts depend on beta = C phi alone (Gautier, Proc. ICRA
1990: by QR with pivots of the regressor at random states).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import qr

from ...robots.dynamics import GRAVITY, PARAMETERS, regressor
from ...robots.robot import Robot

RANK = 1e-9
"""Columns that are smaller than this share of the largest, without those before them, are sums."""


@dataclass(frozen=True)
class BaseParameters:
    """beta = combination @ phi.

    names        of the parameters in whose place they stand: BODY.PARAMETER
    combination  (b, 10 n)
    """

    names: tuple[str, ...]
    combination: np.ndarray


def base_parameters(robot: Robot, gravity: Sequence[float] = GRAVITY) -> BaseParameters:
    """Of a robot's whole tree, at random states (the same at every call)."""
    rng = np.random.default_rng(0)
    n = len(robot.joints)
    q, qd, qdd = rng.uniform(-np.pi, np.pi, size=(3, 20 * n, n))
    table = regressor(robot, q, qd, qdd, gravity).reshape(-1, 10 * n)
    _, R, order = qr(table, mode="economic", pivoting=True)
    size = np.abs(np.diagonal(R))
    rank = int(np.sum(size > RANK * size[0]))
    combination = np.zeros((rank, 10 * n))
    combination[:, order[:rank]] = np.eye(rank)
    combination[:, order[rank:]] = np.linalg.solve(R[:rank, :rank], R[:rank, rank:])
    place = np.argsort(order[:rank])  # in the order of the tree
    chosen = order[:rank][place]
    names = tuple(f"{robot.joints[k // 10].body}.{PARAMETERS[k % 10]}" for k in chosen)
    return BaseParameters(names, combination[place])
