"""Rigid bodies whose shape is a mesh: mass, motion, contact, derivatives, what is refused."""

import math
from pathlib import Path

import numpy as np
import pytest

from diffsim_ros import _engine, meshes
from diffsim_ros.errors import InputError
from diffsim_ros.rotation import quat_matrix
from diffsim_ros.scene import load_scene
from diffsim_ros.scene.body_surface import body_surface
from diffsim_ros.scene.mesh_mass import insets, moments, winding
from diffsim_ros.scene.shapes import symmetric
from diffsim_ros.viz.scene_markers import body_markers, surroundings
from diffsim_ros.viz.scene_report import scene_motion
from tests.native.gradients import check_gradients
from tests.scene.body_on_floor import run, scene
from tests.scene.mesh_writing import box_surface, write_obj

pytest.importorskip("trimesh", reason="pip install diffsim_ros[mesh]")
BOB = Path(__file__).parents[2] / "data" / "bob" / "bob.obj"
SIZE = np.array([0.1, 0.2, 0.3])
AWAY = np.array([1.0, 2.0, 3.0])  # of the file's origin
G = 9.81


@pytest.fixture
def box(tmp_path):
    """A mesh of a box of SIZE, away from the origin of its file."""
    vertices, triangles = box_surface(SIZE)
    return {"mesh": {"file": write_obj(tmp_path / "box.obj", vertices + AWAY, triangles)}}


TUMBLE = {
    "pose": {"position": [0, 0, 0.35], "rotation": [0.5, 0.3, 0.2]},
    "velocity": [0.8, 0, 0], "angular_velocity": [1, 2, 3],
}  # fmt: skip


def test_a_mesh_of_a_box_is_the_box(box):
    """Mass, inertia, contact points and a toss with its impacts."""
    found = []
    for shape, kind in ((box, "vertices"), ({"box": {"size": SIZE.tolist()}}, "corners")):
        spheres = {"contact_spheres": {kind: {"radius": 0.002}}}
        model = load_scene(scene(shape, duration=0.8, density=80, mass=None, **spheres, **TUMBLE))
        body = model.parts.bodies["a"]
        found.append((body.total_mass(), body.total_inertia(), run(model).position[:, 0]))
        centres = body.contact_spheres_at_start().centres()
        assert np.abs(centres) == pytest.approx(np.tile(SIZE / 2 - 0.002, (8, 1)), rel=1e-12)
    (mass, inertia, path), (m, i, wanted) = found
    assert mass == pytest.approx(m, rel=1e-12)
    assert inertia == pytest.approx(i, rel=1e-12, abs=1e-12 * i.max())
    assert path == pytest.approx(wanted, abs=1e-9)
    assert path[:, 2].min() < 0.15  # it touched


def test_centre_and_axes_are_told(box):
    model = load_scene(scene(box))
    figures = model.shapes["a"]
    assert figures["centre_of_mass"] == pytest.approx(AWAY, rel=1e-12)
    assert figures["volume"] == pytest.approx(np.prod(SIZE), rel=1e-12)
    inertia = symmetric(model.parts.bodies["a"].total_inertia()) / 0.5
    axes = np.array(figures["principal_axes"])
    assert np.linalg.det(axes) == pytest.approx(1)
    diagonal = axes.T @ inertia @ axes
    assert diagonal == pytest.approx(np.diag(figures["principal_inertia_per_mass"]), abs=1e-15)


def test_a_given_centre_of_mass(box):
    """The body's origin is there; the box lies about it. With numbers for the inertia only."""
    off = np.array([0.01, -0.02, 0.03])
    shape = {"mesh": {**box["mesh"], "centre": (AWAY + off).tolist()}}
    body = load_scene(scene(shape, inertia=[1e-3, 2e-3, 2.5e-3])).parts.bodies["a"]
    vertices, _ = body.form.mesh
    assert vertices.mean(axis=0) == pytest.approx(-off, abs=1e-12)
    assert body.form.reach == pytest.approx(np.linalg.norm(SIZE / 2 + np.abs(off)))
    assert body.total_inertia()[:3] == pytest.approx([1e-3, 2e-3, 2.5e-3])
    assert body.surface()["transform"]["position"] == pytest.approx(-(AWAY + off))
    with pytest.raises(InputError, match=r"a\.inertia: got 'uniform'; accepted: numbers"):
        load_scene(scene(shape))
    with pytest.raises(InputError, match=r"shape\[0\]\.mesh\.centre.*give the members densities"):
        load_scene(scene([shape]))
    still = {"type": "kinematic", "shape": shape, "pose": {}}
    motion = scene({"sphere": {"radius": 0.02}})
    with pytest.raises(InputError, match=r"block\.shape\.mesh\.centre.*remove it"):
        load_scene({**motion, "bodies": {**motion["bodies"], "block": still}})


