"""Figures of an estimation: convergence, parameters with their uncertainty, correlations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from diffsim_ros.viz import style
from diffsim_ros.viz.plots import in_style, plain_log

WORTH_A_NUMBER = 0.3  # correlations below this are shown by colour alone


@dataclass(frozen=True)
class ParameterRow:
    """A parameter as shown: value and standard deviation in `unit`, NaN or None where undefined;
    bound: of an answer with one side."""

    name: str
    unit: str
    value: float
    std_dev: float | None = None
    lower: float | None = None
    upper: float | None = None
    prior_mean: float | None = None
    prior_sigma: float | None = None
    start: float | None = None
    identifiable: bool = True
    at_bound: bool = False
    note: str = ""
    bound: str = ""


@in_style
def convergence(history: Sequence[Any]) -> Figure:
    """Return the objective over iterations (log scale); one shade per phase if phases are named.

    history: steps with `objective` and `phase`.
    """
    figure = style.new_figure(10.5, 2.9)
    axis = figure.subplots()
    value = np.array([float(step.objective) for step in history])
    x = np.arange(len(value))
    phases = [step.phase for step in history]
    starts = [i for i in range(len(phases)) if i == 0 or phases[i] != phases[i - 1]]
    if len(starts) > 1:
        for number, (a, b) in enumerate(zip(starts, [*starts[1:], len(phases)], strict=True)):
            axis.axvspan(a - 0.5, b - 0.5, color="#EEF2F6" if number % 2 else "white", lw=0)
            if b - a > 0.06 * len(phases):
                axis.text(
                    0.5 * (a + b - 1),
                    1.02,
                    phases[a],
                    transform=axis.get_xaxis_transform(),
                    ha="center",
                    va="bottom",
                    fontsize=8.5,
                    color=style.MUTED,
                )
    for a, b in zip(starts, [*starts[1:], len(phases)], strict=True):
        axis.plot(x[a:b], value[a:b], "-o", color=style.SIMULATED, ms=4, lw=1.8)
    if (value > 0).all():
        axis.set_yscale("log")
        plain_log(axis.yaxis)
        if value.max() / value.min() < 5:  # there may be no tick at 1, 2 or 5
            axis.yaxis.set_major_locator(MaxNLocator(5))
    axis.set(xlabel="iteration", ylabel="objective", xlim=(-0.5, max(len(value) - 0.5, 0.5)))
    axis.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=12))
    return figure


@in_style
def parameter_intervals(rows: Sequence[ParameterRow]) -> Figure:
    """Return each parameter's estimate with its 95 % interval between its bounds, and its prior.

    Every row has its own scale from lower to upper bound (logarithmic where the bounds span more
    than a factor of 30), so that one glance shows what the data decided.
    """
    figure = style.new_figure(10.5, 0.6 + 0.52 * max(len(rows), 1))
    axis = figure.subplots()
    for y, row in enumerate(rows):
        scale = Scale(row)
        axis.barh(y, 1.0, height=0.34, color="#EEF2F6", lw=0)
        if row.prior_mean is not None and row.prior_sigma:
            band = scale(row.prior_mean + 1.96 * np.array([-1, 1]) * row.prior_sigma)
            axis.barh(y, band[1] - band[0], left=band[0], height=0.34, color="#CFE3D9", lw=0)
        colour = style.WARN if row.at_bound or not row.identifiable else style.SIMULATED
        if row.std_dev is not None and np.isfinite(row.std_dev):
            ends = scale(row.value + 1.96 * np.array([-1, 1]) * row.std_dev)
            axis.plot(ends, [y, y], color=colour, lw=5, alpha=0.45, solid_capstyle="butt")
        if row.start is not None:
            axis.plot(scale(row.start), y, "|", color=style.MUTED, ms=13, mew=1.5)
        axis.plot(scale(row.value), y, "o", color=colour, ms=8, mec="white", mew=1)
        for x, bound in ((0.0, row.lower), (1.0, row.upper)):
            if bound is not None:
                side = {"ha": "left" if x == 0 else "right"}
                axis.text(
                    x, y + 0.23, f"{bound:.4g}", fontsize=7, color=style.MUTED, va="top", **side
                )
        axis.text(1.02, y, _value_text(row), va="center", color=colour, fontweight="semibold")
    axis.set_yticks(range(len(rows)), [row.name for row in rows])
    axis.set(xlim=(-0.01, 1.32), ylim=(len(rows) - 0.4, -0.6), xticks=[])
    axis.grid(visible=False)
    axis.tick_params(axis="y", length=0)
    for spine in axis.spines.values():
        spine.set_visible(False)
    return figure


class Scale:
    """Maps a parameter's value to 0 (lower bound) ... 1 (upper bound), clipped."""

    def __init__(self, row: ParameterRow) -> None:
        sigma = row.std_dev if row.std_dev and np.isfinite(row.std_dev) else abs(row.value) / 4
        low, high = row.value - 6 * sigma, row.value + 6 * sigma
        self.low = row.lower if row.lower is not None and np.isfinite(row.lower) else low
        self.high = row.upper if row.upper is not None and np.isfinite(row.upper) else high
        if self.high <= self.low:
            self.low, self.high = self.low - 1.0, self.high + 1.0
        self.log = self.low > 0 and self.high / self.low > 30

    def __call__(self, value):
        value = np.clip(value, self.low, self.high)
        if self.log:
            return np.log(value / self.low) / np.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)


