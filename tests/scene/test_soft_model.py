"""Soft bodies, kinematic bodies and links in the engine: values, paths, motions,
energy."""

import copy
import math

import numpy as np
import pytest
import yaml

from diffsim_ros.errors import InputError
from diffsim_ros.fields import Reader
from diffsim_ros.output import yaml_text
from diffsim_ros.scene import load_scene, mesh_files, tets
from diffsim_ros.scene.sdfs import resolve_surface
from diffsim_ros.scene.targets import targets
from diffsim_ros.scene.vertices import centre_of, vertex_positions
from tests.scene.edits import changed

_engine = pytest.importorskip("diffsim_ros._engine", reason="the engine is not built")

SCENE = yaml.safe_load(
    """
world: {step: 0.004, duration: 0.1}
bodies:
  ball: {type: solid, shape: {ball: {radius: 0.1, layers: 2}}, density: 150, young: 2.0e+4,
         poisson: 0.4, viscosity: 5, pose: {position: [0, 0, 0.5], rotation: [0.3, 0.2, -0.4]},
         velocity: [1, 0, 0], angular_velocity: [0, 2, 5]}
  sheet:
    type: cloth
    shape: {rectangle: {size: [0.4, 0.2], cells: [4, 2]}}
    mass_per_area: 0.5
    stretch: {stiffness: 100, damping: 0.1}
    shear: {stiffness: 30}
    bend: {stiffness: 2, damping: 0.01}
    rest_scale: 0.99
    pose: {position: [1, 0, 1], rotation: [0, 0.5, 0]}
    pinned: [{box: {centre: [-0.2, 0, 0], size: [0.01, 1, 1]}}]
  rope: {type: string, shape: {line: {length: 1, masses: 6}}, mass: 0.1, stretch: {stiffness: 50},
         glue: [{to: hand, where: [0]}], pose: {position: [2.5, 0, 2]}}
  rod: {shape: {box: {size: [0.1, 0.1, 0.5]}}, mass: 1, pose: {position: [2, 1, 3]}}
  bob: {shape: {sphere: {radius: 0.05}}, mass: 1, pose: {position: [2, 1, 2.5]}}
  hand:
    type: kinematic
    waypoints:
      - {time: 0, position: [2, 0, 2]}
      - {time: 0.04, position: [2, 0, 2.1], rotation: [0, 0, 0.5]}
      - {time: 0.08, position: [2, 0.1, 2.1], rotation: [0, 0.2, 0.5]}
contact:
  - {name: floor, points: ball, against: {plane: {offset: 0.39}}, k_n: 1.0e+4, c_n: 0, c_f: 0.3}
  - {name: held, points: ball, against: {sphere: {radius: 0.05}}, carrier: bob, k_n: 100, c_n: 0}
links:
  - {name: knee, type: joint, kind: hinge, body_a: rod, body_b: bob, position: [2, 1, 2.7],
     axis: [0, 1, 0], limits: {upper: 1, stiffness: 5}, friction_damping: 0.01}
  - {name: top, type: joint, kind: ball, body_b: rod, position: [2, 1, 3.25]}
  - {name: drive, type: motor, joint: knee, keys: [0, 1, 0.5], interval: 0.02, stiffness: 3,
     damping: 0.1}
  - {name: stay, type: cable, stiffness: 100, rest_length: 0.3,
     via: [{world: [2, 1, 2]}, {body: bob}, {body: rope, vertex: 4}]}
  - {name: push, type: force, body: ball, where: {all: {}}, force: [0, 0, 3]}
  - {name: shove, type: force, body: rod, point: [0, 0, 0.1], force: [[0, 1, 0], [0, 0, 0]],
     interval: 0.05}
  - {name: twist, type: torque, body: rod, torque: [0, 0, 0.1]}
  - {name: air, type: drag, body: sheet, c_quadratic: 0.1, wind: [1, 2, 0]}
"""
)


@pytest.fixture(scope="module")
def model():
    return load_scene(SCENE)


def run(model, **options):
    settings = {"step": model.options.step, "order": 2, "record_every": 1, **options}
    options = _engine.Options(**settings)
    rollout = _engine.rollout(model.engine, model.engine.values, model.steps, options)
    assert rollout.ok, rollout.message
    return rollout


