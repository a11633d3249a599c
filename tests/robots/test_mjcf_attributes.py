"""Every flag and attribute of an MJCF that moves something: as in MuJoCo, or named."""

import re
import warnings

import numpy as np
import pytest

from diffsim_ros import _engine
from diffsim_ros.errors import InputError
from diffsim_ros.robots.mjcf_fields import fields_of, named_fields, use_of
from diffsim_ros.robots.mjcf_flags import flags_of
from diffsim_ros.scene import load_scene

mujoco = pytest.importorskip("mujoco")
SECONDS, STEP = 0.04, 1e-3
NEAR = 2e-4
"""[m] by which bodies may be off at the end: the step's error, and MuJoCo's soft constraints."""
STIFF = 'solref="4e-4 1" solimp="0.9999 0.9999 0.001"'
MODEL = f"""
<mujoco>
  <compiler angle="radian"/>
  <option gravity="0 0 -9.81"/>
  <default><geom contype="0" conaffinity="0" mass="0.4" rgba="0 0 0 0"/></default>
  <worldbody>
    <body name="stand" mocap="true" pos="0 -1 1"><geom size="0.02"/></body>
    <body name="held" pos="0 -1 0.9"><freejoint name="loose"/>
      <geom size="0.05" pos="0.1 0 0"/></body>
    <body name="flies" pos="0 2 1"><joint name="fly" type="free"/><geom size="0.05"/>
      <geom size="0.03" pos="0.2 0.1 0"/></body>
    <body name="arm" pos="0 0 1">
      <joint name="up" axis="0 1 0.2" damping="0.02" stiffness="2" springref="0.4" armature="0.01"/>
      <geom type="capsule" size="0.02" fromto="0 0 0 0.3 0 0"/>
      <body name="fore" pos="0.3 0 0">
        <joint name="elbow" axis="0 1 0" frictionloss="0.02"/>
        <geom type="capsule" size="0.02" fromto="0 0 0 0.2 0 0.1"/>
      </body>
    </body>
    <body name="past" pos="0 1 1"><joint name="end" axis="0 1 0" limited="false" range="-1 0.1"/>
      <geom type="capsule" size="0.02" fromto="0 0 0 0.2 0 0"/></body>
    <body name="ball" pos="0 3 1"><joint name="round" type="ball" damping="0.01"/>
      <geom type="capsule" size="0.02" fromto="0 0 0 0.2 0 0"/></body>
    <body name="left" pos="1 0 1"><joint name="l" type="slide" axis="1 0 0"/>
      <geom size="0.05"/></body>
    <body name="right" pos="1 1 1"><joint name="r" type="slide" axis="1 0 0"/>
      <geom size="0.05"/></body>
  </worldbody>
  <equality>
    <connect name="hang" body1="stand" body2="held" anchor="0 0 0" {STIFF}/>
    <joint name="pair" joint1="r" joint2="l" polycoef="0 -2 0 0 0" {STIFF}/>
  </equality>
  <tendon><fixed name="split"><joint joint="l" coef="0.5"/><joint joint="r" coef="-0.25"/></fixed>
  </tendon>
  <actuator>
    <position name="reach" joint="up" kp="20" kv="0.5" ctrlrange="-1 1"/>
    <motor name="pull" joint="elbow" gear="3" group="1"/>
    <position name="grip" tendon="split" kp="30"/>
  </actuator>
  <keyframe><key name="k" ctrl="1.4 0.1 0.2" qpos="0 -1 0.9 1 0 0 0  0 2 1 1 0 0 0  0.1 -0.2 0.15
    1 0 0 0  0.02 -0.04" qvel="0 0 0 0 0 0  0.4 0 0.1 0.3 1 2  0.5 1.5 0.2  0.4 0.5 0.3  0.3 -0.6"/>
  </keyframe>
</mujoco>
"""


def phrases(text):
    """What a warning names."""
    said = text.partition("not used of the file: ")[2]
    return {one.strip() for one in said.split(";")}


