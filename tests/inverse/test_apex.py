"""The height of a bounce: its partials, and the damping that is found from it."""

from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("diffsim_ros._engine", reason="the engine is not built")

from diffsim_ros import _engine
from diffsim_ros.errors import InputError
from diffsim_ros.inverse import (
    Apex,
    Parameter,
    ParameterMap,
    SimulationProblem,
    Trial,
    check_problem,
    levenberg_marquardt,
)
from diffsim_ros.inverse.marker_track import RigidPoints, SoftPoints
from diffsim_ros.inverse.objectives import BodySlot
from diffsim_ros.rotation import quat_exp, quat_multiply

DROP, STEP, EVERY = 0.5, 1 / 2000, 20


def dropped():
    """A ball of 50 g that falls 0.5 m onto a floor and springs back."""
    scene = _engine.Scene()
    scene.add_particle("ball", mass=0.05, position=[0, 0, DROP])
    scene.add_points("skin", bodies=["ball"], local=np.zeros((1, 3)))
    scene.add_contact("floor", points="skin", sdf=_engine.Plane([0, 0, 1], 0), k_n=1e3, k_t=0,
                      c_f=0, c_n=0.1)  # fmt: skip
    options = _engine.Options(step=STEP, record_every=EVERY, order=2)
    return scene, options, 1600  # 0.8 s: the fall takes 0.32 s


def problem(height):
    scene, options, steps = dropped()
    interval = STEP * EVERY
    node = SoftPoints(np.zeros(1, int), np.ones((1, 1)), np.zeros((1, 3)))
    apex = Apex("ball", [round(0.35 / interval), steps // EVERY], height, interval, point=node)
    damping = Parameter("floor.c_n", "s/m", 0.1, 0.0, 1.0)
    return SimulationProblem(scene, options, ParameterMap([damping], scene),
                             [Trial("drop", steps, (apex,))])  # fmt: skip


def test_the_highest_point_is_found_between_the_rows():
    t = 0.1 * np.arange(9)
    height, rate = 2.0 * t - 2.7 * t**2 + 0.1 * t**3, 2.0 - 5.4 * t + 0.3 * t**2
    run = SimpleNamespace(
        position=np.stack([0 * t, 0 * t, height], axis=1)[:, None],
        velocity=np.stack([0 * t, 0 * t, rate], axis=1)[:, None],
        orientation=np.tile([0.0, 0, 0, 1], (9, 1, 1)), angular_velocity=np.zeros((9, 1, 3)),
    )  # fmt: skip
    top = (5.4 - np.sqrt(5.4**2 - 4 * 0.3 * 2.0)) / 0.6
    slot = BodySlot(0, 0, 6)
    apex = Apex("ball", [0, 8], 0.1, 0.1, 0.01)
    assert apex.time(run, slot) == pytest.approx(top, abs=1e-12)
    exact = 2.0 * top - 2.7 * top**2 + 0.1 * top**3
    assert apex.term(run, slot, {}).residual[0, 0] == pytest.approx((exact - 0.1) / 0.01)
    assert Apex("ball", [0, 2], 0.1, 0.1).time(run, slot) == pytest.approx(0.2)  # still rising
    assert Apex("ball", [6, 8], 0.1, 0.1).time(run, slot) == pytest.approx(0.6)  # falling
    assert apex.until(7) is None and apex.until(8) is apex


def test_partials_by_the_state():
    generator = np.random.default_rng(2)
    rise = 0.5 - 4 * (0.1 * np.arange(9) - 0.4) ** 2
    run = SimpleNamespace(
        position=0.1 * generator.normal(size=(9, 1, 3)) + rise[:, None, None] * [0, 0, 1],
        velocity=generator.normal(size=(9, 1, 3)), orientation=generator.normal(size=(9, 1, 4)),
        angular_velocity=generator.normal(size=(9, 1, 3)),
    )  # fmt: skip
    run.orientation /= np.linalg.norm(run.orientation, axis=-1, keepdims=True)
    slot, eps = BodySlot(0, 0, 6), 1e-6
    apex = Apex("ball", [0, 8], 0.1, 0.1, 0.01, [0.2, 0, 1], RigidPoints(np.array([[0.1, 0, 0.2]])))
    term, found = apex.term(run, slot, {}), np.zeros((9, 12))
    assert 0 < apex.time(run, slot) % 0.1 < 0.1
    for frame in range(9):
        for dof in range(12):
            values = []
            for sign in (1, -1):
                d = np.zeros(12)
                d[dof] = sign * eps
                new = SimpleNamespace(**{k: v.copy() for k, v in vars(run).items()})
                new.position[frame, 0] += d[:3]
                q = new.orientation[frame, 0]
                new.orientation[frame, 0] = quat_multiply(quat_exp(d[3:6]), q)
                new.velocity[frame, 0] += d[6:9]
                new.angular_velocity[frame, 0] += d[9:]
                values.append(apex.term(new, slot, {}).residual[0, 0])
            found[frame, dof] = (values[0] - values[1]) / (2 * eps)
    exact = np.zeros((9, 12))
    for s, frame in enumerate(term.frames[0]):
        exact[frame] = np.concatenate([term.jx[0, s, 0], term.jv[0, s, 0]])
    np.testing.assert_allclose(found, exact, atol=1e-6 * np.abs(exact).max())


def test_the_gradient_by_damping_is_that_of_differences():
    report = check_problem(problem(0.3), directions=2, seed=1)
    assert report.passed, report


def test_damping_from_the_height_of_a_bounce():
    """Restitution e = sqrt(height/drop), and a (1 + e) = ln((1 + a)/(1 - e a)), a = c_n v_in."""
    height = 0.3
    solution = levenberg_marquardt(problem(height))
    e, v_in = np.sqrt(height / DROP), np.sqrt(2 * 9.81 * DROP)
    a = solution.parameters["floor.c_n"] * v_in
    assert a * (1 + e) == pytest.approx(np.log((1 + a) / (1 - e * a)), rel=0.01)


def test_what_cannot_be_is_refused():
    for change, key in (({"sigma": -1.0}, "sigma"), ({"frames": [1]}, "frames")):
        given = {"body": "ball", "frames": [0, 8], "height": 0.1, "interval": 0.1, **change}
        with pytest.raises(InputError, match=key):
            Apex(**given)
