"""What the layers of PyTorch and JAX share: numbers in, what is observed out, and back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from diffsim_ros.errors import InputError
from diffsim_ros.simulation.batch import RolloutBatch
from diffsim_ros.simulation.scene import Scene
from diffsim_ros.simulation.tangents import OBSERVABLE

Array = NDArray[np.float64]

TWICE = (
    "the gradient of a rollout cannot be differentiated again: the engine has first derivatives "
    "alone.  For a Hessian take differences of gradients, or J^T J of residuals (a Gauss-Newton "
    "step) from rollout(..., sensitivities=True).sensitivity(...)"
)
"""Message where a program asks for second derivatives."""


@dataclass(frozen=True, eq=False)
class RolloutLayer:
    """A rollout as a function of some of a scene's values.

    names     (k,) of `Scene.values`, in the order of its argument
    observed  "BODY.position" and the like, "position" and the like of all nodes, or outputs
    """

    scene: Scene
    names: tuple[str, ...]
    observed: tuple[str, ...]
    duration: float | None
    threads: int

    @staticmethod
    def of(
        scene: Scene, wrt: str | Sequence[str] | None, observe: str | Sequence[str],
        duration: float | None, threads: int,
    ) -> RolloutLayer:  # fmt: skip
        """wrt: names or patterns, None: all values.  InputError for what the scene has not."""
        if not isinstance(scene, Scene):
            raise InputError("rollout", "scene", scene, "a scene of diffsim_ros.load_scene")
        places = range(len(scene.values)) if wrt is None else scene.values.indices(wrt)
        names = tuple(scene.values.names[k] for k in places)
        observed = (observe,) if isinstance(observe, str) else tuple(observe)
        layer = RolloutLayer(scene, names, observed, duration, threads)
        if not observed:
            raise InputError("rollout", "observe", observed, "at least one name")
        return layer

    def check(self, shape: tuple[int, ...]) -> None:
        """InputError unless it is (k,) or (B, k)."""
        count = len(self.names)
        if len(shape) not in (1, 2) or shape[-1] != count:
            rule = f"an array of shape ({count},) or (B, {count}), of {', '.join(self.names[:6])}"
            raise InputError("rollout", "p", shape, rule)

    @property
    def _outputs(self) -> list[str]:
        """What the engine is to report besides poses and velocities."""
        kinds = {f"{body}.{kind}" for body in ("", *self.scene.bodies) for kind in OBSERVABLE}
        return [name for name in self.observed if name not in kinds and name not in OBSERVABLE]

    def run(self, P: Array, gradient: bool) -> tuple[RolloutBatch, list[Array]]:
        """The motions of P (B, k), and what is observed, each (B, F, ...)."""
        given = dict(zip(self.names, P.T, strict=True))
        batch = self.scene.rollout_batch(
            given, duration=self.duration, wrt=self.names if gradient else (),
            outputs=self._outputs, threads=self.threads,
        )  # fmt: skip
        return batch, [batch.stacked(name) for name in self.observed]

    def pull_back(self, batch: RolloutBatch, by_observed: Sequence[Array | None]) -> Array:
        """dO/dP (B, k) from dO/d(observed), None where that is zero."""
        pairs = zip(self.observed, by_observed, strict=True)
        return batch.gradient({name: by for name, by in pairs if by is not None})
