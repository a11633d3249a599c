"""`diffsim check-gradient`: exact gradients against differences, and against the motion's.

A scene is checked with the objective (1, 1/2, 1/4) . (mean final position), by its `parameters:`
or, where it has none, by every number of the scene that is not at a bound.  An estimation is
checked with its own objective on its first training trials, one by one.  Whether the derivative of
the steps as run is that of the motion is a second question (inverse/gradient_settling.py), and for
how large a change it holds a third one (inverse/gradient_reach.py).
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from typing import Any

from diffsim_ros import __version__
from diffsim_ros.commands.arguments import add_changes, add_results
from diffsim_ros.commands.results import finish, results_folder
from diffsim_ros.commands.running import ProgressLine, run_cancellable
from diffsim_ros.commands.table import table
from diffsim_ros.errors import InputError
from diffsim_ros.output import plain, write_json, write_yaml

FILES = ("result.yaml", "metrics.json")
WEIGHTS = (1.0, 0.5, 0.25)
SHOWN = 30  # parameters of a problem that are printed; result.yaml has all
TRIALS = 5  # training trials of an estimation that are checked
# A usual change of a number that is zero in the scene, or whose size is no guide, by unit.
USUAL = {"m": 0.1, "rad": 0.1, "m/s": 1.0, "rad/s": 1.0, "m/s^2": 1.0}


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Those of `diffsim check-gradient`."""
    command.add_argument("file", metavar="SCENE.yaml|ESTIMATION.yaml")
    add_changes(command, "world.step=1/500")
    command.add_argument("--directions", type=int, default=20, help="random directions [20]")
    command.add_argument("--seed", type=int, default=0, help="of the directions [0]")
    text = "leave out whether derivatives depend on the step, on the phase of contacts, and for "
    text += "which changes they hold"
    command.add_argument("--no-settling", action="store_true", help=text)
    text = (
        "exit 3 too where a derivative is not that of the motion, or holds for small changes only"
    )
    command.add_argument("--strict", action="store_true", help=text)
    add_results(command, report="")


def run(options: argparse.Namespace) -> int:
    """Check, print the directions, write the report; 0 if all rules are met, else 3."""
    if options.directions < 1:
        raise InputError("check-gradient", "--directions", options.directions, "at least 1")
    if options.strict and options.no_settling:
        raise InputError("check-gradient", "--strict", "--no-settling", "one of them, or neither")
    problems = problems_of(options.file, options.set)
    with results_folder(options, FILES) as folder, ProgressLine() as line:
        report, settling = run_cancellable(
            lambda token: (
                check(problems, options, token, line),
                [] if options.no_settling else settle(problems, token, line),
            ),
            line=line,
        )
        with folder.staging() as stage:
            result, metrics = (
                document(options, problems, report, settling),
                figures(report, settling),
            )
            write_yaml(stage / "result.yaml", result)
            write_json(stage / "metrics.json", metrics)
    print(listing(report))
    for one in settling:
        print(settling_listing(one))
    code = 0 if passed(options, report, settling) else 3
    return finish(options, folder, result["status"], metrics, code)


def problems_of(path: str, changes: Sequence[str] = ()) -> list[tuple[str, Any]]:
    """(label, problem) of a scene or of an estimation file; raises InputError."""
    from diffsim_ros.yaml_file import read_yaml

    content = read_yaml(path)
    if isinstance(content, dict) and "scene" in content:
        return _estimation_problems(path, changes)
    return [("scene", _scene_problem(path, changes))]


