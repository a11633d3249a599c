"""`diffsim plan`: controls whose motion reaches goals."""

from __future__ import annotations

import argparse
import contextlib
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from diffsim_ros.commands.arguments import (
    add_changes,
    add_estimated,
    add_executors,
    add_results,
)
from diffsim_ros.commands.results import finish, results_folder
from diffsim_ros.commands.running import ProgressLine, asked_executor, run_cancellable
from diffsim_ros.commands.table import table
from diffsim_ros.errors import InputError
from diffsim_ros.output import write_bytes, write_json, write_yaml

if TYPE_CHECKING:
    from diffsim_ros.commands.plan_motion import PlanMotion
    from diffsim_ros.viz.markers import Marker

FILES = (
    "result.yaml", "metrics.json", "scene.yaml", "trajectory.yaml", "report.html", "motion.png",
    "motion.mcap",
)  # fmt: skip
LISTED = 8
"""Candidates that are printed."""
MOST_CARDS = 5
"""Goals with a headline."""
GHOST = 0.25
"""Opacity of the arm where it starts and ends."""


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Those of `diffsim plan`."""
    command.add_argument("plan", metavar="PLAN.yaml")
    add_estimated(command)
    add_changes(command, "search.starts=3")
    text = "of a legged robot: write motion.gif, too, the motion at half speed"
    command.add_argument("--animation", action="store_true", help=text)
    text = "show the motion in the browser while the plan converges"
    command.add_argument("--view", action="store_true", help=text)
    add_executors(command)
    add_results(command)


def run(options: argparse.Namespace) -> int:
    """Plan, write the results, print the candidates; 0 if every goal is reached, else 3."""
    from diffsim_ros.commands import plan_compliant, plan_excitation, plan_locomotion
    from diffsim_ros.commands.live_view import opened
    from diffsim_ros.commands.plan_view import PlanView
    from diffsim_ros.executors import check_address
    from diffsim_ros.planning import load_plan, plan, plan_kind

    others = {
        "excitation": plan_excitation, "compliant": plan_compliant, "locomotion": plan_locomotion
    }  # fmt: skip
    kind = plan_kind(options.plan)
    if options.animation and kind != "locomotion":
        rule = "absent: it is of legged robots; report.html plays other motions"
        raise InputError("plan", "--animation", True, rule)
    if options.view and kind in others:
        raise InputError("plan", "--view", True, f"absent: this is a plan of {kind}")
    if options.ray is not None:
        check_address(options.ray)
    if kind in others:
        for name in ("ray", "resume"):
            if getattr(options, name) is not None:
                rule = "absent: only searches from several starts run side by side"
                raise InputError("plan", f"--{name}", getattr(options, name), rule)
        return others[kind].run(options)
    config = load_plan(options.plan, estimated=options.estimated, set=options.set)

    def report(start: int, starts: int, iteration: int, objective: float) -> None:
        text = f"start {start + 1} of {starts}"
        if objective == objective:
            text += f"  iteration {iteration}  objective {objective:.6g}"
        line.show(text, "plan")

    def work(cancel: Any) -> Any:
        with asked_executor(options) as executor:
            return plan(
                config, progress=report, watch=shown, cancel=cancel, executor=executor,
                folder=options.resume,
            )  # fmt: skip

    with contextlib.ExitStack() as stack:
        shown = PlanView(opened(stack), config) if options.view else None
        with results_folder(options, FILES) as folder, ProgressLine() as line:
            result = run_cancellable(work, line=line)
            line.show("writing the results", "writing")
            with folder.staging() as stage:
                command = None if options.no_report else f"diffsim plan {options.plan}"
                model, metrics = write_all(stage, result, command)
        print(summary(result))
        code = 0 if result.status == "reached" else 3
        code = finish(options, folder, result.status, metrics, code)
        if shown is not None:
            shown.finish(model, result)
            shown.wait()
    return code


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


def at_release(seen: PlanMotion) -> list[Marker]:
    """The arm at the start of the scene's motion, solid, and as ghosts where it starts and ends."""
    if not seen.shapes:
        return []
    last = len(seen.played.time) - 1
    begins = last + 1 - len(seen.result.best.motion.time)
    found = seen.robot(begins)
    ghosts = {0, last} - {begins}
    for number, frame in enumerate(sorted(ghosts), 1):
        for marker in seen.robot(frame, GHOST):
            found.append(replace(marker, ns=f"{marker.ns}/{number}"))
    return found


