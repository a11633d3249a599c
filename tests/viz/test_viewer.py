"""The viewer in the browser: what it serves, what its scene holds, and what it refuses."""

import re
import sys
import time
import urllib.request

import numpy as np
import pytest

from diffsim_ros import _engine
from diffsim_ros.errors import InputError
from diffsim_ros.scene import load_scene
from diffsim_ros.scene.stepped import SteppedMotion
from diffsim_ros.scene.vertices import vertex_positions
from diffsim_ros.viz.animation import scene_animation
from diffsim_ros.viz.markers import Marker, MarkerKind
from diffsim_ros.viz.viewer import Viewer, view

SCENE = {
    "name": "everything",
    "world": {"step": 1 / 200, "duration": 0.1},
    "bodies": {
        "box": {
            "shape": {"box": {"size": [0.1, 0.1, 0.1]}}, "mass": 0.2, "contact_spheres": {},
            "pose": {"position": [0.0, 0.0, 0.0499]}, "colour": [1.0, 0.0, 0.0, 1.0],
        },
        "pin": {"shape": {"cylinder": {"radius": 0.02, "height": 0.1}}, "mass": 0.1,
                "pose": {"position": [0.3, 0.0, 0.3]}, "angular_velocity": [3.0, 0.0, 0.0]},
        "cloth": {"type": "cloth", "shape": {"rectangle": {"size": [0.2, 0.2], "cells": [3, 3]}},
                  "pose": {"position": [0.0, 0.4, 0.3]}, "mass_per_area": 0.1,
                  "stretch": {"stiffness": 100}},
    },
    "sdfs": {"floor": {"plane": {}}},
    "contact": [{"points": "box", "against": "floor", "k_n": 1000, "c_n": 0, "c_f": 0.5,
                 "k_t": 10}],
}  # fmt: skip


@pytest.fixture(scope="module")
def motion():
    model = load_scene(SCENE)
    return model, _engine.rollout(model.engine, model.engine.values, model.steps)


@pytest.fixture
def viewer():
    pytest.importorskip("viser")
    with Viewer(port=0, browser=False) as found:
        yield found


def test_the_page_is_served_to_this_machine_and_needs_no_other(viewer):
    with urllib.request.urlopen(viewer.address, timeout=10) as answer:
        page = answer.read().decode()
    assert viewer.address.startswith("http://127.0.0.1:")
    assert len(page) > 100_000  # all of it: scripts, styles and fonts
    assert not re.search(r"""(?:src|href)=["']https?://""", page)


def test_its_scene_holds_what_the_motion_has(viewer, motion):
    model, rollout = motion
    viewer.show(scene_animation(model, rollout, targets={"goal": [0.1, 0.2, 0.3]}, paths=True))
    viewer.seek(rollout.time[-1])
    nodes = viewer.nodes
    assert {"body/box", "body/pin", "body/cloth", "table", "target", "path/box",
            "path/pin", "path/cloth", "contact_force"} == {ns for ns, _ in nodes}  # fmt: skip
    assert nodes["body/box", 0].color == (255, 0, 0)
    row = model.engine.nodes_of("pin")[0]
    pin = nodes["body/pin", 0]
    np.testing.assert_allclose(pin.position, rollout.position[-1, row], atol=1e-12)
    np.testing.assert_allclose(pin.wxyz, rollout.orientation[-1, row][[3, 0, 1, 2]], atol=1e-12)
    cloth = nodes["body/cloth", 0]
    there = vertex_positions(model, rollout, "cloth", [-1])[0]
    assert cloth.side == "double" and len(cloth.faces) == len(model.bodies["cloth"].triangles)
    apart = np.linalg.norm(cloth.vertices[:, None] - there[None], axis=2)
    assert apart.shape == (16, 16) and apart.min(axis=0).max() < 1e-6
    np.testing.assert_allclose(nodes["target", 0].position, [0.1, 0.2, 0.3])


