"""Do intervals cover the truth?  Assertions of all studies of rendered recordings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from scipy.stats import norm

from .common import judged

THESIS = {"hours_fig_4_10": [5, 7], "rollouts_fig_4_10": [350, 586]}
"""What [G] states for its thrown bodies with markers."""
INSIDE_95, SIGMA_OVER_BOUND = 0.85, 3.0


def pair(truth: float, value: float, sigma: float, bound: float) -> dict[str, float]:
    """One parameter of one recording: estimate beside truth, sigma beside the Cramer-Rao bound."""
    return {
        "truth": float(truth), "value": float(value), "sigma": float(sigma),
        "z": float((value - truth) / sigma), "sigma_over_bound": float(sigma / bound),
    }  # fmt: skip


def reported(name: str, fit: Mapping) -> Mapping:
    """Print a line about a recording, as a study takes minutes; the recording itself."""
    z = {key: round(one["z"], 2) for key, one in fit["parameters"].items()}
    print(
        f"{name}: {fit['rollouts']} rollouts, {fit['cpu_seconds']:.0f} CPU s, z = {z}", flush=True
    )
    return fit


def coverage(fits: Sequence[Mapping]) -> dict:
    """Figures over all pairs of parameter and recording (`parameters` of each: name -> pair).

    Missed unless 85 to 100 % of the pairs are within their 95 % interval, all within 99.9 %, and
    sigma is at most 3 times the bound.
    """
    pairs = [one for fit in fits for one in fit["parameters"].values()]
    z = np.abs([one["z"] for one in pairs])
    ratio = np.array([one["sigma_over_bound"] for one in pairs])
    figures = {
        "pairs": len(pairs), "inside_95": float(np.mean(z <= norm.ppf(0.975))),
        "largest_z": float(z.max()), "largest_sigma_over_bound": float(ratio.max()),
        "smallest_sigma_over_bound": float(ratio.min()),
        "rollouts": [fit["rollouts"] for fit in fits],
        "seconds_each": [fit["seconds"] for fit in fits],
    }  # fmt: skip
    missed = []
    if not ratio.max() <= SIGMA_OVER_BOUND:
        missed.append(f"sigma over the Cramer-Rao bound: {ratio.max():.2f}")
    if not z.max() <= norm.ppf(0.9995):
        missed.append(f"outside of its 99.9 % interval: {z.max():.2f} sigma")
    if not figures["inside_95"] >= INSIDE_95:
        missed.append(f"inside 95 %: {100 * figures['inside_95']:.0f} %")
    return judged(figures, missed)
