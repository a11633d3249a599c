"""Terms of observations and rewards: f((y - target) / scale) of numbers y, and their derivatives.

Numbers are outputs of the engine, and behind them the values of actions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

Array = np.ndarray
SHAPES: dict[str, tuple[Callable[[Array], Array], Callable[[Array], Array]]] = {
    "value": (lambda d: d, np.ones_like),
    "square": (np.square, lambda d: 2 * d),
    "sin": (np.sin, np.cos),
    "cos": (np.cos, lambda d: -np.sin(d)),
    "tanh": (np.tanh, lambda d: 1 - np.tanh(d) ** 2),
    "gaussian": (lambda d: np.exp(-(d**2) / 2), lambda d: -d * np.exp(-(d**2) / 2)),
}
"""f and its derivative."""


@dataclass(frozen=True)
class MotionTerm:
    """One number of an observation, or one of a reward.

    name    for people, e.g. "sin shoulder.coordinate"
    column  of the number y;  shape  a key of SHAPES;  target, scale  of d = (y - target) / scale
    weight  of f(d)
    """

    name: str
    column: int
    shape: str = "value"
    target: float = 0.0
    scale: float = 1.0
    weight: float = 1.0


class MotionTerms:
    """Terms of one kind, evaluated together."""

    def __init__(self, terms: Sequence[MotionTerm]) -> None:
        self.terms = tuple(terms)
        self._column = np.array([term.column for term in terms], int)
        self._target = np.array([term.target for term in terms])
        self._scale = np.array([term.scale for term in terms])
        self._weight = np.array([term.weight for term in terms])
        self._shapes = {
            shape: np.flatnonzero([term.shape == shape for term in terms]) for shape in SHAPES
        }

    def __len__(self) -> int:
        return len(self.terms)

    def values(self, y: Array) -> Array:
        """Weighted f(d) (B, terms) of numbers y (B, n)."""
        return self._each(y, 0) * self._weight

    def pull_back(self, y: Array, by_values: Array) -> Array:
        """dO/dy (B, n) from dO/d(values) (B, terms), at y."""
        slopes = self._each(y, 1) * self._weight / self._scale
        found = np.zeros_like(y)
        np.add.at(found.T, self._column, (slopes * by_values).T)
        return found

    def _each(self, y: Array, which: int) -> Array:
        d = (y[:, self._column] - self._target) / self._scale
        found = np.empty_like(d)
        for shape, where in self._shapes.items():
            if len(where):
                found[:, where] = SHAPES[shape][which](d[:, where])
        return found
