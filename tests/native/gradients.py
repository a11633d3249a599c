"""End-to-end derivatives: S against lambda, and both against central differences."""

from __future__ import annotations

import numpy as np
import pytest

from diffsim_ros import _engine


def check_gradients(s, steps, options, names, tolerance=1e-6):
    """S against lambda (both modes) to 1e-9 and against central differences on the same branch."""
    active = [s.index(n) for n in names]
    p = s.values
    r = _engine.rollout(s, p, steps, options, active=active, mode="sensitivity")
    assert r.ok, r.message
    rng = np.random.default_rng(0)
    shape = (len(r.time), s.ndof)
    points = np.zeros(shape, bool)  # positions only: what the binding gives as plain numbers
    for name in s.body_names:
        points[:, s.dof_offset(name) : s.dof_offset(name) + 3] = True
    gx, gv = rng.normal(size=(2, *shape)) * points
    exact = np.einsum("fd,fda->a", gx, r.dx) + np.einsum("fd,fda->a", gv, r.dv)
    for mode in ("store", "checkpoint"):
        a = _engine.rollout(s, p, steps, options, active=active, mode=mode)
        assert a.gradient(gx, gv) == pytest.approx(exact, rel=1e-9, abs=1e-9 * np.abs(exact).max())

    def objective(q):
        motion = _engine.rollout(s, q, steps, options)
        if motion.mode_hash != r.mode_hash:
            return np.nan
        total = 0.0
        for name in s.body_names:
            o, i = s.dof_offset(name), s.nodes_of(name)[0]
            total += np.sum(gx[:, o : o + 3] * motion.position[:, i])
            total += np.sum(gv[:, o : o + 3] * motion.velocity[:, i])
        return total

    for k, i in enumerate(active):
        unit = max(abs(p[i]), 0.1)
        scale = max(abs(exact[k]) * unit, 1e-3 * np.linalg.norm(exact))
        errors = []
        for eps in (1e-5, 3e-6, 1e-6, 3e-7, 1e-7):
            ends = [objective(p + sign * eps * unit * np.eye(len(p))[i]) for sign in (1, -1)]
            errors.append(abs((ends[0] - ends[1]) / (2 * eps) - exact[k] * unit) / scale)
        assert np.nanmin(errors) <= tolerance, (names[k], errors)
    return r


def check_outputs(s, steps, options, names, outputs=None, tolerance=1e-5):
    """Derivatives of outputs: S against lambda to 1e-9, and every output's S against central
    differences of the simulated output on the same branch."""
    outputs = [o.name for o in s.outputs] if outputs is None else outputs
    active, p = [s.index(n) for n in names], s.values
    unit = np.maximum(np.abs(p[active]), 0.1)
    r = _engine.rollout(s, p, steps, options, active=active, mode="sensitivity", outputs=outputs)
    assert r.ok, r.message
    assert list(r.outputs) == outputs
    units = {o.name: o.unit for o in (*s.outputs, *s.motion_outputs)}
    size = {name: np.abs(dy * unit).max() for name, dy in r.outputs_dp.items()}
    least = {  # of what is zero but for rounding, by what others of its unit are
        name: 1e-4 * max(size[other] for other in outputs if units[other] == units[name])
        for name in outputs
    }
    rng = np.random.default_rng(0)
    weights, exact = {}, np.zeros(len(active))
    for name, y in r.outputs.items():
        dy = r.outputs_dp[name]
        assert dy.shape == (*y.shape, len(active))
        weights[name] = rng.normal(size=y.shape) / max(size[name], least[name], 1e-9)
        exact += np.tensordot(weights[name], dy, y.ndim)
    none = np.zeros((len(r.time), s.ndof))
    for mode in ("store", "checkpoint"):
        a = _engine.rollout(s, p, steps, options, active=active, mode=mode, outputs=outputs)
        found = a.gradient(none, none, outputs=weights) * unit
        assert found == pytest.approx(exact * unit, rel=1e-9, abs=1e-9 * np.abs(exact * unit).max())

    for k, i in enumerate(active):
        best = np.full(len(outputs), np.inf)
        for eps in (1e-5, 1e-4, 1e-6, 3e-7):
            ends = [
                _engine.rollout(s, q, steps, options, outputs=outputs)
                for q in (p + sign * eps * unit[k] * np.eye(len(p))[i] for sign in (1, -1))
            ]
            if any(end.mode_hash != r.mode_hash for end in ends):
                continue
            for n, name in enumerate(outputs):
                by = r.outputs_dp[name][..., k] * unit[k]
                gap = (ends[0].outputs[name] - ends[1].outputs[name]) / (2 * eps) - by
                scale = max(np.abs(by).max(), 1e-3 * size[name], least[name], 1e-9)
                best[n] = min(best[n], np.abs(gap).max() / scale)
            if np.all(best <= tolerance):
                break
        wrong = {name: e for name, e in zip(outputs, best, strict=True) if not e <= tolerance}
        assert not wrong, (names[k], wrong)
    return r
