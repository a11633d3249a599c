"""A pure-Python stand-in for the engine with closed-form motion, so that the layer is tested alone.

A rigid "cube" (dofs 3..8) flies with gravity and linear drag (rate drag/mass) and constant spin; a
particle "ball" (dofs 0..2) flies without drag.  Derivatives are exact.  It fails ("non_finite") for
drag/mass above 50, and its mode hash names the sign of the cube's first velocity entry.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from diffsim_ros.inverse import InitialState, PoseTrack, Trial
from diffsim_ros.rotation import left_jacobian, quat_exp, quat_matrix, quat_multiply

H = 0.01
NAMES = (
    [f"gravity.{a}" for a in "xyz"]
    + ["cube.mass", "cube.drag"]
    + [f"{body}.{kind}.{a}" for body, kinds in (
        ("ball", ("position", "velocity")),
        ("cube", ("position", "rotation", "velocity", "angular_velocity")),
    ) for kind in kinds for a in "xyz"]
)  # fmt: skip
DEFAULTS = {"gravity.z": -9.81, "cube.mass": 0.5, "cube.drag": 0.4, "cube.velocity.x": 1.0}


class FakeScene:
    """Parameters and bodies, as `_engine.Scene` shows them."""

    parameters = tuple(SimpleNamespace(name=n, unit="m") for n in NAMES)
    body_names = ("ball", "cube")
    ndof = body_ndof = 9

    @property
    def values(self):
        return np.array([DEFAULTS.get(n, 0.0) for n in NAMES])

    def index(self, name):
        if name not in NAMES:
            raise KeyError(name)
        return NAMES.index(name)

    def dof_offset(self, body):
        return {"ball": 0, "cube": 3}[body]

    def nodes_of(self, body):
        return self.body_names.index(body), 1


def ballistic(p, t):
    """Positions and velocities (F, 2, 3) of ball and cube; p may be complex."""
    g, rate = p[:3], p[4] / p[3]
    at = {name: p[NAMES.index(f"{name}.x") :][:3] for name in
          ("ball.position", "ball.velocity", "cube.position", "cube.velocity")}  # fmt: skip
    t = t[:, None]
    decay = (1 - np.exp(-rate * t)) / rate
    x_ball = at["ball.position"] + at["ball.velocity"] * t + 0.5 * g * t * t
    x_cube = at["cube.position"] + at["cube.velocity"] * decay + g / rate * (t - decay)
    v_cube = at["cube.velocity"] * np.exp(-rate * t) + g * decay
    v_ball = at["ball.velocity"] + g * t
    return np.stack([x_ball, x_cube], 1), np.stack([v_ball, v_cube], 1)


def fake_rollout(p, steps, record_every, active):
    """One rollout; its derivatives by the active entries (complex step; rotations by hand)."""
    t = np.arange(0, steps + 1, record_every) * H
    x, v = ballistic(p, t)
    theta0, spin = (p[NAMES.index(f"cube.{k}.x") :][:3] for k in ("rotation", "angular_velocity"))
    turn = quat_exp(spin * t[:, None])
    q = np.zeros((len(t), 2, 4))
    q[:, 0, 3], q[:, 1] = 1.0, quat_multiply(turn, quat_exp(theta0))
    w = np.zeros((len(t), 2, 3))
    w[:, 1] = spin
    run = SimpleNamespace(
        status="converged", message="", ok=True, position=x, velocity=v, orientation=q,
        angular_velocity=w, mode_hash=int(p[NAMES.index("cube.velocity.x")] > 0), time=t,
    )  # fmt: skip
    run.dx, run.dv = np.zeros((len(t), 9, len(active))), np.zeros((len(t), 9, len(active)))
    for column, entry in enumerate(active):
        dp = p.astype(complex)
        dp[entry] += 1e-30j
        dx, dv = (a.imag / 1e-30 for a in ballistic(dp, t))
        run.dx[:, :3, column], run.dx[:, 3:6, column] = dx[:, 0], dx[:, 1]
        run.dv[:, :3, column], run.dv[:, 3:6, column] = dv[:, 0], dv[:, 1]
        kind, axis = NAMES[entry].rsplit(".", 1)
        unit = np.eye(3)["xyz".index(axis)] if axis in "xyz" else None
        if kind == "cube.rotation":
            run.dx[:, 6:, column] = quat_matrix(turn) @ (left_jacobian(theta0) @ unit)
        if kind == "cube.angular_velocity":
            slope = left_jacobian(spin * t[:, None]) @ unit
            run.dx[:, 6:, column], run.dv[:, 6:, column] = t[:, None] * slope, unit
    run.gradient = lambda gx, gv: (
        np.einsum("fd,fda->a", gx, run.dx) + np.einsum("fd,fda->a", gv, run.dv)
    )
    return run


class FakeEngine:
    """The simulator argument of `SimulationProblem`; counts its calls and remembers the modes."""

    def __init__(self):
        self.calls, self.modes = 0, []

    def __call__(self, scene, P, steps, options, active, mode, threads, cancel):
        self.calls += 1
        self.modes.append(mode)
        out = []
        for p, n in zip(P, steps, strict=True):
            if getattr(cancel, "cancelled", False):
                out.append(SimpleNamespace(status="cancelled", message="", ok=False))
            elif p[4] / p[3] > 50 or not np.all(np.isfinite(p)):
                bad = SimpleNamespace(status="non_finite", message="step 3: cube", ok=False)
                out.append(bad)
            else:
                out.append(fake_rollout(p, int(n), options.record_every, active or []))
        return out


@pytest.fixture
def scene():
    return FakeScene()


@pytest.fixture
def engine():
    return FakeEngine()


@pytest.fixture
def options():
    return SimpleNamespace(
        record_every=2, step=H, order=2, spectral_radius=None, tolerance=1e-8,
        max_iterations=50, max_halvings=4, stepper="implicit", friction_cone="cone",
    )  # fmt: skip


START_SIGMA = np.repeat([2e-3, 0.01, 0.02, 0.1], 3)
SIGMA = (1e-3, np.deg2rad(0.5))


def make_trial(generator, truth, steps, *, name="toss", noise=True, prior=True, **trial):
    """A synthetic recording: start ~ prior, measured with noise; `truth`: engine parameters."""
    state = [generator.normal(size=3) for _ in range(4)]
    p = FakeScene().values
    for entry, value in truth.items():
        p[NAMES.index(entry)] = value
    first = NAMES.index("cube.position.x")
    p[first : first + 12] = np.concatenate(state)
    run = fake_rollout(p, steps, 2, [])
    off = START_SIGMA * generator.normal(size=12) * prior
    count = len(run.time) - 1
    sp, sr = SIGMA
    blur = generator.normal(size=(2, count, 3)) * noise
    q = quat_multiply(quat_exp(blur[1] * sr), run.orientation[1:, 1])
    pose = PoseTrack(
        "cube", np.arange(1, count + 1), run.position[1:, 1] + blur[0] * sp, q,
        sigma_position=sp, sigma_rotation=sr,
    )  # fmt: skip
    start = InitialState(
        "cube", state[0] + off[:3],
        quat_multiply(quat_exp(off[3:6]), quat_exp(state[1])), state[2] + off[6:9],
        state[3] + off[9:], covariance=np.diag(START_SIGMA**2),
    )  # fmt: skip
    return Trial(name, steps, (pose,), (start,), **trial)


@pytest.fixture
def trials():
    generator = np.random.default_rng(5)
    truth = {"gravity.z": -9.6, "cube.drag": 0.7, "cube.mass": 0.5}
    return [make_trial(generator, truth, 30 + 8 * k, name=f"toss {k}") for k in range(4)]


@pytest.fixture
def toss():
    return make_trial
