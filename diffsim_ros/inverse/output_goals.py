"""Outputs in a plan: near a value or within limits, or as a cost themselves  [7l, 7m]."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from diffsim_ros.errors import InputError

from ..output_value import OutputValue
from .goals import Aim
from .objectives import AtFrames, BodySlot, _checked
from .output_term import OutputTerm


@dataclass(frozen=True, kw_only=True, eq=False)
class OfOutput(AtFrames):
    """What objectives of an output at rows of a rollout have in common.

    scene   engine scene, which has the output
    output  as in OutputTrack; of several items (all springs, all tetrahedra) every one counts
    """

    body: str = ""
    frames: np.ndarray
    scene: Any
    output: str
    name: str = "output"
    soft: ClassVar[bool] = True
    value: OutputValue = field(init=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "value", OutputValue.of(self.scene, self.output, self.place))

    @property
    def place(self) -> str:
        """For messages."""
        return f"{self.called} {self.name!r} of output {self.output!r}"

    @property
    def outputs(self) -> tuple[str, ...]:
        """Outputs that the rollout is to be asked for."""
        return (self.value.name,)


@dataclass(frozen=True, kw_only=True, eq=False)
class OutputGoal(Aim, OfOutput):
    """An output near a value, or within limits, at every row.

    Near: r = (y - near)/sigma, the mean square over rows and items. Within limits:
    r = max(0, y - at_most, at_least - y)/sigma, the sum over rows and items, as of a clearance.

    near; at_most, at_least  in the output's unit: the one, or one or both of the others
    sigma                    tolerance, in the output's unit
    """

    near: float | None = None
    at_most: float | None = None
    at_least: float | None = None
    sigma: float

    def __post_init__(self) -> None:
        super().__post_init__()
        limits = [one for one in (self.at_least, self.at_most) if one is not None]
        given = [*limits, *([] if self.near is None else [self.near])]
        if not given or (limits and self.near is not None):
            raise InputError(self.place, "near", given, "near, or at_most, at_least or both")
        _checked(self.place, "near, at_most, at_least", given, (-1,))
        if limits != sorted(limits):
            raise InputError(self.place, "at_least", self.at_least, f"at most {self.at_most:g}")
        _checked(self.place, "sigma", self.sigma, (), positive=True)

    def _away(self, y: np.ndarray) -> np.ndarray:
        """(M, n), 0 within the limits, signed."""
        if self.near is not None:
            return y - self.near
        low = -np.inf if self.at_least is None else self.at_least
        high = np.inf if self.at_most is None else self.at_most
        return y - np.clip(y, low, high)

    def reached(self, rollout: Any, slot: BodySlot) -> float:
        """Root of the mean square distance from the value; the largest excess over a limit."""
        away = self._away(self.value.at(rollout, self.frames)[0])
        return float(np.sqrt(np.mean(away**2)) if self.near is not None else np.abs(away).max())

    def term(self, rollout: Any, slot: BodySlot, values: Mapping[str, float]) -> OutputTerm:
        """Residual (M, n) and its partials by the output."""
        y, by = self.value.at(rollout, self.frames)
        away, scale = self._away(y), 1.0 / self.sigma
        if self.near is not None:
            scale /= np.sqrt(away.size)
            return OutputTerm(away * scale, rollout, self.value, ((self.frames, by * scale),))
        beyond = away != 0
        pairs = ((self.frames, by * (scale * beyond)[..., None]),)
        signature = hash(beyond.tobytes())
        return OutputTerm(away * scale, rollout, self.value, pairs, signature=signature)


@dataclass(frozen=True, kw_only=True, eq=False)
class OutputCost(OfOutput):
    """An output that is the cost itself: its integral over time, or its peak.

    integral: C = weight * sum over items of the integral of y dt (trapezoidal rule over the rows)
    peak:     C = weight * s log(sum over rows and items of exp(y/s)), at least the largest y and
              at most s log(M n) more; s is the `softness`

    interval  of the rows [s], of the integral;  softness  in the output's unit, of the peak
    weight    cost per unit
    Gauss-Newton has no curvature of a linear cost: minimise it with `lbfgs` or `adam`.
    """

    interval: float | None = None
    softness: float | None = None
    weight: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.interval is None) == (self.softness is None):
            got = [self.interval, self.softness]
            raise InputError(self.place, "interval, softness", got, "exactly one of them")
        given = self.softness if self.interval is None else self.interval
        _checked(self.place, "interval or softness", np.asarray(given), (), positive=True)
        _checked(self.place, "weight", np.asarray(self.weight), ())

    def term(self, rollout: Any, slot: BodySlot, values: Mapping[str, float]) -> OutputTerm:
        """Shares (M, n) that add up to the cost, and its partials by the output."""
        y, by = self.value.at(rollout, self.frames)
        if self.softness is None:
            t = self.frames * float(self.interval or 0.0)
            share = np.zeros(len(t))
            share[:-1] += 0.5 * np.diff(t)
            share[1:] += 0.5 * np.diff(t)
            part = self.weight * share[:, None] * np.ones_like(y)
            cost = part * y
        else:
            power = np.exp((y - y.max()) / self.softness)
            part = self.weight * power / power.sum()
            cost = np.zeros_like(y)
            cost[0, 0] = self.weight * (y.max() + self.softness * np.log(power.sum()))
        pairs = ((self.frames, by * part[..., None]),)
        return OutputTerm(cost, rollout, self.value, pairs, linear=True)