def test_engine_values_are_those_of_the_file(model):
    value = dict(zip((i.name for i in model.engine.parameters), model.engine.values, strict=True))
    assert (value["ball.young"], value["ball.poisson"], value["ball.viscosity"]) == (2e4, 0.4, 5)
    assert [value[f"ball.angular_velocity.{a}"] for a in "xyz"] == [0, 2, 5]
    assert value["sheet.mass"] == pytest.approx(0.5 * 0.08)
    assert (value["sheet_stretch.stiffness"], value["sheet_bend.damping"]) == (100, 0.01)
    assert value["hand.position[1].z"] == 2.1 and value["hand.rotation[2].y"] == 0.2
    assert value["drive.target[1]"] == 1 and value["knee_limit.upper"] == 1
    assert value["push.force[0].z"] == pytest.approx(3)
    assert value["held.k_n"] == 100 and value["floor.k_n"] == 1e4
    assert model.description["links"][0]["stiffness"] == value["knee.stiffness"] > 1e5
    assert list(model.bodies) == model.engine.body_names
    assert model.meshes["ball"].tets == 160 and set(model.meshes) == {"ball"}


def test_the_resolved_scene_has_the_same_numbers_to_the_bit(model):
    again = load_scene(yaml.safe_load(yaml_text(model.description)))
    assert again.engine.values.tobytes() == model.engine.values.tobytes()
    assert again.description == model.description


NO_KEYS = ("pose.rotation", "anchor_", "axis_rotation", "surface_offset", "surface_scale")


def test_a_parameter_path_means_what_the_file_means(model):
    """Changing the file at a path moves exactly the engine values that the path sets."""
    whole = load_scene(SCENE)
    base = whole.description
    names = [i.name for i in model.engine.parameters]
    tried = []
    for path, target in targets(whole.parts, model.engine).items():
        kept = path.startswith(("bodies.rod", "bodies.bob", "world", "links[", "contact["))
        if kept or any(word in path for word in NO_KEYS):
            continue  # no key of the file; rigid bodies: test_model.py; [i]: the same path
        value = target.value * 1.01 + 1e-6
        other = load_scene(changed(base, path, value)).engine.values
        expected = model.engine.values
        for name, factor in target.sets.items():
            expected[names.index(name)] = factor * value
        if path.endswith("rest_scale"):  # there the springs are built longer, their scale stays 1
            scale = base["bodies"][path.split(".")[1]]["rest_scale"]
            assert list(target.sets.values()) == pytest.approx([1 / scale] * len(target.sets))
            continue
        if ".position." in path and path.startswith("links"):
            continue  # joints: the file's has other anchors too, see test_joint_place.py
        assert other == pytest.approx(expected, rel=1e-12, abs=1e-15), path
        assert any(expected != model.engine.values), path
        tried.append(path)
    for some in ("bodies.ball.young", "bodies.sheet.mass_per_area", "bodies.sheet.shear.stiffness",
                 "bodies.hand.keys.rotations[1].z", "links.drive.keys[2]", "links.air.wind.y",
                 "links.push.force[0].z", "links.shove.force[1].y", "links.twist.torque[0].z",
                 "links.knee.limits.upper", "links.top.stiffness", "links.stay.rest_length",
                 "bodies.ball.contact_spheres.surface.radius", "contact.held.k_n"):  # fmt: skip
        assert some in tried
    assert len(tried) > 90


def test_rest_scale_as_a_value_and_as_a_parameter_is_the_same_motion(model):
    target = targets(model.parts, model.engine)["bodies.sheet.rest_scale"]
    longer = load_scene(changed(SCENE, "bodies.sheet.rest_scale", 1.05))
    p = model.engine.values
    for name, factor in target.sets.items():
        p[model.engine.index(name)] = factor * 1.05
    a = _engine.rollout(model.engine, p, 25, model.options)
    b = _engine.rollout(longer.engine, longer.engine.values, 25, model.options)
    assert a.position[-1] == pytest.approx(b.position[-1], abs=1e-7)
    other = _engine.rollout(model.engine, model.engine.values, 25, model.options)
    assert np.abs(a.position[-1] - other.position[-1]).max() > 1e-4


def test_vertices_follow_nodes_and_carriers(model):
    rollout = run(model)
    for name in ("ball", "sheet", "rope"):
        body = model.description["bodies"][name]
        found = vertex_positions(model, rollout, name)
        start = load_scene({"world": SCENE["world"], "bodies": {"free": {
            **SCENE["bodies"][name], "pinned": [], "glue": []}}})  # fmt: skip
        free = _engine.rollout(start.engine, start.engine.values, 1, start.options)
        assert found[0] == pytest.approx(free.position[0], abs=1e-12), body["type"]
    hand = model.engine.nodes_of("hand")[0]
    rope = vertex_positions(model, rollout, "rope")
    assert rope[:, 0] == pytest.approx(rollout.position[:, hand], abs=1e-9)
    sheet = vertex_positions(model, rollout, "sheet")
    assert np.ptp(sheet[:, :3], axis=0) == pytest.approx(np.zeros((3, 3)), abs=1e-12)
    assert np.ptp(sheet[:, -1], axis=0).max() > 1e-3
    assert vertex_positions(model, rollout, "rope", [3, 5])[1] == pytest.approx(rope[5])
    centre = centre_of(model, rollout, "ball")
    assert centre["position"][0] == pytest.approx([0, 0, 0.5], abs=1e-12)
    assert centre["velocity"][0] == pytest.approx([1, 0, 0], abs=1e-12)


