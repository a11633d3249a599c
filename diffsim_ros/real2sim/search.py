"""Search without gradients: a covariance matrix adaptation of normal draws (CMA-ES).

The cost of chaotic tosses is rugged on the small scale: a step along the gradient ends at the next
kink. A population sees the slope across the kinks. Seeded, so equal inputs give equal answers.
Follows Hansen, "The CMA evolution strategy: a tutorial" (arXiv:1604.00772), in its symbols.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np


@dataclass
class Population:
    """Normal distribution over the scaled parameters z that moves to lower costs.

    mean (n,), spread (n,)    start: mean and standard deviations
    lower, upper (n,)         draws are reflected into these bounds
    size                      draws per generation
    """

    mean: np.ndarray
    spread: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    size: int
    seed: int
    sigma: float = 1.0
    generation: int = 0
    _C: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        n = len(self.mean)
        self.mean, self._rng = np.array(self.mean, float), np.random.default_rng(self.seed)
        self._C, self._ps, self._pc = np.eye(n), np.zeros(n), np.zeros(n)
        half = self.size // 2
        w = math.log(half + 0.5) - np.log(np.arange(1, half + 1))
        self._w = w / w.sum()
        mueff = 1.0 / float(self._w @ self._w)
        self._mueff = mueff
        self._cs = (mueff + 2.0) / (n + mueff + 5.0)
        self._ds = 1.0 + self._cs + 2.0 * max(0.0, math.sqrt((mueff - 1.0) / (n + 1.0)) - 1.0)
        self._cc = (4.0 + mueff / n) / (n + 4.0 + 2.0 * mueff / n)
        self._c1 = 2.0 / ((n + 1.3) ** 2 + mueff)
        rank_mu = 2.0 * (mueff - 2.0 + 1.0 / mueff) / ((n + 2.0) ** 2 + mueff)
        self._cmu = min(1.0 - self._c1, rank_mu)
        self._chi = math.sqrt(n) * (1.0 - 1.0 / (4.0 * n) + 1.0 / (21.0 * n * n))

    def draw(self) -> np.ndarray:
        """Draws of this generation (size, n), within the bounds."""
        values, self._B = np.linalg.eigh(self._C)
        self._D = np.sqrt(np.maximum(values, 1e-20))
        normal = self._rng.standard_normal((self.size, len(self.mean)))
        steps = (normal * self._D) @ self._B.T
        return reflected(self.mean + self.sigma * self.spread * steps, self.lower, self.upper)

    def learn(self, draws: np.ndarray, costs: np.ndarray) -> None:
        """Move towards the better half of the draws; infinite costs count as the worst."""
        order = np.argsort(np.where(np.isfinite(costs), costs, np.inf), kind="stable")
        chosen = draws[order[: len(self._w)]]
        steps = (chosen - self.mean) / (self.sigma * self.spread)
        move = self._w @ steps
        self.mean = self.mean + self.sigma * self.spread * move
        whitened = self._B @ ((self._B.T @ move) / self._D)
        self._ps = (1.0 - self._cs) * self._ps
        self._ps += math.sqrt(self._cs * (2.0 - self._cs) * self._mueff) * whitened
        self.generation += 1
        decay = 1.0 - (1.0 - self._cs) ** (2 * self.generation)
        norm = float(np.linalg.norm(self._ps))
        n = len(self.mean)
        moving = norm / math.sqrt(decay) / self._chi < 1.4 + 2.0 / (n + 1.0)
        self._pc = (1.0 - self._cc) * self._pc
        if moving:
            self._pc += math.sqrt(self._cc * (2.0 - self._cc) * self._mueff) * move
        lost = 0.0 if moving else self._cc * (2.0 - self._cc)
        rank_one = np.outer(self._pc, self._pc) + lost * self._C
        rank_mu = (steps.T * self._w) @ steps
        self._C = (1.0 - self._c1 - self._cmu) * self._C + self._c1 * rank_one + self._cmu * rank_mu
        self._C = 0.5 * (self._C + self._C.T)
        self.sigma *= math.exp(min(1.0, self._cs / self._ds * (norm / self._chi - 1.0)))

    @property
    def covariance(self) -> np.ndarray:
        """Covariance of the draws (n, n)."""
        return self.sigma**2 * np.outer(self.spread, self.spread) * self._C


def reflected(z: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """Points folded back into the box at its faces; infinite bounds fold nothing."""
    span = upper - lower
    finite = np.isfinite(span)
    safe_lower, safe_span = np.where(finite, lower, 0.0), np.where(finite, span, 1.0)
    phase = np.mod((z - safe_lower) / safe_span, 2.0)
    folded = safe_lower + safe_span * np.where(phase > 1.0, 2.0 - phase, phase)
    return np.clip(np.where(finite, folded, z), lower, upper)


def default_size(n: int) -> int:
    """Draws per generation that the method's author advises for n parameters, even."""
    return 2 * ((4 + int(3.0 * math.log(n)) + 2) // 2)