def _value_text(row: ParameterRow) -> str:
    unit = "" if row.unit in ("", "1", "-") else f" {row.unit}"
    if row.std_dev is None or not np.isfinite(row.std_dev):
        return f"{row.value:.4g}{unit}"
    return f"{with_sigma(row.value, row.std_dev)}{unit}"


def with_sigma(value: float, sigma: float) -> str:
    """Return "value ± sigma" with two significant digits of sigma, e.g. "0.2130 ± 0.0012"."""
    if not (np.isfinite(sigma) and sigma > 0 and np.isfinite(value)):
        return f"{value:.5g}"
    exponent = int(np.floor(np.log10(sigma)))
    if exponent >= 5 or exponent < -6 or abs(value) >= 1e6:
        power = int(np.floor(np.log10(max(abs(value), sigma))))
        digits = min(max(power - exponent + 1, 0), 12)
        return f"({value / 10**power:.{digits}f} ± {sigma / 10**power:.{digits}f})e{power}"
    digits = max(1 - exponent, 0)
    return f"{value:.{digits}f} ± {sigma:.{digits}f}"


@in_style
def correlation_map(names: Sequence[str], correlation: np.ndarray) -> Figure:
    """Return the correlation matrix (k, k) as a heat map; strong entries carry their number."""
    count = len(names)
    side = 1.5 + 0.62 * count
    figure = style.new_figure(side + 1.6, side)
    axis = figure.subplots()
    matrix = np.array(correlation, dtype=float)
    np.fill_diagonal(matrix, np.nan)  # always 1: nothing to see
    axis.set_facecolor("#E4E8EC")
    image = axis.imshow(matrix, vmin=-1, vmax=1, cmap="PuOr_r")
    for i in range(count):
        for j in range(count):
            if i != j and np.isfinite(matrix[i, j]) and abs(matrix[i, j]) >= WORTH_A_NUMBER:
                colour = "white" if abs(matrix[i, j]) > 0.65 else style.INK
                axis.text(
                    j, i, f"{matrix[i, j]:.2f}", ha="center", va="center", fontsize=8, color=colour
                )
    axis.set_xticks(range(count), names, rotation=40, ha="right", rotation_mode="anchor")
    axis.set_yticks(range(count), names)
    axis.set_xticks(np.arange(count + 1) - 0.5, minor=True)
    axis.set_yticks(np.arange(count + 1) - 0.5, minor=True)
    axis.grid(visible=False)
    axis.grid(which="minor", color="white", linewidth=2)
    axis.tick_params(which="both", length=0)
    for spine in axis.spines.values():
        spine.set_visible(False)
    bar = figure.colorbar(image, ax=axis, shrink=0.75, pad=0.03)
    bar.outline.set_visible(False)
    bar.set_label("correlation")
    return figure


