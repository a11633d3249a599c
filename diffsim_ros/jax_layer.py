"""A rollout as a JAX function: values in, motion out, gradients by the engine's adjoint.

    import jax
    import diffsim_ros as ds
    from diffsim_ros import jax_layer

    scene = ds.load_scene("scene.yaml")
    motion = jax_layer.rollout(scene, wrt=["ground.c_f"], observe=["cube.position"])
    jax.grad(lambda p: motion(p)["cube.position"][-1, 0])(jax.numpy.array([0.3]))

Works under jit, grad and vmap.  The engine computes in double precision on the CPU; without
`jax_enable_x64` JAX rounds its numbers to single precision.
Optional: `pip install jax`.  Nothing else of the package imports this module.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from diffsim_ros.errors import InputError
from diffsim_ros.simulation.batch import RolloutBatch
from diffsim_ros.simulation.layer import TWICE, RolloutLayer
from diffsim_ros.simulation.scene import Scene

try:
    import jax
except ImportError as error:
    raise ImportError("jax_layer needs JAX: pip install jax") from error


def rollout(
    scene: Scene,
    *,
    wrt: str | Sequence[str] | None = None,
    observe: str | Sequence[str] = ("position", "velocity"),
    duration: float | None = None,
    threads: int = 1,
) -> Callable[[jax.Array], dict[str, jax.Array]]:
    """A function of p that rolls the scene out, differentiable in reverse mode.

    p (k,) or (B, k) are values of `wrt`; it returns name -> array for the names of `observe`.
    The other arguments, shapes and errors are those of `torch_layer.rollout`; an error of the
    engine comes through JAX's callback, with its message.  Second derivatives raise TypeError.
    """
    layer = RolloutLayer.of(scene, wrt, observe, duration, threads)
    # JAX must know shapes beforehand: of one motion with the scene's own values.
    own = np.array([[scene.values[name] for name in layer.names]])
    shapes = [values.shape[1:] for values in layer.run(own, False)[1]]
    last: dict[bytes, RolloutBatch] = {}

    def forward(p: Any, gradient: bool) -> list[np.ndarray]:
        P = np.asarray(p, float)
        batch, observed = layer.run(np.atleast_2d(P), gradient)
        if gradient:
            last.clear()
            last[P.tobytes()] = batch
        return [np.asarray(v if P.ndim == 2 else v[0], p.dtype) for v in observed]

    def backward(p: Any, by: Sequence[Any]) -> np.ndarray:
        P = np.asarray(p, float)
        batch = last.get(P.tobytes()) or layer.run(np.atleast_2d(P), True)[0]
        given = [np.asarray(g, float) if P.ndim == 2 else np.asarray(g, float)[None] for g in by]
        found = layer.pull_back(batch, given)
        return np.asarray(found if P.ndim == 2 else found[0], p.dtype)

    def called(p: jax.Array, gradient: bool) -> list[jax.Array]:
        layer.check(p.shape)
        results = [jax.ShapeDtypeStruct((*p.shape[:-1], *shape), p.dtype) for shape in shapes]
        return _once(lambda given: forward(given, gradient), results)(p)

    @jax.custom_vjp
    def run(p: jax.Array) -> list[jax.Array]:
        return called(p, False)

    def run_forward(p: jax.Array) -> tuple[list[jax.Array], jax.Array]:
        return called(p, True), p

    def run_backward(p: jax.Array, by: list[jax.Array]) -> tuple[jax.Array]:
        result = jax.ShapeDtypeStruct(p.shape, p.dtype)
        return (_once(backward, result)(p, by),)

    run.defvjp(run_forward, run_backward)

    def motion(p: jax.Array) -> dict[str, jax.Array]:
        given = jax.numpy.asarray(p)
        if not jax.numpy.issubdtype(given.dtype, jax.numpy.floating):
            rule = "an array of floating point numbers, as the motion has the type of p"
            raise InputError("rollout", "p", f"an array of {given.dtype}", rule, "p.astype(float)")
        return dict(zip(layer.observed, run(given), strict=True))

    return motion


def _once(function: Callable[..., Any], results: Any) -> Callable[..., Any]:
    """A call back into Python that cannot be differentiated: TypeError says why."""

    @jax.custom_jvp
    def call(*given: Any) -> Any:
        return jax.pure_callback(function, results, *given, vmap_method="sequential")

    @call.defjvp
    def refused(primals: Any, tangents: Any) -> Any:
        raise TypeError(TWICE)

    return call
