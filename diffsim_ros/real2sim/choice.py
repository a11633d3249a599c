"""Before the fit: the law of the scene, and the start, that explain a few trials best.

Every law is fitted to a few trials over a short horizon, from several starts of which the better
half goes on to all of the horizon (fit.py), with residuals in the sensor's sigmas and starts of
trials free where the kind has such.  The first impacts have one wide valley, and tell laws apart
that whole trials, which are chaotic, do not.  Another law is taken only where it is clearly better,
trial by trial (Eq. 18).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..errors import InputError, NotConverged, nearest
from ..executors.side_by_side import ALONE, SideBySide
from ..inverse.model_comparison import Paired, paired_ratio
from .alternatives import LAWS, by_law
from .config import load_estimation
from .experiment import experiment_of
from .fit import Fit, fit_trials
from .model import Model
from .options import ChoiceOptions, EstimationConfig
from .preflight import noise_model
from .progress import Reporter

WORTH = 1.1
"""Ratio of residuals from which another law is worth taking, where it is clear."""
AS_WRITTEN = "the law as written"


@dataclass(frozen=True)
class Choice:
    """What was chosen.

    config   the estimation with the law and the first guesses that were chosen
    notes    sentences for the result;  figures  for metrics.json
    changed  whether it has another law than was asked for
    """

    config: EstimationConfig
    notes: tuple[str, ...] = ()
    figures: Mapping[str, Any] | None = None
    changed: bool = False


@dataclass(frozen=True)
class _Tried:
    """A law's short fit; costs (K,) of the trials, NaN where it cannot be simulated."""

    name: str
    config: EstimationConfig
    fit: Fit | None
    costs: np.ndarray

    @property
    def better(self) -> bool:
        """Whether it has costs that can be compared."""
        return self.fit is not None and bool(np.isfinite(self.costs).all())


def choose(
    config: EstimationConfig, model: Model, trials: Sequence, reporter: Reporter, cancel: Any,
    side: SideBySide = ALONE,
) -> Choice:  # fmt: skip
    """Law and start of an estimation whose section `choice` asks for it.

    model  of `config`;  trials  that the estimation is to fit;  side  how starts of a law are done
    Raises InputError for laws that are unknown.
    """
    options = config.choice
    if options is None:
        return Choice(config)
    _check(config, options)
    count = min(options.trials, len(trials))
    chosen = [trials[i] for i in np.unique(np.linspace(0, len(trials) - 1, count).astype(int))]
    reporter.begin("choose")
    best = _tried(AS_WRITTEN, config, model, chosen, options, cancel, side)
    notes: list[str] = []
    tried: dict[str, Any] = {}
    for k, law in enumerate(options.laws):
        others, left_out = by_law(best.config, law)
        notes += left_out
        for name, other in others.items():
            found = _tried(name, other, experiment_of(other).model, chosen, options, cancel, side)
            if getattr(cancel, "cancelled", False):
                return Choice(config)
            best, sentence, tried[name] = _better(best, found, len(chosen))
            notes.append(sentence)
        reporter.update((k + 1.0) / (len(options.laws) + 1.0), k + 1)
    if best.fit is None:
        return Choice(config, tuple(notes))
    begun = _begun(best, model if best.name == AS_WRITTEN else experiment_of(best.config).model)
    if options.starts > 1:
        notes.append(f"begun at the best of {options.starts} starts ({_values(begun, best)})")
    figures = {"law": best.name, "trials": len(chosen), "horizon": options.horizon, "tried": tried}
    texts = tuple(f"choice: {note}" for note in notes)
    return Choice(begun, texts, figures, best.name != AS_WRITTEN)


def _check(config: EstimationConfig, options: ChoiceOptions) -> None:
    for i, law in enumerate(options.laws):
        if law not in LAWS:
            rule = "one of " + ", ".join(LAWS)
            raise config.error(f"choice.laws[{i}]", law, rule, nearest(str(law), LAWS))


def _tried(
    name: str, config: EstimationConfig, model: Model, trials: Sequence, options: ChoiceOptions,
    cancel: Any, side: SideBySide,
) -> _Tried:  # fmt: skip
    """The short fit of one law, the best of its starts."""
    noisy = noise_model(model)
    horizons = (options.horizon // 2, options.horizon) if options.horizon > 1 else (0,)
    fit = replace(
        noisy.config.fit, horizons=horizons, continuation={}, starts=options.starts,
        seed=options.seed, iterations=options.iterations, tolerance=1e-3, search_evaluations=0,
    )  # fmt: skip
    short = replace(noisy, config=replace(noisy.config, fit=fit))
    try:
        found = fit_trials(short, trials, Reporter(None, []), cancel, side=side)
    except (NotConverged, InputError, np.linalg.LinAlgError):
        return _Tried(name, config, None, np.full(len(trials), math.nan))
    costs = np.full(len(trials), math.nan)
    if len(found.kept) == len(trials):
        evaluated = found.problem.evaluate(found.z, found.y, cancel=cancel)
        if evaluated.ok:
            costs = np.asarray(evaluated.trial_costs)
    return _Tried(name, config, found, costs)


def _better(best: _Tried, other: _Tried, trials: int) -> tuple[_Tried, str, dict]:
    """The better one of two, the sentence and the figures on it."""
    if not other.better:
        return best, f"{other.name} cannot be simulated where {best.name} was fitted", {}
    if not best.better:
        return other, f"{other.name} is taken: {best.name} cannot be simulated", {}
    pair = paired_ratio(best.costs, other.costs, 0.0)
    figures = {"ratio": pair.ratio, "low": pair.low, "high": pair.high}
    if pair.low > 1.0 and pair.ratio > WORTH:
        words = f"{other.name} is taken: {best.name} leaves {_words(pair, trials)}"
        return other, words, figures
    back = Paired(1.0 / pair.ratio, 1.0 / pair.high, 1.0 / pair.low, pair.trials, 0)
    return best, f"{best.name} is kept: {other.name} leaves {_words(back, trials)}", figures


def _words(pair: Paired, trials: int) -> str:
    text = f"{pair.ratio:.3g} times its residuals"
    if math.isfinite(pair.low) and math.isfinite(pair.high):
        text += f" (95 % interval {pair.low:.3g} to {pair.high:.3g})"
    return f"{text} in {trials} trials"


def _begun(best: _Tried, model: Model) -> EstimationConfig:
    """The estimation with its first guesses where the short fit ended."""
    config, fit = best.config, best.fit
    assert fit is not None
    named, parameters = model.map.named(fit.z), {}
    for name, entry in config.source["parameters"].items():
        options = config.parameters[name]
        changed = {**entry, "fixed": options.fixed}
        if not options.fixed:
            low, high = options.bounds
            changed["value"] = float(np.clip(named[name], low, high))
        parameters[name] = changed
    source = {**config.source, "parameters": parameters}
    return replace(load_estimation(source, base=config.base), place=config.place)


def _values(config: EstimationConfig, best: _Tried) -> str:
    return ", ".join(f"{name} {config.parameters[name].value:.3g}" for name in config.free)
