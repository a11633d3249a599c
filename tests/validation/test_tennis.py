"""A tennis ball's bounce estimated from the twin's throws: with it, and only so, a throw hits."""

from validation.tennis import study


def test_with_its_bounce_estimated_the_ball_hits_the_point_of_the_wall():
    figures = study(0.1)  # asserts distances, restitution and the limits as executed
    for plan in figures["plans"].values():
        assert plan["executed"]["bounces"] == 1
        assert plan["planned_m"] < 3e-3
    parameters = figures["estimation"]["parameters"]
    for name in ("damping", "inertia", "friction"):
        found, truth = parameters[name]["value"], parameters[name]["truth"]
        assert abs(found / truth - 1) < 0.05, f"{name}: {found}, truth {truth}"
