"""A simulated scene in pictures: markers of rigid and soft bodies, surfaces, the playable page."""

import json
import re
from types import SimpleNamespace

import numpy as np
import pytest

from diffsim_ros.viz.iso import zero_set
from diffsim_ros.viz.markers import MarkerKind
from diffsim_ros.viz.meshes import Viewpoint, triangles
from diffsim_ros.viz.render import render

_engine = pytest.importorskip("diffsim_ros._engine", reason="the engine is not built")

from diffsim_ros.scene import load_scene  # noqa: E402
from diffsim_ros.scene.vertices import vertex_positions  # noqa: E402
from diffsim_ros.viz.scene_markers import body_markers, force_markers, picture_markers, surroundings  # noqa: E402
from diffsim_ros.viz.scene_report import scene_motion, write_simulation_report  # noqa: E402

SCENE = {
    "name": "all_kinds",
    "world": {"step": 0.01, "duration": 0.1},
    "bodies": {
        "ball": {"type": "solid", "shape": {"ball": {"radius": 0.1, "layers": 2}}, "density": 200,
                 "young": 1e4, "poisson": 0.3, "pose": {"position": [0, 0, 0.6]}},
        "sheet": {"type": "cloth", "mass": 0.1, "stretch": {"stiffness": 50},
                  "shape": {"rectangle": {"size": [0.4, 0.2], "cells": [4, 2]}},
                  "pose": {"position": [1, 0, 0.5]}, "pinned": [[0]]},
        "rope": {"type": "string", "shape": {"line": {"length": 0.5, "masses": 4}}, "mass": 0.1,
                 "stretch": {"stiffness": 50}, "pose": {"position": [2, 0, 1]}},
        "block": {"shape": {"box": {"size": [0.1, 0.1, 0.1]}}, "mass": 1,
                  "pose": {"position": [3, 0, 1]}, "angular_velocity": [0, 0, 5]},
        "hand": {"type": "kinematic", "pose": {"position": [0, 0, 2]}},
        "dot": {"type": "particle", "mass": 1, "contact_spheres": "point",
                "pose": {"position": [4, 0, 1]}},
    },
    "contact": [
        {"name": "floor", "points": "ball", "against": {"plane": {}}, "k_n": 1e4, "c_n": 0},
        {"name": "ring", "points": "dot", "k_n": 10, "c_n": 0, "against": {"transform": {
            "of": {"torus": {"ring_radius": 0.3, "tube_radius": 0.1}}, "position": [4, 0, 0]}}},
        {"name": "tool", "points": "dot", "carrier": "block", "k_n": 10, "c_n": 0,
         "against": {"transform": {"of": {"sphere": {"radius": 0.05}}, "position": [0.2, 0, 0]}}},
    ],
}  # fmt: skip


@pytest.fixture(scope="module")
def motion():
    model = load_scene(SCENE)
    options = _engine.Options(step=0.01, record_every=1, record_modes=True)
    rollout = _engine.rollout(model.engine, model.engine.values, model.steps, options)
    assert rollout.ok
    return model, rollout


def test_soft_bodies_are_drawn_by_their_vertices(motion):
    model, rollout = motion
    ball, *_ = body_markers(model, rollout, "ball", [4, 7])
    assert ball.kind is MarkerKind.TRIANGLE_LIST and ball.id == 4 and len(ball.points) == 3 * 80
    x = vertex_positions(model, rollout, "ball", [4])[0]
    assert ball.points == pytest.approx(x[model.bodies["ball"].triangles].reshape(-1, 3))
    (sheet,) = body_markers(model, rollout, "sheet", 3)
    faces = sheet.points.reshape(2, -1, 3, 3)
    assert faces[1] == pytest.approx(faces[0][:, ::-1])  # the other side
    (rope,) = body_markers(model, rollout, "rope", 3)
    assert rope.kind is MarkerKind.LINE_LIST and len(rope.points) == 2 * 3
    assert body_markers(model, rollout, "hand", 3) == []  # a handle without a shape
    (block,) = body_markers(model, rollout, "block", 3)
    row = model.engine.nodes_of("block")[0]
    assert block.position == pytest.approx(rollout.position[3, row])


def test_the_picture_shows_everything(motion):
    model, rollout = motion
    drawn = picture_markers(model, rollout)
    assert len({(m.ns, m.id) for m in drawn}) == len(drawn)
    assert {m.ns for m in drawn if m.ns.startswith("body/")} == {
        f"body/{name}" for name in SCENE["bodies"] if name != "hand"
    }
    assert render(drawn, size=(160, 120)).std() > 3


def test_each_touch_has_an_arrow_where_it_presses_hardest():
    force = np.zeros((101, 2, 3))
    force[30:35, 0, 2] = [1.0, 4.0, 9.0, 5.0, 2.0]  # between two of the eight instants
    force[60:64, 1, 0] = [-1.0, -30.0, -50.0, -2.0]
    point = np.broadcast_to(np.array([[0.1, 0.2, 0.0], [0.5, 0.0, 0.3]]), force.shape)
    motion = SimpleNamespace(contact_point=point, contact_force=force, time=np.arange(101))
    wall, floor = force_markers(motion)
    np.testing.assert_allclose(floor.points, [[0.1, 0.2, 0.0], [0.1, 0.2, 0.09]])
    np.testing.assert_allclose(wall.points, [[0.5, 0.0, 0.3], [0.2, 0.0, 0.3]])  # 0.3 m at most
    assert (wall.id, floor.id) == (0, 1)
    still = SimpleNamespace(contact_point=point, contact_force=0 * force, time=np.arange(101))
    assert force_markers(still) == []