def ours(path):
    """Centres of mass (3,) of the bodies at the end by name, and the phrases of the warning."""
    world = {"step": STEP, "duration": SECONDS}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = load_scene(
            {"world": world, "robots": {"robot": {"mjcf": str(path), "keyframe": "k"}}}
        )
    engine = model.engine
    run = _engine.rollout(engine, engine.values, model.steps, model.options)
    assert run.ok, run.message
    moving = [name for name, info in model.bodies.items() if info.kind != "kinematic"]
    found = {name: run.position[-1, engine.nodes_of(name)[0]] for name in moving}
    return found, set().union(*(phrases(str(w.message)) for w in caught))


def theirs(path):
    """Centres of mass by name after MuJoCo's motion."""
    model = mujoco.MjModel.from_xml_path(str(path))
    model.opt.timestep, model.opt.integrator = 2e-4, mujoco.mjtIntegrator.mjINT_RK4
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    for _ in range(round(SECONDS / model.opt.timestep)):
        mujoco.mj_step(model, data)
    mujoco.mj_kinematics(model, data)
    mujoco.mj_comPos(model, data)
    names = [re.sub("[^A-Za-z0-9_-]", "_", model.body(b).name) for b in range(model.nbody)]
    return {name: data.xipos[b].copy() for b, name in enumerate(names)}


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """Phrases of the warning of the model as it is."""
    path = tmp_path_factory.mktemp("plain") / "model.xml"
    path.write_text(MODEL)
    found, said = ours(path)
    assert off(found, theirs(path)) < NEAR
    return said


def off(found, expected):
    """Largest distance [m] of a body's centre of mass from MuJoCo's."""
    both = found.keys() & expected.keys()  # not the light bodies of a tendon
    assert len(both) == 9
    return max(float(np.abs(found[name] - expected[name]).max()) for name in both)


def check(path, plain):
    """That a file moves as in MuJoCo, or its warning has a phrase that the plain model's lacks."""
    found, said = ours(path)
    error = off(found, theirs(path))
    assert error < NEAR or said - plain, f"off by {error:.3g} m, and nothing says so"
    return said - plain


def flags(enum, word):
    """Flags of <option> that an enumeration of MuJoCo has."""
    names = [name.split("_")[1].lower() for name in enum.__members__ if "_" in name]
    return [f'<flag {name}="{word}"/>' for name in names]


FLAGS = flags(mujoco.mjtDisableBit, "disable") + flags(mujoco.mjtEnableBit, "enable")
FLAGS.remove('<flag ipc="enable"/>')  # of an integrator of its own


@pytest.mark.parametrize("flag", FLAGS)
def test_flags_act_or_are_named(flag, plain, tmp_path):
    path = tmp_path / "model.xml"
    path.write_text(MODEL.replace('gravity="0 0 -9.81"/>', f'gravity="0 0 -9.81">{flag}</option>'))
    check(path, plain)


