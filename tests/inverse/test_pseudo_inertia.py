"""The log-Cholesky pseudo-inertia: always physical, exact in both directions, exact derivatives."""

import numpy as np
import pytest

from diffsim_ros import _engine
from diffsim_ros.errors import InputError
from diffsim_ros.inverse import Parameter, ParameterMap
from diffsim_ros.inverse.gradient_check import check_problem
from diffsim_ros.inverse.objectives import LinearFunctional
from diffsim_ros.inverse.pseudo_inertia import (
    InertiaGroup,
    physical,
    pseudo_inertia,
    ten,
    theta_of,
)
from diffsim_ros.inverse.simulation_problem import SimulationProblem
from diffsim_ros.inverse.trial import Trial


def cloud(rng):
    """Mass, centre and inertia of random point masses, and their sums about the origin (10,)."""
    m, x = rng.uniform(0.1, 1.0, 12), rng.normal(size=(12, 3)) * [0.1, 0.2, 0.05] + [0.1, 0, 0.2]
    mass, centre = m.sum(), m @ x / m.sum()

    def inertia(at):
        arm = x - at
        return np.einsum("n,nij->ij", m, np.einsum("ni,ni->n", arm, arm)[:, None, None] * np.eye(3)
                         - arm[:, :, None] * arm[:, None, :])  # fmt: skip

    about = inertia(np.zeros(3))
    return mass, centre, inertia(centre), np.array([mass, *(m @ x), *six(about)])


def six(matrix):
    """xx, yy, zz, xy, xz, yz of a matrix."""
    return matrix[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]


def differences(f, theta, eps=1e-6):
    """Central differences of f (m,) by theta: (m, 10)."""
    steps = eps * np.eye(10)
    return np.stack([(f(theta + d) - f(theta - d)) / (2 * eps) for d in steps], axis=1)


def test_theta_holds_mass_centre_and_inertia():
    rng = np.random.default_rng(0)
    for _ in range(5):
        mass, centre, inertia, about_origin = cloud(rng)
        theta = theta_of(mass, centre, inertia)
        values, _ = physical(theta)
        assert values == pytest.approx([mass, *centre, *six(inertia)], rel=1e-12, abs=1e-14)
        assert ten(pseudo_inertia(theta)[0]) == pytest.approx(about_origin, rel=1e-12, abs=1e-14)


def test_every_theta_is_physical():
    rng = np.random.default_rng(1)
    for theta in rng.normal(size=(200, 10)):
        values, _ = physical(theta)
        xx, yy, zz, xy, xz, yz = values[4:]
        moments = np.linalg.eigvalsh([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        assert values[0] > 0
        assert moments[0] > 0
        assert moments[2] < moments[0] + moments[1]


def test_derivatives_by_theta():
    rng = np.random.default_rng(2)
    group = InertiaGroup("load", "load", (0.1, -0.2, 0.05))
    for theta in 0.5 * rng.normal(size=(4, 10)):
        exact = group.jacobian(theta)
        assert exact == pytest.approx(differences(group.values, theta), rel=1e-7, abs=1e-8)
        exact = physical(theta)[1]
        wanted = differences(lambda t: physical(t)[0], theta)
        assert exact == pytest.approx(wanted, rel=1e-7, abs=1e-8)


def test_the_origin_moves_the_centre_alone():
    rng = np.random.default_rng(3)
    mass, centre, inertia, about_origin = cloud(rng)
    group = InertiaGroup("load", "load", tuple(centre))
    theta = theta_of(mass, np.zeros(3), inertia)
    assert group.values(theta) == pytest.approx(about_origin, rel=1e-12)


@pytest.mark.parametrize(
    ("mass", "inertia"), [(-1.0, [1, 1, 1]), (1.0, [1, 1, 2.1]), (1.0, [0, 1, 1])]
)
def test_what_is_not_physical_is_refused(mass, inertia):
    with pytest.raises(InputError, match="each below the sum of the others"):
        theta_of(mass, np.zeros(3), np.diag(np.array(inertia, float)))


def loaded():
    """A pendulum with a payload, and its group's parameters."""
    s = _engine.Scene()
    s.add_rigid_body("arm", mass=0.5, inertia=[0.01, 0.01, 0.005, 0, 0, 0], radius=0.2,
                     position=[0.2, 0, 0])  # fmt: skip
    s.add_joint("pin", kind="hinge", body_b="arm", position=[0, 0, 0], axis=[0, 1, 0.2],
                stiffness=1e4, damping=20.0)  # fmt: skip
    group = InertiaGroup("load", "load", (0.15, 0.0, 0.02))
    rng = np.random.default_rng(4)
    theta = theta_of(0.8, [0.02, -0.03, 0.05], np.diag([0.01, 0.012, 0.007]))
    mass, *moment = group.values(theta)[:4]
    s.add_payload("load", body="arm", mass=mass, first_moment=moment,
                  inertia=group.values(theta)[4:])  # fmt: skip
    theta = theta + 0.05 * rng.normal(size=10)
    parameters = [Parameter(n, "1", float(v)) for n, v in zip(group.names, theta, strict=True)]
    return s, parameters, group


def test_gradient_of_a_motion_by_theta():
    """Through the engine, by the protocol of docs/design.md."""
    s, parameters, group = loaded()
    parameters.append(Parameter("arm.mass", "kg", 0.5, 0.1, 2.0, "log"))
    trial = Trial("t", 60, (LinearFunctional("arm", position=(1.0, 0.5, 0.25)),))
    options = _engine.Options(step=0.005)
    map_ = ParameterMap(parameters, s, [group])
    report = check_problem(SimulationProblem(s, options, map_, [trial], threads=1))
    assert report.passed, report


def test_bad_groups_are_refused():
    s, parameters, group = loaded()
    with pytest.raises(InputError, match="all of its parameters"):
        ParameterMap(parameters[:9], s, [group])
    twice = [*parameters, Parameter("m", "kg", 1.0, sets={"load.mass": (1, 1)})]
    rule = "'load.mass'; accepted: a parameter that nothing else sets"
    with pytest.raises(InputError, match=rule):
        ParameterMap(twice, s, [group])
    with pytest.raises(InputError, match=r"did you mean 'load\.mass'"):
        ParameterMap(parameters, s, [InertiaGroup("load", "lode")])


def test_a_held_number_of_a_group_stays_held():
    s, parameters, group = loaded()
    held = [Parameter(p.name, "1", p.value, free=p.name != "load.s12") for p in parameters]
    map_ = ParameterMap(held, s, [group])
    assert "load.s12" not in map_.names
    whole = ParameterMap(parameters, s, [group])
    keep = [i for i, name in enumerate(whole.names) if name != "load.s12"]
    assert map_.jacobian(map_.start) == pytest.approx(whole.jacobian(whole.start)[:, keep])
    moved = map_.holding({"load.s12": 0.1})
    assert moved.groups == (group,)
