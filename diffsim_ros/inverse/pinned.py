"""A problem with some of its parameters fixed: for profiles, and for starts alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from .normal_equations import NormalEquations
from .problem import Evaluation, Problem


class Pinned:
    """Any `Problem` with the scaled variables `held` (index -> value) taken out of z.

    All of them may be fixed: then only nuisance variables are left.
    """

    def __init__(self, problem: Problem, held: Mapping[int, float]) -> None:
        self.problem, n = problem, len(problem.names)
        self.kept = np.array([i for i in range(n) if i not in held], int)
        self._z = np.array(problem.start, float)
        for i, value in held.items():
            self._z[i] = value
        self.names = tuple(problem.names[i] for i in self.kept)
        self.start, self.lower, self.upper, self.logarithmic = (
            np.asarray(getattr(problem, key))[self.kept]
            for key in ("start", "lower", "upper", "logarithmic")
        )

    @property
    def nuisance_shape(self) -> tuple[int, int]:
        """Return that of the whole problem."""
        return self.problem.nuisance_shape

    def whole(self, z: np.ndarray) -> np.ndarray:
        """Scaled variables of the whole problem (n,) for those that are left (nz,)."""
        full = self._z.copy()
        full[self.kept] = z
        return full

    def values(self, z: np.ndarray) -> np.ndarray:
        """Natural values (nz,) at z."""
        return self.problem.values(self.whole(z))[self.kept]

    def value_slopes(self, z: np.ndarray) -> np.ndarray:
        """Slopes dvalue/dz (nz,)."""
        return self.problem.value_slopes(self.whole(z))[self.kept]

    def weighted(self, weights: np.ndarray) -> Pinned:
        """See `Problem.weighted`."""
        held = {i: v for i, v in enumerate(self._z) if i not in self.kept}
        return Pinned(self.problem.weighted(weights), held)

    def evaluate(
        self, z: np.ndarray, y: np.ndarray | None = None, *, want: str = "value",
        cancel: Any = None,
    ) -> Evaluation:  # fmt: skip
        """See `Problem.evaluate`."""
        found = self.problem.evaluate(self.whole(z), y, want=want, cancel=cancel)
        kept = self.kept
        if found.gradient is not None:
            found = replace(found, gradient=(found.gradient[0][kept], found.gradient[1]))
        if found.series:
            series = tuple(replace(s, by_z=s.by_z[..., kept]) for s in found.series)
            found = replace(found, series=series)
        e = found.equations
        if e is None:
            return found
        square = np.ix_(kept, kept)
        return replace(
            found,
            equations=NormalEquations(
                e.prior_g[kept], e.prior_H[square], e.gz[:, kept], e.Hzz[:, kept][:, :, kept],
                e.gy, e.Hyy, e.Hyz[:, :, kept], e.start_prior,
            ),
        )  # fmt: skip
