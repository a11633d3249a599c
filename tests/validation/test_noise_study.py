"""A tenth of the study: without noise and with 3 mm, one recording each, three friction laws."""

from validation.noise_study import study


def test_linear_and_tanh_contact_recover_from_ten_times_too_soft():
    figures = study(0.1)
    slides = figures["slides"]
    assert set(slides) == {"linear", "tanh", "hybrid"} and "sticks" not in figures
    for law in slides.values():
        assert 0.5 < law["sliding"] <= 1.0
    noisy = slides["linear"]["fits"]["0.003"][0]
    assert 1e-4 < noisy["young"] < 0.05 and noisy["rollouts"] < 400
