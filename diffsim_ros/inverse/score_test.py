"""Which parameters that were held would lower the cost if they were free (Rao's score test).

With g, H the gradient and Gauss-Newton Hessian of the cost by all parameters, starts eliminated, f
those that were fitted and j one that was not,

    g' = g_j - H_jf H_ff^-1 g_f,   I = H_jj - H_jf H_ff^-1 H_fj,
    u = g'^2 / (s^2 I)  ~  chi^2(1)                                                      [Eq. 23]

where the model is right with j as held; s^2 is the noise's variance.  Freeing j lowers the cost by
about g'^2 / (2 I).  No rollout beyond the one evaluation is needed.

A parameter that is held at its bound, as rolling friction at 0, can go one way only: u is 0 where
the slope leads beyond the bound, as noise alone has it in half of the cases.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import InputError
from .problem import Problem
from .uncertainty import bounded_inverse

LEFT = 1e-6
"""Of its information a parameter must keep when the fitted ones follow it: else they replace it."""


@dataclass(frozen=True)
class Score:
    """One held parameter: the statistic u, by how much freeing it lowers the cost, and the value
    to which it would then go, to first order (inf: beyond all numbers).

    one_sided  held at its bound
    """

    name: str
    statistic: float
    gain: float
    value: float
    one_sided: bool = False

    @property
    def probability(self) -> float:
        """That noise alone gives such a statistic, were the parameter right."""
        from scipy.stats import chi2  # takes half a second, and nodes start without it

        if self.one_sided:
            return 0.5 * float(chi2.sf(self.statistic, 1)) if self.statistic > 0.0 else 1.0
        return float(chi2.sf(self.statistic, 1))


def score_test(
    wider: Problem, z: np.ndarray, y: np.ndarray, fitted: Sequence[str], noise: float = 1.0, *,
    cancel: Any = None,
) -> tuple[Score, ...]:  # fmt: skip
    """Scores of the parameters of `wider` that were held in a fit, the largest gain first.

    wider   the fitted problem with the held parameters free too, and bounds where these can go one
            way only;  z (nz,) its variables, those of `fitted` parameters at the end of the fit;
            y (K, ny) the starts there
    fitted  names of the parameters that were fitted and are at no bound
    noise   s, in sigmas
    Raises InputError if the point cannot be simulated.
    """
    evaluation = wider.evaluate(z, y, want="equations", cancel=cancel)
    if not evaluation.ok:
        cause = "; ".join(evaluation.failures) or "cancelled"
        raise InputError("score_test", "z", cause, "a point that can be simulated")
    g, H, _ = evaluation.equations.reduced()
    f = np.array([i for i, name in enumerate(wider.names) if name in set(fitted)], int)
    inverse = bounded_inverse(H[np.ix_(f, f)]) if len(f) else np.zeros((0, 0))
    found = []
    for j in sorted(set(range(len(wider.names))) - set(f.tolist())):
        follow = H[j, f] @ inverse
        information = H[j, j] - follow @ H[f, j]
        if not information > LEFT * H[j, j]:
            continue
        step = -(g[j] - follow @ g[f]) / information
        ends = z[j] <= wider.lower[j], z[j] >= wider.upper[j]
        if (ends[0] and step < 0.0) or (ends[1] and step > 0.0):
            step = 0.0
        gain = float(step**2 * information)
        to = z.copy()
        to[j] += step
        with np.errstate(over="ignore"):  # of a logarithmic one, by a long step
            value = float(wider.values(to)[j])
        found.append(Score(wider.names[j], gain / noise**2, 0.5 * gain, value, any(ends)))
    return tuple(sorted(found, key=lambda score: -score.gain))
