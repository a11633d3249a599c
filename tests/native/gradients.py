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
