"""`diffsim plan`: controls whose motion reaches goals."""

from __future__ import annotations

import argparse
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from diffsim_ros.commands.running import ProgressLine, run_cancellable
from diffsim_ros.commands.table import table
from diffsim_ros.errors import InputError
from diffsim_ros.output import OutputFolder, write_bytes, write_json, write_yaml

FILES = (
    "result.yaml", "metrics.json", "scene.yaml", "trajectory.yaml", "report.html", "motion.png",
    "motion.mcap",
)  # fmt: skip
LISTED = 8
"""Candidates that are printed."""


def run(options: argparse.Namespace) -> int:
    """Plan, write the results, print the candidates; 0 if every goal is reached, else 3."""
    from diffsim_ros.commands import plan_compliant, plan_excitation, plan_locomotion
    from diffsim_ros.executors import check_address, executor_of
    from diffsim_ros.planning import load_plan, plan, plan_kind

    others = {
        "excitation": plan_excitation, "compliant": plan_compliant, "locomotion": plan_locomotion
    }  # fmt: skip
    kind = plan_kind(options.plan)
    if options.animation and kind != "locomotion":
        rule = "absent: it is of legged robots; report.html plays other motions"
        raise InputError("plan", "--animation", True, rule)
    if options.ray is not None:
        check_address(options.ray)
    if kind in others:
        for name in ("ray", "resume"):
            if getattr(options, name) is not None:
                rule = "absent: only searches from several starts run side by side"
                raise InputError("plan", f"--{name}", getattr(options, name), rule)
        return others[kind].run(options)
    config = load_plan(options.plan, estimated=options.estimated)

    def report(start: int, starts: int, iteration: int, objective: float) -> None:
        text = f"start {start + 1} of {starts}"
        if objective == objective:
            text += f"  iteration {iteration}  objective {objective:.6g}"
        line.show(text, "plan")

    def work(cancel: Any) -> Any:
        with ExitStack() as stack:
            ray = options.ray
            executor = None if ray is None else stack.enter_context(executor_of(ray))
            return plan(
                config, progress=report, cancel=cancel, executor=executor, folder=options.resume
            )

    with OutputFolder(options.out, FILES, command="plan") as folder, ProgressLine() as line:
        result = run_cancellable(work, line=line)
        line.show("writing the results", "writing")
        with folder.staging() as stage:
            write_all(stage, result, f"diffsim plan {options.plan}")
    print(summary(result))
    print(f"results in {folder.path}")
    return 0 if result.status == "reached" else 3


def summary(result: Any) -> str:
    """Candidates, best first, the controls of the best, and the notes."""
    from diffsim_ros.planning import results
    from diffsim_ros.planning.arm_motion import arm_line

    head, rows = candidate_rows(result)
    lines = [table([head, *rows[:LISTED]])]
    units = {p.name: p.unit for p in result.config.map.parameters}
    single = {n: v for n, v in result.best.controls.items() if "[" not in n}
    lines += [f"{n} = {v:.6g} {units[n]}" for n, v in single.items()]
    keys = Counter(n.split("[")[0] for n in result.best.controls if n not in single)
    lines += [
        f"{name}: {count} numbers of its keys, in result.yaml" for name, count in keys.items()
    ]
    if result.carried is not None:
        lines.append(arm_line(result.carried))
    lines += results.notes(result)
    lines.append(f"{result.status} after {result.starts} starts in {result.seconds:.2f} s")
    return "\n".join(lines)


def pictures(result: Any) -> list[tuple[str, str, bytes]]:
    """(title, caption, PNG) of the arm's motion and of distances over samples."""
    from diffsim_ros.planning.arm_motion import arm_line
    from diffsim_ros.viz import style
    from diffsim_ros.viz.trajectory_plots import distances_over_samples, joint_motion

    found = []
    if result.carried is not None:
        figure = joint_motion(result.carried.trajectory, result.config.task.arm.limits)
        found.append(("The arm's motion", arm_line(result.carried), style.png_bytes(figure)))
    if result.spread is not None:
        before, after = result.spread.before, result.spread.after
        figure = distances_over_samples(before, after, result.tolerances)
        caption = "Fresh samples of what is uncertain, which the search has not used."
        found.append(("Distances over samples", caption, style.png_bytes(figure)))
    return found


def candidate_rows(result: Any) -> tuple[list[str], list[list[str]]]:
    """Head and rows of the table of candidates."""
    head = ["touches", "reached", "O", "O/O first", "rollouts", "s", *result.tolerances]
    rows = []
    for c in result.candidates:
        ratio = f"{c.objective / c.objective_first:.2g}" if c.objective_first else "-"
        rows.append(
            [" ".join(c.pattern) or "none", "yes" if c.reached else "no", f"{c.objective:.3g}",
             ratio, str(c.rollouts), f"{c.seconds:.2f}",
             *(f"{c.distances[name]:.3g}" for name in result.tolerances)]
        )  # fmt: skip
    return head, rows


def write_all(stage: Path, result: Any, command: str) -> None:
    """Write every file of FILES into `stage`."""
    from diffsim_ros.commands import simulate
    from diffsim_ros.planning import results
    from diffsim_ros.scene.model import load_scene
    from diffsim_ros.sensing import bags
    from diffsim_ros.viz.render import camera_for, render_png
    from diffsim_ros.viz.scene_markers import picture_markers, target_markers
    from diffsim_ros.viz.scene_report import write_simulation_report

    planned = results.planned_scene(result)
    model = load_scene(planned, base=result.config.place)
    motion = result.best.motion
    write_yaml(stage / "scene.yaml", planned)
    write_yaml(stage / "result.yaml", results.document(result))
    write_json(stage / "metrics.json", results.figures(result))
    if result.carried is not None:
        write_yaml(stage / "trajectory.yaml", result.carried.trajectory.mapping())
    drawn = picture_markers(model, motion) + target_markers(result.targets)
    camera = camera_for([m for m in drawn if m.ns.startswith(("body/", "path/", "target"))])
    picture = render_png(drawn, camera=camera, title=result.config.name)
    write_bytes(stage / "motion.png", picture)
    head, rows = candidate_rows(result)
    write_simulation_report(
        model, motion, stage / "report.html",
        kind="plan", title=result.config.name, command=command,
        pictures=(("Instants", "The bodies' motion; the last instant is solid.", picture),
                  *pictures(result)),
        tables=[("Candidates: goals' distances [m, m/s, rad]", head, rows)],
        targets=result.targets, warnings=results.notes(result),
    )  # fmt: skip
    poses, markers = simulate.recording(model, motion)
    bags.write_motion(stage / "motion.mcap", poses, markers=markers)
