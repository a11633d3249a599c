"""`diffsim simulate`: simulate a scene and write its motion."""

from __future__ import annotations

import argparse
import math
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from diffsim_ros import __version__
from diffsim_ros.commands.running import ProgressLine, run_cancellable
from diffsim_ros.errors import InputError
from diffsim_ros.output import OutputFolder, write_json, write_yaml
from diffsim_ros.units import read_number
from diffsim_ros.viz.field_colours import FieldColours, field_colours, fields_of

if TYPE_CHECKING:
    from diffsim_ros.commands.simulate_ensemble import Ensemble
    from diffsim_ros.inverse.step_error import StepErrors

FILES = (
    "result.yaml", "metrics.json", "scene.yaml", "report.html", "motion.png", "energy.png",
    "motion.mcap", "outputs.csv", "outputs.npz", "ensemble.csv",
)  # fmt: skip


SHOWN = 12  # errors that are printed of each kind; result.yaml has all
MARKER_RATE = 30.0  # of soft bodies in motion.mcap [Hz]


def run(options: argparse.Namespace) -> int:
    """Simulate, write the results; 0 if every step converged, else 3 (results marked so)."""
    from diffsim_ros.commands import simulate_ensemble
    from diffsim_ros.scene import load_scene

    simulate_ensemble.check(options)
    model = load_scene(options.scene, estimated=options.estimated)
    if options.ensemble is not None:
        simulate_ensemble.check_scene(model, options)
    limit = None if options.tolerance is None else length(options.tolerance)
    coloured = colour_fields(model, options.colour, options.colour_range)
    with OutputFolder(options.out, FILES, command="simulate") as folder, ProgressLine() as line:
        if limit is not None:
            model = run_cancellable(lambda token: within(model, limit, token, line), line=line)
        rollout, elapsed = run_cancellable(
            lambda token: roll_out(model, token, line, options.fields, coloured), line=line
        )
        errors = None
        if rollout.ok and (options.error or limit is not None):
            errors = run_cancellable(lambda token: errors_of(model, token, line), line=line)
        members = None
        if options.ensemble is not None:
            line.show(f"simulating {options.ensemble} members", "ensemble")
            members = run_cancellable(
                lambda token: simulate_ensemble.ensemble_of(
                    model, options, token, line.count("members")
                ),
                line=line,
            )
        line.show("writing the results", "writing")
        field = None
        if coloured:
            field = field_colours(model, rollout, options.colour, options.colour_range)
        with folder.staging() as stage:
            result = write_all(stage, model, rollout, elapsed, errors, field, members)
    for text in result["warnings"]:
        print(f"warning: {text}")
    if limit is not None:
        print(f"step: {model.options.step:.6g} s, positions within {limit:g} m")
    if errors is not None:
        print(listing(errors))
    print(f"{rollout.status}: {rollout.message}" if rollout.message else rollout.status)
    print(f"results in {folder.path}")
    return 0 if rollout.ok else 3


def colour_fields(model: Any, field: str | None, limits: Sequence[float] | None) -> list[str]:
    """Outputs that `--colour` needs; InputError for a field or range that cannot be."""
    if field is None:
        if limits is not None:
            raise InputError("simulate", "--colour-range", limits, "given with --colour")
        return []
    if limits is not None and not (np.isfinite(limits).all() and limits[0] < limits[1]):
        raise InputError("simulate", "--colour-range", limits, "two numbers, LOW < HIGH")
    return [value.name for value in fields_of(model, field).values()]


def length(text: str) -> float:
    """[m] of `--tolerance`, such as 1mm or 0.001; raises InputError."""
    try:
        metres, _ = read_number(text, "m")
    except ValueError:
        metres = 0.0
    if not 0 < metres < math.inf:
        raise InputError("simulate", "--tolerance", text, "a length > 0 in m, cm, mm or um")
    return metres


def within(model: Any, tolerance: float, token: Any, line: ProgressLine) -> Any:
    """The scene at the first halved step whose positions err by less; raises NotConverged."""
    from diffsim_ros.inverse.step_error import step_for

    line.show("choosing the step", "step")
    engine = model.engine
    halvings, _ = step_for(
        engine, engine.values, model.steps, model.options, tolerance, cancel=token
    )
    return model.halved(halvings)


