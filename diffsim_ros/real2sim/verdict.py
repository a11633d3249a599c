"""Verdict on a fit: does the model explain the data, and may its parameters be believed?

Residuals are held against white noise (inverse/adequacy.py), parameters that were held are tried
(inverse/score_test.py), and predictions are held against a parabola fitted to every measured curve.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..errors import InputError
from ..inverse.adequacy import ALPHA, LEVEL, Adequacy
from ..inverse.one_sided import Bound
from ..inverse.parameters import ParameterMap
from ..inverse.score_test import Score, score_test
from ..inverse.solution import bounds_reached
from ..inverse.uncertainty import Uncertainty
from ..parameter import Parameter
from .discretisation import Check, remedy
from .experiment import Experiment
from .fit import Fit
from .model import Model
from .results import Verdict, finite

POOR = 0.5
"""Share of a parabola's error from which on predictions explain little."""
MOVES = 5.0
"""What the parabola leaves of a curve, over the curve's noise, from which on there is something to
predict."""
DEGREE = 2
MOST_TRIALS = 8
"""In which held parameters are tried."""
MOST_HELD = 32
"""Held parameters that are tried."""
MOST_NAMED = 3
"""Held parameters that are named."""
EXPLAINS = 0.5
"""Share of what is not noise from which on the error of steps or meshes may be its cause."""
WORTH = 0.1
"""Share of what is left that a held parameter must explain to be named."""
START = re.compile(r"(position|rotation|velocity)(\[\d+\])?\.[xyz]$|inertia\.(xy|xz|yz)$|\[\d+\]")
"""Parameters of a scene that are no law: starts, schedules, single nodes."""


def verdict_of(
    experiment: Experiment,
    fit: Fit,
    uncertainty: Uncertainty | None,
    noise: Adequacy | None,
    predictions: Sequence[Any],
    cancel: Any = None,
    bounds: Mapping[str, Bound] | None = None,
    checks: Sequence[Check] = (),
) -> Verdict:
    """Judge a finished fit.

    noise        what it left beside white noise, None: it could not be evaluated
    predictions  of recordings that were not fitted if there are any, else of those that were
    bounds       of parameters that the data leave open towards one side
    checks       what finer models change
    """
    found = _Evidence(experiment, fit, uncertainty, bounds or {})
    found.hold_against_parabolas(predictions)
    try:
        if noise is None:
            raise InputError("verdict", "residuals", None, "a solution that can be simulated")
        found.hold_against_noise(noise)
        found.try_held(noise, cancel)
        for check in checks:
            found.blame(check)
    except (InputError, np.linalg.LinAlgError) as error:
        found.doubts.append(f"its residuals could not be examined ({error})")
    return found.verdict()


class _Evidence:
    """What speaks against a fit: `doubts` make it usable at best, and misleading where besides
    predictions are `poor`."""

    def __init__(
        self, experiment: Experiment, fit: Fit, uncertainty: Uncertainty | None,
        bounds: Mapping[str, Bound],
    ) -> None:  # fmt: skip
        self.experiment, self.fit, self.uncertainty = experiment, fit, uncertainty
        self.poor: list[str] = []
        self.doubts: list[str] = []
        self.advice: list[str] = []
        self.figures: dict[str, Any] = {}
        self.unexplained = 0.0  # sum of squares in the residuals that speaks against the model
        self.discretised = False  # whether step, mesh or element may be all that is wrong
        self.only_discretised = False  # whether nothing else speaks against it
        self.blamed = 0  # of these
        self.remarks: list[str] = []  # what is no doubt
        if fit.status != "converged":
            self.doubts.append("the optimum was not found")
            self.advice.append("raise fit.iterations, or begin elsewhere")
        for name, side in bounds_reached(fit.problem, fit.z).items():
            if name not in bounds or bounds[name].side == side:  # else any value up to it is right
                self.doubts.append(f"{name} stopped at its {side} bound")

    def hold_against_parabolas(self, predictions: Sequence[Any]) -> None:
        """Quantities that a parabola describes nearly as well."""
        for name, (ours, theirs) in against_parabolas(self.experiment, predictions).items():
            share = ours / theirs
            self.figures.setdefault("error_over_parabola", {})[name] = share
            if share > POOR:
                self.poor.append(
                    f"the predicted {name} is off by {share:.2g} times what a parabola through "
                    "every measured curve is"
                )

    def hold_against_noise(self, found: Adequacy) -> None:
        """Doubts where residuals are not white, or larger than the sigmas that std_dev rests on."""
        self.figures |= {
            "level": finite(found.level),
            "slow_over_fast": finite(found.ratio),
            "probability": finite(found.probability),
            "excess": finite(found.excess),
            "degrees_of_freedom": found.dof,
        }
        if found.dof < 1.0:
            self.doubts.append("there are hardly more measured numbers than unknowns")
        more = found.excess if np.isfinite(found.excess) else found.level
        if found.probability < ALPHA or found.level > LEVEL:
            self.unexplained = found.dof * more**2
        if found.probability < ALPHA:
            self.doubts.append(
                f"residuals are not noise: slowly varying ones are {np.sqrt(found.ratio):.2g} "
                f"times as large as fast ones ({found.worst})"
            )
            self._name_the_worst(found.trials)
        sensor = self.uncertainty is not None and self.uncertainty.kind == "gauss_newton"
        if found.level <= LEVEL:
            return
        larger = f"residuals are {found.level:.2g} times the stated sigma"
        if sensor:
            self.doubts.append(f"{larger}, and std_dev counts that alone")
            self.advice.append("set measurement's sigma, or uncertainty.method: correlated")
        elif np.isnan(found.probability):
            self.doubts.append(f"{larger}, and too few instants tell whether they are noise")
            self.advice.append("set measurement's sigma (of clouds: noise), or record more")

    def _name_the_worst(self, trials: np.ndarray) -> None:
        """Advice on a trial that stands out."""
        if len(trials) < 3 or not np.isfinite(trials).all():
            return
        k = int(np.argmax(trials))
        if trials[k] > 4.0 * np.median(trials):
            title = self.experiment.title(self.fit.kept[k])
            self.advice.append(f"look at {title}: it is explained far worse than the others")

    def try_held(self, noise: Adequacy, cancel: Any) -> None:
        """Doubts and advice from parameters that were held."""
        scores, left = held_scores(self.experiment.model, self.fit, noise, cancel)
        self.figures["held"] = {s.name: s.statistic for s in scores[:6]}
        worth = [s for s in scores if s.probability * len(scores) < ALPHA]
        share = max(1.0, len(self.fit.kept) / MOST_TRIALS)
        gains = [2.0 * share * score.gain for score in worth]
        self.unexplained = max([self.unexplained, *gains])
        if worth and not self.doubts:
            best = max(worth, key=lambda score: score.statistic)
            self.doubts.append(
                f"the data contradict the value at which {best.name} is held "
                f"({np.sqrt(best.statistic):.2g} sigma)"
            )
        named: dict[float, Score] = {}  # two names of one quantity have the same statistic
        for score in (s for s in worth if s.gain > WORTH * left):
            named.setdefault(float(f"{score.statistic:.6g}"), score)
        free = list(named.values())[:MOST_NAMED]
        values = {score.name: finite(score.value) for score in free}
        self.figures["free"] = values
        if named:
            names = ", ".join(values) + _lacking(self.experiment.model, values)
            self.advice.append(f"free one of these, the first explains most: {names}")

    def blame(self, check: Check) -> None:
        """A doubt where a finer model moves a parameter by more than its std_dev, or explains what
        is left; where it may be what looks like a wrong law, that is no advice yet."""
        shift = check.shift
        error = shift.count * shift.left**2
        explains = self.unexplained > 0.0 and error >= EXPLAINS**2 * self.unexplained
        if not check.of.doubt:  # the coarser of two: std_dev says by how much numbers depend on it
            if check.moved:
                self.remarks.append(f"std_dev covers that {check.moves()}")
            return
        if not check.moved and not explains:
            return
        why = check.moves()
        if explains:
            what = f"its error alone leaves residuals of {shift.left:.2g} sigma"
            why = "; ".join(filter(None, [why, what]))
        doubt = f"{check.of.doubt}: {why}"
        if explains and not self.blamed:  # what else speaks against the model may come from it
            self.doubts = [f"{doubt}, which the following may come from", *self.doubts]
            self.advice = [a for a in self.advice if not a.startswith("free ")]
            self.discretised = True
        else:
            if not self.blamed:
                self.discretised = self.only_discretised = not self.doubts
            self.doubts.append(doubt)
        self.advice.insert(self.blamed, remedy(self.experiment.model, check))
        self.blamed += 1

    def verdict(self) -> Verdict:
        """The grade that the evidence leaves."""
        grade, reasons = "usable", list(self.doubts)
        if not self.doubts:
            grade, reasons = "good", ["what is left is noise, as far as these recordings show"]
        elif self.poor and not self.only_discretised:
            grade, reasons = "misleading", [*self.poor, *self.doubts]
        if self.poor and grade != "misleading":  # starts are not known well, or motion is chaotic
            reasons += [f"yet {one}, for small differences of the start grow" for one in self.poor]
        reasons += self.remarks
        advice = list(self.advice)
        named = any(one.startswith("free") for one in advice)
        if grade != "good" and not named and not self.discretised:
            advice.append("try other laws (diffsim estimate --try)")
        return Verdict(grade, "; ".join(reasons), tuple(advice), self.figures)


