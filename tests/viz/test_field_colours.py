"""Solids coloured by a field: values of vertices, the map and its ends, markers, picture, files."""

import re

import numpy as np
import pytest
import yaml

pytest.importorskip("diffsim_ros._engine", reason="the engine is not built")

from diffsim_ros import _engine
from diffsim_ros.cli import main
from diffsim_ros.errors import InputError
from diffsim_ros.scene import load_scene
from diffsim_ros.sensing import bags
from diffsim_ros.viz.field_colours import FieldColours, field_colours, fields_of
from diffsim_ros.viz.meshes import triangles
from diffsim_ros.viz.render import camera_for
from diffsim_ros.viz.scene_markers import body_markers

SCENE = {
    "world": {"step": 0.01, "duration": 0.1},
    "bodies": {
        "beam": {
            "type": "solid",
            "shape": {"box": {"size": [0.2, 0.05, 0.05], "cells": [4, 1, 1]}},
            "element": "p2_p0", "density": 1000, "young": 2.0e5, "poisson": 0.3,
            "pinned": [{"box": {"centre": [-0.1, 0, 0], "size": [0.02, 1, 1]}}],
        },
        "ball": {"shape": {"sphere": {"radius": 0.05}}, "mass": 0.1,
                 "pose": {"position": [1, 0, 1]}},
    },
}  # fmt: skip


@pytest.fixture(scope="module")
def motion():
    model = load_scene(SCENE)
    names = [value.name for value in fields_of(model, "stress.xx").values()]
    assert names == ["beam.stress"]
    run = _engine.rollout(
        model.engine, model.engine.values, model.steps, model.options, outputs=names
    )
    assert run.ok
    return model, run


def test_vertices_have_means_of_their_tetrahedra(motion):
    """A hanging beam is pulled above and pressed below; sums over the volume stay."""
    model, run = motion
    found = field_colours(model, run, "stress.xx")
    x, tets = (getattr(model.parts.bodies["beam"].mesh, key) for key in ("vertices", "tets"))
    values, cells = found.values["beam"][-1], run.outputs["beam.stress"][-1][:, 0]
    inside = np.abs(x[:, 0] + 0.05) < 1e-9
    assert values[inside & (x[:, 2] > 0.02)].min() > 0 > values[inside & (x[:, 2] < -0.02)].max()
    volume = np.abs(np.linalg.det(x[tets[:, 1:4]] - x[tets[:, :1]]))
    own = np.zeros(len(x))
    for corner in tets.T:
        np.add.at(own, corner, volume)
    assert values @ own == pytest.approx(10 * volume @ cells, rel=1e-9)  # ten vertices each
    assert (found.unit, found.low, found.high) == (
        "Pa", found.values["beam"].min(), found.values["beam"].max(),
    )  # fmt: skip


def test_the_map_has_the_colours_that_are_documented():
    """Dark violet, green, yellow; what is beyond has the colours of the ends."""
    field = FieldColours("von_mises", "Pa", {"a": np.array([[-5.0, 0.0, 1.0, 2.0, 9.0]])}, 0.0, 2.0)
    colours = field.at("a", 0, 0.5)
    np.testing.assert_array_equal(colours[:, 3], 0.5)
    np.testing.assert_array_equal(colours[[0, -1]], colours[[1, -2]])
    violet, green, yellow = colours[1:4, :3]
    assert violet[2] > violet[1] and green.argmax() == 1 and yellow[:2].min() > 0.85 > yellow[2]
    assert field.legend()[0] == ("2 Pa  von_mises", "#fde725")
    assert field.legend()[-1] == ("0 Pa", "#440154")
    flat = FieldColours("von_mises", "Pa", {}, 1.0, 1.0)
    assert np.isfinite(flat.mapped(np.ones(3))).all()


def test_markers_have_a_colour_per_point_and_faces_their_mean(motion):
    model, run = motion
    field = field_colours(model, run, "stress.xx", (-1e4, 1e4))
    plain, coloured = (
        body_markers(model, run, "beam", 5, alpha=0.5, field=f)[0] for f in (None, field)
    )
    assert not len(plain.colours) and len(coloured.colours) == len(coloured.points)
    by_vertex = field.at("beam", 5, 0.5)[model.bodies["beam"].triangles].reshape(-1, 4)
    np.testing.assert_array_equal(coloured.colours, by_vertex)
    (soup,) = triangles(coloured, camera_for([coloured]))
    np.testing.assert_allclose(soup.colour, by_vertex.reshape(-1, 3, 4).mean(axis=1))
    (ball,) = body_markers(model, run, "ball", 5, field=field)
    assert not len(ball.colours)


def test_simulate_colours_its_bag_only_where_it_is_asked_to(tmp_path):
    (tmp_path / "scene.yaml").write_text(yaml.safe_dump(SCENE))
    more = ["--colour", "von_mises", "--colour-range", "0", "5000"]
    for name, options in (("plain", []), ("coloured", more)):
        given = ["simulate", str(tmp_path / "scene.yaml"), "--out", str(tmp_path / name)]
        assert main([*given, *options]) == 0
        bag = tmp_path / name / "motion.mcap"
        *_, (_, last) = bags.read_messages(bag, "visualization_msgs/msg/MarkerArray")[1]
        marker = last.markers[0]
        assert len(marker.colors) == (len(marker.points) if options else 0)
        result = yaml.safe_load((tmp_path / name / "result.yaml").read_text())
        wanted = {"field": "von_mises", "unit": "Pa", "range": [0.0, 5000.0]}
        assert result.get("colour") == (wanted if options else None)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["--colour", "von_misses"], "--colour: got 'von_misses'.*von_mises, stress.xx"),
        (["--colour", "stress"], "--colour: got 'stress'.*stress.xx"),
        (["--colour", "von_mises_max"], "--colour: got 'von_mises_max'"),
        (["--colour-range", "0", "1"], "given with --colour"),
        (["--colour", "von_mises", "--colour-range", "2", "1"], "LOW < HIGH"),
    ],
)
def test_fields_and_ranges_are_checked(tmp_path, capsys, given, message):
    (tmp_path / "scene.yaml").write_text(yaml.safe_dump(SCENE))
    out = tmp_path / "out"
    assert main(["simulate", str(tmp_path / "scene.yaml"), "--out", str(out), *given]) == 2
    assert re.search(message, capsys.readouterr().err) and not out.exists()


def test_a_scene_without_solids_has_no_stress():
    scene = {**SCENE, "bodies": {"ball": SCENE["bodies"]["ball"]}}
    with pytest.raises(InputError, match="a scene with a solid"):
        fields_of(load_scene(scene), "von_mises")