def test_moments_of_a_turned_and_shifted_mesh():
    """A ball's and a turned box's, against closed forms of the polyhedra by their tets."""
    vertices, tets = meshes.ball(3, 0.1)
    x = vertices @ np.array([[0.8, -0.6, 0], [0.6, 0.8, 0], [0, 0, 1]]) * [1, 2, 3] + [5, -7, 9]
    volume, centre, inertia = moments(x, meshes.surface(tets))
    v = meshes.determinants(x, tets) / 6
    corners = x[tets]
    assert volume == pytest.approx(v.sum(), rel=1e-12)
    assert centre == pytest.approx(v @ corners.mean(axis=1) / v.sum(), rel=1e-12)
    corners = corners - centre
    total = corners.sum(axis=1)
    second = np.einsum("t,tki,tkj->ij", v, corners, corners)
    second = (second + np.einsum("t,ti,tj->ij", v, total, total)) / (20 * v.sum())
    assert inertia == pytest.approx(np.trace(second) * np.eye(3) - second, rel=1e-10, abs=1e-14)


def test_mass_of_bob_is_mujocos():
    """MuJoCo keeps vertices in single precision."""
    mujoco = pytest.importorskip("mujoco")
    xml = (f'<mujoco><compiler meshdir="{BOB.parent}"/><asset><mesh name="bob" file="bob.obj" '
           'inertia="exact"/></asset><worldbody><body name="bob"><freejoint/><geom type="mesh" '
           'mesh="bob" density="800"/></body></worldbody></mujoco>')  # fmt: skip
    peer = mujoco.MjModel.from_xml_string(xml).body("bob")
    body = load_scene(scene({"mesh": {"file": str(BOB)}}, mass=None, density=800)).parts.bodies["a"]
    assert body.total_mass() == pytest.approx(peer.mass[0], rel=1e-5)
    assert body.form.centre == pytest.approx(peer.ipos, abs=1e-7)
    w, x, y, z = peer.iquat
    turn = quat_matrix(np.array([x, y, z, w]))
    theirs = turn @ np.diag(peer.inertia) @ turn.T
    assert symmetric(body.total_inertia()) == pytest.approx(theirs, rel=1e-4, abs=1e-8)


def test_bob_tumbles_freely_without_loss():
    """Energy and both momenta over 3 s, several turns."""
    motion = scene({"mesh": {"file": str(BOB)}}, gravity=(0, 0, 0), duration=3, step=1 / 500,
                   velocity=[0.1, 0.2, 0.3], angular_velocity=[1, 8, 2])  # fmt: skip
    del motion["contact"]
    model = load_scene(motion)
    result = run(model)
    energy = model.engine.energies(result)["total"]
    assert np.ptp(energy) < 2e-4 * energy[0]  # of the time scheme
    inertia = symmetric(model.parts.bodies["a"].total_inertia())
    spin = []
    for q, w in zip(result.orientation[:, 0], result.angular_velocity[:, 0], strict=True):
        turn = quat_matrix(q)
        spin.append(turn @ inertia @ turn.T @ w)
    assert np.ptp(spin, axis=0).max() < 1e-4 * np.linalg.norm(spin[0])
    assert np.ptp(result.velocity[:, 0], axis=0).max() < 1e-12
    assert np.abs(result.angular_velocity[:, 0, 0]).max() > 1.5  # it does tumble


def test_a_mesh_slides_and_rests_on_its_vertices(box):
    """g (sin - c_f cos) down an incline; on a level one it sinks by its weight."""
    slope = 0.4
    gravity = (G * math.sin(slope), 0, -G * math.cos(slope))
    law = {"k_n": 1e5, "c_n": 3, "c_f": 0.2}
    lying = {"position": [0, 0, SIZE[2] / 2]}
    model = load_scene(scene(box, gravity=gravity, law=law, pose=lying, step=1e-3))
    result, half = run(model), 250
    speed = result.velocity[:, 0, 0]
    wanted = G * (math.sin(slope) - 0.2 * math.cos(slope))
    got = (speed[-1] - speed[half]) / (result.time[-1] - result.time[half])
    assert got == pytest.approx(wanted, rel=1e-3)
    result = run(load_scene(scene(box, law={**law, "c_n": 20}, pose=lying, step=1e-3)))
    depth = SIZE[2] / 2 - result.position[-1, 0, 2]
    assert depth == pytest.approx(0.5 * G / (0.5 * 1e5), rel=1e-3)  # four of eight vertices
    assert result.contact_force[-1].sum(axis=0) == pytest.approx([0, 0, 0.5 * G], abs=1e-3)


