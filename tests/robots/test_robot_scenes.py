"""Robots in scenes: where their parts stand, and that they move as Pinocchio's do."""

from pathlib import Path

import numpy as np
import pytest

from diffsim_ros import _engine
from diffsim_ros.errors import InputError
from diffsim_ros.robots.kinematics import link_pose
from diffsim_ros.robots.link_shapes import link_shapes
from diffsim_ros.robots.urdf import load_robot
from diffsim_ros.rotation import quat_matrix
from diffsim_ros.scene import load_scene
from tests.robots.test_urdf import ARM, UR5
from tests.scene.mesh_writing import write_obj

pytest.importorskip("urchin")
Q = np.array([0.3, -1.2, 1.4, -1.7, -1.5, 0.2])
LOAD = {
    "link": "tool0",
    "mass": 1.5,
    "centre": [0.02, -0.03, 0.07],
    "inertia": [0.004, 0.005, 0.002],
}


def scene(step=0.001, duration=0.2, **robot):
    """A scene of one robot, the UR5 by default."""
    robot = {"urdf": str(UR5), "angles": Q.tolist(), "joint_stiffness": 1e8} | robot
    world = {"step": step, "duration": duration}
    return load_scene({"world": world, "robots": {"arm": robot}}, base=Path("."))


def coordinates(model, rollout):
    """Joint values (frames, n)."""
    names = [link["name"] for link in model.description["links"] if link["type"] == "joint"]
    engine = model.engine
    return np.stack(
        [engine.joint_motion(name, engine.values, rollout)["coordinate"] for name in names], axis=1
    )


def test_parts_stand_where_kinematics_puts_them():
    model = scene(pose={"position": [0.1, 0.2, 0.3], "rotation": [0, 0, 0.5]})
    robot = load_robot(UR5)
    c, s = np.cos(0.5), np.sin(0.5)
    base = np.array([[c, -s, 0, 0.1], [s, c, 0, 0.2], [0, 0, 1, 0.3], [0, 0, 0, 1]])
    run = _engine.rollout(model.engine, model.engine.values, 1, model.options)
    for i, joint in enumerate(robot.joints):
        wanted = base @ link_pose(robot, Q, joint.body) @ np.append(joint.inertial.centre, 1)
        assert run.position[0, i] == pytest.approx(wanted[:3], abs=1e-12)
    assert coordinates(model, run)[0] == pytest.approx(Q, abs=1e-9)


def test_pictures_have_the_shapes_of_the_urdf():
    """Where kinematics puts them: collisions of the UR5, which has no visuals."""
    model, robot = scene(), load_robot(UR5)
    run = _engine.rollout(model.engine, model.engine.values, 1, model.options)
    names, seen = [joint.body for joint in robot.joints], set()
    for part in link_shapes(robot):
        if part.carrier < 0:
            continue
        body = names[part.carrier]
        turn, at = np.split(link_pose(robot, Q, body)[:3], [3], axis=1)
        row = model.engine.nodes_of(body)[0]
        own = quat_matrix(run.orientation[0, row])
        drawn = model.bodies[body].vertices @ own.T + run.position[0, row]
        wanted = part.vertices @ turn.T + at.T
        assert np.abs(drawn.max(axis=0) - wanted.max(axis=0)).max() < 2e-3  # facets of circles
        assert np.abs(drawn.min(axis=0) - wanted.min(axis=0)).max() < 2e-3
        seen.add(body)
    assert seen == set(names)


@pytest.mark.parametrize(
    "geometry",
    ['<sphere radius="0"/>', '<box size="0.1 0 0.1"/>', '<cylinder radius="0.1" length="0"/>'],
)
def test_a_visual_without_extent_is_not_drawn_and_refuses_no_robot(tmp_path, geometry):
    visual = f"<visual><geometry>{geometry}</geometry></visual>"
    (tmp_path / "arm.urdf").write_text(ARM.replace("<inertial>", visual + "<inertial>", 1))
    joints = len(load_robot(tmp_path / "arm.urdf").joints)
    model = scene(urdf=str(tmp_path / "arm.urdf"), angles=[0.0] * joints)
    assert len(next(iter(model.bodies.values())).triangles) == 12  # the box of its inertia


