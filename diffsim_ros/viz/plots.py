"""Figures of prediction errors and of motions, from plain arrays; figures of the fit: fit_plots.

Every function returns a matplotlib Figure that no display needs; `style.png_bytes` saves it.
Errors come as {simulator: values} with "ours" for this package; colours and order are the same in
every figure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import wraps

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from diffsim_ros.viz import style
from diffsim_ros.viz.motion import Motion

QUANTITIES = {
    "position_error_widths": ("position error", "% of width", 100.0),
    "rotation_error_deg": ("rotation error", "degrees", 1.0),
    "e_q": ("combined error e_q", "m + rad²", 1.0),
}
"""Name in metrics.json -> title, unit and factor of the shown number."""

Errors = Mapping[str, Mapping[str, np.ndarray]]  # quantity -> simulator -> (trials,)
STROKES = {
    "dots": {"ls": "", "marker": "o", "ms": 1.8, "mew": 0}, "line": {"lw": 1.2},
    "dash": {"lw": 0.9, "ls": ":"},
}  # fmt: skip
"""Of the kinds of lines of curves.line."""


def in_style(plot):
    """Draw inside the package's look and leave matplotlib's global state alone."""

    @wraps(plot)
    def drawn(*args, **kwargs) -> Figure:
        with style.styled():
            return plot(*args, **kwargs)

    return drawn


def _order(names) -> list[str]:
    """Ours first, then the known simulators, then others by name."""
    rank = {"ours": 0, "mujoco": 1, "drake": 2, "bullet": 3}
    return sorted(names, key=lambda name: (rank.get(name.lower(), 9), name))


def plain_log(direction) -> None:
    """Label a logarithmic axis with plain numbers at decades, and at 2 and 5 where they fit."""
    low, high = sorted(direction.get_view_interval())
    subs = (1.0, 2.0, 5.0) if high < 300 * max(low, 1e-300) else (1.0,)
    direction.set_major_locator(LogLocator(subs=subs, numticks=12))
    direction.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    direction.set_minor_formatter(NullFormatter())


def _used(errors: Errors) -> list[str]:
    return [q for q in QUANTITIES if errors.get(q)]


@in_style
def mean_errors(means: Mapping[str, Mapping[str, tuple[float, float, float]]]) -> Figure:
    """Return dots with 95 % intervals: means[quantity][simulator] = (mean, low, high)."""
    used = _used(means)
    count = max((len(means[q]) for q in used), default=1)
    figure = style.new_figure(10.5, 1.05 + 0.36 * count)
    axes = np.atleast_1d(figure.subplots(1, max(len(used), 1), sharey=True))
    for axis, quantity in zip(axes, used, strict=True):
        title, unit, factor = QUANTITIES[quantity]
        names = _order(means[quantity])
        for row, name in enumerate(names):
            mean, low, high = (factor * number for number in means[quantity][name])
            colour = style.colour_of(name)
            axis.plot([low, high], [row, row], color=colour, lw=5, alpha=0.30)
            axis.plot(mean, row, "o", color=colour, ms=8 if name == "ours" else 6.5)
            weight = "semibold" if name == "ours" else "normal"
            axis.annotate(
                f"{mean:.3g}",
                (high, row),
                (7, 0),
                textcoords="offset points",
                va="center",
                color=colour,
                fontsize=9.5,
                fontweight=weight,
            )
        axis.set_yticks(range(len(names)), [style.label_of(name) for name in names])
        axis.set(title=f"{title.capitalize()}", xlabel=unit)
        axis.set_xlim(0, 1.2 * factor * max(entry[2] for entry in means[quantity].values()))
        axis.set_ylim(len(names) - 0.5, -0.5)
        axis.grid(axis="y", visible=False)
        axis.tick_params(axis="y", length=0)
    return figure


@in_style
def error_distribution(errors: Errors) -> Figure:
    """Return, per quantity, the share of trials with an error below x (empirical CDF)."""
    used = _used(errors)
    figure = style.new_figure(10.5, 3.1)
    axes = np.atleast_1d(figure.subplots(1, max(len(used), 1), sharey=True))
    for axis, quantity in zip(axes, used, strict=True):
        title, unit, factor = QUANTITIES[quantity]
        everything = np.concatenate([np.asarray(v) for v in errors[quantity].values()]) * factor
        for name in reversed(_order(errors[quantity])):
            values = np.sort(factor * np.asarray(errors[quantity][name]))
            share = np.arange(1, len(values) + 1) / len(values)
            axis.step(
                np.concatenate([[0.0], values]),
                np.concatenate([[0.0], share]),
                where="post",
                color=style.colour_of(name),
                lw=2.4 if name == "ours" else 1.5,
                label=style.label_of(name),
            )
        axis.set(title=title.capitalize(), xlabel=unit, ylim=(0, 1.02))
        axis.set_xlim(0, float(np.quantile(everything, 0.985)) * 1.05)
        axis.yaxis.set_major_formatter(FuncFormatter(lambda share, _: f"{100 * share:.0f} %"))
    axes[0].set_ylabel("tosses with a smaller error")
    handles, labels = axes[-1].get_legend_handles_labels()
    axes[-1].legend(handles[::-1], labels[::-1], loc="lower right")
    return figure


@in_style
def error_by_trial(errors: Errors, trials: Sequence[object] = ()) -> Figure:
    """Return every trial's errors, trials sorted by ours; the others are dots above or below."""
    used = _used(errors)
    figure = style.new_figure(10.5, 1.9 * max(len(used), 1) + 0.5)
    axes = np.atleast_1d(figure.subplots(max(len(used), 1), 1))
    for axis, quantity in zip(axes, used, strict=True):
        title, unit, factor = QUANTITIES[quantity]
        ours = factor * np.asarray(errors[quantity]["ours"])
        order = np.argsort(ours, kind="stable")
        x = np.arange(len(ours))
        everything = factor * np.concatenate([np.asarray(v) for v in errors[quantity].values()])
        low, high = float(everything.min()) * 0.8, float(np.quantile(everything, 0.985)) * 1.08
        logarithmic = quantity == "e_q" and low > 0
        for name in reversed(_order(errors[quantity])):
            values = factor * np.asarray(errors[quantity][name])[order]
            if name == "ours":
                floor = low if logarithmic else 0.0
                axis.fill_between(x, floor, values, color=style.SIMULATED, alpha=0.14, lw=0)
                axis.plot(x, values, color=style.SIMULATED, lw=2.2, label="diffsim")
            else:
                axis.plot(
                    x,
                    values,
                    "o",
                    ms=3.2,
                    mew=0,
                    alpha=0.60,
                    color=style.colour_of(name),
                    label=style.label_of(name),
                )
        axis.set(title=f"{title.capitalize()} [{unit}]", xlim=(-1, len(ours)))
        axis.set_ylim(0.0, high)
        if logarithmic:
            axis.set(yscale="log", ylim=(low, 1.25 * float(everything.max())))
            axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.grid(axis="x", visible=False)
        _name_trials(axis, [trials[i] for i in order] if len(trials) else [])
    axes[-1].set_xlabel("tosses, sorted by diffsim's error")
    handles, labels = axes[0].get_legend_handles_labels()
    axes[0].legend(
        handles[::-1],
        labels[::-1],
        ncols=4,
        loc="lower right",
        bbox_to_anchor=(1.0, 1.0),
        borderaxespad=0.2,
        handletextpad=0.4,
        columnspacing=1.2,
    )
    return figure


