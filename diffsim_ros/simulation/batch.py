"""Many motions of one scene, simulated side by side."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from diffsim_ros import _engine
from diffsim_ros.errors import InputError
from diffsim_ros.real_numbers import numbers
from diffsim_ros.simulation.interrupt import interruptible
from diffsim_ros.simulation.rollout import Rollout
from diffsim_ros.simulation.values import Values

Array = NDArray[np.float64]


class RolloutBatch(Sequence[Rollout]):
    """B motions: `batch[3]`, `batch.stacked("ball.position")` (B, F, 3), `batch.gradient(...)`."""

    def __init__(self, rollouts: Sequence[Rollout], threads: int) -> None:
        self._rollouts, self._threads = list(rollouts), threads

    @overload
    def __getitem__(self, index: int) -> Rollout: ...
    @overload
    def __getitem__(self, index: slice) -> RolloutBatch: ...
    def __getitem__(self, index: int | slice) -> Rollout | RolloutBatch:
        if isinstance(index, slice):
            return RolloutBatch(self._rollouts[index], self._threads)
        return self._rollouts[index]

    def __len__(self) -> int:
        return len(self._rollouts)

    def __repr__(self) -> str:
        if not self._rollouts:
            return "<batch of no rollouts>"
        failed = int((~self.ok).sum())
        note = f", {failed} stopped early" if failed else ""
        return f"<batch of {len(self)} rollouts{note}, the first:>\n{self._rollouts[0]!r}"

    @property
    def ok(self) -> NDArray[np.bool_]:
        """(B,) whether every step of a motion converged."""
        return np.array([one.ok for one in self._rollouts], bool)

    @property
    def time(self) -> Array:
        """(F,) [s]; InputError where motions stopped at different times."""
        return np.asarray(self._same([one.time for one in self._rollouts], "time")[0])

    def stacked(self, name: str) -> Array:
        """What `Rollout.observed` gives, of all motions: (B, F, ...).

        InputError where motions stopped at different times.
        """
        each = [one.observed(name) for one in self._rollouts]
        return self._same(each, name)

    def gradient(self, cotangents: Mapping[str, ArrayLike]) -> Array:
        """dO/dp (B, P) by the values of `wrt`; cotangents of `Rollout.gradient`, (B,) first."""
        if not isinstance(cotangents, Mapping):
            rule = "a mapping: name of what is observed -> dO/d(it), of its shape"
            raise InputError("gradient", "cotangents", cotangents, rule)
        count = len(self)
        given = {name: numbers("gradient", name, value) for name, value in cotangents.items()}
        for name, value in given.items():
            if value.ndim == 0 or len(value) != count:
                raise InputError("gradient", name, value, f"an array of shape ({count}, ...)")
        own = [{name: value[k] for name, value in given.items()} for k in range(count)]
        threads = min(self._threads or os.cpu_count() or 1, max(count, 1))

        def work(token: _engine.CancelToken) -> list[Array]:
            with ThreadPoolExecutor(threads) as pool:
                pairs = zip(self._rollouts, own, strict=True)
                return list(pool.map(lambda pair: pair[0]._pulled(pair[1], token).array, pairs))

        return np.array(interruptible(work))

    def _same(self, each: list[Array], name: str) -> Array:
        if not each:
            raise InputError("batch", name, "no motions", "a batch of at least one")
        if len({one.shape for one in each}) > 1:
            lengths = sorted({len(one) for one in each})
            rule = "motions of one length; leave out those whose `ok` is False"
            raise InputError("batch", name, lengths, rule)
        return np.stack(each)


def batch_values(values: Values, changes: Mapping[str, ArrayLike] | ArrayLike) -> Array:
    """All numbers of B motions (B, np): by name, each a number or (B,), or all.

    What goes with a name follows it, as in `Values.replaced`.
    InputError: unknown names, different lengths, numbers that are not finite.
    """
    if not isinstance(changes, Mapping):
        P = numbers("batch", "values", changes)
        if P.ndim != 2 or P.shape[1] != len(values) or not np.isfinite(P).all():
            raise InputError("batch", "values", P, f"finite numbers of shape (B, {len(values)})")
        return P
    given = {name: numbers("batch", name, value) for name, value in changes.items()}
    lengths = {len(value) for value in given.values() if value.ndim == 1}
    if len(lengths) != 1 or any(value.ndim > 1 for value in given.values()):
        shapes = {name: value.shape for name, value in given.items()}
        raise InputError("batch", "values", shapes, "numbers, and arrays of one length (B,)")
    P = np.tile(values.array, (lengths.pop(), 1))
    for name, value in given.items():
        if not np.isfinite(value).all():
            raise InputError("batch", name, value, "finite numbers")
        k = values.index(name)
        P[:, k] = value
        for other, factor in values.followers(k).items():
            if values.names[other] not in given:
                P[:, other] = factor * P[:, k]
    return P
