"""A tenth of the study of derivatives after contact; full: ./run validate touchdown."""

from validation.touchdown import QUICK, study


def test_derivatives_settle_whatever_the_phase_of_touchdown():
    figures = study(0.1)
    assert set(figures["scenes"]) == set(QUICK)
    for name, scene in figures["scenes"].items():
        assert scene["integrated"]["rms"] <= 0.02, name
        assert scene["sampled"]["rms"] >= 4 * scene["integrated"]["rms"], name
    for name in ("ball_one_bounce", "ball_three_bounces"):
        assert figures["orders"][name]["motion_median"] >= 1.75
