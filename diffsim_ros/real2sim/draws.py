"""Parameters of a scene drawn as an estimate leaves them: values, deviations and correlations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ..fields import Reader
from ..inverse.estimated import read_estimated
from ..inverse.parameters import ParameterMap
from ..parameter import Parameter, read_sets


def drawn(path: str | Path, engine: Any, count: int, rng: np.random.Generator) -> np.ndarray:
    """Parameters of the scene (count, np), those that the result.yaml estimated drawn.

    They are normal in the optimiser's variables, logarithms where the estimation has those, and
    stay within their bounds.  Parameters without a standard deviation keep their value, and so do
    those of a group of inertias.
    """
    found, correlation = read_estimated(path)
    known, reader = {info.name for info in engine.parameters}, Reader(path)
    parameters = [
        Parameter(
            one.name,
            one.unit,
            one.value,
            one.lower,
            one.upper,
            scale=one.scale,
            sets=read_sets(reader, one.sets, f"config.parameters.{one.name}.sets", known),
            free=one.std_dev is not None,
        )
        for one in found
    ]
    known_map = ParameterMap(parameters, engine)
    z, names = known_map.start, known_map.names
    sigma = np.array([one.std_dev for one in found if one.std_dev is not None], float)
    sigma = sigma / np.abs(known_map.value_slopes(z))
    matrix = np.array([[correlation[a][b] for b in names] for a in names])
    covariance = matrix.reshape(len(z), len(z)) * np.outer(sigma, sigma)
    draws = rng.multivariate_normal(z, covariance, size=count, method="eigh")
    draws = np.clip(draws, known_map.lower, known_map.upper)
    return np.array([known_map.engine(row, engine.values) for row in draws])
