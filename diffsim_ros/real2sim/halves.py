"""Do random halves of the trials agree? Standard deviations without a model of noise.

Halves a and b of K trials are fitted apart, as the whole was: from the first guess, with draws of
their own.  Begun at the end of the whole fit, or on the surface of its search, both would stay in
its valley.  If the covariance C of the whole fit holds, z_a - z_b has covariance
K (1/K_a + 1/K_b) C, about 4 C, and their mean is the whole's end.  What chance kinks and valleys
move ends by, however many trials there are, shows in both; std_dev is enlarged by it [Eq. 24].
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..errors import NotConverged
from ..executors.side_by_side import ALONE, SideBySide
from ..inverse.uncertainty import Uncertainty
from .fit import ENOUGH_DRAWS, Fit, fit_trials, has_parts
from .model import Model, on_one_thread
from .progress import Reporter
from .surface import Surface

FEWEST = 4
"""Trials of which halves say something."""
OFF = 3.0**0.5
"""Ends that chance moves by t have (z_a - z_b)^2 / 4 of t^2 / 2 in the mean, and mean - z of
3 t^2 / 2: a third of its square is what the former lacks."""
LEVEL = 0.95
"""Quantile of the normal distribution, divided among the parameters, beyond which one is named."""


@dataclass(frozen=True)
class Halves:
    """Two halves of the trials.

    z       name -> how far apart the ends are over what std_dev allows, about 1 if it is right
    rms     of these
    """

    z: dict[str, float]
    rms: float

    @property
    def factors(self) -> dict[str, float]:
        """name -> by which its standard deviation is enlarged (1: not): root of the mean of its own
        z^2 and that of all.  One alone is too uncertain, and all together blame those that agree.
        """
        return {n: float(max(1.0, np.hypot(z, self.rms) * 0.5**0.5)) for n, z in self.z.items()}

    @property
    def apart(self) -> tuple[str, ...]:
        """Parameters that differ by more than chance has it, the worst first."""
        from scipy.stats import norm

        most = norm.ppf(1.0 - 0.5 * (1.0 - LEVEL) / len(self.z))
        found = [name for name, z in self.z.items() if z > most]
        return tuple(sorted(found, key=lambda name: -self.z[name]))

    def metrics(self) -> dict:
        """Section `halves` of metrics.json."""
        found = {"rms": self.rms, "z": self.z, "factors": self.factors}
        return found | {"apart": list(self.apart)}

    def __str__(self) -> str:
        """What the note on std_dev says of them."""
        least, most = min(self.factors.values()), max(self.factors.values())
        if most == 1.0:
            return f"; two halves of the trials agree with it (rms {self.rms:.2g} of it)"
        times = f"{least:.3g} to {most:.3g}" if f"{least:.3g}" != f"{most:.3g}" else f"{most:.3g}"
        return f", times {times}: so far apart are the fits of two halves of the trials" + (
            f", most of all in {', '.join(self.apart)}" if self.apart else ""
        )


def halves_of(
    model: Model, fit: Fit, found: Uncertainty, seed: int, cancel: Any = None,
    side: SideBySide = ALONE,
) -> Halves | None:  # fmt: skip
    """Fit two random halves; None for fewer than FEWEST trials, or where one cannot be fitted.

    side  how both are done: side by side, but where the parts of each one are
    """
    K = len(fit.kept)
    free = np.flatnonzero(np.diagonal(found.covariance_z) > 0.0)
    if K < FEWEST or not len(free):
        return None
    order = np.random.default_rng(seed).permutation(K)
    chosen = [np.sort(half) for half in (order[::2], order[1::2])]
    found_z = _both(model, fit, chosen, cancel, side)
    if getattr(cancel, "cancelled", False):
        return None
    ends = [z for z in found_z if z is not None]
    if not all(np.isfinite(z).all() for z in ends):
        return None
    sigma = np.sqrt(np.diagonal(found.covariance_z)[free])
    spread = np.sqrt(K * sum(1.0 / len(half) for half in chosen))
    mean = sum(len(half) * end for half, end in zip(chosen, ends, strict=True)) / K
    difference, off = (ends[0] - ends[1]) / spread, (mean - fit.z) / OFF
    z = np.hypot(difference, off)[free] / sigma
    names = {found.names[i]: float(value) for i, value in zip(free, z, strict=True)}
    return Halves(names, float(np.sqrt(np.mean(z**2))))


def _both(
    model: Model, fit: Fit, chosen: Sequence[np.ndarray], cancel: Any, side: SideBySide
) -> Sequence[np.ndarray | None]:
    """What `half` finds of both, None where it was cancelled."""
    inner = side if side and has_parts(model.config.fit) else ALONE

    def here(k: int) -> np.ndarray:
        return _fitted(model, fit.kept, chosen[k], k, cancel, inner)

    if inner:
        return [here(k) for k in range(len(chosen))]
    return side.results(
        half, list(enumerate(chosen)), lambda: (on_one_thread(model), fit.kept), here,
        cancel=cancel,
    )  # fmt: skip


def half(shared: tuple[Model, Sequence], task: tuple[int, np.ndarray], cancel: Any) -> np.ndarray:
    """The fit of a half as a task of an executor: (number, indices of trials) -> (nz,)."""
    (model, trials), (k, chosen) = shared, task
    return _fitted(model, trials, chosen, k, cancel)


def _fitted(
    model: Model, trials: Sequence, chosen: np.ndarray, k: int, cancel: Any,
    side: SideBySide = ALONE,
) -> np.ndarray:  # fmt: skip
    """Parameters (nz,) fitted to these trials as half k; NaN where the fit fails.

    A search, which takes longest, gets half its draws if those are enough for a surface.
    """
    options, n = model.config.fit, len(model.map.names)
    enough = int(np.ceil(ENOUGH_DRAWS * Surface.coefficients(n)))
    search = min(options.search_evaluations, max(options.search_evaluations // 2, enough))
    changed = replace(options, seed=options.seed + 1 + k, search_evaluations=search)
    own = replace(model, config=replace(model.config, fit=changed))
    try:
        some = [trials[i] for i in chosen]
        return fit_trials(own, some, Reporter(None, []), cancel, side=side).z
    except NotConverged:
        return np.full(n, np.nan)


def enlarged(found: Uncertainty, halves: Halves) -> Uncertainty:
    """The same with standard deviations that halves agree with, and notes on parameters apart."""
    factors, notes = np.ones(len(found.names)), list(found.notes)
    for name, factor in halves.factors.items():
        i = found.names.index(name)
        factors[i] = factor
        if name in halves.apart:
            apart = f"halves of the trials lie {halves.z[name]:.2g} times as far apart as they may"
            notes[i] = "; ".join(filter(None, [notes[i], apart]))
    samples = None if found.samples is None else found.z + factors * (found.samples - found.z)
    return replace(
        found,
        covariance_z=np.outer(factors, factors) * found.covariance_z,
        std_dev=factors * found.std_dev,
        samples=samples,
        notes=tuple(notes),
    )
