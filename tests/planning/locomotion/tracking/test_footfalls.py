"""Footfalls as they are measured: feet that are early or late, the law of the capture point."""

import math

import numpy as np
import pytest

pytest.importorskip("diffsim_ros._engine", reason="the engine is not built")

from diffsim_ros.planning.locomotion.tracking.footfalls import FootfallOptions, Footfalls
from tests.planning.locomotion.tracking.motions import library

STEP = 0.04


def trotting(**options):
    """The trot, its footfalls and amid a swing of its second foot: when, how far into it, ahead."""
    motion = library().compose([("trot", 4)])
    own = Footfalls(library().robot, motion, FootfallOptions(**options))
    lift, land = own.swings[1][1]
    time = lift + 0.4 * (land - lift)
    return motion, own, time, land


def adapted(motion, own, time, *, speed=(0.0, 0.0), points=None):
    times = time + STEP * (np.arange(27) - 1.0)
    of = motion.at(times)
    points = of.points[1] if points is None else points
    velocity = of.com_velocity[1] + [*speed, 0.0]
    return of, own.adapt(time, times, of, points, of.com[1], velocity)


def test_swings_are_those_of_the_footfall_pattern():
    motion, own, _, _ = trotting()
    times = np.arange(0.0025, motion.duration, 0.005)
    contact = motion.at(times).contact
    for j, swings in enumerate(own.swings):
        flies = ((times[:, None] > swings[:, 0]) & (times[:, None] < swings[:, 1])).any(axis=1)
        assert np.mean(flies == ~contact[:, j]) > 0.97  # of both ends to half a sample
        assert (np.diff(swings.ravel()) > 0).all()


def test_a_robot_on_its_motion_keeps_the_pattern():
    motion, own, time, land = trotting()
    assert not own.observe(time, motion.at(np.array([time])).points[0])
    of, found = adapted(motion, own, time)
    assert (found.contact[1:] == of.contact[1:]).mean() > 0.99
    assert found.points[:, :, :2] == pytest.approx(of.points[:, :, :2], abs=2e-3)
    assert own.lands[1] == land
    assert own.hastened() == []


def test_a_foot_that_meets_the_ground_early_stands_until_it_is_lifted_again():
    motion, own, time, land = trotting()
    points = motion.at(np.array([time])).points[0].copy()
    assert not own.stands(time, points)[0][1]
    points[1, 2] = 0.0
    assert own.observe(time, points)
    assert not own.observe(time + 0.002, points)  # known by now
    assert own.stands(time, points)[0][1]
    _, found = adapted(motion, own, time, points=points)
    ahead = time + STEP * np.arange(26)
    assert found.contact[1:][ahead < land, 1].all()
    assert found.points[1, 1] == pytest.approx(points[1], abs=1e-12)
    weight = library().robot.mass * 9.81
    assert found.forces[1, 1, 2] > 0.1 * weight
    own.observe(own.swings[1][2, 0] + 0.02, points + np.array([0.0, 0.0, 0.02]))
    assert not own.down[1]


def test_a_foot_that_has_just_lifted_has_not_landed():
    motion, own, _, _ = trotting()
    lift, land = own.swings[1][1]
    points = motion.at(np.array([lift])).points[0].copy()
    points[1, 2] = 0.0
    assert not own.observe(lift + 0.1 * (land - lift), points)


@pytest.mark.parametrize("speed", [(0.25, 0.0), (0.0, -0.3), (0.2, 0.2)])
def test_footholds_and_landings_are_those_of_the_linear_inverted_pendulum(speed):
    motion, own, time, land = trotting()
    own.observe(time, motion.at(np.array([time])).points[0])
    of, found = adapted(motion, own, time, speed=speed)
    w = math.sqrt(9.81 / own.height)
    away = np.array(speed) / w
    reach = own.options.reach * own.height
    latest = time + math.log(reach / np.linalg.norm(away)) / w
    assert own.lands[1] == pytest.approx(min(land, max(latest, time + own.options.soon)), abs=1e-9)
    later = np.flatnonzero(of.contact[:, 1] & (time + STEP * (np.arange(27) - 1.0) > land))
    moved = (found.points - of.points)[later[0], 1, :2]
    assert moved == pytest.approx(away, abs=1e-9)
    stands = int(np.flatnonzero(of.contact[1])[0])
    assert found.points[1, stands] == pytest.approx(of.points[1, stands], abs=1e-5)


def test_footholds_stay_within_reach_of_the_body():
    motion, own, time, _ = trotting()
    own.observe(time, motion.at(np.array([time])).points[0])
    of, found = adapted(motion, own, time, speed=(3.0, 0.0))
    moved = np.linalg.norm((found.points - of.points)[-1, :, :2], axis=1)
    assert moved.max() == pytest.approx(own.options.reach * own.height, rel=1e-6)
    assert own.lands[1] == pytest.approx(time + own.options.soon)


def test_a_foot_that_is_late_stands_once_it_can_be_down():
    motion, own, time, _ = trotting()
    points = motion.at(np.array([time])).points[0].copy()
    own.observe(time, points)
    late = int(np.flatnonzero(motion.at(np.array([time])).contact[0])[0])
    points[late, 2] = 0.03
    stands, high = own.stands(time, points)
    assert high[late]
    assert not stands[late]
    _, found = adapted(motion, own, time, points=points)
    assert not found.contact[1, late]
    first = 1 + int(np.ceil(0.03 / own.options.down / STEP - 1e-9))
    assert found.contact[first, late]
