"""Starts of an MJCF at which its equality constraints are closed, as MuJoCo's solver makes them.

A start that is open is moved along the joints by Gauss-Newton steps, each coordinate as easily as
its inertia at the file's reference configuration lets it; rates then lose what opens it again.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

import numpy as np

from diffsim_ros.rotation import quat_from_matrix, quat_log

from .mjcf import Mjcf, MjcfState
from .mjcf_closures import MjcfClosure, pose_of
from .mjcf_couplings import Coupling
from .mjcf_lines import MjcfLine

Array = np.ndarray
Held = MjcfClosure | MjcfLine
CLOSED = 1e-6
"""[m, rad] by which what an equality constraint holds may be open at the start."""
FINE = 1e-11
"""[m, rad] to which one that is open is closed."""
MOST_STEPS = 100
LONGEST_STEP = 0.3
"""[m, rad] of a coordinate in one step."""
RANK = 1e-9
"""Singular value, over the largest one, below which rows depend on each other."""


@dataclass(frozen=True)
class Closing:
    """A start whose constraints hold.

    moved   largest change of a coordinate [rad or m], and of a rate
    kept    constraints that it closes
    left    others -> why, in words
    """

    state: MjcfState
    moved: tuple[float, float]
    kept: list[Held]
    left: dict[str, str]


def close(mjcf: Mjcf, state: MjcfState, held: Collection[int], closures: list[Held]) -> Closing:
    """Move a start until what follows, follows, and closures are closed.

    held  degrees of freedom that stay, if that is possible
    A constraint that cannot be closed with those before it is left out.
    """
    kept: list[Held] = []
    left: dict[str, str] = {}
    now = _tied(mjcf, state)
    for closure in closures:
        found, gap = None, 0.0
        for stay in (held, ()) if held else ((),):
            found, gap = _closed(mjcf, now, stay, [*kept, closure])
            if found is not None:
                break
        if found is None:
            left[closure.name] = f"no start near closes it: {gap:.3g} m or rad stay open"
        elif _rank(mjcf, found, [*kept, closure]) == _rank(mjcf, found, kept):
            left[closure.name] = "all it holds is held already"
        else:
            now, kept = found, [*kept, closure]
    now = _slowed(mjcf, now, kept)
    change = _difference(mjcf, state.position, now.position)
    rates = now.velocity - state.velocity
    moved = (float(np.abs(change).max(initial=0)), float(np.abs(rates).max(initial=0)))
    return Closing(now, moved, kept, left)


def _rank(mjcf: Mjcf, state: MjcfState, closures: list[Held]) -> int:
    """How many independent rows closures have at a start."""
    rows = _rows(mjcf, state, closures)[1] * np.sqrt(_ease(mjcf, ()))
    sizes = np.linalg.svd(rows, compute_uv=False) if rows.size else np.zeros(0)
    return int(np.count_nonzero(sizes > RANK * sizes.max(initial=0)))


def _tied(mjcf: Mjcf, state: MjcfState) -> MjcfState:
    """With the coordinates and rates of followers from those that lead them."""
    q, v = state.position.copy(), state.velocity.copy()
    joints, ties = mjcf.scalars, mjcf.followers
    for i, tie in ties.items():
        joint, lead = joints[i], joints[tie.lead]
        q[joint.coordinate] = tie.ratio * q[lead.coordinate] + tie.shift
        v[joint.velocity] = tie.ratio * v[lead.velocity]
    return replace(state, position=q, velocity=v)


def _closed(
    mjcf: Mjcf, state: MjcfState, held: Collection[int], closures: list[Held]
) -> tuple[MjcfState | None, float]:
    """A closed start, None where there is none near; and the gap that stays."""
    import mujoco

    model = mjcf.model
    ease = _ease(mjcf, held)
    worst = np.inf
    for _ in range(MOST_STEPS):
        gap, rows = _rows(mjcf, state, closures)
        worst = float(np.abs(gap).max(initial=0))
        if worst <= FINE:
            break
        step = -_least_move(rows, ease) @ gap
        step *= min(1.0, LONGEST_STEP / max(np.abs(step).max(initial=0), 1e-300))
        q = state.position.copy()
        mujoco.mj_integratePos(model, q, _spread(mjcf.scalars, mjcf.followers, step), 1.0)
        state = _tied(mjcf, replace(state, position=q))
        if not np.isfinite(q).all() or np.abs(step).max(initial=0) < 1e-15:
            break
    return (state if worst <= CLOSED / 10 else None), worst


def _slowed(mjcf: Mjcf, state: MjcfState, closures: list[Held]) -> MjcfState:
    """With rates at which nothing opens."""
    _, rows = _rows(mjcf, state, closures)
    opening = rows @ state.velocity + _drift(mjcf, state, closures)
    if not closures or np.abs(opening).max(initial=0) <= FINE:
        return state
    change = -_least_move(rows, _ease(mjcf, ())) @ opening
    return _tied(mjcf, replace(state, velocity=state.velocity + change))


def _ease(mjcf: Mjcf, held: Collection[int]) -> Array:
    """How easily each degree of freedom moves (nv,): those of followers and held ones do not."""
    ease = 1 / np.maximum(np.asarray(mjcf.model.dof_M0, float), 1e-12)
    ease[list(held)] = 0
    ease[[mjcf.scalars[i].velocity for i in mjcf.followers]] = 0
    return ease


def _least_move(rows: Array, ease: Array) -> Array:
    """(nv, rows) of the least change that makes the rows one by one."""
    root = np.sqrt(ease)
    return root[:, None] * np.linalg.pinv(rows * root, rcond=RANK)


def _spread(joints: list, ties: Mapping[int, Coupling], step: Array) -> Array:
    """A change of the coordinates that lead, with that of those that follow them."""
    step = step.copy()
    for i, tie in ties.items():
        step[joints[i].velocity] = tie.ratio * step[joints[tie.lead].velocity]
    return step


def _rows(mjcf: Mjcf, state: MjcfState, closures: list[Held]) -> tuple[Array, Array]:
    """Gaps (n,) of closures and their derivatives (n, nv) by the coordinates that lead."""
    import mujoco

    model, data = mjcf.model, mjcf.data_at(state)
    mujoco.mj_comPos(model, data)
    gaps: list[Array] = [np.zeros(0)]
    rows: list[Array] = [np.zeros((0, model.nv))]
    coordinates = state.position[[joint.coordinate for joint in mjcf.scalars]]
    for closure in closures:
        if isinstance(closure, MjcfLine):
            row = np.zeros((1, model.nv))
            for i, c in closure.length.slopes.items():
                row[0, mjcf.scalars[i].velocity] = c
            gaps.append(np.array([closure.length.at(coordinates)]))
            rows.append(row)
            continue
        ends, slopes = [], []
        for body, frame in zip(closure.bodies, closure.frames, strict=True):
            pose = pose_of(data.xpos[body], data.xmat[body].reshape(3, 3)) @ frame
            slides, turns = np.zeros((3, model.nv)), np.zeros((3, model.nv))
            mujoco.mj_jac(model, data, slides, turns, pose[:3, 3], body)
            ends.append(pose)
            slopes.append((slides, turns))
        gaps.append(ends[1][:3, 3] - ends[0][:3, 3])
        rows.append(slopes[1][0] - slopes[0][0])
        if closure.kind == "weld":
            turn = ends[1][:3, :3] @ ends[0][:3, :3].T
            gaps.append(quat_log(quat_from_matrix(turn)))
            rows.append(slopes[1][1] - slopes[0][1])
    found = np.vstack(rows)
    for i, tie in mjcf.followers.items():
        joint, lead = mjcf.scalars[i], mjcf.scalars[tie.lead]
        found[:, lead.velocity] += tie.ratio * found[:, joint.velocity]
        found[:, joint.velocity] = 0
    return np.concatenate(gaps), found


def _drift(mjcf: Mjcf, state: MjcfState, closures: list[Held]) -> Array:
    """Rates (n,) of the gaps by how mocap bodies move."""
    rates: list[Array] = [np.zeros(0)]
    data = mjcf.data_at(state)
    for closure in closures:
        if isinstance(closure, MjcfLine):
            rates.append(np.zeros(1))
            continue
        sides = zip(closure.bodies, closure.frames, (-1.0, 1.0), strict=True)
        linear, angular = np.zeros(3), np.zeros(3)
        for body, frame, sign in sides:
            row = int(mjcf.model.body_mocapid[body])
            if row < 0 or state.drift is None:
                continue
            arm = data.xmat[body].reshape(3, 3) @ frame[:3, 3]
            velocity, omega = (rows[row] for rows in state.drift)
            linear += sign * (velocity + np.cross(omega, arm))
            angular += sign * omega
        rates += [linear, angular] if closure.kind == "weld" else [linear]
    return np.concatenate(rates)


def _difference(mjcf: Mjcf, before: Array, after: Array) -> Array:
    """Change (nv,) of the coordinates."""
    import mujoco

    change = np.zeros(mjcf.model.nv)
    mujoco.mj_differentiatePos(mjcf.model, change, 1.0, before, after)
    return change