def _name_trials(axis, names: Sequence[object]) -> None:
    """Label trials below the axis when few enough to read; otherwise only count them."""
    if 0 < len(names) <= 30:
        axis.set_xticks(range(len(names)), [str(name) for name in names], fontsize=7.5)
    else:
        axis.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=8))


@in_style
def paired_errors(errors: Errors) -> Figure:
    """Return ours against each quantity's best other simulator, one dot a trial.

    Dots below the diagonal are trials that we predict better.
    """
    used = [q for q in _used(errors) if len(errors[q]) > 1]
    figure = style.new_figure(10.5, 3.7)
    axes = np.atleast_1d(figure.subplots(1, max(len(used), 1)))
    for axis, quantity in zip(axes, used, strict=True):
        title, unit, factor = QUANTITIES[quantity]
        others = [name for name in errors[quantity] if name != "ours"]
        best = min(others, key=lambda name: np.mean(errors[quantity][name]))
        ours = factor * np.asarray(errors[quantity]["ours"])
        theirs = factor * np.asarray(errors[quantity][best])
        positive = np.concatenate([ours, theirs])
        low, high = np.quantile(positive[positive > 0], [0.0, 1.0]) * [0.8, 1.25]
        axis.fill_between([low, high], low, [low, high], color=style.SIMULATED, alpha=0.06, lw=0)
        axis.plot([low, high], [low, high], color=style.MUTED, lw=1)
        axis.scatter(theirs, ours, s=16, color=style.SIMULATED, alpha=0.55, linewidths=0)
        axis.set(xscale="log", yscale="log", xlim=(low, high), ylim=(low, high), aspect="equal")
        axis.set_xlabel(f"{style.label_of(best)} [{unit}]")
        axis.set_ylabel(f"diffsim [{unit}]")
        axis.set_title(title.capitalize())
        share = 100 * np.mean(ours < theirs)
        axis.text(
            0.97,
            0.04,
            f"better in {share:.0f} % of tosses",
            transform=axis.transAxes,
            ha="right",
            color=style.SIMULATED,
            fontsize=9,
            fontweight="semibold",
        )
        plain_log(axis.xaxis)
        plain_log(axis.yaxis)
    return figure


