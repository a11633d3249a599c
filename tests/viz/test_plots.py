"""Figures show the numbers that they were given."""

import dataclasses

import matplotlib as mpl
import numpy as np
import pytest

from diffsim_ros.viz import fit_plots, plots, style
from diffsim_ros.viz.kinds.poses import motions_of
from diffsim_ros.viz.motion import POSES
from diffsim_ros.viz.pages import sections_of


@pytest.fixture(scope="module")
def motions(result):
    return [motion for prediction in result.predictions for motion in motions_of(prediction)]


@pytest.fixture(scope="module")
def rows(result):
    return sections_of(result).rows


def shortened(motion, frames):
    """The first frames of a motion."""
    cut = {key: getattr(motion, key)[:frames] for key in ("t", *POSES)}
    return dataclasses.replace(motion, **cut)


def texts(figure):
    return [text.get_text() for text in figure.findobj(mpl.text.Text) if text.get_text()]


def test_every_figure_can_be_saved_and_leaves_global_style_alone(motions, rows, result):
    before = dict(mpl.rcParams)
    made = [
        plots.motion_plot(motions[0]),
        plots.error_over_time(motions),
        fit_plots.convergence(result.history),
        fit_plots.parameter_intervals(rows),
        fit_plots.correlation_map(result.correlated, result.correlation),
    ]
    for figure in made:
        png = style.png_bytes(figure, dpi=40)
        assert png.startswith(b"\x89PNG") and len(png) > 2000
    assert dict(mpl.rcParams) == before


def test_residuals_over_time_leave_out_times_with_few_trials(motions):
    cut = [shortened(motion, 20) for motion in motions[1:]]
    axis = plots.error_over_time([motions[0], *cut]).axes[0]
    assert axis.lines[0].get_xdata()[-1] == pytest.approx(cut[0].t[-1], abs=1e-3)
    axis = plots.error_over_time(motions).axes[0]
    assert axis.lines[0].get_xdata()[-1] == pytest.approx(motions[0].t[-1], abs=1e-3)


@pytest.mark.parametrize(
    ("value", "sigma", "text"),
    [
        (0.21344, 0.0021, "0.2134 ± 0.0021"),
        (5230.0, 210.0, "5230 ± 210"),
        (5.0, 0.0, "5"),
        (3.0e-9, 1.2e-10, "(3.00 ± 0.12)e-9"),
        (1234567.0, 1000.0, "(1.2346 ± 0.0010)e6"),
        (2.0, float("nan"), "2"),
    ],
)
def test_values_are_written_to_two_digits_of_sigma(value, sigma, text):
    assert fit_plots.with_sigma(value, sigma) == text


def test_parameters_at_a_bound_or_not_identifiable_stand_out(rows):
    figure = fit_plots.parameter_intervals(rows)
    colours = {t.get_text(): t.get_color() for t in figure.findobj(mpl.text.Text)}
    assert colours["0.2134 ± 0.0021"] == style.SIMULATED
    assert colours["0.01 m"] == style.WARN
    assert colours["1.00 ± 0.10"] == style.WARN


def test_only_strong_correlations_carry_a_number():
    matrix = np.array([[1, 0.9, 0.1], [0.9, 1, np.nan], [0.1, np.nan, 1]])
    shown = texts(fit_plots.correlation_map(("a", "b", "c"), matrix))
    assert shown.count("0.90") == 2 and "0.10" not in shown
