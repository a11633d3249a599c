"""`world: {stepper: velocity}` in scene files."""

from pathlib import Path

import numpy as np
import pytest
import yaml

from diffsim_ros import _engine
from diffsim_ros.errors import InputError
from diffsim_ros.inverse.engine_options import options_like
from diffsim_ros.scene import load_scene
from diffsim_ros.scene.contacts import UNUSED_STIFFNESS

QUADRUPED = Path(__file__).parents[2] / "config" / "scenes" / "quadruped.yaml"


def quadruped(**world):
    scene = yaml.safe_load(QUADRUPED.read_text())
    solo = scene["robots"]["solo"]
    solo["urdf"] = str((QUADRUPED.parent / solo["urdf"]).resolve())
    scene["world"] |= world
    return scene


def test_a_quadruped_lands_as_with_the_implicit_stepper():
    """Hard feet: its base stands as high, but for what springs of 2e4 N/m give way."""
    ends = []
    for stepper in ("implicit", "velocity"):
        model = load_scene(quadruped(stepper=stepper))
        assert model.options.stepper == stepper
        assert options_like(model.options, step=1e-4).stepper == stepper
        r = _engine.rollout(model.engine, model.engine.values, model.steps, model.options)
        assert r.ok, r.message
        ends.append(r.position[-1, 0])
        weight = 9.81 * sum(
            value for one, value in zip(model.engine.parameters, model.engine.values, strict=True)
            if one.name.endswith(".mass")
        )  # fmt: skip
        assert r.contact_force[-1].sum(0)[2] == pytest.approx(weight, rel=0.05)
    assert ends[1] == pytest.approx(ends[0], abs=0.01)


def test_friction_cone_and_restitution_reach_the_engine():
    scene = quadruped(stepper="velocity", friction_cone="pyramid")
    for contact in scene["contact"]:
        contact["restitution"] = 0.4
    model = load_scene(scene)
    assert model.options.friction_cone == "pyramid"
    names = [one.name for one in model.engine.parameters]
    values = model.engine.values
    found = [values[i] for i, name in enumerate(names) if name.endswith(".restitution")]
    np.testing.assert_array_equal(found, 0.4)


def test_hard_contacts_need_no_stiffness():
    scene = quadruped(stepper="velocity")
    for contact in scene["contact"]:
        del contact["k_n"], contact["k_t"]
    load_scene(scene)
    scene["world"]["stepper"] = "implicit"
    by_load = [contact.k_n for contact in load_scene(scene).parts.contacts]
    assert min(by_load) > UNUSED_STIFFNESS


@pytest.mark.parametrize(
    ("world", "place"),
    [
        ({"stepper": "explicit"}, "world.stepper"),
        ({"friction_cone": "pyramid"}, "world.friction_cone"),
        ({"stepper": "velocity", "scheme": "generalized_alpha"}, "world.scheme"),
    ],
)
def test_what_does_not_go_together_is_refused(world, place):
    with pytest.raises(InputError, match=place):
        load_scene(quadruped(**world))


def test_what_the_engine_refuses_has_its_place_in_the_file():
    scene = quadruped(stepper="velocity")
    scene["contact"][0]["restitution"] = 1.5
    with pytest.raises(InputError, match=r"scene: contact\[0\]: parameter '\S+restitution'"):
        load_scene(scene)
