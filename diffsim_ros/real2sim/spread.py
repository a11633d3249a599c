"""Standard deviations and profiles: from the spread of trials, from residuals, from the sensor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from scipy.stats import chi2, t

from ..errors import InputError
from ..executors.side_by_side import ALONE, SideBySide
from ..inverse.adequacy import Adequacy, adequacy
from ..inverse.bands import Band, TrialBand, prediction_bands
from ..inverse.identifiability import identifiability
from ..inverse.objectives import Objective
from ..inverse.optimizers import levenberg_marquardt
from ..inverse.pinned import Pinned
from ..inverse.profile import Profile, profile
from ..inverse.simulation_problem import SimulationProblem
from ..inverse.solution import Solution, bounds_reached
from ..inverse.trial import InitialState
from ..inverse.uncertainty import (
    Uncertainty,
    bootstrap,
    bounded_inverse,
    correlated_covariance,
    gauss_newton_covariance,
    sandwich_covariance,
    spread_of,
)
from .fit import Fit
from .model import Model, on_one_thread
from .options import UncertaintyOptions
from .progress import Reporter
from .results import labels_of
from .surface import Surface

STATES = ("position", "orientation", "velocity", "angular_velocity")
"""Parts of a start."""
LEVEL = 0.95
"""Of the intervals of profiles."""


FEW = 5
"""Trials below which their spread is unreliable: the residuals' own correlation is used."""


def noise_of(fit: Fit) -> Adequacy | None:
    """What a fit left beside white noise; None where it cannot be evaluated."""
    try:
        return adequacy(fit.problem, solution_of(fit))
    except (InputError, np.linalg.LinAlgError):
        return None


def uncertainty_of(
    fit: Fit, options: UncertaintyOptions, noise: Adequacy | None = None
) -> tuple[Uncertainty | None, str]:
    """Uncertainty of a fit and a sentence about it; None where it cannot be given.

    noise  `noise_of` the fit, which method: auto needs
    """
    method, trials = options.method, len(fit.kept)
    if method == "auto":
        method, reason = _method_for(fit, noise)
        found, sentence = uncertainty_of(fit, replace(options, method=method))
        return found, f"{sentence}{reason}"
    if method == "none":
        return None, "no standard deviations were requested"
    if method == "bootstrap" and fit.surface is not None and trials > 1:
        found = _over_surface(fit, fit.surface, options)
        return found, (
            f"bootstrap of {options.samples} resampled sets of {trials} trials, each "
            "minimised on the surface through the last draws of the search"
        )
    why = ""
    if method in ("bootstrap", "sandwich") and trials < FEW:
        method, why = "correlated", f" ({options.method} over trials needs {FEW} of them)"
    solution = solution_of(fit)
    try:
        if method == "bootstrap":
            found = bootstrap(fit.problem, solution, samples=options.samples, seed=options.seed)
            return found, f"bootstrap over {trials} trials, one Gauss-Newton step each"
        if method == "sandwich":
            return sandwich_covariance(fit.problem, solution), f"sandwich over {trials} trials"
        if method == "correlated":
            found = correlated_covariance(fit.problem, solution)
            worth = found.dof + sum(np.isfinite(np.diagonal(found.covariance_z)))
            return found, (
                f"from the residuals, correlated over time and channels: worth {worth:.3g} "
                f"independent ones{why}"
            )
        return gauss_newton_covariance(fit.problem, solution), "covariance from the sensor's noise"
    except (InputError, np.linalg.LinAlgError) as error:
        return None, f"no standard deviations: {error}"


def _method_for(fit: Fit, noise: Adequacy | None) -> tuple[str, str]:
    """The method that suits a fit's residuals, and why."""
    if fit.surface is not None:
        return "bootstrap", ""
    if noise is not None and noise.is_noise:
        return "covariance", ", which is what the residuals look like"
    enough = len(fit.kept) >= FEW + len(fit.z)
    return "sandwich" if enough else "correlated", ", for the residuals are not the sensor's noise"


