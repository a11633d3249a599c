"""Robots of MJCF files: that they stand and move as in MuJoCo, and what is refused and named."""

import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

from diffsim_ros import _engine
from diffsim_ros.errors import InputError
from diffsim_ros.robots.mjcf import load_mjcf
from diffsim_ros.rotation import quat_angle, quat_matrix
from diffsim_ros.scene import load_scene
from diffsim_ros.scene.robot_parts import robot_of

mujoco = pytest.importorskip("mujoco")
ANT = Path(__file__).resolve().parents[2] / "data" / "robots" / "ant" / "ant.xml"
EVERY = """
<mujoco>
  <compiler angle="radian"/>
  <option gravity="0 0 -9.81"/>
  <worldbody>
    <body name="base" pos="0.1 0.2 1" euler="0.3 -0.2 0.5">
      <freejoint/>
      <inertial pos="0.02 -0.01 0.03" mass="2" fullinertia="0.03 0.02 0.025 0.002 -0.001 0.003"/>
      <body name="fixed" pos="0 0.1 0.1" euler="0.2 0 0">
        <geom type="box" size="0.05 0.04 0.03" mass="0.4"/>
        <body name="arm" pos="0.1 0 0" euler="0 0.4 0">
          <joint name="shoulder" pos="0.02 0 0" axis="0 1 0.2" ref="0.3" stiffness="3"
                 springref="-0.2" damping="0.05" armature="0.01"/>
          <geom type="capsule" fromto="0 0 0 0.3 0.05 0" size="0.03" mass="0.5"/>
          <body name="hand" pos="0.3 0.05 0">
            <joint name="wrist_z" axis="0 0 1" damping="0.01" armature="0.002"/>
            <joint name="wrist_x" pos="0.01 0.02 0" axis="1 0 0.1" armature="0.001"/>
            <joint name="reach" type="slide" axis="1 1 0" stiffness="40" damping="0.3" ref="0.01"/>
            <geom type="ellipsoid" size="0.05 0.03 0.02" mass="0.3"/>
          </body>
        </body>
      </body>
      <body name="tail" pos="-0.1 0 0" euler="0 0 1">
        <joint name="root" type="ball" pos="0.01 0 0" damping="0.02"/>
        <geom type="capsule" fromto="0 0 0 -0.2 0 -0.1" size="0.02" mass="0.2"/>
      </body>
    </body>
    <body name="cart" pos="0 -1 1">
      <joint name="rail" type="slide" axis="1 0 0"/>
      <geom type="box" size="0.1 0.1 0.05" mass="1"/>
      <body name="pole" pos="0 0 0.05">
        <joint name="pole" axis="0 1 0"/>
        <geom type="capsule" fromto="0 0 0 0.1 0 0.5" size="0.02" mass="0.2"/>
      </body>
    </body>
  </worldbody>
  <actuator>
    <motor joint="shoulder" gear="2"/>
    <position joint="reach" kp="50" kv="2" gear="2"/>
  </actuator>
  <keyframe>
    <key name="swung" qpos="0.1 0.2 1 0.9 0.1 -0.3 0.2  0.5 -0.3 0.4 0.02  0.8 0.2 0.3 -0.1
         0.1 0.4"
         qvel="0.3 -0.1 0.5 0.6 -0.4 0.9  1.1 -0.7 0.5 0.2  0.8 -0.6 0.4  0.5 1.2"
         ctrl="0.3 0.05"/>
  </keyframe>
</mujoco>
"""


def scene(path, step=0.001, duration=0.2, more=None, **robot):
    """A scene of one robot of an MJCF, what it ignores unsaid."""
    world = {"step": step, "duration": duration}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        whole = {"world": world, "robots": {"robot": {"mjcf": str(path)} | robot}}
        return load_scene(whole | (more or {}), base=Path("."))


@pytest.fixture
def every(tmp_path):
    """File of a model with every kind of joint."""
    path = tmp_path / "every.xml"
    path.write_text(EVERY)
    return path


def rolled(model):
    """Rollout of a scene, which must come to its end."""
    run = _engine.rollout(model.engine, model.engine.values, model.steps, model.options)
    assert run.ok, run.message
    return run


