"""Analytic policy gradients over short horizons with a critic: SHAC [Xu et al., ICLR 2022].

The return of a short stretch of motion, with a critic's value at its end, is differentiated through
the engine's own steps:

    L = -1/(N h) sum_envs (sum_{t < h} gamma^t r_t + gamma^h V(o_h))

and the critic fits TD(lambda) returns of the same stretch.  An episode that ends inside is cut
there: with V of its last observation where the horizon ended it, without where it terminated.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from diffsim_ros.learning.batch import Batch
from diffsim_ros.learning.config import EnvironmentConfig
from diffsim_ros.learning.extra import require
from diffsim_ros.learning.layer import take
from diffsim_ros.learning.networks import Actor, Normaliser, perceptron, to_policy
from diffsim_ros.learning.policy import Policy, evaluate

torch = require("torch")
Tensor = Any
NO_EPISODES = -float("inf")


@dataclass(frozen=True)
class ShacOptions:
    """How it learns.

    environments  side by side;  horizon  actions of a stretch;  iterations  updates of the policy
    hidden        widths of both networks;  gamma, lam  discount, and lambda of the critic's target
    actor_rate, critic_rate  of Adam, falling linearly to a tenth;  clip  of the gradient's norm
    critic_passes, minibatches  over the stretch;  kept  share of the target critic that an
                  iteration keeps;  std_dev  of the first actions, before tanh
    warm_up       actions of noise alone before learning, whose observations are the first that the
                  normaliser sees: where starts are all alike, motions soon leave their range
    reward_scale  of all rewards while learning: returns of some ones are easiest for the critic
    evaluate_every, episodes  how often and on how many episodes the mean policy is evaluated
    """

    environments: int = 64
    horizon: int = 16
    iterations: int = 200
    hidden: tuple[int, ...] = (64, 64)
    gamma: float = 0.98
    lam: float = 0.95
    actor_rate: float = 2e-3
    critic_rate: float = 1e-3
    clip: float = 1.0
    critic_passes: int = 8
    minibatches: int = 4
    kept: float = 0.4
    std_dev: float = 0.3
    warm_up: int = 0
    reward_scale: float = 1.0
    evaluate_every: int = 10
    episodes: int = 8
    threads: int = 1


@dataclass
class Training:
    """What a training came to.

    policy   the best at its evaluations;  best  its mean return there
    history  per evaluation: (actions taken so far, CPU seconds, mean return)
    actions, episodes  taken in all environments;  cpu_seconds  of it, evaluations included
    skipped  updates without a finite gradient;  failures  motions that the engine did not follow
    """

    policy: Policy
    best: float
    history: list[tuple[int, float, float]] = field(default_factory=list)
    actions: int = 0
    episodes: int = 0
    cpu_seconds: float = 0.0
    skipped: int = 0
    failures: int = 0


@dataclass
class _Stretch:
    """One stretch (h, B, ...): observations before and after, rewards, what ended."""

    seen: list[Tensor] = field(default_factory=list)
    after: list[Tensor] = field(default_factory=list)
    reward: list[Tensor] = field(default_factory=list)
    terminated: list[Tensor] = field(default_factory=list)
    ended: list[Tensor] = field(default_factory=list)


def _tensor(array: np.ndarray) -> Tensor:
    return torch.from_numpy(array).to(torch.get_default_dtype())


class Shac:
    """A training under way: `iterate` updates policy and critic once."""

    def __init__(self, config: EnvironmentConfig, options: ShacOptions, seed: int = 0) -> None:
        torch.manual_seed(seed)
        self.config, self.options = config, options
        self.batch = Batch(config, options.environments, seed=seed, threads=options.threads)
        size, actions = len(config.observation), len(config.actions)
        self.normaliser = Normaliser(size)
        self.actor = Actor(size, actions, options.hidden, options.std_dev)
        self.critic = perceptron([size, *options.hidden, 1])
        self.target = copy.deepcopy(self.critic)
        adam = torch.optim.Adam
        self.of_actor = adam(self.actor.parameters(), options.actor_rate, betas=(0.7, 0.95))
        self.of_critic = adam(self.critic.parameters(), options.critic_rate, betas=(0.7, 0.95))
        self.noise = torch.Generator().manual_seed(seed + 1)
        self.done = self.skipped = self.failures = self.episodes = 0
        self.seen = _tensor(self.batch.reset())
        if options.warm_up:
            self._warm_up()
        # Episodes are to be at different times, so that stretches see all of them.
        self.batch.taken[:] = self.batch.random.integers(0, config.horizon, options.environments)

    def _warm_up(self) -> None:
        options, batch, seen = self.options, self.batch, [self.seen]
        for _ in range(options.warm_up):
            noise = torch.randn(batch.count, len(self.config.actions), generator=self.noise)
            step = batch.step(torch.tanh(options.std_dev * noise).double().numpy())
            seen.append(_tensor(step.observation))
            batch.reset(step.terminated | step.truncated)
        self.normaliser.add(torch.cat(seen))
        self.seen = _tensor(batch.reset())

    def loss(self, stretch: _Stretch | None = None) -> Tensor:
        """L of the next stretch, differentiable by the actor's parameters; moves the batch on."""
        options, batch, normal = self.options, self.batch, copy.copy(self.normaliser)
        held = _Stretch() if stretch is None else stretch
        total, discount = torch.zeros(()), torch.ones(batch.count)
        seen, state = self.seen, None
        for t in range(options.horizon):
            held.seen.append(seen.detach())
            shape = (batch.count, len(self.config.actions))
            noise = torch.randn(shape, generator=self.noise)
            action = self.actor(normal(seen), noise)
            seen, reward, state, step = take(batch, state, action)
            reward = reward * options.reward_scale
            total = total + (discount * reward).sum()
            discount = discount * options.gamma
            terminated = torch.from_numpy(step.terminated)
            ended = torch.from_numpy(step.terminated | step.truncated)
            held.after.append(seen.detach())
            held.reward.append(reward.detach())
            held.terminated.append(terminated)
            self.failures += len(step.failures)
            closing = ended if t < options.horizon - 1 else torch.ones_like(ended)
            held.ended.append(closing)
            if closing.any():
                value = self.target(normal(seen)).squeeze(-1)
                total = total + (discount * value)[closing & ~terminated].sum()
            if ended.any():
                self.episodes += int(ended.sum())
                fresh = _tensor(batch.reset(ended.numpy()))
                seen = torch.where(ended[:, None], fresh, seen)
                state = torch.where(ended[:, None, None], torch.zeros_like(state), state)
                discount = torch.where(ended, torch.ones_like(discount), discount)
        self.seen = seen.detach()
        return -total / (batch.count * options.horizon)

    def iterate(self) -> float:
        """One update of the policy and of the critic; the stretch's mean reward."""
        options, held = self.options, _Stretch()
        share = 1 - 0.9 * self.done / max(options.iterations, 1)
        for adam, rate in (
            (self.of_actor, options.actor_rate), (self.of_critic, options.critic_rate)
        ):  # fmt: skip
            adam.param_groups[0]["lr"] = rate * share
        if self.normaliser.count == 0:
            self.normaliser.add(self.seen)
        self.of_actor.zero_grad()
        self.loss(held).backward()
        norm = torch.nn.utils.clip_grad_norm_(self.actor.parameters(), options.clip)
        if torch.isfinite(norm):
            self.of_actor.step()
        else:
            self.skipped += 1
        self._fit_critic(held)
        self.normaliser.add(torch.cat(held.seen))
        self.done += 1
        return float(torch.stack(held.reward).mean()) / options.reward_scale

    @torch.no_grad()
    def _returns(self, held: _Stretch) -> Tensor:
        """TD(lambda) returns (h, B) under the target critic."""
        gamma, lam = self.options.gamma, self.options.lam
        found, later = [], torch.zeros(self.batch.count)
        for t in reversed(range(len(held.reward))):
            value = self.target(self.normaliser(held.after[t])).squeeze(-1)
            value = torch.where(held.terminated[t], torch.zeros_like(value), value)
            later = torch.where(held.ended[t], value, (1 - lam) * value + lam * later)
            later = held.reward[t] + gamma * later
            found.append(later)
        return torch.stack(found[::-1])

    def _fit_critic(self, held: _Stretch) -> None:
        options = self.options
        seen = self.normaliser(torch.cat(held.seen))
        wanted = self._returns(held).reshape(-1)
        for _ in range(options.critic_passes):
            order = torch.randperm(len(seen), generator=self.noise)
            for rows in order.chunk(options.minibatches):
                self.of_critic.zero_grad()
                loss = (self.critic(seen[rows]).squeeze(-1) - wanted[rows]).square().mean()
                loss.backward()
                torch.nn.utils.clip_grad_norm_(self.critic.parameters(), options.clip)
                self.of_critic.step()
        with torch.no_grad():
            pairs = zip(self.target.parameters(), self.critic.parameters(), strict=True)
            for mine, new in pairs:
                mine.lerp_(new, 1 - options.kept)

    def policy(self, note: dict | None = None) -> Policy:
        """The present mean policy."""
        return to_policy(self.actor, self.normaliser, self.config, note or {})


