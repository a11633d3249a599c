"""validation/closed_forms.py against differences of its energy, linear elasticity and itself."""

from __future__ import annotations

import numpy as np
import pytest

from validation import closed_forms as cf

YOUNG = 2.6e5


@pytest.mark.parametrize("model", cf.MODELS)
@pytest.mark.parametrize("poisson", (0.3, 0.45, 0.499))
class TestBothForms:
    def test_stress_is_the_derivative_of_the_energy(self, model, poisson):
        rng = np.random.default_rng(0)
        F = np.eye(3) + 0.2 * rng.normal(size=(3, 3))
        F *= np.sign(np.linalg.det(F))
        along = rng.normal(size=(3, 3))
        e = 1e-5
        slope = (
            cf.energy(F + e * along, YOUNG, poisson, model)
            - cf.energy(F - e * along, YOUNG, poisson, model)
        ) / (2 * e)
        P = cf.first_piola(F, YOUNG, poisson, model)
        assert np.sum(P * along) == pytest.approx(slope, rel=1e-6)

    def test_closed_forms_are_the_general_stress(self, model, poisson):
        stress, b = cf.uniaxial(1.3, YOUNG, poisson, model)
        P = cf.first_piola(np.diag([1.3, b, b]), YOUNG, poisson, model)
        scale = YOUNG / (1 - 2 * poisson)
        assert np.allclose(P, np.diag([stress, 0, 0]), atol=1e-12 * scale)
        F = np.array([[1, 0.4, 0], [0, 1, 0], [0, 0, 1]])
        cauchy = cf.first_piola(F, YOUNG, poisson, model) @ F.T
        assert np.allclose(cauchy, cf.simple_shear(0.4, YOUNG, poisson, model), atol=1e-10 * scale)
        P = cf.first_piola(1.1 * np.eye(3), YOUNG, poisson, model)
        mean = cf.volumetric(1.1, YOUNG, poisson, model)
        assert np.allclose(P * 1.1 / 1.1**3, mean * np.eye(3), rtol=1e-12)

    def test_small_strains_are_those_of_young_and_poisson(self, model, poisson):
        e = 1e-6
        stress, b = cf.uniaxial(1 + e, YOUNG, poisson, model)
        assert stress / e == pytest.approx(YOUNG, rel=1e-4)
        assert (1 - b) / e == pytest.approx(poisson, rel=1e-4)
        mu, lam = cf.lame(YOUNG, poisson)
        assert cf.volumetric(1 + e, YOUNG, poisson, model) / e == pytest.approx(
            3 * lam + 2 * mu, rel=1e-3
        )
        assert cf.simple_shear(e, YOUNG, poisson, model)[0, 1] == pytest.approx(mu * e)

    def test_stretch_under_a_stress_inverts_uniaxial(self, model, poisson):
        a = cf.principal_stretch_at(5e4, YOUNG, poisson, model)
        assert cf.uniaxial(a, YOUNG, poisson, model)[0] == pytest.approx(5e4, rel=1e-9)


def test_printed_formulas_of_the_logarithmic_form():
    mu, lam = cf.lame(YOUNG, 0.4)
    stress, b = cf.uniaxial(1.5, YOUNG, 0.4)
    log = np.log(1.5 * b**2)
    assert stress == pytest.approx(mu * (1.5 - 1 / 1.5) + lam * log / 1.5)
    assert mu * (b - 1 / b) + lam * log / b == pytest.approx(0, abs=1e-9 * mu)
    a = 1.2
    assert cf.volumetric(a, YOUNG, 0.4) == pytest.approx(
        (mu * (a - 1 / a) + 3 * lam * np.log(a) / a) / a**2
    )


def test_only_the_safe_form_lives_through_inversion():
    F = np.diag([1.0, 1.0, -0.2])
    assert np.isfinite(cf.energy(F, YOUNG, 0.4, "neo_hookean_safe"))
    with np.errstate(invalid="ignore"):
        assert np.isnan(cf.energy(F, YOUNG, 0.4))
    with pytest.raises(ValueError, match="neo_hookean_safe"):
        cf.energy(F, YOUNG, 0.4, "hooke")


def test_modes_of_a_sphere():
    """Lamb's 2.501 for any Poisson's ratio, and 2.640 at 1/4."""
    assert cf.sphere_modes(0.25) == pytest.approx((2.5011, 2.6399), abs=1e-4)
    assert cf.sphere_modes(0.49)[0] == cf.sphere_modes(0.25)[0]
