"""An arm of masses and drives follows commands: against the tree's dynamics, at rest, copied."""

import copy

import numpy as np
import pytest

pytest.importorskip("diffsim_ros._engine", reason="the engine is not built")

from scipy.integrate import solve_ivp

from diffsim_ros.errors import InputError
from diffsim_ros.fields import Reader
from diffsim_ros.robots.controller import Controller, Settings
from diffsim_ros.robots.dynamics import inverse_dynamics
from diffsim_ros.robots.tree import model_of
from diffsim_ros.scene.controllers import FOLLOWING, read_following
from tests.robots.motions import ARM, NAMES

STIFFNESS = np.array([2000.0, 2000, 1500, 400, 400, 300])
DAMPING = np.array([150.0, 150, 90, 20, 20, 12])
NANO = 1_000_000_000
TICK = 2_000_000


def section(**arm):
    drive = {"stiffness": STIFFNESS.tolist(), "damping": DAMPING.tolist()}
    return {"rate": 500, "delay": 0.0, "arm": {"drive": drive} | arm}


def following(given=None, **arm):
    reader = Reader("twin.yaml")
    read = reader.section(FOLLOWING, given or section(**arm), "controller")
    return read_following(reader, read, ARM, "controller")


def joints(**arm):
    return following(**arm).dynamics.begin(ARM.home)


def test_a_commanded_motion_is_that_of_the_tree_with_these_drives():
    armature = np.array([0.9, 0.9, 0.9, 0.1, 0.1, 0.1])
    viscous = np.array([5.0, 5, 4, 1, 1, 1])
    rate = np.array([0.8, -0.5, 0.6, 0.4, -0.7, 1.0])
    found = joints(armature=armature.tolist(), damping=viscous.tolist(), friction=0)
    found.command(ARM.home, rate)
    found.advance(200 * TICK)
    model = model_of(ARM.robot)
    count = len(NAMES)

    def slope(t, x):
        q, v = x[:count], x[count:]
        torque = STIFFNESS * (ARM.home + rate * t - q) + DAMPING * (rate - v) - viscous * v
        torque = torque + model.inverse_dynamics(q, 0 * q, 0 * q)
        bias = model.inverse_dynamics(q, v, 0 * q)
        return np.r_[v, np.linalg.solve(model.mass_matrix(q) + np.diag(armature), torque - bias)]

    start = np.r_[ARM.home, np.zeros(count)]
    true = solve_ivp(slope, (0, 0.4), start, method="DOP853", rtol=1e-10, atol=1e-12).y[:, -1]
    assert np.abs(found.position - true[:count]).max() < 2e-4
    assert np.abs(found.velocity - true[count:]).max() < 2e-3
    assert np.abs(found.position - ARM.home).max() > 0.3


def settled(found, seconds=4.0):
    found.advance(round(seconds * NANO))
    assert np.abs(found.velocity).max() < 1e-6
    return found.position


def test_weights_that_drives_do_not_compensate_bend_the_arm_by_their_torque_over_stiffness():
    held = joints()
    assert settled(held) == pytest.approx(ARM.home, abs=1e-9)
    free = joints(gravity_compensation=False)
    q = settled(free)
    weight = inverse_dynamics(ARM.robot, q, 0 * q, 0 * q)
    assert STIFFNESS * (ARM.home - q) == pytest.approx(weight, abs=1e-4)
    assert free.efforts == pytest.approx(weight, abs=1e-4) and np.abs(weight).max() > 5
    carried = {"link": "tool0", "mass": 2.0, "centre": [0, 0, 0.1], "inertia": [0.004] * 3}
    loaded = joints(payload=carried)
    assert np.abs(settled(loaded) - ARM.home).max() > 1e-3  # the payload is never compensated


def test_a_copy_goes_its_own_way_and_the_clock_may_be_set():
    found = following(section() | {"delay": 0.02}).dynamics.begin(ARM.home)
    found.command(ARM.home, np.full(6, 0.5))
    copy.deepcopy(found).advance(60 * TICK)  # takes its own command, which is on its way in both
    found.advance(20 * TICK)
    ahead = copy.deepcopy(found)
    ahead.advance(60 * TICK)
    assert np.abs(found.velocity).max() > 0.1
    before = found.position.copy()
    found.advance(20 * TICK + TICK // 2)  # between two steps it goes on evenly
    assert found.position == pytest.approx(before + 0.5 * TICK / NANO * found.velocity)
    found.shift(7 * NANO)
    found.advance(7 * NANO + 60 * TICK)
    assert np.array_equal(found.position, ahead.position)
    assert np.array_equal(found.efforts, ahead.efforts)


def test_commands_act_after_the_delay():
    given = section() | {"delay": 0.02}
    found = following(given).dynamics.begin(ARM.home)
    found.command(ARM.home + 0.01, np.zeros(6))
    found.advance(10 * TICK)
    assert found.position == pytest.approx(ARM.home, abs=1e-8)
    found.advance(11 * TICK)
    assert (found.position > ARM.home + 1e-6).all()


def test_a_controller_moves_it_and_foresees_it():
    settings = following(friction=2.0)
    controller = Controller(NAMES, ARM.home, settings)
    assert isinstance(settings, Settings) and controller.efforts is not None
    soon = controller.soon(10 * TICK)
    controller.advance(10 * TICK)
    assert np.array_equal(soon[0], controller.position)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (
            section(drive={"stiffness": 100}),
            "arm.drive.damping: got None; accepted: a value; this key is required",
        ),
        (section(drive={"stiffness": 0, "damping": 1}), "arm.drive.stiffness: got 0"),
        (section(drive={"stiffness": 9, "damping": -1}), "arm.drive.damping: got -1"),
        (section(friction=[1, 2]), "arm.friction"),
        (section(armour=3), "arm.armour"),
        (
            section() | {"bandwidth": 30},
            "controller.bandwidth: got 30; accepted: none beside `arm`",
        ),
        (section(payload={"link": "tool9", "mass": 1, "inertia": [1, 1, 1]}), "tool9"),
    ],
)
def test_unusable_arms_are_refused(given, words):
    with pytest.raises(InputError) as error:
        following(given)
    assert words in str(error.value), str(error.value)
