"""Sound calls that programs of `fuzz_bindings` start from: small scenes, surfaces, chains, solvers.

A call is (class or "", function, keyword arguments); a class with "__init__" makes an object.
"""

from __future__ import annotations

import random
from typing import NamedTuple

import numpy as np

from diffsim_ros import _engine, meshes

INERTIA = [0.011, 0.014, 0.017, 0.001, -0.002, 0.0015]
LAW = {"k_n": 1e4, "c_n": 0, "k_t": 50.0, "c_f": 0.3}
CORNERS = [[x, y, z] for x in (-0.1, 0.1) for y in (-0.1, 0.1) for z in (-0.1, 0.1)]
CUBE = [
    [0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1], [2, 3, 7], [2, 7, 6],
    [0, 2, 6], [0, 6, 4], [1, 5, 7], [1, 7, 3],
]  # fmt: skip
Calls = list[tuple[str, str, dict]]


class Made(NamedTuple):
    """Stands for an object of this class that the program has made."""

    kind: str


def _rigid(rng: random.Random) -> Calls:
    law = dict(LAW)
    law["friction"] = rng.choice(["linear", "tanh", "hybrid"])
    law |= rng.choice([
        {}, {}, {"c_n": 0.2}, {"damping": "ramped", "k_d": 10.0, "d_0": 1e-3},
        {"damping": "thesis", "k_d": 10.0}, {"c_s": 0.6, "f_0": 5.0},
        {"c_roll": 0.01, "c_spin": 0.01, "k_roll": 0.3},
    ])  # fmt: skip
    return [
        ("Scene", "__init__", {}),
        ("Scene", "set_gravity", {"g": [0.0, 0.0, -9.81]}),
        ("Scene", "add_rigid_body", {
            "name": "a", "mass": 0.7, "inertia": INERTIA, "radius": 0.2,
            "position": [0.0, 0.0, 0.12], "velocity": [0.5, 0.0, -1.0],
            "orientation": [0.0, 0.1, 0.0, 1.0], "angular_velocity": [1.0, 2.0, 3.0]}),
        ("Scene", "add_points", {
            "name": "corners", "bodies": ["a"] * 8, "local": CORNERS, "radius": 0.01}),
        *_surface(rng),
        ("Scene", "add_contact", {
            "name": "floor", "points": "corners", "sdf": Made("Sdf"), "carrier": "", **law}),
        ("Scene", "add_torque", {"name": "twist", "body": "a", "torque": [0.0, 0.1, 0.0]}),
        ("Scene", "add_drag", {"name": "air", "points": "corners", "c_linear": 0.1}),
        ("Scene", "add_payload", {
            "name": "load", "body": "a", "mass": 0.1, "first_moment": [0.01, 0.0, 0.0],
            "inertia": [0.1 * i for i in INERTIA]}),
    ]  # fmt: skip


def _surface(rng: random.Random) -> Calls:
    plane = ("Plane", "__init__", {"normal": [0.0, 0.0, 1.0], "offset": 0.0})
    some = [
        plane,
        ("Sphere", "__init__", {"radius": 0.3}),
        ("Box", "__init__", {"half_extents": [0.3, 0.2, 0.1]}),
        ("Capsule", "__init__", {"half_length": 0.3, "radius": 0.1}),
        ("Cylinder", "__init__", {"half_height": 0.3, "radius": 0.1}),
        ("Torus", "__init__", {"ring_radius": 0.3, "tube_radius": 0.1}),
        ("HalfSpaces", "__init__", {
            "normals": np.concatenate([np.eye(3), -np.eye(3)]), "offsets": np.full(6, 0.2)}),
        ("Transformed", "__init__", {"sdf": Made("Sdf"), "position": [0.0, 0.0, -0.1]}),
        ("Offset", "__init__", {"sdf": Made("Sdf"), "distance": 0.02}),
        ("TriangleMesh", "__init__", {"vertices": CORNERS, "triangles": CUBE}),
        ("LevelSet", "__init__", {"mesh": Made("TriangleMesh"), "voxel": 0.04, "band": 3}),
        ("Sdf", "evaluate", {"x": CORNERS}), ("Sdf", "outline", {"cells": 8}),
        ("TriangleMesh", "distance", {"x": CORNERS}),
    ]  # fmt: skip
    return [plane, *rng.sample(some, rng.randrange(len(some)))]


