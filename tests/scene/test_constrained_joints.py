"""Constrained joints in scene files: a loop that stays closed, parameters, what is refused."""

import copy

import pytest
import yaml

from diffsim_ros import _engine
from diffsim_ros.errors import InputError
from diffsim_ros.scene import load_scene
from tests.scene.edits import replaced

SCENE = yaml.safe_load(
    """
world: {step: 0.001, duration: 0.1}
bodies:
  left: {shape: {box: {size: [0.02, 0.02, 0.3]}}, mass: 0.5, pose: {position: [0, 0, 0.85]}}
  right: {shape: {box: {size: [0.02, 0.02, 0.3]}}, mass: 0.5, pose: {position: [0.4, 0, 0.85]}}
  bar: {shape: {box: {size: [0.4, 0.02, 0.02]}}, mass: 1, pose: {position: [0.2, 0, 0.7]}}
links:
  - {name: a, type: joint, kind: hinge, body_b: left, position: [0, 0, 1], axis: [0, 1, 0],
     coordinates: reduced}
  - {name: b, type: joint, kind: hinge, body_b: right, position: [0.4, 0, 1], axis: [0, 1, 0],
     coordinates: reduced}
  - {name: c, type: joint, kind: hinge, body_a: left, body_b: bar, position: [0, 0, 0.7],
     axis: [0, 1, 0], coordinates: reduced}
  - {name: d, type: joint, kind: hinge, body_a: right, body_b: bar, position: [0.4, 0, 0.7],
     axis: [0, 1, 0], coordinates: constrained}
  - {name: push, type: motor, joint: a, kind: torque, keys: [0.5]}
"""
)


def test_a_parallelogram_keeps_its_bar_level_and_its_loop_closed():
    model = load_scene(SCENE)
    engine = model.engine
    r = _engine.rollout(engine, engine.values, model.steps, model.options)
    assert r.ok, r.message
    motion = engine.joint_motion("d", engine.values, r)
    assert motion["opening"].max() < 1e-13 and motion["tilt"].max() < 1e-13
    assert abs(r.position[-1, 2, 0] - 0.2) > 1e-3  # it moves,
    assert abs(r.orientation[:, 2, :3]).max() < 1e-12  # and does not turn
    names = {info.name for info in engine.parameters}
    assert {"d.position.x", "d.axis_rotation.y", "d.friction_damping"} <= names
    assert "d.stiffness" not in names
    assert {"d.force", "d.torque"} <= {o.name for o in engine.outputs}


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"bar.position.z": 0.71}, r"links\[2\]"),  # the tree's own joint speaks first
        ({"right.rotation.y": 0.1}, r"links\[1\]"),
        ({"d.anchor_a.x": 0.01}, r"links\[3\]: got .constrained hinge .*is open .*0\.01 m apart"),
        ({"left.angular_velocity.y": 1.0, "left.velocity.x": -0.15},
         r"left no such velocity|bar no such velocity"),
    ],
)  # fmt: skip
def test_a_loop_that_starts_open_is_refused(value, message):
    with pytest.raises(InputError, match=message):
        load_scene({**SCENE, "values": value})


def test_stiffness_and_robots_and_the_velocity_stepper_are_refused():
    with pytest.raises(InputError, match=r"links\[3\]\.stiffness.*constrained joint holds exactly"):
        load_scene(replaced(SCENE, "links/3/stiffness", 1e4))
    fast = copy.deepcopy(SCENE)
    fast["world"]["stepper"] = "velocity"
    with pytest.raises((InputError, ValueError), match=r"joint 'd'.*constraint rows"):
        model = load_scene(fast)
        _engine.rollout(model.engine, model.engine.values, 1, model.options)
