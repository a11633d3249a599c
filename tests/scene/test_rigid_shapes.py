"""Rigid cylinders and capsules: inertia, contact with closed forms, derivatives, pictures."""

import math
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from diffsim_ros import _engine, meshes
from diffsim_ros.errors import InputError
from diffsim_ros.scene import load_scene, shapes
from diffsim_ros.scene.body_surface import body_surface
from diffsim_ros.viz.markers import MarkerKind
from diffsim_ros.viz.scene_markers import body_markers
from tests.scene.edits import resolve

CYLINDER = {"cylinder": {"radius": 0.05, "height": 0.2}}
CAPSULE = {"capsule": {"radius": 0.05, "length": 0.2}}
SIZES = {"cylinder": np.array([0.1, 0.1, 0.2]), "capsule": np.array([0.1, 0.1, 0.3])}
G = 9.81


def scene(shape, *, step=1e-3, duration=0.4, gravity=(0, 0, -G), more=None, law=None, **body):
    """One body over the plane z = 0, lying: its axis is along y."""
    radius = 0.05
    lying = {"position": [0, 0, radius], "rotation": [-math.pi / 2, 0, 0]}
    law = {"k_n": 1e5, "c_n": 0.5, "c_f": 0.8, **(law or {})}
    return {
        "world": {"step": step, "duration": duration, "gravity": list(gravity)},
        "bodies": {"roll": {"shape": shape, "mass": 2.0, "pose": lying, **body}},
        "contact": [{"name": "floor", "points": "roll", "against": {"plane": {}}, **law}],
        **(more or {}),
    }


@pytest.mark.parametrize("kind", ["cylinder", "capsule"])
def test_volume_and_inertia_match_sampling(kind):
    """2e6 points of the bounding box; the standard error is below 1e-3."""
    size, rng = SIZES[kind], np.random.default_rng(3)
    x = (rng.random((2_000_000, 3)) - 0.5) * size
    sdf = _engine.Cylinder(0.1, 0.05) if kind == "cylinder" else _engine.Capsule(0.1, 0.05)
    inside = x[sdf.evaluate(x)[0] < 0]
    share = len(inside) / len(x)
    assert shapes.volume(kind, size) == pytest.approx(share * np.prod(size), rel=3e-3)
    square = (inside**2).mean(axis=0)
    wanted = [square.sum() - s for s in square]
    assert shapes.uniform_inertia(kind, size)[:3] == pytest.approx(wanted, rel=4e-3)
    assert not shapes.uniform_inertia(kind, size)[3:].any()


def test_inertia_in_closed_form():
    r, h = 0.05, 0.2
    got = shapes.uniform_inertia("cylinder", SIZES["cylinder"])
    assert got[:3] == pytest.approx([(3 * r * r + h * h) / 12] * 2 + [r * r / 2], rel=1e-14)
    thin = shapes.uniform_inertia("capsule", np.array([0.1, 0.1, 0.1 + 1e-12]))
    assert thin[:3] == pytest.approx([0.4 * r * r] * 3, rel=1e-9)  # a ball


def test_a_body_of_a_density():
    model = load_scene(scene(CYLINDER, mass=None, density=1000.0))
    value = dict(zip((i.name for i in model.engine.parameters), model.engine.values, strict=True))
    assert value["roll.mass"] == pytest.approx(1000 * math.pi * 0.05**2 * 0.2, rel=1e-14)
    assert value["roll.inertia.zz"] == pytest.approx(value["roll.mass"] * 0.05**2 / 2, rel=1e-14)


def test_contact_spheres_touch_the_surface():
    for shape, count in ((CYLINDER, 64), (CAPSULE, 2)):
        body = load_scene(scene(shape)).parts.bodies["roll"]
        points = body.contact_spheres_at_start()
        assert points.centres().shape == (count, 3)
        kind = next(iter(shape))
        sdf = _engine.Cylinder(0.1, 0.05) if kind == "cylinder" else _engine.Capsule(0.1, 0.05)
        assert sdf.evaluate(points.centres())[0] == pytest.approx(-points.radius, abs=1e-15)


