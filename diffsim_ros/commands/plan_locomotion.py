"""`diffsim plan` of a legged robot: a motion through a footfall pattern towards goals."""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from diffsim_ros.commands.results import finish, results_folder
from diffsim_ros.commands.running import ProgressLine, run_cancellable
from diffsim_ros.commands.table import table
from diffsim_ros.errors import InputError
from diffsim_ros.output import write_bytes, write_json, write_yaml

if TYPE_CHECKING:
    from diffsim_ros.planning.locomotion import LocomotionConfig, LocomotionMotion

FILES = (
    "result.yaml", "metrics.json", "motion.npz", "trajectory.yaml", "motion.png", "footfalls.png",
    "motion.gif",
)  # fmt: skip
FRAMES, SPEED, LEAST, HOLD = 12.5, 0.5, 1.5, 0.4
"""Of motion.gif: frames a second [Hz], of the motion's speed; whole periods of at least as many
seconds; how long the end of a motion that does not repeat itself is seen [s]."""


def run(options: argparse.Namespace) -> int:
    """Plan, write the results, print constraints and goals; 0 if all goals are reached, else 3."""
    from diffsim_ros.planning.locomotion import generate, load_locomotion
    from diffsim_ros.planning.locomotion.result import figures

    if options.estimated:
        rule = "absent: a locomotion has no scene that is estimated"
        raise InputError("plan", "--estimated", options.estimated, rule)
    config = load_locomotion(options.plan, set=options.set)

    def report(attempt: int, iteration: int, value: float) -> None:
        text = f"attempt {attempt + 1} of {config.attempts}  iteration {iteration}  E {value:.6g}"
        line.show(text, "plan")

    with results_folder(options, FILES) as folder, ProgressLine() as line:
        motion = run_cancellable(lambda c: generate(config, progress=report, cancel=c), line=line)
        line.show("writing the results", "writing")
        with folder.staging() as stage:
            write_all(stage, config, motion, drawn=not options.no_report)
            if options.animation:
                write_bytes(stage / "motion.gif", animated(config, motion))
    print(summary(motion))
    code = 0 if motion.status == "reached" else 3
    return finish(options, folder, motion.status, figures(motion), code)


def summary(motion: LocomotionMotion) -> str:
    """Constraints with their worst rows, goals with what is left, how the motion goes."""
    rows = [
        [v.name, f"{v.worst:.2g}", f"{v.tolerance:.2g}", v.unit, v.where if not v.holds else ""]
        for v in motion.constraints
    ]
    lines = [table([["constraint", "worst", "tolerance", "unit", "violated at"], *rows])]
    lines += [
        f"goal {g.name}: {'reached' if g.reached else 'missed'}, {g.distance:.3g} {g.unit} away"
        for g in motion.goals
    ]
    v = motion.velocity
    lines.append(f"mean velocity ({v[0]:.3f}, {v[1]:.3f}) m/s over {motion.duration:g} s")
    if not motion.holds:
        lines.append("a constraint does not hold: no trajectory is written")
    lines.append(f"{motion.status} after {motion.iterations} iterations in {motion.seconds:.2f} s")
    return "\n".join(lines)


def write_all(
    stage: Path, config: LocomotionConfig, motion: LocomotionMotion, *, drawn: bool = True
) -> None:
    """Write every file of FILES into `stage`, (drawn) the pictures too; no trajectory of a motion
    that is violated."""
    from diffsim_ros.planning.locomotion.result import document, figures

    write_yaml(stage / "result.yaml", document(config, motion))
    write_json(stage / "metrics.json", figures(motion))
    motion.save(stage / "motion.npz")
    if motion.holds:
        write_yaml(stage / "trajectory.yaml", motion.trajectory().mapping())
    if drawn:
        draw(stage, config, motion)


def draw(stage: Path, config: LocomotionConfig, motion: LocomotionMotion) -> None:
    """Write motion.png and footfalls.png."""
    from diffsim_ros.planning.locomotion.result import link_segments
    from diffsim_ros.viz import locomotion_plots, style

    weights = motion.forces / max(1e-9, float(motion.forces.sum(axis=1)[:, 2].mean()))
    figure = locomotion_plots.poses_in_space(
        link_segments(config.robot, motion), motion.com, motion.contacts, motion.contact, weights
    )
    write_bytes(stage / "motion.png", style.png_bytes(figure))
    figure = locomotion_plots.footfalls_and_joints(
        motion.step * np.arange(motion.samples), motion.contact, motion.end_effectors,
        np.linalg.norm(weights, axis=2), motion.positions, motion.joints,
    )  # fmt: skip
    write_bytes(stage / "footfalls.png", style.png_bytes(figure))


def animated(config: LocomotionConfig, motion: LocomotionMotion) -> bytes:
    """A GIF of the motion at SPEED: whole periods, or from its beginning to its end."""
    from diffsim_ros.planning.locomotion.result import frames
    from diffsim_ros.viz.legged_animation import animation

    lasts = motion.duration / SPEED
    if motion.periodic:
        lasts *= math.ceil(LEAST / lasts)
    count = max(2, round(lasts * FRAMES))
    times = lasts * SPEED * np.arange(count) / count
    if not motion.periodic:
        times = np.concatenate([times, np.full(round(HOLD * FRAMES) + 1, motion.duration)])
    speed = float(np.linalg.norm(motion.velocity[:2]))
    title = f"{motion.name}: {speed:.2f} m/s, shown at 1/{1.0 / SPEED:g} of it"
    return animation(frames(config.robot, motion, times), FRAMES, title)
