"""Exact derivatives of simulated motion against central differences, over random scenes.

The protocol is that of docs/design.md (diffsim_ros.inverse.gradient_check): Newton to stagnation,
random directions in scaled parameters, plateau of clean differences. Besides random directions in
all parameters together, each scene checks directions within three kinds of parameter alone.
"""

from __future__ import annotations

import re
from collections import Counter

import numpy as np

from diffsim_ros import _engine
from diffsim_ros.inverse.gradient_check import GradientReport, check_gradient

from .common import share
from .scenes import RandomScene, random_scene, rotation_matrix

SCENES = 200
BARS = {  # scenes of each regime the full study must have reached
    "contact": 150, "sliding": 100, "sticking": 100, "leaving": 100, "past_pi_in_contact": 50,
    "bdf1": 20, "bdf2": 20, "linear": 20, "tanh": 20,
    "plane": 20, "box": 20, "sphere": 20, "union": 20,
}  # fmt: skip
KINDS = (
    "mass", "inertia", "scale", "radius", "k_n", "k_t", "c_n", "k_d", "d_0", "c_f", "c_s", "f_0",
    "gravity", "stiffness", "damping", "rest_length", "position", "rotation", "velocity",
    "angular_velocity", "surface_offset", "surface_scale", "surface",
)  # fmt: skip
KIND_BAR = 20
DIRECTIONS = 2
OWN = 3  # kinds of parameter checked on their own, per scene


def kind_of(name: str) -> str:
    """Kind of an engine parameter: 'gravity', or the word after the owner."""
    return "gravity" if name.startswith("gravity") else re.split(r"\.", name)[1]


def scales_of(scene: _engine.Scene) -> np.ndarray:
    """Typical size of each parameter (np,): its value, or a unit of its kind where that is 0."""
    unit = {
        "position": 0.1, "rotation": 1.0, "velocity": 1.0, "angular_velocity": 5.0, "gravity": 10.0,
        "inertia": 1e-3, "radius": 0.01, "c_n": 0.5, "damping": 0.5, "scale": 1.0,
    }  # fmt: skip
    scales = np.abs(scene.values)
    for i, info in enumerate(scene.parameters):
        kind = kind_of(info.name)
        if info.initial or kind in ("gravity", "inertia") or scales[i] == 0:
            scales[i] = unit.get(kind, 1.0)
            if kind == "inertia":  # products of inertia in the size of the moments
                scales[i] = scene.values[scene.index(info.name.split(".")[0] + ".inertia.xx")]
    return scales


def free_parameters(scene: _engine.Scene) -> list[int]:
    """Parameters that may move both ways (a value on its bound, or a zero rest length, may not)."""
    free = []
    for i, info in enumerate(scene.parameters):
        value = scene.values[i]
        particle = kind_of(info.name) == "scale" and value == info.lower
        if not particle and info.lower < value < info.upper:
            free.append(i)
    return free


class NotSimulated(AssertionError):
    """A scene of the study does not run."""


class Objective:
    """Random smooth functional of all recorded poses and velocities, with its tangent gradient."""

    def __init__(self, rng, frames: int, nodes: int):
        self.c, self.v, self.w = rng.normal(size=(3, frames, nodes, 3))
        self.a, self.b = rng.normal(size=(2, frames, nodes, 3))

    def value(self, rollout) -> float:
        """Sum of w.c + |c|^2/2 + v-terms + a.(R b) over frames."""
        c, v, w = rollout.position, 0.1 * rollout.velocity, 0.02 * rollout.angular_velocity
        turned = np.einsum("fnij,fnj->fni", self._matrices(rollout), self.b)
        return float(
            np.sum(self.c * c + 0.5 * c * c + self.v * v + 0.5 * v * v + self.w * w)
            + np.sum(self.a * turned)
        )

    def gradient(self, scene, rollout) -> tuple[np.ndarray, np.ndarray]:
        """dO/dx, dO/dv (frames, ndof) in tangent coordinates."""
        c, v = rollout.position, 0.1 * rollout.velocity
        turned = np.einsum("fnij,fnj->fni", self._matrices(rollout), self.b)
        dofs, frame = node_dofs(scene)
        gx, gv = (np.zeros((len(c), scene.ndof)) for _ in range(2))
        for axis in range(3):
            gx[:, dofs + axis] = (self.c + c)[:, :, axis]
            gv[:, dofs + axis] = 0.1 * (self.v + v)[:, :, axis]
            gx[:, dofs[frame] + 3 + axis] = np.cross(turned, self.a)[:, frame, axis]
            gv[:, dofs[frame] + 3 + axis] = 0.02 * self.w[:, frame, axis]
        return gx, gv

    @staticmethod
    def _matrices(rollout):
        return rotation_matrices(rollout.orientation)


def rotation_matrices(q) -> np.ndarray:
    """(..., 3, 3) of unit quaternions (..., 4), x y z w."""
    v, w = q[..., :3], q[..., 3, None, None]
    hat = np.cross(np.eye(3), v[..., None, :])
    outer = v[..., :, None] * v[..., None, :]
    return np.eye(3) + 2 * w * hat + 2 * (outer - np.sum(v * v, -1)[..., None, None] * np.eye(3))


def node_dofs(scene: _engine.Scene) -> tuple[np.ndarray, np.ndarray]:
    """(first degree of freedom, whether it turns) of each node."""
    bodies = sum(scene.nodes_of(name)[1] for name in scene.body_names)
    dofs = np.asarray(scene.node_dofs)  # after bodies come coordinates of joints
    return dofs[:bodies], np.diff(dofs)[:bodies] == 6


