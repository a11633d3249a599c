"""Torsion springs: battery, gradients, the torsion pendulum's frequency and decay."""

import math

import numpy as np
import pytest

from diffsim_ros import _engine
from diffsim_ros.errors import InputError
from diffsim_ros.scene import load_scene
from tests.native.batteries import check_element, random_instants
from tests.native.gradients import check_gradients
from tests.native.links import net_wrench, two_links


def test_battery_of_torsion():
    rng = np.random.default_rng(3)
    s = two_links()
    s.add_torsion("between", body_a="a", body_b="b", stiffness=3.0, damping=0.7)
    s.add_torsion("world", body_b="b", stiffness=2.0, damping=0.4)
    for _ in range(3):
        instants = random_instants(rng, 3, 2)
        for name in ("between", "world"):
            out = check_element(s, name, s.values, instants, rng, frames=[0, 1])
        out = s.evaluate_element("between", s.values, instants, 0.01)
        force, torque = net_wrench(out["r"], instants[0][0])
        assert max(np.abs(force).max(), np.abs(torque).max()) < 1e-12  # internal


@pytest.mark.parametrize("order", [1, 2])
def test_gradients_through_two_bodies_that_turn_against_each_other(order):
    s = two_links()
    s.add_torsion("t", body_a="a", body_b="b", stiffness=0.3, damping=0.002)
    for name in "ab":  # held off their centres, which therefore feel the torque
        s.add_joint(f"pin_{name}", kind="ball", body_b=name, position=[0.2, 0.1, 0], stiffness=4e3,
                    damping=5.0)  # fmt: skip
    p = {"a.angular_velocity.y": 4.0, "b.angular_velocity.x": -3.0}
    for name, value in p.items():
        s.set_value(name, value)
    names = ["t.stiffness", "t.damping", "a.angular_velocity.y", "b.inertia.zz"]
    check_gradients(s, 60, _engine.Options(step=0.004, order=order), names)


def pendulum(damping):
    """A wheel on a torsion spring about its axis, turned by nothing but its start rate."""
    inertia, k = 0.02, 0.5
    model = load_scene({
        "world": {"step": 5e-4, "duration": 2.0, "gravity": [0, 0, 0]},
        "bodies": {"wheel": {"mass": 1, "inertia": inertia, "angular_velocity": [0, 0, 0.01]}},
        "links": [{"name": "t", "type": "torsion", "body_b": "wheel", "stiffness": k,
                   "damping": damping}],
        "parameters": {"links.t.stiffness": {}, "links.t.damping": {"name": "c"}},
    })  # fmt: skip
    r = _engine.rollout(model.engine, model.engine.values, model.steps, model.options)
    assert r.ok
    return model, r, math.sqrt(k / inertia), damping / (2 * inertia)


@pytest.mark.parametrize("damping", [0.0, 0.05])
def test_a_torsion_pendulum_swings_as_the_formula_says(damping):
    model, r, omega, decay = pendulum(damping)
    swing = math.sqrt(omega**2 - decay**2)
    t = r.time
    expected = 0.01 * np.exp(-decay * t) * (np.cos(swing * t) - decay / swing * np.sin(swing * t))
    np.testing.assert_allclose(r.angular_velocity[:, 0, 2], expected, atol=3e-6)
    assert [q.name for q in model.parameters] == ["links.t.stiffness", "c"]
    if not damping:
        energy = model.engine.energies(r)["total"]
        assert np.ptp(energy) < 1e-3 * energy[0]


@pytest.mark.parametrize(
    ("link", "says"),
    [
        ({"body_a": "wheel"}, "another body than body_a"),
        ({"body_a": "whel"}, "did you mean 'wheel'"),
        ({"body_a": "dot"}, "a rigid body or kinematic body"),
        ({"stiffness": -1}, ">= 0"),
    ],
)
def test_wrong_torsion_springs_are_named(link, says):
    link = {"name": "t", "type": "torsion", "body_b": "wheel", "stiffness": 1, **link}
    bodies = {"wheel": {"mass": 1, "inertia": 1}, "dot": {"type": "particle", "mass": 1}}
    with pytest.raises(InputError, match=says):
        load_scene({"world": {"step": 1, "duration": 1}, "bodies": bodies, "links": [link]})
