"""Starts as estimated, with their standard deviations, parameters not known either."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..inverse.simulation_problem import SimulationProblem
from ..inverse.trial import InitialState
from ..inverse.uncertainty import bounded_inverse

KINDS = ("position", "orientation", "velocity", "angular_velocity")


@dataclass(frozen=True, eq=False)
class StartEstimate:
    """Start of one recording, scene's frame.

    state    position, orientation, velocity, angular velocity (the second and last None if held)
    sigma    kind -> (3,) standard deviations along the world's axes, in m, rad, m/s, rad/s
    """

    state: InitialState
    sigma: dict[str, np.ndarray]

    def document(self) -> dict:
        """Plain data for metrics.json."""
        found = {}
        for kind in self.sigma:
            found[kind] = getattr(self.state, kind).tolist()
            found[f"{kind}_sigma"] = self.sigma[kind].tolist()
        return found


def start_estimates(problem: SimulationProblem, z, y, noise: float = 1.0) -> list[StartEstimate]:
    """Every recording's start at (z, y), and its sigma from `noise` times the sensor's.

    With the arrow of the normal equations, C_yy = H_yy^-1 + X C_zz X^T, X = H_yy^-1 H_yz;
    parameters at a bound are held there, and one that nothing sees moves no start.  A start's
    offset is o = L u.
    """
    equations = problem.evaluate(z, y, want="curvature").equations.with_noise(noise**2)
    _, H, X = equations.reduced()
    inside = np.flatnonzero((z > problem.lower + 1e-9) & (z < problem.upper - 1e-9))
    shared = np.zeros_like(H)
    if len(inside):
        shared[np.ix_(inside, inside)] = bounded_inverse(H[np.ix_(inside, inside)])
    found = []
    for k, (states, Hyy) in enumerate(zip(problem.starts(z, y), equations.Hyy, strict=True)):
        slope = X[k, :, 1:]
        covariance = np.linalg.inv(Hyy) + slope @ shared @ slope.T
        factor = problem.trials[k].starts[0].factor
        sigma = np.sqrt(np.diagonal(factor @ covariance @ factor.T))
        kinds = KINDS if len(sigma) == 12 else KINDS[::2]
        parts = dict(zip(kinds, sigma.reshape(-1, 3), strict=True))
        found.append(StartEstimate(states[0], parts))
    return found