def _scene_problem(path: str, changes: Sequence[str]) -> Any:
    """Problem of a scene: its parameters, and the mean final position as the objective."""
    from diffsim_ros.inverse.objectives import LinearFunctional
    from diffsim_ros.inverse.parameters import ParameterMap
    from diffsim_ros.inverse.simulation_problem import SimulationProblem
    from diffsim_ros.inverse.trial import Trial
    from diffsim_ros.scene import load_scene

    model = load_scene(path, set=changes)
    if model.parameters:
        chosen = ParameterMap(model.parameters, model.engine)
    else:
        usual = usual_changes(model.engine)
        chosen = ParameterMap.of_scene(model.engine, usual, usual)
    bodies = model.engine.body_names
    weights = tuple(w / len(bodies) for w in WEIGHTS)
    objectives = tuple(LinearFunctional(name, position=weights) for name in bodies)
    steps = model.steps - model.steps % model.options.record_every
    trials = [Trial(model.place, steps, objectives)]
    return _sharp(SimulationProblem(model.engine, model.options, chosen, trials))


def usual_changes(engine: Any) -> dict[str, float]:
    """Name -> usual change of every engine parameter that lies inside its bounds."""
    values = dict(zip((i.name for i in engine.parameters), engine.values.tolist(), strict=True))
    usual = {}
    for info in engine.parameters:
        value = values[info.name]
        if not info.lower < value < info.upper:
            continue  # a difference across a physical bound cannot be simulated
        if ".inertia." in info.name:
            body = info.name.split(".")[0]
            usual[info.name] = sum(values[f"{body}.inertia.{k}"] for k in ("xx", "yy", "zz")) / 3
        elif info.initial or value == 0:
            usual[info.name] = USUAL.get(info.unit, 1.0)
        else:
            usual[info.name] = abs(value)
    return usual


def _estimation_problems(path: str, changes: Sequence[str]) -> list[tuple[str, Any]]:
    """One problem per training trial, at the first guess of the file."""
    from diffsim_ros.real2sim.config import load_estimation
    from diffsim_ros.real2sim.experiment import experiment_of

    config = load_estimation(path, set=changes)
    experiment = experiment_of(config)
    model, trials = experiment.model, experiment.read({"validate": ()}).train[:TRIALS]
    return [(trial.place, _sharp(model.problem([trial], model.map.start))) for trial in trials]


def _sharp(problem: Any) -> Any:
    """Newton to stagnation and recorded branches, as the protocol wants."""
    problem.options.stagnate = True
    problem.options.record_modes = True
    return problem


def check(problems: list, options: argparse.Namespace, token: Any, line: ProgressLine) -> Any:
    """GradientReport over all problems; the directions are shared out among them."""
    from diffsim_ros.inverse.gradient_check import GradientReport, check_problem

    share = math.ceil(options.directions / len(problems))
    reports = []
    for i, (label, problem) in enumerate(problems):
        if token.cancelled:
            break
        line.show(f"{label} ({i + 1} of {len(problems)})", label)
        reports.append(check_problem(problem, directions=share, seed=options.seed + i, label=label))
    return GradientReport.merged(reports)


def settle(problems: list, token: Any, line: ProgressLine) -> list:
    """Of every problem its SettlingReport, or why it has none: (label, reason)."""
    from diffsim_ros.inverse.gradient_settling import check_settling

    reports: list = []
    for i, (label, problem) in enumerate(problems):
        line.show(f"{label}: other steps and phases ({i + 1} of {len(problems)})", label)
        try:
            reports.append(check_settling(problem, label=label, cancel=token))
        except InputError as error:
            reports.append((label, "cancelled" if token.cancelled else str(error)))
        if token.cancelled:
            break
    return reports


def all_settled(settling: list) -> bool:
    """Whether every problem was examined, and all its derivatives are those of the motion."""
    return all(not isinstance(one, tuple) and one.settled for one in settling)


def passed(options: argparse.Namespace, report: Any, settling: list) -> bool:
    """Whether the exact check passed and, with --strict, all derivatives are settled."""
    return report.passed and (all_settled(settling) or not options.strict)


