"""A measured output: a load cell, a strain gauge, a motor's torque, over time  [17c].

    r = (scale y(t) + offset - measured)/sigma

y is one number of an output of the scene, along straight lines between rows; scale and offset (a
gauge's gain, a tare) are numbers or parameters.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from diffsim_ros.errors import InputError

from ..output_value import OutputValue
from .at_times import AtTimes, rows_around
from .clock import NamedNumbers
from .objectives import BodySlot, _checked
from .output_term import OutputTerm

AS_IT_IS = NamedNumbers((1.0, 0.0), ("", ""))


@dataclass(frozen=True, kw_only=True, eq=False)
class OutputTrack(AtTimes):
    """See the module; r per time: (M, 1).

    scene     engine scene, which has the output
    output    one number of it: ground.force.z, ground.force (its magnitude), rope.tension[0],
              foam.strain[12].xx
    t         (M,) stamps since the start of the rollout [s];  interval  of its rows [s]
    measured  (M,), NaN: not measured;  sigma  its standard deviation, in its own unit
    gauge     scale and offset, of which each may be a parameter
    body      whose surface pictures show
    """

    body: str = ""
    scene: Any
    output: str
    measured: np.ndarray
    sigma: float
    gauge: NamedNumbers = AS_IT_IS
    name: str = "output"
    each_time = ("measured",)
    value: OutputValue = field(init=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        put, place = object.__setattr__, self.place
        value = OutputValue.of(self.scene, self.output, place)
        if value.count > 1:
            rule = f"one of them: {value.name}[0] to {value.name}[{value.count - 1}]"
            raise InputError(place, "output", self.output, rule)
        put(self, "value", value)
        measured = np.asarray(self.measured, float)
        _checked(place, "measured", np.where(np.isnan(measured), 0.0, measured), (len(self.t),))
        put(self, "measured", measured)
        for key in ("sigma", "interval"):
            if not (np.isfinite(getattr(self, key)) and getattr(self, key) > 0):
                raise InputError(place, key, getattr(self, key), "a number > 0")

    @property
    def place(self) -> str:
        """For messages."""
        return f"objective {self.name!r} of output {self.output!r}"

    @property
    def outputs(self) -> tuple[str, ...]:
        """Outputs that the rollout is to be asked for."""
        return (self.value.name,)

    @property
    def parameters(self) -> tuple[str, ...]:
        """See AtTimes."""
        names = [name for name in self.gauge.names if name]
        return tuple(dict.fromkeys((*super().parameters, *names)))

    def predicted(self, rollout: Any, values: Mapping[str, float]) -> np.ndarray:
        """What the sensor would show (M,), in its own unit."""
        at, _ = self.within(rollout, values)
        y, _ = self._between(rollout, at)
        scale, offset = self.gauge.at(values)
        return scale * ((1.0 - self._share(at)) * y[0] + self._share(at) * y[1]) + offset

    def term(self, rollout: Any, slot: BodySlot, values: Mapping[str, float]) -> OutputTerm:
        """Residuals (M, 1) and their partials by the output at two rows, clock and gauge."""
        at, moving = self.within(rollout, values)
        share, (y, by) = self._share(at), self._between(rollout, at)
        scale, _ = self.gauge.at(values)
        seen = ~np.isnan(self.measured) / self.sigma  # 0 where nothing was measured
        away = self.predicted(rollout, values) - np.nan_to_num(self.measured)
        around = rows_around(at, self.interval)
        partials = tuple(
            (around[:, k], (seen * scale * part)[:, None, None] * by[k])
            for k, part in enumerate((1.0 - share, share))
        )
        own: dict[str, np.ndarray] = {}
        between = (1.0 - share) * y[0] + share * y[1]
        for name, slope in zip(self.gauge.names, (between, np.ones_like(between)), strict=True):
            if name:
                own[name] = own.get(name, 0.0) + (seen * slope)[:, None]
        if self.clock.parameters:
            speed = (seen * scale * (y[1] - y[0]) / self.interval)[:, None]
            for name, part in self.clock.own(self.t, moving, speed).items():
                own[name] = own.get(name, 0.0) + part
        return OutputTerm((seen * away)[:, None], rollout, self.value, partials, own)

    def _share(self, at: np.ndarray) -> np.ndarray:
        """Share of the later row (M,)."""
        return np.clip(at / self.interval - rows_around(at, self.interval)[:, 0], 0.0, 1.0)

    def _between(self, rollout: Any, at: np.ndarray) -> tuple[list, list]:
        """(y (M,), partials (M, 1, k)) at the rows before and after times (M,)."""
        pairs = [self.value.at(rollout, rows) for rows in rows_around(at, self.interval).T]
        return [y[:, 0] for y, _ in pairs], [by for _, by in pairs]
