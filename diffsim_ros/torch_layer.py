"""A rollout as a PyTorch function: parameters in, motion out, gradients by the engine's adjoint.

    from diffsim_ros import torch_layer
    position, velocity = torch_layer.rollout(model.engine, p, model.steps, model.options)
    position[-1, 0].sum().backward()          # p.grad holds dO/dp

Optional: `pip install torch`.  Nothing else of the package imports this module.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from diffsim_ros import _engine
from diffsim_ros.errors import InputError, NotConverged, nearest

try:
    import torch
    from torch.autograd.function import once_differentiable
except ImportError as error:
    raise ImportError("torch_layer needs PyTorch: pip install torch") from error

OBSERVABLE = ("position", "velocity", "orientation", "angular_velocity")


def rollout(
    scene: _engine.Scene,
    p: torch.Tensor,
    steps: int,
    options: _engine.Options | None = None,
    *,
    observe: Sequence[str] = ("position", "velocity"),
    active: Sequence[str] | None = None,
    mode: str = "checkpoint",
    threads: int = 1,
    cancel: _engine.CancelToken | None = None,
) -> tuple[torch.Tensor, ...]:
    """Roll a scene out; one tensor per name of `observe`, differentiable with respect to p.

    p        parameters (np,), in the order of `scene.parameters`; or several motions' (B, np)
    options  absent: those of the scene, where a file has them
    observe  of position (F, nodes, 3) [m], velocity (F, nodes, 3) [m/s], orientation (F, nodes, 4)
             x, y, z, w and angular_velocity (F, nodes, 3) [rad/s]; world frame, `scene.nodes_of`
             gives a body's rows; with a leading B where p has one
    active   names of the parameters whose gradient is wanted; the rest of p.grad is zero [all]
    mode     "checkpoint" keeps the states only, "store" every step's factorization: seldom faster
    threads  of several motions, there and back; 0: every core; the result does not depend on it
    The engine computes in double precision; results have the type and device of p.
    Raises NotConverged, with the engine's message, where a motion stopped early.
    """
    for name in observe:
        if name not in OBSERVABLE:
            near = nearest(name, OBSERVABLE)
            raise InputError("rollout", "observe", name, " or ".join(OBSERVABLE), near)
    if mode not in ("store", "checkpoint"):
        raise InputError("rollout", "mode", mode, "store or checkpoint")
    if threads < 0:
        raise InputError("rollout", "threads", threads, "a whole number >= 0 (0: every core)")
    count = len(scene.parameters)
    if p.ndim not in (1, 2) or p.shape[-1] != count:
        shape = tuple(p.shape)
        raise InputError("rollout", "p", shape, f"a tensor of shape ({count},) or (B, {count})")
    index = list(range(count)) if active is None else [int(scene.index(name)) for name in active]
    settings = _Settings(
        scene,
        int(steps),
        options or getattr(scene, "options", None) or _engine.Options(),
        tuple(observe),
        index,
        mode,
        threads,
        cancel,
    )
    return _Rollout.apply(p, settings)


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


class _Settings:
    """What the autograd function needs besides p."""

    def __init__(self, scene, steps, options, observe, active, mode, threads, cancel) -> None:
        self.scene, self.steps, self.options, self.observe = scene, steps, options, observe
        self.active, self.mode, self.threads, self.cancel = active, mode, threads, cancel
        self.places = _Places(scene)

    def run(self, P: np.ndarray, gradient: bool) -> list[Any]:
        """One rollout per row of P (B, np)."""
        chosen = {"active": self.active, "mode": self.mode} if gradient else {"mode": "none"}
        runs = _engine.rollout_batch(
            self.scene, P, self.steps, self.options,
            threads=self.threads, cancel=self.cancel, **chosen,
        )  # fmt: skip
        for i, run in enumerate(runs):
            if not run.ok:
                raise NotConverged(f"motion {i}: {run.status}: {run.message}")
        return runs

    def slopes(self, run: Any, gradients: Sequence[np.ndarray | None]) -> np.ndarray:
        """dO/dp (np,) of one motion from dO/d(observed)."""
        gx = np.zeros((len(run.time), self.places.ndof))
        gv = np.zeros_like(gx)
        for name, gradient in zip(self.observe, gradients, strict=True):
            if gradient is not None:
                self.places.add(name, gradient, run, gx, gv)
        found = np.zeros(len(self.scene.parameters))
        found[self.active] = run.gradient(gx, gv)
        return found

    def all_slopes(
        self, runs: Sequence[Any], gradients: Sequence[Sequence[np.ndarray | None]]
    ) -> np.ndarray:
        """dO/dp (B, np) of all motions, side by side: the engine releases the interpreter lock."""
        threads = min(self.threads or os.cpu_count() or 1, len(runs))
        if threads < 2:
            return np.array([self.slopes(*pair) for pair in zip(runs, gradients, strict=True)])
        with ThreadPoolExecutor(threads) as pool:
            return np.array(list(pool.map(self.slopes, runs, gradients)))


class _Places:
    """Degrees of freedom of every node: (nodes, 3) of its place and, of frames, of its rotation."""

    def __init__(self, scene: _engine.Scene) -> None:
        bodies = sorted((*scene.nodes_of(b), scene.dof_offset(b)) for b in scene.body_names)
        ends = [dof for _, _, dof in bodies[1:]] + [scene.body_ndof]
        self.ndof = scene.ndof
        first, frames = [], []
        for (node, count, dof), end in zip(bodies, ends, strict=True):
            size = (end - dof) // count
            first += [dof + size * i for i in range(count)]
            if size == 6:
                frames.append(node)
        self.dof = np.array(first)[:, None] + np.arange(3)
        self.frames = np.array(frames, int)

    def add(
        self, name: str, gradient: np.ndarray, run: Any, gx: np.ndarray, gv: np.ndarray
    ) -> None:
        """Add dO/d(observed) to dO/d(c, psi) or dO/d(v, omega), tangents of engine.md (2)."""
        if name == "position":
            gx[:, self.dof] += gradient
        elif name == "velocity":
            gv[:, self.dof] += gradient
        elif name == "angular_velocity":
            gv[:, self.dof[self.frames] + 3] += gradient[:, self.frames]
        else:
            q, g = np.asarray(run.orientation)[:, self.frames], gradient[:, self.frames]
            gx[:, self.dof[self.frames] + 3] += _by_rotation(q, g)


def _by_rotation(q: np.ndarray, g: np.ndarray) -> np.ndarray:
    """dO/dpsi (..., 3) from dO/dq (..., 4): dq = (dpsi, 0) q / 2, the quaternion product."""
    vector, scalar = q[..., :3], q[..., 3:]
    gv, gs = g[..., :3], g[..., 3:]
    return (scalar * gv + np.cross(vector, gv) - gs * vector) / 2


class _Rollout(torch.autograd.Function):
    """p -> observed motion; backward is the adjoint [G 4.24-4.26] of the same motion."""

    @staticmethod
    def forward(ctx: Any, p: torch.Tensor, settings: _Settings) -> tuple[torch.Tensor, ...]:
        P = np.atleast_2d(p.detach().cpu().double().numpy())
        runs = settings.run(P, ctx.needs_input_grad[0])
        ctx.settings, ctx.runs = settings, runs if ctx.needs_input_grad[0] else []
        ctx.batch, ctx.device, ctx.dtype = p.ndim == 2, p.device, p.dtype
        found = []
        for name in settings.observe:
            values = np.stack([np.asarray(getattr(run, name)) for run in runs])
            values = values if p.ndim == 2 else values[0]
            found.append(torch.from_numpy(np.ascontiguousarray(values)).to(p.device, p.dtype))
        return tuple(found)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: torch.Tensor | None) -> tuple[torch.Tensor, None]:
        plain = [None if g is None else g.detach().cpu().double().numpy() for g in gradients]
        own = [
            [None if g is None else (g[i] if ctx.batch else g) for g in plain]
            for i in range(len(ctx.runs))
        ]
        found = ctx.settings.all_slopes(ctx.runs, own)
        found = found if ctx.batch else found[0]
        return torch.from_numpy(found).to(ctx.device, ctx.dtype), None