def compared(model, run, theirs, data):
    """Largest distance [m] and angle [rad] of bodies at the end from MuJoCo's of the same names."""
    distance = angle = 0.0
    for name in model.description["bodies"]:
        index = mujoco.mj_name2id(theirs, mujoco.mjtObj.mjOBJ_BODY, name)
        if index < 0:
            continue
        node = model.engine.nodes_of(name)[0]
        turn = data.xquat[index][[1, 2, 3, 0]]
        angle = max(angle, quat_angle(run.orientation[-1, node], turn))
        at = data.xpos[index] + data.xmat[index].reshape(3, 3) @ centre_of(theirs, index)
        distance = max(distance, np.abs(run.position[-1, node] - at).max())
    return distance, angle


def centre_of(model, body):
    """Centre of mass (3,) of a body and of what is fixed to it, its frame, by MuJoCo's sums."""
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    of = np.flatnonzero(model.body_weldid == body)
    mass = model.body_mass[of]
    centre = mass @ data.xipos[of] / mass.sum()
    return data.xmat[body].reshape(3, 3).T @ (centre - data.xpos[body])


def fallen(path, seconds, key=None, step=1e-3, start=None, rates=None):
    """MuJoCo's model and data after a motion by its Runge-Kutta without contact."""
    model = mujoco.MjModel.from_xml_path(str(path))
    model.opt.integrator, model.opt.timestep = mujoco.mjtIntegrator.mjINT_RK4, step
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    data = mujoco.MjData(model)
    if key is not None:
        mujoco.mj_resetDataKeyframe(model, data, key)
    for name, q in (start or {}).items():
        data.joint(name).qpos = q
    for name, rate in (rates or {}).items():
        data.joint(name).qvel = rate
    for _ in range(round(seconds / step)):
        mujoco.mj_step(model, data)
    mujoco.mj_kinematics(model, data)
    return model, data


def test_every_joint_moves_as_in_mujoco(every):
    """Free, hinge, slide, ball, three on one body; springs, damping, rotors, motors: order 2."""
    theirs, data = fallen(every, 0.2, key=0, step=2e-4)
    errors = []
    for step in (0.004, 0.002):
        model = scene(every, step, keyframe="swung")
        run = rolled(model)
        errors.append(compared(model, run, theirs, data))
        for joint in ("shoulder", "wrist_z", "wrist_x", "reach", "rail"):
            got = model.engine.joint_motion(joint, model.engine.values, run)["coordinate"][-1]
            assert got == pytest.approx(data.joint(joint).qpos[0], abs=1e-3)
    assert max(errors[1]) < 2e-4
    assert errors[0][0] / errors[1][0] == pytest.approx(4, rel=0.1)
    assert errors[0][1] / errors[1][1] == pytest.approx(4, rel=0.1)


def test_a_pose_turns_the_whole_file(every):
    """Bodies, joints and velocities at the start, in a world that is turned about z."""
    plain, turned = scene(every, keyframe="swung"), scene(
        every, keyframe="swung", pose={"position": [1, 2, 3], "rotation": [0, 0, 0.7]}
    )  # fmt: skip
    c, s = np.cos(0.7), np.sin(0.7)
    turn = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])
    one, other = rolled(plain), rolled(turned)
    assert other.position[-1] == pytest.approx(one.position[-1] @ turn.T + [1, 2, 3], abs=1e-7)
    assert other.velocity[-1] == pytest.approx(one.velocity[-1] @ turn.T, abs=1e-6)


def test_a_start_and_a_drive_of_the_scene_hold(every):
    """Angles, rates and the base's velocity instead of the keyframe's; motors on all joints."""
    model = scene(
        every, angles={"wrist_x": 0.2, "rail": "5 cm"}, rates={"pole_joint": 0.5}, damping=0.1,
        velocity=[0, 0.1, 0], angular_velocity=[0.2, 0, 0], prefix="a_", friction={"rail": 0.3},
        drive={"kind": "torque", "keys": 2, "interval": 0.1},
        payload={"link": "hand", "mass": 0.1, "inertia": [1e-4, 1e-4, 1e-4]},
    )  # fmt: skip
    links = {link["name"]: link for link in model.description["links"]}
    assert links["a_wrist_x"]["coordinate"] == 0.2 and links["a_rail"]["coordinate"] == 0.05
    assert links["a_shoulder"]["coordinate"] == 0.3  # its ref
    assert links["a_rail"]["coulomb_friction"] == 0.3 and links["a_rail"]["slip_rate"] == 0.01
    assert links["a_pole_joint"]["friction_damping"] == 0.1
    assert links["a_shoulder_spring"]["keys"] == [-0.2] and links["a_root"]["kind"] == "ball"
    assert links["a_reach_drive"]["kind"] == "force" and links["a_shoulder_drive"]["keys"] == [0, 0]
    assert links["a_payload"]["body"] == "a_hand"
    run = rolled(model)
    base = model.engine.nodes_of("a_base")[0]
    assert run.angular_velocity[0, base] == pytest.approx([0.2, 0, 0], abs=1e-12)
    again = load_scene(model.description, base=Path("."))
    assert again.engine.values.tolist() == model.engine.values.tolist()


