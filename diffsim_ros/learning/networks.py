"""Networks of policies and critics: plain perceptrons behind normalised observations."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

from diffsim_ros.learning.extra import require
from diffsim_ros.learning.policy import Policy

torch = require("torch")
nn = torch.nn
Tensor = Any


def perceptron(sizes: Sequence[int], last: float = 1.0) -> Any:
    """Linear layers with ELU between them; `last`: factor on the last layer's first weights."""
    layers: list[Any] = []
    for k, (n, m) in enumerate(itertools.pairwise(sizes)):
        layers.append(nn.Linear(n, m))
        nn.init.orthogonal_(layers[-1].weight, math.sqrt(2) if k < len(sizes) - 2 else last)
        nn.init.zeros_(layers[-1].bias)
        if k < len(sizes) - 2:
            layers.append(nn.ELU())
    return nn.Sequential(*layers)


class Normaliser:
    """Running mean and variance of observations; the first batch sets them."""

    def __init__(self, size: int) -> None:
        self.count, self.mean, self.variance = 0.0, torch.zeros(size), torch.ones(size)
        self.scale = torch.ones(size)

    def add(self, seen: Tensor) -> None:
        """Take in (B, size)."""
        n, mean, variance = len(seen), seen.mean(0), seen.var(0, unbiased=False)
        total = self.count + n
        away = mean - self.mean
        both = self.variance * self.count + variance * n + away**2 * self.count * n / total
        self.mean = self.mean + away * n / total
        self.variance, self.count = both / total, total
        self.scale = 1 / torch.sqrt(self.variance + 1e-4)

    def __call__(self, seen: Tensor) -> Tensor:
        return (seen - self.mean) * self.scale


class Actor(nn.Module):  # type: ignore[name-defined]
    """tanh of a normal law: its mean from a network, its standard deviation learned."""

    def __init__(self, seen: int, actions: int, hidden: Sequence[int], std_dev: float) -> None:
        super().__init__()
        self.mean = perceptron([seen, *hidden, actions], last=0.1)
        self.log_std = nn.Parameter(torch.full((actions,), math.log(std_dev)))

    def forward(self, seen: Tensor, noise: Tensor | None = None) -> Tensor:
        """Actions (B, actions) from -1 to 1; without noise those of the mean."""
        mean = self.mean(seen)
        if noise is not None:
            mean = mean + self.log_std.exp() * noise
        return torch.tanh(mean)


def to_policy(actor: Actor, normaliser: Normaliser, environment: Any, note: dict) -> Policy:
    """The actor's mean as plain arrays."""
    layers = [layer for layer in actor.mean if isinstance(layer, nn.Linear)]
    return Policy(
        tuple(layer.weight.detach().double().numpy().copy() for layer in layers),
        tuple(layer.bias.detach().double().numpy().copy() for layer in layers),
        normaliser.mean.double().numpy().copy(),
        normaliser.scale.double().numpy().copy(),
        "elu",
        environment.interface(),
        environment.digest(),
        note,
    )
