"""Nets: cords that carry a weight and never push, paths, pictures, errors."""

import math

import numpy as np
import pytest

from diffsim_ros import _engine
from diffsim_ros.errors import InputError
from diffsim_ros.scene import load_scene

NET = {"type": "net", "shape": {"rectangle": {"size": [0.4, 0.3], "cells": [1, 1]}}, "mass": 0.1,
       "cords": {"stiffness": 100, "damping": 15}, "pinned": [[1, 3]],
       "pose": {"position": [0, 0, 1], "rotation": [math.pi / 2, 0, 0]}}  # fmt: skip


def scene(duration=3.0, **more):
    """A net of one mesh that hangs on its two upper knots."""
    return {
        "world": {"step": 0.005, "duration": duration, "scheme": "bdf1"},
        "bodies": {"net": {**NET, **more}},
    }


def run(model, p=None, **more):
    p = model.engine.values if p is None else p
    r = _engine.rollout(model.engine, p, model.steps, model.options, **more)
    assert r.ok, r.message
    return r


def test_cords_carry_the_knots_below_them():
    r = run(load_scene(scene()))
    extension = 0.85 - r.position[-1, :, 2]
    assert extension == pytest.approx(0.1 / 4 * 9.81 / 100, rel=1e-3)
    assert r.position[-1, :, 0] == pytest.approx([-0.2, 0.2], abs=1e-9)


def test_slack_cords_never_push():
    model = load_scene(scene(duration=0.15, rest_scale=1.5, velocity=[0, 0, 0.5]))
    r = run(model)
    speed = 0.5 - 9.81 * r.time
    np.testing.assert_allclose(r.velocity[:, :, 2], np.stack([speed] * 2, axis=1), atol=1e-9)
    assert not model.engine.energies(r)["springs"].any()


@pytest.mark.parametrize("path", ["cords.stiffness", "cords.damping", "rest_scale", "mass"])
def test_its_numbers_are_parameters(path):
    """S against central differences of the file's own value."""
    model = load_scene(
        scene(duration=0.3, rest_scale=0.98) | {"parameters": {f"bodies.net.{path}": {}}}
    )
    (parameter,) = model.parameters
    p, found = model.engine.values, []
    active = [model.engine.index(name) for name in parameter.sets]
    factors = [factor for factor, _ in parameter.sets.values()]
    exact = run(model, active=active, mode="sensitivity").dx[-1] @ factors
    eps = 1e-5 * parameter.value
    for sign in (1, -1):
        q = p.copy()
        q[active] = np.array(factors) * (parameter.value + sign * eps)
        found.append(run(model, q).position[-1])
    slope = (found[0] - found[1]).ravel() / (2 * eps)
    assert np.abs(slope).max() > 1e-9
    np.testing.assert_allclose(exact, slope, rtol=1e-4, atol=1e-5 * np.abs(slope).max())


def test_a_picture_shows_its_cords():
    model = load_scene(scene())
    assert model.bodies["net"].kind == "soft" and model.bodies["net"].lines.shape == (4, 2)
    again = load_scene(model.description)
    assert again.description == model.description


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"cords": {"stiffness": -1}}, r"cords\.stiffness.*>= 0"),
        ({"shape": {"rectangle": {"size": [1, 1], "cells": [2]}}}, "2 whole numbers"),
        ({"stretch": {"stiffness": 1}}, r"bodies\.net\.stretch"),
    ],
)
def test_wrong_nets_are_named(more, says):
    with pytest.raises(InputError, match=says):
        load_scene(scene(**more))
