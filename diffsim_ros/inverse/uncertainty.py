"""Uncertainty of an estimate: Gauss-Newton, correlated noise, sandwich and bootstrap.

Which one: `gauss_newton_covariance` where the residuals are the sensor's noise (synthetic data,
good models); `sandwich_covariance` or `bootstrap` where they are model error, which many trials
share differently (real tosses); `correlated_covariance` where they are model error and trials are
few.  All are taken with the nuisance starts eliminated, i.e. marginal.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from diffsim_ros.errors import InputError

from .identifiability import Identifiability, identifiability
from .optimizers import box_step
from .problem import Evaluation, Problem
from .solution import Solution
from .time_correlation import Series, TimeNoise, time_noise

ROUNDS = 100
"""In which the noise's factor and what priors leave to the residuals agree; a few are enough."""
LEAST = 1e-24
"""Of that factor: residuals that vanish are a model's own data."""
STILL = 1e-12
"""Relative spread of samples that is round-off."""


@dataclass(frozen=True)
class Uncertainty:
    """Covariance and what follows from it; NaN where undefined (a parameter at its bound).

    kind          "gauss_newton", "correlated", "sandwich" or "bootstrap"
    covariance_z  (nz, nz) of the scaled variables; correlation (nz, nz)
    std_dev       (nz,) in natural units: dvalue/dz sigma_z
    identifiable  (nz,), at_bound name -> "lower" | "upper", notes (nz,) sentences,
    pairs         (name, name, correlation) that the data cannot distinguish
    dof           degrees of freedom of the t quantile of `interval` (inf: normal)
    noise         factor on the sigmas of the residuals, where it is estimated (else 1)
    samples       (B, nz) bootstrap samples of z, else None
    """

    kind: str
    names: tuple[str, ...]
    z: np.ndarray
    covariance_z: np.ndarray
    std_dev: np.ndarray
    correlation: np.ndarray
    identifiable: tuple[bool, ...]
    at_bound: Mapping[str, str]
    notes: tuple[str, ...]
    pairs: tuple[tuple[str, str, float], ...]
    dof: float = np.inf
    noise: float = 1.0
    samples: np.ndarray | None = None
    to_values: Callable[[np.ndarray], np.ndarray] = field(default=np.asarray, repr=False)

    def interval(self, level: float = 0.95) -> np.ndarray:
        """Confidence intervals (nz, 2) in natural units.

        Percentiles of the samples, else z -+ quantile * sigma_z, both mapped to values (a log
        parameter's interval is asymmetric and stays positive).
        """
        from scipy.stats import norm, t  # takes half a second, and nodes start without it

        tail = 0.5 * (1.0 - level)
        if self.samples is not None:
            low, high = np.quantile(self.samples, [tail, 1.0 - tail], axis=0)
        else:
            quantile = norm.ppf(1 - tail) if np.isinf(self.dof) else t.ppf(1 - tail, self.dof)
            reach = quantile * np.sqrt(np.diagonal(self.covariance_z))
            low, high = self.z - reach, self.z + reach
        return np.stack([self.to_values(low), self.to_values(high)], axis=1)


@dataclass(frozen=True)
class Expansion:
    """The cost around the solution: per-trial g (K, nz), H (K, nz, nz), y eliminated; priors."""

    evaluation: Evaluation
    g: np.ndarray
    H: np.ndarray
    prior_g: np.ndarray
    prior_H: np.ndarray
    series: tuple[Series, ...] = ()

    @property
    def data(self) -> np.ndarray:
        """Hessian of the data (nz, nz)."""
        H = self.H.sum(axis=0)
        return 0.5 * (H + H.T)


