"""`diffsim plan` of an excitation: the motion whose efforts tell most, and what they will tell."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from diffsim_ros.commands.results import finish, results_folder
from diffsim_ros.commands.running import ProgressLine, run_cancellable
from diffsim_ros.commands.table import table
from diffsim_ros.errors import InputError
from diffsim_ros.output import write_bytes, write_json, write_yaml

if TYPE_CHECKING:
    from diffsim_ros.planning.excitation import ExcitationResult

FILES = ("result.yaml", "metrics.json", "trajectory.yaml", "motion.png")


def run(options: argparse.Namespace) -> int:
    """Design, write the results, print what to expect; 0, or 3 where it was cancelled."""
    from diffsim_ros.planning.excitation import design, load_excitation
    from diffsim_ros.planning.excitation.result import figures

    if options.estimated:
        rule = "absent: an excitation has no scene that is estimated"
        raise InputError("plan", "--estimated", options.estimated, rule)
    config = load_excitation(options.plan, set=options.set)

    def report(start: int, starts: int, iteration: int, objective: float) -> None:
        text = f"start {start + 1} of {starts}  iteration {iteration}  objective {objective:.6g}"
        line.show(text, "plan")

    with results_folder(options, FILES) as folder, ProgressLine() as line:
        result = run_cancellable(lambda c: design(config, progress=report, cancel=c), line=line)
        with folder.staging() as stage:
            write_all(stage, result, drawn=not options.no_report)
    print(summary(result))
    code = 0 if result.status == "designed" else 3
    return finish(options, folder, result.status, figures(result), code)


def summary(result: ExcitationResult) -> str:
    """Expected standard deviations, the arm's motion, and the notes."""
    from diffsim_ros.planning.arm_motion import arm_line
    from diffsim_ros.planning.excitation.result import unit_of

    config = result.config
    rows = [[name, f"{value:.3g}", unit_of(config, name)] for name, value in result.sigmas.items()]
    lines = [
        table([["expected", "sigma", "unit"], *rows]),
        arm_line(result.carried),
        f"efforts tell {result.rank} combinations of inertias, rotors and friction; standard "
        f"deviations are {result.gain:.2g} times those of random motions within the limits",
        *result.notes,
        f"{result.status} after {result.evaluations} motions in {result.seconds:.1f} s",
    ]
    return "\n".join(lines)


def write_all(stage: Path, result: ExcitationResult, *, drawn: bool = True) -> None:
    """Write every file of FILES into `stage`, (drawn) the picture too."""
    from diffsim_ros.planning.excitation.result import document, figures

    write_yaml(stage / "result.yaml", document(result))
    write_json(stage / "metrics.json", figures(result))
    write_yaml(stage / "trajectory.yaml", result.carried.trajectory.mapping())
    if drawn:
        from diffsim_ros.viz import style
        from diffsim_ros.viz.trajectory_plots import joint_motion

        figure = joint_motion(result.carried.trajectory, result.config.arm.limits)
        write_bytes(stage / "motion.png", style.png_bytes(figure))