@in_style
def motion_plot(motion: Motion) -> Figure:
    """Return x, y, z over time, measured (dots) against simulated (line), and both errors."""
    figure = style.new_figure(10.5, 4.3)
    top, bottom = figure.subfigures(2, 1, height_ratios=(1.15, 1.0))
    panels = top.subplots(1, 3)
    for i, (axis, name) in enumerate(zip(panels, "xyz", strict=True)):
        measured, simulated = motion.measured_position[:, i], motion.simulated_position[:, i]
        look = {"ms": 3.2, "mew": 0, "color": style.MEASURED, "label": "measured"}
        axis.plot(motion.t, measured, "o", **look)
        axis.plot(motion.t, simulated, color=style.SIMULATED, label="simulated")
        axis.set_title(f"{name} [m]")
        axis.xaxis.set_major_locator(MaxNLocator(5))
        _widen(axis, 0.02)
    panels[-1].legend(loc="upper right")
    lower = bottom.subplots(1, 2)
    for axis, title, values in (
        (lower[0], "distance of centres [mm]", 1e3 * motion.position_error()),
        (lower[1], "angle between orientations [deg]", np.degrees(motion.rotation_error())),
    ):
        axis.fill_between(motion.t, values, color=style.SIMULATED, alpha=0.15, lw=0)
        axis.plot(motion.t, values, color=style.SIMULATED, lw=1.6)
        axis.set_ylim(0, max(1.15 * float(values.max()), 1e-3))
        axis.set(title=title, xlabel="time [s]")
    return figure


def _widen(axis, least: float) -> None:
    """Keep a nearly constant coordinate from being magnified into noise."""
    low, high = axis.get_ylim()
    if high - low < least:
        centre = 0.5 * (low + high)
        axis.set_ylim(centre - least / 2, centre + least / 2)


