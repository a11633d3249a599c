"""A tenth of the study: a bar's recordings under one law of viscosity, both laws fitted."""

from validation.model_comparison import study


def test_the_law_that_made_the_data_is_recognised():
    figures = study(0.1)["small_invariant"]
    invariant, linear = (figures["models"][name] for name in ("invariant", "linear"))
    assert linear["held_out"]["rms_residual"] > 3 * invariant["held_out"]["rms_residual"]
    assert 0.05 < invariant["effective_residuals"] / invariant["residuals"] < 0.9
    assert abs(figures["parameters"]["invariant"]["young"]["value"] / 1.2e5 - 1) < 0.2
    assert not figures["distinguished"], "two recordings cannot give an interval that says so"