def test_the_slider_moves_what_is_shown_and_boxes_hide_it(viewer, motion):
    model, rollout = motion
    viewer.show(scene_animation(model, rollout))
    pin, row = viewer.nodes["body/pin", 0], model.engine.nodes_of("pin")[0]
    for frame in (10, 3, 17):
        viewer.seek(float(rollout.time[frame]))
        assert viewer.nodes["body/pin", 0] is pin  # moved, not made anew
        np.testing.assert_allclose(pin.position, rollout.position[frame, row], atol=1e-12)
    viewer.hide("Bodies", True)
    assert not pin.visible and viewer.nodes["table", 0].visible
    viewer.seek(float(rollout.time[5]))
    assert not pin.visible
    viewer.hide("Bodies", False)
    assert pin.visible


def test_it_plays_and_waits_for_a_motion_that_is_under_way(viewer, motion):
    model, rollout = motion
    whole = scene_animation(model, rollout)
    part = type(whole)(whole.name, whole.time[:5], whole.at, whole.still)
    viewer.show(part, until=float(whole.time[-1]))
    pin, row = viewer.nodes["body/pin", 0], model.engine.nodes_of("pin")[0]
    until = time.monotonic() + 10.0
    while not np.allclose(pin.position, rollout.position[4, row]) and time.monotonic() < until:
        time.sleep(0.02)
    time.sleep(0.1)  # it stays there: the rest is not known
    np.testing.assert_allclose(pin.position, rollout.position[4, row], atol=1e-12)
    viewer.show(whole)
    while not np.allclose(pin.position, rollout.position[-1, row]) and time.monotonic() < until:
        time.sleep(0.005)
    np.testing.assert_allclose(pin.position, rollout.position[-1, row], atol=1e-12)


def test_a_marker_of_every_kind_is_drawn_and_replaced(viewer):
    line = [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1]]
    kinds = {
        MarkerKind.ARROW: line[:2], MarkerKind.CUBE: [], MarkerKind.SPHERE: [],
        MarkerKind.CYLINDER: [], MarkerKind.LINE_STRIP: line, MarkerKind.LINE_LIST: line,
        MarkerKind.SPHERE_LIST: line, MarkerKind.POINTS: line, MarkerKind.TRIANGLE_LIST: line,
    }  # fmt: skip
    for scale in (0.1, 0.2):
        markers = [
            Marker(kind.name, 0, kind, scale=(scale,) * 3, points=points)
            for kind, points in kinds.items()
        ]
        markers.append(Marker("label", 0, MarkerKind.TEXT, scale=(0, 0, scale), text="words"))
        viewer._nodes.show(markers)
        assert {ns for ns, _ in viewer.nodes} == {marker.ns for marker in markers}
    viewer._nodes.clear()
    assert not viewer.nodes


def test_motions_are_chosen_from_a_list_of_different_names(viewer, motion):
    model, rollout = motion
    one, other = (scene_animation(model, rollout, name="a", paths=paths) for paths in (False, True))
    viewer.show(one, other)
    assert list(viewer._controls._motions.options) == ["a", "a (2)"]
    assert ("path/pin", 0) not in viewer.nodes
    viewer.choose(1)
    assert ("path/pin", 0) in viewer.nodes


def test_without_the_extra_it_names_it(motion, monkeypatch):
    monkeypatch.setitem(sys.modules, "viser", None)
    with pytest.raises(InputError, match=r"not installed.*`viewer`.*pip install viser"):
        view(*motion, browser=False, block=False)


def test_a_motion_stepped_while_it_is_seen_is_the_rollout(motion):
    model, rollout = motion
    stepped = SteppedMotion(model, 100.0)
    assert list(stepped.frames()) == list(range(1, 11)) and stepped.message == ""
    rows = np.arange(0, model.steps + 1, 2)
    np.testing.assert_allclose(stepped.time, rollout.time[rows], atol=1e-12)
    np.testing.assert_allclose(stepped.position, rollout.position[rows], atol=1e-9)
    box, pin = (model.engine.nodes_of(name)[0] for name in ("box", "pin"))
    for row in (box, pin):
        turn = stepped.orientation[:, row]
        turn = turn * np.sign(np.sum(turn * rollout.orientation[rows, row], axis=1))[:, None]
        np.testing.assert_allclose(turn, rollout.orientation[rows, row], atol=1e-9)
    total = rollout.contact_force[rows].sum(axis=1)
    np.testing.assert_allclose(stepped.contact_force[:, 0], total, atol=1e-9)
    # where the box's four feet carry it: below its centre
    np.testing.assert_allclose(stepped.contact_point[-1, 0, :2], 0.0, atol=1e-6)
