"""Measured forces and torques of a contact: residuals with exact partials.

A force–torque sensor under a surface, or behind a tool, measures what a body exerts on it through
one or several contacts of the scene.  With the contact's part r_c(q, q') of the momentum balance of
the body's nodes, as the engine applies it at the rows of a rollout (r_c = -f on the body),

    F = sum_i r_i,   T = sum_i (x_i - o) x r_i (+ r_i^turn of frames),   r = (y - measured)/sigma

of force and torque about the sensor's origin o, along straight lines between rows, where
y = R^T (F, T) in the sensor's axes.  The partials are the engine's own: K = dr/dq, B = dr/dq'.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from diffsim_ros.errors import InputError

from ..rotation import quat_log, quat_matrix, skew
from .at_times import AtTimes, rows_around
from .joint_track import Scaled
from .objectives import BodySlot, Term, _checked

UPRIGHT = (0.0, 0.0, 0.0, 1.0)


@dataclass(frozen=True)
class RowWrench:
    """Wrench at one row (6,), its partials by pose and velocity of all dofs (6, ndof), and by the
    parameters that the contacts use, name -> (6,)."""

    wrench: np.ndarray
    by_x: np.ndarray
    by_v: np.ndarray
    own: Mapping[str, np.ndarray]


@dataclass(frozen=True, kw_only=True)
class WrenchTrack(AtTimes):
    """See the module; r per time: (M, 6), force then torque.

    body      whose contact is felt;  contacts  names of the scene's contacts
    scene     engine scene, whose elements are asked
    t         (M,) stamps since the start of the rollout [s];  interval  of its rows [s]
    force, torque  (M, 3) measured, on the surface by the body, sensor's axes [N], [N m]
    sigma_force [N];  sigma_torque [N m]
    origin, orientation  of the sensor in the world [m], x y z w
    sets      parameter of the scene -> what sets it, of the contacts' estimated parameters
    """

    contacts: Sequence[str]
    scene: Any
    force: np.ndarray
    torque: np.ndarray
    sigma_force: float = 0.1
    sigma_torque: float = 0.01
    origin: tuple[float, float, float] = (0.0, 0.0, 0.0)
    orientation: tuple[float, float, float, float] = UPRIGHT
    sets: Mapping[str, Scaled] = field(default_factory=dict)
    name: str = "wrench"
    each_time = ("force", "torque")

    def __post_init__(self) -> None:
        super().__post_init__()
        put, place = object.__setattr__, self.place
        for key in ("force", "torque"):
            put(self, key, _checked(place, key, getattr(self, key), (len(self.t), 3)))
        for key in ("sigma_force", "sigma_torque", "interval"):
            if not getattr(self, key) > 0:
                raise InputError(place, key, getattr(self, key), "a number > 0")
        known = list(self.scene.contact_names)
        for name in self.contacts:
            if name not in known:
                raise InputError(place, "contacts", name, f"some of {', '.join(known)}")

    @property
    def parameters(self) -> tuple[str, ...]:
        """See AtTimes."""
        names = [one.name for one in self.sets.values() if one.name is not None]
        return tuple(dict.fromkeys((*super().parameters, *names)))

    def predicted(self, rollout: Any, slot: BodySlot, values: Mapping[str, float]) -> np.ndarray:
        """What the sensor would measure: force [N] and torque [N m] (M, 6), its own axes."""
        return self._read(rollout, slot, values)[0]

    def term(self, rollout: Any, slot: BodySlot, values: Mapping[str, float]) -> Term:
        """Residuals and partials by two rows of the rollout and by the contacts' parameters."""
        y, rows, share, slope, moving = self._read(rollout, slot, values)
        scale = 1.0 / np.repeat([self.sigma_force, self.sigma_torque], 3)
        measured = np.concatenate([self.force, self.torque], axis=1)
        weights = np.stack([1.0 - share, share], axis=1)[:, :, None, None] * scale[:, None]
        known, around = rows
        jx, jv = (
            np.stack([[getattr(known[k], by) for k in pair] for pair in around]) * weights
            for by in ("by_x", "by_v")
        )
        own = {
            name: np.stack([
                (1.0 - s) * known[a].own[name] + s * known[b].own[name]
                for s, (a, b) in zip(share, around, strict=True)
            ]) * scale
            for name in known[around[0][0]].own
        }  # fmt: skip
        if self.clock.parameters:
            for name, by in self.clock.own(self.t, moving, slope * scale).items():
                own[name] = own.get(name, 0.0) + by
        dofs = np.arange(self.scene.ndof) - slot.dof
        return Term((y - measured) * scale, np.array(around), jx=jx, jv=jv, own=own, dofs=dofs)

    def _read(
        self, rollout: Any, slot: BodySlot, values: Mapping[str, float]
    ) -> tuple[np.ndarray, tuple[dict[int, RowWrench], list], np.ndarray, np.ndarray, np.ndarray]:
        """Readings (M, 6), the rows they are of, shares of the later one, slopes by time, and
        which times move with the clock."""
        at, moving = self.within(rollout, values)
        around = rows_around(at, self.interval)
        share = np.clip(at / self.interval - around[:, 0], 0.0, 1.0)
        p = np.array(self.scene.values, float)
        for target, scaled in self.sets.items():
            p[self.scene.index(target)] = scaled.number(values)
        instants = _instants(rollout)
        known = {int(k): self._row(instants, slot, int(k), p, values) for k in np.unique(around)}
        ends = np.array([[known[k].wrench for k in pair] for pair in around.tolist()])
        y = (1.0 - share[:, None]) * ends[:, 0] + share[:, None] * ends[:, 1]
        slope = (ends[:, 1] - ends[:, 0]) / self.interval
        return y, (known, around.tolist()), share, slope, moving

    def _row(
        self,
        instants: list[list[np.ndarray]],
        slot: BodySlot,
        row: int,
        p: np.ndarray,
        values: Mapping[str, float],
    ) -> RowWrench:
        """The wrench at one row, as the engine's contacts apply it."""
        pair = [instants[row], instants[max(row - 1, 0)]]
        place = instants[row][0][slot.index : slot.index + slot.count]
        total = np.zeros(6)
        by_x, by_v = np.zeros((6, self.scene.ndof)), np.zeros((6, self.scene.ndof))
        own = {name: np.zeros(6) for name in self.parameters if name not in self.clock.parameters}
        gather, force_of = self._gather(place, slot)
        for contact in self.contacts:
            # at time 0 there is no step to integrate over: the force at this instant
            out = self.scene.evaluate_element(contact, p, pair, self.interval, 0.0)
            total += gather @ out["r"]
            by_x += gather @ out["K"] + force_of(out["r"])
            by_v += gather @ out["B"]
            for target, scaled in self.sets.items():
                if scaled.name is not None:
                    column = out["dr_dp"][:, self.scene.index(target)]
                    own[scaled.name] += gather @ column * scaled.slope(values)
        turn = np.zeros((6, 6))
        turn[:3, :3] = turn[3:, 3:] = quat_matrix(np.array(self.orientation)).T
        return RowWrench(
            turn @ total, turn @ by_x, turn @ by_v, {k: turn @ v for k, v in own.items()}
        )

    def _gather(self, place: np.ndarray, slot: BodySlot) -> tuple[np.ndarray, Any]:
        """Matrix (6, ndof) from the contact's r to force and torque, and what it changes by itself
        with the nodes' places: r -> (6, ndof)."""
        width = slot.size // slot.count
        columns = slot.dof + width * np.arange(slot.count)[:, None] + np.arange(3)  # (nodes, 3)
        gather = np.zeros((6, self.scene.ndof))
        gather[np.arange(3), columns] = 1.0
        gather[3:, columns] = np.moveaxis(skew(place - np.array(self.origin)), 0, 1)
        if width == 6:
            gather[3:, columns[0] + 3] = np.eye(3)

        def force_of(r: np.ndarray) -> np.ndarray:
            by = np.zeros((6, self.scene.ndof))
            by[3:, columns] = -np.moveaxis(skew(r[columns]), 0, 1)
            return by

        return gather, force_of


def _instants(rollout: Any) -> list[list[np.ndarray]]:
    """(c, theta, v, omega) of all nodes at every row."""
    turns = quat_log(rollout.orientation)
    columns = rollout.position, turns, rollout.velocity, rollout.angular_velocity
    return [list(row) for row in zip(*columns, strict=True)]