def expansion_at(problem: Problem, solution: Solution) -> Expansion:
    """With the losses' curvature where that is positive definite, else re-weighted."""
    series: tuple[Series, ...] = ()
    for want in ("curvature", "equations"):
        evaluation = problem.evaluate(solution.z, solution.y, want=want)
        if not evaluation.ok:
            cause = "; ".join(evaluation.failures) or "cancelled"
            raise InputError("uncertainty", "solution", cause, "a solution that can be simulated")
        e = evaluation.equations
        g, H, _ = e.eliminated()
        series = series or evaluation.series
        found = Expansion(evaluation, g, H, e.prior_g, e.prior_H, series)
        scale = np.sqrt(np.maximum(np.diagonal(found.data), 1e-300))
        inner = e.Hyy.size == 0 or np.linalg.eigvalsh(e.Hyy).min() > 0
        outer = np.diagonal(found.data).min(initial=0) >= 0
        if inner and outer and np.linalg.eigvalsh(found.data / np.outer(scale, scale))[0] > -1e-9:
            break
    return found


def _read(
    problem: Problem, solution: Solution, kind: str, covariance: np.ndarray, expansion: Expansion,
    **extra: Any,
) -> Uncertainty:  # fmt: skip
    """Sigmas, correlations and notes from a covariance (free parameters; NaN elsewhere)."""
    n, slopes = len(problem.names), problem.value_slopes(solution.z)
    identified: Identifiability = identifiability(
        expansion.data, problem.names, problem.lower, problem.upper,
        logarithmic=problem.logarithmic,
    )  # fmt: skip
    sigma = np.sqrt(np.diagonal(covariance))
    with np.errstate(invalid="ignore", divide="ignore"):
        correlation = covariance / np.outer(sigma, sigma)
    notes, able = (
        [list(filter(None, [note])) for note in identified.notes],
        list(identified.identifiable),
    )
    for i, name in enumerate(problem.names):
        if name in solution.at_bound:
            notes[i].insert(0, f"stopped at its {solution.at_bound[name]} bound")
        prior = expansion.prior_H[i, i]
        if prior > 0 and sigma[i] ** 2 * prior > 0.9:
            notes[i].append("its prior decides, not the data")
            able[i] = False
    for i in range(n):
        correlation[i, i] = 1.0
    return Uncertainty(
        kind, problem.names, solution.z, covariance, sigma * np.abs(slopes), correlation,
        tuple(able), dict(solution.at_bound), tuple("; ".join(s) for s in notes), identified.pairs,
        to_values=problem.values, **extra,
    )  # fmt: skip


def _free(problem: Problem, solution: Solution) -> np.ndarray:
    return np.array([i for i, n in enumerate(problem.names) if n not in solution.at_bound], int)


def bounded_inverse(H: np.ndarray) -> np.ndarray:
    """Inverse of a positive semi-definite matrix; a direction that nothing determines gets a huge
    but finite variance, so that the parameters in it show it."""
    scale = 1.0 / np.sqrt(np.maximum(np.diagonal(H), 1e-12))
    values, vectors = np.linalg.eigh(H * np.outer(scale, scale))
    inverse = (vectors / np.maximum(values, 1e-13)) @ vectors.T
    return inverse * np.outer(scale, scale)


