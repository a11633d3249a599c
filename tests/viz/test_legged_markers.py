"""A planned walk as rviz shows it: where it is, nothing left of the one before."""

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("diffsim_ros._engine", reason="the engine is not built")

from diffsim_ros.planning.locomotion import Gait, goal_of_travel, load_legged_robot, plan_walk
from diffsim_ros.planning.locomotion.planar import composed
from diffsim_ros.rotation import quat_rotate
from diffsim_ros.viz.legged_markers import walk_markers
from diffsim_ros.viz.markers import Action, MarkerKind

ROBOTS = Path(__file__).resolve().parents[2] / "config" / "locomotion" / "robots"
TROT = Gait(period=0.6, swing_height=0.02, speed=0.3, foot=0.004)
WHERE = np.array([2.0, -1.0, 2.2])


@pytest.fixture(scope="module")
def walk():
    robot = load_legged_robot(ROBOTS / "quadruped.yaml")
    return plan_walk(robot, TROT, goal_of_travel(TROT, (0.18, 0.0), 0.0))


def placed(marker):
    """Points (n, 3) of a marker in its frame."""
    return marker.position + quat_rotate(marker.orientation, marker.points)


def test_markers_are_where_the_walk_is(walk):
    found = walk_markers(walk, "odom", WHERE)
    assert found[0].action is Action.DELETE_ALL  # of a longer walk before
    assert {one.frame_id for one in found} == {"odom"} and not any(one.lifetime for one in found)
    assert len({(one.ns, one.id) for one in found}) == len(found)
    body = next(one for one in found if one.ns == "body_path")
    com = walk.fine.com[walk.first :]
    expected = composed(WHERE, np.column_stack([com[:, :2], 0 * com[:, 0]]))
    np.testing.assert_allclose(placed(body)[:, :2], expected[:, :2], atol=1e-12)
    np.testing.assert_allclose(placed(body)[:, 2], com[:, 2], atol=1e-12)
    at_origin = walk_markers(walk, "odom")
    for one, other in zip(at_origin, found, strict=True):
        place = composed(WHERE, [*one.position[:2], 0.0])
        if one.action is Action.ADD:
            np.testing.assert_allclose(other.position[:2], place[:2], atol=1e-12)


def test_forces_stand_on_feet_and_polygons_are_those_of_the_feet_on_the_ground(walk):
    found = walk_markers(walk, "odom")
    contacts = walk.motion.contacts.reshape(-1, 3)
    for arrow in (one for one in found if one.kind is MarkerKind.ARROW):
        assert np.abs(contacts - arrow.points[0]).sum(axis=1).min() < 1e-9
        assert arrow.points[1][2] > arrow.points[0][2]  # the ground pushes
    polygons = [one for one in found if one.ns == "support"]
    assert len(polygons[0].points) == len(polygons[-1].points) == 5  # four feet, closed
    assert {len(one.points) for one in polygons} == {3, 5}  # and the diagonals of a trot
    rows = [one for one in found if one.ns == "footfalls"]
    assert [len(one.points) for one in rows] == walk.motion.contact.sum(axis=0).tolist()