LEGS = {"ankle_1": 1.0, "ankle_2": -1.0, "ankle_3": -1.0, "ankle_4": 1.0}


def test_the_ant_falls_as_in_mujoco():
    """gymnasium's file as it is, its legs and its torso in motion."""
    rates = {"hip_1": 1.0, "hip_2": -0.5, "ankle_3": 0.8, "ankle_4": -0.6}
    spin = {"root": [0.3, 0.2, 0.5, 0.4, -0.7, 0.5]}
    theirs, data = fallen(ANT, 0.2, start=LEGS, rates=rates | spin)
    start = {"angles": LEGS, "rates": rates, "velocity": [0.3, 0.2, 0.5]}
    errors = []
    for step in (0.004, 0.002):
        model = scene(ANT, step, angular_velocity=[0.4, -0.7, 0.5], **start)
        errors.append(compared(model, rolled(model), theirs, data))
    assert errors[1][0] < 1e-4 and errors[1][1] < 1e-4
    assert errors[0][0] / errors[1][0] == pytest.approx(4, rel=0.3)


def test_pictures_have_the_geoms_of_the_file():
    """Each body's, where MuJoCo has them; light bodies and parts of a body are not drawn."""
    model, theirs = scene(ANT, angles=LEGS), mujoco.MjModel.from_xml_path(str(ANT))
    data = mujoco.MjData(theirs)
    for joint, angle in LEGS.items():
        data.qpos[theirs.joint(joint).qposadr[0]] = angle
    mujoco.mj_forward(theirs, data)
    run = _engine.rollout(model.engine, model.engine.values, 1, model.options)
    seen, names = 0, load_mjcf(ANT).body_names
    for name, info in model.bodies.items():
        row = model.engine.nodes_of(name)[0]
        turn = quat_matrix(run.orientation[0, row])
        drawn = info.vertices @ turn.T + run.position[0, row]
        of = theirs.body_weldid[theirs.geom_bodyid]
        geoms = [g for g in range(theirs.ngeom) if names[of[g]] == name]
        if not len(info.vertices):
            assert not geoms, name
            continue
        low = np.min([_ends(theirs, data, g).min(axis=0) for g in geoms], axis=0)
        high = np.max([_ends(theirs, data, g).max(axis=0) for g in geoms], axis=0)
        assert np.abs(drawn.min(axis=0) - low).max() < 5e-3, name
        assert np.abs(drawn.max(axis=0) - high).max() < 5e-3, name
        seen += 1
    assert seen == 9


def test_what_only_joints_need_is_not_drawn(every):
    bodies = scene(every).bodies
    light = [name for name in bodies if name.endswith("_link")]
    assert light and {bodies[name].kind for name in light} == {"frame"}


def _ends(theirs, data, geom):
    """Corners (2, 3) of the box about a sphere or capsule in the world."""
    radius, half = theirs.geom_size[geom][:2]
    half *= theirs.geom_type[geom] == mujoco.mjtGeom.mjGEOM_CAPSULE
    along = np.abs(half * data.geom_xmat[geom].reshape(3, 3)[:, 2]) + radius
    return data.geom_xpos[geom] + np.array([-along, along])