ATTRIBUTES = [
    ('name="fly" type="free"', 'name="fly" type="free" damping="0.5"', ""),
    ('name="fly" type="free"', 'name="fly" type="free" armature="0.2"', ""),
    ('name="fly" type="free"', 'name="fly" type="free" frictionloss="0.5"', "frictionloss of free"),
    ('name="fly" type="free"', 'name="fly" type="free" stiffness="20"', "stiffness of free joints"),
    ('name="flies"', 'name="flies" gravcomp="0.7"', ""),
    ('name="fore"', 'name="fore" gravcomp="1"', ""),
    ('name="up"', 'name="up" actuatorfrcrange="-0.1 0.1"', ""),
    ('damping="0.02"', 'damping="0.02 0.5"', "polynomial damping of joints"),
    ('stiffness="2"', 'stiffness="2 8"', "polynomial stiffness of joints"),
    ('damping="0.02"', 'damping="-0.5"', "negative damping of 1 coordinate"),
    ('stiffness="2"', 'stiffness="-9"', "negative stiffness of 1 coordinate"),
    ('name="elbow"', 'name="elbow" ref="0.3"', ""),
    ('limited="false"', 'limited="true" margin="0.05"', "margin of limits"),
    ('limited="false"', 'limited="true" solreflimit="0.02 0"', "solref of the limits of 1 joint"),
    ('limited="false"', 'limited="true" solreflimit="0 0"', "solref of the limits of 1 joint"),
    ('armature="0.01"', 'armature="-0.001"', "negative armature of 1 coordinate"),
    ('<connect name="hang" body1="stand" body2="held" anchor="0 0 0"', '<weld name="hang" '
     'body1="stand" body2="held" anchor="0 0 0.1" torquescale="0"', ""),
    ('<connect name="hang" body1="stand" body2="held" anchor="0 0 0"', '<weld name="hang" '
     'body1="stand" body2="held"', ""),
    ('name="round" type="ball"', 'name="round" type="ball" armature="0.05"', "armature of ball"),
    ('name="round" type="ball"', 'name="round" type="ball" stiffness="3"', "stiffness of ball"),
    ('name="round" type="ball"', 'name="round" type="ball" frictionloss="1"', "frictionloss of b"),
    ('name="round" type="ball"', 'name="round" type="ball" range="0 0.1"', "range of ball joints"),
    ('"0 -2 0 0 0"', '"0.01 -1.5 0 0 0"', "closed at the start"),
    ('"0 -2 0 0 0"', '"0 -2 3 0 0"', "equality constraint"),
    ('<joint name="pair" joint1="r" joint2="l" polycoef="0 -2 0 0 0"',
     '<tendon name="pair" tendon1="split"', "closed at the start"),
    ('<fixed name="split"', '<fixed name="kept" range="0 1" stiffness="9"><joint joint="l" '
     'coef="2"/><joint joint="r" coef="1"/></fixed><fixed name="split"', ""),
    ('joint1="r" joint2="l" polycoef="0 -2 0 0 0"', 'joint1="r" polycoef="-0.04 0 0 0 0"',
     "closed at the start"),
    ('name="hang"', 'name="hang" active="false"', "1 equality constraint that is inactive"),
    ('name="pair"', 'name="pair" active="false"', "1 equality constraint that is inactive"),
    ('kp="20" kv="0.5"', 'kp="20" kv="0.5" gear="2"', ""),
    ('kp="20" kv="0.5"', 'kp="20" kv="0.5" forcerange="-0.1 0.1"', ""),
    ('kp="20" kv="0.5"', 'kp="20" kv="0.5" timeconst="0.1"', "the filter of 1 actuator"),
    ('kp="20" kv="0.5"', 'kp="20" kv="0.5" delay="0.02" nsample="20"', "1 actuator with a delay"),
    ('kp="20" kv="0.5"', 'kp="20" kv="0.5" armature="0.1"', "armature of 1 actuator"),
    ('kp="20" kv="0.5"', 'kp="20" kv="0.5" damping="2"', "damping of 1 actuator"),
    ('joint="elbow" gear="3"', 'joint="up"', ""),
    ('<motor name="pull" joint="elbow"', '<velocity name="pull" joint="elbow" kv="0.4"', ""),
    ('<motor name="pull"', '<general gaintype="affine" gainprm="1 2 .3" biastype="affine" '
     'biasprm="0.3 -2 -0.1" name="pull"', "a gain that changes"),
    ('<motor name="pull"', '<general gainprm="4" biastype="affine" biasprm="0.3 -2 -0.1" '
     'name="pull"', ""),
    ('<motor name="pull"', '<general biastype="affine" biasprm="0 5 0" name="pull"', "a negative"),
    ('<motor name="pull"', '<intvelocity kp="5" name="pull"', "the integrator"),
    ('<motor name="pull" joint="elbow"', '<motor name="pull" joint="round"', "on a ball or free"),
    ('<motor name="pull" joint="elbow" gear="3" group="1"', '<adhesion body="fore" ctrlrange="0 1"',
     "1 actuator on a body"),
    ('name="split"', 'name="split" stiffness="50" damping="2" springlength="0.1"', ""),
    ('<fixed name="split"', '<fixed name="split" stiffness="50" springlength="-0.1 0"', ""),
    ('<fixed name="split"', '<fixed name="split" frictionloss="0.5"', ""),
    ('<fixed name="split"', '<fixed name="split" armature="0.2"', ""),
    ('<fixed name="split"', '<fixed name="split" range="-1 1"', ""),
    ('<fixed name="split"', '<fixed name="split" actuatorfrcrange="-1 1"', "1 tendon"),
    ('<joint joint="r" coef="-0.25"/>', '<joint joint="end" coef="0.2"/>', ""),
    ('<fixed name="split"', '<fixed name="of"><joint joint="up" coef="0.3"/><joint joint="elbow" '
     'coef="-0.2"/></fixed><fixed name="split" ', ""),
    ('gravity="0 0 -9.81"', 'gravity="0 0 -9.81" density="900"', "density of the medium"),
    ('gravity="0 0 -9.81"', 'gravity="0 0 -9.81" viscosity="9"', "viscosity of the medium"),
    ('gravity="0 0 -9.81"', 'gravity="0 0 -2"', ""),
    ('gravity="0 0 -9.81"', 'gravity="0 0 -9.81" wind="1 2 3"', ""),
    ('gravity="0 0 -9.81"', 'gravity="0 0 -9.81" actuatorgroupdisable="1"', ""),
    ('<geom size="0.02"/>', '<geom size="0.02" surfacevel="1 0 0 0 0 0"/>', "surface velocity of"),
    ('name="arm"', 'name="an/arm .1"', "the name body 'an/arm .1' (here an_arm__1)"),
    ('name="arm"', 'name="flies/"', "the name body 'flies/' (here flies_)"),
    ('name="stand" mocap="true" pos="0 -1 1"', 'name="stand" mocap="true" pos="0 -1 1.01"', ""),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "named"), ATTRIBUTES, ids=lambda text: str(text)[-40:])