@pytest.mark.parametrize("scale", ["0.001 0.001 0.001", "1 2 1", None])
def test_meshes_of_a_urdf_are_drawn_where_a_scene_can_read_them(tmp_path, scale):
    """Open ones, too; of several scales, or a file that is not there, the box of the inertia."""
    vertices = 100 * np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1.0]])
    if scale:
        write_obj(tmp_path / "part.obj", vertices, np.array([[0, 1, 2], [0, 3, 1]]))
    mesh = f'<mesh filename="part.obj" scale="{scale or "1 1 1"}"/>'
    visual = f'<visual><origin xyz="0 0 0.5"/><geometry>{mesh}</geometry></visual>'
    text = ARM.replace("<inertial>", visual + "<inertial>", 1)
    (tmp_path / "arm.urdf").write_text(text)
    joints = len(load_robot(tmp_path / "arm.urdf", meshes="ignore").joints)
    model = scene(urdf=str(tmp_path / "arm.urdf"), angles=[0.0] * joints)
    info = next(iter(model.bodies.values()))
    if scale and scale.startswith("0.001"):
        assert len(info.triangles) == 2
        assert np.ptp(info.vertices, axis=0) == pytest.approx([0.1, 0.1, 0.1])
    else:
        assert len(info.triangles) == 12


def test_joints_that_are_not_to_move_are_held():
    names = list(load_robot(UR5).joint_names)
    held = dict(zip(names[3:], Q[3:].tolist(), strict=True))
    whole, model = scene(), scene(joints=names[:3], held=held, angles=Q[:3].tolist())
    assert list(model.bodies) == list(whole.bodies)[:3]
    assert [link["name"] for link in model.description["links"]] == names[:3]
    bodies, carried = (one.description["bodies"] for one in (whole, model))
    behind = list(bodies.values())[2:]
    mass = sum(body["mass"] for body in behind)
    centre = sum(body["mass"] * np.array(body["pose"]["position"]) for body in behind) / mass
    forearm = carried["forearm_link"]
    assert forearm["mass"] == pytest.approx(mass)
    assert forearm["pose"]["position"] == pytest.approx(centre, abs=1e-9)
    with pytest.raises(InputError, match=r"joints: got 'elbow'.*did you mean 'elbow_joint'"):
        scene(joints=["elbow"], angles=None)
    with pytest.raises(InputError, match=r"held: got .*: of a URDF alone"):
        scene(urdf=None, mjcf="arm.xml", held={"elbow_joint": 1.0})


def test_a_robot_falls_as_pinocchio_says():
    """With its payload and armature, 0.2 s; second order in the step."""
    pin = pytest.importorskip("pinocchio")
    model = pin.buildModelFromUrdf(str(UR5))
    inertia = pin.Inertia(LOAD["mass"], np.array(LOAD["centre"]), np.diag(LOAD["inertia"]))
    model.appendBodyToJoint(model.njoints - 1, inertia, pin.SE3.Identity())
    model.armature[:] = 0.4
    data = model.createData()
    q, v, h = Q.copy(), np.zeros(6), 1e-3

    def f(q, v):
        return pin.aba(model, data, q, v, np.zeros(6))

    for _ in range(200):
        a1 = f(q, v)
        a2 = f(q + h / 2 * v, v + h / 2 * a1)
        a3 = f(q + h / 2 * v + h * h / 4 * a1, v + h / 2 * a2)
        a4 = f(q + h * v + h * h / 2 * a2, v + h * a3)
        q, v = q + h * v + h * h / 6 * (a1 + a2 + a3), v + h / 6 * (a1 + 2 * a2 + 2 * a3 + a4)
    errors = []
    for step in (0.004, 0.002):
        ours = scene(step, payload=LOAD, armature=0.4)
        run = _engine.rollout(ours.engine, ours.engine.values, ours.steps, ours.options)
        errors.append(np.abs(coordinates(ours, run)[-1] - q).max())
    assert errors[1] < 1e-4
    assert errors[0] / errors[1] == pytest.approx(4, rel=0.4)


