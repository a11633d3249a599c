"""Designs changed with their motions [G 2.5]: derivatives, a car mended, features held."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("diffsim_ros._engine", reason="the engine is not built")

from diffsim_ros.errors import InputError
from diffsim_ros.planning.locomotion import (
    LocomotionConfig,
    LocomotionGoals,
    generate,
    load_legged_robot,
    named_gait,
)
from diffsim_ros.planning.locomotion.design import MotionDesign

ROBOTS = Path(__file__).resolve().parents[3] / "config" / "locomotion" / "robots"


def config(robot, gait, samples, duration, travel):
    legged = load_legged_robot(ROBOTS / f"{robot}.yaml")
    return LocomotionConfig(
        "test", robot, legged, named_gait(legged, gait, samples), duration, 0.02,
        goals=LocomotionGoals(travel=(travel, 0.0), turn=0.0), iterations=80,
    )  # fmt: skip


@pytest.fixture(scope="module")
def trot():
    plan = config("quadruped", "trot", 6, 0.5, 0.08)
    design = MotionDesign(plan, ("leg.knee.z", "leg.hip_pitch.y"))
    return design, design.begin()


def test_motions_move_with_the_design_as_the_derivative_says(trot):
    design, first = trot
    slopes = design.derivative(first)
    problem = design.problem(first.values)
    seen = problem.unknowns
    for k in range(2):
        change = np.zeros(2)
        change[k] = 1e-3
        ends = [design.solve(first.values + side * change, first.plan).plan for side in (1, -1)]
        for name in ("x", "e", "f"):
            difference = (ends[0][name] - ends[1][name]) / (2 * change[k])
            expected = slopes[seen[name].ravel(), k]
            scale = np.abs(slopes[seen["e"].ravel(), k]).max()
            assert difference.ravel() == pytest.approx(expected, abs=5e-3 * scale), (k, name)


def test_an_objectives_gradient_against_differences(trot):
    design, first = trot
    change = np.array([1e-3, 0.0])
    ends = [design.solve(first.values + side * change, first.plan) for side in (1, -1)]
    for terms in ((), ("travel", "smooth")):
        slope = design.gradient(first, terms)[1][0]
        values = [design.gradient(end, terms)[0] for end in ends]
        assert (values[0] - values[1]) / 2e-3 == pytest.approx(slope, rel=5e-3), terms


def test_the_motion_of_a_changed_design_is_its_minimum(trot):
    design, first = trot
    found = design.change(first, np.array([-0.004, 0.0]))
    assert found.energy == pytest.approx(design.solve(found.values, first.plan).energy, rel=1e-6)
    assert found.values == pytest.approx(first.values + np.array([-0.004, 0.0]))


def test_other_parameters_make_up_for_a_change_of_one():
    plan = config("quadruped", "trot", 6, 0.5, 0.08)
    design = MotionDesign(plan, ("leg.knee.z", "leg.foot.z", "leg.hip_pitch.z"))
    first = design.begin()
    given = np.array([-0.005, 0.0, 0.0])
    filled = design.compensated(first, given, ["centre_of_mass"])
    assert filled[0] == given[0] and np.abs(filled[1:]).max() > 1e-4
    moved = [design.change(first, one).plan["x"] - first.plan["x"] for one in (given, filled)]
    assert np.linalg.norm(moved[1]) < 0.7 * np.linalg.norm(moved[0])
    with pytest.raises(InputError, match="feature: got 'colour'"):
        design.compensated(first, given, ["colour"])


def test_the_car_with_tilted_front_wheels_is_mended():
    """[G 2.5.1, Fig. 2.8]; a wheel of radius r that leans by 45 degrees must be r (1 - cos 45)
    lower."""
    plan = config("car_tilted", "roll", 6, 1.0, 0.2)
    design = MotionDesign(plan, ("front.wheel.z",))
    first = design.begin(sharp=False)
    designs = design.optimise(first)
    radius = plan.robot.end_effectors[0].radius
    lower = first.values[0] - designs[-1].values[0]
    assert lower == pytest.approx(radius * (1 - np.cos(np.pi / 4)), abs=2e-4)
    assert designs[-1].energy < 1e-2 * first.energy
    mended = generate(replace(plan, robot=design.robot(designs[-1].values)))
    assert mended.status == "reached", mended.constraints


def test_what_cannot_be_designed_is_refused():
    with pytest.raises(InputError, match="robot: got 'solo12'"):
        MotionDesign(config("solo12", "trot", 6, 0.5, 0.05))
    with pytest.raises(InputError, match=r"design parameter: got 'leg\.nose\.x'"):
        MotionDesign(config("quadruped", "trot", 6, 0.5, 0.05), ("leg.nose.x",))