def _jointed(rng: random.Random) -> Calls:
    kind = rng.choice(["ball", "hinge", "slider", "weld", "planar", "universal"])
    axes = {"axis": [0.0, 1.0, 0.0]} if kind not in ("ball", "weld") else {}
    if kind == "universal":
        axes["second_axis"] = [1.0, 0.0, 0.0]
    bodies = [
        ("Scene", "add_rigid_body", {
            "name": name, "mass": 0.5, "inertia": INERTIA, "radius": 0.2,
            "position": [x, 0.0, 0.5]})
        for name, x in (("a", 0.0), ("b", 0.3))
    ]  # fmt: skip
    drives = [
        ("Scene", "add_motor", {
            "name": "servo", "joint": "j", "keys": [0.0, 0.4, 0.1], "interval": 0.01,
            "stiffness": 5.0, "damping": 0.4}),
        ("Scene", "add_joint_limit", {
            "name": "stop", "joint": "j", "lower": -0.2, "upper": 0.2, "stiffness": 20.0}),
        ("Scene", "add_armature", {"name": "rotor", "joint": "j", "inertia": 0.01}),
        ("Scene", "add_joint_friction", {
            "name": "rub", "joint": "j", "coulomb": 0.1, "slip_rate": 0.1}),
        ("Scene", "joint_motion", {"name": "j", "p": [1.0], "rollout": Made("Rollout")}),
    ]  # fmt: skip
    base = {"kind": kind, "position": [0.15, 0.0, 0.5], "body_b": "b", **axes}
    return [
        ("Scene", "__init__", {}), *bodies,
        ("Scene", "add_joint", {"name": "j", "body_a": rng.choice(["", "a"]), **base}),
        *rng.sample(drives, rng.randrange(1, 5)),
    ]  # fmt: skip


def _soft(rng: random.Random) -> Calls:
    vertices, tets = meshes.box([0.1, 0.1, 0.1], [1, 1, rng.choice([1, 2])])
    element = rng.choice(["p1", "p1_fbar", "p2", "p2_p0"])
    if element.startswith("p2"):
        vertices, tets = meshes.quadratic(vertices, tets)
    solid = {
        "name": "a", "vertices": vertices, "tets": tets, "density": 200.0, "young": 1e4,
        "poisson": 0.4, "viscosity": 1.0, "element": element, "position": [0.0, 0.0, 0.1],
    }  # fmt: skip
    if rng.random() < 0.4:
        solid["glued"] = [("", [0, 1])]
    if rng.random() < 0.3:
        solid["young_field"] = [1.0] * len(tets)
    return [
        ("Scene", "__init__", {}),
        ("Scene", "add_solid", solid),
        ("Scene", "add_subset", {"name": "some", "points": "a", "index": [0, 2, 3]}),
        ("Plane", "__init__", {"normal": [0.0, 0.0, 1.0], "offset": 0.0}),
        ("Scene", "add_contact", {"name": "floor", "points": "a", "sdf": Made("Plane"), **LAW}),
        ("Scene", "add_point_force", {
            "name": "push", "points": "a", "force": [[0.0, 0.0, 1.0], [0.0, 1.0, 0.0]],
            "interval": 0.01, "index": [0, 1]}),
    ]  # fmt: skip