def test_energy_knows_payloads_and_armatures():
    """Of a free fall it is kept; what the payload has matters at the start."""
    model = scene(0.0005, 0.1, payload=LOAD, armature={"elbow_joint": 0.3}, rates=0.5)
    run = _engine.rollout(model.engine, model.engine.values, model.steps, model.options)
    found = model.engine.energies(run)
    assert np.ptp(found["total"]) < 2e-3 * np.ptp(found["kinetic"])
    robot = load_robot(UR5)
    centre = link_pose(robot, Q, "tool0") @ np.append(LOAD["centre"], 1)
    without = scene(0.0005, 0.1, rates=0.5).engine.energies(run)
    assert found["gravity"][0] - without["gravity"][0] == pytest.approx(1.5 * 9.81 * centre[2])


def test_drives_and_sliders(tmp_path):
    """A robot with a slider holds its start under its drives; resolved, it is plain parts."""
    path = tmp_path / "arm.urdf"
    path.write_text(ARM)
    start = {"j1": 0.3, "j2": 0.2, "j3": -0.4}
    drive = {"stiffness": 4e3, "damping": 40.0}
    model = scene(0.002, 0.2, urdf=str(path), angles=start, drive=drive, prefix="a_")
    run = _engine.rollout(model.engine, model.engine.values, model.steps, model.options)
    q = coordinates(model, run)
    assert q[0] == pytest.approx([0.3, 0.2, -0.4], abs=1e-9)
    assert q[-1] == pytest.approx(q[0], abs=0.01)
    assert "robots" not in model.description
    assert model.description["links"][0]["friction_damping"] == 0.4
    again = load_scene(model.description, base=tmp_path)
    assert again.engine.values.tolist() == model.engine.values.tolist()


BAD = [
    ({"angle": 1}, r"robots.arm.angle: .*did you mean 'angles'"),
    ({"angles": [1, 2]}, r"robots.arm.angles: got \[1, 2\]; accepted: a number, 6 numbers"),
    ({"payload": LOAD | {"link": "base_link"}}, "a link that a joint moves"),
    ({"payload": LOAD | {"link": "tool"}}, "did you mean 'tool0'"),
    ({"payload": LOAD | {"inertia": [1, 1, 3]}}, "none above the sum"),
    ({"payload": LOAD | {"mass": 0}}, r"payload.mass: got 0; accepted: a finite number > 0"),
    ({"drive": {"kind": "torque", "stiffness": 1}}, "position, with stiffness and damping"),
    ({"drive": {"stiffness": 1, "keys": 3}}, "seconds between the keys"),
    ({"armature": {"elbow": 1}}, r"armature: got 'elbow'; .*did you mean 'elbow_joint'"),
    ({"urdf": "nowhere.urdf"}, "no such file"),
]


@pytest.mark.parametrize(("change", "message"), BAD)
def test_bad_robots_are_refused(change, message):
    with pytest.raises(InputError, match=message):
        scene(**change)


def test_robots_have_reduced_coordinates_unless_asked():
    chosen = scene(joint_stiffness=None)
    kinds = {one["coordinates"] for one in chosen.description["links"]}
    assert kinds == {"reduced"}
    assert "elbow_joint.stiffness" not in {i.name for i in chosen.engine.parameters}
    assert "elbow_joint.stiffness" in {i.name for i in scene().engine.parameters}
    with pytest.raises(InputError, match=r"robots\.arm\.joint_stiffness.*hold exactly"):
        scene(coordinates="reduced")


