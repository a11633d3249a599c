"""Solids: the kernels against an independent witness, balances, closed forms, derivatives."""

import numpy as np
import pytest
from tests.native.batteries import check_element, random_instants
from tests.native.meshes import ball, box

from diffsim_ros import _engine

STEP = 0.01
VARIANTS = [(m, v) for m in ("neo_hookean", "neo_hookean_safe") for v in ("invariant", "linear")]


def solid(vertices, tets, **more):
    s = _engine.Scene()
    s.set_gravity([0, 0, 0])
    material = {"density": 900.0, "young": 5e3, "poisson": 0.35, "viscosity": 40.0}
    s.add_solid("body", vertices=vertices, tets=tets, **(material | more))
    return s


def lame(young, poisson):
    return young / (2 * (1 + poisson)), young * poisson / ((1 + poisson) * (1 - 2 * poisson))


def gradients(vertices, tets, x):
    """F (m, 3, 3) of places x, rest volumes (m,)."""
    rest, now = (np.moveaxis(y[tets[:, 1:]] - y[tets[:, :1]], 1, 2) for y in (vertices, x))
    return now @ np.linalg.inv(rest), np.linalg.det(rest) / 6


def energy(vertices, tets, x, mu, lam, model):
    F, volume = gradients(vertices, tets, x)
    J, shear = np.linalg.det(F), mu / 2 * ((F**2).sum((1, 2)) - 3)
    if model == "neo_hookean":
        density = shear - mu * np.log(J) + lam / 2 * np.log(J) ** 2
    else:
        density = shear - mu * (J - 1) + (lam + mu) / 2 * (J - 1) ** 2
    return (volume * density).sum()


def dissipation(vertices, tets, x, v, viscosity, model):
    """Half the power lost: its derivative by v is the viscous force."""
    F, volume = gradients(vertices, tets, x)
    rate = gradients(vertices, tets, v)[0]
    if model == "invariant":
        D = (np.swapaxes(F, 1, 2) @ rate + np.swapaxes(rate, 1, 2) @ F) / 2
    else:
        D = (rate + np.swapaxes(rate, 1, 2)) / 2
    return (volume * viscosity * (D**2).sum((1, 2))).sum()


def deformed(rng, vertices, amount=0.1):
    """A finite smooth deformation with a little noise, turned; and velocities."""
    A = np.eye(3) + amount * rng.normal(size=(3, 3))
    turn = _engine.exp_rotation(rng.normal(size=3))
    size = np.abs(vertices).max()
    bend = amount * np.sin(2 * vertices / size) @ rng.normal(size=(3, 3)) * size * 0.3
    x = (vertices @ A.T + bend) @ turn.T + 0.002 * size * rng.normal(size=vertices.shape)
    return x, size * rng.normal(size=vertices.shape)


def instants_at(rng, x, v, order=1):
    instants = random_instants(rng, len(x), order)
    instants[0][0], instants[0][2] = x, v
    return instants


def forces(s, p, x, v):
    rng = np.random.default_rng(0)
    return s.evaluate_element("body", p, instants_at(rng, x, v), STEP)["r"].reshape(-1, 3)


@pytest.mark.parametrize(("model", "viscosity"), VARIANTS)
@pytest.mark.parametrize("fields", [[], ["young", "poisson", "viscosity"]])
def test_battery_of_solid(model, viscosity, fields):
    rng = np.random.default_rng(1)
    vertices, tets = box((2, 1, 2), (0.2, 0.1, 0.2))
    s = solid(vertices, tets, model=model, viscosity_model=viscosity, fields=fields,
              young_field=rng.uniform(0.5, 2, len(tets)))  # fmt: skip
    for _ in range(2):
        instants = instants_at(rng, *deformed(rng, vertices))
        check_element(s, "body", s.values, instants, rng, frames=())


@pytest.mark.parametrize(("model", "viscosity"), VARIANTS)
def test_forces_are_derivatives_of_energy_and_dissipation(model, viscosity):
    """An independent witness: nothing but det, log and traces, differenced."""
    rng = np.random.default_rng(2)
    vertices, tets = ball(2, 0.1)
    young, thick = rng.uniform(0.5, 2, (2, len(tets)))
    s = solid(vertices, tets, model=model, viscosity_model=viscosity, young_field=young,
              viscosity_field=thick)  # fmt: skip
    x, v = deformed(rng, vertices)
    mu, lam = lame(5e3 * young, 0.35)
    f = forces(s, s.values, x, v)
    for _ in range(5):
        d, eps = rng.normal(size=x.shape), 1e-7
        work = sum(sign * energy(vertices, tets, x + sign * eps * d, mu, lam, model)
                   for sign in (1, -1)) / (2 * eps)  # fmt: skip
        lost = sum(sign * dissipation(vertices, tets, x, v + sign * eps * d, 40 * thick, viscosity)
                   for sign in (1, -1)) / (2 * eps)  # fmt: skip
        assert (f * d).sum() == pytest.approx(work + lost, rel=1e-7, abs=1e-7 * abs(f).sum())


@pytest.mark.parametrize(("model", "viscosity"), VARIANTS)
def test_no_net_force_and_torque(model, viscosity):
    rng = np.random.default_rng(3)
    vertices, tets = ball(3, 0.1)
    s = solid(vertices, tets, model=model, viscosity_model=viscosity)
    for _ in range(3):
        x, v = deformed(rng, vertices, 0.2)
        f = forces(s, s.values, x, v)
        size = np.linalg.norm(f, axis=1).sum()
        assert np.linalg.norm(f.sum(0)) <= 1e-12 * size
        torque = np.linalg.norm(np.cross(x, f).sum(0)) / (np.abs(x).max() * size)
        assert torque <= 1e-12 if viscosity == "invariant" else torque > 1e-6