@in_style
def error_over_time(motions: Sequence[Motion]) -> Figure:
    """Return median, quartiles and 10-90 % band of both errors over time, all motions together.

    Times with fewer than a quarter of the motions (or three) are left out.
    """
    figure = style.new_figure(10.5, 2.9)
    axes = figure.subplots(1, 2)
    rate = float(np.median([np.median(np.diff(m.t)) for m in motions if m.frames > 1]))
    for axis, title, read in (
        (axes[0], "distance of centres [mm]", lambda m: 1e3 * m.position_error()),
        (axes[1], "angle between orientations [deg]", lambda m: np.degrees(m.rotation_error())),
    ):
        bins: dict[int, list[float]] = {}
        for motion in motions:
            for time, value in zip(motion.t - motion.t[0], read(motion), strict=True):
                bins.setdefault(round(time / rate), []).append(float(value))
        least = min(len(motions), max(3, len(motions) // 4))
        keep = sorted(k for k, values in bins.items() if len(values) >= least)
        t = np.array(keep) * rate
        levels = np.array([np.quantile(bins[k], [0.1, 0.25, 0.5, 0.75, 0.9]) for k in keep])
        axis.fill_between(
            t, levels[:, 0], levels[:, 4], color=style.SIMULATED, alpha=0.12, lw=0, label="10–90 %"
        )
        axis.fill_between(
            t,
            levels[:, 1],
            levels[:, 3],
            color=style.SIMULATED,
            alpha=0.24,
            lw=0,
            label="quartiles",
        )
        axis.plot(t, levels[:, 2], color=style.SIMULATED, label="median")
        axis.set(title=title, ylim=(0, None))
        axis.set_xlabel("time since the start [s]")
    axes[0].legend(loc="upper left")
    return figure


@in_style
def path_plot(t: np.ndarray, position: np.ndarray, velocity: np.ndarray) -> Figure:
    """Return position [m] (n, 3) and velocity [m/s] (n, 3) of one body over time [s] (n,)."""
    figure = style.new_figure(10.5, 2.9)
    axes = figure.subplots(1, 2)
    colours = (style.SIMULATED, style.MEASURED, style.OTHERS["drake"])
    for axis, title, values in (
        (axes[0], "position [m]", position),
        (axes[1], "velocity [m/s]", velocity),
    ):
        for i, name in enumerate("xyz"):
            axis.plot(t, values[:, i], color=colours[i], label=name)
        axis.set(title=title, xlabel="time [s]")
        _widen(axis, 0.02)
    axes[1].legend(ncols=3, loc="lower right", bbox_to_anchor=(1.0, 1.0), borderaxespad=0.2)
    return figure


@in_style
def grid(
    view: Mapping, span: tuple[float, float] = (-np.inf, np.inf), least: float = 0.0
) -> Figure:
    """Return the curves of a view (curves.view), its groups as rows and their panels as columns.

    span  of the axis along, that is shown;  least  range of each quantity that is shown
    """
    groups = view["groups"]
    figure = style.new_figure(10.5, 0.6 + 1.3 * len(groups))
    axes = figure.subplots(len(groups), len(groups[0]["panels"]), sharex=True, squeeze=False)
    for row, group in zip(axes, groups, strict=True):
        for axis, panel in zip(row, group["panels"], strict=True):
            for line in panel["lines"]:
                x, y = (np.array(line[key], dtype=float) for key in "xy")
                shown = (x >= span[0]) & (x <= span[1])
                look = {"color": line["colour"], "label": line["name"], **STROKES[line["kind"]]}
                axis.plot(x[shown], y[shown], **look)
            _widen(axis, least)
        row[0].set_ylabel(group["name"].removesuffix("_joint"), fontsize=8)
    for axis, panel in zip(axes[0], groups[0]["panels"], strict=True):
        axis.set_title(panel["title"])
    for axis in axes[-1]:
        axis.set_xlabel(view["across"])
    named = axes[0, 0].get_legend_handles_labels()
    figure.legend(*named, loc="outside lower right", ncols=4, fontsize=8)
    return figure
