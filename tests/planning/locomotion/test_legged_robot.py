"""Legged robots of descriptions, URDFs and MJCFs: reading, refusals, standing, writing."""

from pathlib import Path

import numpy as np
import pytest
import yaml
from scipy.spatial import ConvexHull

from diffsim_ros.errors import InputError
from diffsim_ros.planning.locomotion import (
    build_robot,
    design_parameters,
    load_legged_robot,
    urdf_text,
    with_values,
    write_urdf,
)
from diffsim_ros.planning.locomotion import schema as keys
from diffsim_ros.planning.locomotion.random_robots import clearance, stability_margin
from diffsim_ros.robots.kinematics import link_pose

ROOT = Path(__file__).resolve().parents[3]
FOLDER = ROOT / "config" / "locomotion" / "robots"
FILES = sorted(FOLDER.glob("*.yaml"))
JOINTS = {"swizzlebot": (12, 4), "creature3": (9, 4), "brainbot": (9, 3), "agilebot": (16, 4),
          "legbot": (16, 4), "skatebot": (16, 8), "dinobot": (17, 8), "car": (0, 4),
          "swizzlebot_2": (8, 4), "swizzlebot_5": (20, 4), "solo12": (12, 4)}  # fmt: skip


def described(name):
    return yaml.safe_load((FOLDER / f"{name}.yaml").read_text())


def matrix(pose):
    return pose[:3, :3], pose[:3, 3]


@pytest.mark.filterwarnings("ignore:.*principal moments")
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_robot_stands_with_its_centre_of_mass_over_its_feet(path):
    robot = load_legged_robot(path)
    if path.stem in JOINTS:
        assert (len(robot.robot.joints), len(robot.end_effectors)) == JOINTS[path.stem]
    base = robot.standing_base()
    points = robot.contact_points(robot.stance, base)
    np.testing.assert_allclose(points[:, 2], 0.0, atol=1e-6)
    centre = robot.centre_of_mass(robot.stance, base)
    hull = ConvexHull(points[:, :2])
    inside = hull.equations[:, :2] @ centre[:2] + hull.equations[:, 2]
    assert inside.max() < -0.01 and centre[2] > 0.03
    assert stability_margin(robot) == pytest.approx(-inside.max())
    assert clearance(robot) > 0.02
    _, axes = robot.effector_places(robot.stance, base)
    assert np.abs(axes[:, 2]).max() < 0.75


@pytest.mark.parametrize("name", ["agilebot", "creature3", "skatebot", "car_tilted"])
def test_the_engine_has_the_same_robot(name):
    robot = load_legged_robot(FOLDER / f"{name}.yaml")
    model, n = robot.model(), len(robot.stance)
    rng = np.random.default_rng(3)
    q = robot.stance + rng.uniform(-0.3, 0.3, n)
    position, quaternion = rng.normal(size=3), rng.normal(size=4)
    quaternion /= np.linalg.norm(quaternion)
    state = robot.state(q, position, quaternion)
    poses = model.link_poses(state)
    base = poses[1]
    found = model.centroidal(state, np.zeros(6 + n))
    mine = robot.centre_of_mass(q, base)
    np.testing.assert_allclose(found["com"], mine, atol=1e-12)
    np.testing.assert_allclose(found["mass"], robot.mass, rtol=1e-12)
    mounts = robot.mounts()
    turns, places = poses[mounts.links, :3, :3], poses[mounts.links, :3, 3]
    centres = np.einsum("ijk,ik->ij", turns, mounts.positions) + places
    axes = np.einsum("ijk,ik->ij", turns, mounts.axes)
    for mine, engine in zip(robot.effector_places(q, base), (centres, axes), strict=True):
        np.testing.assert_allclose(mine, engine, atol=1e-12)