def test_bob_comes_to_rest_with_a_ball_on_him():
    """The ball sits in the hole of his ring, on his level set; the floor carries both."""
    law, low = {"k_n": 5e4, "c_n": 3, "c_f": 0.8}, {"position": [0, 0, 0.06]}
    motion = scene({"mesh": {"file": str(BOB)}}, duration=1.5, step=2e-3, law=law, pose=low)
    ball = {"shape": {"sphere": {"radius": 0.045}}, "mass": 0.05}
    motion["bodies"]["ball"] = {**ball, "pose": {"position": [0.02, 0, 0.15]}}
    motion["contact"].append({"pairs": [["ball", "a"]], "k_n": 5e3, "c_n": 5, "c_f": 0.5})
    model = load_scene({**motion, "strict": True})
    result = run(model)
    assert model.crossings(result) == []
    assert np.abs(result.velocity[-1]).max() < 0.02
    carried = result.contact_force[-1, :64].sum(axis=0)
    assert carried[2] == pytest.approx(0.55 * G, rel=0.01)
    body, node = model.parts.bodies["a"], model.engine.nodes_of("ball")[0]
    at = (result.position[-1, node] - result.position[-1, 0]) @ quat_matrix(
        result.orientation[-1, 0]
    )
    vertices, _ = body.form.mesh
    assert np.linalg.norm(vertices - at, axis=1).min() == pytest.approx(0.045, abs=2e-3)
    assert model.sdfs[0].name == "floor" and len(model.sdfs) == 1  # his surface is drawn once


def test_derivatives_of_a_mesh_on_the_floor_and_under_a_ball(box):
    motion = scene(box, duration=0.1, step=1e-3, law={"k_n": 5e3}, **TUMBLE)
    motion["bodies"]["a"]["pose"]["position"] = [0, 0, 0.185]
    motion["bodies"]["a"]["shape"]["mesh"]["voxel"] = 0.02
    ball = {"shape": {"sphere": {"radius": 0.03}}, "mass": 0.2, "velocity": [0, 0, -2.0]}
    motion["bodies"]["ball"] = {**ball, "pose": {"position": [0.02, 0, 0.42]}}
    motion["contact"].append({"pairs": [["ball", "a"]], "k_n": 2e3, "c_n": 0.5, "c_f": 0.3})
    model = load_scene(motion)
    names = ["a.mass", "a.inertia.xx", "a.inertia.yz", "a_contact_spheres.scale",
             "a_contact_spheres.radius", "ball_a.k_n", "ball_a.surface_scale", "a.position.z",
             "ball.velocity.x"]  # fmt: skip
    options = _engine.Options(step=1e-3, stagnate=True)
    result = check_gradients(model.engine, model.steps, options, names, tolerance=1e-5)
    force = np.abs(result.contact_force).max(axis=(0, 2))
    assert force[:8].max() > 1 and force[8:].max() > 1  # both contacts


def test_mass_and_density_are_parameters(box):
    motion = scene(box, mass=None, density=80)
    motion["parameters"] = {"bodies.a.density": {"bounds": [1, 1000]}}
    (density,) = load_scene(motion).parameters
    volume = np.prod(SIZE)
    assert density.sets["a.mass"][0] == pytest.approx(volume, rel=1e-12)
    across = volume * (SIZE[1] ** 2 + SIZE[2] ** 2) / 12
    assert density.sets["a.inertia.xx"][0] == pytest.approx(across, rel=1e-12)


def test_files_in_millimetres(tmp_path, box):
    """.stl and .ply, with `scale: 1 mm`; 1 in the file is a metre else, which is refused."""
    trimesh = pytest.importorskip("trimesh")
    vertices, triangles = box_surface(SIZE * 1000)
    for suffix in ("stl", "ply"):
        path = tmp_path / f"box.{suffix}"
        trimesh.Trimesh(vertices, triangles).export(path)
        shape = {"mesh": {"file": str(path), "scale": "1 mm"}}
        form = load_scene(scene(shape)).parts.bodies["a"].form
        assert form.size == pytest.approx(SIZE, rel=1e-6)
        with pytest.raises(InputError, match=r"a\.shape\.mesh\.file.*millimetres"):
            load_scene(scene({"mesh": {"file": str(path)}}))