@pytest.mark.parametrize(
    ("shape", "share", "within"),
    [(CAPSULE, None, 2e-3), (CYLINDER, 2 / 3, 3e-3)],
)
def test_it_rolls_down_an_incline(shape, share, within):
    """a = g sin(slope) / (1 + I/(m r^2)); of a cylinder 2/3 g sin(slope)."""
    slope, (kind,) = 0.2, shape
    inertia = shapes.uniform_inertia(kind, SIZES[kind])[2]
    wanted = G * math.sin(slope) / (1 + inertia / 0.05**2)
    if share:
        assert wanted == pytest.approx(share * G * math.sin(slope), rel=1e-12)
    gravity = (G * math.sin(slope), 0, -G * math.cos(slope))
    law, rims = {"k_t": 2e3}, {}
    if kind == "cylinder":  # stiff: it rolls on the radius less the depth; damping would brake it
        law = {"k_n": 3e6, "k_t": 2e4, "c_n": 0}
        rims = {"contact_spheres": {"rims": {"count": 96}}}
    model = load_scene(scene(shape, gravity=gravity, duration=0.8, law=law, **rims))
    run = _engine.rollout(model.engine, model.engine.values, model.steps)
    assert run.ok
    half = len(run.time) // 2  # after it has settled on its contact
    way = run.velocity[-1, 0, 0] - run.velocity[half, 0, 0]
    assert way / (run.time[-1] - run.time[half]) == pytest.approx(wanted, rel=within)
    spin = run.angular_velocity[-1, 0]
    assert spin[1] == pytest.approx(run.velocity[-1, 0, 0] / 0.05, rel=2e-2)
    assert np.abs(spin[[0, 2]]).max() < 1e-6


def test_a_capsule_rests_where_its_weight_says():
    model = load_scene(scene(CAPSULE, duration=0.5, law={"c_n": 20.0}))
    run = _engine.rollout(model.engine, model.engine.values, model.steps)
    assert run.position[-1, 0, 2] == pytest.approx(0.05 - 2 * G / 1e5, abs=1e-7)
    standing = scene(CYLINDER, duration=0.5, pose={"position": [0, 0, 0.1]}, law={"c_n": 20.0})
    model = load_scene(standing)
    run = _engine.rollout(model.engine, model.engine.values, model.steps)
    assert run.position[-1, 0, 2] == pytest.approx(0.1 - 2 * G / 0.5e5, abs=1e-7)  # on one rim


@pytest.mark.parametrize("shape", [CYLINDER, CAPSULE])
def test_derivatives_of_a_tumbling_motion(shape):
    """S and lambda of the last place by mass, contact and start, against differences."""
    motion = scene(shape, duration=0.12, velocity=[0.5, 0.2, -1],
                   angular_velocity=[1, 3, 2], law={"k_n": 5e3})  # fmt: skip
    motion["bodies"]["roll"]["pose"] = {"position": [0, 0, 0.12], "rotation": [0.7, 0.3, 0.2]}
    model = load_scene(motion)
    engine = model.engine
    names = ("roll.mass", "roll.inertia.xx", "roll_contact_spheres.radius", "floor.k_n",
             "roll.position.z", "roll.angular_velocity.x")  # fmt: skip
    columns = [engine.index(name) for name in names]
    options = _engine.Options(step=1e-3, stagnate=True)
    base = engine.values
    run = _engine.rollout(engine, base, model.steps, options, active=columns, mode="sensitivity")
    assert np.abs(run.contact_force).max() > 1
    S = run.dx[-1, :3]
    kept = _engine.rollout(engine, base, model.steps, options, active=columns, mode="store")
    gx = np.zeros((len(kept.time), engine.ndof))
    for axis in range(3):
        gx[:] = 0
        gx[-1, axis] = 1
        assert kept.gradient(gx, 0 * gx) == pytest.approx(S[axis], rel=1e-8, abs=1e-10)
    for k, column in enumerate(columns):
        best = np.inf
        for h in (1e-5, 1e-6, 1e-7):
            step, ends = h * max(abs(base[column]), 1e-3), []
            for sign in (1, -1):
                p = base.copy()
                p[column] += sign * step
                ends.append(_engine.rollout(engine, p, model.steps, options).position[-1, 0])
            slope = (ends[0] - ends[1]) / (2 * step)
            best = min(best, np.abs(slope - S[:, k]).max() / max(np.abs(S[:, k]).max(), 1e-6))
        assert best < 1e-5, names[k]


@pytest.mark.parametrize("shape", [CYLINDER, CAPSULE])
def test_pictures_have_its_surface(shape):
    model = load_scene(scene(shape, duration=2e-3))
    (kind,) = shape
    surface = body_surface(model, "roll")
    x = surface.fixed[surface.triangles]
    volume = np.einsum("ni,ni->n", x[:, 0], np.cross(x[:, 1], x[:, 2])).sum() / 6
    assert volume == pytest.approx(shapes.volume(kind, SIZES[kind]), rel=0.015)  # outward
    edges = meshes.edges(surface.triangles)
    assert len(surface.fixed) - len(edges) + len(surface.triangles) == 2  # closed
    run = _engine.rollout(model.engine, model.engine.values, 1)
    (marker,) = body_markers(model, run, "roll", 0)
    assert marker.kind is MarkerKind.TRIANGLE_LIST
    assert np.ptp(marker.points, axis=0) == pytest.approx(SIZES[kind], rel=0.01)