def _strings(rng: random.Random) -> Calls:
    vertices, _ = meshes.sheet(rng.choice([2, 3, 4]), 0.3)
    pairs = list(range(len(vertices) - 1))
    return [
        ("Scene", "__init__", {}),
        ("Scene", "add_mass_points", {"name": "a", "vertices": vertices, "mass": 0.1,
                                      "glued": [("", [0])] if rng.random() < 0.5 else []}),
        ("Scene", "add_particle", {"name": "b", "mass": 0.2, "position": [0.3, 0.0, 0.0]}),
        ("Scene", "add_kinematic_body", {
            "name": "c", "interval": 0.01, "position": [[0.0, 0.0, 0.0], [0.0, 0.0, 0.1]]}),
        ("Scene", "add_points", {"name": "at", "bodies": ["c", "b"], "local": np.zeros((2, 3))}),
        ("Scene", "add_springs", {
            "name": "threads", "points_a": "a", "index_a": pairs, "points_b": "a",
            "index_b": [i + 1 for i in pairs], "stiffness": 50.0, "damping": 0.1,
            "rest_length": rng.choice([0.0, 0.1, [0.1] * len(pairs)]),
            "tension_only": rng.random() < 0.3}),
        ("Scene", "add_cable", {
            "name": "rope", "points": "a", "index": [0, 1, 3], "stiffness": 100.0,
            "damping": 0.1, "rest_length": 0.1}),
        ("Scene", "add_springs", {
            "name": "hook", "points_a": "at", "index_a": [0, 1], "points_b": "a",
            "index_b": [1, 2], "stiffness": 20.0}),
    ]  # fmt: skip


def _chain(rng: random.Random) -> Calls:
    n, keys = rng.choice([1, 2, 6, 7]), rng.choice([1, 3, 5])
    origins = np.tile(np.eye(4), (n, 1, 1))
    origins[:, :3, 3] = [0.0, 0.1, 0.2]
    axes = np.tile([0.0, 0.0, 1.0], (n, 1))
    axes[1::2] = [0.0, 1.0, 0.0]
    poses = np.tile(np.eye(4), (keys, 1, 1))
    poses[:, :3, 3] = np.linspace([0.1, 0.2, 0.5], [0.2, 0.1, 0.4], keys)
    one = np.ones(n)
    limits = {
        "lower": -3 * one, "upper": 3 * one, "velocity": one, "acceleration": 10 * one,
        "jerk": 100 * one,
    }  # fmt: skip
    task = {"task": Made("PoseTask"), "poses": poses}
    return [
        ("Chain", "__init__", {
            "origins": origins, "axes": axes, "turns": [True] * n, "tip": np.eye(4)[None]}),
        ("PoseTask", "__init__", {
            "orientation": rng.choice(["full", "axis", "free"]), "axis": [0.0, 0.0, 1.0],
            "length": 0.5}),
        ("MotionLimits", "__init__", limits),
        ("Chain", "poses", {"q": np.zeros((2, n))}),
        ("Chain", "reach", {**task, "q": np.full((keys, n), 0.1), "iterations": 5}),
        ("Chain", "follow", {**task, "begin": 0, "q": 0.1 * one}),
        ("Chain", "smooth", {
            **task, "times": np.arange(float(keys)), "limits": Made("MotionLimits"),
            "at_rest": True, "q": np.full((keys, n), 0.1), "iterations": 2}),
        ("Chain", "singular_values", {"task": Made("PoseTask"), "q": np.zeros((2, n))}),
    ]  # fmt: skip


def _solver(rng: random.Random) -> Calls:
    sizes = [rng.choice([3, 6]) for _ in range(rng.choice([1, 2, 5]))]
    pairs = [(i, i + 1) for i in range(len(sizes) - 1)]
    pairs = [*pairs, *((b, a) for a, b in pairs)] if rng.random() < 0.5 else pairs
    count = sum(s * s for s in sizes) + 2 * sum(sizes[a] * sizes[b] for a, b in pairs)
    values, rhs = np.random.default_rng(1).normal(size=count), np.ones((sum(sizes), 2))
    method = rng.choice(["automatic", "krylov", "lagged", "direct"])
    return [
        ("LinearSolver", "__init__", {"sizes": sizes, "pairs": pairs, "method": method}),
        ("LinearSolver", "factor", {"values": values}),
        ("LinearSolver", "solve", {"rhs": rhs, "transposed": rng.random() < 0.5}),
        ("LinearSolver", "solve_positive", {
            "values": values, "rhs": rhs[:, 0], "symmetric": False}),
        ("", "linear_solve", {"sizes": sizes, "pairs": pairs, "values": values, "rhs": rhs}),
    ]  # fmt: skip


