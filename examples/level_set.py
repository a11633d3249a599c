"""Strings of masses and a sheet fall onto a shape that is known by its samples  [G Fig. 4.6].

The shape is a blend of three capsules, triangulated, and sampled as a level set (voxel 10 mm), as
any mesh is.
"""

from __future__ import annotations

import numpy as np

from diffsim_ros import engine
from diffsim_ros.scene.vertices import vertex_positions
from diffsim_ros.viz.iso import zero_set
from examples.common import Outcome, instants, run

SIZE = (0.62, 0.62, 0.4)
VOXEL = 0.01


def blend() -> engine.Sdf:
    """Three capsules that lie crossed, blended over 4 cm."""
    half = np.sqrt(0.5)
    lying = [engine.Transformed(engine.Capsule(0.2, 0.07), [0, 0, 0.0], turn) for turn in
             ([half, 0, 0, half], [0, half, 0, half])]  # fmt: skip
    return engine.Union([*lying, engine.Capsule(0.08, 0.09)], 0.04)


def write_shape(path: str) -> None:
    """The blend's surface as an .obj file."""
    corners = zero_set(blend().evaluate, SIZE, cells=32).reshape(-1, 3)
    vertices, index = np.unique(np.round(corners, 9), axis=0, return_inverse=True)
    faces = index.reshape(-1, 3) + 1
    lines = [f"v {x} {y} {z}" for x, y, z in vertices.tolist()]
    lines += [f"f {a} {b} {c}" for a, b, c in faces.tolist() if len({a, b, c}) == 3]
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


def scene(path: str, duration: float) -> dict:
    """A sheet above the shape and two strings above the sheet's corners."""
    strings = {
        f"string{i}": {
            "type": "string", "shape": {"line": {"length": 0.7, "masses": 24}}, "mass": 0.02,
            "stretch": {"stiffness": 100, "damping": 0.02},
            "pose": {"position": [0.02 * i, 0.05 * i, 0.3 + 0.03 * i], "rotation": [0, 0, 0.4 + i]},
            "contact_spheres": {"surface": {"radius": 0.004}}, "colour": [0.9, 0.6, 0.1 * i],
        }
        for i in range(3)
    }  # fmt: skip
    sheet = {
        "type": "cloth", "mass": 0.1, "colour": [0.8, 0.3, 0.2],
        "shape": {"rectangle": {"size": [0.5, 0.5], "cells": [14, 14]}},
        "stretch": {"stiffness": 200, "damping": 0.05},
        "shear": {"stiffness": 20, "damping": 0.02}, "bend": {"stiffness": 1, "damping": 0.005},
        "pose": {"position": [0, 0, 0.2]}, "contact_spheres": {"surface": {"radius": 0.004}},
    }  # fmt: skip
    bodies = {"sheet": sheet, **strings}
    return {
        "name": "strings and cloth on a level set",
        "world": {"step": 1 / 240, "duration": duration, "record_every": 4},
        "bodies": bodies,
        "sdfs": {"shape": {"mesh": {"file": path, "voxel": VOXEL}}},
        "contact": [{"name": f"{name}_touch", "points": name, "against": "shape", "c_f": 0.6,
                     "c_n": 0.3, "k_n": 2e4 if name == "sheet" else 4e3} for name in bodies],
    }  # fmt: skip


def study(quick: bool = False) -> Outcome:
    """They come to lie on the shape: nothing sinks in, and the sampled gap is the exact one."""
    import tempfile
    from pathlib import Path

    found = Outcome()
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "shape.obj")
        write_shape(path)
        done = run(scene(path, 0.5 if quick else 1.2))
        exact, sampled = blend(), done.model.surfaces["sheet_touch"]
        x = np.concatenate([vertex_positions(done.model, done.rollout, name)[-1]
                            for name in done.model.bodies])  # fmt: skip
        gaps = np.asarray(exact.evaluate(x)[0])
        near = np.abs(gaps) < 2 * VOXEL
        error = np.abs(np.asarray(sampled.evaluate(x)[0]) - gaps)[near]
        found.figures = {
            "deepest": float(-min(gaps.min(), 0.0)),
            "vertices_touching": int((gaps < 0.005).sum()),
            "median_error_of_the_level_set": float(np.median(error)),
            "newton_iterations_mean": float(done.iterations.mean()),
            "cpu_seconds": done.seconds,
        }
        found.check("no vertex is more than 5 mm inside the shape", found.figures["deepest"] < 5e-3)
        found.check("at least 30 vertices lie on it", found.figures["vertices_touching"] >= 30)
        found.check("the level set is right to a fifth of a voxel there, by the median",
                    found.figures["median_error_of_the_level_set"] < 0.2 * VOXEL)  # fmt: skip
        last = len(done.rollout.time) - 1
        found.pictures["level_set.png"] = instants(done, [last], "Strings and cloth on a level set")
    return found
