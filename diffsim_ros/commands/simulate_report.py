"""Pictures and the page of `diffsim simulate`: where the bodies went, and their energy."""

from __future__ import annotations

import html
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from diffsim_ros.output import write_bytes, write_text, yaml_text
from diffsim_ros.scene.rotation import matrix_from_quaternion
from diffsim_ros.viz import style
from diffsim_ros.viz.markers import Kind, Marker
from diffsim_ros.viz.render import camera_for, render_png

GHOSTS = 8  # poses of each body in the picture
POINT_SIZE = 0.02  # diameter at which a point mass is drawn [m]
PLANE_MARGIN = 0.5  # how far a plane is drawn beyond the motion [m]
STATE_KEYS = ("position", "orientation", "velocity", "angular_velocity")
UNITS = {
    "position": "m",
    "orientation": "x, y, z, w",
    "velocity": "m/s",
    "angular_velocity": "rad/s",
}


def write(stage: Path, model: Any, rollout: Any, energy: dict, result: dict) -> None:
    """Write motion.png, energy.png and the self-contained report.html into `stage`."""
    drawn = markers(model, rollout)
    camera = camera_for([m for m in drawn if m.ns.startswith(("body/", "path/"))])
    motion = render_png(drawn, camera=camera, title=title(model))
    curves = style.png_bytes(energy_figure(rollout.time, energy))
    write_bytes(stage / "motion.png", motion)
    write_bytes(stage / "energy.png", curves)
    write_text(stage / "report.html", page(model, rollout, result, motion, curves))


def title(model: Any) -> str:
    """Title of the scene: its own, or its file's name."""
    return model.description["name"] or (model.path.stem if model.path else "scene")


def markers(model: Any, rollout: Any) -> list[Marker]:
    """Bodies at some instants (the last one solid), their paths, and the surroundings."""
    frames = np.unique(np.linspace(0, len(rollout.time) - 1, GHOSTS).round().astype(int))
    found = _surroundings(model, rollout.position.reshape(-1, 3))
    for i, (name, body) in enumerate(model.bodies.items()):
        kind = Kind.CUBE if body.kind == "box" else Kind.SPHERE
        size = body.size if body.kind != "point" else (POINT_SIZE,) * 3
        for k in frames:
            alpha = body.colour[3] * (1.0 if k == frames[-1] else 0.25)
            pose = rollout.position[k, i], rollout.orientation[k, i]
            found.append(
                Marker(
                    f"body/{name}", int(k), kind,
                    position=pose[0], orientation=pose[1], scale=size,
                    colour=(*body.colour[:3], alpha),
                )
            )  # fmt: skip
        if len(rollout.time) > 1:
            path = rollout.position[:, i]
            width = (0.003, 0.0, 0.0)
            colour = (*body.colour[:3], 0.8)
            found.append(
                Marker(f"path/{name}", 0, Kind.LINE_STRIP, scale=width, colour=colour, points=path)
            )
    return found


def _surroundings(model: Any, places: np.ndarray) -> list[Marker]:
    """SDF primitives; a plane is a thin box around the motion, a level one a table with shadows."""
    found = []
    for i, sdf in enumerate(model.sdfs):
        kind, size, position = Kind.CUBE, sdf.size, np.array(sdf.position)
        level = sdf.kind == "plane" and matrix_from_quaternion(sdf.orientation)[2, 2] > 1 - 1e-9
        if sdf.kind == "sphere":
            kind = Kind.SPHERE
        elif sdf.kind == "plane":
            turn = matrix_from_quaternion(sdf.orientation)
            local = (places - position) @ turn
            low, high = local.min(axis=0)[:2] - PLANE_MARGIN, local.max(axis=0)[:2] + PLANE_MARGIN
            size = (*(high - low), 0.01)
            position = position + turn @ np.array([*(low + high) / 2, -0.005])
        found.append(
            Marker(
                "table" if level else f"sdf/{sdf.name}", i, kind,
                position=position, orientation=sdf.orientation, scale=tuple(map(float, size)),
                colour=(0.90, 0.91, 0.93, 1.0),
            )
        )  # fmt: skip
    return found


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


def page(model: Any, rollout: Any, result: dict, motion: bytes, curves: bytes) -> str:
    """One HTML page with the pictures inside, final states, and the resolved scene."""
    rows = "".join(
        f"<tr><td>{html.escape(name)}</td>"
        + "".join(f"<td>{', '.join(f'{x:.5g}' for x in state[key])}</td>" for key in STATE_KEYS)
        + "</tr>"
        for name, state in result["final"]["bodies"].items()
    )
    head = "".join(f"<th>{key.replace('_', ' ')} [{UNITS[key]}]</th>" for key in STATE_KEYS)
    status = rollout.status + (f": {rollout.message}" if rollout.message else "")
    steps = result["steps"]
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{html.escape(title(model))}</title><style>
body {{ font: 15px/1.5 system-ui, sans-serif; color: {style.INK}; max-width: 60rem;
  margin: 2rem auto; padding: 0 1rem }}
table {{ border-collapse: collapse; font-size: 13px }} img {{ max-width: 100% }}
td, th {{ border-bottom: 1px solid {style.GRID}; padding: .3rem .6rem; text-align: left }}
.bad {{ color: {style.WARN}; font-weight: 600 }} pre {{ background: #f6f8fa; padding: 1rem }}
</style></head><body>
<h1>{html.escape(title(model))}</h1>
<p class="{"" if rollout.ok else "bad"}">{html.escape(status)}; {steps["done"]} of
{steps["wanted"]} steps of {steps["step"]:g} s.</p>
<img alt="the bodies' motion" src="{style.data_uri(motion)}">
<h2>Energy</h2><img alt="energy over time" src="{style.data_uri(curves)}">
<h2>At the end, t = {result["final"]["time"]:.6g} s</h2>
<table><tr><th>body</th>{head}</tr>{rows}</table>
<h2>The scene, every default filled in</h2>
<pre>{html.escape(yaml_text(model.description))}</pre>
</body></html>
"""
