"""A policy as plain arrays: saved in one file, evaluated with NumPy alone.

a = tanh(W_n f(... f(W_1 ((o - mean) * scale) + b_1) ...) + b_n)
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from diffsim_ros.errors import InputError, NotConverged
from diffsim_ros.executors import ALONE, SideBySide
from diffsim_ros.executors.tasks import Report
from diffsim_ros.learning.batch import Batch, Start, drawn_start
from diffsim_ros.learning.config import EnvironmentConfig
from diffsim_ros.npz import numbers, read_npz
from diffsim_ros.output import write_bytes

Array = np.ndarray
ACCEPTED = "a policy file of `diffsim policy train`"
VERSION = 1
LAYERS = 20
"""Most layers of a file."""
BLOCK = 64
"""Episodes that are evaluated together.  The last bits of a matrix product depend on the number of
its rows, so a block is the same whoever does it."""


@dataclass(frozen=True)
class Policy:
    """A perceptron with what it was learned in.

    weights, biases  of the layers, (outputs, inputs) and (outputs,)
    mean, scale      of the observations;  activation  "elu" or "relu", between layers
    interface        observation, action and period that it was learned with
    digest           of the whole environment;  note  how it was learned, plain data
    """

    weights: tuple[Array, ...]
    biases: tuple[Array, ...]
    mean: Array
    scale: Array
    activation: str
    interface: Mapping[str, Any]
    digest: str
    note: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self, observation: Array) -> Array:
        """Actions (B, actions) from -1 to 1 for observations (B, observations)."""
        x = (observation - self.mean) * self.scale
        for k, (W, b) in enumerate(zip(self.weights, self.biases, strict=True)):
            x = x @ W.T + b
            if k < len(self.weights) - 1:
                x = np.maximum(x, 0) + (self.activation == "elu") * np.expm1(np.minimum(x, 0))
        return np.tanh(x)

    def save(self, path: str | Path) -> None:
        """Write one file; FileExistsError where there is one."""
        about = {
            "version": VERSION, "activation": self.activation, "interface": self.interface,
            "digest": self.digest, "note": self.note,
        }  # fmt: skip
        arrays = {"about": np.array(json.dumps(about)), "mean": self.mean, "scale": self.scale}
        for k, (W, b) in enumerate(zip(self.weights, self.biases, strict=True)):
            arrays |= {f"weight_{k}": W, f"bias_{k}": b}
        buffer = io.BytesIO()
        np.savez(buffer, **arrays)  # type: ignore[arg-type]
        write_bytes(path, buffer.getvalue())

    @classmethod
    def load(cls, path: str | Path) -> Policy:
        """Read a file; InputError for what is none, or whose arrays do not fit each other."""
        arrays = read_npz(path, ACCEPTED)
        for key in ("about", "mean", "scale", "weight_0"):
            if key not in arrays:
                raise InputError(path, key, "no such array", ACCEPTED)
        about = _about(path, arrays["about"])
        mean = numbers(path, arrays, "mean", (None,))
        scale = numbers(path, arrays, "scale", (len(mean),))
        weights: list[Array] = []
        biases: list[Array] = []
        size = len(mean)
        while f"weight_{len(weights)}" in arrays and len(weights) < LAYERS:
            k = len(weights)
            weights.append(numbers(path, arrays, f"weight_{k}", (None, size)))
            size = len(weights[-1])
            if f"bias_{k}" not in arrays:
                raise InputError(path, f"bias_{k}", "no such array", ACCEPTED)
            biases.append(numbers(path, arrays, f"bias_{k}", (size,)))
        for key in ("mean", "scale", *(f"{w}_{k}" for w in ("weight", "bias")
                                       for k in range(len(weights)))):  # fmt: skip
            if not np.isfinite(arrays[key]).all():
                raise InputError(path, key, arrays[key], "finite numbers")
        seen, acts = about["interface"]["observation"], about["interface"]["action"]
        if len(seen) != len(mean) or len(acts) != size:
            got = f"{len(mean)} inputs and {size} outputs"
            raise InputError(path, "weight_0", got, f"{len(seen)} and {len(acts)}, as it says")
        return cls(
            tuple(weights), tuple(biases), mean, scale, about["activation"], about["interface"],
            about["digest"], about["note"],
        )  # fmt: skip

    def check(self, config: EnvironmentConfig, place: object = "policy") -> None:
        """Raise InputError where observation, action or period are not those of `config`."""
        own, other = self.interface, config.interface()
        for what in ("observation", "action"):
            pairs = list(zip(own[what], other[what], strict=False))
            for k, (mine, theirs) in enumerate(pairs):
                if [mine[0], *np.round(mine[1:], 9)] != [theirs[0], *np.round(theirs[1:], 9)]:
                    rule = f"{theirs}, what {config.place} has there"
                    raise InputError(place, f"{what}[{k}]", mine, rule)
            if len(own[what]) != len(other[what]):
                rule = f"{len(other[what])}, as many as {config.place} has"
                raise InputError(place, what, len(own[what]), rule)
        if abs(own["period"] - other["period"]) > 1e-9:
            raise InputError(place, "period", own["period"], f"{other['period']:g} s, the file's")


def _about(path: str | Path, array: Array) -> dict[str, Any]:
    try:
        about = json.loads(str(array))
        interface = about["interface"]
        whole = (
            about["version"] == VERSION
            and about["activation"] in ("elu", "relu")
            and isinstance(about["digest"], str)
            and isinstance(about["note"], dict)
            and isinstance(interface["period"], (int, float))
            and all(
                isinstance(row, list) and len(row) == 3 and isinstance(row[0], str)
                and all(isinstance(x, (int, float)) for x in row[1:])
                for what in ("observation", "action") for row in interface[what]
            )
        )  # fmt: skip
    except (ValueError, KeyError, TypeError, RecursionError):
        whole = False
    if not whole:
        raise InputError(path, "about", str(array)[:80], f"the description of version {VERSION}")
    return about


@dataclass(frozen=True)
class Episodes:
    """Episodes of a policy: returns (n,), lengths (n,), rewards (n, horizon) with 0 after the end.

    y  numbers of the outputs, and the actions' values, after every action (n, horizon, numbers)
    """

    returns: Array
    lengths: Array
    rewards: Array
    y: Array
    failures: int


def evaluate(
    policy: Any, config: EnvironmentConfig, episodes: int, *, seed: int = 0, threads: int = 0,
    motions: bool = True, side: SideBySide = ALONE, progress: Report | None = None,
    cancel: Any = None,
) -> Episodes:  # fmt: skip
    """Run episodes side by side, each once; `policy` maps observations to actions.

    motions   whether rewards and y are kept, else they are empty
    side      how blocks of BLOCK episodes are done (diffsim_ros.executors); digits do not depend
              on it
    progress  called with (done, all) blocks
    cancel    ends it when its `cancelled` turns true: the episodes of blocks that are done
    Raises NotConverged where it was cancelled before any of them was.
    """
    if episodes < 1:
        raise InputError("evaluate", "episodes", episodes, "a whole number >= 1")
    random = np.random.default_rng(seed)
    starts = [drawn_start(config, random) for _ in range(episodes)]
    blocks = [starts[first : first + BLOCK] for first in range(0, episodes, BLOCK)]

    def here(k: int) -> dict | None:
        found = _block(policy, config, blocks[k], motions, threads, cancel)
        if progress is not None:
            progress(k + 1, len(blocks))
        return found

    found = side.results(
        one_block, blocks, lambda: (policy, config, motions), here, report=progress, cancel=cancel
    )
    done = [one for one in found if one is not None]
    if not done:
        raise NotConverged("the evaluation was stopped before any episode had ended")
    names = ("returns", "lengths", "rewards", "y")
    whole = {name: np.concatenate([one[name] for one in done]) for name in names}
    return Episodes(**whole, failures=sum(one["failures"] for one in done))


def one_block(shared: tuple[Any, EnvironmentConfig, bool], starts: list, cancel: Any) -> Any:
    """A block of episodes as a task of an executor: fields of Episodes."""
    policy, config, motions = shared
    return _block(policy, config, starts, motions, 1, cancel)


def _block(
    policy: Any, config: EnvironmentConfig, starts: Sequence[Start], motions: bool, threads: int,
    cancel: Any,
) -> dict | None:  # fmt: skip
    """Episodes that are stepped together, as fields of Episodes; None where it was cancelled."""
    count = len(starts)
    batch = Batch(config, count, threads=threads)
    seen = batch.begin_at(starts)
    alive = np.ones(count, bool)
    rewards = np.zeros((count, config.horizon))
    y = np.zeros((count, config.horizon * motions, config.numbers + len(config.actions)))
    lengths, failures = np.zeros(count, int), 0
    for k in range(config.horizon):
        if getattr(cancel, "cancelled", False):
            return None
        step = batch.step(policy(seen), only=alive)
        rewards[alive, k] = step.reward[alive]
        if motions:
            y[alive, k] = step.y[alive]
        lengths[alive] += 1
        failures += len(step.failures)
        alive &= ~(step.terminated | step.truncated)
        seen = step.observation
        if not alive.any():
            break
    returns = rewards.sum(1)
    return {
        "returns": returns, "lengths": lengths, "rewards": rewards[:, : rewards.shape[1] * motions],
        "y": y, "failures": failures,
    }  # fmt: skip