def figures(report: Any, settling: list) -> dict:
    """Content of metrics.json."""
    found = {
        "passed": int(report.passed),
        "directions": len(report.checks),
        "without_plateau": len(report.lacking),
        "failed": len(report.failed),
        "share_within_1e-6": report.fine_share,
        "worst_error": report.worst,
        "sensitivity_against_adjoint": report.adjoint,
    }
    reports = [one for one in settling if not isinstance(one, tuple)]
    if settling:
        found["settled"] = int(all_settled(settling))
    if reports:
        verdicts = [p.verdict for one in reports for p in one.parameters]
        found["settling_derivatives"] = len(verdicts)
        found["settling_unsettled"] = sum(v != "settled" for v in verdicts)
        reached = [p.reach for one in reports for p in one.parameters if p.reach is not None]
        found["settling_small_changes"] = sum(not reach.enough for reach in reached)
        shares = [r.right_up_to / r.usual for r in reached if math.isfinite(r.right_up_to)]
        found["settling_least_reach"] = min(shares, default=None)
        found["settling_worst_error"] = max(one.worst for one in reports)
        found["settling_without_limit"] = sum(not one.limit for one in reports)
        growths = [one.growth for one in reports if math.isfinite(one.growth)]
        found["settling_growth"] = max(growths, default=None)
    return found


def document(options: argparse.Namespace, problems: list, report: Any, settling: list) -> dict:
    """Content of result.yaml."""
    keys = ("label", "exact", "difference", "error", "spread", "epsilon", "clean")
    rows = [{key: getattr(c, key) for key in keys} | {"passed": c.passed} for c in report.checks]
    done = passed(options, report, settling)
    content = {
        "command": "check-gradient",
        "version": __version__,
        "file": str(options.file),
        "seed": options.seed,
        "status": "converged" if done else "not_converged",
        "message": report.summary(),
        "parameters": list(problems[0][1].names),
        "directions": plain(rows, undefined=None),
    }
    if settling:
        content["settling"] = plain([settled_problem(one) for one in settling], undefined=None)
    return content


def settled_problem(report: Any) -> dict:
    """A problem's entry of `settling` in result.yaml."""
    if isinstance(report, tuple):
        return {"label": report[0], "settled": False, "message": f"not examined: {report[1]}"}
    return {
        "label": report.label,
        "settled": report.settled,
        "message": report.summary(),
        "step": report.step,
        "growth": report.growth,
        "cause": None if report.cause is None else vars(report.cause),
        "approaches_limit": report.limit,
        "jumps": report.jumps,
        "spread_at_fraction_of_step": {f"1/{n}": spread for n, spread in report.spreads},
        "failed_runs": report.failed,
        "parameters": [
            vars(p) | {"reach": None if p.reach is None else vars(p.reach)}
            for p in report.parameters
        ],
    }


def listing(report: Any) -> str:
    """The directions as a table, and the summary."""
    rows = [["direction", "exact", "differences", "error", "spread", ""]]
    for c in report.checks:
        verdict = "" if c.passed else ("out of tolerance" if c.has_plateau else "no plateau")
        numbers = (f"{v:.9g}" for v in (c.exact, c.difference))
        rows.append([c.label, *numbers, f"{c.error:.1e}", f"{c.spread:.1e}", verdict])
    return table(rows) + "\n" + report.summary()


def settling_listing(report: Any) -> str:
    """A problem's derivatives beside the motion's, the unsettled first, and the summary."""
    from diffsim_ros.inverse.gradient_settling import percent

    if isinstance(report, tuple):
        return f"\n{report[0]}: other steps and phases were not examined: {report[1]}"
    head = "derivative by", "at the step", "the motion's", "phases", "h/2", "h/4", "error"
    rows = [[*head, "right up to", ""]]
    for p in sorted(report.parameters, key=lambda p: (p.verdict == "settled", -p.error))[:SHOWN]:
        shares = (percent(v) for v in (p.spread, p.half, p.quarter, p.error))
        reach = "" if p.reach is None else p.reach.short
        rows.append([p.name, f"{p.gradient:.4g}", f"{p.reference:.4g}", *shares, reach, p.verdict])
    hidden = len(report.parameters) - SHOWN
    more = f"\n... and {hidden} with smaller errors in result.yaml" if hidden > 0 else ""
    return f"\n{table(rows)}{more}\n{report.summary()}"
