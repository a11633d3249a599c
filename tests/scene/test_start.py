"""Starts from files: an equilibrium, deformed vertices, their energy and gradients; bad files."""

import meshio
import numpy as np
import pytest
import yaml

from diffsim_ros import _engine
from diffsim_ros.commands.statics import pose_arrays
from diffsim_ros.errors import InputError
from diffsim_ros.scene import load_scene
from diffsim_ros.statics import equilibrium
from tests.native.gradients import check_gradients

SIZE, YOUNG, STRETCH = [0.1, 0.04, 0.05], 1e4, 1.2


def block(element="p1", **more):
    """A free block without Poisson effect."""
    box = {"box": {"size": SIZE, "cells": [2, 1, 1]}}
    return {"type": "solid", "shape": box, "density": 1000, "young": YOUNG, "poisson": 0,
            "element": element, "pose": {"position": [0.3, 0, 0.5], "rotation": [0.1, 0.2, 0.3]},
            **more}  # fmt: skip


def scene(body, start=None, **world):
    world = {"step": 0.002, "duration": 0.02, "gravity": [0, 0, 0]} | world
    return {"world": world, "bodies": {"block": body}} | ({"start": start} if start else {})


def stretched(path, element="p1", name="start.npz", velocities=None, **more):
    """A file of the block, stretched along its x, and the scene that starts from it."""
    rest = load_scene(scene(block(element, **more))).parts.bodies["block"].mesh
    arrays = {"vertices": rest.vertices * [STRETCH, 1, 1]}
    if velocities is not None:
        arrays["velocities"] = rest.vertices * velocities
    np.savez(path / name, **arrays)
    return load_scene(scene(block(element, **more), {"block": name}), base=path)


@pytest.mark.parametrize("element", ["p1", "p1_fbar", "p2", "p2_p0"])
def test_a_stretched_start_has_its_energy_and_keeps_its_rest_shape(tmp_path, element):
    """V E/4 (s^2 - 1 - 2 ln s), neo-Hooke without Poisson effect; the pose turns it as a whole."""
    model = stretched(tmp_path, element)
    run = _engine.rollout(model.engine, model.engine.values, 5, model.options)
    energy = model.engine.energies(run)
    volume = np.prod(SIZE)
    wanted = volume * YOUNG / 4 * (STRETCH**2 - 1 - 2 * np.log(STRETCH))
    assert energy["elastic"][0] == pytest.approx(wanted, rel=1e-12)
    assert energy["kinetic"][0] == 0
    assert energy["kinetic"][-1] > 0.01 * wanted
    assert run.position[0].mean(axis=0) == pytest.approx([0.3, 0, 0.5], abs=1e-12)
    again = load_scene(model.description)
    assert (
        again.engine.start_pose(again.engine.values, [])[0].tobytes() == run.position[0].tobytes()
    )


def test_a_start_deep_in_a_surface_is_refused(tmp_path):
    """The block stretched downwards, then the whole scene moved down; touching is fine."""
    content = scene(block() | {"pose": {"position": [0.3, 0, 0.5]}})
    shape = load_scene(content).parts.bodies["block"].mesh.vertices
    contact = {"name": "rest", "points": "block", "k_n": 1e4, "c_n": 0, "c_f": 0.3,
               "against": {"plane": {"normal": [0, 0, 1], "offset": 0.475}}}  # fmt: skip
    content |= {"contact": [contact]}
    for factor, depth in ((1.0, 0), (1.1, 0.0025), (1.4, 0.01)):
        np.savez(tmp_path / "start.npz", vertices=shape * [1, 1, factor])
        deep = content | {"start": {"block": "start.npz"}}
        if depth < 0.1 * min(SIZE):
            load_scene(deep, base=tmp_path)
            continue
        with pytest.raises(InputError, match=rf"start: got .block in.*'rest'.*{depth:.4g} m ins"):
            load_scene(deep, base=tmp_path)
    model = load_scene(content)
    arrays = pose_arrays(model, equilibrium(load_scene(content | {"contact": []}).engine))
    arrays["position"] = arrays["position"] - [0, 0, 0.02]
    np.savez(tmp_path / "pose.npz", **arrays)
    with pytest.raises(InputError, match=r"start: got .block in .*pose.npz.*0.02 m inside"):
        load_scene(content | {"start": "pose.npz"}, base=tmp_path)
    values = {"block.position.z": 0.48}
    with pytest.raises(InputError, match=r"block.pose.position.*0.02 m inside"):
        load_scene(content | {"values": values})