def test_links_are_drawn_between_their_ends():
    ends = [{"body": "block", "point": [0.05, 0, 0]}, {"body": "rope", "vertex": 3},
            {"world": [1, 2, 3]}]  # fmt: skip
    spring = {"name": "spring", "stiffness": 1, "pairs": [{"a": ends[0], "b": {"body": "dot"}}]}
    cable = {"name": "cable", "type": "cable", "stiffness": 1, "via": ends}
    model = load_scene(SCENE | {"links": [spring, cable]})
    run = _engine.rollout(model.engine, model.engine.values, 5, model.options)
    lines = {m.ns: m.points for m in picture_markers(model, run) if m.ns.startswith("link/")}
    block = run.position[-1, model.engine.nodes_of("block")[0]]
    assert np.linalg.norm(lines["link/spring"][0] - block) == pytest.approx(0.05)
    rope = vertex_positions(model, run, "rope", [5])[0, 3]
    np.testing.assert_allclose(lines["link/cable"][1:], [rope, rope, [1, 2, 3]], atol=1e-12)
    dot = run.position[-1, model.engine.nodes_of("dot")[0]]
    np.testing.assert_allclose(lines["link/spring"][1], dot)


def test_a_carried_surface_is_drawn_where_its_carrier_is(motion):
    model, rollout = motion
    row = model.engine.nodes_of("block")[0]
    for frame in (0, 5, -1):
        (tool,) = (m for m in surroundings(model, rollout, frame) if m.ns == "sdf/tool")
        apart = tool.position - rollout.position[frame, row]
        assert np.linalg.norm(apart) == pytest.approx(0.2) and tool.kind is MarkerKind.SPHERE
        angle = 5 * rollout.time[frame]
        assert apart == pytest.approx([0.2 * np.cos(angle), 0.2 * np.sin(angle), 0], abs=1e-3)
    (ring,) = (m for m in surroundings(model, rollout) if m.ns == "sdf/ring")
    assert ring.kind is MarkerKind.TRIANGLE_LIST and ring.position == pytest.approx([4, 0, 0])


@pytest.mark.parametrize("cells", [12, 24])
def test_the_zero_set_lies_on_the_surface_and_looks_outwards(cells):
    torus = _engine.Torus(0.3, 0.1)
    faces = zero_set(torus.evaluate, (0.8, 0.8, 0.2), cells=cells)
    gap, normal, *_ = torus.evaluate(faces.reshape(-1, 3))
    assert np.abs(gap).max() < 3 * (0.82 / cells) ** 2 / (8 * 0.1)  # chords of cell diagonals
    across = np.cross(faces[:, 1] - faces[:, 0], faces[:, 2] - faces[:, 0])
    agree = np.einsum("ij,ij->i", across, normal.reshape(-1, 3, 3).mean(axis=1))
    area = np.linalg.norm(across, axis=1)
    assert (area[agree < 0].sum() < 1e-3 * area.sum()) and len(faces) > 500
    volume = np.einsum("ij,ij->", faces[:, 0], np.cross(faces[:, 1], faces[:, 2])) / 6
    assert volume == pytest.approx(2 * np.pi**2 * 0.3 * 0.1**2, rel=2.5 / cells)
    assert len(zero_set(_engine.Sphere(5.0).evaluate, (1, 1, 1))) == 0


def test_only_faces_towards_the_camera_are_drawn_of_closed_surfaces(motion):
    model, rollout = motion
    (sheet,) = body_markers(model, rollout, "sheet", 0)
    for height in (2.0, -2.0):
        camera = Viewpoint((1.0, -0.1, 0.5 + height), (1.0, 0.0, 0.5))
        (soup,) = triangles(sheet, camera)
        assert soup.closed
        centre = render([sheet], camera, (60, 60))[28:32, 28:32].mean(axis=(0, 1))
        # lit from above: its upper side is brighter, though both are drawn at the same place
        assert (centre[2] > 150) == (height > 0)


def test_the_page_plays_soft_bodies(motion, tmp_path):
    model, rollout = motion
    data = scene_motion(model, rollout)
    kinds = {body["name"]: body["kind"] for body in data["bodies"]}
    assert kinds == {"ball": "mesh", "sheet": "mesh", "rope": "mesh", "block": "box",
                     "dot": "point", "ring": "mesh", "tool": "sphere"}  # fmt: skip
    ball = data["bodies"][[*kinds].index("ball")]
    used = np.unique(model.bodies["ball"].triangles)
    assert len(ball["v"]) == 11 and len(ball["v"][0]) == 3 * len(used)
    x = vertex_positions(model, rollout, "ball", [10])[0]
    assert np.reshape(ball["v"][10], (-1, 3)) == pytest.approx(x[used], abs=1e-4)
    assert np.max(ball["f"]) == len(used) - 1
    path = tmp_path / "report.html"
    write_simulation_report(
        model, rollout, path, command="diffsim simulate x", warnings=["mind the gap"]
    )
    page = path.read_text(encoding="utf-8")
    for words in ("all kinds", "mind the gap", "diffsim simulate x", "Mesh of ball", "160"):
        assert words in page, words
    assert not re.search(r"(src|href)=.(?!data:|#)", page)  # opens offline
    assert json.dumps(ball["f"])[:20].replace(" ", "") in page.replace(" ", "")


def test_the_page_of_a_stopped_simulation_says_why(tmp_path):
    model = load_scene(SCENE)
    options = _engine.Options(step=0.01, max_iterations=1, max_halvings=0, tolerance=1e-15)
    rollout = _engine.rollout(model.engine, model.engine.values, model.steps, options)
    page = write_simulation_report(model, rollout, tmp_path / "report.html").read_text()
    assert "max iterations" in page and "worst element" in page
