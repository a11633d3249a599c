"""ADAM (Kingma and Ba, 2015) within bounds: many cheap steps along a rough cost.

Each variable's step is its mean slope over the root of its mean squared slope, so that it hardly
depends on the cost's size; z is scaled to order one for that.  It passes small ripples at which a
line search stops, and converges slowly: a first stage, not a last one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from diffsim_ros.errors import InputError

from .optimizers import starting_point
from .problem import Problem
from .solution import Callback, Recorder, Solution

EPSILON = 1e-12
SHRINK = 0.5
LEAST_RATE = 1.0 / 64.0  # of the first rate, at which it ends
GROWTH = 1.3  # of steps that failures have shortened, after one that succeeds
LEAST_STEP = 1e-4  # of a whole one, at which failures end it


@dataclass(frozen=True, kw_only=True)
class AdamOptions:
    """Settings of `adam`.

    max_iterations      evaluations of cost and gradient
    rate                first step, in scaled variables
    mean, square        memory of the slopes' mean and mean square
    patience            iterations without a new best after which the rate is halved
    gradient_tolerance  on the largest slope along a free variable
    """

    max_iterations: int = 300
    rate: float = 0.05
    mean: float = 0.9
    square: float = 0.99
    patience: int = 15
    gradient_tolerance: float = 1e-8

    def __post_init__(self) -> None:
        if self.max_iterations < 1 or self.patience < 1:
            got: tuple[float, ...] = (self.max_iterations, self.patience)
            raise InputError("AdamOptions", "max_iterations, patience", got, "1 or more")
        if not (self.rate > 0 and 0 <= self.mean < 1 and 0 <= self.square < 1):
            got = (self.rate, self.mean, self.square)
            raise InputError("AdamOptions", "rate, mean, square", got, "> 0, and in [0, 1)")


class _Moments:
    """Mean and mean square of the slopes, bias taken out."""

    def __init__(self, options: AdamOptions, size: int) -> None:
        self.options, self.count = options, 0
        self.first, self.second = np.zeros(size), np.zeros(size)

    def direction(self, g: np.ndarray) -> np.ndarray:
        """Step of rate one."""
        o = self.options
        self.count += 1
        self.first = o.mean * self.first + (1 - o.mean) * g
        self.second = o.square * self.second + (1 - o.square) * g * g
        mean = self.first / (1 - o.mean**self.count)
        square = self.second / (1 - o.square**self.count)
        return -mean / (np.sqrt(square) + EPSILON)


def adam(
    problem: Problem, z: np.ndarray | None = None, y: np.ndarray | None = None, *,
    options: AdamOptions | None = None, callback: Callback | None = None, cancel: Any = None,
) -> Solution:  # fmt: skip
    """Minimise the cost along its adjoint gradient; z stays in its bounds.

    callback  called with a `Progress` after every iteration
    cancel    object with `.cancelled`; when it turns True the best point so far is returned
    After a failed simulation it starts again from the best point with shorter steps, which grow
    again; after `patience` iterations without gain the rate is halved permanently.  Returns the
    best point, with status "objective" when the rate has become LEAST_RATE of the first.
    """
    options = options or AdamOptions()
    z, y = starting_point(problem, z, y)
    recorder, nz = Recorder(problem, options.max_iterations, callback), len(z)
    free = np.full(y.size, np.inf)
    low, high = np.concatenate([problem.lower, -free]), np.concatenate([problem.upper, free])
    x, rate = np.concatenate([z, y.ravel()]), options.rate
    moments = _Moments(options, x.size)
    best, since, short, status = (np.inf, x), 0, 1.0, "max_iterations"
    for _ in range(options.max_iterations):
        inner = x[nz:].reshape(problem.nuisance_shape)
        now = recorder.counted(problem.evaluate(x[:nz], inner, want="gradient", cancel=cancel))
        if now.cancelled or getattr(cancel, "cancelled", False):
            status = "cancelled"
            break
        if not now.ok and not np.isfinite(best[0]):
            cause = "; ".join(now.failures[:3])
            return recorder.solution(z, y, np.inf, "start_failed", cause)
        improved = now.ok and now.value < best[0]
        slope = np.inf
        short = min(1.0, GROWTH * short) if now.ok else SHRINK * short
        if now.ok:
            g = np.concatenate([now.gradient[0], now.gradient[1].ravel()])
            slope = float(np.abs(np.clip(x - g, low, high) - x).max())
        if improved:
            best, since = (now.value, x), 0
        else:
            since += 1
        if slope <= options.gradient_tolerance:
            status = "gradient"
            recorder.record(best[1][:nz], best[0], slope, 0.0, rate, improved)
            break
        if not now.ok or since >= options.patience:
            moved, moments = best[1], _Moments(options, x.size)
            if now.ok:
                rate, since = rate * SHRINK, 0
        else:
            moved = np.clip(x + short * rate * moments.direction(g), low, high)
        size = float(np.abs(moved - x).max(initial=0.0))
        recorder.record(best[1][:nz], best[0], slope, size, rate, improved, now.failures)
        x = moved
        if rate <= LEAST_RATE * options.rate or short < LEAST_STEP:
            status = "stalled" if short < LEAST_STEP else "objective"
            break
    value, x = best
    return recorder.solution(x[:nz], x[nz:].reshape(problem.nuisance_shape), value, status)