@pytest.mark.parametrize("model_name", ["neo_hookean", "neo_hookean_safe"])
@pytest.mark.parametrize("element", ["p1", "p1_fbar", "p2", "p2_p0"])
def test_energy_of_an_undamped_solid_goes_into_its_strain_and_back(element, model_name):
    """The engine's forces are those of the energy that is reported."""
    scene = {
        "world": {"step": 2e-4, "duration": 0.04, "gravity": [0, 0, 0], "record_every": 5},
        "bodies": {"block": {
            "type": "solid", "shape": {"box": {"size": [0.1, 0.1, 0.2], "cells": [2, 2, 4]}},
            "density": 1000, "young": 2e5, "poisson": 0.3, "model": model_name,
            "element": element}},
        "links": [{"name": "pull", "type": "force", "body": "block", "interval": 0.002,
                   "where": {"plane": {"normal": [0, 0, -1], "offset": -0.1}}, "sharing": "equal",
                   "force": [[0, 0, 0], [200, 0, 100], [0, 0, 0]]}],
    }  # fmt: skip
    loaded = load_scene(scene)
    energy = loaded.engine.energies(run(loaded, record_every=5))
    after = np.arange(len(energy["total"])) > 4
    total = energy["total"][after]
    assert np.ptp(energy["elastic"][after]) > 0.1 * total.mean() > 1e-3
    assert np.ptp(total) < 0.03 * total.mean()  # BDF2 loses some of it


def test_a_box_is_split_and_graded_as_its_scene_says():
    box = {"size": [0.1, 0.2, 0.3], "cells": [2, 2, 3], "split": "five", "grading": [1, 0.5, 4]}
    body = {"type": "solid", "shape": {"box": box}, "density": 1000, "young": 1e5, "poisson": 0.3}
    scene = load_scene({"world": {"step": 0.01, "duration": 0.1}, "bodies": {"block": body}})
    found = scene.parts.bodies["block"].mesh
    assert len(found.tets) == 5 * 12 and found.volume == pytest.approx(0.006)
    x, y, z = (np.unique(np.round(found.vertices[:, k], 12)) for k in range(3))
    assert x == pytest.approx([-0.05, 0, 0.05])
    assert y == pytest.approx([-0.1, -0.1 + 0.4 / 3, 0.1])
    assert np.diff(z) == pytest.approx(0.3 / 7 * np.array([1, 2, 4]))


def test_energy_of_a_string_pendulum_is_kept():
    scene = {
        "world": {"step": 5e-4, "duration": 0.5, "record_every": 20},
        "bodies": {"rope": {
            "type": "string", "shape": {"line": {"length": 1, "masses": 8}}, "mass": 0.2,
            "stretch": {"stiffness": 2000}, "bend": {"stiffness": 5}, "pinned": [[0]]}},
    }  # fmt: skip
    loaded = load_scene(scene)
    energy = loaded.engine.energies(run(loaded, record_every=20))
    assert np.ptp(energy["gravity"]) > 0.2 and energy["springs"].max() > 1e-3
    assert np.ptp(energy["total"]) < 2e-3 * np.ptp(energy["gravity"])


def test_deep_starts_of_soft_bodies_and_of_carried_surfaces_are_refused():
    scene = copy.deepcopy(SCENE)
    scene["contact"][0]["against"]["plane"]["offset"] = 0.45
    with pytest.raises(InputError, match=r"bodies\.ball\.pose\.position.*0\.04584 m inside"):
        load_scene(scene, base="x.yaml")
    scene = copy.deepcopy(SCENE)
    scene["bodies"]["bob"]["pose"]["position"] = [0, 0, 0.62]
    scene["contact"][1] |= {"against": {"sphere": {"radius": 0.07}}, "k_n": 1e4, "c_n": 0}
    with pytest.raises(InputError, match=r"bodies\.ball.*contact 'held'"):
        load_scene(scene)


