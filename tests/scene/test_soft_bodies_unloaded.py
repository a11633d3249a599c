"""Soft bodies of every kind without a load: they stay, held or free, and their energy is not
negative; released from a strained shape they never gain energy."""

import numpy as np
import pytest

from diffsim_ros.scene import load_scene
from diffsim_ros.scene.vertices import vertex_positions

_engine = pytest.importorskip("diffsim_ros._engine", reason="the engine is not built")

SIZE = [0.2, 0.04, 0.04]
ROUNDING = 1e-14
"""[J] of Young's modulus times volume, 16 J."""
SPRING = {"stiffness": 40.0, "damping": 0.05}
SHEET = {"size": [0.2, 0.1], "cells": [4, 2]}
SOLID = {"type": "solid", "density": 1000, "young": 5e4, "viscosity": 5}
MESHED = """v 0 0 0\nv 0.1 0 0\nv 0.2 0 0.02\nv 0 0.1 0\nv 0.1 0.1 0.03\nv 0.2 0.1 0
f 1 2 5\nf 1 5 4\nf 2 3 6\nf 2 6 5\n"""


def solid(element, model, poisson, split="six"):
    box = {"size": SIZE, "cells": [4, 1, 1], "split": split}
    return SOLID | {"shape": {"box": box}, "element": element, "model": model, "poisson": poisson}


BODIES = {
    f"{element} {model} {poisson}": solid(element, model, poisson)
    for element in ("p1", "p1_fbar", "p2", "p2_p0")
    for model in ("neo_hookean", "neo_hookean_safe")
    for poisson in (0.0, 0.45)
}
BODIES |= {
    "p2_p0 safe in fives": solid("p2_p0", "neo_hookean_safe", 0.3, "five"),
    "p2_p0 safe nearly incompressible": solid("p2_p0", "neo_hookean_safe", 0.499),
    "p2_p0 safe without viscosity": solid("p2_p0", "neo_hookean_safe", 0.45) | {"viscosity": 0},
    "p2_p0 safe, linear viscosity": solid("p2_p0", "neo_hookean_safe", 0.45)
    | {"viscosity_model": "linear", "mass_matrix": "consistent"},
    "cloth": {"type": "cloth", "shape": {"rectangle": SHEET}, "mass": 0.1, "stretch": SPRING,
              "shear": SPRING, "bend": SPRING},
    "cloth of triangles": {"type": "cloth", "shape": {"mesh": {"file": "sheet.obj"}}, "mass": 0.1,
                           "stretch": SPRING, "bend": SPRING},
    "cloth with a patch": {"type": "cloth", "shape": {"rectangle": SHEET}, "mass": 0.1,
                           "stretch": SPRING, "shear": SPRING,
                           "patches": [{"where": {"all": {}}, "factor": 2}]},
    "net": {"type": "net", "shape": {"rectangle": SHEET}, "mass": 0.1, "cords": SPRING},
    "string": {"type": "string", "shape": {"line": {"length": 0.2, "masses": 6}}, "mass": 0.05,
               "stretch": SPRING, "bend": SPRING},
}  # fmt: skip


def scene(body, tmp_path, duration=0.1, **more):
    (tmp_path / "sheet.obj").write_text(MESHED)
    world = {"step": "1/500", "duration": duration, "gravity": [0, 0, 0]}
    return {"world": world, "bodies": {"soft": body | {"pose": {"position": [1, 2, 3]}}}} | more


def held(body):
    """Vertices that are the first along x."""
    least = -0.1 if "solid" in body["type"] else -0.0999
    return [{"plane": {"normal": [1, 0, 0], "offset": least + 1e-4}}]


def run(given, tmp_path):
    model = load_scene(given, base=tmp_path)
    r = _engine.rollout(model.engine, model.engine.values, model.steps, model.options)
    assert r.ok, r.message
    energy = model.engine.energies(r)
    elastic = energy["elastic"] + energy["springs"]
    return model, vertex_positions(model, r, "soft"), elastic, energy["total"]


@pytest.mark.parametrize("pinned", [False, True], ids=["free", "held"])
@pytest.mark.parametrize("kind", BODIES)
def test_without_a_load_nothing_moves(kind, pinned, tmp_path):
    body = BODIES[kind] | ({"pinned": held(BODIES[kind])} if pinned else {})
    if kind == "string" and pinned:
        body["pinned"] = [[0]]
    _, places, elastic, _ = run(scene(body, tmp_path), tmp_path)
    assert np.abs(places - places[0]).max() < 1e-9
    assert elastic.min() >= -ROUNDING and elastic.max() < 1e-12


@pytest.mark.parametrize("pinned", [False, True], ids=["free", "held"])
@pytest.mark.parametrize("kind", BODIES)
def test_a_strained_start_never_gains_energy(kind, pinned, tmp_path):
    body = BODIES[kind] | ({"pinned": held(BODIES[kind])} if pinned else {})
    if kind == "string" and pinned:
        body["pinned"] = [[0]]
    given = scene(body, tmp_path)
    shape = load_scene(given, base=tmp_path).parts.bodies["soft"]
    rng = np.random.default_rng(1)
    rest, free = shape.mesh.vertices, shape.free()
    along = rest[:, :1] - rest[:, 0].min()
    strained = rest + along * [0.1, 0.05, 0.2] + 1e-4 * rng.normal(size=rest.shape)
    np.savez(tmp_path / "strained.npz", vertices=np.where(free[:, None], strained, rest))
    given["start"] = {"soft": "strained.npz"}
    _, places, elastic, total = run(given, tmp_path)
    assert np.abs(places[-1] - places[0]).max() > 1e-4
    assert elastic.min() >= 0 and total.min() >= 0
    assert total.max() == total[0] > total[-1]


@pytest.mark.parametrize("acts", ["springs", "threads"])
@pytest.mark.parametrize("kind", ["p2_p0 neo_hookean_safe 0.45", "cloth", "string"])
def test_a_bundle_to_a_twin_leaves_both_at_rest(kind, acts, tmp_path):
    body = BODIES[kind]
    given = scene(body, tmp_path)
    given["bodies"]["twin"] = given["bodies"]["soft"]
    given["links"] = [{"name": "slip", "type": "bundle", "body": "soft", "where": {"all": {}},
                       "to": {"body": "twin"} if acts == "springs" else {"world": [1, 2, 3.5]},
                       "stiffness": 50.0, "damping": 1.0, "acts": acts}]  # fmt: skip
    _, places, elastic, _ = run(given, tmp_path)
    assert np.abs(places - places[0]).max() < 1e-9
    assert elastic.min() >= -ROUNDING and elastic.max() < 1e-12