def test_reduced_coordinates_fall_as_pinocchio_says():
    """Orders 1 and 2 towards Pinocchio's articulated body algorithm; joints stay closed."""
    pin = pytest.importorskip("pinocchio")
    model = pin.buildModelFromUrdf(str(UR5))
    data = model.createData()
    q, v, h = Q.copy(), np.zeros(6), 1e-3

    def f(q, v):
        return pin.aba(model, data, q, v, np.zeros(6))

    for _ in range(200):
        a1 = f(q, v)
        a2 = f(q + h / 2 * v, v + h / 2 * a1)
        a3 = f(q + h / 2 * v + h * h / 4 * a1, v + h / 2 * a2)
        a4 = f(q + h * v + h * h / 2 * a2, v + h * a3)
        q, v = q + h * v + h * h / 6 * (a1 + a2 + a3), v + h / 6 * (a1 + 2 * a2 + 2 * a3 + a4)
    for order, most in ((1, 2e-2), (2, 2e-4)):
        errors = []
        for step in (0.004, 0.002):
            ours = scene(step, joint_stiffness=None)
            ours.options.order = order
            run = _engine.rollout(ours.engine, ours.engine.values, ours.steps, ours.options)
            errors.append(np.abs(coordinates(ours, run)[-1] - q).max())
            elbow = ours.engine.joint_motion("elbow_joint", ours.engine.values, run)
            assert elbow["opening"].max() < 1e-14
        assert errors[1] < most
        assert errors[0] / errors[1] == pytest.approx(2**order, rel=0.1)


def test_a_free_base_flies_and_lands_on_its_feet(tmp_path):
    """Base, links and their contact points; the centre of mass falls as it must until then."""
    base = """<link name="base"><inertial><origin xyz="0.02 0 0.05"/><mass value="2"/>
      <inertia ixx="0.02" iyy="0.03" izz="0.025" ixy="0" ixz="0" iyz="0"/></inertial></link>"""
    (tmp_path / "arm.urdf").write_text(ARM.replace('<link name="base"/>', base))
    robot = {
        "urdf": "arm.urdf", "base": "free", "angles": [0.2, 0.1, 0.3], "rates": 0.3,
        "pose": {"position": [0, 0, 1.5], "rotation": [0.2, 0.4, 0.1]},
        "velocity": [0.1, 0.2, 0.5], "angular_velocity": [0.3, -0.2, 0.1],
        "contact_spheres": {
            "base": {"radius": 0.05, "positions": [[0.1, 0.1, 0], [0.1, -0.1, 0], [-0.1, 0, 0]]},
            "plate": {"radius": 0.05},
            "l2": {"radius": 0.05},
            "l3": {"radius": 0.05},
        },
    }  # fmt: skip
    ground = {"against": "ground", "k_n": 1e4, "k_t": 1e3, "c_n": 0.2, "c_f": 0.6}
    contact = [{"points": name} | ground for name in ("base", "l1", "l2", "l3")]
    model = load_scene(
        {"world": {"step": 0.002, "duration": 1.4}, "robots": {"arm": robot},
         "sdfs": {"ground": {"plane": {}}}, "contact": contact},
        base=tmp_path,
    )  # fmt: skip
    run = _engine.rollout(model.engine, model.engine.values, model.steps, model.options)
    assert run.ok, run.message
    mass = model.engine.masses(model.engine.values)
    centre = np.einsum("n,fnk->fk", mass, run.position) / mass.sum()
    velocity = np.einsum("n,nk->k", mass, run.velocity[0]) / mass.sum()
    t = run.time[run.time < 0.4]
    fallen = np.outer(t**2, [0, 0, -0.5 * 9.81])
    assert np.abs(centre[: len(t)] - centre[0] - np.outer(t, velocity) - fallen).max() < 1e-4
    assert 0.0 < run.position[-1, :, 2].min() and np.abs(run.velocity[-1]).max() < 5.0
    opening = model.engine.joint_motion("j3", model.engine.values, run)["opening"]
    assert opening.max() < 1e-14
    with pytest.raises(InputError, match=r"robots\.arm\.base.*no mass and inertia"):
        scene(base="free")


def test_a_base_with_motion_must_be_free():
    with pytest.raises(InputError, match=r"robots\.arm\.velocity.*base is fixed"):
        scene(velocity=[0, 0, 1])
    with pytest.raises(InputError, match=r"contact_spheres\.base_link.*moves"):
        scene(contact_spheres={"base_link": {"radius": 0.1}})