def held_scores(
    model: Model, fit: Fit, noise: Adequacy, cancel: Any = None
) -> tuple[tuple[Score, ...], float]:
    """Scores of parameters that were held, and what noise does not explain of the cost.

    Tried are those that the estimation holds, then the scene's laws (masses, stiffnesses, friction,
    sizes; rolling and spinning friction that the scene has not, at 0), MOST_HELD at most, in
    MOST_TRIALS trials.
    """
    at_bound = bounds_reached(fit.problem, fit.z)
    named = dict(zip(fit.problem.names, fit.problem.values(fit.z).tolist(), strict=True))
    wider, values = _freed(_rolling(model), named)
    if not values or fit.surface is not None:
        return (), 0.0
    chosen = np.unique(np.linspace(0, len(fit.kept) - 1, MOST_TRIALS).astype(int))
    z = wider.map.scaled({**values, **named})
    # as far as was fitted: beyond it the slopes are not 0, and every held number seems wrong
    horizon = int(model.config.fit.horizons[-1])
    problem = wider.problem([fit.kept[i] for i in chosen], z, horizon=horizon)
    y = fit.y[chosen][:, : problem.nuisance_shape[1]]
    size = noise.noise if np.isfinite(noise.noise) and noise.noise > 0.0 else 1.0
    fitted = [name for name in fit.problem.names if name not in at_bound]
    scores = score_test(problem, z, y, fitted, size, cancel=cancel)
    left = 0.5 * max(noise.level**2 - size**2, 0.0) * noise.dof * len(chosen) / len(fit.kept)
    return tuple(s for s in scores if s.name in values), left


def _rolling(model: Model) -> Model:
    """The model with rolling and spinning friction at 0 in contacts that have none."""
    scene = model.scene.with_rolling()
    if scene is model.scene:
        return model
    own = ParameterMap(model.map.parameters, scene.engine, model.map.groups)
    return replace(model, scene=scene, map=own)


def _lacking(model: Model, names: Collection[str]) -> str:
    """What a scene must be given before these parameters of it can be freed, in brackets."""
    found = []
    for contact in model.scene.parts.contacts:
        keys = [key for key in ("c_roll", "c_spin") if f"{contact.name}.{key}" in names]
        if keys and not contact.rolls:
            found.append(f"{' and '.join(f'{key}: 0' for key in keys)} into contact {contact.name}")
    return f" (first write {', '.join(found)})" if found else ""


def _freed(model: Model, named: Mapping[str, float]) -> tuple[Model, dict[str, float]]:
    """The model with parameters free that were held, and these parameters' values."""
    engine, map_ = model.scene.engine, model.map
    present = map_.engine(map_.scaled(dict(named)), engine.values)
    free: dict[str, Parameter] = {}
    for p in map_.parameters:
        if not p.free and len(free) < MOST_HELD:
            free[p.name] = replace(p, free=True, lower=-np.inf, upper=np.inf, scale="linear")
    taken = {target for p in map_.parameters for target in (p.sets or (p.name,))}
    taken |= {name for group in map_.groups for name in group.scene_parameters}
    further: list[Parameter] = []
    for info in engine.parameters:
        full = len(free) + len(further) >= MOST_HELD
        if full or info.name in taken or info.name in free or START.search(info.name):
            continue
        value = float(present[engine.index(info.name)])
        further.append(Parameter(info.name, info.unit, value, info.lower, info.upper))
    own = [free.get(p.name, p) for p in map_.parameters]
    values = {p.name: p.value for p in (*free.values(), *further)}
    return replace(model, map=ParameterMap([*own, *further], engine, map_.groups)), values


def against_parabolas(
    experiment: Experiment, predictions: Sequence[Any]
) -> dict[str, tuple[float, float]]:
    """Quantity -> root mean square error of the predictions, and of parabolas through the measured
    curves, one each; only quantities that a parabola does not already describe."""
    sums: dict[str, np.ndarray] = {}
    for prediction in predictions:
        for name, (t, measured, simulated) in experiment.compared(prediction).items():
            for theirs, ours in zip(measured.T, simulated.T, strict=True):
                seen = np.isfinite(theirs) & np.isfinite(ours)
                if seen.sum() > 2 * (DEGREE + 1):
                    found = _beside(t[seen], theirs[seen], ours[seen])
                    sums[name] = sums.get(name, np.zeros(4)) + found
    kept = {}
    for name, (count, ours, curve, noise) in sums.items():
        if curve > MOVES**2 * noise and curve > 0.0:
            kept[name] = (float(np.sqrt(ours / count)), float(np.sqrt(curve / count)))
    return kept


def _beside(t: np.ndarray, measured: np.ndarray, simulated: np.ndarray) -> np.ndarray:
    """Samples, and sums of squares: of the prediction's error, the parabola's, and the noise."""
    x = (t - t.mean()) / max(float(np.ptp(t)), 1e-12)
    parabola = np.polynomial.polynomial.polyval(
        x, np.polynomial.polynomial.polyfit(x, measured, DEGREE)
    )
    bends = np.diff(measured, 2)
    noise = len(t) * float(np.mean(bends**2)) / 6.0
    return np.array([len(t), np.sum((simulated - measured) ** 2),
                     np.sum((parabola - measured) ** 2), noise])  # fmt: skip