@pytest.mark.parametrize("name", ["agilebot", "creature3", "dinobot", "brainbot", "car_tilted"])
def test_a_description_written_as_a_urdf_reads_back_equal(name, tmp_path):
    robot = load_legged_robot(FOLDER / f"{name}.yaml")
    back = load_legged_robot(write_urdf(robot, tmp_path / f"{name}.urdf"))
    assert back.joint_names == robot.joint_names and back.name == robot.name
    for own, other in zip(robot.whole, back.whole, strict=True):
        for part in ("mass", "centre", "inertia"):
            one, two = getattr(own[1], part), getattr(other[1], part)
            np.testing.assert_allclose(two, one, rtol=1e-9, atol=1e-12)
    for own, other in zip(robot.robot.joints, back.robot.joints, strict=True):
        for part in ("kind", "parent", "body"):
            assert getattr(own, part) == getattr(other, part)
        for part in ("origin", "axis", "lower", "upper", "velocity", "effort"):
            np.testing.assert_allclose(getattr(own, part), getattr(other, part), atol=1e-12)
    for own, other in zip(robot.end_effectors, back.end_effectors, strict=True):
        for part in ("name", "kind", "link", "leg", "joint", "speed", "radius"):
            assert getattr(own, part) == getattr(other, part)
        np.testing.assert_allclose(other.position, own.position, atol=1e-12)
        np.testing.assert_allclose(other.axis, own.axis, atol=1e-12)
    np.testing.assert_array_equal(back.stance, robot.stance)
    assert set(back.robot.frames) == set(robot.robot.frames)
    with pytest.raises(InputError, match="description with legs"):
        write_urdf(back, tmp_path / "again.urdf")


@pytest.mark.parametrize("name", ["skatebot", "creature3", "brainbot"])
def test_mujoco_reads_the_same_robot_from_the_urdf(name, tmp_path):
    mujoco = pytest.importorskip("mujoco")
    robot = load_legged_robot(FOLDER / f"{name}.yaml")
    (tmp_path / "robot.urdf").write_text(urdf_text(robot, floating=True))
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "robot.urdf"))
    wheels = [effector for effector in robot.end_effectors if effector.joint]
    assert model.nq == 7 + len(robot.stance) + len(wheels)
    data = mujoco.MjData(model)
    q = robot.stance + np.random.default_rng(1).uniform(-0.4, 0.4, len(robot.stance))
    base = robot.standing_base()
    data.qpos[:3] = base[:3, 3]
    for joint, value in zip(robot.joint_names, q, strict=True):
        data.joint(joint).qpos = value
    for effector in wheels:
        data.joint(effector.joint).qpos = 0.7
    mujoco.mj_forward(model, data)
    assert model.body_mass.sum() == pytest.approx(robot.mass)
    centre = (model.body_mass @ data.xipos) / robot.mass
    np.testing.assert_allclose(centre, robot.centre_of_mass(q, base), atol=1e-9)
    centres, axes = robot.effector_places(q, base)
    for effector, place, axis in zip(robot.end_effectors, centres, axes, strict=True):
        if effector.joint:
            np.testing.assert_allclose(data.joint(effector.joint).xanchor, place, atol=1e-9)
            np.testing.assert_allclose(data.joint(effector.joint).xaxis, axis, atol=1e-9)


def test_mirrored_legs_move_as_mirror_images():
    robot = load_legged_robot(FOLDER / "agilebot.yaml")
    q = np.tile([0.3, -0.2, 0.5, -0.9], 4)
    points = robot.contact_points(q, np.eye(4))
    signs = np.array([[1, 1, 1], [1, -1, 1], [-1, 1, 1], [-1, -1, 1]])
    np.testing.assert_allclose(points, points[0] * signs, atol=1e-12)
    _, axes = robot.effector_places(robot.stance, np.eye(4))
    np.testing.assert_allclose(axes, np.tile([0.0, 1.0, 0.0], (4, 1)), atol=1e-12)


