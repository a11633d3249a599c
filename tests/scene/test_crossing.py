"""What counts as going through: rings, bowls and draped cloth do not, whatever passes does."""

import numpy as np
import pytest

pytest.importorskip("diffsim_ros._engine", reason="the engine is not built")

import diffsim_ros as ds
from diffsim_ros.scene.passage import passage
from tests.scene.mesh_writing import write_obj

HARD = {"k_n": 2e4, "c_n": 1.0, "c_f": 0.3}


def scene(bodies, contact, duration=0.3, step=1 / 400, **more):
    return ds.load_scene(
        {
            "world": {"step": step, "duration": duration},
            "bodies": bodies,
            "contact": contact,
            **more,
        }
    )


def lathe(path, profile, around=24):
    """A closed ring about z: the profile (n, 2) of radius and height, as an OBJ file."""
    n = len(profile)
    turn = 2 * np.pi * np.arange(around) / around
    vertices = [(r * np.cos(a), r * np.sin(a), z) for a in turn for r, z in profile]
    faces = []
    for k in range(around):
        for j in range(n):
            a, b = k * n + j, k * n + (j + 1) % n
            c, d = (a + n) % (n * around), (b + n) % (n * around)
            faces += [(a, c, d), (a, d, b)]
    write_obj(path, np.array(vertices), np.array(faces))
    return str(path)


def ring_on_peg(tmp_path):
    file = lathe(tmp_path / "ring.obj", [(0.04, -0.01), (0.06, -0.01), (0.06, 0.01), (0.04, 0.01)])
    peg = {"type": "kinematic", "shape": {"cylinder": {"radius": 0.03, "height": 0.3}},
           "pose": {"position": [0, 0, 0.15]}}  # fmt: skip
    ring = {"shape": {"mesh": {"file": file}}, "mass": 0.2, "pose": {"position": [0, 0, 0.25]}}
    floor = {"points": "ring", "against": {"plane": {}}, **HARD, "k_n": 1e5}
    return scene({"peg": peg, "ring": ring}, [{"pairs": "all", **HARD}, floor])


def ball_in_bowl(tmp_path):
    a = np.linspace(0, np.pi / 2, 9)
    inner = [(max(0.2 * np.sin(x), 0.01), 0.2 - 0.2 * np.cos(x)) for x in a]
    outer = [(max(0.23 * np.sin(x), 0.01), 0.2 - 0.23 * np.cos(x)) for x in a[::-1]]
    file = lathe(tmp_path / "bowl.obj", (outer + inner)[::-1])
    bowl = {"type": "kinematic", "shape": {"mesh": {"file": file}},
            "pose": {"position": [0, 0, 0.05]}}  # fmt: skip
    ball = {
        "shape": {"sphere": {"radius": 0.05}},
        "mass": 0.2,
        "pose": {"position": [0.05, 0, 0.3]},
    }
    return scene({"bowl": bowl, "ball": ball}, [{"pairs": "all", **HARD}], 0.6)


CLOTH = {"type": "cloth", "shape": {"rectangle": {"size": [0.6, 0.6], "cells": [12, 12]}},
         "mass": 0.1, "stretch": {"stiffness": 300, "damping": 0.05},
         "shear": {"stiffness": 100, "damping": 0.02}, "bend": {"stiffness": 1, "damping": 0.01},
         "pose": {"position": [0, 0, 0.23]}}  # fmt: skip


def cloth_over(size, z, **pose):
    box = {"transform": {"of": {"box": {"size": size}}, "position": [0, 0, z]}}
    cloth = {**CLOTH, **pose}
    contact = [{"points": "cloth", "against": name, **HARD} for name in ("box", "floor")]
    return scene({"cloth": cloth}, contact, 0.7, sdfs={"box": box, "floor": {"plane": {}}})


@pytest.mark.parametrize(
    "make",
    [ring_on_peg, ball_in_bowl, lambda _: cloth_over([0.2, 0.2, 0.2], 0.1)],
    ids=["ring", "bowl", "cloth"],
)
def test_what_surrounds_a_thing_does_not_go_through_it(make, tmp_path):
    model = make(tmp_path)
    rollout = model.rollout()
    assert rollout.ok and model.crossings(rollout) == []


def fast_ball(_):
    plate = {"type": "kinematic", "shape": {"box": {"size": [1, 1, 0.01]}},
             "pose": {"position": [0, 0, 0]}}  # fmt: skip
    ball = {"shape": {"sphere": {"radius": 0.01}}, "mass": 0.01, "velocity": [0, 0, -30],
            "pose": {"position": [0, 0, 0.5]}}  # fmt: skip
    return scene({"plate": plate, "ball": ball}, [{"pairs": "all", **HARD}], 0.05)


def slow_ball_on_foil(_):
    """No step jumps over it: the contact is too soft for what pushes."""
    plate = {"type": "kinematic", "shape": {"box": {"size": [1, 1, 0.02]}},
             "pose": {"position": [0, 0, 0]}}  # fmt: skip
    ball = {"shape": {"sphere": {"radius": 0.03}}, "mass": 5, "velocity": [0, 0, -1],
            "pose": {"position": [0, 0, 0.05]}}  # fmt: skip
    return scene({"plate": plate, "ball": ball}, [{"pairs": "all", "k_n": 500}], 0.3, 1 / 1000)


@pytest.mark.parametrize(
    ("make", "cause"),
    [
        (fast_ball, "thick; world.step: "),
        (slow_ball_on_foil, "too soft"),
        (lambda _: cloth_over([0.03, 0.03, 0.4], 0.2, pose={"position": [0.025, 0.025, 0.43]}),
         "passes between the contact points of cloth; a finer mesh"),
    ],
    ids=["fast", "soft", "spike"],
)  # fmt: skip
def test_what_passes_is_named_with_its_cause(make, cause, tmp_path):
    model = make(tmp_path)
    rollout = model.rollout()
    (text,) = model.crossings(rollout)
    assert text in rollout.warnings
    assert " goes through " in text and cause in text


def ball(x):
    """Unit sphere."""
    far = np.linalg.norm(x, axis=1)
    return far - 1, x / np.maximum(far, 1e-12)[:, None]


def slab(x):
    """|z| < 0.1."""
    return np.abs(x[:, 2]) - 0.1, np.stack([0 * x[:, 0], 0 * x[:, 0], np.sign(x[:, 2])], 1)


def test_paths_round_a_solid_are_none_through_it():
    a = np.linspace(0, 2 * np.pi, 60)
    for depth in (0.05, -0.05):  # slides around it
        x = (1 - depth) * np.stack([np.cos(a), np.sin(a), 0 * a], 1)[:, None]
        assert passage(x, ball, 2.0, 0.5) is None
    bounce = np.abs(np.linspace(-1, 1, 6))  # back before the surface, seldom looked at
    x = np.stack([0 * bounce, 0 * bounce, bounce], 1)[:, None]
    assert passage(x, slab, 0.2, 0.05) is None


@pytest.mark.parametrize("frames", [4, 5, 9, 30, 300])
def test_paths_through_a_solid_are_found_at_any_speed(frames):
    z = np.linspace(1.03, -1.21, frames)
    x = np.stack([0 * z, 0 * z, z], 1)[:, None]
    found = passage(x, slab, 0.2, 0.05)
    assert found is not None and found.point == 0 and (found.jumped > 0) == (frames < 20)
    aside = np.stack([0 * z, 0.3 + 0 * z, 2 * z], 1)[:, None]
    assert passage(aside, ball, 2.0, 0.5) is not None
