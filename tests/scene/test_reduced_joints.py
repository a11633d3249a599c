"""Joints in reduced coordinates in scene files: where bodies may start, and what is refused."""

import numpy as np
import pytest
import yaml

import diffsim_ros as ds
from diffsim_ros import _engine
from diffsim_ros.errors import InputError
from diffsim_ros.scene import load_scene
from diffsim_ros.statics import equilibrium
from tests.robots.test_urdf import UR5
from tests.scene.edits import replaced

SCENE = yaml.safe_load(
    """
world: {step: 0.001, duration: 0.05}
bodies:
  base: {shape: {box: {size: [0.1, 0.1, 0.1]}}, mass: 1, pose: {position: [0, 0, 1]}}
  arm:
    shape: {box: {size: [0.1, 0.1, 0.1]}}
    mass: 2
    pose: {position: [0.5, 0, 1], rotation: [0, 0, 0.4]}
links:
  - {name: fixed, type: joint, kind: weld, body_b: base, position: [0, 0, 1],
     coordinates: reduced}
  - {name: elbow, type: joint, kind: hinge, body_a: base, body_b: arm, position: [0.2, 0, 1],
     axis: [0, 1, 0], coordinates: reduced}
"""
)


def with_values(scene=SCENE, **values):
    return load_scene({**scene, "values": {f"arm.{k}": v for k, v in values.items()}})


def test_a_scene_of_reduced_joints_keeps_its_base_and_turns_its_arm():
    model = load_scene(SCENE)
    r = _engine.rollout(model.engine, model.engine.values, 50, model.options)
    assert np.array_equal(r.position[-1, 0], r.position[0, 0])
    assert np.linalg.norm(r.position[:, 1] - [0.2, 0, 1], axis=1) == pytest.approx(0.3, abs=1e-12)
    assert r.position[-1, 1, 2] < 0.995


@pytest.mark.parametrize(
    ("body", "value", "word"),
    [
        ("arm", {"position.y": 0.01}, "position"),
        ("base", {"rotation.x": 0.02}, "orientation"),
        ("arm", {"velocity.y": 0.1}, "velocity"),
        ("arm", {"velocity.x": -0.1}, "velocity"),
        ("base", {"angular_velocity.z": 0.1}, "angular_velocity"),
    ],
)
def test_a_body_that_starts_where_its_joint_does_not_let_it_is_refused(body, value, word):
    """Along a hinge's axis, along its arm, turned in a weld; the message says what and which."""
    with pytest.raises(InputError) as caught:
        load_scene({**SCENE, "values": {f"{body}.{k}": v for k, v in value.items()}})
    link, joint = {"base": (0, "weld 'fixed'"), "arm": (1, "hinge 'elbow'")}[body]
    text = str(caught.value)
    assert f"links[{link}]" in text and f"{joint} leaves {body} no such {word} at the start" in text
    assert f"give {body} the {word} that the joint allows it" in text


def test_values_of_a_rollout_that_a_joint_does_not_let_happen_are_warned_of():
    scene = ds.load_scene(SCENE)
    still = scene.rollout(duration=0.01)
    lifted = scene.rollout({"arm.position.y": 0.01}, duration=0.01)
    assert np.array_equal(lifted.position, still.position)
    (text,) = lifted.warnings
    assert text.startswith("hinge 'elbow' leaves arm no such position at the start: it starts 0.01")
    allowed = {"arm.angular_velocity.y": 2.0, "arm.velocity.z": -0.6}
    assert not still.warnings and not scene.rollout(allowed, duration=0.01).warnings


def test_a_body_may_start_wherever_its_joint_lets_it():
    """Turned about the hinge, and moving with it."""
    with_values(**{"angular_velocity.y": 2.0, "velocity.z": -0.6})
    slider = replaced(SCENE, "links/1/kind", "slider")
    with_values(slider, **{"position.y": 0.2, "velocity.y": 0.3})


@pytest.mark.parametrize("key", ["stiffness", "damping", "rotational_stiffness"])
def test_stiffness_of_what_holds_exactly_is_refused(key):
    with pytest.raises(InputError, match=rf"links\[1\]\.{key}.*reduced coordinates hold exactly"):
        load_scene(replaced(SCENE, f"links/1/{key}", 1e4))


@pytest.mark.parametrize("key", ["ratio", "shift"])
def test_numbers_of_mimic_without_it_are_refused(key):
    with pytest.raises(
        InputError, match=rf"links\[1\]\.{key}: got 3\.0; accepted: none without mimic"
    ):
        load_scene(replaced(SCENE, f"links/1/{key}", 3))


def test_a_loop_of_reduced_joints_and_a_second_carrier_are_refused():
    back = {"name": "back", "type": "joint", "kind": "ball", "position": [0.2, 0, 1],
            "coordinates": "reduced"}  # fmt: skip
    second = {**SCENE, "links": [*SCENE["links"], {**back, "body_b": "arm"}]}
    with pytest.raises(Exception, match="'arm', which another carries"):
        load_scene(second)
    loop = {**back, "body_a": "arm", "body_b": "base"}
    with pytest.raises(Exception, match="must form trees, got a loop"):
        load_scene({**SCENE, "links": [SCENE["links"][1], loop]})


def test_an_arm_on_a_hinge_rests_below_it_and_its_weld_bears_both_bodies():
    model = load_scene(SCENE)
    found = equilibrium(model.engine)
    assert found.position == pytest.approx(np.array([[0, 0, 1], [0.2, 0, 0.7]]), abs=1e-12)
    force = found.outputs(["fixed.force", "elbow.force"])
    assert force["fixed.force"] == pytest.approx([0, 0, 3 * 9.81], abs=1e-9)
    assert force["elbow.force"] == pytest.approx([0, 0, 2 * 9.81], abs=1e-9)


def test_a_robot_in_reduced_coordinates_takes_no_joint_stiffness():
    pytest.importorskip("urchin")
    robot = {"urdf": str(UR5), "joint_stiffness": 1e8, "coordinates": "reduced"}
    with pytest.raises(InputError, match=r"joint_stiffness.*reduced coordinates hold exactly"):
        load_scene({"world": {"step": 0.001, "duration": 0.1}, "robots": {"arm": robot}})