def lead(result: Any) -> str:
    """One sentence: how far the plan is from each goal, and how far it may be."""
    words = [
        f"{amount(distance, unit)} from {name}, tolerance {amount(allowed, unit)}"
        for name, distance, allowed, unit in goal_rows(result)
    ]
    return "; ".join(words) + "." if words else ""


def cards(result: Any) -> list[dict[str, str]]:
    """Distance against tolerance of each goal, and what the search took."""
    from diffsim_ros.viz.report_tables import card

    found = []
    for name, distance, allowed, unit in goal_rows(result)[:MOST_CARDS]:
        value, _, word = amount(distance, unit).partition(" ")
        tone = "good" if distance <= allowed else "bad"
        detail = f"tolerance {amount(allowed, unit)}"
        found.append(card(f"Distance from {name}", value, word, detail, tone))
    best = result.best
    starts = "one start" if result.starts == 1 else f"{result.starts} starts"
    detail = f"{best.seconds:.2g} s, {starts}"
    return [*found, card("Rollouts", str(best.rollouts), "", detail)]


def goal_rows(result: Any) -> list[tuple[str, float, float, str]]:
    """(goal or limit, distance, tolerance, unit) of the best candidate; "" of what is no place."""
    units = {goal.name: "m" for goal in result.config.goals if len(goal.targets)}
    return [
        (name, float(distance), float(result.tolerances[name]), units.get(name, ""))
        for name, distance in result.best.distances.items()
    ]


def amount(value: float, unit: str) -> str:
    """A number with its unit, lengths in mm."""
    return f"{1e3 * value:.3g} mm" if unit == "m" else f"{value:.3g}"


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


def write_all(stage: Path, result: Any, command: str | None) -> tuple[Any, dict]:
    """Write every file of FILES into `stage`; the planned scene's model, content of metrics.json.

    command  that the report shows; None: without report and picture
    """
    from diffsim_ros.commands import simulate
    from diffsim_ros.commands.plan_motion import plan_motion
    from diffsim_ros.planning import results
    from diffsim_ros.scene.model import load_scene
    from diffsim_ros.sensing import bags

    planned, metrics = results.planned_scene(result), results.figures(result)
    model = load_scene(planned, base=result.config.place)
    write_yaml(stage / "scene.yaml", planned)
    write_yaml(stage / "result.yaml", results.document(result))
    write_json(stage / "metrics.json", metrics)
    if result.carried is not None:
        write_yaml(stage / "trajectory.yaml", result.carried.trajectory.mapping())
    seen = plan_motion(model, result)
    if command is not None:
        write_report(stage, seen, command)
    poses, markers = simulate.recording(model, result.best.motion, seen.animation())
    bags.write_motion(stage / "motion.mcap", poses, markers=markers, optional=True)
    return model, metrics


def write_report(stage: Path, seen: PlanMotion, command: str) -> None:
    """Write motion.png and report.html."""
    from diffsim_ros.planning import results
    from diffsim_ros.viz.render import camera_for, render_png
    from diffsim_ros.viz.scene_markers import picture_markers, target_markers
    from diffsim_ros.viz.scene_report import write_simulation_report

    model, result = seen.model, seen.result
    motion = result.best.motion
    drawn = picture_markers(model, motion) + target_markers(result.targets) + at_release(seen)
    framed = ("body/", "path/", "target", "robot/")
    camera = camera_for([m for m in drawn if m.ns.startswith(framed)])
    picture = render_png(drawn, camera=camera, title=result.config.name)
    write_bytes(stage / "motion.png", picture)
    head, rows = candidate_rows(result)
    write_simulation_report(
        model, motion, stage / "report.html",
        kind="plan", title=result.config.name, command=command,
        pictures=(("Instants", "The bodies' motion; the last instant is solid.", picture),
                  *pictures(result)),
        tables=[("Candidates: goals' distances [m, m/s, rad]", head, rows)],
        targets=result.targets, warnings=results.notes(result), status=result.status,
        lead=lead(result), cards=cards(result), played=seen.played,
        others=seen.player_bodies,
    )  # fmt: skip