def test_the_ant_stands():
    """Dropped from 0.2 m onto the floor of its file, its legs held by drives."""
    with pytest.warns(UserWarning, match="not used of the file: 1 camera; 1 light; 1 custom num"):
        raw = load_scene(
            {"world": {"step": 0.002, "duration": 0.1}, "robots": {"ant": {"mjcf": str(ANT)}}},
            base=Path("."),
        )
    bodies = list(raw.description["bodies"])
    assert bodies[:4] == ["torso", "torso_spheres2", "aux_1", "ankle_1_body"]
    law = {"against": "floor", "k_n": 5000, "k_t": 500, "c_n": 0.5, "c_f": 0.8}
    model = scene(
        ANT, 0.004, 2.0, {"contact": [{"points": name} | law for name in bodies]}, angles=LEGS,
        pose={"position": [0, 0, -0.2]}, drive={"stiffness": 30, "damping": 5},
    )  # fmt: skip
    run = rolled(model)
    torso = model.engine.nodes_of("torso")[0]
    assert 0.3 < run.position[-1, torso, 2] < 0.4
    assert np.abs(run.velocity[-1]).max() < 0.05
    mass = model.engine.masses(model.engine.values)
    theirs = mujoco.MjModel.from_xml_path(str(ANT))
    assert mass.sum() == pytest.approx(theirs.body_mass.sum(), rel=1e-12)


def test_the_scene_may_say_how_limits_press():
    own = scene(ANT).description["links"]
    given = {"stiffness": 300, "damping": {"ankle_1": 0.2}}
    for link, other in zip(own, scene(ANT, limits=given).description["links"], strict=True):
        if "limits" in link:
            expected = link["limits"] | {"stiffness": 300}
            if link["name"] == "ankle_1":  # a damping that is given means what a link's does
                expected["damping"] = 0.2
                del expected["damping_depth"]
            assert other["limits"] == expected
        else:
            assert other == link


def test_what_is_not_used_is_named(tmp_path):
    """Everything at once; unnamed and odd names; spheres of several radii on one body."""
    path = tmp_path / "odd.xml"
    path.write_text(
        """<mujoco><option gravity="0 0 -1" viscosity="0.1"/><worldbody>
        <geom type="box" size="1 1 1" pos="9 0 0"/>
        <geom type="plane" size="1 1 1" pos="0 0 -1" euler="0 90 0"/>
        <body pos="0 0 1"><joint name="a/b" range="-180 180" frictionloss="0.2"/>
          <geom size="0.1"/><geom size="0.1" pos="0.3 0 0"/>
          <geom type="capsule" size="0.05 0.2" pos="0 0.5 0" mass="0.3"/>
          <geom type="cylinder" size="0.05 0.2" contype="0" conaffinity="0"/>
          <geom type="cylinder" size="0.05 0.2"/><site/>
          <body pos="0 0 -1"><joint type="ball" armature="0.1" range="0 40"/>
            <geom type="box" size="0.1 0.1 0.1" gravcomp="0"/></body></body></worldbody>
        <tendon><spatial name="t"><site site="s"/><site site="r"/></spatial></tendon>
        <actuator><muscle joint="a/b" lengthrange="0 1"/></actuator>
        <sensor><jointpos joint="a/b"/></sensor></mujoco>""".replace(
            "<site/>", '<site name="s"/><site name="r" pos="1 0 0"/>'
        ).replace(' gravcomp="0"', "")
    )
    with pytest.warns(UserWarning) as said:
        model = load_scene(
            {"world": {"step": 0.001, "duration": 0.01}, "robots": {"r": {"mjcf": "odd.xml"}}},
            base=tmp_path,
        )
    text = str(said[0].message)
    for part in (
        "robots.r.mjcf: ", "not used of the file", "1 tendon", "1 sensor", "2 sites",
        "1 geom that nothing touches",
        "contact of 1 box of the world", "contact of 1 cylinder of bodies", "contact of 1 box of",
        "armature of ball joints", "range of ball joints", "gravity [0.0, 0.0, -1.0]", "viscosity",
        "1 actuator with dynamics of a muscle", "joint 'a/b' (here a_b)",
    ):  # fmt: skip
        assert part in text
    bodies, links = model.description["bodies"], model.description["links"]
    assert list(bodies) == ["a_b_body", "a_b_body_spheres2", "body2"]
    first, second = bodies["a_b_body"], bodies["a_b_body_spheres2"]
    assert first["mass"] == second["mass"] and first["inertia"] == second["inertia"]
    assert [len(b["contact_spheres"]["points"]["positions"]) for b in (first, second)] == [2, 9]
    assert [(one["name"], one["kind"]) for one in links] == [
        ("a_b", "hinge"), ("a_b_body_spheres2_weld", "weld"), ("body2_joint", "ball"),
    ]  # fmt: skip
    assert links[0]["coulomb_friction"] == 0.2
    assert links[0]["limits"]["upper"] == pytest.approx(np.pi)  # a whole turn has its ends, too
    plane = model.description["sdfs"]["plane1"]["plane"]
    assert plane["normal"] == pytest.approx([1, 0, 0]) and abs(plane["offset"]) < 1e-12
    rolled(model)