def train(
    config: EnvironmentConfig,
    options: ShacOptions | None = None,
    *,
    seed: int = 0,
    score: Callable[[Policy], float] | None = None,
    progress: Callable[[int, float], None] | None = None,
    cancel: Callable[[], bool] | None = None,
) -> Training:
    """Learn a policy; the best of those evaluated is kept.

    score     of a policy, the larger the better [mean return of `episodes` evaluation episodes]
    progress  called with iteration and score at every evaluation
    cancel    asked before every iteration; True ends the training with what there is
    """
    options = options or ShacOptions()
    start = time.process_time()
    training = Shac(config, options, seed)

    def mean_return(policy: Policy) -> float:
        # The same episodes every time, and none of the training's.
        episodes = evaluate(policy, config, options.episodes, seed=10**6 + seed, threads=1)
        return float(np.mean(episodes.returns))

    score = score or mean_return
    found = Training(training.policy(), NO_EPISODES)
    for k in range(options.iterations + 1):
        stop = k == options.iterations or (cancel is not None and cancel())
        if stop or k % options.evaluate_every == 0:
            if training.normaliser.count == 0:
                training.normaliser.add(training.seen)
            policy = training.policy({"method": "shac", "seed": seed, "iterations": k})
            value = score(policy)
            taken = k * options.environments * options.horizon
            found.history.append((taken, time.process_time() - start, value))
            if progress is not None:
                progress(k, value)
            if value > found.best:
                found.best, found.policy = value, policy
        if stop:
            break
        training.iterate()
    found.actions = training.done * options.environments * options.horizon
    found.episodes, found.skipped = training.episodes, training.skipped
    found.failures = training.failures
    found.cpu_seconds = time.process_time() - start
    return found
