"""Compounds: mass by parallel axes, the union as a surface, contact spheres, exports, refusals."""

import math
from xml.etree import ElementTree

import numpy as np
import pytest

from diffsim_ros import _engine
from diffsim_ros.cli import main
from diffsim_ros.errors import InputError
from diffsim_ros.output import write_yaml
from diffsim_ros.rotation import quat_matrix
from diffsim_ros.scene import load_scene
from diffsim_ros.scene.mesh_mass import moments
from diffsim_ros.scene.shapes import symmetric
from tests.native.gradients import check_gradients
from tests.scene.body_on_floor import run, scene
from tests.scene.edits import resolve
from tests.scene.mesh_writing import box_surface, write_obj

G = 9.81
SIZE = [0.1, 0.2, 0.3]
HALVES = [
    {"box": {"size": [0.1, 0.2, 0.15]}, "position": [3, 1, 0.075]},
    {"box": {"half_extents": [0.075, 0.1, 0.05]}, "position": [3, 1, -0.075],
     "rotation": [0, "90 deg", 0]},
]  # fmt: skip
HAMMER = [
    {"cylinder": {"radius": "12 mm", "height": 0.25}, "density": "0.7 g/cm^3"},
    {"box": {"size": [0.1, 0.03, 0.03]}, "position": [0, 0, 0.14], "density": 7800},
]
R, AWAY = 0.03, 0.1
DUMBBELL = [{"sphere": {"radius": R}, "position": [x, 0, 0]} for x in (-AWAY, AWAY)]


def body_of(shape, **more):
    return load_scene(scene(shape, **more)).parts.bodies["a"]


def test_two_halves_are_the_whole_box():
    """Mass, inertia and a toss; where the members are placed does not matter."""
    corners = np.array(np.meshgrid(*[(-1, 1)] * 3)).reshape(3, -1).T * SIZE / 2
    spheres = {"points": {"positions": corners.tolist()}}
    tumble = {"pose": {"position": [0, 0, 0.35], "rotation": [0.5, 0.3, 0.2]},
              "angular_velocity": [1, 2, 3], "contact_spheres": spheres}  # fmt: skip
    found = []
    for shape in (HALVES, {"box": {"size": SIZE}}):
        model = load_scene(scene(shape, mass=None, density=80, **tumble))
        body = model.parts.bodies["a"]
        found.append((body.total_mass(), body.total_inertia(), run(model).position[:, 0]))
    (mass, inertia, path), (m, i, wanted) = found
    assert mass == pytest.approx(m, rel=1e-12)
    assert inertia == pytest.approx(i, rel=1e-12, abs=1e-12 * i.max())
    assert path == pytest.approx(wanted, abs=1e-9)
    assert body_of(HALVES).form.centre == pytest.approx([3, 1, 0], abs=1e-12)


def test_a_dumbbell_by_parallel_axes():
    inertia = body_of(DUMBBELL, mass=2.0).total_inertia()
    own = 0.4 * 2.0 * R**2
    across = own + 2.0 * AWAY**2
    assert inertia == pytest.approx([own, across, across, 0, 0, 0], rel=1e-12, abs=1e-15)


def test_a_hammer_by_parallel_axes():
    body = body_of(HAMMER, mass=None)
    handle, head = 700 * math.pi * 0.012**2 * 0.25, 7800 * 0.1 * 0.03**2
    assert body.mass == body.total_mass() == pytest.approx(handle + head, rel=1e-12)
    centre = 0.14 * head / (handle + head)
    assert body.form.centre == pytest.approx([0, 0, centre], rel=1e-12)
    xx = handle * (3 * 0.012**2 + 0.25**2) / 12 + head * (0.03**2 + 0.03**2) / 12
    xx += handle * centre**2 + head * (0.14 - centre) ** 2
    assert body.total_inertia()[0] == pytest.approx(xx, rel=1e-12)
    heavier = body_of(HAMMER, mass=2 * (handle + head))  # densities are shares of it then
    assert heavier.total_inertia() == pytest.approx(2 * body.total_inertia(), rel=1e-12)
    again = resolve(scene(HAMMER, mass=None), "x.yaml")
    assert resolve(again, "x.yaml") == again


def test_a_mesh_may_be_a_member(tmp_path):
    """Two half boxes, one of them a mesh: the whole box."""
    vertices, triangles = box_surface([0.1, 0.2, 0.15])
    file = write_obj(tmp_path / "half.obj", np.add(vertices, [5, 0, 0]), triangles)
    mesh = {"mesh": {"file": file}, "position": [-5, 0, -0.075]}
    shape = [{"box": {"size": [0.1, 0.2, 0.15]}, "position": [0, 0, 0.075]}, mesh]
    whole = body_of({"box": {"size": SIZE}}).total_inertia()
    body = body_of(shape)
    assert body.total_inertia() == pytest.approx(whole, rel=1e-12, abs=1e-12)
    x, faces = body.form.mesh
    assert moments(x, faces)[0] == pytest.approx(np.prod(SIZE))
    assert np.abs(x).max(axis=0) == pytest.approx(np.array(SIZE) / 2)


