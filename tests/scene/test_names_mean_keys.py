"""A key of a scene file and the engine's names behind it: what one changes the others change."""

import numpy as np
import pytest

pytest.importorskip("diffsim_ros._engine", reason="the engine is not built")

from diffsim_ros import _engine
from diffsim_ros.scene import load_scene
from diffsim_ros.scene.targets import targets
from diffsim_ros.simulation.values import values_of

BOX = {"shape": {"box": {"size": [0.1, 0.2, 0.3]}}}
SPRINGS = {"stretch": {"stiffness": 300.0, "damping": 0.1}, "rest_scale": 0.95}
SCENE = {
    "world": {"step": 1e-3, "duration": 0.01},
    "materials": {"rubber": {"c_f": 0.7, "density": 900.0}},
    "bodies": {
        "mass": {**BOX, "mass": 2.0, "pose": {"position": [0, 0, 1]}},
        "dense": {**BOX, "density": 700.0, "pose": {"position": [1, 0, 1]}},
        "of_rubber": {**BOX, "material": "rubber", "pose": {"position": [2, 0, 1]}},
        "ball": {"shape": {"sphere": {"radius": 0.1}}, "mass": 1.5, "inertia": 0.02,
                 "pose": {"position": [3, 0, 1]}},
        "six": {**BOX, "mass": 1.0, "inertia": [0.02, 0.03, 0.04, 0.001, 0, 0],
                "pose": {"position": [4, 0, 1]}},
        "pair": {"shape": [
            {"box": {"size": [0.1, 0.1, 0.1]}, "density": 500.0},
            {"sphere": {"radius": 0.1}, "position": [0.2, 0, 0], "density": 900.0},
        ], "pose": {"position": [5, 0, 1]}},
        "point": {"type": "particle", "mass": 0.3, "pose": {"position": [6, 0, 1]}},
        "soft": {"type": "solid", "shape": {"box": {"size": [0.1, 0.1, 0.1], "cells": [1, 1, 1]}},
                 "density": 400.0, "young": 1e5, "poisson": 0.3, "pose": {"position": [7, 0, 1]}},
        "sheet": {"type": "cloth", "shape": {"rectangle": {"size": [0.2, 0.2], "cells": [2, 2]}},
                  "mass_per_area": 0.3, **SPRINGS, "pose": {"position": [8, 0, 1]}},
        "heavy_sheet": {"type": "cloth", "mass": 0.3, **SPRINGS, "pose": {"position": [9, 0, 1]},
                        "shape": {"rectangle": {"size": [0.2, 0.2], "cells": [2, 2]}}},
        "rope": {"type": "string", "mass": 0.1, **SPRINGS,
                 "shape": {"line": {"length": 0.3, "masses": 4}},
                 "pose": {"position": [10, 0, 1]}},
    },
    "sdfs": {"floor": {"plane": {}}, "knob": {"sphere": {"radius": 0.1}}},
    "contact": [
        {"name": "a", "points": "mass", "against": "floor", "k_n": 1e4, "c_f": 0.3},
        {"name": "b", "points": "ball", "against": "knob", "k_n": 1e4, "c_f": 0.3},
        {"name": "c", "points": "dense", "against": "knob", "k_n": 1e4, "c_f": 0.3},
    ],
    "links": [
        {"name": "hinge", "type": "joint", "kind": "hinge", "body_b": "dense", "axis": [0, 1, 0],
         "position": [1, 0, 1.1], "coordinates": "reduced", "friction_damping": 0.1,
         "armature": 0.01, "coulomb_friction": 0.2},
        {"name": "drive", "type": "motor", "joint": "hinge", "kind": "position", "keys": [0.1],
         "stiffness": 3.0, "damping": 0.1},
        {"name": "spring", "type": "spring", "stiffness": 50.0, "damping": 1.0,
         "pairs": [{"a": {"body": "mass"}, "b": {"world": [0, 0, 2]}}]},
        {"name": "cable", "type": "cable", "stiffness": 50.0,
         "via": [{"body": "ball"}, {"world": [3, 0, 2]}, {"world": [3, 1, 2]}]},
        {"name": "air", "type": "drag", "body": "point", "c_linear": 0.1, "c_quadratic": 0.2},
    ],
}  # fmt: skip
OF_SEVERAL = {"world.gravity", "bodies.ball.inertia", "rest_scale", "sdfs.knob.sphere.radius"}
"""Keys that are several numbers at run time, each with a name and a meaning of its own."""


@pytest.fixture(scope="module")
def scene():
    return load_scene(load_scene(SCENE).description)  # with every default written down


def paths(scene):
    """Every path of one number: those of components are of one number of the engine each."""
    known = targets(scene.parts, scene.engine)
    return {
        path: target for path, target in known.items()
        if path.rpartition(".")[2] not in ("x", "y", "z", "xx", "yy", "zz", "xy", "xz", "yz")
        and "[" not in path and target.value and ".surface_" not in path
    }  # fmt: skip


def several(path):
    return path in OF_SEVERAL or path.rpartition(".")[2] in OF_SEVERAL


def changed(scene, path, value):
    """The engine's numbers of the file with this value at the path."""
    if path == "world.gravity":
        g = np.array(scene.description["world"]["gravity"])
        return load_scene(scene.description, set=[f"world.gravity={(g * value / 9.81).tolist()}"])
    return load_scene(scene.description, set=[f"{path}={value!r}"])


def test_every_key_moves_the_numbers_that_its_path_names_and_its_name_does_the_same(scene):
    values, checked, by_name = values_of(scene.engine), set(), set()
    for path, target in paths(scene).items():
        value = 1.01 * target.value
        file = changed(scene, path, value)
        new, expected = file.engine.values, values.array.copy()
        for name, factor in target.sets.items():
            expected[values.index(name)] = factor * value
        if path.endswith("rest_scale"):  # built into the file's rest lengths
            ends = [
                _engine.rollout(one.engine, p, 10, one.options).position[-1]
                for one, p in ((file, new), (scene, expected))
            ]
            assert ends[0] == pytest.approx(ends[1], abs=1e-9), path
            continue
        assert new == pytest.approx(expected, rel=1e-12), path
        checked.add(path)
        if several(path):
            continue
        leader = next(iter(target.sets)) if len(target.sets) == 1 else None
        for name in target.sets:
            covered = {values.names[k] for k in values.followers(values.index(name))} | {name}
            leader = name if covered == set(target.sets) else leader
        assert leader is not None, f"{path} sets {list(target.sets)}, and no name means them all"
        assert values.replaced({leader: target.sets[leader] * value}).array == pytest.approx(
            new, rel=1e-12
        ), path
        by_name.add(path)
    assert {"bodies.mass.mass", "bodies.dense.density", "bodies.of_rubber.density",
            "bodies.pair.mass", "bodies.soft.density", "bodies.sheet.mass_per_area",
            "bodies.point.mass", "bodies.six.mass"} <= by_name  # fmt: skip
    assert {"world.gravity", "bodies.ball.inertia", "sdfs.knob.sphere.radius"} <= checked
    assert len(checked) > 30
