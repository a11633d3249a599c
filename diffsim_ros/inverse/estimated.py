"""What the result.yaml of an estimation says of its parameters, their uncertainty included."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InputError
from ..yaml_file import read_yaml

RULE = "a result.yaml of diffsim estimate with standard deviations"


@dataclass(frozen=True)
class Estimated:
    """One parameter of an estimation; std_dev None: held, or not known.

    sets  as the estimation's file has it (parameter.read_sets); empty: its own name
    """

    name: str
    unit: str
    value: float
    std_dev: float | None
    lower: float
    upper: float
    scale: str
    sets: Mapping


def read_estimated(
    file: str | Path, *, groups: bool = True
) -> tuple[list[Estimated], dict[str, dict[str, float]]]:
    """Parameters and the correlations of those that were estimated, name -> name -> number.

    groups  those of a group of inertias, which set the scene's together, are passed over; else they
            are refused
    Raises InputError where the file has no such sections.
    """
    content: Any = read_yaml(file)
    try:
        rows, config = content["correlation"], content["config"]["parameters"]
        found = [
            _one(name, entry, config[name])
            for name, entry in content["parameters"].items()
            if not groups or name in config
        ]
        estimated = [one.name for one in found if one.std_dev is not None]
        matrix = {a: {b: float(rows[a][b] or 0.0) for b in estimated} for a in estimated}
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise InputError(file, "", f"missing: {error}", RULE) from error
    return found, matrix


def _one(name: str, entry: Mapping, given: Mapping) -> Estimated:
    low, high = entry.get("bounds") or (None, None)
    return Estimated(
        name,
        entry.get("unit", ""),
        float(entry["value"]),
        None if entry["std_dev"] is None else float(entry["std_dev"]),
        -np.inf if low is None else float(low),
        np.inf if high is None else float(high),
        given.get("scale", "linear"),
        dict(given.get("sets") or {}),
    )