def errors_of(model: Any, token: Any, line: ProgressLine) -> StepErrors:
    """Errors of the motion and of its derivatives by the scene's `parameters`."""
    from diffsim_ros.inverse.parameters import ParameterMap
    from diffsim_ros.inverse.step_error import step_errors

    line.show("the same with half and a quarter of the step", "error")
    engine, settings = model.engine, {"cancel": token}
    if model.parameters:
        chosen = ParameterMap(model.parameters, engine)
        settings |= {"active": chosen.active, "names": chosen.names}
        settings |= {"directions": chosen.jacobian(chosen.start)}
    return step_errors(engine, engine.values, model.steps, model.options, **settings)


def listing(errors: StepErrors) -> str:
    """The largest errors, and what to make of them."""
    ends = [e for e in errors.poses if e.error > 0]
    shown = [f"errors of steps of {errors.step:.6g} s (Richardson, h/2 and h/4):"]
    shown += [f"  {e}" for e in sorted(ends, key=lambda e: -e.error)[:SHOWN]]
    if errors.derivatives:
        shown.append("  derivatives of final positions by")
        shown += [f"    {e}" for e in sorted(errors.derivatives, key=lambda e: -e.error)[:SHOWN]]
    if not all(e.falls for e in (*errors.poses, *errors.derivatives)):
        shown.append(
            "  '>=': the differences do not fall as steps shrink, so there is no estimate, only a "
            "lower bound: take a smaller step; contacts that begin, stick or slip otherwise at "
            "each step, or a motion that small changes upset, may have none at all"
        )
    return "\n".join(shown)


def roll_out(
    model: Any, token: Any, line: ProgressLine | None = None, fields: bool = False,
    more: Sequence[str] = (),
) -> tuple[Any, float]:  # fmt: skip
    """Roll the scene out, with contact modes and outputs; return (rollout, seconds).

    fields  those per tetrahedron and spring too;  more  outputs besides
    """
    from diffsim_ros import _engine
    from diffsim_ros.commands import simulate_outputs
    from diffsim_ros.scene.build import engine_options

    if line is not None:
        line.show(f"simulating {model.steps} steps of {model.options.step:g} s", "simulate")
    options = engine_options(model.description["world"], record_modes=True)
    start = time.perf_counter()
    rollout = _engine.rollout(
        model.engine, model.engine.values, model.steps, options, cancel=token,
        outputs=list(dict.fromkeys([*simulate_outputs.names(model.engine, fields), *more])),
    )  # fmt: skip
    return rollout, time.perf_counter() - start


def write_all(
    stage: Path, model: Any, rollout: Any, elapsed: float, errors: StepErrors | None = None,
    field: FieldColours | None = None, members: Ensemble | None = None,
) -> dict:  # fmt: skip
    """Write the files of FILES into `stage`; return the content of result.yaml."""
    from diffsim_ros.commands import simulate_outputs, simulate_report
    from diffsim_ros.sensing import bags

    energy = model.engine.energies(rollout)
    result = document(model, rollout, energy)
    if errors is not None:
        result["errors"] = errors.document()
    if field is not None:
        result["colour"] = field.document()
    if members is not None:
        result["ensemble"] = members.document()
        members.write(stage)
    write_yaml(stage / "scene.yaml", model.description)
    write_yaml(stage / "result.yaml", result)
    write_json(stage / "metrics.json", figures(model, rollout, energy, elapsed))
    simulate_report.write(stage, model, rollout, energy, result["warnings"], field)
    simulate_outputs.write(stage, model.engine, rollout)
    poses, markers = recording(model, rollout, field)
    bags.write_motion(
        stage / "motion.mcap", poses, markers=markers,
        wrenches=simulate_outputs.wrenches(model, rollout),
        joints=simulate_outputs.joint_states(model, rollout),
    )  # fmt: skip
    return result


