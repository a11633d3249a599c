"""Solids of links: exact distances, meshes closed and open, and what cannot be seen."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

pytest.importorskip("urchin")

from diffsim_ros import _engine
from diffsim_ros.errors import InputError
from diffsim_ros.robots import collision_solids as solids
from diffsim_ros.robots.arm import load_arm
from diffsim_ros.robots.collision import Around, CollisionCheck
from diffsim_ros.robots.collision_distance import NEAR, SHARE, above, distances, half_space
from diffsim_ros.robots.urdf import load_robot

UR5 = Path(__file__).resolve().parents[2] / "config" / "robots" / "ur5.yaml"
FAR = np.full(40, np.inf)


def poses(seed, spread=0.4):
    """Forty poses (40, 4, 4) about the origin."""
    out = np.tile(np.eye(4), (40, 1, 1))
    out[:, :3, :3] = Rotation.random(40, random_state=seed).as_matrix()
    out[:, :3, 3] = np.random.default_rng(seed).uniform(-spread, spread, (40, 3))
    return out


def near_enough(found, exact):
    """Never too large, and too small by no more than is promised."""
    short = exact - found
    assert np.all(short >= -1e-9)
    assert np.all(short <= np.maximum(NEAR, SHARE * np.abs(exact)) * 1.05 + 1e-9)


def block(size):
    """Vertices and triangles of a box."""
    import trimesh

    made = trimesh.creation.box(size)
    return np.asarray(made.vertices), np.asarray(made.faces)


def shapes():
    """A solid of every kind, about the origin."""
    place = np.eye(4)
    return {
        "box": solids.box("box", 0, place, (0.1, 0.2, 0.3)),
        "cylinder": solids.cylinder("cylinder", 0, place, 0.05, 0.3),
        "capsule": solids.capsule("capsule", 0, [[0, 0, -0.1], [0, 0, 0.1]], 0.04),
        "sphere": solids.capsule("sphere", 0, [[0, 0, 0], [0, 0, 0]], 0.07),
        "mesh": solids.mesh("mesh", 0, place, *block((0.1, 0.2, 0.3))),
    }


@pytest.mark.parametrize("kind", ["box", "cylinder", "capsule", "sphere", "mesh"])
def test_distances_from_a_ball_a_box_and_a_half_space(kind):
    solid, at = shapes()[kind], poses(3)
    centre = -np.einsum("kji,kj->ki", at[:, :3, :3], at[:, :3, 3])  # of a ball about the origin
    near_enough(distances(solid, at, _engine.Sphere(0.06), FAR),
                solid.field.evaluate(centre)[0] - 0.06)  # fmt: skip
    floor = _engine.Plane((0, 0.6, 0.8), -0.1)
    exact = above(solid, at, *half_space(floor))
    near_enough(distances(solid, at, floor, FAR), exact)
    reach = solid.capsule()
    ends = at[:, None, :3, 3] + reach.ends @ np.swapaxes(at[:, :3, :3], 1, 2)
    rough = (ends @ [0, 0.6, 0.8]).min(axis=1) + 0.1 - reach.radius
    assert np.all(rough <= exact + 1e-9), "the capsule is about the solid"
    if solid.rounded:
        np.testing.assert_allclose(rough, exact)


def test_either_of_two_solids_may_be_cut_into_cells():
    made = shapes()
    for one, other in (("box", "cylinder"), ("mesh", "capsule"), ("cylinder", "mesh")):
        at = poses(5)
        back = np.linalg.inv(at)
        first = distances(made[one], at, made[other].field, FAR)
        second = distances(made[other], back, made[one].field, FAR)
        outside = (first > 0.005) & (second > 0.005)
        assert outside.sum() > 10
        most = 2 * np.maximum(NEAR, SHARE * np.abs(first))
        assert np.all(np.abs(first - second)[outside] <= most[outside])
        assert np.all((first < 0.005) == (second < 0.005)), "both find the same contacts"


def test_no_more_is_told_than_is_asked():
    found = distances(shapes()["box"], poses(3), _engine.Sphere(0.06), np.full(40, 0.05))
    assert found.max() == 0.05 and found.min() < 0


def test_half_spaces_are_recognised_and_nothing_else():
    floor = _engine.Plane((0, 0, 2.0), 0.3)
    turned = _engine.Transformed(floor, (0, 0, 0.1), (1, 0, 0, 0))
    for sdf, normal in (
        (floor, [0, 0, 1]),
        (turned, [0, 0, -1]),
        (solids.Convex(floor), [0, 0, 1]),
    ):
        found = half_space(sdf)
        np.testing.assert_allclose(found[0], normal, atol=1e-12)
        points = np.random.default_rng(0).normal(size=(5, 3))
        np.testing.assert_allclose(points @ found[0] - found[1], sdf.evaluate(points)[0])
    for sdf in (_engine.Sphere(1.0), _engine.Box((1, 1, 1)), shapes()["mesh"].field):
        assert half_space(sdf) is None


def test_a_surface_that_is_not_closed_is_a_sheet():
    vertices, triangles = block((0.4, 0.4, 0.4))
    open_box = solids.mesh("open", 0, np.eye(4), vertices, triangles[2:])
    points = np.array([[0, 0, 0], [0.5, 0, 0], [0.19, 0, 0.0]])
    exact = solids.mesh_field(vertices, triangles).evaluate(points)[0]
    found = open_box.field.evaluate(points)[0]
    assert exact[0] == pytest.approx(-0.2) and found[0] > 0.19, "it has no inside"
    assert np.all(found <= np.abs(exact) + 1e-9)
    assert np.all(found >= np.abs(exact) - 2 * solids.SHEET)
    for bad in (np.zeros((0, 3)), [[0, 1, 99]], [[0, 1, -1]]):
        with pytest.raises(InputError, match="open: triangles"):
            solids.mesh("open", 0, np.eye(4), vertices, bad)
    vertices[0, 0] = np.nan
    with pytest.raises(InputError, match="open: vertices"):
        solids.mesh("open", 0, np.eye(4), vertices, triangles)


URDF = """<robot name="two">
  <link name="base"><visual><geometry><sphere radius="0.1"/></geometry></visual></link>
  <joint name="a" type="revolute"><parent link="base"/><child link="one"/><axis xyz="0 1 0"/>
    <limit lower="-3" upper="3" velocity="1" effort="1"/></joint>
  <link name="one">{inertial}
    <collision><geometry><mesh filename="{file}" scale="0.001 0.001 0.001"/></geometry></collision>
  </link>
  <joint name="b" type="revolute"><parent link="one"/><child link="two"/><axis xyz="0 1 0"/>
    <origin xyz="0 0 0.3"/><limit lower="-3" upper="3" velocity="1" effort="1"/></joint>
  <link name="two">{inertial}
    <collision><origin xyz="0 0 0.1" rpy="0.1 0.2 0.3"/>
      <geometry><box size="0.1 0.2 0.3"/></geometry></collision>
    <collision><geometry><sphere radius="0.02"/></geometry></collision>
  </link></robot>"""
INERTIAL = """<inertial><mass value="1"/>
  <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>"""


def robot(folder, file="part.stl"):
    (folder / "two.urdf").write_text(URDF.format(file=file, inertial=INERTIAL))
    return load_robot(folder / "two.urdf", meshes="ignore")


def test_meshes_of_a_urdf_are_read_in_its_scale(tmp_path):
    import trimesh

    trimesh.creation.box((100, 100, 100)).export(tmp_path / "part.stl")
    found, unseen = solids.solids_of(robot(tmp_path))
    assert [(solid.name, solid.kind, solid.carrier) for solid in found] == [
        ("one", "mesh", 0), ("two", "box", 1), ("two", "box", 1)
    ]  # fmt: skip
    np.testing.assert_allclose(found[0].half, 0.05)
    np.testing.assert_allclose(found[1].pose[:3, 3], [0, 0, 0.1])
    turn = Rotation.from_euler("xyz", [0.1, 0.2, 0.3]).as_matrix()
    np.testing.assert_allclose(found[1].pose[:3, :3], turn)
    assert unseen == ["base has no <collision>: it is not checked"]


@pytest.mark.parametrize(
    ("file", "why"),
    [("part.stl", "a file ending in .stl"), ("part.dae", "a file ending in .stl"),
     ("bad.stl", "1 to 200000 triangles"), ("package://no/part.stl", "a file ending")],
)  # fmt: skip
def test_a_mesh_that_cannot_be_read_is_told_by_its_link(tmp_path, file, why):
    (tmp_path / "bad.stl").write_bytes(b"solid nothing\nendsolid")
    (tmp_path / "part.dae").write_text("<COLLADA/>")
    found, unseen = solids.solids_of(robot(tmp_path, file))
    assert [solid.name for solid in found] == ["two", "two"]
    assert unseen[1].startswith("one is not checked: ") and why in unseen[1]


def test_links_of_meshes_are_held_against_things(tmp_path):
    import trimesh

    trimesh.creation.icosphere(3, 60.0).export(tmp_path / "part.stl")
    given = {"urdf": "two.urdf", "base": {}, "tool": "two"}
    robot(tmp_path)
    check = CollisionCheck(load_arm(given, tmp_path))
    wall = _engine.Transformed(_engine.Box((0.1, 0.1, 0.1)), (0.0, 0.3, 0.1), (0, 0, 0, 1))
    found, names = check.distances(np.zeros((1, 2)), Around({"wall": wall}))
    gaps = dict(zip(names, found[0], strict=True))
    # the second link's box reaches to y = 0.1 or so; the mesh stands on the first joint
    assert names.count(("two", "wall")) == 2
    assert gaps[("one", "wall")] == pytest.approx(0.2 - 0.06, abs=5e-3)


def test_keys_of_the_robots_yaml(tmp_path):
    arm = load_arm(UR5)
    assert arm.gripper is None and arm.surroundings == {"table": {"plane": {}}}
    base = {"urdf": str(UR5.parent / "../../urdf/ur5.urdf"), "tool": "tool0"}
    made = load_arm({**base, "gripper": {"to": [0, 0, 0.1], "radius": 0.05}}, tmp_path)
    np.testing.assert_allclose(made.gripper[0], [[0, 0, 0], [0, 0, 0.1]])
    assert solids.gripper_of(made)[0].radius == 0.05
    assert solids.gripper_of(replace(made, gripper=None)) == []
    for bad, key in (
        ({"gripper": {"to": [0, 0, 0.1]}}, "gripper.radius"),
        ({"gripper": {"to": [0, 0, 0.1], "radius": -1}}, "gripper.radius"),
        ({"gripper": {"to": [0, 0, np.nan], "radius": 0.1}}, "gripper.to"),
        ({"gripper": {"to": [0, 0, 0.1], "radius": 0.1, "size": 2}}, "gripper.size"),
        ({"gripper": 3}, "gripper"),
        ({"surroundings": [1]}, "surroundings"),
    ):
        with pytest.raises(InputError) as caught:
            load_arm({**base, **bad}, tmp_path)
        assert caught.value.key == key
