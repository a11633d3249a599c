"""Robust plans: the objective is the mean over a handful of samples of what is uncertain.

A sample changes parameters of the scene (by up to a share, or drawn from an estimation's
covariance), displaces the arm's motion, and shifts the release.  All samples are trials of one
problem; fresh ones, which the search has not used, evaluate the plan before and after.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
from scipy.stats import norm, qmc

from ..errors import nearest
from ..fields import Field, Reader, Section
from ..inverse.estimated import read_estimated
from ..inverse.parameters import ParameterMap
from ..inverse.trial import Trial
from ..parameter import read_sets
from ..scene.model import SceneModel
from .release import DELAY, SHIFT

ROBUST: Section = {
    "samples": Field("integer", "the mean over which is minimised", default=6, minimum=1),
    "seed": Field("integer", "of the draws", default=0, minimum=0),
    "fresh": Field("integer", "other samples, on which it is evaluated", default=60, minimum=1),
    "spread": Field(
        "mapping",
        "parameter of the scene -> share of its value, +-",
        default={},
        of_names=True,
    ),
    "placement": Field(
        "number", "of what the arm holds, +- along each axis", "m", default=0.0, minimum=0
    ),
    "estimated": Field("flag", "draw from the covariance of `estimated` as well", default=False),
}


@dataclass(frozen=True)
class ParameterDistribution:
    """Parameters of an estimation about their values: x = value exp(d) or value + d, d ~ N(0, C).

    values (n,), logarithmic (n,), factor (n, n) of C; powers: parameter -> (n,) of them
    """

    values: np.ndarray
    logarithmic: np.ndarray
    factor: np.ndarray
    powers: Mapping[str, np.ndarray]

    def ratios(self, normal: np.ndarray) -> dict[str, float]:
        """Parameter -> factor on it, of standard normal draws (n,)."""
        d = self.factor @ normal
        ratio = np.where(self.logarithmic, np.exp(d), 1.0 + d / self.values)
        ratio = np.maximum(ratio, 1e-3)  # what is a positive number stays one
        return {name: float(np.prod(ratio**power)) for name, power in self.powers.items()}


@dataclass(frozen=True)
class Robust:
    """Uncertain quantities and the number of samples; see `ROBUST`.

    spread  parameter -> share of its value, +-;  jitter  standard deviation of the release [s]
    """

    samples: int
    fresh: int
    seed: int
    spread: Mapping[str, float]
    placement: float
    jitter: float
    distribution: ParameterDistribution | None = None

    def trials(self, scene: SceneModel, objectives: tuple, count: int, seed: int) -> list[Trial]:
        """`count` trials that fill the uncertainty evenly (Sobol), of equal weight."""
        known = 0 if self.distribution is None else len(self.distribution.values)
        size = len(self.spread) + (3 if self.placement else 0) + bool(self.jitter) + known
        draws = qmc.Sobol(size, seed=seed).random_base2(int(np.ceil(np.log2(max(count, 2)))))
        return [
            self._trial(scene, objectives, f"sample {i}", 1.0 / count, list(np.clip(u, 1e-6, 1)))
            for i, u in enumerate(draws[:count])
        ]

    def _trial(
        self, scene: SceneModel, objectives: tuple, name: str, weight: float, u: list[float]
    ) -> Trial:
        """One sample of uniform draws."""
        values, held, changed = scene.engine.values, {}, {}
        for parameter, share in self.spread.items():
            at = float(values[scene.engine.index(parameter)])
            changed[parameter] = at * (1.0 + share * (2.0 * u.pop() - 1.0))
        if self.placement:
            held = {axis: self.placement * (2.0 * u.pop() - 1.0) for axis in SHIFT}
        if self.jitter:
            held[DELAY] = self.jitter * float(norm.ppf(min(u.pop(), 1.0 - 1e-6)))
        if self.distribution is not None:
            for parameter, ratio in self.distribution.ratios(
                norm.ppf(np.clip(u, 1e-6, 1 - 1e-6))
            ).items():
                at = float(values[scene.engine.index(parameter)])
                changed[parameter] = changed.get(parameter, at) * ratio
        return Trial(name, scene.steps, objectives, weight=weight, parameters=changed, held=held)


class _Holding(Protocol):
    """What samples need of a `config.Task`: its release, if it has one."""

    @property
    def holds(self) -> bool:
        """It holds what it releases."""
        ...

    @property
    def jitter(self) -> float:
        """Standard deviation of the release [s]."""
        ...


def read_robust(
    reader: Reader, value: object, scene: SceneModel, controls: ParameterMap,
    task: _Holding | None, estimated: str | Path | None,
) -> Robust | None:  # fmt: skip
    """Section `search.robust`; InputError naming key, value and rule."""
    if value is None:
        return None
    given, key = reader.section(ROBUST, value, "search.robust"), "search.robust"
    names = [info.name for info in scene.engine.parameters]
    chosen = {names[i] for i in controls.active}
    for name, share in given["spread"].items():
        if name not in names:
            near = nearest(name, names)
            raise reader.error(f"{key}.spread.{name}", share, "a parameter of the scene", near)
        if name in chosen:
            raise reader.error(f"{key}.spread.{name}", share, "no parameter that the plan chooses")
        number = isinstance(share, (int, float)) and not isinstance(share, bool)
        if not number or not 0 < share < 1:
            raise reader.error(f"{key}.spread.{name}", share, "a share between 0 and 1")
        if not scene.engine.values[scene.engine.index(name)]:
            rule = "a parameter of another value than 0, of which it is a share"
            raise reader.error(f"{key}.spread.{name}", share, rule)
    if given["placement"] and (task is None or not task.holds):
        raise reader.error(f"{key}.placement", given["placement"], "0 where no arm throws")
    distribution = (
        _distribution(reader, estimated, set(names) - chosen) if given["estimated"] else None
    )
    jitter = 0.0 if task is None else task.jitter
    if not (given["spread"] or given["placement"] or jitter or distribution):
        rule = "something uncertain: spread, placement, estimated, or a release with jitter"
        raise reader.error(key, value, rule)
    return Robust(given["samples"], given["fresh"], given["seed"], given["spread"],
                  given["placement"], jitter, distribution)  # fmt: skip


def _distribution(
    reader: Reader, file: str | Path | None, names: set[str]
) -> ParameterDistribution:
    """Parameters of the scene in the estimation's result.yaml."""
    if file is None:
        rule = "false where there is no `estimated`"
        raise reader.error("search.robust.estimated", True, rule)
    entries, rows = read_estimated(file, groups=False)
    found = {one.name: one for one in entries if one.std_dev and one.value}
    matrix = np.array([[rows[a][b] for b in found] for a in found], float)
    values = np.array([one.value for one in found.values()], float)
    sigma = np.array([one.std_dev for one in found.values()], float)
    log = np.array([one.scale == "log" for one in found.values()], bool)
    sigma = np.where(log, sigma / np.abs(values), sigma)
    at, turned = np.linalg.eigh(matrix + 1e-12 * np.eye(len(found)))
    factor = sigma[:, None] * turned * np.sqrt(np.maximum(at, 0.0))
    powers: dict[str, np.ndarray] = {}
    for i, (name, one) in enumerate(found.items()):
        key = f"config.parameters.{name}.sets"
        given = Reader(file).present_names(one.sets or {name: 1}, key)
        here = {target: power for target, power in given.items() if target in names}
        for target, (_, power) in read_sets(Reader(file), here, key, names).items():
            powers.setdefault(target, np.zeros(len(found)))[i] = power
    if not powers:
        raise reader.error("estimated", str(file), "parameters with sigmas that the scene has")
    return ParameterDistribution(values, log, factor, powers)
