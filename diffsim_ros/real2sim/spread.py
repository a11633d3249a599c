"""Standard deviations of the estimate: from the tosses that differ, or from the sensor's noise."""

from __future__ import annotations

import numpy as np

from ..errors import InputError
from ..inverse.identifiability import identifiability
from ..inverse.solution import Solution, bounds_reached
from ..inverse.uncertainty import (
    Uncertainty,
    bootstrap,
    gauss_newton_covariance,
    sandwich_covariance,
)
from .fit import Fit
from .options import UncertaintyOptions


def uncertainty_of(fit: Fit, options: UncertaintyOptions) -> tuple[Uncertainty | None, str]:
    """Uncertainty of a fit and a sentence about it; None where it cannot be given."""
    if options.method == "none":
        return None, "no standard deviations were asked for"
    if len(fit.kept) < 2 and options.method != "covariance":
        return None, f"standard deviations over tosses need 2 of them, got {len(fit.kept)}"
    if options.method == "bootstrap" and fit.surface is not None:
        found = _over_surface(fit, options)
        return found, (
            f"bootstrap of {options.samples} resampled sets of {len(fit.kept)} tosses, each "
            "minimised on the surface through the last draws of the search; other "
            "training sets can differ by more along flat directions (docs/real2sim.md)"
        )
    solution = _solution(fit)
    try:
        if options.method == "bootstrap":
            found = bootstrap(fit.problem, solution, samples=options.samples, seed=options.seed)
            return found, f"bootstrap over {len(fit.kept)} tosses, one Gauss-Newton step each"
        if options.method == "sandwich":
            return sandwich_covariance(
                fit.problem, solution
            ), f"sandwich over {len(fit.kept)} tosses"
        return gauss_newton_covariance(fit.problem, solution), "covariance from the sensor's noise"
    except (InputError, np.linalg.LinAlgError) as error:
        return None, f"no standard deviations: {error}"


def _solution(fit: Fit) -> Solution:
    """The end of a fit as the inverse layer's Solution."""
    named = dict(zip(fit.problem.names, fit.problem.values(fit.z).tolist(), strict=True))
    status = "objective" if fit.status == "converged" else "max_iterations"
    at = bounds_reached(fit.problem, fit.z)
    return Solution(fit.z, fit.y, fit.value, named, status, fit.message, 0, 0, at_bound=at)


def _over_surface(fit: Fit, options: UncertaintyOptions) -> Uncertainty:
    """Spread of the surface's minima over resampled tosses and draws."""
    problem, names = fit.problem, fit.problem.names
    samples = fit.surface.bootstrap(options.samples, options.seed)
    samples = np.clip(samples, problem.lower, problem.upper)
    covariance = np.atleast_2d(np.cov(samples.T))
    sigma = np.sqrt(np.diagonal(covariance))
    at_bound = bounds_reached(problem, fit.z)
    moved = sigma > 0.0
    scale = np.where(moved, sigma, 1.0)
    correlation = covariance / np.outer(scale, scale)
    np.fill_diagonal(correlation, 1.0)
    information = np.zeros_like(covariance)
    free = np.flatnonzero(moved)
    block = correlation[np.ix_(free, free)] + 1e-12 * np.eye(len(free))
    information[np.ix_(free, free)] = np.linalg.inv(block) / np.outer(scale[free], scale[free])
    seen = identifiability(
        information, names, problem.lower, problem.upper, logarithmic=problem.logarithmic
    )
    notes = []
    for name, note in zip(names, seen.notes, strict=True):
        bound = f"stopped at its {at_bound[name]} bound" if name in at_bound else ""
        notes.append("; ".join(filter(None, [bound, note])))
    return Uncertainty(
        "bootstrap",
        names,
        fit.z,
        covariance,
        sigma * np.abs(problem.value_slopes(fit.z)),
        correlation,
        seen.identifiable,
        at_bound,
        tuple(notes),
        seen.pairs,
        samples=samples,
        to_values=problem.values,
    )