def _panels(count: int, most: int, width: float, height: float) -> tuple[Figure, np.ndarray]:
    """A figure of so many axes, at most `most` in a line, and the axes."""
    columns = min(most, count)
    rows = -(-count // columns)
    figure = style.new_figure(width * columns, height * rows)
    axes = figure.subplots(rows, columns, squeeze=False).ravel()
    for axis in axes[count:]:
        axis.set_visible(False)
    return figure, axes


@in_style
def profiles(found: Sequence[Any]) -> Figure:
    """Return the rise of the cost along each profiled parameter (inverse.profile.Profile).

    Dashed: the threshold; shaded: the interval, up to the last point where a side is open.
    """
    figure, axes = _panels(len(found), 3, 3.5, 2.7)
    for axis, p in zip(axes, found, strict=False):
        x, rise = np.asarray(p.values), np.asarray(p.rise)
        axis.plot(x, rise, "o", color=style.SIMULATED, ms=4)
        if len(x) > 2:  # its signed root is nearly a line
            root = np.sqrt(rise) * np.where(x < p.value, -1.0, 1.0)
            dense = np.linspace(x[0], x[-1], 200)
            axis.plot(dense, np.interp(dense, x, root) ** 2, color=style.SIMULATED, lw=1.6)
        axis.axhline(p.threshold, color=style.MUTED, lw=1, ls=(0, (4, 3)))
        low = x[0] if p.low is None else p.low
        high = x[-1] if p.high is None else p.high
        axis.axvspan(low, high, color=style.SIMULATED, alpha=0.12, lw=0)
        axis.axvline(p.value, color=style.INK, lw=1)
        open_ends = [word for word, end in (("below", p.low), ("above", p.high)) if end is None]
        axis.ticklabel_format(axis="x", useOffset=False)
        axis.xaxis.set_major_locator(MaxNLocator(4))
        title = p.name + (f" (open {' and '.join(open_ends)})" if open_ends else "")
        axis.set(title=title, xlabel=p.unit, ylim=(0, max(1.6 * p.threshold, 1e-12)))
        if p.logarithmic and x[0] > 0 and x[-1] / x[0] > 3:
            axis.set_xscale("log")
            plain_log(axis.xaxis)
    axes[0].set_ylabel("rise of the cost [chi-square]")
    return figure


@in_style
def bands(found: Sequence[Any]) -> Figure:
    """Return the prediction bands of new motion (inverse.bands.TrialBand), a panel for each.

    Of series with one sample there is nothing to draw over time; they are left out.
    """
    shown = [one for one in found if len(np.unique(one.t)) > 1] or list(found)
    figure, axes = _panels(len(shown), 2, 5.2, 2.6)
    for axis, one in zip(axes, shown, strict=False):
        k = one.band.widest
        order = np.argsort(one.t, kind="stable")
        t, sigma = np.asarray(one.t)[order], one.band.sigma[order, k]
        for extra, alpha in ((1.0, 0.10), (0.0, 0.30)):
            reach = 1.96 * np.sqrt(extra + sigma**2)
            axis.fill_between(t, -reach, reach, color=style.SIMULATED, alpha=alpha, lw=0)
        axis.plot(t, one.band.residual[order, k], ".", color=style.MEASURED, ms=4)
        title = f"{one.trial}, {one.band.name}: {100 * one.band.inside:.0f} % inside"
        axis.set(title=title, xlabel="time [s]")
    axes[0].set_ylabel("predicted - measured [sigma]")
    return figure
