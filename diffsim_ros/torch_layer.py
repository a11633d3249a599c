"""A rollout as a PyTorch function: values in, motion out, gradients by the engine's adjoint.

    import diffsim_ros as ds
    from diffsim_ros import torch_layer

    scene = ds.load_scene("scene.yaml")
    p = torch.tensor([0.3], requires_grad=True)
    (position,) = torch_layer.rollout(scene, p, wrt=["ground.c_f"], observe=["cube.position"])
    position[-1, 0].backward()                # p.grad holds dO/dp

Optional: `pip install torch`.  Nothing else of the package imports this module.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from diffsim_ros.errors import InputError
from diffsim_ros.simulation.layer import TWICE, RolloutLayer
from diffsim_ros.simulation.scene import Scene

try:
    import torch
except ImportError as error:
    raise ImportError("torch_layer needs PyTorch: pip install torch") from error


def rollout(
    scene: Scene,
    p: torch.Tensor,
    *,
    wrt: str | Sequence[str] | None = None,
    observe: str | Sequence[str] = ("position", "velocity"),
    duration: float | None = None,
    threads: int = 1,
) -> tuple[torch.Tensor, ...]:
    """Roll a scene out; one tensor per name of `observe`, differentiable with respect to p.

    p        values of `wrt` (k,), or several motions' (B, k); the others are the scene's
    wrt      names or patterns of `scene.values` [all, in their order]
    observe  "BODY.position", "BODY.velocity", "BODY.angular_velocity" (F, 3), "BODY.orientation"
             (F, 4), of soft bodies (F, n, 3); the same without BODY: of all nodes; or outputs;
             with a leading B where p has one
    duration [s] [the scene's]
    threads  of several motions, there and back; 0: every core; the result does not depend on it
    The engine computes in double precision; results have the type and device of p.
    Raises NotConverged, with the engine's message, where a motion stopped early; InputError for
    unknown names, other shapes, and for p of whole numbers, flags or complex numbers.  The gradient
    itself cannot be differentiated: second derivatives raise TypeError.
    """
    if not isinstance(p, torch.Tensor):
        raise InputError("rollout", "p", p, "a tensor", "torch.tensor(p, dtype=torch.float64)")
    if not p.is_floating_point():
        rule = "a tensor of floating point numbers, as the motion has the type of p"
        raise InputError("rollout", "p", f"a tensor of {p.dtype}", rule, "p.double()")
    layer = RolloutLayer.of(scene, wrt, observe, duration, threads)
    layer.check(tuple(p.shape))
    found: tuple[torch.Tensor, ...] = _Rollout.apply(p, layer)
    return found


def soft_minimum(
    offsets: torch.Tensor, softness: float, rows: torch.Tensor | None = None
) -> torch.Tensor:
    """Mean of offsets under the weights of a soft minimum of their length: the nearest passage.

    offsets   (..., F, 3) [m], of a point from its target, instant by instant
    softness  [m]  instants nearer than it to the nearest one count (inverse.md in docs/, Eq. 7d)
    rows      (..., F)  True: this instant may count; at least one of every motion
    Returns (..., 3) [m].
    """
    if not softness > 0:
        raise InputError("soft_minimum", "softness", softness, "> 0 [m]")
    power = -offsets.square().sum(-1) / softness**2
    if rows is not None:
        if not bool(rows.any(-1).all()):
            raise InputError("soft_minimum", "rows", "a motion with none", "at least one of each")
        power = power.masked_fill(~rows, -torch.inf)
    return (torch.softmax(power, -1).unsqueeze(-1) * offsets).sum(-2)


class _Rollout(torch.autograd.Function):
    """p -> observed motion; backward is the adjoint [G 4.24-4.26] of the same motion."""

    @staticmethod
    def forward(ctx: Any, p: torch.Tensor, layer: RolloutLayer) -> tuple[torch.Tensor, ...]:
        P = np.atleast_2d(p.detach().cpu().double().numpy())
        batch, observed = layer.run(P, ctx.needs_input_grad[0])
        ctx.layer, ctx.batch = layer, batch if ctx.needs_input_grad[0] else None
        ctx.several, ctx.device, ctx.dtype = p.ndim == 2, p.device, p.dtype
        ctx.save_for_backward(p)
        return tuple(
            torch.from_numpy(values if p.ndim == 2 else values[0]).to(p.device, p.dtype)
            for values in observed
        )

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor | None) -> tuple[torch.Tensor, None]:
        found = _Rollout.pull_back(ctx, gradients)
        if torch.is_grad_enabled():  # create_graph=True: what goes back through this must not be 0
            given = [g for g in gradients if g is not None]
            found = _Once.apply(found, *ctx.saved_tensors, *given)
        return found, None

    @staticmethod
    @torch.no_grad()
    def pull_back(ctx: Any, gradients: Sequence[torch.Tensor | None]) -> torch.Tensor:
        """dO/dp from dO/d(observed)."""
        by = [None if g is None else g.detach().cpu().double().numpy() for g in gradients]
        by = by if ctx.several else [None if g is None else g[None] for g in by]
        found = ctx.layer.pull_back(ctx.batch, by)
        found = found if ctx.several else found[0]
        return torch.from_numpy(found).to(ctx.device, ctx.dtype)


class _Once(torch.autograd.Function):
    """A gradient of a rollout, which depends on p and on dO/d(observed) in ways not known here."""

    @staticmethod
    def forward(ctx: Any, found: torch.Tensor, *given: torch.Tensor) -> torch.Tensor:
        return found.clone()

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> None:
        raise TypeError(TWICE)