def recording(
    model: Any, rollout: Any, field: FieldColours | None = None
) -> tuple[list[tuple], list[Any]]:
    """(pose tracks, marker tracks) of motion.mcap: poses of frames, and, of a scene with soft
    bodies, all that is seen of it as markers."""
    from diffsim_ros.scene.vertices import centre_of
    from diffsim_ros.sensing.bags import RecordedMarkers
    from diffsim_ros.viz.scene_markers import body_markers, surroundings

    poses, frames = [], marker_frames(rollout.time)
    soft = [name for name, info in model.bodies.items() if info.kind == "soft"]
    for name in model.bodies:
        if name not in soft:
            track = centre_of(model, rollout, name)
            where = track["position"], track["orientation"]
            poses.append((f"/{name}/simulated", "world", rollout.time, *where))
    if not soft:
        return poses, []
    zero = np.zeros(len(frames), int)  # one id: every frame replaces the one before
    seen = [name for name, info in model.bodies.items() if info.kind != "frame"]
    columns = [body_markers(model, rollout, name, frames, ids=zero, field=field) for name in seen]
    markers = [list(row) for row in zip(*columns, strict=True)]
    markers[0] = [*surroundings(model, rollout, 0), *markers[0]]
    return poses, [RecordedMarkers("/markers", rollout.time[frames].tolist(), markers)]


def marker_frames(time: np.ndarray) -> np.ndarray:
    """Recorded frames that are about 1 / MARKER_RATE [s] apart, the last one included."""
    wanted = np.arange(time[0], time[-1] + 1e-9, 1.0 / MARKER_RATE)
    return np.unique([*np.searchsorted(time, wanted - 1e-9), len(time) - 1])


def document(model: Any, rollout: Any, energy: dict[str, np.ndarray]) -> dict:
    """Content of result.yaml: status, final state, energies, contacts, every parameter."""
    from diffsim_ros.scene.vertices import centre_of

    iterations = np.asarray(rollout.iterations)
    return {
        "command": "simulate",
        "version": __version__,
        "scene": model.place,
        "status": rollout.status,
        "message": rollout.message,
        "warnings": [*rollout.warnings, *model.crossings(rollout)],
        "meshes": {name: report.plain() for name, report in model.meshes.items()},
        "shapes": model.shapes,
        "steps": {"wanted": model.steps, "done": len(iterations), "step": model.options.step},
        "newton": {
            "iterations_mean": float(iterations.mean()) if len(iterations) else None,
            "iterations_max": int(iterations.max()) if len(iterations) else None,
            "halvings": int(rollout.halvings),
        },
        "final": {
            "time": float(rollout.time[-1]),
            "bodies": {
                name: {
                    key: values[-1].tolist()
                    for key, values in centre_of(model, rollout, name).items()
                }
                for name in model.bodies
            },
        },
        "energy": {
            "unit": "J",
            "start": {kind: float(values[0]) for kind, values in energy.items()},
            "final": {kind: float(values[-1]) for kind, values in energy.items()},
        },
        "contact_modes": modes(model, rollout),
        "parameters": {
            info.name: {"value": float(value), "unit": info.unit}
            for info, value in zip(model.engine.parameters, model.engine.values, strict=True)
        },
    }


def modes(model: Any, rollout: Any) -> dict[str, int]:
    """How many contact points times steps were open, stuck, slipped or were held (hybrid)."""
    codes, count = np.asarray(rollout.modes), Counter()
    for name in model.engine.contact_names:
        first, points = model.engine.modes_of(name)
        count.update((codes[:, first : first + points] & 3).ravel().tolist())
    return {word: count.get(code, 0) for code, word in enumerate(("open", "stick", "slip", "held"))}


def figures(model: Any, rollout: Any, energy: dict[str, np.ndarray], elapsed: float) -> dict:
    """Content of metrics.json: plain numbers."""
    iterations = np.asarray(rollout.iterations)
    force = np.asarray(rollout.contact_force)
    total = np.linalg.norm(force.sum(axis=1), axis=-1) if force.size else np.zeros(1)
    return {
        "converged": int(rollout.ok),
        "steps": len(iterations),
        "simulated_seconds": float(rollout.time[-1]),
        "wall_seconds": elapsed,
        "microseconds_per_step": 1e6 * elapsed / len(iterations) if len(iterations) else None,
        "newton_iterations": {
            "mean": float(iterations.mean()) if len(iterations) else None,
            "max": int(iterations.max()) if len(iterations) else None,
        },
        "energy": {
            "start": float(energy["total"][0]),
            "final": float(energy["total"][-1]),
            "lowest": float(energy["total"].min()),
            "highest": float(energy["total"].max()),
        },
        "contact_force_peak": float(total.max()),
        "contact_modes": modes(model, rollout),
    }