def test_velocities_of_vertices_add_to_those_of_the_body(tmp_path):
    spin = [0, 0, 2.0]
    model = stretched(tmp_path, velocities=[3.0, 0, 0], velocity=[1, 0, 0], angular_velocity=spin)
    run = _engine.rollout(model.engine, model.engine.values, 1, model.options)
    body = model.parts.bodies["block"]
    at, turn = body.start_pose()
    arm = (body.mesh.vertices * [STRETCH, 1, 1]) @ turn.T
    wanted = [1, 0, 0] + np.cross(spin, arm) + (body.mesh.vertices * [3.0, 0, 0]) @ turn.T
    assert run.position[0] == pytest.approx(at + arm, abs=1e-14)
    assert run.velocity[0] == pytest.approx(wanted, abs=1e-13)


def test_gradients_from_a_deformed_start(tmp_path):
    model = stretched(tmp_path, velocities=[3.0, 0.5, 0], angular_velocity=[0, 1, 2])
    names = [f"block.{word}.{axis}" for word in ("position", "rotation", "angular_velocity")
             for axis in "xz"]  # fmt: skip
    options = _engine.Options(step=0.002, stagnate=True)
    check_gradients(model.engine, 10, options, [*names, "block.velocity.y", "block.young"])


def test_a_start_may_be_a_mesh_file(tmp_path):
    mesh = load_scene(scene(block())).parts.bodies["block"].mesh
    shape = meshio.Mesh(mesh.vertices * [STRETCH, 1, 1], [("tetra", mesh.tets)])
    shape.write(tmp_path / "start.vtu")
    a = load_scene(scene(block(), {"block": "start.vtu"}), base=tmp_path).engine
    b = stretched(tmp_path).engine
    assert a.start_pose(a.values, [])[0] == pytest.approx(b.start_pose(b.values, [])[0], abs=1e-15)


MIXED = """
world: {step: 0.002, duration: 0.1}
bodies:
  lid: {shape: {box: {size: [0.2, 0.2, 0.02]}}, mass: 0.3, pose: {position: [0, 0, 0.11]}}
  foot:
    type: solid
    shape: {box: {size: [0.1, 0.1, 0.1], cells: [1, 1, 1]}}
    density: 300
    young: 2.0e4
    poisson: 0.3
    viscosity: 5
    element: p2
    pose: {position: [0, 0, 0.05]}
    glue: [{to: lid, where: {plane: {normal: [0, 0, -1], offset: -0.05}}}]
  sheet:
    type: cloth
    shape: {rectangle: {size: [0.3, 0.2], cells: [3, 2]}}
    mass_per_area: 0.3
    stretch: {stiffness: 60, damping: 0.1}
    shear: {stiffness: 20, damping: 0.1}
    pose: {position: [0.6, 0, 0.5]}
    pinned: [{plane: {normal: [1, 0, 0], offset: -0.15}}]
  bob: {type: particle, mass: 0.1, pose: {position: [-0.5, 0, 0.3]}}
sdfs: {floor: {plane: {}}}
contact: [{name: floor, points: foot, against: floor, k_n: 5.0e3, c_n: 0}]
links:
  - {name: thread, type: spring, stiffness: 50, damping: 0.2, rest_length: 0.2,
     pairs: [{a: {body: bob}, b: {world: [-0.5, 0, 0.5]}}]}
"""


