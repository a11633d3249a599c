"""Efforts of a robot by inverse dynamics: what their page shows (estimation_page.Sections)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from diffsim_ros.viz import curves, fit_plots, style
from diffsim_ros.viz.estimation_page import Sections
from diffsim_ros.viz.html import Block, Table
from diffsim_ros.viz.plots import in_style
from diffsim_ros.viz.report_tables import DASH, card

FIVE = "five coefficients"
LOOK = (style.MUTED, "line")
LEFT_OUT = "#F2F4F6"


class EffortSections(Sections):
    """Recordings are EffortPredictions."""

    titles = "Errors", "Efforts"
    plays = False
    intro = (
        "Root mean squares where a joint moves, of filtered efforts: of the model, of the "
        "regression on five coefficients a joint (gravity torque by the URDF, viscous and dry "
        "friction, acceleration, offset), and of a constant."
    )

    def lead(self) -> str:
        """The errors in words."""
        if not self.shown:
            return "No effort was predicted."
        overall = self._figures()
        if "effort_over_five" not in overall:
            return "No joint's efforts are measurements."
        return (
            f"Efforts on motion {self.trained_on} are off by "
            f"{overall['effort_over_constant']:.2g} of a constant's error, and "
            f"{overall['effort_over_five']:.2g} of that of five coefficients a joint (geometric "
            "means over the joints)."
        )

    def _figures(self) -> Mapping[str, Any]:
        role = "validate" if self.shown[0].role == "validate" else "train"
        return self.result.metrics[role]

    def cards(self) -> list[dict[str, str]]:
        """The two means."""
        if not self.shown:
            return []
        titles = {"effort_over_five": FIVE, "effort_over_constant": "a constant"}
        overall = self._figures()
        return [
            card(f"Error over that of {title}", f"{overall[key]:.2g}", "", self.trained_on,
                 "good" if overall[key] < 0.8 else "blue")
            for key, title in titles.items() if key in overall
        ]  # fmt: skip

    def motions(self) -> list[dict[str, Any]]:
        """Nothing is simulated that could move."""
        return []

    def figures(self) -> Mapping[str, Figure]:
        """Efforts of every stretch."""
        return {f"efforts_{i}": efforts(p) for i, p in enumerate(self.shown)}

    def view(self, prediction: Any) -> dict[str, Any]:
        """Every joint's efforts."""
        t, groups = prediction.t, {}
        for j, name in enumerate(prediction.joints):
            groups[name] = [curves.panel(f"effort [{prediction.unit}]", [
                curves.line("measured", t, prediction.measured[:, j]),
                curves.line(FIVE, t, prediction.five[:, j], LOOK),
                curves.line("simulated", t, prediction.simulated[:, j]),
            ])]  # fmt: skip
        return curves.view(f"{prediction.name} ({prediction.role})", "time [s]", groups)

    def blocks(self) -> list[Block]:
        """Errors joint by joint."""
        head = ["joint", "friction", f"rms [{self.shown[0].unit}]", FIVE, "constant",
                "over five", "± σ", "over constant", "samples"]  # fmt: skip
        keys = ("rms", "five", "constant", "ratio", "ratio_sigma", "share")
        rows = [
            [name, e["law"], *(DASH if e[k] is None else f"{e[k]:.3g}" for k in keys),
             str(e["samples"])]
            for name, e in self._figures()["joints"].items()
        ]  # fmt: skip
        return [Block(table=Table(head, rows, 2, named=True))]

    def single(self) -> list[Block]:
        """Efforts of every stretch."""
        caption = (
            "Orange measured, blue by the model, grey by five coefficients a joint; shaded where "
            "the joint stands and its effort, anything within dry friction, does not count."
        )
        return [
            Block(f"{p.name} ({p.role})", figure=f"efforts_{i}", caption=caption,
                  alt=f"Efforts of {p.name}")
            for i, p in enumerate(self.shown)
        ]  # fmt: skip

    def meaning(self) -> list[Block]:
        """Inertial parameters beside the URDF's."""
        rows = [
            [p.name, p.unit, f"{p.start:.4g}", fit_plots.with_sigma(p.value, p.std_dev)]
            for p in self.result.derived
        ]
        text = (
            "`base`: the combinations that efforts depend on, named after one of their parameters; "
            "then those of every body, about its joint's frame, to which the URDF's count as a "
            "measurement."
        )
        head = ["parameter", "unit", "URDF", "estimate"]
        return [Block("Inertial parameters", text, table=Table(head, rows, 2))] if rows else []


@in_style
def efforts(prediction: Any) -> Figure:
    """Return measured and predicted efforts over time, a row for every joint."""
    count, t = len(prediction.joints), prediction.t
    figure = style.new_figure(10.5, 0.7 + 1.15 * count)
    axes = figure.subplots(count, 1, sharex=True, squeeze=False)[:, 0]
    for j, (axis, name) in enumerate(zip(axes, prediction.joints, strict=True)):
        axis.fill_between(t, 0, 1, where=~prediction.moving[:, j], color=LEFT_OUT, lw=0,
                          transform=axis.get_xaxis_transform())  # fmt: skip
        axis.plot(t, prediction.measured[:, j], color=style.MEASURED, lw=1.6)
        axis.plot(t, prediction.five[:, j], color=style.MUTED, lw=0.9)
        axis.plot(t, prediction.simulated[:, j], color=style.SIMULATED, lw=1.1)
        axis.set_ylabel(name.removesuffix("_joint"), fontsize=8)
        low, high = np.percentile(prediction.measured[:, j], [0, 100])
        room = 0.25 * (high - low) or 1.0
        axis.set_ylim(low - room, high + room)
    axes[0].set_title(f"effort [{prediction.unit}]")
    axes[-1].set_xlabel("time [s]")
    return figure
