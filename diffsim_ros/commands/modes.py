"""`diffsim modes`: frequencies and shapes of a scene's small vibrations, and their derivatives."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from diffsim_ros import __version__
from diffsim_ros.commands.arguments import add_results, add_scene
from diffsim_ros.commands.results import finish, results_folder
from diffsim_ros.commands.running import ProgressLine, run_cancellable
from diffsim_ros.commands.statics import in_scene, strongest
from diffsim_ros.commands.table import table
from diffsim_ros.errors import InputError, NotConverged
from diffsim_ros.output import write_bytes, write_json, write_yaml

FILES = ("result.yaml", "metrics.json", "scene.yaml", "modes.npz", "modes.png", "report.html")
DRAWN = 6  # most modes in the picture
SWING = 0.08  # of the scene's extent, by which a shape is drawn displaced


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Those of `diffsim modes`."""
    add_scene(command)
    command.add_argument("--count", type=int, default=6, metavar="N", help="of modes [6]")
    places = ("equilibrium", "start")
    command.add_argument("--at", choices=places, default=places[0], help="about what")
    add_results(command)


def run(options: argparse.Namespace) -> int:
    """Find the modes, write them, print their frequencies; 0."""
    from diffsim_ros.scene import load_scene
    from diffsim_ros.statics import modes

    if options.count < 1:
        raise InputError("modes", "--count", options.count, "at least 1")
    model = load_scene(options.scene, estimated=options.estimated, set=options.set)
    with results_folder(options, FILES) as folder, ProgressLine() as line:
        line.show("searching for equilibrium and modes", "modes")

        def work(token: Any) -> Any:
            return modes(model.engine, count=options.count, at=options.at, cancel=token)

        with in_scene(model):
            found = run_cancellable(work, line=line)
        line.show("derivatives", "derivatives")
        by, message = derivatives(found)
        line.show("writing the results", "writing")
        with folder.staging() as stage:
            result = document(model, found, options.at, by, message)
            write_yaml(stage / "scene.yaml", model.description)
            write_yaml(stage / "result.yaml", result)
            write_json(stage / "metrics.json", figures(found))
            np.savez(
                stage / "modes.npz", frequency=found.frequency, shape=found.shape,
                position=found.position, orientation=found.orientation,
            )  # fmt: skip
            if not options.no_report:
                shapes = picture(model, found)
                write_bytes(stage / "modes.png", shapes)
                page(stage / "report.html", model, found, result, shapes)
    print(listing(result))
    return finish(options, folder, result["status"], figures(found))


def derivatives(found: Any) -> tuple[np.ndarray, str]:
    """(df/dp (vibrations, parameters), "") with 0 for undefined ones, or (none, why not)."""
    undefined = set(found.rest.undefined) if found.rest is not None else set()
    names = [name for name in found.scene.names if name not in undefined]
    by = np.zeros((len(found.vibrations), len(found.scene.names)))
    try:
        by[:, found.scene.columns(names)] = found.derivatives(names)
    except NotConverged as error:
        return by[:, :0], str(error)
    return by, ""


def document(model: Any, found: Any, at: str, by: np.ndarray, message: str) -> dict:
    """Content of result.yaml."""
    names, values = found.scene.names, found.scene.values
    rows = []
    for i in range(found.count):
        row = {"number": i + 1, "frequency": found.frequency[i], "kind": found.kind[i]}
        row["omega_squared"] = found.omega_squared[i]
        equal = [j + 1 for j in found.group(i) if j < found.count]
        if len(equal) > 1:
            row["equal_to"] = equal
        row["moves"] = moving(model, found, i)
        if i in found.vibrations and by.size:
            slopes = by[found.vibrations.index(i)]
            row["derivatives"] = {
                names[j]: float(slopes[j]) for j in strongest(np.abs(slopes), values)
            }
        rows.append(row)
    return {
        "command": "modes",
        "version": __version__,
        "scene": model.place,
        "status": "converged",
        "about": at,
        "stable": bool("unstable" not in found.kind),
        "units": {"frequency": "Hz", "omega_squared": "1/s^2", "derivatives": "Hz per unit"},
        "undefined_derivatives": found.rest.undefined if found.rest is not None else [],
        "message": message,
        "modes": rows,
        "parameters": {
            info.name: {"value": float(value), "unit": info.unit}
            for info, value in zip(model.engine.parameters, values, strict=True)
        },
    }