def test_spheres_of_a_scene_stand_instead_of_the_geoms():
    own = {"torso": {"radius": 0.08, "positions": [[0, 0, 0.1]]}}
    model = scene(ANT, duration=0.1, contact_spheres=own)
    assert "torso_spheres2" not in model.description["bodies"]
    points = model.description["bodies"]["torso"]["contact_spheres"]["points"]
    assert points["radius"] == 0.08 and len(points["positions"]) == 1 + 4 * 5


BAD = [
    ({"mjcf": "nowhere.xml"}, "nowhere.xml: got 'no such file'.*did you mean"),
    ({"mjcf": "broken.xml"}, "broken.xml.*well-formed XML"),
    ({"mjcf": "arm.xml"}, "<mujoco> at the top; give a URDF as `urdf`"),
    ({"mjcf": "wrong.xml"}, "wrong.xml: got .*unrecognized element.*; accepted: an MJCF that Mu"),
    ({"mjcf": "still.xml"}, "robot.mjcf: .*still.xml'; accepted: an MJCF with a body, or a plane"),
    ({"keyframe": 1}, "keyframe: got 1; accepted: a keyframe of the MJCF: swung, or a number from"),
    ({"keyframe": True}, "keyframe: got True; accepted: the name of a keyframe, or its number"),
    ({"mjcf": "one.xml", "keyframe": 0}, "keyframe: got 0; .*none: the MJCF has no keyframes"),
    ({"mjcf": None, "urdf": "a.urdf", "close": False}, "close: got False; .*of an MJCF alone"),
    ({"urdf": "a.urdf"}, "robots.robot: .*either urdf or mjcf.*exactly one"),
    ({"mjcf": None}, "robots.robot: .*either urdf or mjcf"),
    ({"base": "free"}, "robots.robot.base: got 'free'; accepted: none: free joints of the MJCF"),
    ({"keyframe": "swing"}, "keyframe: got 'swing'; .*did you mean 'swung'"),
    ({"limits": {"stiffness": {"sholder": 1}}}, "limits.stiffness: got 'sholder'"),
    ({"mjcf": None, "urdf": "a.urdf", "keyframe": "a"}, "keyframe: got 'a'; .*of an MJCF alone"),
    ({"limits": "no"}, "limits: got 'no'; accepted: none, or stiffness and damping"),
    ({"angles": {"sholder": 1}}, "angles: got 'sholder'; .*did you mean 'shoulder'"),
    ({"coordinates": "maximal"}, "coordinates.*wrist_z and wrist_x and reach move one body"),
    ({"contact_spheres": {"hnd": {"radius": 1}}}, "contact_spheres.hnd.*did you mean 'hand'"),
    ({"payload": {"link": "foo", "mass": 1, "inertia": 1}}, "payload.link: got 'foo'"),
]


@pytest.mark.parametrize(("change", "message"), BAD)
def test_bad_files_and_options_are_refused(change, message, every):
    top = "<mujoco><worldbody>{}</worldbody></mujoco>"
    two = '<body><joint name="{}"/><geom size="1"/></body>'
    for name, text in {
        "broken": "<mujoco>", "arm": "<robot/>", "wrong": top.format("<bdy/>"),
        "still": top.format('<geom size="1"/>'),
        "one": top.format(two.format("a/b")),
    }.items():  # fmt: skip
        (every.parent / f"{name}.xml").write_text(text)
    if isinstance(change.get("mjcf"), str):
        change = change | {"mjcf": str(every.parent / change["mjcf"])}
    with pytest.raises(InputError, match=message):
        scene(**({"path": every} | change))


