"""A parameter of an estimation, a plan or a gradient check, and its keys in YAML.

Parameters z set parameters p of a scene as p = factor * Π z^power, the product over those whose
`sets` name p.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

from diffsim_ros.errors import InputError, nearest
from diffsim_ros.fields import REQUIRED, Field, Reader, Section

UNIT = Field("text", "unit of the value", default="1")
SCALE = Field("choice", "scale of the search", default="linear", choices=("linear", "log"))
FACTOR_POWER: Section = {
    "factor": Field("number", "scene value = factor * value ** power", "", 1.0),
    "power": Field("number", "see factor", "1", 1.0),
}
SETS = Field(
    "mapping",
    "parameter of the scene -> power, or {factor, power}: it is the product over parameters of "
    "factor * value ** power",
    default=REQUIRED,
    of_names=True,
)
Sets = Mapping[str, tuple[float, float]]
"""Parameter of the scene -> (factor, power)."""
Follows = Mapping[str, Mapping[str, float]]
"""Parameter of the scene -> those that go with it -> factor: the file's key of the first means all
of them, as the mass of a uniform body means its inertia too."""

SAME_RATIO = 1e-9
"""Relative deviation up to which a number still is what follows from another."""


def follows_of(engine: Any) -> Follows:
    """What goes with what in an engine's scene (`Scene.follows`, where a file made it)."""
    return getattr(engine, "follows", {})


def with_followers(follows: Follows, given: Mapping[str, float]) -> dict[str, float]:
    """Values by name, and those of what goes with them: what is given itself stays as it is."""
    found = dict(given)
    for name in follows.keys() & given.keys():
        for other, factor in follows[name].items():
            found.setdefault(other, factor * given[name])
    return found


def assign(scene: Any, p: Any, given: Mapping[str, float]) -> None:
    """Set numbers of an engine's scene by name in p (np,), and what goes with them: not what is
    given itself, or had a value of its own."""
    known = {name: int(scene.index(name)) for name in given}
    follows, moved = follows_of(scene), {}
    for name in follows.keys() & given.keys():
        for other, factor in follows[name].items():
            k = int(scene.index(other))
            if other not in given and goes_with(p[k], p[known[name]], factor):
                moved[k] = factor * given[name]
    for name, k in known.items():
        p[k] = given[name]
    for k, value in moved.items():
        p[k] = value


def goes_with(value: float, of: float, factor: float) -> bool:
    """Whether a scene's number is what follows from another, or has been set by itself."""
    return math.isclose(value, factor * of, rel_tol=SAME_RATIO)


def read_sets(
    reader: Reader, sets: Mapping, key: str, known: Collection[str]
) -> dict[str, tuple[float, float]]:
    """A mapping `sets`; InputError names a parameter that is none of `known`, the scene's."""
    found = {}
    for name, value in sets.items():
        if name not in known:
            rule = "a parameter of the scene"
            raise reader.error(f"{key}.{name}", value, rule, nearest(name, known))
        given = value if isinstance(value, Mapping) else {"power": value}
        read = reader.section(FACTOR_POWER, given, f"{key}.{name}")
        found[name] = (read["factor"], read["power"])
    return found


@dataclass(frozen=True)
class Parameter:
    """One number to be estimated, in its natural unit.

    lower, upper  bounds on the value; `scale` "log" needs value, lower >= 0 (0: no lower bound)
    typical       size of a usual change of a linear parameter; default: prior_sigma, |value| or 1
    prior_*       Gaussian prior in value units; on a log scale log(value) has sigma/mean
    sets          parameter of the scene -> (factor, power), p = product over parameters of
                  factor * value^power.  Empty: the parameter of the same name; if there is
                  none, an objective or a start must read the value
    free          False: held at `value`
    """

    name: str
    unit: str
    value: float
    lower: float = -math.inf
    upper: float = math.inf
    scale: str = "linear"
    prior_mean: float | None = None
    prior_sigma: float | None = None
    sets: Sets = field(default_factory=dict)
    typical: float | None = None
    free: bool = True

    def __post_init__(self) -> None:
        def refuse(key: str, accepted: str) -> NoReturn:
            raise InputError(f"parameter {self.name}", key, getattr(self, key), accepted)

        if self.scale not in ("linear", "log"):
            refuse("scale", '"linear" or "log"')
        if not math.isfinite(self.value):
            refuse("value", f"a finite number [{self.unit}]")
        if not self.lower < self.upper:
            refuse("lower", f"less than upper = {self.upper}")
        if not self.lower <= self.value <= self.upper:
            refuse("value", f"within the bounds [{self.lower}, {self.upper}]")
        if self.scale == "log" and self.value <= 0:
            refuse("value", "greater than 0 on a log scale")
        if (self.prior_mean is None) != (self.prior_sigma is None):
            refuse("prior_sigma", "given together with prior_mean")
        if self.prior_sigma is not None and not 0 < self.prior_sigma < math.inf:
            refuse("prior_sigma", "a finite number > 0")
        if self.scale == "log" and self.prior_mean is not None and self.prior_mean <= 0:
            refuse("prior_mean", "greater than 0 on a log scale")
        if self.typical is not None and not 0 < self.typical < math.inf:
            refuse("typical", "a finite number > 0")

    @property
    def step(self) -> float:
        """Value change of a linear parameter per unit of z."""
        return float(self.typical or self.prior_sigma or abs(self.value) or 1.0)

    def to_z(self, value: float) -> float:
        """Scaled variable of a value; -inf for 0 or less on a log scale."""
        if self.scale == "log":
            return math.log(value) if value > 0 else -math.inf
        return value / self.step
