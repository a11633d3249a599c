"""One self-contained HTML page about a simulated scene; opens offline."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from diffsim_ros import __version__
from diffsim_ros.output import yaml_text
from diffsim_ros.scene.bodies.body import COLOUR
from diffsim_ros.scene.vertices import centre_of, vertex_positions
from diffsim_ros.viz import player, plots, report_tables, style
from diffsim_ros.viz.html import rendered, write_page
from diffsim_ros.viz.iso import zero_set
from diffsim_ros.viz.scene_markers import POINT_SIZE, TARGET_SIZE, pose_at

PLOTTED = 8  # bodies with a figure of their own
SOFT_FRAMES = 120  # recorded frames that a page with soft bodies plays
GREY = "#9AA5B1"  # colour of the surroundings
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
    ("outputs", "Outputs"),
    ("simulated", "Scene"),
    ("reproduce", "Reproduce"),
)


def write_simulation_report(
    scene: Any,
    rollout: Any,
    path: str | os.PathLike[str],
    *,
    pictures: Sequence[tuple[str, str, bytes]] = (),
    warnings: Sequence[str] = (),
    command: str = "",
    kind: str = "simulation report",
    title: str = "",
    tables: Sequence[tuple[str, Sequence[str], Sequence[Sequence[str]]]] = (),
    targets: Mapping[str, Sequence[float]] | None = None,
    outputs: Sequence[Mapping[str, Any]] = (),
    status: str = "",
    lead: str = "",
    cards: Sequence[dict[str, str]] = (),
    played: Any = None,
    others: Callable[[np.ndarray], Sequence[dict]] | None = None,
) -> Path:
    """Write the page of `diffsim simulate`: a scene.SceneModel and an _engine.Rollout.

    pictures  further (title, caption, PNG), e.g. of the energy
    title     default: the scene's name
    tables    (title, head, rows) of texts, shown first;  targets  name -> place [m] in the motion
    warnings  sentences that a reader must not miss
    status, lead, cards  of the summary, in place of the simulation's
    played    what the player shows in place of the rollout, with its arrays
    others    numbers of its frames -> further bodies of the player (player.body_data)
    command   the line that reproduces it;  outputs  curves (curves.view) of forces, energies ...
    A file of the same name is replaced, at once. Returns the path.
    """
    description = scene.description
    name = (
        title
        or str(description.get("name") or "")
        or (Path(scene.path).stem if scene.path else "scene")
    )
    ok = rollout.status == "converged"
    moving = len(rollout.time) > 1
    skip = (set() if moving else {"motion"}) | (set() if outputs else {"outputs"})
    shown = rollout if played is None else played
    played_motion = scene_motion(scene, shown, others=others) if moving else {}
    context = {
        "title": name.replace("_", " "),
        "kind": kind,
        "status": (status or rollout.status).replace("_", " "),
        "status_class": "good" if ok and status in ("", "reached") else "bad",
        "lead": lead or _lead(scene, rollout),
        "cards": list(cards) or _cards(scene, rollout),
        "warnings": [*([] if ok else [str(rollout.message)]), *warnings],
        "motions": [_aimed(played_motion, targets or {})] if moving else [],
        "tables": [{"title": t, "head": head, "rows": rows} for t, head, rows in tables],
        "pictures": [
            {"title": title, "caption": caption, "uri": style.data_uri(png)}
            for title, caption, png in pictures
        ],
        "single": _single(scene, rollout) if moving else [],
        "outputs": list(outputs),
        "final": _final(scene, rollout),
        "model": _model(scene),
        "config_text": yaml_text(description),
        "command": command,
        "sections": [(anchor, label) for anchor, label in SECTIONS if anchor not in skip],
        "version": __version__,
        "written": "",  # the same motion gives the same page
    }
    return write_page(Path(path), rendered("simulation.html", context), {})[0]


def scene_motion(
    scene: Any, rollout: Any, name: str = "motion", *, loop: bool = False,
    others: Callable[[np.ndarray], Sequence[dict]] | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Return the playable motion of every body among the scene's surfaces (player.playable).

    With soft bodies at most SOFT_FRAMES of the recorded frames, or the page would be too large.
    """
    soft = any(info.kind == "soft" for info in scene.bodies.values())
    last = len(rollout.time) - 1
    count = min(last + 1, SOFT_FRAMES) if soft else last + 1
    frames = np.unique(np.linspace(0, last, count).round().astype(int))
    bodies = []
    alike = len({tuple(info.colour) for info in scene.bodies.values()}) < len(scene.bodies)
    for i, (body, info) in enumerate(scene.bodies.items()):
        colour = _colour(info, i, alike)
        if info.kind == "soft":
            vertices = vertex_positions(scene, rollout, body, frames)
            data = vertices, info.triangles, info.lines, info.sheet
            bodies.append(player.mesh_data(body, colour, *data))
        elif info.kind != "frame":
            row = scene.engine.nodes_of(body)[0]
            pose = rollout.position[frames, row], rollout.orientation[frames, row]
            size = [edge or POINT_SIZE for edge in info.size]
            if len(info.triangles):
                mesh = info.vertices, info.triangles
                bodies.append(player.rigid_mesh_data(body, colour, *mesh, *pose))
            else:
                bodies.append(player.body_data(body, info.kind, size, colour, *pose))
    bodies += others(frames) if others is not None else []
    bodies += [_surface(scene, rollout, sdf, frames) for sdf in scene.sdfs if sdf.kind != "plane"]
    planes = [
        {"p": list(map(float, sdf.position)), "q": list(map(float, sdf.orientation))}
        for sdf in scene.sdfs
        if sdf.kind == "plane" and sdf.carrier is None
    ]
    contacts = (np.asarray(x)[frames] for x in (rollout.contact_point, rollout.contact_force))
    return player.playable(
        name,
        rollout.time[frames],
        bodies,
        planes=planes,
        forces=player.force_data(*contacts),
        digits=5,
        loop=loop,
    )