@pytest.mark.parametrize("shared", [True, False])
def test_design_parameters_move_what_they_name(shared, tmp_path):
    robot = load_legged_robot(FOLDER / "agilebot.yaml")
    design = design_parameters(robot.description, shared=shared)
    leg = "leg" if shared else "FR"
    k = design.names.index(f"{leg}.knee.z")
    assert len(design.names) == len(design.values) == (15 if shared else 60)
    same = with_values(design, design.values)
    np.testing.assert_array_equal(same.robot.joints[3].origin, robot.robot.joints[3].origin)
    changed = with_values(design, design.values + 0.01 * np.eye(len(design.values))[k])
    moved = [
        joint.name
        for joint, before in zip(changed.robot.joints, robot.robot.joints, strict=True)
        if not np.array_equal(joint.origin, before.origin)
    ]
    assert moved == [f"{name}_knee" for name in ("FL", "FR", "RL", "RR") if shared or name == "FR"]
    by_hand = described("agilebot")
    if shared:
        by_hand["legs"]["leg"]["joints"]["knee"]["at"][2] += 0.01
        back = load_legged_robot(write_urdf(load_legged_robot(by_hand), tmp_path / "robot.urdf"))
        for link in ("FL_knee_link", "RR_end"):
            np.testing.assert_allclose(
                link_pose(changed.robot, robot.stance, link),
                link_pose(back.robot, robot.stance, link), atol=1e-12,
            )  # fmt: skip
        assert changed.mass == pytest.approx(back.mass) and changed.mass != robot.mass
    with pytest.raises(InputError, match=r"15|60"):
        with_values(design, np.zeros(3))


def test_a_lower_tilted_wheel_takes_the_pitch_away():
    """The design parameter that mends the car [G 2.5.1]."""
    robot = load_legged_robot(FOLDER / "car_tilted.yaml")
    assert abs(robot.standing_pose()[1][1]) > 0.02
    design = design_parameters(robot.description)
    values = design.values.copy()
    values[design.names.index("front.wheel.z")] -= 0.04 * (1.0 - np.sqrt(0.5))
    np.testing.assert_allclose(with_values(design, values).standing_pose()[1][:3], 0, atol=1e-9)


def test_axes_turn_by_tilt_and_steer():
    robot = load_legged_robot(FOLDER / "car.yaml")
    design = design_parameters(robot.description, axes=True)
    values = dict(zip(design.names, design.values, strict=True))
    values |= {"wheel.wheel.tilt": 0.3, "wheel.wheel.steer": 0.2}
    axis = build_robot(design.changed(list(values.values()))).end_effectors[0].axis
    want = [-np.sin(0.2) * np.cos(0.3), np.cos(0.2) * np.cos(0.3), np.sin(0.3)]
    np.testing.assert_allclose(axis, want, atol=1e-12)


def test_masses_are_those_of_box_links_motors_and_discs():
    """By hand: a body, one hinge with its motor, a link of 0.1 m and 2 cm, a disc."""
    joint = {"at": [0.1, 0.0, 0.0], "axis": "y", "motor_mass": 0.2, "motor_size": 0.06,
             "density": 1000, "thickness": 0.02}  # fmt: skip
    wheel = {"kind": "passive", "at": [0, 0, -0.1], "radius": 0.05, "width": 0.02, "mass": 0.3}
    robot = load_legged_robot(
        {"body": {"size": [0.2, 0.1, 0.1], "mass": 1.2},
         "legs": {"leg": {"joints": {"hip": joint}, "end_effectors": {"wheel": wheel}}}},
        standing=False,
    )  # fmt: skip
    base, leg = robot.robot.base_inertial, robot.robot.joints[0].inertial
    assert base.mass == pytest.approx(1.4) and leg.mass == pytest.approx(0.048 + 0.3)
    np.testing.assert_allclose(base.centre, [0.02 / 1.4, 0, 0], atol=1e-15)
    apart = 1.2 * 0.2 / 1.4 * 0.01  # reduced mass times the square of 0.1 m
    box, cube = 1.2 / 12 * np.array([0.02, 0.05, 0.05]), 0.2 * 0.0036 / 6
    np.testing.assert_allclose(np.diag(base.inertia), box + cube + [0, apart, apart], rtol=1e-12)
    np.testing.assert_allclose(leg.centre, [0, 0, -(0.048 * 0.05 + 0.03) / 0.348], atol=1e-15)
    apart = 0.048 * 0.3 / 0.348 * 0.05**2
    link = 0.048 / 12 * np.array([0.0148, 0.0148, 0.0008])
    disc = 0.3 * np.array([(0.0075 + 0.0004) / 12, 0.00125, (0.0075 + 0.0004) / 12])
    np.testing.assert_allclose(np.diag(leg.inertia), link + disc + [apart, apart, 0], rtol=1e-12)


