"""Parameters of a scene drawn as an estimate leaves them: values, deviations and correlations."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InputError
from ..fields import Reader
from ..inverse.parameters import ParameterMap
from ..parameter import Parameter, read_sets
from ..yaml_file import read_yaml

RULE = "a result.yaml of diffsim estimate"


def drawn(path: str | Path, engine: Any, count: int, rng: np.random.Generator) -> np.ndarray:
    """Parameters of the scene (count, np), those that the result.yaml estimated drawn.

    They are normal in the optimiser's variables, logarithms where the estimation has those, and
    stay within their bounds.  Parameters without a standard deviation keep their value.
    """
    content = read_yaml(path)
    sections = content if isinstance(content, Mapping) else {}
    entries, config = sections.get("parameters"), sections.get("config")
    if not isinstance(entries, Mapping) or not isinstance(config, Mapping):
        raise InputError(path, "parameters, config", sorted(sections), RULE)
    known, reader = {info.name for info in engine.parameters}, Reader(path)
    parameters = []
    for name, entry in sorted(entries.items()):
        given = config.get("parameters", {}).get(name)
        if not isinstance(entry, Mapping) or not isinstance(given, Mapping):
            raise InputError(path, f"config.parameters.{name}", given, RULE)
        low, high = entry.get("bounds") or [None, None]
        parameters.append(
            Parameter(
                name,
                entry["unit"],
                entry["value"],
                -np.inf if low is None else low,
                np.inf if high is None else high,
                scale=given.get("scale", "linear"),
                sets=read_sets(reader, given["sets"], f"config.parameters.{name}.sets", known),
                free=entry.get("std_dev") is not None,
            )
        )
    known_map = ParameterMap(parameters, engine)
    z = known_map.start
    sigma = np.array([entries[name]["std_dev"] for name in known_map.names], float)
    sigma = sigma / np.abs(known_map.value_slopes(z))
    matrix = sections.get("correlation") or {}
    correlation = np.eye(len(z))
    for i, row in enumerate(known_map.names):
        for j, column in enumerate(known_map.names):
            value = matrix.get(row, {}).get(column)
            correlation[i, j] = correlation[i, j] if value is None else value
    covariance = correlation * np.outer(sigma, sigma)
    draws = rng.multivariate_normal(z, covariance, size=count, method="eigh")
    draws = np.clip(draws, known_map.lower, known_map.upper)
    return np.array([known_map.engine(row, engine.values) for row in draws])
