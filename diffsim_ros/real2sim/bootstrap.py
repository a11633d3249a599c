"""Bootstrap intervals of means, by resampling recordings."""

from __future__ import annotations

import numpy as np

SAMPLES = 10_000
LEVEL = 0.95


def interval(values: np.ndarray, seed: int) -> list[list[float]]:
    """95 % bootstrap interval of the mean of every column of values (n, k): k pairs.

    All columns are resampled by the same rows.
    """
    rows = np.random.default_rng(seed).integers(0, len(values), (SAMPLES, len(values)))
    counts = np.zeros((SAMPLES, len(values)))
    np.add.at(counts, (np.arange(SAMPLES)[:, None], rows), 1.0)
    tail = 0.5 * (1.0 - LEVEL)
    return np.quantile(counts @ values / len(values), [tail, 1.0 - tail], axis=0).T.tolist()
