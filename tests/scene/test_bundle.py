"""Bundles: threads and springs from a region of a soft body, ties to a body in the same place."""

from __future__ import annotations

import numpy as np
import pytest

from diffsim_ros import _engine
from diffsim_ros.errors import InputError
from diffsim_ros.scene.model import load_scene

BOX = {"type": "solid", "density": 500, "young": 2e4, "poisson": 0.3, "contact_spheres": "none",
       "shape": {"box": {"size": [0.1, 0.1, 0.1], "cells": [2, 2, 2]}}}  # fmt: skip
HELD = {"plane": {"normal": [0, 0, -1], "offset": -0.05}}  # the upper face
BOTTOM = {"plane": {"normal": [0, 0, 1], "offset": -0.05}}


def world(link: dict, **bodies) -> dict:
    return {
        "world": {"step": 0.01, "duration": 3, "record_every": 100, "scheme": "bdf1"},
        "bodies": {"block": {**BOX, "viscosity": 100, "pinned": [HELD]}, **bodies},
        "links": [{"name": "b", "type": "bundle", "body": "block", "where": BOTTOM, **link}],
    }


def run(scene: dict):
    model = load_scene(scene)
    return model, _engine.rollout(model.engine, model.engine.values, model.steps, model.options)


WEIGHT = {"type": "particle", "mass": 0.2, "pose": {"position": [0, 0, -0.25]}}


def test_threads_carry_a_weight_and_never_push():
    model, r = run(world({"to": {"body": "weight"}, "acts": "threads", "stiffness": 500},
                         weight=WEIGHT))  # fmt: skip
    assert r.ok, r.message
    node = model.engine.nodes_of("weight")[0]
    assert np.abs(r.velocity[-1, node]).max() < 1e-3
    assert r.position[-1, node, 2] < -0.25 - 0.2 * 9.81 / 500  # the block stretches too
    thrown = world({"to": {"body": "weight"}, "acts": "threads", "stiffness": 500},
                   weight={**WEIGHT, "velocity": [0, 0, 1.0]})  # fmt: skip
    thrown["world"] |= {"duration": 0.1, "record_every": 10, "step": 0.001}
    model, r = run(thrown)
    rise = -0.25 + r.time - 9.81 / 2 * r.time**2
    np.testing.assert_allclose(r.position[:, node, 2], rise, atol=6e-4)  # slack: it only flies


def test_springs_know_their_energy():
    scene = world({"to": {"world": [0, 0, -0.3]}, "stiffness": 80, "damping": 5})
    scene["world"] |= {"gravity": [0, 0, 0], "duration": 0.01, "record_every": 1}
    model, r = run(scene)
    springs = model.engine.energies(r)["springs"]  # at first at their start length
    assert springs[0] == pytest.approx(0.0, abs=1e-20)
    p = model.engine.values
    p[model.engine.index("b.rest_scale")] = 0.5
    bottom = [[x, y, -0.05] for x in (-0.05, 0, 0.05) for y in (-0.05, 0, 0.05)]
    length = np.linalg.norm(np.array(bottom) - [0, 0, -0.3], axis=1)
    expected = 0.5 * 80 / 9 * np.sum((0.5 * length) ** 2)
    r = _engine.rollout(model.engine, p, 1, model.options)
    assert model.engine.energies(r, p)["springs"][0] == pytest.approx(expected)


def test_a_tied_network_relaxes():
    """At first both carry the load, later one alone: the sag is the block's own again."""
    coarse = {**BOX, "shape": {"box": {"size": [0.1, 0.1, 0.1], "cells": [1, 1, 1]}}}
    net = {**coarse, "density": 1, "young": 6e4, "pinned": [HELD]}
    tied = world({"to": {"body": "net"}, "where": "all", "stiffness": 0, "damping": 2e3}, net=net)
    alone = world({"to": {"world": [0, 0, -1]}, "stiffness": 0, "damping": 0})
    sags = {}
    for name, scene in (("tied", tied), ("alone", alone)):
        scene["world"] |= {"duration": 15, "record_every": 10, "step": 0.05}
        model, r = run(scene)
        assert r.ok, r.message
        first, count = model.engine.nodes_of("block")
        z = np.asarray(r.position)[:, first : first + count, 2].mean(axis=1)
        sags[name] = z[0] - z
    assert sags["tied"][1] < 0.8 * sags["alone"][1]
    assert sags["tied"][-1] == pytest.approx(sags["alone"][-1], rel=0.02)


@pytest.mark.parametrize(
    ("link", "says"),
    [
        ({"to": {"body": "weight", "vertex": 3}}, "a point, not a vertex"),
        ({"to": {"body": "block"}}, "another body with vertices"),
        ({"to": {"body": "net"}, "acts": "threads"}, "twins start in one place"),
        ({"body": "weight", "to": {"world": [0, 0, 0]}}, "a solid, cloth or string"),
        ({"where": HELD, "to": {"world": [0, 0, 0]}}, "one vertex that is not pinned"),
        ({"where": HELD, "to": {"body": "net"}}, "one vertex that is not pinned"),
        ({"to": {"body": "half"}}, "another body with vertices where block has some in `where`"),
        ({"to": {"body": "nett"}}, "did you mean 'net'"),
    ],
)
def test_wrong_ends_are_refused(link, says):
    half = {**BOX, "pose": {"position": [0, 0, 0.05]}}
    scene = world({"stiffness": 1, **link}, weight=WEIGHT, net=BOX, half=half)
    with pytest.raises(InputError, match=says):
        load_scene(scene)
