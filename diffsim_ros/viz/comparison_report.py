"""The page of `diffsim compare`: which model the data support, and what that rests on."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from diffsim_ros.output import yaml_text
from diffsim_ros.viz import style
from diffsim_ros.viz.html import footer, rendered, write_page
from diffsim_ros.viz.plots import in_style, plain_log
from diffsim_ros.viz.report_tables import DASH, card

SECTIONS = (
    ("summary", "Summary"), ("held", "Held out"), ("fit", "Fits"), ("parameters", "Parameters"),
    ("reproduce", "Reproduce"),
)  # fmt: skip


def write_comparison_report(path: str | Path, found: Any) -> list[Path]:
    """Write the page of a real2sim.model_choice.ModelComparison, and its figures beside it."""
    path, metrics = Path(path), found.metrics()["models"]
    images = {}
    if any(math.isfinite(h.square) for m in found.models for h in m.held):
        images["held_out"] = style.png_bytes(held_out_figure(found))
    if found.pairs:
        images["support"] = style.png_bytes(support_figure(found))
    keys = sorted({k for m in metrics.values() for k in m["held_out"]} - {"trials"})
    context = {
        "title": " or ".join(m.name for m in found.models),
        "kind": "comparison of models",
        "status": "distinguished" if found.distinguished else "not distinguished",
        "status_class": "good" if found.distinguished else "bad",
        "lead": found.sentences[0],
        "cards": _cards(found),
        "sentences": found.sentences,
        "notes": [*found.notes, *(f"{m.name}: {note}" for m in found.models for note in m.notes)],
        "keys": keys,
        "held": [
            (name, *(_number(m["held_out"].get(key)) for key in keys))
            for name, m in metrics.items()
        ] if images else [],
        "fits": [
            (name, *(_number(m[key]) for key in (
                "objective", "residuals", "effective_residuals", "parameters", "delta_aic",
                "delta_bic", "aic_weight")))
            for name, m in metrics.items()
        ],
        "parameters": [
            (m.name, name, _number(p["value"], 6), _number(p["std_dev"], 2), p["unit"], p["note"])
            for m in found.models for name, p in m.parameters().items()
        ],
        "configs": [(m.name, yaml_text(dict(m.config.source))) for m in found.models],
        "figures": {key: style.data_uri(images[key]) if key in images else ""
                    for key in ("held_out", "support")},
        "sections": [s for s in SECTIONS if images or s[0] != "held"],
        "motions": [],
        **footer(None),
    }  # fmt: skip
    return write_page(path, rendered("comparison.html", context), images)


def _number(value: float | None, digits: int = 4) -> str:
    if value is None or not math.isfinite(value):
        return DASH
    return f"{value:.{digits}g}"


def _cards(found: Any) -> list[dict[str, str]]:
    tone = "good" if found.distinguished else "bad"
    best = found.best if found.distinguished else "not distinguished"
    cards = [card("Supported", best, tone=tone)]
    for name, pair in found.pairs.items():
        detail = f"of {found.best}; 95 % {_number(pair.low, 3)} to {_number(pair.high, 3)}"
        title = f"{name}: held-out error"
        cards.append(card(title, f"{pair.ratio:.3g}", "times that", detail))
    for name, c in found.criteria.items():
        detail = f"of {found.effective:.4g} independent residuals"
        cards.append(card(f"{name}: ΔAIC", _number(c.aic, 3), detail=detail))
    return cards


@in_style
def held_out_figure(found: Any) -> Figure:
    """Root mean square residual of every held-out trial, one column of dots per model."""
    figure = style.new_figure(9.0, 3.4)
    axis = figure.subplots()
    names, squares = found.held_out
    rows = np.sqrt(squares)
    x = np.arange(len(names))
    for k, (model, row) in enumerate(zip(found.models, rows, strict=True)):
        colour = style.SERIES[k % len(style.SERIES)]
        axis.plot(x, row, "o", color=colour, ms=7, label=model.name)
        axis.axhline(math.sqrt(np.nanmean(row**2)), color=colour, lw=1, ls=(0, (4, 3)))
    for i in x:
        axis.plot([i, i], [np.nanmin(rows[:, i]), np.nanmax(rows[:, i])], color=style.GRID, lw=1.5,
                  zorder=0)  # fmt: skip
    if len(names) <= 12:
        axis.set_xticks(x, names, rotation=15 if len(names) > 6 else 0)
    else:
        axis.set_xlabel("held-out trial")
    axis.set(ylabel="rms residual [sigma]", yscale="log")
    plain_log(axis.yaxis)
    axis.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), title="dashed: all trials")
    return figure


@in_style
def support_figure(found: Any) -> Figure:
    """Held-out error over the best model's with its paired interval, one row per model."""
    figure = style.new_figure(9.0, 0.9 + 0.45 * len(found.pairs))
    axis = figure.subplots()
    for row, pair in enumerate(found.pairs.values()):
        colour = style.WARN if pair.clear else style.MUTED
        if math.isfinite(pair.low):
            axis.plot([pair.low, pair.high], [row, row], color=colour, lw=5, alpha=0.35)
        axis.plot(pair.ratio, row, "o", color=colour, ms=8)
    axis.axvline(1.0, color=style.INK, lw=1)
    axis.set_yticks(range(len(found.pairs)), list(found.pairs))
    axis.set(xscale="log", xlabel=f"held-out error / that of {found.best}",
             ylim=(len(found.pairs) - 0.5, -0.5))  # fmt: skip
    plain_log(axis.xaxis)
    return figure
