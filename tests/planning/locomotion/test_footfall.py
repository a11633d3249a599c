"""Footfall patterns: named gaits, duty and phase, explicit flags, heights of swings."""

from pathlib import Path

import numpy as np
import pytest

from diffsim_ros.errors import InputError
from diffsim_ros.planning.locomotion import (
    FootfallPattern,
    load_footfall,
    load_legged_robot,
    named_gait,
)

FOLDER = Path(__file__).resolve().parents[3] / "config" / "locomotion" / "robots"


@pytest.fixture(scope="module")
def robots():
    names = ("quadruped", "skatebot", "hexapod", "creature3", "car")
    return {name: load_legged_robot(FOLDER / f"{name}.yaml") for name in names}


def flags(pattern):
    rows = pattern.text().splitlines()
    return {row.split()[0]: row.split()[1] for row in rows}


def test_gaits_of_a_quadruped(robots):
    robot = robots["quadruped"]
    assert flags(named_gait(robot, "trot", 8)) == {
        "FL": "####....", "FR": "....####", "RL": "....####", "RR": "####....",
    }  # fmt: skip
    assert flags(named_gait(robot, "pace", 4)) == {"FL": "##..", "RL": "##..", "FR": "..##",
                                                   "RR": "..##"}  # fmt: skip
    assert flags(named_gait(robot, "bound", 4)) == {"FL": "##..", "FR": "##..", "RL": "..##",
                                                    "RR": "..##"}  # fmt: skip
    walk = named_gait(robot, "walk", 8)
    assert flags(walk) == {"FL": "######..", "FR": "..######", "RL": "##..####", "RR": "####..##"}
    assert (named_gait(robot, "walk", 20, duty=0.8).contact.sum(axis=0) == 16).all()
    for gait in ("roll", "none"):
        assert named_gait(robot, gait, 5).contact.all()


def test_end_effectors_of_a_leg_lift_together_and_those_on_the_body_never(robots):
    trot = flags(named_gait(robots["skatebot"], "trot", 4))
    assert trot["FL_front"] == trot["FL_rear"] == trot["RR_front"] == "##.."
    assert set(flags(named_gait(robots["creature3"], "walk", 12))["T"]) == {"#"}


def test_a_trot_of_six_legs_is_the_tripod(robots):
    trot = flags(named_gait(robots["hexapod"], "trot", 2))
    assert {name for name, flag in trot.items() if flag == "#."} == {"FL", "MR", "RL"}
    wave = named_gait(robots["hexapod"], "wave", 12).contact
    assert ((~wave).sum(axis=1) == 1).all()


@pytest.mark.parametrize(
    ("robot", "gait", "said"),
    [
        ("creature3", "trot", "leg F stands in the middle"),
        ("car", "pace", "as many legs on the left"),
        ("car", "walk", "at least two legs"),
        ("quadruped", "trott", "did you mean 'trot'"),
    ],
)
def test_gaits_that_a_robot_has_not_are_refused(robots, robot, gait, said):
    with pytest.raises(InputError, match=said):
        named_gait(robots[robot], gait, 12)


def test_heights_rise_and_fall_gently_over_the_end_of_the_period():
    contact = np.array([[0, 1, 1, 1, 0, 0], [1, 1, 1, 1, 1, 1], [0, 0, 0, 0, 0, 0]], bool).T
    pattern = FootfallPattern(("a", "b", "c"), contact)
    heights = pattern.heights([0.04, 0.1, 0.2])
    np.testing.assert_allclose(heights[:, 0], [0.01, 0, 0, 0, 0.01, 0.04], atol=1e-12)
    assert not heights[:, 1].any() and (heights[:, 2] == 0.2).all()
    assert [swing.tolist() for swing in pattern.swings(0)] == [[4, 5, 0]]
    cut = FootfallPattern(("a", "b", "c"), contact, periodic=False)
    assert [swing.tolist() for swing in cut.swings(0)] == [[0], [4, 5]]
    assert pattern.closed().samples == 7 and not pattern.closed().contact[-1, 0]


def test_periods_follow_one_another_between_standing(robots):
    trot = named_gait(robots["quadruped"], "trot", 4)
    whole = trot.repeated(2, before=3, after=1)
    assert flags(whole)["FL"] == "#####..##..#" and not whole.periodic
    with pytest.raises(InputError, match="periods"):
        trot.repeated(0)


def test_patterns_of_yaml(robots):
    robot = robots["quadruped"]
    given = {"duty": {"FL": 0.5, "FR": 0.75}, "phase": {"FL": 0, "FR": "25 %"}}
    assert flags(load_footfall(given, robot, 4)) == {"FL": "##..", "FR": ".###", "RL": "####",
                                                     "RR": "####"}  # fmt: skip
    given = {"contact": {"FL": "1100"}, "periodic": False}
    read = load_footfall(given, robot, 4)
    assert flags(read)["FL"] == "##.." and not read.periodic
    assert load_footfall({"gait": "pace", "duty": 0.75}, robot, 4).contact.sum() == 12
    for wrong, said in [
        ({"gait": "trot", "contact": {}}, "exactly one"),
        ({"contact": {"FL": "110"}}, "contact.FL.*4 characters"),
        ({"duty": 0.5, "phase": {"FX": 0}}, "phase.FX"),
        ({"duty": 1.5, "phase": {"FL": 0}}, "duty.FL"),
        ({"phase": {"FL": 0}}, "duty"),
    ]:
        with pytest.raises(InputError, match=said):
            load_footfall(wrong, robot, 4)
