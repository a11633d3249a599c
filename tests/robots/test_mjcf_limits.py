"""Limits of an MJCF's joints beside MuJoCo: how deep a load rests, how a start beyond returns."""

import math
import warnings

import numpy as np
import pytest

from diffsim_ros.robots.soft_constraint import limit_of
from diffsim_ros.simulation.scene import load_scene

mujoco = pytest.importorskip("mujoco")
LAWS = [
    "",
    'solimplimit="0 .99 .01"',
    'solreflimit="0.05 1" solimplimit="0.8 0.9 0.02"',
    'solreflimit="-900 -40"',
]
"""MuJoCo's defaults, dm_control's, and others."""
STEPPERS = ["implicit", "velocity"]


def pendulum(folder, law, gravity="0 0 -9.81", key=""):
    """A rod along x on a hinge about y, which falls towards positive angles."""
    path = folder / "pendulum.xml"
    path.write_text(
        f"""<mujoco><option gravity="{gravity}" timestep="0.0005"/><worldbody><body name="rod">
        <joint name="hinge" axis="0 1 0" range="-10 17" limited="true" damping="0.05" {law}/>
        <geom type="capsule" fromto="0 0 0 0.5 0 0" size="0.03" mass="2"
              contype="0" conaffinity="0"/>
        </body></worldbody><keyframe><key name="start" {key}/></keyframe></mujoco>"""
    )
    return path


def ours(path, stepper, duration, **keys):
    """Coordinate (n,) of the hinge, 2 ms apart."""
    model = mujoco.MjModel.from_xml_path(str(path))
    world = {"step": 0.002, "duration": duration, "stepper": stepper,
             "gravity": model.opt.gravity.tolist()}  # fmt: skip
    robot = {"mjcf": str(path), "keyframe": "start"} | keys
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a geom that nothing touches; a start beyond
        loaded = load_scene({"world": world, "robots": {"arm": robot}})
    at = loaded.rollout()["rod"].position
    return np.arctan2(-at[:, 2], at[:, 0])


def theirs(path, duration):
    """As `ours`, at a quarter of its step."""
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    q = [data.qpos[0]]
    for _ in range(round(duration / 0.002)):
        mujoco.mj_step(model, data, nstep=4)
        q.append(data.qpos[0])
    return np.array(q)


@pytest.mark.parametrize("stepper", STEPPERS)
@pytest.mark.parametrize("law", LAWS)
def test_a_load_rests_on_a_limit_where_mujocos_does(tmp_path, law, stepper):
    path = pendulum(tmp_path, law, key='qpos="0.29"')
    end, other = ours(path, stepper, 1.2)[-1], theirs(path, 1.2)[-1]
    limit = math.radians(17)
    assert other > limit
    assert end == pytest.approx(other, rel=0.02)
    assert end - limit == pytest.approx(other - limit, rel=0.2)


@pytest.mark.parametrize("stepper", STEPPERS)
@pytest.mark.parametrize("beyond", [0.4, 0.05])
@pytest.mark.parametrize("law", LAWS)
def test_a_start_beyond_a_limit_returns_as_soon_as_in_mujoco(tmp_path, law, beyond, stepper):
    """To a tenth of where it started, whatever the inertia."""
    limit = math.radians(17)
    path = pendulum(tmp_path, law, "0 0 0", f'qpos="{limit + beyond}"')
    times = []
    for q in (ours(path, stepper, 0.4), theirs(path, 0.4)):
        inside = np.flatnonzero(q - limit < 0.1 * beyond)
        assert inside.size
        times.append(0.002 * inside[0])
    assert times[0] == pytest.approx(times[1], rel=0.3)


@pytest.mark.parametrize("stepper", STEPPERS)
@pytest.mark.parametrize("law", LAWS)
def test_a_joint_that_swings_into_its_limit_follows_mujocos(tmp_path, law, stepper):
    """It stops there, within a tenth of a radian of MuJoCo's at all times."""
    path = pendulum(tmp_path, law, key='qpos="-0.1" qvel="1"')
    own, other = ours(path, stepper, 0.8), theirs(path, 0.8)
    assert np.abs(own - other).max() < 0.1
    assert own[-1] == pytest.approx(other[-1], rel=0.02)


def test_the_stiffness_of_a_limit_holds_its_load():
    """That of MuJoCo's law where the impedance is the same at all depths."""
    d, time, load, mobility = 0.9, 0.02, 30.0, 5.0
    stiffness, damping, depth = limit_of((time, 1), (d, d, 0.001, 0.5, 2), 0, load, mobility)
    assert stiffness == pytest.approx(1 / (time**2 * (1 - d) * mobility), rel=1e-9)
    assert damping * depth == pytest.approx(math.e * time, rel=1e-6)
