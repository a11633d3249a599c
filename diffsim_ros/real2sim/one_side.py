"""Bounds of parameters whose standard deviation is of no use: "at least 0.31"."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import norm, t

from ..errors import InputError
from ..executors.side_by_side import ALONE, SideBySide
from ..inverse.one_sided import LEVEL, Bound, one_sided
from ..inverse.optimizers import LMOptions
from ..inverse.uncertainty import Uncertainty, gauss_newton_covariance
from .fit import Fit
from .model import Model
from .spread import Around, around, problem_around, solution_of

USELESS = 0.5
"""Standard deviation over the value from which on it says little."""
MOST = 4
"""Parameters that are asked about."""
FIRST_STEP = 0.3
"""Of z, at most."""
ITERATIONS = 10
"""Of the other parameters at each value."""


def bounds_of(
    model: Model, fit: Fit, found: Uncertainty | None, cancel: Any = None,
    side: SideBySide = ALONE,
) -> dict[str, Bound]:  # fmt: skip
    """Name -> bound, of parameters that the data leave open towards one side.

    Asked about are those at a bound, those that are not identifiable, and those whose standard
    deviation exceeds half of their value.  A search's rugged cost has no such sides, and where the
    optimum was not found there is nothing to rise from.
    side  how several are done
    """
    if found is None or fit.surface is not None or fit.status != "converged":
        return {}
    values = fit.problem.values(fit.z)
    asked = [i for i in range(len(found.names)) if _useless(found, i, values[i])][:MOST]
    if not asked:
        return {}
    problem, solution = fit.problem, solution_of(fit)
    try:
        plain = np.diagonal(gauss_newton_covariance(problem, solution).covariance_z)
    except (InputError, np.linalg.LinAlgError):
        return {}
    factor = _factor(found, plain)
    quantile = norm.ppf(LEVEL) if np.isinf(found.dof) else t.ppf(LEVEL, found.dof)
    tolerance = 0.005 * quantile**2 * factor / max(abs(fit.value), 1e-300)
    options = LMOptions(
        max_iterations=ITERATIONS, cost_tolerance=float(np.clip(tolerance, 1e-10, 1e-3)),
        gradient_tolerance=1e-7, step_tolerance=1e-7,
    )  # fmt: skip
    tasks = []
    for i in asked:
        sigma = float(np.sqrt(plain[i]))
        sigma = min(sigma, FIRST_STEP) if np.isfinite(sigma) else FIRST_STEP
        own: dict[str, Any] = {
            "factor": factor,
            "threshold": float(quantile**2),
            "options": options,
        }
        tasks.append((found.names[i], sigma, own))

    def here(k: int) -> dict:
        name, sigma, own = tasks[k]
        return _document(one_sided(problem, solution, name, sigma, **own, cancel=cancel))

    done = side.results(one_bound, tasks, lambda: around(model, fit), here, cancel=cancel)
    pairs = zip(tasks, done, strict=True)
    return {task[0]: Bound(**one) for task, one in pairs if one}


def one_bound(shared: Around, task: tuple[str, float, dict], cancel: Any) -> dict:
    """A bound as a task of an executor: its document, {} where there is none."""
    name, sigma, own = task
    return _document(one_sided(*problem_around(shared), name, sigma, **own, cancel=cancel))


def _document(bound: Bound | None) -> dict:
    return {} if bound is None else bound.document()


def _useless(found: Uncertainty, i: int, value: float) -> bool:
    sigma = float(found.std_dev[i])
    return not (found.identifiable[i] and np.isfinite(sigma) and sigma <= USELESS * abs(value))


def _factor(found: Uncertainty, plain: np.ndarray) -> float:
    """Variance of the residuals' noise over their sigmas', by the parameters that are known: the
    median of their variances over Gauss-Newton's."""
    known = np.array(found.identifiable) & np.isfinite(plain) & (plain > 0.0)
    ratios = np.diagonal(found.covariance_z)[known] / plain[known]
    ratios = ratios[np.isfinite(ratios) & (ratios > 0.0)]
    return float(np.median(ratios)) if len(ratios) else 1.0