def test_two_robots_need_prefixes_and_one_free_base(tmp_path):
    world = {"step": 0.001, "duration": 0.01}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        robots = {"one": {"mjcf": str(ANT)}, "two": {"mjcf": str(ANT)}}
        with pytest.raises(InputError, match=r"robots\.two\.prefix: got 'torso'"):
            load_scene({"world": world, "robots": robots}, base=tmp_path)
        sdfs = {"floor": {"plane": {}}}
        one = {"one": {"mjcf": str(ANT)}}
        with pytest.raises(InputError, match=r"one\.prefix: got 'floor'.*no surface has"):
            load_scene({"world": world, "robots": one, "sdfs": sdfs}, base=tmp_path)
        door = tmp_path / "door.xml"
        door.write_text(
            '<mujoco><worldbody><body><joint/><geom size="1"/></body></worldbody></mujoco>'
        )
        with pytest.raises(InputError, match=r"velocity: .*0 bodies of the MJCF have a free joint"):
            scene(door, velocity=[0, 0, 1])


def test_estimations_of_joint_logs_need_a_urdf():
    with pytest.raises(InputError, match=r"robots: .*a robot with `urdf`"):
        robot_of({"mjcf": str(ANT)}, "scene.yaml")


def test_without_mujoco_it_says_what_to_install(every, monkeypatch):
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(InputError, match=r"mujoco is not installed.*pip install mujoco"):
        scene(every)


FALLING = """<mujoco><option gravity="{}">{}</option><worldbody><body name="a{}">
<freejoint/><geom size="0.1" mass="1"/></body></worldbody></mujoco>"""


@pytest.mark.parametrize(
    ("gravity", "flag", "own", "acts", "named"),
    [
        ("0 0 -9.81", '<flag gravity="disable"/>', None, [0, 0, 0], "[0.0, 0.0, 0.0] (flag"),
        ("0 1 -1.6", "", None, [0, 1, -1.6], "has gravity [0.0, 1.0, -1.6] of the file"),
        ("0 0 -9.81", "", None, [0, 0, -9.81], ""),
        ("0 0 -1.6", "", [0, 0, -9.81], [0, 0, -9.81], "gravity [0.0, 0.0, -1.6] (that of world"),
        ("0 0 -1.6", "", [0, 0, -1.6], [0, 0, -1.6], ""),
    ],
)  # fmt: skip
def test_gravity_is_the_file_s_where_the_scene_writes_none(
    gravity, flag, own, acts, named, tmp_path
):
    """With the timestep of the file, which is the scene's to say."""
    (tmp_path / "a.xml").write_text(FALLING.format(f'{gravity}" timestep="0.02', flag, ""))
    world = {"step": 0.001, "duration": 0.1} | ({"gravity": own} if own else {})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = load_scene({"world": world, "robots": {"r": {"mjcf": "a.xml"}}}, base=tmp_path)
    said = "".join(str(one.message) for one in caught)
    assert named in said if named else "gravity [" not in said
    assert model.description["world"]["gravity"] == acts
    assert model.description["world"]["step"] == 0.001
    position = rolled(model).position[:, 0]
    moved = position[-1] - position[0]
    assert moved == pytest.approx(np.array(acts) * 0.1**2 / 2, rel=0.05, abs=1e-12)


def test_files_of_several_gravities_need_one_of_the_scene(tmp_path):
    for i, size in enumerate((-1.6, -3.7, -1.6)):
        (tmp_path / f"{i}.xml").write_text(FALLING.format(f"0 0 {size}", "", i))

    def loaded(*files, **world):
        robots = {f"r{i}": {"mjcf": f"{i}.xml"} for i in files}
        return load_scene({"world": {"step": 0.001, "duration": 0.01} | world, "robots": robots},
                          base=tmp_path)  # fmt: skip

    with pytest.raises(InputError, match=r"world.gravity.*robots.r0.*robots.r1.*write world.g"):
        loaded(0, 1)
    with pytest.warns(UserWarning) as said:
        assert loaded(0, 2).description["world"]["gravity"] == [0, 0, -1.6]
    assert sum("has gravity" in str(one.message) for one in said) == 1
    with pytest.warns(UserWarning) as said:
        assert loaded(0, 1, gravity=[0, 0, -9.81]).description["world"]["gravity"][2] == -9.81
    assert ["that of world.gravity acts" in str(one.message) for one in said] == [True, True]
