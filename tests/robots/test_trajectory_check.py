"""What is unsafe is refused before it is sent, by joint, time, value and limit; nothing else is."""

import time
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diffsim_ros.errors import InputError
from diffsim_ros.robots import trajectory_limits
from diffsim_ros.robots.blend import blended, from_present
from diffsim_ros.robots.command import NANO, CommandPoint, JointCommand, JointSample
from diffsim_ros.robots.controller import rejection
from diffsim_ros.robots.interpolation import RULES, Course
from diffsim_ros.robots.start_check import check_start
from diffsim_ros.robots.trajectory import JointTrajectory
from diffsim_ros.robots.trajectory_check import Rules, check_motion
from tests.robots.motions import (
    ARM,
    HOME,
    NAMES,
    NOW,
    command,
    later,
    shifted,
    swing,
    with_point,
    with_value,
    without,
)

nan, inf = float("nan"), float("inf")
GOOD = command()
LAST = len(GOOD.points) - 1


def check(motion=GOOD, arm=ARM, start=HOME, rules=None):
    """Both checks."""
    trajectory = check_motion(motion, arm, rules, now=NOW)
    wait = motion.wait(NOW) if isinstance(motion, JointCommand) else 0.0
    check_start(trajectory, arm, start, rules, wait=wait)
    return trajectory


def moved(**values):
    return replace(HOME, positions={**HOME.positions, **values})


def turning(**values):
    return replace(HOME, velocities={**HOME.velocities, **values})


def jump(size, duration):
    """Two points at rest: every limit is kept at them."""
    q = np.stack([ARM.home, ARM.home + size])
    still = np.zeros_like(q)
    return JointTrajectory(NAMES, np.array([0.0, duration]), q, still, still)


def bump(factor):
    """Positions only, points so near that corners are soft, but for one."""
    times = np.linspace(0.0, 2.0, 251)
    q = ARM.home + np.outer(0.05 * (1 - np.cos(np.pi * times)), np.ones(6))
    q[125:, 1] += factor
    return JointTrajectory(NAMES, times, q)


