"""Equality constraints of MJCF files: loops that move as in MuJoCo, and what is refused."""

import warnings

import pytest

from diffsim_ros.errors import InputError
from diffsim_ros.scene import load_scene

pytest.importorskip("mujoco")
from tests.robots.test_mjcf import compared, fallen, rolled, scene

STIFF = 'solref="4e-4 1" solimp="0.9999 0.9999 0.001"'
PARALLEL = """
<mujoco>
  <compiler angle="radian"/>
  <option gravity="0 0 -9.81"/>
  <default><geom type="capsule" size="0.02" mass="0.5"/></default>
  <worldbody>
    <body name="crank" pos="0 0 1">
      <joint name="left" axis="0 1 0"/>
      <geom fromto="0 0 0 0.1 0 -0.2"/>
      <body name="bar" pos="0.1 0 -0.2">
        <joint name="middle" axis="0 1 0"/>
        <geom fromto="0 0 0 0.5 0 0.05"/>
        <body name="load" pos="0.2 0 -0.1"><joint name="swing" axis="1 0 0"/>
          <geom fromto="0 0 0 0 0 -0.15"/><site name="hook" pos="0 0 -0.15"/></body>
      </body>
    </body>
    <body name="rocker" pos="0.6 0 1.1">
      <joint name="right" axis="0 1 0" damping="0.01"/>
      <geom fromto="0 0 0 0 0 -0.25"/>
    </body>
  </worldbody>
  <equality>
    CONSTRAINT
  </equality>
</mujoco>
"""
CONNECT = f'<connect name="tie" body1="rocker" body2="bar" anchor="0 0 -0.25" {STIFF}/>'


def written(tmp_path, constraint):
    path = tmp_path / "parallel.xml"
    path.write_text(PARALLEL.replace("CONSTRAINT", constraint))
    return path


@pytest.mark.parametrize(
    "constraint",
    [
        CONNECT,
        f'<weld body1="rocker" body2="bar" anchor="0.5 0 0.05" {STIFF}/>',
        f'<connect body1="load" body2="world" anchor="0 0 -0.15" {STIFF}/>',
    ],
)
def test_loops_move_as_in_mujoco_with_stiff_constraints(constraint, tmp_path):
    """A planar four-bar linkage, one whose last hinge is held, a pendulum tied to the world."""
    path = written(tmp_path, constraint)
    theirs, data = fallen(path, 0.2, step=1e-4)
    model = scene(path, 0.001)
    run = rolled(model)
    distance, angle = compared(model, run, theirs, data)
    assert distance < 5e-4 and angle < 2e-3, (distance, angle)
    joint = [link["name"] for link in model.description["links"]][-1]
    motion = model.engine.joint_motion(joint, model.engine.values, run)
    assert motion["opening"].max() < 1e-12


def test_stiff_joints_of_a_file_close_their_loops_by_springs(tmp_path):
    model = scene(written(tmp_path, CONNECT), 0.001, duration=0.02, coordinates="maximal")
    assert "tie.stiffness" in {info.name for info in model.engine.parameters}


def test_open_starts_are_closed_or_refused_and_named(tmp_path):
    """An angle that the scene gives stays, other joints close the loop; rates that open it go."""
    path = written(tmp_path, CONNECT)
    with pytest.raises(InputError, match=r"tie open by 0\.\d+ m.*closed to 1e-06"):
        scene(path, angles={"left": 0.2}, close=False)
    with pytest.raises(InputError, match=r"rates that open what is held"):
        scene(path, rates={"left": 0.2}, close=False)
    with pytest.warns(UserWarning, match=r"closed at the start: 1 equality.*`close: false` ref"):
        load_scene(
            {"world": {"step": 0.001, "duration": 0.1},
             "robots": {"robot": {"mjcf": str(path), "angles": {"left": 0.2}}}}
        )  # fmt: skip
    model = scene(path, angles={"left": 0.2}, rates={"left": 0.3})
    links = {link["name"]: link for link in model.description["links"]}
    assert links["left"]["coordinate"] == 0.2 and abs(links["right"]["coordinate"]) > 0.1
    motion = model.engine.joint_motion("tie", model.engine.values, rolled(model))
    assert motion["opening"].max() < 1e-10


def test_what_no_start_closes_or_is_held_twice_is_named(tmp_path):
    far = '<weld name="far" body1="bar" relpose="9 0 0 1 0 0 0"/>'
    path = written(tmp_path, CONNECT + far + CONNECT.replace('"tie"', '"again"'))
    with pytest.warns(UserWarning) as caught:
        load_scene({"world": {"step": 0.001, "duration": 0.1},
                    "robots": {"robot": {"mjcf": str(path)}}})  # fmt: skip
    text = str(caught[0].message)
    assert "equality constraint far (no start near closes it" in text
    assert "equality constraint again (all it holds is held already)" in text


def test_joints_of_higher_order_are_named(tmp_path):
    tie = '<joint joint1="left" joint2="right" polycoef="0 1 0.5 0 0"/>'
    path = written(tmp_path, f"{CONNECT}{tie}")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        load_scene({"world": {"step": 0.001, "duration": 0.1},
                    "robots": {"robot": {"mjcf": str(path)}}})  # fmt: skip
    text = " ".join(str(w.message) for w in caught)
    assert "; 1 equality constraint;" in text or ": 1 equality constraint;" in text
    assert "solref and solimp of 1 equality constraint" in text
