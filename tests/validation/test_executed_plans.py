"""Plans carried out by the twin through the mock controller reach what they are planned for."""

from validation.executed_plans import study


def test_plans_are_carried_out_by_the_twin():
    figures = study(0.1)  # asserts limits, distances and what robust plans gain
    for name in ("throw", "drag"):
        for kind in ("as_it_is", "robust"):
            found = figures[name][kind]
            # the twin is the plan's own scene: without the arm's lag it does what was planned
            assert abs(found["exact_joints_m"] - found["planned_m"]) < 2e-3
            assert found["executed_m"] > found["exact_joints_m"] - 1e-3
