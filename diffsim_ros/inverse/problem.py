"""The interface of solvers: z -> cost, gradient and Gauss-Newton equations.  No engine here."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from diffsim_ros.errors import InputError

from .losses import Loss
from .normal_equations import NormalEquations, accumulate
from .time_correlation import Series


@dataclass(frozen=True)
class Evaluation:
    """One evaluation of a problem.

    value        cost; inf when a rollout failed or was cancelled (never NaN)
    failures     one sentence per failed trial, "" free
    cancelled    True: a cancel token stopped it; value is undefined
    equations    Gauss-Newton equations at this point, if asked for and all went well
    gradient     (gz (nz,), gy (K, ny)), if asked for and all went well
    trial_costs  (K,) cost of each trial with its nuisance prior
    signature    the branches that the motions took (mode hashes), equal = same branches
    count        number of residuals, those of nuisance priors included, shared priors and those of
                 missing measurements (zero) not
    series       residuals by objective and time, with their Jacobians for want "curvature", without
                 for "residuals"
    """

    value: float
    failures: tuple[str, ...] = ()
    cancelled: bool = False
    # `Any` where None is meant that who asked for it never meets
    equations: NormalEquations | Any = None
    gradient: tuple[np.ndarray, np.ndarray] | Any = None
    trial_costs: np.ndarray | Any = None
    signature: tuple[int, ...] = ()
    count: int = 0
    series: tuple[Series, ...] = ()

    @property
    def ok(self) -> bool:
        """True when the value is a finite cost."""
        return not self.cancelled and math.isfinite(self.value)


class Problem(Protocol):
    """Minimise a cost over lower <= z <= upper and free y (K, ny)."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the parameters."""
        ...

    @property
    def start(self) -> np.ndarray:
        """Start of the search: z (nz,)."""
        ...

    @property
    def lower(self) -> np.ndarray:
        """Lower bounds of z (nz,)."""
        ...

    @property
    def upper(self) -> np.ndarray:
        """Upper bounds of z (nz,)."""
        ...

    @property
    def logarithmic(self) -> np.ndarray:
        """Which parameters are on a log scale (nz,) bool."""
        ...

    @property
    def nuisance_shape(self) -> tuple[int, int]:
        """(K, ny)."""
        ...

    def evaluate(
        self, z: np.ndarray, y: np.ndarray | None, *, want: str = "value", cancel: Any = None
    ) -> Evaluation:
        """`want`: "value", "gradient" (adjoint), "equations" or "curvature".

        "curvature" is "equations" with the second derivative of robust losses (uncertainty).
        """
        ...

    def values(self, z: np.ndarray) -> np.ndarray:
        """Natural values (nz,) at z."""
        ...

    def value_slopes(self, z: np.ndarray) -> np.ndarray:
        """Slopes dvalue/dz (nz,)."""
        ...

    def weighted(self, weights: np.ndarray) -> Problem:
        """Return the problem with trial k counted weights[k] times."""
        ...


@dataclass(frozen=True)
class LeastSquaresProblem:
    """A closed-form problem: cost = sum_k rho(|r_k(z)|^2)/2, block k one "trial".

    residuals   z -> list of blocks, each (M, q): M samples of q residuals that share one loss value
    jacobians   z -> list of their Jacobians (M, q, nz), arrays or scipy.sparse (M*q, nz)
    lower, upper  (nz,), or one number for all
    A non-finite residual is a failure of the block, not a NaN.
    """

    names: tuple[str, ...]
    start: np.ndarray
    residuals: Callable[[np.ndarray], Sequence[np.ndarray]]
    jacobians: Callable[[np.ndarray], Sequence[Any]]
    lower: np.ndarray = field(default_factory=lambda: np.array(-np.inf))
    upper: np.ndarray = field(default_factory=lambda: np.array(np.inf))
    loss: Loss = field(default_factory=Loss)
    weights: np.ndarray | None = None

    def __post_init__(self) -> None:
        n, put = len(self.names), object.__setattr__
        for key in ("start", "lower", "upper"):
            given = np.asarray(getattr(self, key), float)
            put(self, key, given if given.ndim else np.full(n, given))
            if getattr(self, key).shape != (n,):
                raise InputError("LeastSquaresProblem", key, getattr(self, key).shape, f"({n},)")

    @property
    def logarithmic(self) -> np.ndarray:
        """All linear."""
        return np.zeros(len(self.names), bool)

    @property
    def nuisance_shape(self) -> tuple[int, int]:
        """No nuisance variables: (number of blocks, 0)."""
        return len(self.residuals(self.start)), 0

    def values(self, z: np.ndarray) -> np.ndarray:
        """Return z itself."""
        return np.asarray(z, float)

    def value_slopes(self, z: np.ndarray) -> np.ndarray:
        """Return ones."""
        return np.ones(len(self.names))

    def weighted(self, weights: np.ndarray) -> LeastSquaresProblem:
        """Return the problem with block k counted weights[k] times."""
        return replace(self, weights=np.asarray(weights, float))

    def evaluate(
        self,
        z: np.ndarray,
        y: np.ndarray | None = None,
        *,
        want: str = "value",
        cancel: Any = None,
    ) -> Evaluation:
        """See `Problem.evaluate`."""
        blocks = [np.asarray(r, float) for r in self.residuals(z)]
        bad = [k for k, r in enumerate(blocks) if not np.all(np.isfinite(r))]
        if bad:
            return Evaluation(math.inf, tuple(f"block {k}: non-finite residual" for k in bad))
        w = np.ones(len(blocks)) if self.weights is None else self.weights
        squared = [self.loss(np.einsum("mq,mq->m", r, r))[0].sum() for r in blocks]
        costs = 0.5 * np.array(squared) * w
        count = sum(r.size for r in blocks)
        done: dict[str, Any] = {"trial_costs": costs, "count": count, "signature": ()}
        if want == "value":
            return Evaluation(float(costs.sum()), **done)
        nz, g, H = len(self.names), [], []
        series: list[Series] = []
        for k, (r, J) in enumerate(zip(blocks, self.jacobians(z), strict=True)):
            dense = J.toarray() if hasattr(J, "toarray") else np.asarray(J, float)
            dense = dense.reshape(*r.shape, nz)
            _, gk, Hk = accumulate(r, dense, self.loss, second_order=want == "curvature")
            g.append(gk)
            H.append(Hk)
            if want == "curvature":
                weight = w[k] * self.loss(np.einsum("mq,mq->m", r, r))[1][:, None]
                by_y, number = np.zeros((*r.shape, 0)), np.arange(len(r))
                series.append(Series(f"block {k}", k, number, weight * r, dense, by_y))
        done["series"] = tuple(series)
        gz, Hzz, K = np.array(g) * w[:, None], np.array(H) * w[:, None, None], len(blocks)
        equations = NormalEquations(
            np.zeros(nz), np.zeros((nz, nz)), gz, Hzz,
            np.zeros((K, 0)), np.zeros((K, 0, 0)), np.zeros((K, 0, nz)),
        )  # fmt: skip
        gradient = (gz.sum(axis=0), np.zeros((K, 0)))
        return Evaluation(float(costs.sum()), equations=equations, gradient=gradient, **done)