def regimes(scene: RandomScene, rollout) -> set[str]:
    """Which regimes of BARS a motion reached."""
    mode = rollout.modes & 3
    found = {scene.obstacle, scene.friction, f"bdf{scene.order}"}
    touching = mode > 0
    if touching.any():
        found.add("contact")
    if (mode == 2).any():
        found.add("sliding")
    if (mode == 1).any():
        found.add("sticking")
    if (touching[:-1] & ~touching[1:]).any():
        found.add("leaving")
    # Rotation vectors wrap where |theta| passes pi: that is where [G 4.6.2] would change chart.
    for i in range(rollout.position.shape[1]):
        theta = np.array(
            [_engine.log_rotation(rotation_matrix(q)) for q in rollout.orientation[:, i]]
        )
        wraps = np.linalg.norm(np.diff(theta, axis=0), axis=1) > 3
        busy = np.append(False, touching.any(axis=1))
        if np.any(wraps & busy[1:]):
            found.add("past_pi_in_contact")
    return found


def check_motion(engine, steps: int, options, active, scales, rng, along_of, label: str):
    """(report, S against lambda, base motion) of one scene by the protocol.

    scales (na,) of the active parameters; along_of(scaled gradient) -> directions (n, na).
    """
    p0 = engine.values
    base = _engine.rollout(engine, p0, steps, options, active=active, mode="sensitivity")
    if not base.ok:
        raise NotSimulated(f"{label}: {base.message}")
    objective = Objective(rng, *base.position.shape[:2])
    gx, gv = objective.gradient(engine, base)
    by_s = np.einsum("fi,fia->a", gx, base.dx) + np.einsum("fi,fia->a", gv, base.dv)
    pairing = 0.0
    for mode in ("store", "checkpoint"):
        again = _engine.rollout(engine, p0, steps, options, active=active, mode=mode)
        by_lambda = again.gradient(gx, gv)
        pairing = max(
            pairing, np.linalg.norm((by_s - by_lambda) * scales) / np.linalg.norm(by_s * scales)
        )

    def runs(X):
        P = np.tile(p0, (len(X), 1))
        P[:, active] = X * scales
        rollouts = _engine.rollout_batch(engine, P, steps, options)
        values = [objective.value(r) if r.ok else np.nan for r in rollouts]
        return values, [(r.mode_hash, r.halvings) for r in rollouts]

    along = along_of(by_s * scales)
    report = check_gradient(runs, p0[active] / scales, by_s * scales, along=along, label=label)
    return report, pairing, base


def check_scene(scene: RandomScene, seed: int, kinds: list[str]):
    """(report, S against lambda, regimes) of one scene; `kinds` get directions of their own."""
    engine, rng = scene.engine, np.random.default_rng(seed + 10_000)
    active = free_parameters(engine)

    def along(_):
        directions = rng.normal(size=(DIRECTIONS, len(active)))
        for kind in kinds:
            own = np.array([kind_of(engine.parameters[i].name) == kind for i in active])
            directions = np.vstack([directions, own * rng.normal(size=len(active))])
        return directions

    report, pairing, base = check_motion(
        engine, scene.steps, protocol_options(scene), active, scales_of(engine)[active], rng, along,
        f"scene {seed} {kinds}",
    )  # fmt: skip
    return report, pairing, regimes(scene, base)


def protocol_options(scene) -> _engine.Options:
    """How the protocol runs a scene: Newton to stagnation, branches recorded."""
    return _engine.Options(
        step=scene.step, order=scene.order, record_every=1, tolerance=1e-10, stagnate=True,
        record_modes=True, max_halvings=2,
    )  # fmt: skip


def study(fraction: float = 1.0, seed: int = 0) -> dict:
    """All bars of the protocol, and the counts of regimes and kinds reached."""
    scenes = share(SCENES, fraction)
    reports, reached, kinds, pairing = [], Counter(), Counter(), 0.0
    for i in range(scenes):
        scene = random_scene(seed + i)
        present = {kind_of(scene.engine.parameters[j].name) for j in free_parameters(scene.engine)}
        # The kinds least checked so far that this scene has.
        own = sorted(present, key=lambda k: (kinds[k], KINDS.index(k)))[:OWN]
        report, gap, found = check_scene(scene, seed + i, own)
        reports.append(report)
        reached.update(found)
        kinds.update(own)
        pairing = max(pairing, gap)
    merged = GradientReport.merged(reports)
    return _judge(merged, scenes, reached, kinds, pairing, fraction)


def _judge(merged, scenes, reached, kinds, pairing, fraction) -> dict:
    checks = merged.counted
    figures = {
        "scenes": scenes, "directions": len(merged.checks), "without_plateau": len(merged.lacking),
        "out_of_tolerance": len(merged.failed), "share_within_1e-6": merged.fine_share,
        "median_error": float(np.median([c.error for c in checks])), "worst_error": merged.worst,
        "sensitivity_against_adjoint": pairing, "scenes_reaching": dict(reached),
        "own_direction_per_kind": dict(kinds),
    }  # fmt: skip
    short = {k: reached[k] for k, n in BARS.items() if reached[k] < share(n, fraction)}
    few = {k: kinds[k] for k in KINDS if kinds[k] < share(KIND_BAR, fraction)}
    failed = [f"{c.label}: {c.error:.2e} (spread {c.spread:.1e})" for c in merged.failed[:5]]
    assert not short, f"too few scenes reached {short}; {figures}"
    assert not few, f"kinds of parameter checked too seldom: {few}; {figures}"
    assert merged.passed, f"{merged.summary()}; {failed}"
    assert pairing <= 1e-9, figures
    return figures
