"""A seeded part of the studies whose figures are published; each asserts its own bars too."""

import pytest

from validation import (
    correlated_noise,
    driver,
    gradients,
    gradients_mixed,
    interpolation,
    model_comparison,
    noise_study,
    reduced,
    tennis,
)


def test_a_tenth_of_the_gradient_study_passes_its_bars():
    figures = gradients.study(0.1)
    assert figures["scenes"] == 20


def test_a_tenth_of_the_mixed_gradient_study_passes_its_bars():
    figures = gradients_mixed.study(0.1)
    assert figures["scenes"] == 31


def test_a_part_of_the_study_of_articulated_scenes_passes_its_bars():
    figures = reduced.study(0.03)
    assert figures["scenes"] == 7 and figures["largest_opening_m"] < 1e-12


def test_intervals_cover_and_independent_ones_do_not():
    (case,) = correlated_noise.study(0.1)["cases"]
    assert case["correlation"] == 0.9 and case["independent_residuals"] < 0.15 * case["residuals"]
    assert case["mean"]["correlated"] > case["mean"]["independent"] + 0.2


def test_no_version_of_the_controller_takes_an_accepted_motion_beyond_a_limit():
    figures = interpolation.study(0.05)
    assert figures["accepted"] == 500
    assert figures["cubic_rule_alone"]["worst_share_of_a_limit"] > 1.1


def test_nothing_that_the_real_controller_refuses_leaves():
    assert driver.rules(0.1)["corrupted"] == 500


def test_motions_end_as_they_should_whatever_happens():
    assert driver.events(0.1)["motions"] == 30


def test_the_law_that_made_the_data_is_recognised():
    figures = model_comparison.study(0.1)["small_invariant"]
    invariant, linear = (figures["models"][name] for name in ("invariant", "linear"))
    assert linear["held_out"]["rms_residual"] > 3 * invariant["held_out"]["rms_residual"]
    assert 0.05 < invariant["effective_residuals"] / invariant["residuals"] < 0.9
    assert abs(figures["parameters"]["invariant"]["young"]["value"] / 1.2e5 - 1) < 0.2
    assert not figures["distinguished"], "two recordings cannot give such an interval"


def test_linear_and_tanh_contact_recover_from_ten_times_too_soft():
    figures = noise_study.study(0.1)
    slides = figures["slides"]
    assert set(slides) == {"linear", "tanh", "hybrid"} and "sticks" not in figures
    for law in slides.values():
        assert 0.5 < law["sliding"] <= 1.0
    noisy = slides["linear"]["fits"]["0.003"][0]
    assert 1e-4 < noisy["young"] < 0.05 and noisy["rollouts"] < 400


def test_a_planned_throw_reaches_its_target_in_mujoco():
    pytest.importorskip("mujoco")
    from validation import mujoco_throw

    figures = mujoco_throw.study(0.1)  # asserts the distance from the target
    for name in ("planned", "executed"):
        assert figures[name]["between_at_release_m"] < 1e-12
        assert figures[name]["between_in_flight_m"] < 2e-4
    assert figures["executed"]["between_at_target_m"] > 1e-4, "another engine's bounce"


def test_with_its_bounce_estimated_the_ball_hits_the_point_of_the_wall():
    figures = tennis.study(0.1)  # asserts distances, restitution and the limits as executed
    for plan in figures["plans"].values():
        assert plan["executed"]["bounces"] == 1
        assert plan["planned_m"] < 3e-3
    parameters = figures["estimation"]["parameters"]
    for name in ("damping", "inertia", "friction"):
        found, truth = parameters[name]["value"], parameters[name]["truth"]
        assert abs(found / truth - 1) < 0.05, f"{name}: {found}, truth {truth}"