def _embedded(n: int, free: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    out = np.full((n, n), np.nan)
    out[np.ix_(free, free)] = matrix
    return out


def gauss_newton_covariance(
    problem: Problem, solution: Solution, *, noise: str = "known"
) -> Uncertainty:
    """Covariance H^-1 of z, nuisance starts eliminated [Eq. 12].

    noise  "known": the residuals were divided by the true sigmas; "estimated": all sigmas share an
           unknown factor s, estimated from the residuals, and intervals use t quantiles. Priors,
           those of starts too, are absolute: s does not scale them [Eq. 12a].
    A parameter at its bound is fixed there; its own std_dev is NaN.
    """
    if noise not in ("known", "estimated"):
        raise InputError("gauss_newton_covariance", "noise", noise, '"known" or "estimated"')
    expansion, free = expansion_at(problem, solution), _free(problem, solution)
    factor, dof = 1.0, np.inf
    if noise == "estimated":
        factor, dof = _noise(expansion, solution, free)
    inverse, H = _covariance(expansion, free, factor)
    expansion = replace(expansion, H=H)
    covariance = _embedded(len(problem.names), free, inverse)
    found = {"dof": float(dof), "noise": float(np.sqrt(factor))}
    return _read(problem, solution, "gauss_newton", covariance, expansion, **found)


def _covariance(
    expansion: Expansion, free: np.ndarray, factor: float
) -> tuple[np.ndarray, np.ndarray]:
    """Covariance of the free parameters with residuals of `factor` times the variance, and the
    Hessians (K, nz, nz) of the trials that it comes from."""
    _, H, _ = expansion.evaluation.equations.with_noise(factor).eliminated()
    whole = H.sum(axis=0) + expansion.prior_H
    return bounded_inverse((0.5 * (whole + whole.T))[np.ix_(free, free)]), H


def _noise(expansion: Expansion, solution: Solution, free: np.ndarray) -> tuple[float, float]:
    """Factor s^2 on the residuals' variances, and the degrees of freedom that it has  [Eq. 12b].

    What priors determine, those of starts too, is not taken from the residuals.
    """
    evaluation = expansion.evaluation
    equations, K = evaluation.equations, len(evaluation.trial_costs)
    ny = equations.gy.shape[1]
    start_priors, cost = equations.start_priors, float(evaluation.trial_costs.sum())
    if ny:
        cost -= 0.5 * float(np.einsum("ki,kij,kj->", solution.y, start_priors, solution.y))
    count, factor = evaluation.count - K * ny, 1.0
    for _ in range(ROUNDS):
        inverse, _ = _covariance(expansion, free, factor)
        determined = np.trace(inverse @ expansion.prior_H[np.ix_(free, free)])
        scaled = equations.with_noise(factor)
        if ny:
            *_, X = scaled.eliminated()
            X = X[:, :, 1:][:, :, free]
            inner = np.linalg.inv(scaled.Hyy) + np.einsum("kya,ab,kzb->kyz", X, inverse, X)
            determined += np.einsum("kij,kji->", inner, start_priors)
        dof = count - (len(free) + K * ny - determined)
        if dof < 1:
            rule = "more residuals than variables, to estimate the noise"
            raise InputError("gauss_newton_covariance", "residuals", count, rule)
        before, factor = factor, max(2.0 * cost / dof, LEAST)
        if abs(factor - before) <= 1e-10 * factor:
            break
    return factor, dof


def residual_noise(problem: Problem, solution: Solution) -> TimeNoise:
    """Correlation of a solution's residuals over time and channels  [Eqs. 16, 17]."""
    expansion = expansion_at(problem, solution)
    return _time_noise(expansion, free_inverse(problem, solution, expansion))


def free_inverse(problem: Problem, solution: Solution, expansion: Expansion) -> np.ndarray:
    """Inverse Hessian of z with zeros for parameters at their bounds."""
    free, n = _free(problem, solution), len(problem.names)
    inverse, H = np.zeros((n, n)), expansion.data + expansion.prior_H
    inverse[np.ix_(free, free)] = bounded_inverse(H[np.ix_(free, free)])
    return inverse


def _time_noise(expansion: Expansion, inverse: np.ndarray) -> TimeNoise:
    return time_noise(expansion.series, expansion.evaluation.equations, inverse)


def correlated_covariance(problem: Problem, solution: Solution) -> Uncertainty:
    """Covariance from the residuals' own size and correlation over time and channels  [Eq. 17].

    For model error and few trials, even one: sigmas only weight the residuals.  Intervals use t
    quantiles with as many degrees of freedom as there are independent residuals, less the
    parameters.
    """
    expansion, free = expansion_at(problem, solution), _free(problem, solution)
    if not expansion.series:
        rule = "residuals, to estimate the noise"
        raise InputError("correlated_covariance", "residuals", 0, rule)
    inverse = free_inverse(problem, solution, expansion)
    noise = _time_noise(expansion, inverse)
    covariance = inverse @ (noise.meat + expansion.prior_H) @ inverse
    covariance = _embedded(len(problem.names), free, covariance[np.ix_(free, free)])
    dof = max(1.0, noise.effective - len(free))
    return _read(problem, solution, "correlated", covariance, expansion, dof=dof)


def sandwich_covariance(problem: Problem, solution: Solution) -> Uncertainty:
    """Covariance H^-1 [K/(K-1) sum_k g_k g_k^T] H^-1 over K independent trials [Eq. 13].

    Holds whatever the residuals' distribution and correlation within a trial, for many more trials
    than parameters; intervals use t quantiles with K - 1 degrees of freedom.
    """
    expansion, free = expansion_at(problem, solution), _free(problem, solution)
    K = len(expansion.g)
    if K < 2:
        raise InputError("sandwich_covariance", "trials", K, "at least 2 trials")
    g = (expansion.g - expansion.g.mean(axis=0))[:, free]
    inverse = bounded_inverse((expansion.data + expansion.prior_H)[np.ix_(free, free)])
    covariance = inverse @ (g.T @ g) @ inverse * (K / (K - 1))
    found = _read(
        problem, solution, "sandwich", _embedded(len(problem.names), free, covariance), expansion,
        dof=float(K - 1),
    )  # fmt: skip
    if K > len(free):
        return found
    note = f"only {K} trials for {len(free)} parameters: std_dev is unreliable"
    return replace(found, notes=tuple("; ".join(filter(None, [n, note])) for n in found.notes))


def bootstrap(
    problem: Problem, solution: Solution, *, samples: int = 1000, seed: int = 0,
    refit: Callable[[Problem, np.ndarray, np.ndarray], Solution] | None = None,
    cancel: Any = None,
) -> Uncertainty:  # fmt: skip
    """Draw the trials again with replacement and estimate again [Eq. 14].

    refit  None: one Gauss-Newton step from the solution per sample, within the bounds, without a
           single rollout; or (problem, z, y) -> Solution to solve each sample in full
    cancel ends a full refit with the samples drawn so far (at least 2, else InputError)
    """
    expansion, K = expansion_at(problem, solution), problem.nuisance_shape[0]
    if K < 2 or samples < 2:
        raise InputError("bootstrap", "trials, samples", (K, samples), "at least 2 of each")
    generator, drawn = np.random.default_rng(seed), []
    for _ in range(samples):
        weights = np.bincount(generator.integers(0, K, K), minlength=K).astype(float)
        if refit is None:
            drawn.append(solution.z + _resampled_step(problem, solution, expansion, weights))
            continue
        if getattr(cancel, "cancelled", False):
            break
        found = refit(problem.weighted(weights), solution.z, solution.y)
        if np.isfinite(found.value) and found.status != "cancelled":
            drawn.append(found.z)
    if len(drawn) < 2:
        raise InputError("bootstrap", "samples", len(drawn), "at least 2 that could be estimated")
    found_z = np.array(drawn)
    covariance = spread_of(found_z)
    return _read(problem, solution, "bootstrap", covariance, expansion, samples=found_z)


def spread_of(samples: np.ndarray) -> np.ndarray:
    """Covariance (nz, nz) of samples (B, nz); NaN of parameters that are the same in all.

    Held at a bound, or without any data: that they do not move says nothing of their uncertainty.
    """
    covariance = np.atleast_2d(np.cov(samples.T))
    size = np.maximum(np.abs(samples).max(axis=0), 1.0)
    still = np.sqrt(np.diagonal(covariance)) <= STILL * size
    covariance[still], covariance[:, still] = np.nan, np.nan
    return covariance


def _resampled_step(
    problem: Problem, solution: Solution, expansion: Expansion, weights: np.ndarray
) -> np.ndarray:
    g = expansion.prior_g + weights @ expansion.g
    H = expansion.prior_H + np.einsum("k,kij->ij", weights, expansion.H)
    H = 0.5 * (H + H.T)
    diagonal = np.maximum(np.diagonal(H), 1e-9 * np.diagonal(expansion.data) + 1e-12)
    scale = 1.0 / np.sqrt(diagonal)
    values, vectors = np.linalg.eigh(H * np.outer(scale, scale))
    H = (vectors * np.maximum(values, 1e-9)) @ vectors.T / np.outer(scale, scale)
    return box_step(g, H, problem.lower - solution.z, problem.upper - solution.z)
