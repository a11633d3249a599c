"""`diffsim statics`: where a scene comes to rest, and how that depends on its parameters."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from diffsim_ros import __version__
from diffsim_ros.commands.arguments import add_results, add_scene
from diffsim_ros.commands.results import finish, results_folder
from diffsim_ros.commands.running import ProgressLine, run_cancellable
from diffsim_ros.commands.table import table
from diffsim_ros.errors import InputError
from diffsim_ros.output import write_bytes, write_json, write_yaml

FILES = ("result.yaml", "metrics.json", "scene.yaml", "pose.npz", "equilibrium.png")
MOST = 100  # parameters whose effects are listed, the strongest by value times derivative


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Those of `diffsim statics`."""
    add_scene(command)
    add_results(command, report="the picture")


def run(options: argparse.Namespace) -> int:
    """Find the equilibrium, write it, print how far bodies have moved; 0."""
    from diffsim_ros.scene import load_scene
    from diffsim_ros.statics import equilibrium

    model = load_scene(options.scene, estimated=options.estimated, set=options.set)
    with results_folder(options, FILES) as folder, ProgressLine() as line:
        line.show("searching for the equilibrium", "statics")
        with in_scene(model):
            rest = run_cancellable(lambda token: equilibrium(model.engine, cancel=token), line=line)
        line.show("writing the results", "writing")
        with folder.staging() as stage:
            result, metrics = document(model, rest), figures(rest)
            write_yaml(stage / "scene.yaml", model.description)
            write_yaml(stage / "result.yaml", result)
            write_json(stage / "metrics.json", metrics)
            np.savez(stage / "pose.npz", **pose_arrays(model, rest))
            if not options.no_report:
                write_bytes(stage / "equilibrium.png", picture(model, rest))
    print(listing(result))
    return finish(options, folder, result["status"], metrics)


@contextlib.contextmanager
def in_scene(model: Any) -> Iterator[None]:
    """Name the scene's file in the InputError of what runs inside."""
    try:
        yield
    except InputError as error:
        key = f"{error.place}.{error.key}" if error.key else error.place
        raise InputError(model.place, key, error.value, error.accepted, error.remedy) from error


def document(model: Any, rest: Any) -> dict:
    """Content of result.yaml."""
    return {
        "command": "statics",
        "version": __version__,
        "scene": model.place,
        "status": "converged",
        "stable": rest.stable,
        "steps": rest.steps,
        "residual": {"value": rest.residual, "of": rest.forces.reference, "unit": "N"},
        "free_directions": int(rest.inverse.N.shape[1]),
        "undefined_derivatives": rest.undefined,
        "bodies": bodies(model, rest),
        "energy": {"unit": "J", **energies(model, rest)},
        "derivatives": derivatives(model, rest),
    }


def pose_arrays(model: Any, rest: Any) -> dict[str, np.ndarray]:
    """Arrays of pose.npz, from which a scene's `start` begins."""
    names = model.engine.body_names
    return {
        "position": rest.position,
        "orientation": rest.orientation,
        "names": np.array(names),
        "counts": np.array([model.engine.nodes_of(name)[1] for name in names]),
    }


def still_of(rest: Any) -> Any:
    """Still of the start and the equilibrium."""
    from diffsim_ros.viz.still import Still

    return Still(*rest.scene.shown(rest.scene.start, rest.at))


def bodies(model: Any, rest: Any) -> dict[str, dict]:
    """Name -> centre at rest, how far it and the farthest node have moved, orientation."""
    from diffsim_ros.scene.vertices import centre_of

    still, found = still_of(rest), {}
    for name in model.bodies:
        first, count = model.engine.nodes_of(name)
        if not count:
            continue
        track = centre_of(model, still, name)
        moves = np.diff(still.position[:, first : first + count], axis=0)[0]
        found[name] = {
            "position": track["position"][-1].tolist(),
            "moved": (track["position"][-1] - track["position"][0]).tolist(),
            "moved_most": float(np.linalg.norm(moves, axis=1).max()),
        }
        if "orientation" in track:
            found[name]["orientation"] = track["orientation"][-1].tolist()
    return found


def energies(model: Any, rest: Any) -> dict[str, float]:
    """Energy stored at rest by kind [J]."""
    found = model.engine.energies(still_of(rest), rest.scene.values)
    return {kind: float(values[-1]) for kind, values in found.items() if kind != "kinetic"}


def weights(model: Any, rest: Any, name: str) -> tuple[np.ndarray, np.ndarray]:
    """(degrees of freedom (n, 3), shares (n,)) that make a body's centre of its nodes."""
    first, count = model.engine.nodes_of(name)
    dofs = rest.scene.first[first : first + count, None] + np.arange(3)
    mass = model.engine.masses(rest.scene.values)[first : first + count]
    return dofs, mass / mass.sum() if mass.sum() > 0 else np.full(count, 1 / count)


def derivatives(model: Any, rest: Any) -> dict[str, dict]:
    """Body -> parameter -> d(centre)/dp (3,), of the MOST that change it most."""
    names, values = rest.scene.names, rest.scene.values
    defined = np.array([name not in set(rest.undefined) for name in names])
    found = {}
    for name in model.bodies:
        dofs, share = weights(model, rest, name)
        rows = []
        for axis in range(3):
            dx = np.zeros(len(rest.scene.free))
            dx[dofs[:, axis]] = share
            rows.append(rest.pull_back(dx) * defined)
        by = np.array(rows).T
        found[name] = {
            names[j]: by[j].tolist() for j in strongest(np.linalg.norm(by, axis=1), values)
        }
    return found


def strongest(effect: np.ndarray, values: np.ndarray) -> list[int]:
    """Parameters with an effect, at most MOST: by effect times value, those at 0 last."""
    large = effect > 1e-12 * np.max(effect, initial=0.0)
    order = np.argsort(-effect * np.abs(values), kind="stable")
    return [int(j) for j in order if large[j]][:MOST]


def figures(rest: Any) -> dict:
    """Content of metrics.json."""
    return {
        "converged": 1,
        "stable": int(rest.stable),
        "steps": rest.steps,
        "residual": rest.residual,
        "free_directions": int(rest.inverse.N.shape[1]),
        "moved_most": float(np.abs(np.diff(still_of(rest).position, axis=0)).max()),
    }


def picture(model: Any, rest: Any) -> bytes:
    """PNG of the equilibrium, the start as a ghost."""
    from diffsim_ros.commands.simulate_report import title
    from diffsim_ros.viz.still import still_png

    return still_png(model, still_of(rest), f"{title(model)}: at rest (start faint)")


def listing(result: dict) -> str:
    """The table of bodies, and what else there is to say."""
    rows = [["body", "moved x", "y", "z [mm]", "farthest node [mm]"]]
    for name, body in result["bodies"].items():
        moved = (f"{1e3 * v:.4g}" for v in body["moved"])
        rows.append([name, *moved, f"{1e3 * body['moved_most']:.4g}"])
    lines = [table(rows)]
    if not result["stable"]:
        lines.append("warning: this balance is unstable")
    if result["free_directions"]:
        count = result["free_directions"]
        lines.append(
            f"{count} free direction{'s' * (count > 1)}: nothing holds the scene there "
            "(friction acts on what moves only)"
        )
    left = result["residual"]
    lines.append(
        f"at rest after {result['steps']} steps; forces left: {left['value']:.2g} N of "
        f"{left['of']:.4g} N"
    )
    return "\n".join(lines)
