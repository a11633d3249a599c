"""A twin that goes on tick by tick does what one does that knows all beforehand."""

import numpy as np
import pytest

from diffsim_ros.robots.command import NANO, JointCommand
from diffsim_ros.twin.execution import executed
from diffsim_ros.twin.twin import Twin
from diffsim_ros.twin.world import TICK, World
from tests.twin.conftest import ROOT, ball_twin
from tests.twin.test_twin import pushed

BEGIN = 10 * NANO


def start_at(config, motion):
    """The config with the robot where a motion begins."""
    return {**config, "start": motion.positions[0].tolist()}


def ticks(world, seconds, watch=None):
    """Centres of a body after each tick, and how the trajectory ended."""
    centres, ended = [], None
    for _ in range(round(seconds * NANO / TICK)):
        ended = world.advance() or ended
        if watch:
            record = world.record()
            centres.append(record.centre(watch, world.elapsed)[0])
    return np.array(centres), ended


LOOPS = {"rate": 125}
ARM = {"arm": {"drive": {"stiffness": 9000, "damping": 300}, "armature": 0.5, "friction": 1}}


@pytest.mark.parametrize("controller", [LOOPS, ARM], ids=["loops", "arm"])
def test_a_throw_is_that_of_the_whole_motion(swing, controller):
    given = ball_twin(gripper={"latency": 0.03, "jitter": 0.002}, controller=controller)
    twin = Twin(start_at(given, swing), base=ROOT)
    world = World(twin, BEGIN)
    ticks(world, 0.1)
    assert world.elapsed == pytest.approx(TICK / NANO)
    held = world.record().centre("ball", world.elapsed)
    world.controller.start(JointCommand.of(swing))
    before, _ = ticks(world, 0.4, "ball")
    np.testing.assert_allclose(before[0], held[0], atol=1e-3)
    stamp = world.gripper.command(True, world.time)
    after, outcome = ticks(world, 0.8, "ball")
    assert outcome.code == 0
    release = (stamp - world.origin) / NANO
    assert world.release == release
    record = world.history()
    assert record.release == release + world.episode.jitter
    # the same, knowing all
    motion = executed(twin.config, swing).motion
    moved = np.flatnonzero(np.abs(motion.velocities).max(axis=1) > 1e-9)[0]
    late = motion.times[moved - 1]
    whole = twin.episode(0).play(motion, release=release + late)
    times = np.linspace(0.0, world.elapsed, 80)
    np.testing.assert_allclose(
        record.centre("ball", times), whole.centre("ball", times + late), atol=1e-9
    )
    np.testing.assert_allclose(after[-1], record.centre("ball", world.elapsed)[0], atol=1e-12)


def test_a_late_cancel_keeps_the_past_of_a_dragged_cube(swing):
    twin = Twin(pushed(), base=ROOT)
    share = -0.25 * (swing.positions - swing.positions[0])
    motion = type(swing)(
        swing.names, swing.times, twin.config.arm.home + share, -0.25 * swing.velocities
    )  # fmt: skip
    runs = []
    for cancel in (False, True):
        world = World(twin, BEGIN)
        world.controller.start(JointCommand.of(motion))
        before, _ = ticks(world, 0.45, "cube")
        if cancel:
            assert world.controller.cancel().canceled
        after, _ = ticks(world, 0.3, "cube")
        runs.append((before, after))
    np.testing.assert_array_equal(runs[0][0], runs[1][0])
    assert np.abs(runs[0][1] - runs[1][1]).max() > 1e-3
    assert np.linalg.norm(runs[0][0][-1] - runs[0][0][0]) > 1e-3


def test_a_reset_puts_all_back_and_draws_anew(swing):
    config = ball_twin(spread={"ball": {"position": [0.005] * 3}})
    world = World(Twin(start_at(config, swing), base=ROOT), BEGIN)
    first = world.record().centre("ball", 0.0)
    world.controller.start(JointCommand.of(swing))
    ticks(world, 0.3)
    world.gripper.command(True, world.time)
    ticks(world, 0.3)
    time = world.time
    world.reset()
    assert world.time == time and world.number == 1 and world.release is None
    np.testing.assert_allclose(world.controller.position, swing.positions[0])
    away = world.record().centre("ball", 0.0) - first
    assert 1e-4 < np.linalg.norm(away) < 0.04


def test_resting_costs_no_memory(swing):
    world = World(Twin(start_at(ball_twin(), swing), base=ROOT), BEGIN)
    world.controller.start(JointCommand.of(swing))
    ticks(world, 2.0)
    kept = len(world._samples)
    ticks(world, 1.0)
    assert len(world._samples) == kept
    back = type(swing)(swing.names, swing.times, swing.positions[::-1], -swing.velocities[::-1])
    world.controller.start(JointCommand.of(back))
    ticks(world, 0.5)
    motion = world.motion()
    # at rest until the second motion begins
    np.testing.assert_allclose(motion.at(2.9)[0], motion.at(2.5)[0], atol=1e-8)
    assert len(world._samples) > kept


def test_times_count_from_the_controllers_own_start_of_a_trajectory(swing):
    """It begins with a cycle (8 ms), up to one after it is commanded."""
    twin = Twin(start_at(ball_twin(), swing), base=ROOT)
    known = executed(twin.config, swing).motion
    for wait in (0.1, 0.102, 0.106):
        world = World(twin, BEGIN)
        ticks(world, wait)
        world.controller.start(JointCommand.of(swing))
        ticks(world, 0.4)
        (begun,) = world.begins
        assert (begun - BEGIN) % 8_000_000 == 0 and begun >= BEGIN + round(wait * NANO)
        at = np.linspace(0.02, 0.35, 20)
        moved = world.motion().at(at + (begun - world.origin) / NANO)[0]
        np.testing.assert_allclose(moved, known.at(at)[0], atol=1e-6)