@pytest.mark.parametrize(
    ("name", "steers"),
    [("swizzlebot", True), ("swizzlebot_2", False), ("swizzlebot_2_steered", True),
     ("swizzlebot_3", False), ("swizzlebot_4", True), ("swizzlebot_5", True), ("brainbot", True),
     ("skatebot", True), ("dinobot", True)],
)  # fmt: skip
def test_legs_on_passive_wheels_can_steer_them_while_they_move_sideways(name, steers):
    """What a swizzle needs; axes forward, sideways, sideways do not steer [G 3.6.2]."""
    robot = load_legged_robot(FOLDER / f"{name}.yaml")
    base, n, h = robot.standing_base(), len(robot.stance), 1e-6
    for effector in range(len(robot.end_effectors)):
        slopes = []
        for step in h * np.eye(n):
            found = []
            for q in (robot.stance + step, robot.stance - step):
                place, axis = (part[effector] for part in robot.effector_places(q, base))
                found.append([place[1] / 0.1, np.arctan2(-axis[0], axis[1])])
            slopes.append((np.array(found[0]) - found[1]) / (2 * h))
        values = np.linalg.svd(np.array(slopes).T, compute_uv=False)
        assert (values[1] > 0.3) == steers, values


def change(name, path, value):
    content = described(name)
    at = content
    for key in path[:-1]:
        at = at[key]
    if value is None:
        del at[path[-1]]
    else:
        at[path[-1]] = value
    return content


ANKLE = ("legs", "leg", "joints", "knee")
WHEEL = ("legs", "leg", "end_effectors", "wheel")


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        (("bdy",), {}, "bdy.*did you mean 'body'"),
        (("body", "mass"), 1e300, "body.mass.*at most"),
        ((*ANKLE, "at", 2), -1e9, "knee.at.*at most"),
        (("body", "mass"), "-1 kg", "body.mass.*finite number > 0"),
        ((*ANKLE, "axis"), "up", r"knee.axis.*x, y, z"),
        ((*ANKLE, "axis"), [0, 0, 0], "knee.axis.*not all zero"),
        ((*ANKLE, "at"), None, "knee.at.*required"),
        ((*ANKLE, "stance"), "30 deg", "stance of FL_knee.*limits"),
        ((*WHEEL, "kind"), "driven", "kind.*actuated"),
        ((*WHEEL, "radius"), 0, "radius.*> 0"),
        (("legs", "leg", "end_effectors"), {}, "leg.end_effectors.*at least one"),
        (("legs", "leg", "copies", "FR", "mirror"), "z", "mirror.*none or x or y or xy"),
        (("legs", "leg", "copies", "FR", "stance"), {"elbow": 0}, "FR.stance.elbow"),
        (("legs", "leg", "copies", "FR", "shift"), [0, 0, 0.01], "end effector .*plane"),
        (("legs", "more"), {"end_effectors": {"w": {"kind": "point", "at": [0, 0, 0]}},
                            "copies": {"FL": {}}}, "FL.*name of its own|plane"),
    ],
)  # fmt: skip
def test_descriptions_are_refused_by_name(path, value, said):
    with pytest.raises(InputError, match=said):
        load_legged_robot(change("agilebot", path, value))


def test_robots_that_are_like_another_keep_the_rest_of_it(tmp_path):
    like, legbot = (load_legged_robot(FOLDER / f"{n}.yaml") for n in ("agilebot", "legbot"))
    assert legbot.mass == pytest.approx(like.mass) and legbot.joint_names == like.joint_names
    assert {effector.kind for effector in legbot.end_effectors} == {"welded"}
    (tmp_path / "loop.yaml").write_text("like: loop.yaml\n")
    with pytest.raises(InputError, match=r"like: got 'loop.yaml'.*at most"):
        load_legged_robot(tmp_path / "loop.yaml")


