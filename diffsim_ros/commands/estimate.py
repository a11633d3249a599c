"""`diffsim estimate`: parameters from recordings."""

from __future__ import annotations

import argparse
import contextlib
from typing import TYPE_CHECKING, Any

from diffsim_ros.commands.arguments import add_recordings, add_results
from diffsim_ros.commands.results import finish
from diffsim_ros.commands.running import ProgressLine, run_cancellable
from diffsim_ros.commands.table import table
from diffsim_ros.output import OutputFolder, write_yaml

if TYPE_CHECKING:
    from diffsim_ros.commands.estimate_view import FitView

LISTED = 6
"""Predictions that are listed one by one, if there are no more."""
ALTERNATIVES = "alternatives"
"""Folder of other models that were tried, in that of the results."""
FOLDS = 3
"""In which they are compared."""


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Those of `diffsim estimate`."""
    command.add_argument("estimation", metavar="ESTIMATION.yaml")
    text = "where the verdict is below good, fit what it advises and other laws too"
    command.add_argument("--try", dest="others", action="store_true", help=text)
    text = "show measured and simulated motion in the browser while the fit converges"
    command.add_argument("--view", action="store_true", help=text)
    add_recordings(command)
    add_results(command, report="report.html, pictures and motion.mcap")


def run(options: argparse.Namespace) -> int:
    """Estimate, write the results, print parameters and figures; 0 converged, else 3.

    With --try other models are compared with it where its verdict is below good.
    """
    from diffsim_ros.real2sim.config import load_estimation
    from diffsim_ros.real2sim.estimate import estimate
    from diffsim_ros.real2sim.results import open_folder, write_results

    config = load_estimation(
        options.estimation, train=options.train, validate=options.validate, set=options.set
    )
    drawn = not options.no_report
    with contextlib.ExitStack() as stack:
        shown = _viewed(options, config, stack)
        opened = open_folder(options.out, report=drawn, force=options.force)
        with opened as folder, ProgressLine() as line:

            def report(progress: Any) -> None:
                line(progress)
                if shown is not None:
                    shown(progress)

            result = run_cancellable(
                lambda cancel: estimate(config, progress=report, cancel=cancel), line=line
            )
            line.show("writing the results", "writing")
            write_results(result, folder, report=drawn)
        print(summary(result))
        code = 0 if result.converged else 3
        code = finish(options, folder, result.status, figures(result), code)
        if shown is not None:
            shown.finish(result)
            shown.wait()
    if options.others and result.verdict is not None and result.verdict.grade != "good":
        _try_others(config, result, folder, options)
    return code


def figures(result: Any) -> dict:
    """Headline figures: the verdict's grade, values with standard deviations, errors."""
    found: dict[str, Any] = {
        "verdict": None if result.verdict is None else result.verdict.grade,
        "parameters": {
            p.name: {"value": p.value, "std_dev": p.std_dev, "unit": p.unit}
            for p in result.parameters
        },
    }
    for phase in ("train", "validate"):
        errors = result.metrics.get(phase) or {}
        found[phase] = {k: v for k, v in errors.items() if isinstance(v, (int, float))}
    return found


def _viewed(
    options: argparse.Namespace, config: Any, stack: contextlib.ExitStack
) -> FitView | None:
    """What shows the fit in the browser, with --view."""
    if not options.view:
        return None
    from diffsim_ros.commands.estimate_view import FitView
    from diffsim_ros.commands.live_view import opened

    return FitView(opened(stack), config)


def _try_others(
    config: Any, result: Any, folder: OutputFolder, options: argparse.Namespace
) -> None:
    """Compare the estimation with what its verdict advises and with other laws, and write their
    estimations and the comparison into a folder of the results."""
    from diffsim_ros.commands import compare
    from diffsim_ros.real2sim.alternatives import alternatives
    from diffsim_ros.real2sim.model_choice import compare_models

    others, left_out = alternatives(config, result.verdict)
    for sentence in left_out:
        print(sentence)
    if not others:
        print("there is no other model to try")
        return
    files = {name: f"{name.replace(' ', '_')}.yaml" for name in others}
    inner = OutputFolder(
        folder.path / ALTERNATIVES, (*compare.FILES, *files.values()), command="compare",
        force=options.force,
    )  # fmt: skip
    with inner, ProgressLine() as line:
        found = run_cancellable(
            lambda cancel: compare_models(
                {config.name: config, **others}, folds=FOLDS, progress=line, cancel=cancel
            ),
            line=line,
        )
        with inner.staging() as stage:
            for name, file in files.items():
                write_yaml(stage / file, others[name].source)
        compare.write(found, inner, report=not options.no_report)
    print(f"\n{found.sentences[0] if found.status == 'cancelled' else compare.summary(found)}")
    print(f"estimations of these models in {inner.path}")


def summary(result: Any) -> str:
    """Parameters with standard deviations, and the figures of training and validation."""
    rows = [["parameter", "value", "std dev", "unit", "note"]]
    for p in result.parameters:
        deviation = "-" if p.std_dev is None else f"{p.std_dev:.2g}"
        rows.append([p.name, f"{p.value:.6g}", deviation, p.unit, p.note])
    lines = [table(rows)]
    for phase in ("train", "validate"):
        figures = result.metrics.get(phase) or {}
        shown = [f"{k} {v:.4g}" for k, v in figures.items() if isinstance(v, (int, float))]
        if shown:
            lines.append(f"{phase}: " + ", ".join(shown))
    if len(result.predictions) <= LISTED:
        for prediction in result.predictions:
            shown = [f"{k} {v:.4g}" for k, v in prediction.errors.items() if "." not in k]
            lines.append(f"{prediction.role} {prediction.name}: " + ", ".join(shown))
    lines += list(result.notes)
    if result.verdict is not None:
        lines.append(f"verdict: {result.verdict}")
    lines.append(f"status: {result.status}: {result.message}")
    return "\n".join(lines)
