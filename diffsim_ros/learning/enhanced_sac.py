"""SAC with the engine's gradients: policy enhancement and sample enhancement [Qa, 5 and App. A].

Policy enhancement: a transition (o, a_0, r, o') is kept with its derivatives by the action.  For an
action a of the present policy near a_0

    r(a) = r + dr/da (a - a_0),   o'(a) = o' + do'/da (a - a_0)
    L = mean w (alpha log pi(a | o) - r(a) - gamma V(o'(a))),   w = exp(-|a - a_0|)      [Qa (16)]

with V of the critics at o'(a) under the present policy, instead of -Q(o, a) in SAC's loss.  Critics
and entropy coefficient are SAC's.

Sample enhancement: SAC as it is also learns from (o, a, r(a), o'(a)) for actions a drawn near a_0,
which were never simulated.  The two do not go together, for the derivatives at a are not known.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from diffsim_ros.learning.extra import require

torch = require("torch")
sb3 = require("stable_baselines3")
buffers = require("stable_baselines3.common.buffers")
utils = require("stable_baselines3.common.utils")
types = require("stable_baselines3.common.type_aliases")
Tensor = Any


class SlopesSample(NamedTuple):
    """Transitions (n, ...): as in SAC, and derivatives of observation and reward by the action."""

    seen: Tensor
    action: Tensor
    after: Tensor
    terminated: Tensor
    reward: Tensor
    after_by_action: Tensor
    reward_by_action: Tensor

    def near(self, action: Tensor) -> tuple[Tensor, Tensor]:
        """r(a) (n, 1) and o'(a) (n, observations) of the module for actions (n, actions)."""
        away = action - self.action
        reward = self.reward + (self.reward_by_action * away).sum(1, True)
        return reward, self.after + (self.after_by_action @ away[..., None])[..., 0]


class SlopesBuffer(buffers.ReplayBuffer):  # type: ignore[name-defined]
    """A replay buffer that keeps the `slopes` of `infos` (SacEnvironments)."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        rows, seen, actions = (self.buffer_size, self.n_envs), self.obs_shape[0], self.action_dim
        self.after_by_action = np.zeros((*rows, seen, actions), np.float32)
        self.reward_by_action = np.zeros((*rows, actions), np.float32)

    def add(self, obs: Any, next_obs: Any, action: Any, reward: Any, done: Any, infos: Any) -> None:
        for i, info in enumerate(infos):
            self.after_by_action[self.pos, i], self.reward_by_action[self.pos, i] = info["slopes"]
        super().add(obs, next_obs, action, reward, done, infos)

    def sample_slopes(self, count: int) -> SlopesSample:
        """Transitions drawn at random."""
        filled = self.buffer_size if self.full else self.pos
        return self.slopes_at(
            *(torch.randint(n, (count,)).numpy() for n in (filled, self.n_envs))
        )  # fmt: skip

    def slopes_at(self, rows: np.ndarray, environments: np.ndarray) -> SlopesSample:
        """Those of these places (n,)."""
        at = rows, environments
        terminated = self.dones[at] * (1 - self.timeouts[at])
        arrays = (
            self.observations[at], self.actions[at], self.next_observations[at],
            terminated[:, None], self.rewards[at][:, None], self.after_by_action[at],
            self.reward_by_action[at],
        )  # fmt: skip
        return SlopesSample(*(torch.from_numpy(a.astype(np.float32)) for a in arrays))


class NearbyBuffer(SlopesBuffer):
    """What SAC draws from it is partly moved to actions nearby: sample enhancement.

    spread  standard deviation of these actions, which are clipped to -1 ... 1, about the true one
    share   of what is drawn that is moved
    """

    def __init__(self, *args: Any, spread: float = 0.1, share: float = 0.5, **more: Any) -> None:
        super().__init__(*args, **more)
        self.spread, self.share = spread, share

    def _get_samples(self, batch_inds: np.ndarray, env: Any = None) -> Any:
        count = len(batch_inds)
        own = self.slopes_at(batch_inds, torch.randint(self.n_envs, (count,)).numpy())
        moved = torch.rand(count, 1) < self.share
        action = own.action + self.spread * moved * torch.randn_like(own.action)
        action = action.clamp(-1, 1)
        reward, after = own.near(action)
        return types.ReplayBufferSamples(own.seen, action, after, own.terminated, reward)


class EnhancedSAC(sb3.SAC):  # type: ignore[name-defined]
    """See the module; its replay buffer is a SlopesBuffer."""

    def train(self, gradient_steps: int, batch_size: int = 64) -> None:
        """Update critics, entropy coefficient and policy so many times."""
        self.policy.set_training_mode(True)
        self._update_learning_rate(
            [self.actor.optimizer, self.critic.optimizer, self.ent_coef_optimizer]
        )
        for _ in range(gradient_steps):
            batch = self.replay_buffer.sample_slopes(batch_size)
            action, log_prob = self.actor.action_log_prob(batch.seen)
            alpha = self.log_ent_coef.detach().exp()
            aim = (log_prob + self.target_entropy).detach()
            _descend(self.ent_coef_optimizer, -(self.log_ent_coef * aim).mean())
            _descend(self.critic.optimizer, self._critic_loss(batch, alpha))
            loss = self.policy_loss(batch, action, log_prob[:, None], alpha)
            _descend(self.actor.optimizer, loss)
            pairs = self.critic.parameters(), self.critic_target.parameters()
            utils.polyak_update(*pairs, self.tau)
        self._n_updates += gradient_steps

    def value(self, critics: Any, seen: Tensor, alpha: Tensor) -> Tensor:
        """V (n, 1) under the present policy: the least of the critics, less alpha log pi."""
        action, log_prob = self.actor.action_log_prob(seen)
        return torch.cat(critics(seen, action), 1).min(1, True).values - alpha * log_prob[:, None]

    def _critic_loss(self, batch: SlopesSample, alpha: Tensor) -> Tensor:
        with torch.no_grad():
            later = self.value(self.critic_target, batch.after, alpha)
            wanted = batch.reward + (1 - batch.terminated) * self.gamma * later
        return sum(
            0.5 * (q - wanted).square().mean() for q in self.critic(batch.seen, batch.action)
        )

    def policy_loss(
        self, batch: SlopesSample, action: Tensor, log_prob: Tensor, alpha: Tensor
    ) -> Tensor:
        """L of the module for actions (n, actions) of the present policy."""
        reward, after = batch.near(action)
        later = self.value(self.critic, after, alpha)
        gain = reward + (1 - batch.terminated) * self.gamma * later
        weight = (-(action - batch.action).detach().norm(dim=1, keepdim=True)).exp()
        return (weight * (alpha * log_prob - gain)).mean()


def _descend(optimizer: Any, loss: Tensor) -> None:
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