def test_attributes_act_or_are_named(old, new, named, plain, tmp_path):
    assert old in MODEL
    path = tmp_path / "model.xml"
    path.write_text(MODEL.replace(old, new, 1))
    said = check(path, plain)
    assert any(named in one for one in said) if named else not said


def test_accelerations_at_the_start_are_those_of_mujoco(tmp_path):
    """Of everything that is smooth, to 1e-8 of the largest: springs, servos, tendons, followers."""
    path = tmp_path / "model.xml"
    path.write_text(MODEL.replace('frictionloss="0.02"', "").replace("split", "s/p l"))
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    mujoco.mj_forward(model, data)
    own = {name: data.qacc[model.jnt_dofadr[model.joint(name).id]] for name in ("up", "elbow", "l")}
    rows = []
    for halvings in range(3):  # the mean over a step, extrapolated to none
        step = 1e-4 / 2**halvings
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            ours = load_scene(
                {"world": {"step": step, "duration": step, "tolerance": 1e-12},
                 "robots": {"robot": {"mjcf": str(path), "keyframe": "k"}}}
            )  # fmt: skip
        engine = ours.engine
        run = _engine.rollout(engine, engine.values, 1, ours.options)
        rates = [engine.joint_motion(name, engine.values, run)["rate"] for name in own]
        rows.append([(rate[1] - rate[0]) / step for rate in rates])
    a, b, c = np.array(rows)
    found = (a - 6 * b + 8 * c) / 3
    expected = np.array(list(own.values()))
    size = np.abs(expected).max()
    assert found[:2] == pytest.approx(expected[:2], abs=1e-8 * size)
    assert found[2] == pytest.approx(expected[2], rel=1e-3)  # MuJoCo's constraint is soft


def test_the_velocity_stepper_names_what_it_lacks(tmp_path):
    path = tmp_path / "model.xml"
    fly = MODEL.replace('name="fly" type="free"', 'name="fly" type="free" damping="1" armature="1"')
    path.write_text(fly.replace("<connect", '<connect active="false"'))
    world = {"step": STEP, "duration": STEP, "stepper": "velocity"}
    with pytest.warns(UserWarning) as caught:
        load_scene({"world": world, "robots": {"robot": {"mjcf": str(path)}}})
    for word in ("damping", "armature"):
        assert f"{word} of free joints (by the velocity stepper)" in str(caught[0].message)