def test_pictures_have_the_mesh(box):
    model = load_scene(scene(box, duration=0.01))
    surface = body_surface(model, "a")
    assert np.ptp(surface.fixed, axis=0) == pytest.approx(SIZE)
    assert moments(surface.fixed, surface.triangles)[0] == pytest.approx(np.prod(SIZE))
    (marker,) = body_markers(model, run(model), "a", 0)
    assert marker.points.shape == (36, 3)
    assert np.abs(marker.points).max(axis=0) == pytest.approx(SIZE / 2)
    assert model.bodies["a"].reach == pytest.approx(np.linalg.norm(SIZE) / 2)
    assert len(surroundings(model, run(model))) == 1
    (body,) = scene_motion(model, run(model))["bodies"]
    assert body["kind"] == "mesh" and len(body["p"]) == model.steps + 1
    assert np.ptp(body["local"], axis=0) == pytest.approx(SIZE)


def test_spheres_are_inset_to_touch_the_planes_at_a_vertex():
    """Exactly at edges and corners; along the normal on what is nearly flat."""
    vertices, triangles = box_surface(SIZE, (2, 2, 2))
    found = insets(vertices, triangles, np.arange(len(vertices)))
    at_face = np.abs(np.abs(vertices) - SIZE / 2) < 1e-9
    surface = at_face.any(axis=1)
    wanted = np.where(at_face, -np.sign(vertices), 0)
    assert found[surface] == pytest.approx(wanted[surface], abs=1e-9)
    vertices, tets = meshes.ball(8, 0.1)
    skin = np.unique(meshes.surface(tets))
    found = insets(vertices, meshes.surface(tets), skin)
    assert found == pytest.approx(-vertices[skin] / 0.1, abs=0.05)


def test_open_inverted_and_nested_surfaces_are_refused(tmp_path):
    vertices, triangles = box_surface(SIZE)
    inner, outer = 0.5 * vertices, vertices
    both = np.concatenate([outer, inner])
    apart = np.concatenate([outer, np.add(inner, [1, 0, 0])])
    flipped = np.concatenate([triangles, triangles[:, ::-1] + 8])
    cases = {
        "open": (vertices, triangles[1:], "3 open edges"),
        "inverted": (vertices, triangles[:, ::-1], "normals point outwards; flip all triangles"),
        "nested": (both, np.concatenate([triangles, triangles + 8]), "within another"),
        "half": (apart, flipped, "by itself with normals inwards"),
    }
    for name, (x, faces, hint) in cases.items():
        shape = {"mesh": {"file": write_obj(tmp_path / f"{name}.obj", x, faces)}}
        with pytest.raises(InputError) as caught:
            load_scene(scene(shape))
        assert "bodies.a.shape.mesh.file: got " in str(caught.value)
        assert hint in str(caught.value), name
    hollow = {"mesh": {"file": write_obj(tmp_path / "hollow.obj", both, flipped)}}
    form = load_scene(scene(hollow)).parts.bodies["a"].form
    assert form.volume == pytest.approx(7 / 8 * np.prod(SIZE), rel=1e-12)  # a cavity
    assert winding(vertices, triangles, np.zeros(3)) == pytest.approx(1)
    assert winding(vertices, triangles, SIZE) == pytest.approx(0, abs=1e-12)


def test_a_kinematic_mesh_keeps_the_frame_of_its_file(box):
    """A ball rests on top of it, where the file has its upper face."""
    motion = scene({"sphere": {"radius": 0.02}}, pose={"position": [*AWAY[:2], AWAY[2] + 0.175]})
    motion["bodies"]["block"] = {"type": "kinematic", "pose": {"position": [0, 0, 0]}, "shape": box}
    motion["contact"] = [{"pairs": [["a", "block"]], "k_n": 1e4, "c_n": 20}]
    model = load_scene({**motion, "strict": True})
    result = run(model)
    node = model.engine.nodes_of("a")[0]
    wanted = np.add(AWAY, [0, 0, SIZE[2] / 2 + 0.02 - 0.5 * G / 1e4])
    assert result.position[-1, node] == pytest.approx(wanted, abs=1e-4)
