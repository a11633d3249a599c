"""`diffsim simulate`: simulate a scene and write its motion."""

from __future__ import annotations

import argparse
import io
import math
import shlex
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from diffsim_ros import __version__
from diffsim_ros.commands.arguments import add_executors, add_results, add_scene
from diffsim_ros.commands.results import finish, results_folder
from diffsim_ros.commands.running import ProgressLine, run_cancellable, share_done
from diffsim_ros.errors import InputError
from diffsim_ros.output import write_bytes, write_json, write_yaml
from diffsim_ros.units import read_number

if TYPE_CHECKING:
    from diffsim_ros.commands.simulate_ensemble import Ensemble
    from diffsim_ros.inverse.step_error import StepErrors
    from diffsim_ros.sensing.bags import RecordedMarkers
    from diffsim_ros.viz.animation import Animation
    from diffsim_ros.viz.field_colours import FieldColours

FILES = (
    "result.yaml", "metrics.json", "scene.yaml", "report.html", "motion.png", "energy.png",
    "motion.mcap", "motion.npz", "outputs.csv", "outputs.npz", "ensemble.csv",
)  # fmt: skip


SHOWN = 12  # errors that are printed of each kind; result.yaml has all


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Those of `diffsim simulate`."""
    add_scene(command)
    text = "estimate the errors of the step by runs of half and a quarter of it"
    command.add_argument("--error", action="store_true", help=text)
    text = "halve the step until no position errs by more, e.g. 1mm"
    command.add_argument("--tolerance", metavar="LENGTH", help=text)
    text = "also write outputs.npz: stress and strain per tetrahedron, tension per spring"
    command.add_argument("--fields", action="store_true", help=text)
    text = "colour solids in motion.mcap and motion.png by von_mises, stress.xx, strain.zz"
    command.add_argument("--colour", metavar="FIELD", help=text)
    text = "values of the colours' two ends [smallest and largest of the motion]"
    command.add_argument("--colour-range", nargs=2, type=float, metavar=("LOW", "HIGH"),
                         help=text)  # fmt: skip
    text = "also simulate N motions that differ as the estimate leaves open, and by --kick"
    command.add_argument("--ensemble", type=int, metavar="N", help=text)
    text = "random spin of every impact of a rigid body, rad/s by m/s of approach [0]"
    command.add_argument("--kick", type=float, metavar="K", help=text)
    command.add_argument("--seed", type=int, default=0, help="of the ensemble [0]")
    add_executors(command)
    add_results(command, report="report.html, pictures and motion.mcap")


def run(options: argparse.Namespace) -> int:
    """Simulate, write the results; 0 if every step converged, else 3 (results marked so)."""
    from diffsim_ros.scene import load_scene

    check_ensemble(options)
    model = load_scene(options.scene, estimated=options.estimated, set=options.set)
    if options.ensemble is not None:
        from diffsim_ros.commands import simulate_ensemble

        simulate_ensemble.check_scene(model, options)
    limit = None if options.tolerance is None else length(options.tolerance)
    coloured = colour_fields(model, options.colour, options.colour_range)
    with results_folder(options, FILES) as folder, ProgressLine() as line:
        if limit is not None:
            model = run_cancellable(lambda token: within(model, limit, token, line), line=line)
        began = time.monotonic()
        rollout, elapsed = run_cancellable(
            lambda token: roll_out(model, token, line, options.fields, coloured), line=line,
            watch=lambda token: share_done(line, "simulating", token.steps, model.steps, began),
        )  # fmt: skip
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
            from diffsim_ros.viz.field_colours import field_colours

            field = field_colours(model, rollout, options.colour, options.colour_range)
        with folder.staging() as stage:
            result, metrics = write_all(
                stage, model, rollout, elapsed, errors, field, members,
                report=None if options.no_report else command_line(options),
            )  # fmt: skip
    for text in result["warnings"]:
        print(f"warning: {text}")
    if limit is not None:
        print(f"step: {model.options.step:.6g} s, positions within {limit:g} m")
    if errors is not None:
        print(listing(errors))
    print(f"{rollout.status}: {rollout.message}" if rollout.message else rollout.status)
    return finish(options, folder, rollout.status, metrics, 0 if rollout.ok else 3)


def command_line(options: argparse.Namespace) -> str:
    """The command that repeats the run, for its report."""
    words = ["diffsim", options.command, options.scene]
    words += ["--estimated", options.estimated] if options.estimated else []
    return shlex.join(map(str, words + (["--set", *options.set] if options.set else [])))


def check_ensemble(options: argparse.Namespace) -> None:
    """InputError for options that do not go together, or have no such value."""
    if options.ensemble is None:
        if options.kick is not None:
            raise InputError("simulate", "--kick", options.kick, "given with --ensemble")
        for name in ("ray", "resume"):
            value = getattr(options, name)
            if value is not None:
                raise InputError("simulate", f"--{name}", value, "given with --ensemble")
        return
    if options.ensemble < 2:
        raise InputError("simulate", "--ensemble", options.ensemble, "2 members or more")
    if options.ray is not None:
        from diffsim_ros.executors import check_address

        check_address(options.ray)
    if options.kick is None and options.estimated is None:
        rule = "--estimated, --kick or both: what differs between the members"
        raise InputError("simulate", "--ensemble", options.ensemble, rule)


def colour_fields(model: Any, field: str | None, limits: Sequence[float] | None) -> list[str]:
    """Outputs that `--colour` needs; InputError for a field or range that cannot be."""
    if field is None:
        if limits is not None:
            raise InputError("simulate", "--colour-range", limits, "given with --colour")
        return []
    if limits is not None and not (np.isfinite(limits).all() and limits[0] < limits[1]):
        raise InputError("simulate", "--colour-range", limits, "two numbers, LOW < HIGH")
    from diffsim_ros.viz.field_colours import fields_of

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
    options = engine_options(model.description["world"], record_modes=True, record_end=True)
    start = time.perf_counter()
    rollout = _engine.rollout(
        model.engine, model.engine.values, model.steps, options, cancel=token,
        outputs=list(dict.fromkeys([*simulate_outputs.names(model.engine, fields), *more])),
    )  # fmt: skip
    return rollout, time.perf_counter() - start


def write_all(
    stage: Path, model: Any, rollout: Any, elapsed: float, errors: StepErrors | None = None,
    field: FieldColours | None = None, members: Ensemble | None = None, *, report: str | None,
) -> tuple[dict, dict]:  # fmt: skip
    """Write the files of FILES into `stage`; return the contents of result.yaml and metrics.json.

    report  the command that the report shows; None: without page, pictures and motion.mcap
    """
    from diffsim_ros.commands import simulate_outputs

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
    metrics = figures(model, rollout, energy, elapsed)
    write_json(stage / "metrics.json", metrics)
    simulate_outputs.write(stage, model.engine, rollout)
    write_motion(stage / "motion.npz", model, rollout)
    if report is None:
        return result, metrics
    from diffsim_ros.commands import simulate_report
    from diffsim_ros.sensing import bags
    from diffsim_ros.viz.animation import scene_animation

    simulate_report.write(stage, model, rollout, energy, result["warnings"], field, report)
    poses, markers = recording(model, rollout, scene_animation(model, rollout, field=field))
    bags.write_motion(
        stage / "motion.mcap", poses, markers=markers,
        wrenches=simulate_outputs.wrenches(model, rollout),
        joints=simulate_outputs.joint_states(model, rollout), optional=True,
    )  # fmt: skip
    return result, metrics


def write_motion(path: Path, model: Any, rollout: Any) -> None:
    """Write t (F,) [s] and, of each body, BODY.position, .velocity (F, 3) of its centre and, of
    frames, .orientation (F, 4), .angular_velocity (F, 3)."""
    from diffsim_ros.scene.vertices import centre_of

    tracks = {
        f"{name}.{key}": values
        for name in model.bodies
        for key, values in centre_of(model, rollout, name).items()
    }
    data = io.BytesIO()
    np.savez(data, t=rollout.time, **tracks)
    write_bytes(path, data.getvalue())


def recording(
    model: Any, rollout: Any, animation: Animation | None = None
) -> tuple[list[tuple], list[RecordedMarkers]]:
    """(pose tracks, marker tracks) of motion.mcap: poses of frames, and all that is seen.

    animation  what is seen; default: of the rollout
    """
    from diffsim_ros.scene.vertices import centre_of
    from diffsim_ros.viz.animation import scene_animation
    from diffsim_ros.viz.playback import recorded_animation

    poses = []
    for name, info in model.bodies.items():
        if info.kind != "soft":
            track = centre_of(model, rollout, name)
            where = track["position"], track["orientation"]
            poses.append((f"/{name}/simulated", "world", rollout.time, *where))
    return poses, [recorded_animation(animation or scene_animation(model, rollout))]


def document(model: Any, rollout: Any, energy: dict[str, np.ndarray]) -> dict:
    """Content of result.yaml: status, final state, energies, contacts, every parameter."""
    from diffsim_ros.scene.damped_friction import damped_friction
    from diffsim_ros.scene.explicit_forces import explicit_forces
    from diffsim_ros.scene.vertices import centre_of
    from diffsim_ros.scene.without_effect import without_effect

    iterations, engine = np.asarray(rollout.iterations), model.engine
    values = dict(zip((i.name for i in engine.parameters), engine.values.tolist(), strict=True))
    return {
        "command": "simulate",
        "version": __version__,
        "scene": model.place,
        "status": rollout.status,
        "message": rollout.message,
        "warnings": [
            *damped_friction(model.parts),
            *without_effect(model.parts, values),
            *explicit_forces(model.parts, values),
            *rollout.warnings,
            *model.crossings(rollout),
        ],
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
