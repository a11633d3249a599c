"""Figures show the numbers that they were given."""

import matplotlib as mpl
import numpy as np
import pytest

from diffsim_ros.viz import fit_plots, plots, style
from diffsim_ros.viz.pages import sections_of
from diffsim_ros.viz.summary import summarise
from diffsim_ros.viz.toss_tables import mean_intervals


@pytest.fixture(scope="module")
def summary(result):
    return summarise(result)


@pytest.fixture(scope="module")
def rows(result):
    return sections_of(result).rows


def texts(figure):
    return [text.get_text() for text in figure.findobj(mpl.text.Text) if text.get_text()]


def test_every_figure_can_be_saved_and_leaves_global_style_alone(summary, rows, result):
    before = dict(mpl.rcParams)
    made = [
        plots.mean_errors(mean_intervals(summary)),
        plots.error_distribution(summary.errors),
        plots.error_by_trial(summary.errors, summary.error_ids),
        plots.paired_errors(summary.errors),
        plots.motion_plot(summary.motions[0]),
        plots.error_over_time(summary.motions),
        fit_plots.convergence(result.history),
        fit_plots.parameter_intervals(rows),
        fit_plots.correlation_map(result.correlated, result.correlation),
    ]
    for figure in made:
        png = style.png_bytes(figure, dpi=40)
        assert png.startswith(b"\x89PNG") and len(png) > 2000
    assert dict(mpl.rcParams) == before


def test_mean_errors_print_the_means(summary):
    figure = plots.mean_errors(mean_intervals(summary))
    mean = summary.errors["rotation_error_deg"]["ours"].mean()
    assert f"{mean:.3g}" in texts(figure)
    assert {"diffsim", "MuJoCo", "Drake"} <= set(texts(figure))


def test_the_distribution_rises_from_none_to_all(summary):
    axis = plots.error_distribution(summary.errors).axes[0]
    assert len(axis.lines) == 3
    for line in axis.lines:
        x, y = line.get_xdata(), line.get_ydata()
        assert y[0] == 0.0 and y[-1] == pytest.approx(1.0)
        assert (np.diff(x) >= 0).all() and (np.diff(y) >= 0).all()


def test_the_paired_figure_counts_the_trials_that_we_predict_better(summary):
    assert texts(plots.paired_errors(summary.errors)).count("better in 100 % of tosses") == 3


def test_the_same_simulator_has_the_same_colour_everywhere():
    colours = [style.colour_of(name) for name in ("ours", "mujoco", "drake", "bullet")]
    assert len(set(colours)) == 4
    assert style.colour_of("MuJoCo") == style.colour_of("mujoco")
    assert style.colour_of("something new") == style.colour_of("something new")


def test_residuals_over_time_leave_out_times_with_few_trials(summary):
    long, short = summary.motions[0], summary.motions[1:]
    axis = plots.error_over_time([long, *short]).axes[0]
    assert axis.lines[0].get_xdata()[-1] == pytest.approx(long.t[-1], abs=0.01)


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


def test_only_strong_correlations_carry_a_number(summary):
    matrix = np.array([[1, 0.9, 0.1], [0.9, 1, np.nan], [0.1, np.nan, 1]])
    shown = texts(fit_plots.correlation_map(("a", "b", "c"), matrix))
    assert shown.count("0.90") == 2 and "0.10" not in shown
