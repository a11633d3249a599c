"""Which parameters the data determine, and distinguish from others [Eq. 15].

Works on the Hessian of the data alone (shared priors left out, nuisance variables eliminated).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

CORRELATED = 0.99  # |correlation| from which two parameters cannot be distinguished
COMBINED = 0.999  # multiple correlation from which a parameter hides in a combination of others
UNDETERMINED = 1e3  # sigma in units of z, all else known, from which on it is undetermined


@dataclass(frozen=True)
class Identifiability:
    """Verdict per parameter.

    identifiable (nz,) bool; notes (nz,) sentences, "" if there is none
    pairs        (name, name, correlation) that the data cannot distinguish
    sigma        (nz,) standard deviation of z from the data alone, inf where undetermined
    """

    identifiable: tuple[bool, ...]
    notes: tuple[str, ...]
    pairs: tuple[tuple[str, str, float], ...]
    sigma: np.ndarray


def _combinations(
    scaled: np.ndarray, informed: list[int], names: Sequence[str], notes: list[list[str]]
) -> tuple[list[tuple[str, str, float]], np.ndarray]:
    """Pairs and groups among the determined parameters; adds notes, returns pairs and sigmas."""
    values, vectors = np.linalg.eigh(scaled)
    floor = 1e-13 * max(float(values[-1]), 1.0)
    inverse = (vectors / np.maximum(values, floor)) @ vectors.T
    diagonal = np.diagonal(inverse)
    correlation = inverse / np.sqrt(np.outer(diagonal, diagonal))
    pairs = []
    for a, i in enumerate(informed):
        near = [b for b in range(len(informed)) if b != a and abs(correlation[a, b]) > CORRELATED]
        for b in near:
            if a < b:
                pairs.append((names[i], names[informed[b]], float(correlation[a, b])))
        if near:
            partners = ", ".join(f"{names[informed[b]]} ({correlation[a, b]:+.4f})" for b in near)
            notes[i].append(f"the data cannot distinguish it from {partners}")
        elif 1.0 - 1.0 / diagonal[a] > COMBINED**2:
            pull = np.abs(inverse[a] / diagonal[a])
            pull[a] = 0.0
            group = [names[informed[b]] for b in np.flatnonzero(pull > 0.2 * pull.max())]
            notes[i].append(f"only a combination with {', '.join(group)} is determined")
    return pairs, np.sqrt(diagonal)


def identifiability(
    H_data: np.ndarray, names: Sequence[str], lower: np.ndarray, upper: np.ndarray, *,
    logarithmic: np.ndarray | Sequence[bool] | None = None,
) -> Identifiability:  # fmt: skip
    """Analyse the data's Hessian H_data (nz, nz) over z with bounds lower, upper (nz,).

    logarithmic (nz,) bool: there sigma_z > 1, a factor e, counts as not determined.
    """
    n = len(names)
    notes: list[list[str]] = [[] for _ in range(n)]
    curvature = np.diagonal(H_data)
    informed = np.flatnonzero(curvature > 1.0 / UNDETERMINED**2)
    sigma = np.full(n, np.inf)
    pairs: list[tuple[str, str, float]] = []
    for i in set(range(n)) - set(informed.tolist()):
        notes[i].append("the data do not depend on it")
    if len(informed):
        scale = 1.0 / np.sqrt(curvature[informed])
        scaled = H_data[np.ix_(informed, informed)] * np.outer(scale, scale)
        pairs, inflation = _combinations(scaled, informed.tolist(), names, notes)
        sigma[informed] = inflation * scale
    log = np.zeros(n, bool) if logarithmic is None else np.asarray(logarithmic, bool)
    for i in informed.tolist():
        if notes[i]:
            continue
        if sigma[i] > 0.5 * (upper[i] - lower[i]):
            notes[i].append("the data determine it no better than its bounds")
        elif log[i] and sigma[i] > 1.0:
            notes[i].append("the data do not determine it within a factor of e")
    text = tuple("; ".join(sentences) for sentences in notes)
    return Identifiability(tuple(not t for t in text), text, tuple(pairs), sigma)
