"""Mocap bodies of MJCF files: they stand, move as prescribed, and hold what is tied to them."""

import numpy as np
import pytest

from diffsim_ros.errors import InputError

pytest.importorskip("mujoco")
from tests.robots.test_mjcf import rolled, scene

RIG = """
<mujoco><worldbody>
  <body name="target" mocap="true" pos="0 0 1"><site name="s"/></body>
  <body name="hand" pos="0 0 HEIGHT"><freejoint/><geom size="0.05" mass="1"/>
    <body name="finger" pos="0.1 0 0"><joint name="bend" axis="0 1 0"/>
      <geom type="capsule" size="0.01" fromto="0 0 0 0.1 0 0" mass="0.1"/></body></body>
</worldbody>
<equality><weld body1="target" body2="hand" relpose="0 0 0 1 0 0 0"/></equality>
<keyframe><key mpos="0.5 0 2"/></keyframe></mujoco>
"""


def rig(tmp_path, height=1.0, **robot):
    path = tmp_path / "rig.xml"
    path.write_text(RIG.replace("HEIGHT", str(height)))
    return scene(path, 0.002, **robot)


def at(model, run, name):
    return run.position[:, model.engine.nodes_of(name)[0]]


@pytest.mark.parametrize("height", [1.0, 0.993, 0.4])
def test_what_is_welded_to_a_mocap_body_stays_there(height, tmp_path):
    """A massless target; a hand that starts elsewhere is put there, its finger goes on swinging."""
    model = rig(tmp_path, height)
    run = rolled(model)
    assert np.abs(at(model, run, "hand") - [0, 0, 1]).max() < 1e-9
    assert at(model, run, "finger")[-1, 2] < 0.98
    kept = {link["name"]: link for link in model.description["links"]}["closure1"]
    assert kept["coordinates"] == "constrained" and kept["body_a"] == "target"


def test_a_keyframe_has_the_pose_of_a_mocap_body(tmp_path):
    model = rig(tmp_path, keyframe=0)
    assert np.abs(at(model, rolled(model), "hand") - [0.5, 0, 2]).max() < 1e-9


def test_a_mocap_body_moves_as_the_scene_says(tmp_path):
    """From where it begins, in a world that `pose` turns, and by its gradient's names."""
    points = [{"time": 0, "position": [0, 1, 1]}, {"time": 0.2, "position": [0, 1.1, 1]}]
    model = rig(tmp_path, pose={"rotation": [0, 0, 0.7]}, mocap={"target": {"waypoints": points}})
    run = rolled(model)
    assert np.abs(at(model, run, "hand")[0] - [0, 1, 1]).max() < 1e-9
    assert np.abs(at(model, run, "hand")[-1] - [0, 1.1, 1]).max() < 1e-9
    turned = [points[0] | {"rotation": [0.1, 0, 0]}, points[1] | {"rotation": [0.2, 0.3, 0.1]}]
    rolled(rig(tmp_path, mocap={"target": {"waypoints": turned}}))  # the hand turns from the start
    keys = {"positions": [[0, 1, 1], [0, 1.1, 1]], "interval": 0.2}
    again = rig(tmp_path, mocap={"target": {"keys": keys}})
    assert at(again, rolled(again), "hand")[-1] == pytest.approx([0, 1.1, 1], abs=1e-9)
    still = rig(tmp_path, mocap={"target": {"pose": {"position": [0, 0, 3]}}})
    assert at(still, rolled(still), "hand")[-1] == pytest.approx([0, 0, 3], abs=1e-9)


@pytest.mark.parametrize(
    ("mocap", "message"),
    [
        ({"targe": {"pose": {}}}, "mocap.targe: got 'targe'.*did you mean 'target'"),
        ({"target": {}}, "mocap.target: .*one of pose, keys and waypoints"),
        ({"target": {"waypoints": 3}}, "mocap.target.waypoints: got 3"),
        ({"target": {"keys": {"positions": 3}}}, "mocap.target.keys.positions: got 3"),
        ({"target": 3}, "mocap.target: got 3; accepted: a mapping"),
    ],
)
def test_bad_motions_are_refused(mocap, message, tmp_path):
    with pytest.raises(InputError, match=message):
        rig(tmp_path, mocap=mocap)


def test_a_file_in_which_nothing_moves_stands(tmp_path):
    path = tmp_path / "still.xml"
    path.write_text(
        '<mujoco><worldbody><geom type="plane" size="1 1 1"/><body name="post" pos="1 2 3">'
        '<geom size="0.1"/></body></worldbody></mujoco>'
    )
    model = scene(path, 0.002)
    assert at(model, rolled(model), "post")[-1] == pytest.approx([1, 2, 3])


def test_bodies_that_are_too_light_get_a_negligible_mass(tmp_path):
    """MuJoCo takes 1e-14 kg with an armature; the motion is that of the armature."""
    path = tmp_path / "light.xml"
    path.write_text(
        '<mujoco><worldbody><body name="feather"><joint name="j" armature="0.1" stiffness="1" '
        'springref="50"/><inertial pos="0 0 0" mass="1e-14" diaginertia="1e-14 1e-14 1e-14"/>'
        "</body></worldbody></mujoco>"
    )
    model = scene(path, 0.002)
    run = rolled(model)
    q = model.engine.joint_motion("j", model.engine.values, run)["coordinate"]
    rest = np.deg2rad(50)
    assert q[-1] == pytest.approx(rest * (1 - np.cos(np.sqrt(1 / 0.1) * 0.2)), rel=1e-3)