def test_free_flight_keeps_energy_and_momentum():
    spin = {"angular_velocity": [1, 6, 2], "velocity": [1, 0, 0]}
    motion = scene(HAMMER, mass=None, gravity=(0, 0, 0), duration=2, step=1 / 500, **spin)
    del motion["contact"]
    model = load_scene(motion)
    result = run(model)
    energy = model.engine.energies(result)["total"]
    assert np.ptp(energy) < 2e-4 * energy[0]
    inertia = symmetric(model.parts.bodies["a"].total_inertia())
    turn = quat_matrix(result.orientation[:, 0])
    momentum = np.einsum("fij,jk,flk,fl->fi", turn, inertia, turn, result.angular_velocity[:, 0])
    assert np.ptp(momentum, axis=0).max() < 1e-4 * np.linalg.norm(momentum[0])


def test_contact_spheres_touch_the_members_and_share_alike():
    body = body_of([HAMMER[0], {**HAMMER[1], "position": [0, 0, 0.125]}], mass=None)
    points = body.contact_spheres_at_start()
    union = _surface(body)
    assert union.evaluate(points.centres())[0] == pytest.approx(-points.radius, abs=1e-9)
    weights = body.contact_weights()
    assert weights.sum() == pytest.approx(1)
    head = np.isclose(weights, 0.5 / 8)
    assert head.sum() == 8 and weights[~head].sum() == pytest.approx(0.5)
    assert len(weights) == 8 + 32  # the end of the handle that is in the head has none
    round_ones = body_of(DUMBBELL)
    assert round_ones.contact_spheres["members"]["radius"] == R
    centres = round_ones.contact_spheres_at_start().centres()
    assert centres == pytest.approx(np.array([[-AWAY, 0, 0], [AWAY, 0, 0]]))
    mixed = [*DUMBBELL, {"capsule": {"radius": 0.01, "length": 0.1}, "rotation": [0, 1.5, 0]}]
    body = body_of(mixed)
    points = body.contact_spheres_at_start()
    assert _surface(body).evaluate(points.centres())[0] == pytest.approx(-points.radius, abs=1e-4)


def _surface(body):
    from diffsim_ros.fields import Reader
    from diffsim_ros.scene.sdfs import resolve_surface

    return resolve_surface(Reader("x"), {}, body.surface(), "x").engine({})


def test_a_dumbbell_rolls_like_a_ball_of_its_inertia():
    """Down an incline: a = g sin / (1 + I/(m r^2)), about its axis."""
    slope = 0.2
    shape = [{**one, "sphere": {"radius": R}} for one in DUMBBELL]
    gravity = (0, G * math.sin(slope), -G * math.cos(slope))
    model = load_scene(scene(shape, gravity=gravity, pose={"position": [0, 0, R]}, step=1e-3,
                             law={"k_n": 1e5, "c_n": 0, "k_t": 2e3, "c_f": 0.8}))  # fmt: skip
    result, half = run(model), 400
    speed = result.velocity[:, 0, 1]
    got = (speed[-1] - speed[half]) / (result.time[-1] - result.time[half])
    assert got == pytest.approx(G * math.sin(slope) / 1.4, rel=2e-3)


def test_a_ball_rests_on_a_member():
    """On the upper half of two, by a pair: on the union's surface."""
    motion = scene({"sphere": {"radius": 0.02}}, pose={"position": [0.02, 0, 0.32]}, duration=0.4)
    halves = [{**one, "position": [0, 0, one["position"][2]]} for one in HALVES]
    motion["bodies"]["block"] = {"type": "kinematic", "shape": halves,
                                 "pose": {"position": [0, 0, 0.15]}}  # fmt: skip
    motion["contact"] = [{"pairs": [["a", "block"]], "k_n": 1e4, "c_n": 20}]
    model = load_scene({**motion, "strict": True})
    node = model.engine.nodes_of("a")[0]
    assert run(model).position[-1, node, 2] == pytest.approx(0.32 - 0.5 * G / 1e4, abs=1e-6)


def test_derivatives_of_a_hammer_that_falls_on_a_ball():
    motion = scene(HAMMER, mass=None, step=1e-3, duration=0.1, law={"k_n": 2e4},
                   pose={"position": [0, 0, 0.12], "rotation": [0.2, 1.2, 0]},
                   velocity=[0.2, 0, -1.5], angular_velocity=[1, 2, 0.5])  # fmt: skip
    ball = {"shape": {"sphere": {"radius": 0.03}}, "mass": 0.3}
    motion["bodies"]["ball"] = {**ball, "pose": {"position": [0, 0, 0.03]}}
    motion["contact"].append({"pairs": [["ball", "a"]], "k_n": 5e3, "c_n": 0.5, "c_f": 0.3})
    model = load_scene(motion)
    names = ["a.mass", "a.inertia.yy", "a_contact_spheres.radius", "a_contact_spheres.scale",
             "floor.k_n", "ball_a.k_n", "ball_a.surface.of[0].of.radius", "a.position.z",
             "a.angular_velocity.x"]  # fmt: skip
    options = _engine.Options(step=1e-3, stagnate=True)
    result = check_gradients(model.engine, model.steps, options, names, tolerance=1e-5)
    force = np.abs(result.contact_force).max(axis=(0, 2))
    assert force[:-1].max() > 1 and force[-1] > 1  # floor, and ball


