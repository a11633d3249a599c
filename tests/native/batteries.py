"""The derivative battery of an element: r against K, B, dr/dp and the history blocks.

Central differences along random directions; an analytic derivative D passes when the difference
quotient converges to it: |Dd - FD(eps)| <= 1e-7 (|Dd| + typical size) for the best eps of three.
"""

from __future__ import annotations

import numpy as np

from diffsim_ros import _engine

STEP = 0.01  # [s]


def random_instants(rng, nodes: int, order: int, c=None):
    """(c, theta, v, omega) per instant, newest first; c (nodes, 3) fixes the newest positions."""
    instants = []
    for k in range(order + 1):
        place = rng.normal(size=(nodes, 3)) if c is None else c + 0.05 * k * rng.normal(size=3)
        theta = rng.normal(size=(nodes, 3))
        instants.append([place, theta, rng.normal(size=(nodes, 3)), rng.normal(size=(nodes, 3))])
    return instants


def perturbed(instants, k: int, dx, dv, eps: float, frames):
    """Instants with instant k moved by eps along tangent directions dx, dv (nodes, 6) each."""
    moved = [[np.array(part) for part in instant] for instant in instants]
    c, theta, v, w = moved[k]
    c += eps * dx[:, :3]
    v += eps * dv[:, :3]
    for i in frames:
        turn = _engine.exp_rotation(eps * dx[i, 3:])
        theta[i] = _engine.log_rotation(turn @ _engine.exp_rotation(theta[i]))
        w[i] += eps * dv[i, 3:]
    return moved


def node_count(scene) -> int:
    first, count = scene.nodes_of(scene.body_names[-1])
    return first + count


def packed(scene, d):
    """(nodes, 6) tangent direction as the dof vector of the scene (points have 3 dofs).

    Coordinates and multipliers of joints stand still.
    """
    ends = [*(scene.dof_offset(n) for n in scene.body_names[1:]), scene.body_ndof]
    parts = []
    for name, end in zip(scene.body_names, ends, strict=True):
        first, count = scene.nodes_of(name)
        size = (end - scene.dof_offset(name)) // count
        parts.append(d[first : first + count, :size].ravel())
    return np.concatenate([*parts, np.zeros(scene.ndof - scene.body_ndof)])


def agree(exact, difference_at, scale: float) -> tuple[bool, float]:
    """Whether difference_at(eps) meets `exact` for the best of four eps, and how well."""
    worst = min(np.abs(exact - difference_at(eps)).max() for eps in (1e-4, 1e-5, 1e-6, 1e-7))
    return worst <= 1e-7 * (np.abs(exact).max() + scale), worst


def check_element(
    scene, name: str, p, instants, rng, frames, t: float = 1.0, held=(), spectral_radius=None,
    multipliers=(),
) -> dict:  # fmt: skip
    """Run the battery at one state and time; raises AssertionError naming the wrong derivative.

    spectral_radius: of generalized-alpha, in place of BDF.
    multipliers: of constrained joints [N, N m], the last degrees of freedom of the scene.
    """
    nodes = node_count(scene)

    def evaluate(q, moved, forces=multipliers):
        return scene.evaluate_element(
            name, q, moved, STEP, t, held, spectral_radius=spectral_radius, multipliers=forces
        )

    out = evaluate(p, instants)
    size = np.abs(out["r"]).max() + 1.0  # [N], the scale of a force that cancels to nothing
    zero = np.zeros((nodes, 6))

    def residual(moved):
        return evaluate(p, moved)["r"]

    if "joined" in out:
        apart = out["alpha"] * out["K"] + out["B"]
        assert np.abs(out["joined"] - apart).max() <= 1e-12 * np.abs(apart).max(), f"{name}: A"
    blocks = [(0, out["K"], out["B"])]
    blocks += [(k + 1, *pair) for k, pair in enumerate(out["past"])]
    for k, K, B in blocks:
        for which, matrix in (("x", K), ("v", B)):
            d = rng.normal(size=(nodes, 6))
            dx, dv = (d, zero) if which == "x" else (zero, d)

            def difference(eps, k=k, dx=dx, dv=dv):
                plus, minus = (perturbed(instants, k, dx, dv, s * eps, frames) for s in (1, -1))
                return (residual(plus) - residual(minus)) / (2 * eps)

            good, worst = agree(matrix @ packed(scene, d), difference, size)
            assert good, f"{name}: dr/d{which}_(n-{k}) is off by {worst:.2e} (size {size:.2e})"
    if len(multipliers):
        d = rng.normal(size=len(multipliers))
        one, other = (evaluate(p, instants, multipliers + sign * d)["r"] for sign in (1, -1))
        exact = out["B"][:, -len(d) :] @ d  # forces are linear in them
        assert np.abs(exact - (one - other) / 2).max() <= 1e-12 * size, f"{name}: multipliers"
    for j, info in enumerate(scene.parameters):
        if info.initial:
            continue
        unit = max(abs(p[j]), 1e-2)
        if p[j] == info.lower:
            continue

        def difference(eps, j=j, unit=unit):
            ends = []
            for sign in (1, -1):
                q = p.copy()
                q[j] += sign * eps * unit
                ends.append(evaluate(q, instants)["r"])
            return (ends[0] - ends[1]) / (2 * eps)

        good, worst = agree(out["dr_dp"][:, j] * unit, difference, size)
        assert good, f"{name}: dr/d({info.name}) is off by {worst:.2e} (size {size:.2e})"
    return out


def net_wrench(r, c, nodes):
    """Total force and torque about the origin of the residual rows [(offset, is frame), ...]."""
    force, torque = np.zeros(3), np.zeros(3)
    for i, (offset, frame) in enumerate(nodes):
        f = r[offset : offset + 3]
        force += f
        torque += np.cross(c[i], f)
        if frame:
            torque += r[offset + 3 : offset + 6]
    return force, torque
