"""What rviz does not forgive, and that a frame shows what the motion holds."""

import dataclasses

import numpy as np
import pytest

from diffsim_ros import meshes
from diffsim_ros.viz.kinds.poses import _motion, drawn
from diffsim_ros.viz.markers import (
    LONGEST_ARROW,
    Action,
    Marker,
    MarkerKind,
    force_arrow,
    static_markers,
    strobe_markers,
)


def by_namespace(markers):
    return {marker.ns: marker for marker in markers}


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"scale": (1.0, 0.0, 1.0)}, "scales that CUBE uses"),
        ({"kind": MarkerKind.LINE_STRIP, "scale": (0.0, 1.0, 1.0)}, "scales that LINE_STRIP uses"),
        (
            {"kind": MarkerKind.TRIANGLE_LIST, "points": [(0, 0, 0)] * 4},
            "multiple of 3 points, got 4",
        ),
        ({"kind": MarkerKind.LINE_LIST, "points": [(0, 0, 0)] * 3}, "multiple of 2 points, got 3"),
        ({"kind": MarkerKind.ARROW, "points": [(0, 0, 0)]}, "0 or 2 points"),
        ({"orientation": (0, 0, 0, 2)}, "unit quaternion"),
        ({"position": (0, np.inf, 0)}, "finite"),
        ({"colour": (0, 0, 1.2, 1)}, "colour"),
        (
            {"kind": MarkerKind.POINTS, "points": [(0, 0, 0)] * 2, "colours": [(0, 0, 0, 1)]},
            "1 colours",
        ),
    ],
)
def test_a_marker_that_rviz_would_drop_is_refused_by_name(fields, words):
    with pytest.raises(ValueError, match=words) as caught:
        Marker("here", 7, **fields)
    assert "here/7" in str(caught.value)


def test_unused_scales_may_be_zero_and_markers_cannot_change():
    line = Marker("a", 0, MarkerKind.LINE_STRIP, scale=(0.01, 0, 0), points=[(0, 0, 0), (1, 0, 0)])
    with pytest.raises(dataclasses.FrozenInstanceError):
        line.ns = "b"
    with pytest.raises(ValueError, match="read-only"):
        line.points[0, 0] = 1.0


def test_a_frame_shows_both_cubes_where_they_are(prediction):
    found = by_namespace(drawn(prediction, 30))
    measured, simulated = found["measured/cube"], found["simulated/cube"]
    assert measured.position == pytest.approx(prediction.measured[30, 0, :3])
    assert simulated.orientation == pytest.approx(prediction.simulated[30, 0, 3:])
    assert measured.colour[3] < 0.5 and simulated.colour[3] == 1.0  # a ghost, and a solid


def test_a_recorded_mesh_is_shown_by_its_triangles(prediction):
    """In playback and on the page, where the box was."""
    vertices, tets = meshes.box((0.1, 0.2, 0.3), (1, 1, 1))
    surface = vertices, meshes.surface(tets)
    mesh = dataclasses.replace(prediction, kinds=("mesh",), surfaces=(surface,))
    found = by_namespace(drawn(mesh, 3))["simulated/cube"]
    assert found.kind is MarkerKind.TRIANGLE_LIST
    assert found.points.shape == (36, 3)
    assert found.position == pytest.approx(prediction.simulated[3, 0, :3])
    (one, other) = _motion(mesh, "best")["bodies"]
    assert one["kind"] == other["kind"] == "mesh" and other["ghost"] and not one["ghost"]
    assert np.ptp(one["local"], axis=0) == pytest.approx([0.1, 0.2, 0.3])
    assert np.array(one["p"]) == pytest.approx(prediction.simulated[:, 0, :3], abs=1e-5)


def test_forces_are_arrows_and_vanish_with_the_contact(prediction):
    def forces(k):
        return [m for m in drawn(prediction, k) if m.ns == "contact_force"]

    before, after = forces(0), forces(30)
    assert [m.id for m in before] == [m.id for m in after] == list(range(8))
    assert all(m.action is Action.DELETE for m in before)
    arrows = [m for m in after if m.action is Action.ADD]
    assert len(arrows) == 4
    assert arrows[0].points[1] - arrows[0].points[0] == pytest.approx([0, 0, 0.009])
    assert arrows[0].points[0] == pytest.approx(prediction.contact_point[30, 0])


def test_bodies_that_may_touch_nothing_have_no_arrows(prediction):
    none = np.zeros((40, 0, 3))
    free = dataclasses.replace(prediction, contact_point=none, contact_force=none)
    assert "contact_force" not in {m.ns for m in drawn(free, 30)}


def test_what_stays_comes_with_the_first_frame_of_a_box(prediction):
    still = {"table", "path/measured", "path/simulated"}
    assert still <= set(by_namespace(drawn(prediction, 0)))
    assert not still & set(by_namespace(drawn(prediction, 1)))
    ball = dataclasses.replace(prediction, kinds=("sphere",))
    assert not still & set(by_namespace(drawn(ball, 0)))


def test_the_force_of_an_impact_stays_in_the_picture():
    points = force_arrow(0, np.zeros(3), np.array([0.0, 0.0, 900.0])).points
    assert points[1] - points[0] == pytest.approx([0, 0, LONGEST_ARROW])


def test_ids_are_unique(motion, prediction):
    for markers in (drawn(prediction, 0), static_markers(motion) + strobe_markers(motion)):
        ids = [(m.ns, m.id) for m in markers]
        assert len(set(ids)) == len(ids)


def test_the_table_reaches_under_the_whole_motion_with_its_top_at_zero(motion):
    table = by_namespace(static_markers(motion))["table"]
    assert table.position[2] + table.scale[2] / 2 == pytest.approx(0.0)
    low = table.position[:2] - np.array(table.scale[:2]) / 2
    high = table.position[:2] + np.array(table.scale[:2]) / 2
    for track in (motion.measured_position, motion.simulated_position):
        assert (track[:, :2] > low).all() and (track[:, :2] < high).all()
