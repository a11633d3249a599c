"""What is hidden in the twin of `./run demo`, and how a user changes it: `--truth KEY=VALUE…`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from diffsim_ros.errors import InputError, nearest
from diffsim_ros.yaml_file import read_yaml

RANDOM = "random"
PLACE = "demo --truth"


@dataclass(frozen=True)
class Hidden:
    """One key of --truth: its range, what it is, and the range that `random` draws from."""

    about: str
    least: float
    most: float
    drawn: tuple[float, float]
    usual: float = 1.0
    log: bool = False


KEYS = {
    "friction": Hidden("coefficient of friction of ball and table", 0.0, 2.0, (0.02, 0.5), 0.3),
    "stiffness": Hidden(
        "factor of the foam's Young's modulus and viscosity", 0.1, 10.0, (0.3, 3.0), log=True
    ),
    "mass": Hidden("factor of the foam's density", 0.1, 10.0, (0.7, 1.3)),
    "grip": Hidden(
        "[m] sigma of where in the gripper the ball sits, in each throw", 0.0, 0.02, (0, 0.003), 0.0
    ),
}


def described() -> str:
    """The keys, for --help."""
    rows = [
        f"{name}: {key.about}, {key.least:g} to {key.most:g} [{key.usual:g}]"
        for name, key in KEYS.items()
    ]
    return "; ".join([*rows, "seed: of all noise, or of what `random` draws [0]"])


def read_truth(given: Sequence[str]) -> dict[str, float]:
    """Values of KEYS and `seed`, from words KEY=VALUE; with the word `random` those not given are
    drawn.

    InputError names a key that is not known, is given twice, or whose value is not accepted.
    """
    values: dict[str, float] = {}
    for word in (w for w in given if w != RANDOM):
        key, equals, text = word.partition("=")
        if not equals or key not in (*KEYS, "seed"):
            rule = "KEY=VALUE with one of " + ", ".join((*KEYS, "seed")) + f"; or {RANDOM}"
            raise InputError(PLACE, "", word, rule, nearest(key, [*KEYS, "seed"]))
        if key in values:
            raise InputError(PLACE, key, text, "each key once")
        values[key] = _number(key, text)
    seed = int(values.setdefault("seed", 0))
    draw = np.random.default_rng([seed, 7])
    for name, key in KEYS.items():
        low, high = key.drawn
        drawn = draw.uniform()
        found = low * (high / low) ** drawn if key.log else low + (high - low) * drawn
        values.setdefault(name, float(found) if RANDOM in given else key.usual)
    return values


def _number(key: str, text: str) -> float:
    if key == "seed":
        if not text.isascii() or not text.isdigit() or len(text) > 9:
            raise InputError(PLACE, key, text, "a whole number from 0 to 999999999")
        return int(text)
    own = KEYS[key]
    rule = f"a number from {own.least:g} to {own.most:g}: {own.about}"
    try:
        value = float(text)
    except ValueError:
        raise InputError(PLACE, key, text, rule) from None
    if not own.least <= value <= own.most:
        raise InputError(PLACE, key, text, rule)
    return value


def changed_twin(path: Path, truth: Mapping[str, float]) -> tuple[dict[str, Any], dict[str, float]]:
    """The mapping of a TWIN.yaml with this truth, and what it holds in SI units by name.

    path  config/twin/foam_throw.yaml; paths in it become absolute
    """
    twin = read_yaml(path)
    ball, (table,) = twin["scene"]["bodies"]["ball"], twin["scene"]["contact"]
    ball["young"] *= truth["stiffness"]
    ball["viscosity"] *= truth["stiffness"]
    ball["density"] *= truth["mass"]
    table["c_f"] = truth["friction"]
    if truth["grip"]:
        twin["spread"] = {"ball": {"position": [truth["grip"]] * 3}}
    twin["robot"] = str((path.parent / twin["robot"]).resolve())
    twin["seed"] = int(truth["seed"])
    held = {"friction": table["c_f"], "young": ball["young"], "viscosity": ball["viscosity"],
            "density": ball["density"]}  # fmt: skip
    return twin, held