PAN = NAMES[0]
WRONG = {
    "no names": (replace(GOOD, names=()), "joints: got []"),
    "unknown joint": (replace(GOOD, names=("elbow", *NAMES[1:])), "'elbow'"),
    "duplicate joint": (replace(GOOD, names=(NAMES[1], *NAMES[1:])), f"{PAN} 0 times"),
    "missing joint": (replace(GOOD, names=NAMES[1:]), f"{PAN} 0 times"),
    "one joint too many": (replace(GOOD, names=(*NAMES, PAN)), f"{PAN} 2 times"),
    "no points": (replace(GOOD, points=()), "0 points"),
    "one point": (replace(GOOD, points=GOOD.points[-1:]), "1 points"),
    "too few positions": (with_point(GOOD, 3, positions=(0.0,) * 5), "point 3 at 0.12 s: pos"),
    "no positions": (without(GOOD, "positions"), "positions: got '0 numbers'"),
    "too many velocities": (with_point(GOOD, 3, velocities=(0.0,) * 7), "velocities: got '7"),
    "some velocities missing": (with_point(GOOD, 3, velocities=()), "at all points or at none"),
    "too few accelerations": (with_point(GOOD, 0, accelerations=(0.0,)), "accelerations: got '1"),
    "accelerations alone": (without(GOOD, "velocities"), "velocities"),
    "NaN position": (with_value(GOOD, 4, "positions", 2, nan), "positions of elbow_joint: got nan"),
    "infinite velocity": (with_value(GOOD, 4, "velocities", 0, inf), f"velocities of {PAN}"),
    "NaN acceleration": (with_value(GOOD, 4, "accelerations", 5, nan), "wrist_3_joint: got nan"),
    "NaN time": (replace(swing(), times=np.r_[0.0, nan, swing().times[2:]]), "point 1: time"),
    "endless time": (replace(swing(), times=np.r_[0:25, 1e300]), "point 25: time: got 1e+300"),
    "negative time": (with_point(GOOD, 0, time=-1), "point 0: time"),
    "equal times": (with_point(GOOD, 2, time=GOOD.points[1].time), "point 2: time: got 0.04"),
    "times fall": (with_point(GOOD, 5, time=1), "point 5: time"),
    "too long": (with_point(GOOD, LAST, time=61 * NANO), "duration: got 61"),
    "too many points": (swing(count=10_001), "10001 points"),
    "end velocity": (with_value(GOOD, LAST, "velocities", 1, 1e-9), "at 1 s (end): velocities"),
    "end acceleration": (with_value(GOOD, LAST, "accelerations", 1, 1e-9), "(end): accelerations"),
    "effort": (with_point(GOOD, 1, effort=(0.0,) * 6), "effort"),
    "stamp in the past": (replace(GOOD, stamp=NOW - NANO), "-1.000 s from now"),
    "stamp far ahead": (replace(GOOD, stamp=NOW + 60 * NANO), "+60.000 s from now"),
    "release before": (replace(GOOD, release=-0.1), "release: got -0.1"),
    "release after": (replace(GOOD, release=1.1), "release: got 1.1"),
    "release NaN": (replace(GOOD, release=nan), "release: got nan"),
    "jump at t = 0": (shifted(GOOD, 0.01), "at 0 s: position"),
    "a turn away": (shifted(GOOD, [0, 2 * np.pi, 0, 0, 0, 0]), "by -6.28319 rad"),
    "beyond position": (swing(size=-4.0, duration=8.0), "elbow_joint at 5."),
    "too fast": (swing(size=2.5, duration=1.5), "velocity: got"),
    "accelerates too much": (swing(size=0.4, duration=0.4, release=None), "acceleration: got"),
    "too fast between points": (jump(2.2, 1.2), f"{PAN} at 0.6 s: velocity"),
    "acceleration between points": (jump(0.4, 0.4), f"{PAN} at 0.08"),
    "straight lines with a corner": (bump(0.01), "velocity jump: got"),
    "straight lines at speed": (without(command(count=4), "velocities", "accelerations"), "jump"),
    "too near to reach": (later(shifted(GOOD, 0.2), 0.02), "at 0"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_malformed_and_unsafe_trajectories_are_refused_by_name(name):
    motion, message = WRONG[name]
    with pytest.raises(InputError) as error:
        check(motion)
    assert message in str(error.value) and "\n" not in str(error.value)


def test_a_motion_that_begins_at_speed_is_refused():
    points = [replace(p, time=p.time - GOOD.points[10].time) for p in GOOD.points[10:]]
    start = replace(HOME, positions=dict(zip(NAMES, points[0].positions, strict=True)))
    motion = replace(GOOD, points=tuple(points), release=None)
    with pytest.raises(InputError, match=r"shoulder_pan_joint at 0 s: velocity jump: got 0\.8"):
        check(motion, start=start)
    moving = replace(start, velocities=dict(zip(NAMES, points[0].velocities, strict=True)))
    check(motion, start=moving, rules=Rules(start_velocity=inf))
    with pytest.raises(InputError, match=r"joint states: velocity of shoulder_pan_joint: got 0\.8"):
        check(motion, start=moving)


@pytest.mark.parametrize(
    ("start", "message"),
    [
        (replace(HOME, age=0.3), "joint states: age: got 0.3"),
        (replace(HOME, age=nan), "age: got nan"),
        (replace(HOME, age=-60.0), "age: got -60.0; accepted: 0 to 0.25 s; the clock was set back"),
        (JointSample({}), "position of shoulder_pan_joint: got None"),
        (moved(elbow_joint=nan), "position of elbow_joint: got nan"),
        (replace(HOME, velocities={}), "velocity of shoulder_pan_joint: got None"),
        (turning(elbow_joint=inf), "velocity of elbow_joint: got inf"),
        (turning(wrist_2_joint=nan), "velocity of wrist_2_joint: got nan"),
        (turning(elbow_joint=-1.0), "velocity of elbow_joint: got -1.0; accepted: at most 0.05"),
        (moved(elbow_joint=1.6), "elbow_joint at 0 s: position: got 1.57"),
        (moved(elbow_joint=3.2), "position of elbow_joint: got 3.2; accepted: from -3.14159"),
    ],
)
def test_unusable_present_states_are_refused(start, message):
    with pytest.raises(InputError) as error:
        check(start=start)
    assert message in str(error.value)


def test_an_arm_of_unknown_place_is_refused():
    with pytest.raises(InputError, match="base"):
        check(arm=replace(ARM, base=None))


def test_sound_motions_pass_and_columns_are_in_the_robots_order():
    order = [3, 0, 5, 1, 4, 2]
    points = []
    for p in GOOD.points:
        rows = [tuple(np.asarray(r)[order]) for r in (p.positions, p.velocities, p.accelerations)]
        points.append(CommandPoint(p.time, *rows))
    turned = replace(GOOD, names=tuple(NAMES[k] for k in order), points=tuple(points))
    for motion in (GOOD, turned, swing(), later(GOOD, 0.5), bump(0.0)):
        found = check(motion)
        assert found.names == NAMES
    np.testing.assert_array_equal(check(turned).positions, swing().positions)
    check(replace(GOOD, stamp=NOW + NANO))
    check(without(GOOD, "accelerations"))


def test_what_else_is_wrong_is_said_in_the_same_line():
    with pytest.raises(InputError, match="also acceleration of"):
        check(swing(size=3.0, duration=0.6))


def test_jerk_counts_where_it_is_asked_for():
    fast = swing(size=0.05, duration=0.16, release=None)
    check(fast)
    with pytest.raises(InputError, match="jerk"):
        check(fast, rules=Rules(jerk=True))


def corruptions():
    """Changes of a command, most of them wrong."""
    numbers = st.one_of(st.floats(-10, 10), st.sampled_from([0.0, nan, inf, 1e-7, 1.2e-7, 1e300]))
    rows = st.lists(numbers, max_size=7).map(tuple)
    index, times = st.integers(0, LAST), st.integers(-9 * NANO, 19 * NANO)
    key = st.sampled_from(["positions", "velocities", "accelerations"])
    return st.one_of(
        st.builds(lambda k, f, row: lambda c: with_point(c, k, **{f: row}), index, key, rows),
        st.builds(
            lambda k, f, j, v: lambda c: with_value(c, k, f, j, v),
            index, key, st.integers(0, 5), numbers,
        ),
        st.builds(lambda k, t: lambda c: with_point(c, k, time=t), index, times),
        st.builds(lambda k, row: lambda c: with_point(c, k, effort=row), index, rows),
        st.builds(lambda f: lambda c: without(c, f), key),
        st.builds(lambda n: lambda c: replace(c, names=tuple(n)),
                  st.lists(st.sampled_from([*NAMES, "", "elbow"]), max_size=7)),
        st.builds(lambda a, b: lambda c: replace(c, points=c.points[a:b]), index, index),
        st.builds(lambda s: lambda c: replace(c, stamp=s + NOW), times),
        st.builds(lambda s: lambda c: later(c, s), st.floats(-1, 2)),
        st.builds(lambda s: lambda c: replace(c, release=s), numbers),
    )  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(st.lists(corruptions(), min_size=1, max_size=3))
def test_nothing_that_the_real_controller_would_refuse_passes(changes):
    motion = GOOD
    for change in changes:
        try:
            motion = change(motion)
        except IndexError:  # of points or numbers that an earlier change took away
            continue
    try:
        passed = check(motion)
    except InputError:
        return
    assert rejection(motion, NAMES, NOW) == rejection(JointCommand.of(passed), NAMES, NOW) == ""
    times = np.linspace(0.0, passed.duration, 2001)
    q, qd, qdd = passed.at(times)
    assert np.all((q >= ARM.limits.lower - 1e-9) & (q <= ARM.limits.upper + 1e-9))
    assert np.all(np.abs(qd) <= ARM.limits.velocity * (1 + 1e-5))
    assert np.all(np.abs(qdd) <= ARM.limits.acceleration * (1 + 1e-5))


@pytest.mark.parametrize("fields", [(), ("accelerations",), ("velocities", "accelerations")])
def test_a_blend_leads_from_the_present_state_and_passes_the_checks(fields):
    motion = without(command(count=126), *fields).trajectory(NAMES)
    start = replace(
        turning(**{PAN: 0.02}), positions={k: v + 0.2 for k, v in HOME.positions.items()}
    )
    made = blended(motion, ARM, start)
    passed = check(made, start=start)
    shift = made.duration - motion.duration
    assert 0.1 <= shift <= 1.0
    assert passed.release == pytest.approx(0.6 + shift)
    times = np.linspace(0.0, 1.0, 50)
    np.testing.assert_allclose(made.at(times + shift)[0], motion.at(times)[0], atol=1e-12)
    delayed = replace(motion, times=motion.times + 0.3, release=0.9)
    again = blended(delayed, ARM, start)
    np.testing.assert_allclose(again.times, made.times, atol=1e-12)
    assert again.release == pytest.approx(made.release)


def test_a_blend_is_refused_where_it_is_too_far_or_too_short():
    with pytest.raises(InputError, match="elbow_joint: first position: got"):
        blended(swing(), ARM, moved(elbow_joint=0.9))
    with pytest.raises(InputError, match=r"blend of 0\.1 s: joint .*acceleration"):
        blended(swing(), ARM, moved(elbow_joint=1.5), duration=0.1)
    for duration in (inf, nan, -1.0, 1e9):
        with pytest.raises(InputError, match="blend: got"):
            blended(swing(), ARM, moved(elbow_joint=1.5), duration=duration)


def wrist_alone(fields=3):
    """From home wrist_3 to 1.16 rad within 0.6 s, at rest, and no more: a cubic is within limits,
    a quintic is not."""
    q = np.array(ARM.home) + np.array([0, 0, 0, 0, 0, 1.16])
    rows = (tuple(q), (0.0,) * 6, (0.0,) * 6)[:fields]
    points = tuple(CommandPoint(round(t * NANO), *rows) for t in (0.6, 0.7))
    return JointCommand(NAMES, points)


def test_the_way_to_a_later_first_point_is_checked_as_every_version_goes_it():
    reach = JointCommand(NAMES, wrist_alone().points)
    with pytest.raises(InputError, match=r"wrist_3_joint at 0\.3 s: velocity: got 3\.6"):
        check(reach)
    with pytest.raises(InputError, match="velocity"):
        check(reach, rules=Rules(approach="quintic"))
    check(reach, rules=Rules(approach="cubic"))
    check(wrist_alone(fields=2))  # a cubic in every version
    with pytest.raises(InputError, match=r"rules: approach: got 'spline'; accepted: one of cubic"):
        Rules(approach="spline")


def test_the_way_to_a_first_point_that_waits_for_a_stamp_is_the_longer_one():
    there, rate = np.zeros((2, 6)), np.zeros((2, 6))
    there[:, 1], rate[0, 1] = (0.02, 0.05), 0.3
    motion = JointTrajectory(NAMES, np.array([0.2, 0.7]), ARM.home + there, rate)
    arm = replace(ARM, limits=replace(ARM.limits, lower=ARM.home - 0.1))
    check(JointCommand.of(motion), arm=arm)
    with pytest.raises(InputError, match=r"shoulder_lift_joint at 2\.\d* s: position: got -1\.69"):
        check(JointCommand.of(motion, NOW + 3 * NANO), arm=arm)


@pytest.mark.parametrize("fields", [1, 2, 3])
def test_a_motion_from_the_present_place_is_the_same_in_every_version(fields):
    target = wrist_alone(fields).trajectory(NAMES)
    motion = from_present(replace(target, times=target.times + 0.6, release=1.25), HOME)
    np.testing.assert_allclose(motion.times, [0.0, 1.2, 1.3])
    assert motion.times[0] == 0.0 and motion.release == 1.25
    np.testing.assert_array_equal(motion.positions[0], ARM.home)
    assert from_present(motion, HOME) is motion
    times = np.linspace(0.0, 1.4, 300)
    courses = [Course(motion, ARM.home, np.zeros(6), 0.0, rule).at(times) for rule in RULES[:2]]
    np.testing.assert_array_equal(*courses)
    for course, own in zip(courses[0], motion.at(times), strict=True):
        np.testing.assert_allclose(course[times < 1.3], own[times < 1.3])
    if fields > 1:
        check(motion)


def test_a_long_motion_is_checked_in_a_fraction_of_a_second():
    motion = JointCommand.of(swing(size=0.5, duration=20.0, count=10_000))
    begin = time.process_time()
    trajectory = check_motion(motion, ARM)
    assert time.process_time() - begin < 0.3
    begin = time.process_time()
    for _ in range(10):
        check_start(trajectory, ARM, HOME)
    assert time.process_time() - begin < 0.1
    with pytest.raises(InputError, match=r"point 9000 at 18.*velocities of elbow_joint: got nan"):
        check_motion(with_value(motion, 9000, "velocities", 2, nan), ARM)


def test_pieces_that_only_seem_to_leave_a_limit_are_looked_at_closely():
    """Hulls of all pieces leave the limits, their curves do not, but for the one corrupted."""
    times = np.linspace(0.0, 3.0, 31)
    q = np.tile(ARM.home, (31, 1))
    v = np.zeros_like(q)
    v[1:-1:2, 5], v[2:-1:2, 5] = 1.0, -1.0
    motion = JointTrajectory(NAMES, times, q, v)
    qdd = motion.splines[2]
    peak = np.abs(qdd(np.linspace(0.0, 3.0, 30001)[:-1])).max()
    hull = np.abs(motion.splines[0].c - ARM.home).max()
    arm = replace(ARM, limits=replace(ARM.limits, upper=ARM.home + 0.9 * hull,
                                      acceleration=np.full(6, 1.001 * peak)))  # fmt: skip
    assert check_motion(motion, arm).names == NAMES
    v[20, 5] = 1.3
    with pytest.raises(InputError, match=r"wrist_3_joint at (1\.9|2) s: acceleration"):
        check_motion(JointTrajectory(NAMES, times, q, v), arm)


def test_a_piece_that_leaves_a_limit_by_rounding_hides_none_behind_it(monkeypatch):
    worst, asked = trajectory_limits._worst, []

    def rounded(spline, piece, *given):
        asked.append(piece)
        time, value = worst(spline, piece, *given)
        return time, (0.0 if len(asked) == 1 else value)

    monkeypatch.setattr(trajectory_limits, "_worst", rounded)
    found = trajectory_limits.beyond_limits(swing(size=2.5), ARM.limits, jerk=False)
    first = [one for one in found if one.quantity == "velocity" and one.joint == PAN]
    assert asked[1] > asked[0] and len(first) == 1
