"""Is the time step short enough for a fit?  Its end is simulated once more with half of it."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from ..errors import InputError
from ..inverse.step_shift import StepShift, step_shift
from ..inverse.uncertainty import Uncertainty
from .fit import Fit
from .options import EstimationConfig
from .spread import solution_of

SHIFT = 1.0
"""Standard deviations that half the time step may move a parameter by."""


def shift_of(fit: Fit, config: EstimationConfig, cancel: Any = None) -> StepShift | None:
    """What half the time step changes at the end of a fit.

    None where it is not asked for, cannot be simulated, or the fit ended with a search: that
    smooths over what single derivatives say.
    """
    if not config.fit.check_step or fit.surface is not None:
        return None
    try:
        return step_shift(fit.problem, solution_of(fit), cancel)
    except (InputError, np.linalg.LinAlgError):
        return None


def noted(shift: StepShift, found: Uncertainty | None) -> tuple[Uncertainty | None, str]:
    """The uncertainty with notes on parameters that half the step moves too far, and a sentence."""
    head = f"time step: half of {shift.step:.3g} s changes residuals by {shift.change:.2g} sigma"
    over = {} if found is None else shift.over(found.covariance_z, found.names)
    if found is None or not over:
        return found, head
    name, most = next(iter(over.items()))
    notes = [
        "; ".join(filter(None, [note, _note(over.get(one, 0.0))]))
        for one, note in zip(found.names, found.notes, strict=True)
    ]
    sentence = f"{head} and would move parameters by {abs(most):.2g} std_dev at most ({name})"
    return replace(found, notes=tuple(notes)), sentence


def _note(size: float) -> str:
    return f"half the time step would move it by {size:+.2g} std_dev" if abs(size) > SHIFT else ""


def shift_figures(shift: StepShift, found: Uncertainty | None) -> dict:
    """Section `step` of result.yaml and metrics.json."""
    over = {} if found is None else shift.over(found.covariance_z, found.names)
    moved = {
        name: {"change": value, "over_std_dev": over.get(name)}
        for name, value in shift.values.items()
    }
    return {
        "seconds": shift.step, "residuals_change_sigma": shift.change,
        "residuals_left_sigma": shift.left, "half": moved,
    }  # fmt: skip


def shortened(config: EstimationConfig, step: float, most: float) -> str:
    """Advice on which number to change to what.

    step  of the fit [s];  most  standard deviations that half of it moves a parameter by; of steps
          of h this falls about as h^2
    """
    factor = 2 ** max(1, math.ceil(0.5 * math.log2(max(most / SHIFT, 1.0))))
    steps = getattr(config.simulation, "steps_per_frame", None)
    if steps is None:
        change = f"world.step of the scene: {step / factor:.3g}"
    else:
        change = f"simulation.steps_per_frame: {steps * factor}"
    return f"set {change} before anything else, and fit again"