def test_tendons_of_tiny_bodies_name_what_their_light_bodies_add(tmp_path):
    path = tmp_path / "tiny.xml"
    body = '<body pos="{} 0 0"><joint name="{}"/><geom size="1e-3" pos="0 .01 0"/></body>'
    path.write_text(
        f"<mujoco><worldbody>{body.format(0, 'a')}{body.format(1, 'b')}</worldbody><tendon>"
        '<fixed name="t" stiffness="1e-6"><joint joint="a" coef="1"/><joint joint="b" coef="1"/>'
        "</fixed></tendon></mujoco>"
    )
    with pytest.warns(UserWarning, match=r"light bodies of t add 0.005 of the inertia of its joi"):
        load_scene(
            {"world": {"step": STEP, "duration": STEP}, "robots": {"r": {"mjcf": str(path)}}}
        )


AWKWARD = [
    ("ctrl=\"1.4", "ctrl=\"nan"),
    ("qpos=\"0 -1", "qpos=\"nan -1"),
    ("qpos=\"0 -1 0.9 1 0 0 0", "qpos=\"0 -1 0.9 0 0 0 0"),
    ("</equality>", "<joint joint1=\"l\" joint2=\"r\"/><connect body1=\"fore\" anchor=\"0 0 0\"/>"
     "<weld body1=\"stand\"/><joint joint1=\"up\"/></equality>"),
    ("</tendon>", "<fixed name=\"none\" stiffness=\"1\"><joint joint=\"l\" coef=\"0\"/></fixed>"
     "</tendon>"),
    ("<actuator>", "<actuator><motor joint=\"up\" gear=\"0\"/><position joint=\"l\" kp=\"0\"/>"
     "<motor joint=\"fly\" gear=\"1 0 0 0 0 0\"/>"),
    ("<worldbody>", "<worldbody><body name=\"-\"><joint name=\"up_drive\"/><geom size=\"1\"/>"
     "</body><body name=\"hang\"><joint name=\"\u00fc/\"/><geom size=\"1\"/></body>"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new"), AWKWARD, ids=lambda text: text[-30:])
@pytest.mark.parametrize("stepper", ["implicit", "velocity"])
def test_awkward_files_load_or_are_refused_in_one_line(old, new, stepper, tmp_path):
    """None raises anything else: contradictions, zeros, numbers that are none, names that clash."""
    path = tmp_path / "model.xml"
    path.write_text(MODEL.replace(old, new, 1), encoding="utf-8")
    world = {"step": STEP, "duration": STEP, "stepper": stepper}
    robot = {"mjcf": str(path), "keyframe": 0 if "qpos" in new or "ctrl" in new else None}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        try:
            load_scene({"world": world, "robots": {"robot": robot}})
        except (InputError, _engine.InvalidInput) as error:
            assert "\n" not in str(error)
            assert "finite" in str(error) or "stepper" in str(error)


def test_flags_that_are_unknown_are_named():
    model = mujoco.MjModel.from_xml_string("<mujoco/>")
    model.opt.enableflags |= int(mujoco.mjtEnableBit.mjENBL_IPC) | 1 << 20
    model.opt.disableflags |= 1 << 25
    assert flags_of(model).left == ('ipc="enable"', 'bit 25="disable"', 'bit 20="enable"')


def test_every_field_of_the_installed_mujoco_has_one_use():
    model = mujoco.MjModel.from_xml_string("<mujoco/>")
    assert {name: use for name in fields_of(model) if len(use := use_of(name)) != 1} == {}


def test_a_field_that_is_unknown_is_named_where_it_is_not_zero():
    class Later:
        """A model of a MuJoCo that is newer."""

        def __init__(self, model):
            self.__dict__.update({n: getattr(model, n) for n in fields_of(model) if "." not in n})
            self.jnt_glue, self.jnt_calm = np.ones(3), np.zeros(3)

    said = named_fields(Later(mujoco.MjModel.from_xml_string("<mujoco/>")))
    assert said == ["jnt_glue, which is unknown here"]
