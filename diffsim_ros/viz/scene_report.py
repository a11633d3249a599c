"""One self-contained HTML page about a simulated scene; opens offline."""

from __future__ import annotations

import datetime
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from diffsim_ros.output import write_text, yaml_text
from diffsim_ros.viz import player, plots, style
from diffsim_ros.viz import report_tables as tables
from diffsim_ros.viz.report import environment, footer

PLOTTED = 8  # bodies with a figure of their own
POINT_SIZE = 0.02  # diameter at which a point mass is drawn [m]
STATE = {
    "position": "m",
    "orientation": "x, y, z, w",
    "velocity": "m/s",
    "angular_velocity": "rad/s",
}
SECTIONS = (
    ("summary", "Summary"),
    ("motion", "Motion"),
    ("bodies", "Bodies"),
    ("simulated", "Scene"),
    ("reproduce", "Reproduce"),
)


def write_simulation_report(
    scene: Any,
    rollout: Any,
    path: str | os.PathLike[str],
    *,
    pictures: Sequence[tuple[str, str, bytes]] = (),
    command: str = "",
    provenance: Mapping[str, Any] | None = None,
    written: datetime.datetime | None = None,
) -> Path:
    """Write the page of `diffsim simulate`: a scene.SceneModel and an _engine.Rollout.

    Of the scene are read: bodies, sdfs, description, options.step, steps, path; of the rollout:
    time, position, orientation, velocity, angular_velocity, status, message, iterations, halvings,
    contact_force, contact_point.
    pictures  further (title, caption, PNG), e.g. of the energy
    command   the line that reproduces it;  provenance  plain data;  written  default: now
    A file of the same name is replaced, at once. Returns the path.
    """
    description = scene.description
    name = str(description.get("name") or "") or (Path(scene.path).stem if scene.path else "scene")
    ok = rollout.status == "converged"
    moving = len(rollout.time) > 1
    skip = set() if moving else {"motion"}
    context = {
        "title": name.replace("_", " "),
        "kind": "simulation report",
        "status": rollout.status.replace("_", " "),
        "status_class": "good" if ok else "bad",
        "lead": _lead(scene, rollout),
        "cards": _cards(scene, rollout),
        "warnings": [] if ok else [str(rollout.message)],
        "motions": [scene_motion(scene, rollout)] if moving else [],
        "pictures": [
            {"title": title, "caption": caption, "uri": style.data_uri(png)}
            for title, caption, png in pictures
        ],
        "single": _single(scene, rollout) if moving else [],
        "final": _final(scene, rollout),
        "model": _model(description),
        "config_text": yaml_text(description),
        "command": command,
        "provenance": tables.provenance_facts(provenance or {}),
        "sections": [(anchor, label) for anchor, label in SECTIONS if anchor not in skip],
        **footer(written),
    }
    path = Path(path)
    write_text(path, environment().get_template("simulation.html").render(context), overwrite=True)
    return path


def scene_motion(scene: Any, rollout: Any) -> dict[str, Any]:
    """Return the playable motion of every body among the scene's surfaces (player.motion_data)."""
    colours = (style.SIMULATED, style.MEASURED, *style.OTHERS.values(), *style.SPARE)
    bodies = []
    for i, (name, info) in enumerate(scene.bodies.items()):
        size = [edge or POINT_SIZE for edge in info.size]
        colour = colours[i % len(colours)]
        pose = rollout.position[:, i], rollout.orientation[:, i]
        bodies.append(player.body_data(name, info.kind, size, colour, *pose))
    frames = len(rollout.time)
    for sdf in scene.sdfs:
        if sdf.kind != "plane":
            pose = np.tile(sdf.position, (frames, 1)), np.tile(sdf.orientation, (frames, 1))
            fixed = player.body_data(sdf.name, sdf.kind, sdf.size, "#9AA5B1", *pose)
            bodies.append({**fixed, "still": True})
    return {
        "name": "motion",
        "t": player.rounded(rollout.time, 5),
        "bodies": bodies,
        "planes": [
            {"p": list(map(float, sdf.position)), "q": list(map(float, sdf.orientation))}
            for sdf in scene.sdfs
            if sdf.kind == "plane"
        ],
        "errors": [],
        "forces": player.force_data(rollout.contact_point, rollout.contact_force),
    }


def _lead(scene: Any, rollout: Any) -> str:
    count = len(scene.bodies)
    bodies = "One body" if count == 1 else f"{count} bodies"
    return (
        f"{bodies} over {rollout.time[-1]:.3g} s in {len(rollout.iterations)} implicit "
        f"steps of {1e3 * scene.options.step:.4g} ms."
    )


def _cards(scene: Any, rollout: Any) -> list[dict[str, str]]:
    force = np.linalg.norm(np.asarray(rollout.contact_force).sum(axis=1), axis=-1)
    iterations = np.asarray(rollout.iterations, dtype=float)
    mean = float(iterations.mean()) if len(iterations) else 0.0
    step = f"{1e3 * scene.options.step:.4g} ms each"
    halved = f"{rollout.halvings} halved steps"
    peak = f"{force.max() if len(force) else 0.0:.3g}"
    cards = (
        ("Steps", str(len(iterations)), f"of {scene.steps}", step),
        ("Newton iterations", f"{mean:.1f}", "a step", halved),
        ("Largest contact force", peak, "N", "sum over all contacts, at recorded frames"),
    )
    keys = ("label", "value", "unit", "detail", "tone")
    return [dict(zip(keys, (*card, "blue"), strict=True)) for card in cards]


def _single(scene: Any, rollout: Any) -> list[dict[str, str]]:
    items = []
    for i, name in enumerate(list(scene.bodies)[:PLOTTED]):
        figure = plots.path_plot(rollout.time, rollout.position[:, i], rollout.velocity[:, i])
        uri = style.data_uri(style.png_bytes(figure))
        items.append({"title": name, "caption": "Centre of mass, world frame.", "uri": uri})
    return items


def _final(scene: Any, rollout: Any) -> dict[str, Any]:
    """The last state as a table."""
    rows = [
        [name, *(", ".join(f"{x:.5g}" for x in getattr(rollout, key)[-1, i]) for key in STATE)]
        for i, name in enumerate(scene.bodies)
    ]
    head = ["body", *(f"{key.replace('_', ' ')} [{unit}]" for key, unit in STATE.items())]
    return {"time": f"{rollout.time[-1]:.6g}", "head": head, "rows": rows}


def _model(description: Mapping) -> list[tuple[str, list[tuple[str, str]]]]:
    world = description.get("world")
    return [("World", tables.flat(world))] if world else []
