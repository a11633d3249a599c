"""`diffsim estimate`: parameters from recordings."""

from __future__ import annotations

import argparse
import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from diffsim_ros.commands.arguments import add_executors, add_recordings, add_results
from diffsim_ros.commands.results import finish
from diffsim_ros.commands.running import ProgressLine, asked_executor, run_cancellable
from diffsim_ros.commands.table import table
from diffsim_ros.errors import InputError
from diffsim_ros.output import OutputFolder
from diffsim_ros.yaml_file import read_yaml

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
    add_executors(command)
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
    _check_executor(options, config)
    drawn = not options.no_report
    with contextlib.ExitStack() as stack:
        shown = _viewed(options, config, stack)
        folder = stack.enter_context(open_folder(options.out, report=drawn, force=options.force))
        others = _folder_of_others(folder, options, stack)
        with ProgressLine() as line:

            def report(progress: Any) -> None:
                line(progress)
                if shown is not None:
                    shown(progress)

            def work(cancel: Any) -> Any:
                with asked_executor(options) as executor:
                    return estimate(
                        config, progress=report, cancel=cancel, executor=executor,
                        folder=options.resume,
                    )  # fmt: skip

            result = run_cancellable(work, line=line)
            line.show("writing the results", "writing")
            if options.force:
                remove_earlier(folder / ALTERNATIVES)
                stack.callback(_remove_empty, folder / ALTERNATIVES)
            write_results(result, folder, report=drawn)
        print(summary(result))
        code = 0 if result.converged else 3
        code = finish(options, folder, result.status, figures(result), code)
        if shown is not None:
            shown.finish(result)
            shown.wait()
        if others is not None and result.verdict is not None and result.verdict.grade != "good":
            _try_others(config, result, others, options)
    return code


def _check_executor(options: argparse.Namespace, config: Any) -> None:
    """InputError for an executor or a folder of parts that cannot be used, before any work."""
    from diffsim_ros.executors import check_address
    from diffsim_ros.real2sim.experiment import simulated

    for name in ("ray", "resume"):
        value = getattr(options, name)
        if value is not None and not simulated(config):
            rule = f"absent: an estimation of kind {config.kind} has no parts that take long"
            raise InputError("estimate", f"--{name}", value, rule)
    if options.ray is not None:
        check_address(options.ray)


def _folder_of_others(
    folder: OutputFolder, options: argparse.Namespace, stack: contextlib.ExitStack
) -> OutputFolder | None:
    """Where other models go with --try; InputError before any work if it cannot be used."""
    if not options.others:
        return None
    from diffsim_ros.commands import compare

    inner = OutputFolder(
        folder / ALTERNATIVES, compare.FILES, command="compare", force=options.force
    )
    return stack.enter_context(inner)


def remove_earlier(path: Path) -> None:
    """Remove the comparison that an earlier run left in a folder, if there is one: it is of other
    results.  What else is there stays."""
    from diffsim_ros.commands import compare

    if not (path / "result.yaml").is_file():
        return
    content = read_yaml(path / "result.yaml")
    if not isinstance(content, dict) or content.get("command") != "compare":
        return
    files = [str(name) for name in content.get("estimations") or ()]
    own = [name for name in files if Path(name).name == name and name.endswith(".yaml")]
    for name in (*own, *compare.FILES):
        (path / name).unlink(missing_ok=True)


def _remove_empty(path: Path) -> None:
    with contextlib.suppress(OSError):  # there is none, or something is in it
        path.rmdir()


def file_of(model: str) -> str:
    """Name of the file with a model's estimation."""
    return f"{model.replace(' ', '_')}.yaml"


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
    estimations and the comparison into a folder."""
    from diffsim_ros.commands import compare
    from diffsim_ros.real2sim.alternatives import alternatives
    from diffsim_ros.real2sim.model_choice import compare_models

    others, left_out = alternatives(config, result.verdict)
    for sentence in left_out:
        print(sentence)
    if not others:
        print("there is no other model to try")
        return

    def work(cancel: Any) -> Any:
        models = {config.name: config, **others}
        with asked_executor(options) as executor:
            return compare_models(
                models, folds=FOLDS, progress=line, cancel=cancel, executor=executor,
                folder=options.resume,
            )  # fmt: skip

    with ProgressLine() as line:
        found = run_cancellable(work, line=line)
    files = {file_of(name): one.source for name, one in others.items()}
    compare.write(found, folder, report=not options.no_report, estimations=files)
    print(f"\n{found.sentences[0] if found.status == 'cancelled' else compare.summary(found)}")
    print(f"estimations of these models in {folder.path}")


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
