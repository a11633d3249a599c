"""Random robots: all stand, differ, and have what a study asks for."""

import collections

import numpy as np

from diffsim_ros.planning.locomotion import (
    gaits_of,
    load_legged_robot,
    random_robot,
    write_urdf,
)
from diffsim_ros.planning.locomotion.random_robots import APART, INSIDE, clearance, stability_margin

SEEDS = 30


def test_random_robots_stand_and_cover_what_there_is(tmp_path):
    legs, joints, kinds = set(), set(), collections.Counter()
    for seed in range(SEEDS):
        robot = random_robot(np.random.default_rng(seed), f"random{seed}")
        base = robot.standing_base()
        points = robot.contact_points(robot.stance, base)
        np.testing.assert_allclose(points[:, 2], 0.0, atol=1e-6)
        np.testing.assert_allclose(base[:3, :3], np.eye(3), atol=1e-6)
        assert stability_margin(robot) >= INSIDE and clearance(robot) >= APART
        assert (robot.lower < robot.stance).all() and (robot.stance < robot.upper).all()
        own = {effector.kind for effector in robot.end_effectors}
        assert 0.8 < robot.mass < 8.0 and "walk" in gaits_of(robot)
        assert ("roll" in gaits_of(robot)) == (not own & {"point", "welded"})
        legs.add(len(robot.legs))
        carried = collections.Counter(name.split("_")[0] for name in robot.joint_names)
        joints |= set(carried.values())
        kinds.update(effector.kind for effector in robot.end_effectors)
    assert legs == {2, 3, 4, 5, 6} and joints == {2, 3, 4, 5} and len(kinds) == 5
    back = load_legged_robot(write_urdf(robot, tmp_path / "random.urdf"))
    again = back.contact_points(back.stance, back.standing_base())
    np.testing.assert_allclose(again[:, 2], 0.0, atol=1e-9)
    np.testing.assert_allclose(back.mass, robot.mass, rtol=1e-12)


def test_equal_generators_give_equal_robots():
    one, two = (random_robot(np.random.default_rng(5)) for _ in range(2))
    np.testing.assert_array_equal(one.stance, two.stance)
    assert random_robot(np.random.default_rng(6)).mass != one.mass