def test_a_picture_stands_instead_of_the_shape():
    """Of two parts, where they are placed; [] is nothing; neither changes the motion."""
    parts = [
        {"box": {"size": [0.2, 0.1, 0.1]}},
        {"sphere": {"radius": 0.05}, "position": [0, 0, 1]},
    ]
    plain, drawn, none = (load_scene(scene(CYLINDER, picture=p)) for p in (None, parts, []))
    runs = [_engine.rollout(m.engine, m.engine.values, 5) for m in (plain, drawn, none)]
    assert all(np.array_equal(run.position, runs[0].position) for run in runs)
    vertices = drawn.bodies["roll"].vertices
    assert vertices.max(axis=0) == pytest.approx([0.1, 0.05, 1.05], abs=1e-3)
    assert body_markers(none, runs[2], "roll", 0) == []
    again = load_scene(drawn.description)  # as results keep it
    assert np.array_equal(again.bodies["roll"].vertices, vertices)


@pytest.mark.parametrize(
    ("picture", "key", "rule"),
    [
        ({"box": {"size": [1, 1, 1]}}, "picture", "a list of shapes"),
        ([{"box": {"size": [1, 1, 1]}, "density": 5}], "picture[0].density", "has no mass"),
        ([{"mesh": {"file": "no.obj"}}], "bodies.roll.picture[0].mesh.file", "no.obj"),
    ],
)
def test_wrong_pictures_are_named(picture, key, rule):
    with pytest.raises(InputError) as error:
        load_scene(scene(CYLINDER, picture=picture))
    assert key in str(error.value) and rule in str(error.value)


def test_a_ball_rests_on_a_cylinder_by_a_pair():
    motion = scene(CYLINDER, duration=0.2, type="kinematic", mass=None)
    motion["bodies"]["roll"] = {k: v for k, v in motion["bodies"]["roll"].items() if k != "mass"}
    ball = {"shape": {"sphere": {"radius": 0.02}}, "mass": 0.1, "pose": {"position": [0, 0, 0.12]}}
    motion["bodies"]["ball"] = ball
    motion["contact"] = [{"pairs": [["ball", "roll"]], "k_n": 1e4, "c_n": 20}]
    model = load_scene({**motion, "strict": True})
    run = _engine.rollout(model.engine, model.engine.values, model.steps)
    node = model.engine.nodes_of("ball")[0]
    assert run.position[-1, node, 2] == pytest.approx(0.12 - 0.1 * G / 1e4, abs=1e-7)


@pytest.mark.parametrize(
    ("shape", "spheres", "key", "hint"),
    [
        ({"cylinder": {"radius": 0.05}}, None, "shape.cylinder.height", "required"),
        ({"cylinder": {"radius": 0.05, "height": 0}}, None, "shape.cylinder.height", "> 0 [m]"),
        ({"capsule": {"radius": -1, "length": 1}}, None, "shape.capsule.radius", "> 0 [m]"),
        (CYLINDER, "axis", "contact_spheres.axis", "a capsule as shape"),
        (CAPSULE, "corners", "contact_spheres.corners", "a box as shape"),
        (CYLINDER, {"rims": {"count": 2}}, "contact_spheres.rims.count", ">= 3"),
        (CYLINDER, {"rims": {"radius": 0.06}}, "contact_spheres.rims.radius", "at most the small"),
    ],
)
def test_wrong_shapes_are_named(shape, spheres, key, hint):
    with pytest.raises(InputError) as caught:
        resolve(scene(shape, contact_spheres=spheres), "x.yaml")
    text = str(caught.value)
    assert text.startswith(f"x.yaml: bodies.roll.{key}: got ") and hint in text


def test_a_body_without_a_shape_is_drawn_as_the_box_of_its_inertia():
    edges, turn = np.array([0.1, 0.3, 0.2]), Rotation.from_rotvec([0.3, -0.2, 0.5]).as_matrix()
    moments = 2.0 * ((edges**2).sum() - edges**2) / 12
    inertia = turn @ np.diag(moments) @ turn.T
    six = inertia[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]
    found, axes = shapes.inertia_box(six, 2.0)
    assert np.sort(found) == pytest.approx(np.sort(edges), rel=1e-12)
    assert axes @ np.diag(found**2) @ axes.T == pytest.approx(turn @ np.diag(edges**2) @ turn.T)
    body = {"mass": 2.0, "inertia": six.tolist(), "pose": {"position": [0, 0, 1]}}
    world = {"step": 0.001, "duration": 0.01}
    model = load_scene({"world": world, "bodies": {"link": body}}, base=Path("."))
    info = model.bodies["link"]
    assert info.kind == "mesh" and info.vertices.shape == (8, 3)
    corner = np.abs(info.vertices @ turn).max(axis=0) * 2
    assert corner == pytest.approx(edges, rel=1e-9)
