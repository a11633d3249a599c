"""A part of validation/physics_clamp.py."""

import pytest

from validation import physics_clamp


def test_without_the_clamps_edges_the_derivative_by_poissons_ratio_is_right_on_coarse_cells():
    figures = physics_clamp.study(fraction=0.1)
    assert abs(figures["lengthwise_0.45_4x4x6_six"]["by_poisson"]) < 0.05


def test_the_bar_held_lengthwise_sags_as_timoshenko_says():
    """5/24 q L^4/EI + q L^2/(2 kappa G A), kappa of a square section [Cowper 1966]."""
    nu, w, length = 0.3, physics_clamp.WIDTH, physics_clamp.LENGTH
    q = physics_clamp.DENSITY * physics_clamp.GRAVITY * w**2
    kappa = 10 * (1 + nu) / (12 + 11 * nu)
    bending = 5 / 24 * q * length**4 / (physics_clamp.YOUNG * w**4 / 12)
    shear = q * length**2 / (2 * kappa * physics_clamp.YOUNG / (2 * (1 + nu)) * w**2)
    # carried at its end, so the root sags and the end does not
    assert -physics_clamp.of_bricks(2, nu, False) == pytest.approx(bending + shear, rel=0.02)