def _motion(rng: random.Random) -> Calls:
    """Rollouts of what was built; the scene's own values are drawn by fuzz_bindings."""
    return [
        ("Options", "__init__", {
            "step": 2e-3, "order": rng.choice([1, 2]), "record_modes": rng.random() < 0.5,
            "profile": rng.random() < 0.2}),
        ("CancelToken", "__init__", {}),
    ]  # fmt: skip


def _seen(rng: random.Random) -> Calls:
    return [
        ("", "nearest_on_surface", {
            "positions": np.array([CORNERS, CORNERS]), "triangles": CUBE,
            "points": [[0.3, 0.0, 0.0], [0.0, 0.0, 0.4]], "frame": [0, 1],
            "eye": rng.choice([None, [1.0, 0.0, 0.0]])}),
        *_surface(rng),
    ]  # fmt: skip


def _legged(rng: random.Random) -> Calls:
    """A body on three legs of one joint each, and motions of it."""
    eye, samples = np.eye(3), 6
    joints = [
        _engine.TreeJoint("base.position", "translation"),
        _engine.TreeJoint("base", "spherical", 0),
        *(_engine.TreeJoint(
            f"j{k}", "revolute", 1, eye, np.array([0.1 * (k - 1), 0.1 * (k % 2), 0.0]))
          for k in range(3)),
    ]  # fmt: skip
    links = [
        _engine.TreeLink("base.position"), _engine.TreeLink("body", 1.0, np.zeros(3), 0.01 * eye),
        *(_engine.TreeLink(f"l{k}", 0.1, np.zeros(3), 1e-4 * eye) for k in range(3)),
    ]  # fmt: skip
    kinds = [rng.choice(["point", "welded", "passive", "actuated"]) for _ in range(3)]
    feet = [
        {"name": f"f{k}", "kind": kind, "link": f"l{k}", "position": [0.0, 0.0, -0.2], "leg": k,
         "axis": [0.0, 1.0, 0.0], "radius": 0.0 if kind == "point" else 0.02, "speed": 5.0}
        for k, kind in enumerate(kinds)
    ]  # fmt: skip
    model = _engine.ArticulatedModel(joints, links)
    stance = np.r_[0.0, 0.0, 0.22, model.neutral()[3:]]
    ranges = np.tile([-2.0, 2.0, 7.0], (3, 1))
    contact = np.array([[rng.random() < 0.8 for _ in range(3)] for _ in range(samples)])
    task = {
        "step": 0.1, "contact": contact, "swing_height": 0.02 * ~contact,
        "end": rng.choice(["periodic", "rest", "free"]), "fixed": rng.choice([0, 0, 2]),
        "travel": [0.05, 0.0], "turn": 0.0, "places": [(2, 1, np.array([0.1, np.nan, 0.0]))],
        "ceilings": [(0, 3, 0.3)],
    }  # fmt: skip
    plan = _engine.MotionProblem(
        _engine.LeggedModel(model, feet, ranges, stance), _engine.MotionTask(**task)
    ).standing()
    return [
        ("LeggedModel", "__init__", {
            "model": model, "end_effectors": feet, "ranges": ranges, "stance": stance}),
        ("LeggedModel", "place", {"q": stance}),
        ("MotionTask", "__init__", task),
        ("MotionProblem", "__init__", {"model": Made("LeggedModel"), "task": Made("MotionTask")}),
        *rng.sample([
            ("MotionProblem", name, {"arg0": {**plan, rng.choice(list(plan)): value}})
            for name in ("value", "linearize", "report", "second_derivative")
            for value in (plan["x"], plan["q"] * np.nan, plan["e"][:2])
        ], 4),
        ("MotionProblem", "select", {"groups": 63, "terms": ["newton", "travel"]}),
        ("MotionProblem", "warm_start", {"plan": plan}),
        ("MotionProblem", "solve", {"plan": plan}),
    ]  # fmt: skip


FAMILIES = (
    _rigid, _rigid, _jointed, _jointed, _soft, _soft, _strings, _chain, _solver, _seen, _legged,
)  # fmt: skip


def draw(rng: random.Random) -> Calls:
    """The calls that a program starts with."""
    return [*rng.choice(FAMILIES)(rng), *_motion(rng)]
