"""From the terms of each trial to the cost, gradient and Gauss-Newton equations of the problem."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from .losses import Loss
from .normal_equations import NormalEquations, accumulate
from .objectives import AnyTerm, BodySlot, Objective
from .output_term import OutputTerm
from .problem import Evaluation
from .time_correlation import Series
from .trial import Trial

SPARSE_FROM = 20_000
"""Entries of a map from which on its zeros are left out."""
Jacobian = tuple[np.ndarray | slice, np.ndarray]
"""Columns, and a term's Jacobian (M, q, columns) by them."""


@dataclass(frozen=True)
class TrialModel:
    """A trial's rollout and terms; derivatives are by (active engine parameters, own values).

    own     names of the free parameters that objectives use directly
    active  number of active engine parameters, or of directions of them (columns of run.dx); ndof
            of the scene (its rows)
    A term's Jacobian is by some `columns` of these: an objective of the parameters alone has their
    own only, of which a kinematic body's keys are hundreds.
    """

    run: Any
    trial: Trial
    terms: list[AnyTerm]
    slots: list[BodySlot]
    own: list[str]
    active: int
    ndof: int

    def _parts(self) -> Iterator[tuple[AnyTerm, Loss, BodySlot]]:
        losses = [o.loss for o in self.trial.objectives]
        return zip(self.terms, losses, self.slots, strict=True)

    def sums(self) -> tuple[float, float, int]:
        """Robust sum S of squares, sum of the linear functionals, number of residuals."""
        S, linear, count = 0.0, 0.0, 0
        for term, loss, _ in self._parts():
            if term.linear:
                linear += float(term.residual.sum())
                continue
            S += float(loss(np.einsum("mq,mq->m", term.residual, term.residual))[0].sum())
            count += int(np.count_nonzero(term.residual))  # missing measurements have zero
        return S, linear, count

    @cached_property
    def _moved(self) -> tuple[np.ndarray, np.ndarray]:
        """S (F, ndof, active) of poses and velocities, copied out of the engine once."""
        return self.run.dx, self.run.dv

    def _jacobian(self, term: AnyTerm, slot: BodySlot) -> Jacobian:
        """(columns, residual Jacobian (M, q, columns)) through S  [Eq. 6]."""
        own = [i for i, name in enumerate(self.own) if name in term.own]
        moves = self.active if term.moves else 0
        J = np.zeros((*term.residual.shape, moves + len(own)))
        if moves:
            J[..., :moves] = term.through(slot, *self._moved)
        for k, i in enumerate(own):
            J[..., moves + k] = term.own[self.own[i]]
        return _span(np.concatenate([np.arange(moves), self.active + np.array(own, int)])), J

    def jacobians(self) -> list[Jacobian]:
        """Columns and residual Jacobian of every term."""
        return [self._jacobian(term, slot) for term, _, slot in self._parts()]

    def series(
        self, k: int, scale: float, jacobians: Sequence[Jacobian],
        maps: tuple[np.ndarray, np.ndarray] | None,
    ) -> list[Series]:  # fmt: skip
        """Residuals of every term by time, as trial k; scale: the weight of the trial's loss;
        maps: None: by_z and by_y have no columns."""
        found = []
        for (term, loss, _), (columns, J), objective in zip(
            self._parts(), jacobians, self.trial.objectives, strict=True
        ):
            if term.linear:
                continue
            r = term.residual
            weight = scale * loss(np.einsum("mq,mq->m", r, r))[1][:, None]
            by_z, by_y = (J, J) if maps is None else (J @ T[columns] for T in maps)
            samples = _samples(objective, len(r))
            found.append(Series(objective.name, k, samples, weight * r, by_z, by_y))
        return found

    def direct(
        self, slope: float, bend: float, jacobians: Sequence[Jacobian], *, second_order: bool
    ) -> tuple[np.ndarray, np.ndarray]:
        """Gradient and Gauss-Newton Hessian of rho(S)/2 + linear; slope, bend = rho', rho''."""
        n = self.active + len(self.own)
        g, H, linear = np.zeros(n), np.zeros((n, n)), np.zeros(n)
        for (term, loss, _), (columns, J) in zip(self._parts(), jacobians, strict=True):
            if term.linear:
                linear[columns] += J.sum(axis=(0, 1))
                continue
            _, by_term, H_term = accumulate(term.residual, J, loss, second_order=second_order)
            g[columns] += by_term
            block = (columns, columns) if isinstance(columns, slice) else np.ix_(columns, columns)
            H[block] += H_term
        H = slope * H
        if second_order:
            H += 2.0 * bend * np.outer(g, g)
        return slope * g + linear, H

    def adjoint(self, slope: float) -> np.ndarray:
        """Gradient of rho(S)/2 + linear by one backward pass."""
        gx = np.zeros((len(self.run.position), self.ndof))
        gv, by_own = np.zeros_like(gx), np.zeros(len(self.own))
        direct, of_outputs = np.zeros(self.active), dict[str, np.ndarray]()
        for term, loss, slot in self._parts():
            r = term.residual
            weight = np.ones_like(r)
            if not term.linear:
                weight = slope * r * loss(np.einsum("mq,mq->m", r, r))[1][:, None]
            term.pull(slot, weight, gx, gv)
            if isinstance(term, OutputTerm):
                term.pull_outputs(weight, of_outputs)
            if term.direct is not None:
                direct += np.einsum("mqa,mq->a", term.direct, weight)
            for i, name in enumerate(self.own):
                if name in term.own:
                    by_own[i] += float(np.sum(term.own[name] * weight))
        asked = {"outputs": of_outputs} if of_outputs else {}
        return np.concatenate([self.run.gradient(gx, gv, **asked) + direct, by_own])