def _colour(info: Any, number: int, alike: bool) -> str:
    """The scene's, "#rrggbb"; of bodies that all have the default, one each."""
    if alike and list(info.colour) == COLOUR.default:
        return style.SERIES[number % len(style.SERIES)]
    return "#" + "".join(f"{round(255 * part):02x}" for part in info.colour[:3])


def _aimed(motion: dict[str, Any], targets: Mapping[str, Sequence[float]]) -> dict[str, Any]:
    """The motion with a ball of TARGET_SIZE at every target."""
    count = len(motion["t"])
    for name, place in targets.items():
        poses = np.tile(np.asarray(place, float), (count, 1)), np.tile([0.0, 0, 0, 1], (count, 1))
        size = [TARGET_SIZE] * 3
        mark = player.body_data(f"goal: {name}", "sphere", size, style.MEASURED, *poses)
        motion["bodies"].append({**mark, "still": True})
    return motion


def _surface(scene: Any, rollout: Any, sdf: Any, frames: np.ndarray) -> dict[str, Any]:
    """One part of the surroundings; it stands still unless a body carries it."""
    poses = [pose_at(scene, rollout, sdf, k) for k in frames]
    position, orientation = (np.array(column) for column in zip(*poses, strict=True))
    if sdf.kind == "implicit":
        faces = zero_set(sdf.sdf.evaluate, sdf.size)
        corners, index = np.unique(np.round(faces.reshape(-1, 3), 6), axis=0, return_inverse=True)
        mesh = corners, index.reshape(-1, 3)
        data = player.rigid_mesh_data(sdf.name, GREY, *mesh, position, orientation)
    else:
        data = player.body_data(sdf.name, sdf.kind, sdf.size, GREY, position, orientation)
    return {**data, "still": True}


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
    return [report_tables.card(*card) for card in cards]


def _single(scene: Any, rollout: Any) -> list[dict[str, str]]:
    items = []
    for name in list(scene.bodies)[:PLOTTED]:
        centre = centre_of(scene, rollout, name)
        figure = plots.path_plot(rollout.time, centre["position"], centre["velocity"])
        uri = style.data_uri(style.png_bytes(figure))
        items.append({"title": name, "caption": "Centre of mass, world frame.", "uri": uri})
    return items


def _final(scene: Any, rollout: Any) -> dict[str, Any]:
    """The last state as a table; soft bodies have no rotation."""
    rows = []
    for name in scene.bodies:
        state = centre_of(scene, rollout, name)
        last = (state[key][-1] if key in state else () for key in STATE)
        rows.append([name, *(", ".join(f"{x:.5g}" for x in values) for values in last)])
    head = ["body", *(f"{key.replace('_', ' ')} [{unit}]" for key, unit in STATE.items())]
    return {"time": f"{rollout.time[-1]:.6g}", "head": head, "rows": rows}


def _model(scene: Any) -> list[tuple[str, list[tuple[str, str]]]]:
    """The world, and the figures of meshes and compounds."""
    world = scene.description.get("world")
    found = [("World", report_tables.flat(world))] if world else []
    for name, report in scene.meshes.items():
        found.append((f"Mesh of {name}", report_tables.flat(report.plain())))
    found += [(f"Shape of {name}", report_tables.flat(one)) for name, one in scene.shapes.items()]
    return found
