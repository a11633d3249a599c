"""Pictures and the page of `diffsim simulate`: the bodies' motion and energy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from diffsim_ros.commands import simulate_outputs
from diffsim_ros.output import write_bytes
from diffsim_ros.viz import style
from diffsim_ros.viz.field_colours import FieldColours
from diffsim_ros.viz.render import camera_for, render_png
from diffsim_ros.viz.scene_markers import picture_markers
from diffsim_ros.viz.scene_report import write_simulation_report


def write(
    stage: Path, model: Any, rollout: Any, energy: dict, warnings: list[str],
    field: FieldColours | None, command: str,
) -> None:  # fmt: skip
    """Write motion.png, energy.png and the self-contained, playable report.html into `stage`.

    command  the line that repeats the run
    """
    drawn = picture_markers(model, rollout, field)
    camera = camera_for([m for m in drawn if m.ns.startswith(("body/", "path/"))])
    legend = () if field is None else field.legend()
    motion = render_png(drawn, camera=camera, title=title(model), legend=legend)
    curves = style.png_bytes(energy_figure(rollout.time, energy))
    write_bytes(stage / "motion.png", motion)
    write_bytes(stage / "energy.png", curves)
    pictures = (
        ("Instants", "The bodies' motion; the last instant is solid.", motion),
        ("Energy", "By kind; kinds that stay zero are left out.", curves),
    )
    write_simulation_report(
        model, rollout, stage / "report.html", pictures=pictures, warnings=warnings,
        command=command,
        outputs=simulate_outputs.views(model.engine, rollout),
    )  # fmt: skip


def title(model: Any) -> str:
    """Title of the scene: its own, or its file's name."""
    return model.description["name"] or (model.path.stem if model.path else "scene")


def energy_figure(time: np.ndarray, energy: dict[str, np.ndarray]) -> Figure:
    """Energy by kind over time; kinds that stay zero are left out."""
    with style.styled():
        figure = style.new_figure(9.6, 3.6)
        axis = figure.subplots()
        colours = dict(zip(energy, (style.SIMULATED, style.MEASURED, *style.SPARE), strict=False))
        for kind, values in energy.items():
            if kind == "total":
                axis.plot(time, values, color=style.INK, lw=2.2, label=kind)
            elif np.any(values != 0):
                axis.plot(time, values, color=colours[kind], label=kind)
        axis.set(xlabel="time [s]", ylabel="energy [J]")
        axis.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure
