"""Which of several models the same data support: criteria of the fits, and errors held out.

Information criteria, with the noise's size unknown and n *effective* residuals (time_correlation),

    AIC = n ln(|r|^2/N) + 2 k + 2 k (k + 1)/(n - k - 1) ,   BIC = n ln(|r|^2/N) + k ln n ,   [18]

k parameters and the noise's size; n is that of the model that fits best, whose residuals are
nearest to noise, and the same for all models, as criteria of different n cannot be compared.

Held-out errors s of the same trials are compared in pairs, by the mean of d = ln(s_a/s_b)/2.  Fits
of cross-validation share most of their data, so the variance of that mean is taken as
(1/K + 1/n) var(d), n trials in a fold's training (Nadeau and Bengio, 2003), with K - 1 degrees of
freedom.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import t

from diffsim_ros.errors import InputError

CLEAR = 10.0
"""Difference of AIC from which the worse model has next to no support (Burnham and Anderson)."""
LEVEL = 0.95


@dataclass(frozen=True)
class FitFigures:
    """What the criteria need of a fit.

    square      sum of squares of the residuals, as the losses count them;  count: how many
    effective   independent ones they are worth;  parameters: how many were free
    """

    square: float
    count: int
    effective: float
    parameters: int


@dataclass(frozen=True)
class Criteria:
    """AIC and BIC less the least of all models' [Eq. 18], and the share of support by AIC."""

    aic: float
    bic: float
    weight: float


def information_criteria(fits: Mapping[str, FitFigures]) -> tuple[dict[str, Criteria], float]:
    """Criteria by model, and the effective number of residuals n that they are taken with."""
    best = min(fits.values(), key=lambda f: f.square / f.count)
    n = best.effective
    aic, bic = {}, {}
    for name, f in fits.items():
        k = f.parameters + 1
        if n <= k + 1:
            rule = f"more than {k + 1} independent residuals, for {f.parameters} parameters"
            raise InputError(f"model {name}", "residuals", round(n, 1), rule)
        fit = n * math.log(max(f.square / f.count, 1e-300))
        aic[name] = fit + 2.0 * k + 2.0 * k * (k + 1) / (n - k - 1)
        bic[name] = fit + k * math.log(n)
    least_a, least_b = min(aic.values()), min(bic.values())
    shares = {name: math.exp(-0.5 * (value - least_a)) for name, value in aic.items()}
    total = sum(shares.values())
    return {
        name: Criteria(aic[name] - least_a, bic[name] - least_b, shares[name] / total)
        for name in fits
    }, n


@dataclass(frozen=True)
class Paired:
    """Held-out error of one model as a multiple of another's, over the trials both predict.

    ratio     geometric mean over trials;  low, high: its 95 % interval, NaN for one trial
    trials    how many;  better: how many of them the first model predicts better
    """

    ratio: float
    low: float
    high: float
    trials: int
    better: int

    @property
    def clear(self) -> bool:
        """True when the interval excludes equality."""
        return bool(self.low > 1.0 or self.high < 1.0)


def paired_ratio(
    a: Sequence[float] | np.ndarray, b: Sequence[float] | np.ndarray, overlap: float,
    level: float = LEVEL,
) -> Paired:  # fmt: skip
    """Errors a (K,) over b (K,), mean squares of the same trials; NaN: not predicted.

    overlap  one over the training trials of a fold, 0 where one training set served all
    """
    a, b = np.asarray(a, float), np.asarray(b, float)
    kept = np.isfinite(a) & np.isfinite(b) & (a > 0) & (b > 0)
    if not kept.any():
        raise InputError("paired_ratio", "trials", 0, "a trial that both models predict")
    d = 0.5 * np.log(a[kept] / b[kept])
    K, mean, reach = len(d), float(d.mean()), math.nan
    if K > 1:
        spread = math.sqrt((1.0 / K + overlap) * float(d.var(ddof=1)))
        reach = float(t.ppf(0.5 + 0.5 * level, K - 1)) * spread
    ends = (math.exp(mean - reach), math.exp(mean + reach))
    return Paired(math.exp(mean), *ends, K, int(np.sum(d < 0)))


def verdict(
    held_out: Mapping[str, Sequence[float]], overlap: float, criteria: Mapping[str, Criteria]
) -> tuple[str, dict[str, Paired], list[str]]:
    """(best model, every other's error over the best's, sentences; the first one is the verdict).

    held_out  model -> mean squares of held-out trials (K,), NaN: not predicted; empty: none
    """
    by_fit = min(criteria, key=lambda name: criteria[name].aic)
    scores = {name: np.asarray(row, float) for name, row in held_out.items()}
    common = np.all([np.isfinite(row) & (row > 0) for row in scores.values()], axis=0)
    if not np.any(common):
        return by_fit, {}, _by_fit_alone(by_fit, criteria)
    level = {name: float(np.mean(np.log(row[common]))) for name, row in scores.items()}
    best = min(level, key=level.__getitem__)
    pairs = {n: paired_ratio(scores[n], scores[best], overlap) for n in scores if n != best}
    if np.sum(common) < 2:  # no interval: it can only agree with the fits, or not
        if by_fit == best:
            words = _by_fit_alone(best, criteria)
        else:
            words = [f"the data do not distinguish {best} and {by_fit}: AIC prefers {by_fit}, the "
                     f"one held-out trial {best}"]  # fmt: skip
        return best, pairs, words + [f"{n} against {best}: {_ratio_words(pairs[n])}" for n in pairs]
    return best, pairs, _sentences(best, pairs, criteria)


def _sentences(
    best: str, pairs: Mapping[str, Paired], criteria: Mapping[str, Criteria]
) -> list[str]:
    clear = [name for name, pair in pairs.items() if pair.clear]
    if len(clear) == len(pairs):
        words = [f"the data support {best}: it predicts held-out data better than all others"]
    elif clear:
        open_ = [best, *(n for n in pairs if n not in clear)]
        words = [
            f"the data do not distinguish {' and '.join(open_)}; they speak against "
            f"{' and '.join(clear)}"
        ]
    else:
        words = ["the data do not distinguish the models by what they predict"]
    for name, pair in pairs.items():
        words.append(f"{name} against {best}: {_ratio_words(pair)}")
    for name, pair in pairs.items():
        gap = criteria[name].aic - criteria[best].aic
        if pair.clear and gap < 0:
            words.append(
                f"but {name} fits its own data better (AIC lower by {-gap:.3g}): over-fitting, or "
                "few trials"
            )
        elif not pair.clear and abs(gap) > CLEAR:
            better = best if gap > 0 else name
            words.append(
                f"the fit alone prefers {better} (AIC lower by {abs(gap):.3g}), which held-out "
                "trials do not confirm: more trials would decide"
            )
    return words


def _ratio_words(pair: Paired) -> str:
    text = f"held-out error {pair.ratio:.3g} times as large"
    if math.isfinite(pair.low):
        text += f" (95 % interval {pair.low:.3g} to {pair.high:.3g})"
    return f"{text}, smaller in {pair.better} of {pair.trials} trials"


def _by_fit_alone(best: str, criteria: Mapping[str, Criteria]) -> list[str]:
    gaps = {name: c.aic for name, c in criteria.items() if name != best}
    close = [name for name, gap in gaps.items() if gap <= CLEAR]
    listed = ", ".join(f"{name} {gap:.3g} above" for name, gap in gaps.items())
    end = f"by AIC alone ({listed}); for an interval of held-out errors give three trials or more"
    if close:
        return [f"the data do not distinguish {' and '.join([best, *close])}, {end}"]
    return [f"the data support {best}, {end}"]
