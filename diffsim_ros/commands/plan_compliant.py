"""`diffsim plan` of a gait: targets of motors with which a compliant robot walks as wanted."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from diffsim_ros.commands.results import finish, results_folder
from diffsim_ros.commands.running import ProgressLine, run_cancellable
from diffsim_ros.commands.table import table
from diffsim_ros.output import write_bytes, write_json, write_yaml

if TYPE_CHECKING:
    from diffsim_ros.planning.locomotion.compliant import CompliantResult
    from diffsim_ros.scene import SceneModel

FILES = ("result.yaml", "metrics.json", "scene.yaml", "targets.csv", "motion.png",
         "motion.mcap")  # fmt: skip


def run(options: argparse.Namespace) -> int:
    """Refine, write the results, print the figures; 0 where the speed is reached, else 3."""
    from diffsim_ros.planning.locomotion.compliant import refine
    from diffsim_ros.planning.locomotion.compliant_config import load_compliant

    config = load_compliant(options.plan, estimated=options.estimated, set=options.set)

    def report(iteration: int, objective: float) -> None:
        line.show(f"iteration {iteration}  objective {objective:.6g}", "plan")

    with results_folder(options, FILES) as folder, ProgressLine() as line:
        result = run_cancellable(lambda c: refine(config, progress=report, cancel=c), line=line)
        line.show("writing the results", "writing")
        with folder.staging() as stage:
            metrics = write_all(stage, result, drawn=not options.no_report)
    print(summary(result))
    code = 0 if result.status == "reached" else 3
    return finish(options, folder, result.status, metrics, code)


def summary(result: CompliantResult) -> str:
    """What nominal and refined targets do, and how the search ended."""
    from diffsim_ros.planning.locomotion.compliant_results import document

    rows = [["targets", "speed m/s", "missed", "tilt rad", "height m", "drift m"]]
    for name, one in (("nominal", result.before), ("refined", result.after)):
        rows.append([name, f"{one.speed:.4f}", f"{100 * one.missed:+.1f} %", f"{one.tilt:.3f}",
                     f"{one.height:.4f}", f"{one.drift:.4f}"])  # fmt: skip
    lines = [table(rows), "speed of cycles: " + ", ".join(f"{v:.4f}" for v in result.after.speeds)]
    for name, spread in document(result).get("robust", {}).items():
        lines.append(
            f"over samples, {name}: missed by {100 * spread['mean_missed']:.1f} % in the mean, "
            f"{100 * spread['largest_missed']:.1f} % at most, {spread['failed']} failed"
        )
    lines.append(result.solution.message)
    lines.append(
        f"{result.status} after {result.solution.iterations} iterations, {result.rollouts} "
        f"rollouts in {result.seconds:.1f} s"
    )
    return "\n".join(lines)


def write_all(stage: Path, result: CompliantResult, *, drawn: bool = True) -> dict:
    """Write every file of FILES into `stage`, (drawn) the picture too; return the content of
    metrics.json."""
    from diffsim_ros.commands.simulate import recording
    from diffsim_ros.planning.locomotion import compliant_results as results
    from diffsim_ros.scene.model import load_scene
    from diffsim_ros.sensing.bags import write_motion

    scene, metrics = results.walking_scene(result), results.figures(result)
    write_yaml(stage / "scene.yaml", scene)
    write_yaml(stage / "result.yaml", results.document(result))
    write_json(stage / "metrics.json", metrics)
    write_bytes(stage / "targets.csv", results.table_of(result).encode())
    model = load_scene(scene, base=result.config.place)
    if drawn:
        write_bytes(stage / "motion.png", picture(result, model))
    poses, markers = recording(model, result.motion)
    write_motion(stage / "motion.mcap", poses, markers=markers, optional=True)
    return metrics


def picture(result: CompliantResult, model: SceneModel) -> bytes:
    """PNG of the motion."""
    from diffsim_ros.viz.render import camera_for, render_png
    from diffsim_ros.viz.scene_markers import picture_markers

    shown = picture_markers(model, result.motion)
    camera = camera_for([m for m in shown if m.ns.startswith(("body/", "path/"))])
    return render_png(shown, camera=camera, title=result.config.name)