def profiles_of(
    model: Model, fit: Fit, found: Uncertainty | None, reporter: Reporter, cancel: Any,
    side: SideBySide = ALONE,
) -> tuple[Profile, ...]:  # fmt: skip
    """Profile likelihoods of the parameters that the YAML names, in its order.

    The noise is that of the standard deviations: their variance over Gauss-Newton's.
    side  how several are done
    """
    names, parameters = model.config.uncertainty.profile, model.config.parameters
    if not names:
        return ()
    problem, solution = fit.problem, solution_of(fit)
    plain = gauss_newton_covariance(problem, solution)
    tasks = []
    for name in names:
        i = problem.names.index(name)
        sigma, factor, dof = np.sqrt(plain.covariance_z[i, i]), 1.0, np.inf
        if found is not None and np.isfinite(found.covariance_z[i, i]) and np.isfinite(sigma):
            factor = max(float(found.covariance_z[i, i] / sigma**2), 1e-12)
            dof = found.dof
        if not np.isfinite(sigma):  # at its bound: the curvature alone gives the first step
            sigma = 0.1
        threshold = chi2.ppf(LEVEL, 1) if np.isinf(dof) else t.ppf(0.5 + 0.5 * LEVEL, dof) ** 2
        own: dict[str, Any] = {
            "unit": parameters[name].unit,
            "factor": factor,
            "threshold": float(threshold),
        }
        tasks.append((name, float(sigma), own))

    def here(k: int) -> dict:
        def report(share: float) -> None:
            reporter.update((k + share) / len(names), k + 1)

        name, sigma, own = tasks[k]
        return fields_of(
            profile(problem, solution, name, sigma, **own, on_progress=report, cancel=cancel)
        )

    done = side.results(
        one_profile, tasks, lambda: around(model, fit), here, cancel=cancel,
        report=lambda count, whole: reporter.update(count / whole, count),
    )  # fmt: skip
    return tuple(Profile(**one) for one in done if one is not None)


Around = tuple[Model, Sequence, np.ndarray, int, Solution]
"""A model, its trials, z where starts were taken, the last frame, and the end of a fit."""


def around(model: Model, fit: Fit) -> Around:
    """What tasks around the end of a fit need."""
    last = 0 if fit.surface is not None else int(model.config.fit.horizons[-1])
    taken = fit.z if fit.taken is None else fit.taken
    return on_one_thread(model), fit.kept, taken, last, solution_of(fit)


def problem_around(shared: Around) -> tuple[SimulationProblem, Solution]:
    """The last problem of a fit, and its end."""
    model, trials, taken, last, solution = shared
    return model.problem(trials, taken, horizon=last), solution


def one_profile(shared: Around, task: tuple[str, float, dict], cancel: Any) -> dict:
    """A profile as a task of an executor: fields of a Profile."""
    name, sigma, own = task
    problem, solution = problem_around(shared)
    return fields_of(profile(problem, solution, name, sigma, **own, cancel=cancel))


def fields_of(value: Any) -> dict:
    """Fields of a dataclass by name, as they are."""
    return {one.name: getattr(value, one.name) for one in fields(value)}


def bands_of(
    model: Model, trials: Sequence, fit: Fit, found: Uncertainty | None, count: int, cancel: Any
) -> tuple[TrialBand, ...]:
    """Bands of the first `count` trials that were not fitted; those that fail are left out."""
    done: list[list[TrialBand]] = []
    keys: list[tuple[str, str, bool]] = []
    if found is None:
        return ()
    for trial in trials[:count]:
        if getattr(cancel, "cancelled", False):
            break
        problem = model.problem([trial], fit.z)
        y = np.zeros(problem.nuisance_shape)
        if y.size:
            pinned = Pinned(problem, dict(enumerate(fit.z)))
            y = levenberg_marquardt(pinned, pinned.start, cancel=cancel).y
        try:
            bands = prediction_bands(problem, fit.z, found.covariance_z, y)
        except InputError:
            continue
        one, own = problem.trials[0], []
        for band in bands:
            objective = next(o for o in one.objectives if o.name == band.name)
            own.append(TrialBand(one.name, _times(problem, objective, band), band))
        done.append(own)
        keys.append((str(getattr(trial, "source", "")), one.name, True))
    named = zip(labels_of(keys), done, strict=True)  # trials of two files may have one name
    return tuple(replace(band, trial=label) for label, own in named for band in own)