def test_a_scene_starts_from_its_equilibrium(tmp_path):
    """Rigid body, solid glued to it in contact, pinned cloth, particle: all stay where they are."""
    content, moved = yaml.safe_load(MIXED), {}
    given = load_scene(content)
    np.savez(tmp_path / "pose.npz", **pose_arrays(given, equilibrium(given.engine)))
    bodies = dict(sorted(content["bodies"].items()))  # the order of bodies does not matter
    started = load_scene(content | {"start": "pose.npz", "bodies": bodies}, base=tmp_path)
    for name, model in (("scene", given), ("from", started)):
        run = _engine.rollout(model.engine, model.engine.values, 50, model.options)
        assert run.ok, run.message
        apart = np.abs(run.position - run.position[0]).max(axis=(0, 2))
        moved[name] = {b: apart[slice(*np.cumsum(model.engine.nodes_of(b)))].max()
                       for b in model.engine.body_names}  # fmt: skip
    assert all(far > 1e-3 for far in moved["scene"].values()), moved
    assert all(far < 2e-6 for far in moved["from"].values()), moved
    # the energy is that of the equilibrium, so the rest shape is the file's
    elastic = model.engine.energies(run)["elastic"]
    assert elastic[0] > 0 and elastic[-1] == pytest.approx(elastic[0], rel=1e-4)


BAD = [
    (lambda a: a.update(vertices=a["vertices"][:-1]),
     r"start.npz: vertices: got \(11, 3\); accepted: shape \(12, 3\)"),
    (lambda a: a["vertices"].__setitem__((3, 1), np.nan), r"vertices\[3\]: got \[.*nan.*finite"),
    (lambda a: a.update(velocities=np.full((12, 3), np.inf)), r"velocities\[0\]: .*finite"),
    (lambda a: a.update(vertices=a["vertices"] * [-1, 1, 1]),
     r"vertices: got 'tet \d+ of block, its vertices \[.*\], inverted'; accepted: a start in wh"),
    (lambda a: a.pop("vertices"), "vertices: got None; accepted: vertices"),
    (lambda a: a.update(vertices=np.array(["a"])), "vertices: got '<U1'; accepted: real numbers"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "message"), BAD)
def test_bad_vertices_are_refused(tmp_path, change, message):
    arrays = {"vertices": load_scene(scene(block())).parts.bodies["block"].mesh.vertices.copy()}
    change(arrays)
    np.savez(tmp_path / "start.npz", **arrays)
    with pytest.raises(InputError, match=message):
        load_scene(scene(block(), {"block": "start.npz"}), base=tmp_path)


def test_quadratic_tets_may_be_inverted_between_their_corners(tmp_path):
    vertices = load_scene(scene(block("p2"))).parts.bodies["block"].mesh.vertices.copy()
    middle = 12  # the first of the middles of edges
    vertices[middle] += [0.05, 0.05, 0.05]
    np.savez(tmp_path / "start.npz", vertices=vertices)
    with pytest.raises(InputError, match=r"tet \d+ of block.*inverted"):
        load_scene(scene(block("p2"), {"block": "start.npz"}), base=tmp_path)


def test_held_vertices_stay_where_the_shape_has_them(tmp_path):
    end = {"plane": {"normal": [1, 0, 0], "offset": -0.05}}
    with pytest.raises(InputError, match=r"vertices\[0\]: .*it is pinned or glued"):
        stretched(tmp_path, pinned=[end])


def test_files_of_other_scenes_are_refused(tmp_path):
    names = {"names": np.array(["block"]), "counts": np.array([7])}
    poses = {"position": np.zeros((12, 3)), "orientation": np.tile([0.0, 0, 0, 1], (12, 1))}
    bad = [
        (poses | names, "counts: got \"7 nodes of 'block'\"; accepted: 12 nodes of 'block'"),
        ({"position": np.zeros((12, 3))}, "orientation: got None"),
        (poses | {"position": np.zeros((11, 3))}, r"position: got \(11, 3\)"),
        (poses | {"orientation": np.zeros((12, 4))}, r"orientation\[0\]: .*unit quaternion"),
        (poses, r"position of block: .*tet 0 of block.*inverted"),
    ]
    for arrays, message in bad:
        np.savez(tmp_path / "pose.npz", **arrays)
        with pytest.raises(InputError, match=message):
            load_scene(scene(block(), "pose.npz"), base=tmp_path)
    with pytest.raises(InputError, match=r"start\.blok: got 'blok'; .*did you mean 'block'"):
        load_scene(scene(block(), {"blok": "pose.npz"}), base=tmp_path)
    with pytest.raises(InputError, match=r"missing\.npz"):
        load_scene(scene(block(), "missing.npz"), base=tmp_path)