def test_paths_of_a_compound_are_parameters():
    motion = scene(HAMMER, mass=None)
    high = {"position": [0, 0, 1]}
    motion["bodies"]["ball"] = {"shape": {"sphere": {"radius": 0.03}}, "mass": 0.3, "pose": high}
    motion["contact"].append({"pairs": [["ball", "a"]], "k_n": 5e3, "c_n": 0})
    paths = {
        "bodies.a.mass": ("a.mass", "a.inertia.xx", "a.inertia.yy", "a.inertia.zz"),
        "bodies.a.contact_spheres.members.radius": ("a_contact_spheres.radius",),
        "contact.ball_a.against.union.of[1].transform.of.box.size.x":
            ("ball_a.surface.of[1].of.size.x",),
    }  # fmt: skip
    motion["parameters"] = {path: {"bounds": [1e-4, 10]} for path in paths}
    model = load_scene(motion)
    for found, (path, names) in zip(model.parameters, paths.items(), strict=True):
        assert found.name == path and set(found.sets) == set(names)
    inertia = model.parts.bodies["a"].form.inertia[0]
    assert model.parameters[0].sets["a.inertia.xx"][0] == pytest.approx(inertia, rel=1e-12)


def test_exports_have_all_members(tmp_path):
    """MuJoCo's mass and inertia of the exported geoms alone; the mesh lies where the shape is."""
    mujoco = pytest.importorskip("mujoco")
    vertices, triangles = box_surface([0.06, 0.04, 0.05])
    file = write_obj(tmp_path / "head.obj", np.add(vertices, [1, 0, 0]), triangles)
    shape = [HAMMER[0], {"mesh": {"file": file}, "position": [0.1, 0.02, 0.14],
                         "orientation": [0, 0, 0.6, 0.8], "density": 7800}]  # fmt: skip
    write_yaml(tmp_path / "scene.yaml", scene(shape, mass=None))
    assert main(["export", str(tmp_path / "scene.yaml"), "--out", str(tmp_path / "out")]) == 0
    body = load_scene(tmp_path / "scene.yaml").parts.bodies["a"]
    tree = ElementTree.parse(tmp_path / "out" / "scene.mjcf.xml")
    (node,) = tree.getroot().iter("body")
    node.remove(node.find("inertial"))
    for geom, density in zip(node.findall("geom"), (700, 7800), strict=True):
        geom.set("density", str(density))
    tree.write(tmp_path / "out" / "geoms.xml")
    peer = mujoco.MjModel.from_xml_path(str(tmp_path / "out" / "geoms.xml"))
    one = peer.body("a")
    assert one.mass[0] == pytest.approx(body.mass, rel=1e-6)
    assert one.ipos == pytest.approx(np.zeros(3), abs=1e-7)
    turn = quat_matrix(np.array([*one.iquat[1:], one.iquat[0]]))
    theirs = turn @ np.diag(one.inertia) @ turn.T
    assert theirs == pytest.approx(symmetric(body.total_inertia()), rel=1e-5, abs=1e-9)
    for name in ("scene.urdf", "scene.sdf"):
        root = ElementTree.parse(tmp_path / "out" / name).getroot()
        assert len(list(root.iter("collision"))) == 2
        assert "a_1.obj" in ElementTree.tostring(root, encoding="unicode")


@pytest.mark.parametrize(
    ("shape", "more", "key", "hint"),
    [
        ([], {}, "shape", "at least one member"),
        ([{"box": {"size": SIZE}, "sphere": {"radius": 1}}], {}, "shape[0]", "give exactly one"),
        ([{"position": [0, 0, 1]}], {}, "shape[0]", "one of box, sphere"),
        ([{"cone": {}}], {}, "shape[0].cone", "one of box, sphere"),
        ([{"box": {"size": [0, 1, 1]}}], {}, "shape[0].box.size[0]", "> 0"),
        ({"compound": HALVES}, {}, "shape", "a compound is a list"),
        ([HALVES[0], {**HALVES[1], "density": 1}], {}, "shape[0].density", "member 1 has one"),
        (HAMMER, {"density": 5, "mass": None}, "density", "the members' densities alone"),
        (HALVES, {"contact_spheres": "corners"}, "contact_spheres.corners", "a box as shape"),
        (HALVES, {"contact_spheres": {"members": {"radius": 1}}}, "contact_spheres.members.radius",
         "at most the smallest half extent, 0.05 m"),
    ],
)  # fmt: skip
def test_wrong_compounds_are_named(shape, more, key, hint):
    with pytest.raises(InputError) as caught:
        resolve(scene(shape, **more), "x.yaml")
    text = str(caught.value)
    assert text.startswith(f"x.yaml: bodies.a.{key}: got ") and hint in text