def test_a_solid_from_a_file_keeps_its_fingerprint(tmp_path):
    pytest.importorskip("meshio", reason="pip install diffsim_ros[mesh]")
    mesh = tets.box([0.1, 0.1, 0.1], [2, 2, 2])
    moved = tets.TetMesh(mesh.vertices + 1.0, mesh.tets)
    mesh_files.write_tets(tmp_path / "block.vtk", moved)
    scene = {"world": SCENE["world"], "bodies": {"block": {
        "type": "solid", "shape": {"mesh": {"file": "block.vtk"}}, "density": 1000, "young": 1e5,
        "poisson": 0.3, "pose": {"position": [0, 0, 1]}}}}  # fmt: skip
    (tmp_path / "scene.yaml").write_text(yaml_text(scene))
    loaded = load_scene(tmp_path / "scene.yaml")
    rollout = _engine.rollout(loaded.engine, loaded.engine.values, 1, loaded.options)
    assert rollout.position[0].mean(axis=0) == pytest.approx([0, 0, 1])  # centred, then placed
    values = loaded.description["bodies"]["block"]["shape"]["mesh"]
    assert values["file"] == str(tmp_path / "block.vtk") and len(values["digest"]) == 16
    again = load_scene(loaded.description, base="elsewhere.yaml")
    assert again.engine.values.tobytes() == loaded.engine.values.tobytes()
    moved.vertices[0] -= 0.001
    mesh_files.write_tets(tmp_path / "block.vtk", moved)
    with pytest.raises(InputError, match=r"shape\.mesh\.digest.*diffsim mesh"):
        load_scene(loaded.description)


def test_more_surfaces_are_the_engines():
    scene = {
        "world": SCENE["world"],
        "bodies": {"dot": {"type": "particle", "mass": 1, "contact_spheres": "point",
                           "pose": {"position": [0, 0, 3]}}},
        "contact": [],
    }  # fmt: skip
    place = np.array([[0.3, 0.2, 0.4]])
    cases = {
        "capsule": ({"length": 0.4, "radius": 0.1}, math.hypot(0.3, 0.2, 0.2) - 0.1),
        "cylinder": ({"height": 0.4, "radius": 0.1}, math.hypot(math.hypot(0.3, 0.2) - 0.1, 0.2)),
        "torus": (
            {"ring_radius": 0.5, "tube_radius": 0.1},
            math.hypot(math.hypot(0.3, 0.2) - 0.5, 0.4) - 0.1,
        ),
        "half_spaces": ({"normals": [[0, 0, 2], [1, 0, 0]], "offsets": [0.1, 1]}, 0.3),
        "offset": ({"of": {"plane": {}}, "distance": 0.1}, 0.3),
        "intersection": ({"of": [{"plane": {}}, {"sphere": {"radius": 1}}]}, 0.4),
        "difference": ({"of": [{"plane": {}}, {"sphere": {"radius": 0.1}}]}, 0.4),
        "complement": ({"of": [{"sphere": {"radius": 1}}]}, 1 - math.hypot(0.3, 0.2, 0.4)),
    }
    scene["contact"] = [
        {"name": kind, "points": "dot", "k_n": 1, "c_n": 0, "against": {kind: values}}
        for kind, (values, _) in cases.items()
        if kind != "complement"
    ]
    loaded = load_scene(scene)
    for kind, (_, gap) in cases.items():
        if kind != "complement":
            assert loaded.surfaces[kind].evaluate(place)[0] == pytest.approx([gap]), kind
    values, gap = cases["complement"]
    walls = resolve_surface(Reader("x"), {}, {"complement": values}, "walls").engine({})
    assert walls.evaluate(place)[0] == pytest.approx([gap])


def test_a_surface_from_a_mesh_file_is_a_level_set(tmp_path, monkeypatch):
    pytest.importorskip("trimesh", reason="pip install diffsim_ros[mesh]")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    ball = tets.ball(0.1, 4)
    lines = [f"v {x} {y} {z}" for x, y, z in ball.vertices.tolist()]
    lines += [f"f {a} {b} {c}" for a, b, c in (ball.boundary() + 1).tolist()]
    (tmp_path / "ball.obj").write_text("\n".join(lines))
    scene = copy.deepcopy({"world": SCENE["world"], "bodies": {"dot": {
        "type": "particle", "mass": 1, "contact_spheres": "point",
        "pose": {"position": [0, 0, 3]}}},
        "contact": [{"name": "touch", "points": "dot", "k_n": 1, "c_n": 0,
                     "against": {"mesh": {"file": "ball.obj", "voxel": 0.01}}}]})  # fmt: skip
    x = np.array([[0.12, 0, 0], [0, 0.09, 0], [0, 0, 0.2]])
    for _ in range(2):  # sampled, then from the cache
        loaded = load_scene(scene, base=tmp_path)
        gap = loaded.surfaces["touch"].evaluate(x)[0]
        assert gap == pytest.approx([0.02, -0.01, 0.1], abs=3e-3)
    if _engine.has_openvdb:
        assert len(list((tmp_path / "cache").rglob("*.vdb"))) == 1