def _span(columns: np.ndarray) -> np.ndarray | slice:
    """Ascending columns as a slice where none is left out between them."""
    whole = len(columns) and columns[-1] - columns[0] + 1 == len(columns)
    return slice(columns[0], columns[-1] + 1) if whole else columns


def _samples(objective: Objective, count: int) -> np.ndarray:
    """Which instant each of an objective's samples is of: numbers that increase with time."""
    frames = getattr(objective, "frame", None)  # clouds: many points in each
    if not isinstance(frames, np.ndarray):
        frames = np.asarray(getattr(objective, "frames", ()))
    return frames if frames.shape == (count,) else np.arange(count)


def _congruent(T: np.ndarray, H: np.ndarray) -> np.ndarray:
    """T^T H T of a symmetric H; through the entries of T alone where it is large and nearly empty.

    Hundreds of keys of a kinematic body make T a large, nearly diagonal matrix.
    """
    if T.size < SPARSE_FROM:
        return T.T @ H @ T
    entries = csr_array(T)
    return entries.T @ (entries.T @ H).T


class Assembly:
    """Sums the trials of one evaluation, per trial as `NormalEquations` wants them."""

    def __init__(self, shape: tuple[int, int], nz: int, want: str) -> None:
        (K, ny), self.want = shape, want
        self.costs, self.count = np.zeros(K), 0
        self.gz, self.Hzz = np.zeros((K, nz)), np.zeros((K, nz, nz))
        self.gy, self.Hyz = np.zeros((K, ny)), np.zeros((K, ny, nz))
        self.Hyy = np.zeros((K, ny, ny)) + np.eye(ny)
        self.start_prior = np.ones(K)
        self.series: list[Series] = []

    def add(
        self, k: int, model: TrialModel, weight: float, u: np.ndarray,
        maps: tuple[np.ndarray, np.ndarray] | None,
    ) -> None:  # fmt: skip
        """Add trial k; maps = (T_z, T_y): d(active, own)/d(z, u), None for the value alone."""
        S, linear, count = model.sums()
        rho, slope, bend = (float(v) for v in model.trial.loss(S))
        self.count += count + u.size
        self.costs[k] = weight * (0.5 * rho + linear + 0.5 * float(u @ u))
        if maps is None:
            if self.want == "residuals":
                none = [(slice(0), np.zeros((*term.residual.shape, 0))) for term in model.terms]
                self.series += model.series(k, weight * slope, none, None)
            return
        T_z, T_y = maps
        if self.want == "gradient":
            g = model.adjoint(slope)
        else:
            jacobians, curvature = model.jacobians(), self.want == "curvature"
            g, H = model.direct(slope, bend, jacobians, second_order=curvature)
            if curvature:
                self.series += model.series(k, weight * slope, jacobians, maps)
            self.Hzz[k] = weight * _congruent(T_z, H)
            self.Hyz[k] = weight * (T_y.T @ H @ T_z)
            self.Hyy[k] = weight * (T_y.T @ H @ T_y + np.eye(u.size))
            self.start_prior[k] = weight
        self.gz[k], self.gy[k] = weight * (T_z.T @ g), weight * (T_y.T @ g + u)

    def evaluation(
        self, prior: tuple[np.ndarray, np.ndarray], names: Sequence[str],
        signature: tuple[int, ...],
    ) -> Evaluation:  # fmt: skip
        """Everything summed; prior = (residual (nz,), diagonal Jacobian (nz,))."""
        residual, slope = prior
        value = float(self.costs.sum() + 0.5 * residual @ residual)
        if not math.isfinite(value):
            bad = np.flatnonzero(~np.isfinite(self.costs))
            return Evaluation(math.inf, tuple(f"{names[k]}: non-finite cost" for k in bad.tolist()))
        done: dict[str, Any] = {
            "trial_costs": self.costs, "signature": signature, "count": self.count,
        }  # fmt: skip
        if self.want == "value":
            return Evaluation(value, **done)
        done["series"] = tuple(self.series)
        if self.want == "residuals":
            return Evaluation(value, **done)
        prior_g = residual * slope
        gradient = (prior_g + self.gz.sum(axis=0), self.gy)
        if self.want == "gradient":
            return Evaluation(value, gradient=gradient, **done)
        equations = NormalEquations(
            prior_g,
            np.diag(slope**2),
            self.gz,
            self.Hzz,
            self.gy,
            self.Hyy,
            self.Hyz,
            self.start_prior,
        )
        return Evaluation(value, equations=equations, gradient=gradient, **done)