def moving(model: Any, found: Any, i: int) -> str:
    """The body with most of a mode's kinetic energy."""
    phi = found.vectors[:, i]
    energy = phi * (found.forces.mass @ phi)
    first = found.scene.first
    shares = {}
    for name in model.engine.body_names:
        node, count = model.engine.nodes_of(name)
        shares[name] = float(energy[first[node] : first[node + count]].sum())
    return max(shares, key=lambda name: shares[name])


def figures(found: Any) -> dict:
    """Content of metrics.json."""
    return {
        "frequencies": found.frequency.tolist(),
        "rigid": found.kind[: found.count].count("rigid"),
        "unstable": found.kind[: found.count].count("unstable"),
    }


def drawn(found: Any) -> list[tuple[int, str, np.ndarray]]:
    """Modes that are shown, vibrations before rigid ones: number, name, motion (ndof,)."""
    place = found.position
    swing = SWING * max(float(np.linalg.norm(np.ptp(place, axis=0))), 2 * found.scene.size)
    shown = []
    for i in (found.vibrations or list(range(found.count)))[:DRAWN]:
        word = "" if found.kind[i] == "vibration" else f" ({found.kind[i]})"
        phi = found.vectors[:, i]
        name = f"mode {i + 1}: {found.frequency[i]:.4g} Hz{word}"
        shown.append((i, name, swing / found.scene.reach(phi) * phi))
    return shown


def poses(found: Any, step: np.ndarray, shares: Any) -> tuple[np.ndarray, np.ndarray]:
    """(position (F, nodes, 3), orientation (F, nodes, 4)) at shares (F,) of a motion."""
    return found.scene.shown(*(found.scene.moved(found.at, share * step) for share in shares))


def picture(model: Any, found: Any) -> bytes:
    """PNG of the first shapes; the pose they are about is faint."""
    from diffsim_ros.viz.still import Still, shapes_png

    shown = drawn(found)
    stills = [Still(*poses(found, step, (0, 1))) for _, _, step in shown]
    return shapes_png(model, stills, [name for _, name, _ in shown])


def page(path: Path, model: Any, found: Any, result: dict, shapes: bytes) -> None:
    """Write the page that plays the first modes."""
    from diffsim_ros.commands.simulate_report import title
    from diffsim_ros.viz.html import Table
    from diffsim_ros.viz.modes_page import Cycle, phases, write_modes_page

    cycles = [(name, Cycle(*poses(found, step, phases()))) for _, name, step in drawn(found)]
    head, *rows = listed(result)
    about = "its equilibrium" if result["about"] == "equilibrium" else "its start pose"
    write_modes_page(
        path, model, cycles, Table(head, rows, words=len(head)), shapes,
        title=title(model).replace("_", " "), message=result["message"],
        lead=f"Small vibrations about {about}, without damping.",
        command=f"diffsim modes {model.place} --count {found.count} --at {result['about']}",
    )  # fmt: skip


def listed(result: dict) -> list[list[str]]:
    """Head and rows of the table of modes, with the parameters that each depends on most."""
    rows = [["mode", "frequency [Hz]", "kind", "moves", "1 % more of ... changes it by [%]"]]
    for mode in result["modes"]:
        effect = ""
        for name, slope in list(mode.get("derivatives", {}).items())[:2]:
            change = slope * result["parameters"][name]["value"] / mode["frequency"]
            effect += f"{', ' if effect else ''}{name} {change:+.3g}"
        equal = mode.get("equal_to", [])
        kind = mode["kind"] + (f" (equal: {', '.join(map(str, equal))})" if equal else "")
        rows.append([str(mode["number"]), f"{mode['frequency']:.6g}", kind, mode["moves"], effect])
    return rows


def listing(result: dict) -> str:
    """What is printed: the table, and what else there is to say."""
    lines = [table(listed(result))]
    if result["message"]:
        lines.append(f"warning: no derivatives: {result['message']}")
    if result["about"] == "start":
        lines.append("about the start, as if its forces were balanced there")
    return "\n".join(lines)
