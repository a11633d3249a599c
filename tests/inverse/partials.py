"""The battery of an objective: its partials against differences of its residual."""

from types import SimpleNamespace

import numpy as np

from diffsim_ros.rotation import quat_exp, quat_multiply

EPS = 1e-6


def moved(run, slot, dx, dv):
    """The rollout with a body's state moved by tangents dx, dv (F, slot.size)."""
    new = SimpleNamespace(**{k: v.copy() for k, v in vars(run).items()})
    nodes = slice(slot.index, slot.index + slot.count)
    frames = len(dx)
    new.position[:, nodes] += dx[:, : 3 * slot.count].reshape(frames, -1, 3)
    new.velocity[:, nodes] += dv[:, : 3 * slot.count].reshape(frames, -1, 3)
    if slot.size == 6 and slot.count == 1:
        turned = quat_multiply(quat_exp(dx[:, 3:]), run.orientation[:, slot.index])
        new.orientation[:, slot.index] = turned
        new.angular_velocity[:, slot.index] += dv[:, 3:]
    return new


def check_partials(objective, run, slot, values=None, atol=2e-8):
    """By every number of the body's state, at every frame (of many: at eight or so)."""
    values, count, size = values or {}, len(run.position), slot.size
    term = objective.term(run, slot, values)
    dx, dv = np.zeros((2, count, slot.dof + size, count, 2 * size))  # a parameter per number
    for frame in range(count):
        np.fill_diagonal(dx[frame, slot.dof :, frame, :size], 1.0)
        np.fill_diagonal(dv[frame, slot.dof :, frame, size:], 1.0)
    by = term.through(slot, *(d.reshape(count, slot.dof + size, -1) for d in (dx, dv)))
    jacobian = by.reshape(*term.residual.shape, count, 2 * size)
    assert np.any(jacobian), "nothing depends on the state"
    scale = max(1.0, np.abs(jacobian).max())
    for frame in range(0, count, 1 + count // 8):
        for dof in range(2 * size):
            d = np.zeros((2, count, size))
            d[dof // size, frame, dof % size] = EPS
            up, down = (objective.term(moved(run, slot, *(s * d)), slot, values).residual
                        for s in (1, -1))  # fmt: skip
            found = (up - down) / (2 * EPS)
            np.testing.assert_allclose(found, jacobian[:, :, frame, dof], atol=atol * scale)


def check_own(objective, run, slot, values, atol=1e-7):
    """By the parameters that it reads itself; returns the exact partials by name."""
    own = objective.term(run, slot, values).own
    assert set(own) == set(objective.parameters)
    for name, exact in own.items():
        up, down = (objective.term(run, slot, {**values, name: values[name] + s}).residual
                    for s in (EPS, -EPS))  # fmt: skip
        np.testing.assert_allclose((up - down) / (2 * EPS), exact, atol=atol, err_msg=name)
    return own