def test_a_wheel_that_lies_flat_is_refused():
    with pytest.raises(InputError, match=r"end effector FL: axis.*rim"):
        load_legged_robot(change("car", ("legs", "wheel", "end_effectors", "wheel", "axis"), "z"))


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        (("end_effectors", "FL", "link"), "FL_FOT", "FL.link.*'FL_FOOT'"),
        (("end_effectors", "FL", "axis"), "y", "FL.axis.*point foot"),
        (("end_effectors", "FL", "joint"), "FL_KFE", "FL.*exactly one"),
        (("stance",), {"FL_KNE": 1}, "stance.*FL_KNE"),
        (("stance",), 0.4, "end effector .*plane"),
        (("mjcf",), "a.xml", "exactly one"),
        (("urdf",), "nothing.urdf", "existing URDF"),
    ],
)
def test_files_are_refused_by_name(path, value, said):
    content = change("solo12", path, value)
    if path == ("stance",) and value == 0.4:
        content["stance"] = [0.3, 0.8, -1.6, 0, 0.8, -1.6, 0, -0.8, 1.6, 0, -0.8, 1.6]
    with pytest.raises(InputError, match=said):
        load_legged_robot(content, base=FOLDER)


MJCF = """<mujoco><worldbody><body name="trunk" pos="0 0 1"><freejoint/>
<geom type="box" size=".1 .05 .02" mass="1"/>
{legs}</body></worldbody></mujoco>"""
LEG = """<body name="{0}_thigh" pos="{1} {2} 0">
<joint name="{0}_roll" axis="1 0 0" pos="0 .01 0" range="-60 60"/>
<joint name="{0}_hip" axis="0 1 0" range="-90 90"/>
<geom type="capsule" fromto="0 0 0 0 0 -.1" size=".01" mass=".1"/>
<body name="{0}_wheel" pos="0 .01 -.1"><joint name="{0}_spin" axis="0 1 0"/>
<geom type="cylinder" size=".03 .005" euler="90 0 0" mass=".05"/></body></body>"""


def test_an_mjcf_gives_the_same_kinematics_as_mujoco(tmp_path):
    mujoco = pytest.importorskip("mujoco")
    places = {"FL": (0.1, 0.06), "FR": (0.1, -0.06), "RL": (-0.1, 0.06), "RR": (-0.1, -0.06)}
    text = MJCF.format(legs="".join(LEG.format(name, x, y) for name, (x, y) in places.items()))
    (tmp_path / "robot.xml").write_text(text)
    ends = {
        name: {"kind": "actuated", "joint": f"{name}_spin", "radius": 0.03, "speed": 9}
        for name in places
    }
    robot = load_legged_robot({"mjcf": "robot.xml", "end_effectors": ends}, base=tmp_path)
    assert len(robot.stance) == 8 and robot.mass == pytest.approx(1.6)
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "robot.xml"))
    data = mujoco.MjData(model)
    q = np.random.default_rng(0).uniform(-0.5, 0.5, 8)
    base = np.eye(4)
    base[:3, 3] = [0.1, 0.2, 0.7]
    data.qpos[:3] = base[:3, 3]
    for name, value in zip(robot.joint_names, q, strict=True):
        data.joint(name).qpos = value
    mujoco.mj_forward(model, data)
    centres, axes = robot.effector_places(q, base)
    for k, name in enumerate(places):
        np.testing.assert_allclose(centres[k], data.body(f"{name}_wheel").xpos, atol=1e-12)
        np.testing.assert_allclose(axes[k], data.joint(f"{name}_spin").xaxis, atol=1e-12)
    np.testing.assert_allclose(robot.centre_of_mass(q, base), data.subtree_com[1], atol=1e-12)
    ends["FL"]["joint"] = "FL_spn"
    with pytest.raises(InputError, match=r"held.*FL_spn.*FL_spin"):
        load_legged_robot({"mjcf": "robot.xml", "end_effectors": ends}, base=tmp_path)


def test_documented_keys_are_those_accepted():
    page = ROOT / "docs" / "reference" / "locomotion_keys.md"
    assert keys.markdown() in page.read_text(), (
        f"{page.name} is old: paste the output of python -m diffsim_ros.planning.locomotion.schema"
    )
