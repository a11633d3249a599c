"""Steps of a batch as a PyTorch function: actions in, observations and rewards out, differentiable.

    state = None
    for _ in range(horizon):
        observation, reward, state, step = take(batch, state, policy(observation))
    (-total).backward()                   # through all of the motion, by the engine's adjoint

`state` is zeros: it stands for the batch's last states, whose cotangents its gradient is.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from diffsim_ros.learning.batch import Batch, BatchStep
from diffsim_ros.learning.extra import require

torch = require("torch")
Tensor = Any


def take(
    batch: Batch, state: Tensor | None, action: Tensor
) -> tuple[Tensor, Tensor, Tensor, BatchStep]:
    """One step: observation (B, observations), reward (B,), state (B, 4, ndof), and the step.

    state   of the step before, None or zeros that need no gradient: the motion begins anew for it
    action  (B, actions) from -1 to 1
    """
    if state is None:
        state = torch.zeros(batch.count, 4, batch.ndof, dtype=torch.float64)
    held: list[BatchStep] = []
    observation, reward, state = _Step.apply(state, action, batch, held)
    return observation, reward, state, held[0]


class _Step(torch.autograd.Function):  # type: ignore[name-defined]
    @staticmethod
    def forward(
        ctx: Any, state: Tensor, action: Tensor, batch: Batch, held: list
    ) -> tuple[Tensor, ...]:
        wanted = any(ctx.needs_input_grad)
        step = batch.step(action.detach().double().numpy(), gradient=wanted)
        held.append(step)
        ctx.step, ctx.dtype = step, action.dtype
        found = (torch.from_numpy(step.observation), torch.from_numpy(step.reward))
        return (*(one.to(action.dtype) for one in found), torch.zeros_like(state))

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(
        ctx: Any, by_observation: Tensor, by_reward: Tensor, by_state: Tensor
    ) -> tuple[Any, ...]:
        plain = [np.asarray(one.double()) for one in (by_observation, by_reward, by_state)]
        by_action, start = ctx.step.pull_back(*plain)
        return torch.from_numpy(start), torch.from_numpy(by_action).to(ctx.dtype), None, None