def _times(problem: SimulationProblem, objective: Objective, band: Band) -> np.ndarray:
    """Times of a band's samples since the start of the rollout [s]."""
    times = getattr(objective, "t", None)
    if times is None:
        return band.samples * problem.options.step * problem.options.record_every
    if len(times) == len(band.samples):
        return np.asarray(times)
    return np.asarray(times)[band.samples]


def band_figures(bands: Sequence[TrialBand]) -> dict:
    """Content of metrics.json: trial -> objective -> rms of the band, share inside."""
    found: dict = {}
    for one in bands:
        rms = float(np.sqrt(np.mean(one.band.sigma**2)))
        entry = {"rms": rms, "inside": one.band.inside}
        found.setdefault(one.trial, {})[one.band.name] = entry
    return found


def solution_of(fit: Fit) -> Solution:
    """The end of a fit as the inverse layer's Solution."""
    named = dict(zip(fit.problem.names, fit.problem.values(fit.z).tolist(), strict=True))
    status = "objective" if fit.status == "converged" else "max_iterations"
    at = bounds_reached(fit.problem, fit.z)
    return Solution(fit.z, fit.y, fit.value, named, status, fit.message, 0, 0, at_bound=at)


def _over_surface(fit: Fit, surface: Surface, options: UncertaintyOptions) -> Uncertainty:
    """Spread of the surface's minima over resampled tosses and draws."""
    problem, names = fit.problem, fit.problem.names
    samples = surface.bootstrap(options.samples, options.seed)
    samples = np.clip(samples, problem.lower, problem.upper)
    covariance = spread_of(samples)
    sigma = np.sqrt(np.diagonal(covariance))
    at_bound = bounds_reached(problem, fit.z)
    moved = np.isfinite(sigma)
    scale = np.where(moved, sigma, 1.0)
    correlation = covariance / np.outer(scale, scale)
    np.fill_diagonal(correlation, 1.0)
    information = np.zeros_like(covariance)
    free = np.flatnonzero(moved)
    block = correlation[np.ix_(free, free)] + 1e-12 * np.eye(len(free))
    information[np.ix_(free, free)] = np.linalg.inv(block) / np.outer(scale[free], scale[free])
    identified = identifiability(
        information, names, problem.lower, problem.upper, logarithmic=problem.logarithmic
    )
    notes = []
    for name, note in zip(names, identified.notes, strict=True):
        bound = f"stopped at its {at_bound[name]} bound" if name in at_bound else ""
        notes.append("; ".join(filter(None, [bound, note])))
    return Uncertainty(
        "bootstrap",
        names,
        fit.z,
        covariance,
        sigma * np.abs(problem.value_slopes(fit.z)),
        correlation,
        identified.identifiable,
        at_bound,
        tuple(notes),
        identified.pairs,
        samples=samples,
        to_values=problem.values,
    )


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


def start_estimates(
    problem: SimulationProblem, z: np.ndarray, y: np.ndarray, noise: float = 1.0
) -> list[StartEstimate]:
    """Every recording's start at (z, y), and its sigma from `noise` times the sensor's.

    With the arrow of the normal equations, C_yy = H_yy^-1 + X C_zz X^T, X = H_yy^-1 H_yz;
    parameters at a bound are fixed there, and one that nothing determines moves no start.  A
    start's offset is o = L u.
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
        kinds = STATES if len(sigma) == 12 else STATES[::2]
        parts = dict(zip(kinds, sigma.reshape(-1, 3), strict=True))
        found.append(StartEstimate(states[0], parts))
    return found
