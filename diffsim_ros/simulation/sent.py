"""Motions that another process simulated: what the engine's rollout holds, as plain data."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from diffsim_ros import _engine
from diffsim_ros.errors import InputError
from diffsim_ros.scene import SceneModel

HELD = (
    "status", "ok", "message", "warnings", "time", "position", "velocity", "orientation",
    "angular_velocity", "outputs", "contact_force", "contact_point", "modes", "iterations",
    "halvings", "mode_hash", "timing",
)  # fmt: skip
DERIVATIVES = ("dx", "dv", "outputs_dp")
"""Of a rollout with sensitivities."""

Shared = tuple[SceneModel, int, Sequence[int], str, Sequence[str]]
"""Scene, steps, indices of the values that derivatives are by, mode, outputs."""


class SentRun:
    """Attributes of an _engine.Rollout, without what only the process that simulated it has."""

    def __init__(self, held: Mapping[str, Any]) -> None:
        self.__dict__.update(held)

    def gradient(self, *_: Any) -> NoReturn:
        """The adjoint goes back through what the engine keeps: InputError."""
        refuse("gradient", "wrt=[...], sensitivities=True")


def refuse(what: str, instead: str) -> NoReturn:
    """InputError for what needs the engine's own rollout."""
    rule = "a motion that was simulated in this process"
    raise InputError(
        "rollout",
        what,
        "a motion from another process, or a pickled one",
        rule,
        f"ask for {instead}",
    )


def one_motion(shared: Shared, values: np.ndarray, cancel: Any) -> dict[str, Any]:
    """A motion as a task of an executor: what a SentRun is made of."""
    scene, steps, chosen, mode, outputs = shared
    options = copy.copy(scene.options)
    options.record_end = True
    (run,) = _engine.rollout_batch(
        scene.engine, values[None], steps, options, active=chosen, mode=mode, threads=1,
        cancel=cancel, outputs=outputs,
    )  # fmt: skip
    return vars(plain_run(run, mode))


def plain_run(run: _engine.Rollout | SentRun, mode: str) -> SentRun:
    """What a motion holds, without what only the process that simulated it has."""
    names = (*HELD, *(DERIVATIVES if mode == "sensitivity" else ()))
    return SentRun({name: getattr(run, name) for name in names})
