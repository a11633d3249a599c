"""`diffsim compare`: which of several models the same recordings support."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from diffsim_ros.commands.arguments import add_executors, add_recordings, add_results
from diffsim_ros.commands.results import finish, results_folder
from diffsim_ros.commands.running import ProgressLine, asked_executor, run_cancellable
from diffsim_ros.commands.table import table
from diffsim_ros.errors import InputError
from diffsim_ros.output import OutputFolder, write_json, write_yaml

FILES = ("result.yaml", "metrics.json", "report.html", "held_out.png", "support.png")


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Those of `diffsim compare`."""
    command.add_argument("estimations", nargs="+", metavar="ESTIMATION.yaml", help="one per model")
    command.add_argument(
        "--variant", nargs="+", action="append", metavar=("NAME", "KEY=VALUE"),
        help="one more model: the first YAML with other values, e.g. "
        "linear scene.bodies.ball.viscosity_model=linear",
    )  # fmt: skip
    command.add_argument(
        "--folds", type=int, default=0, metavar="N",
        help="of the cross-validation [each trial alone up to 10, else 5]",
    )  # fmt: skip
    add_recordings(command)
    add_executors(command)
    add_results(command)


def run(options: argparse.Namespace) -> int:
    """Fit every model, write and print the verdict; 0, or 3 if one of them is not
    converged or it was cancelled: what had been fitted by then is kept."""
    from diffsim_ros.executors import check_address
    from diffsim_ros.real2sim.model_choice import check_alike, compare_models

    if options.ray is not None:
        check_address(options.ray)
    configs = models_of(options)
    check_alike(configs)
    with results_folder(options, FILES) as folder, ProgressLine() as line:

        def work(cancel: Any) -> Any:
            with asked_executor(options) as executor:
                return compare_models(
                    configs, folds=options.folds, progress=line, cancel=cancel, executor=executor,
                    folder=options.resume,
                )  # fmt: skip

        found = run_cancellable(work, line=line)
        line.show("writing the results", "writing")
        write(found, folder, report=not options.no_report)
    print(found.sentences[0] if found.status == "cancelled" else summary(found))
    code = 0 if found.status == "converged" else 3
    return finish(options, folder, found.status, found.metrics(), code)


def models_of(options: argparse.Namespace) -> dict[str, Any]:
    """Name -> estimation: the files, then the variants of the first one."""
    from diffsim_ros.real2sim.config import load_estimation

    if options.folds == 1 or options.folds < 0:
        raise InputError("compare", "--folds", options.folds, "0 (a trial each), or 2 and more")
    given = {"train": options.train, "validate": options.validate}
    loaded = [
        (path, load_estimation(path, set=options.set, **given)) for path in options.estimations
    ]
    names = [config.name for _, config in loaded]
    if len(set(names)) < len(names):
        names = [Path(path).stem for path, _ in loaded]
    models: dict[str, Any] = {}
    for name, (_, config) in zip(names, loaded, strict=True):
        _add(models, name, config)
    for name, *changes in options.variant or ():
        if not changes:
            rule = "NAME KEY=VALUE ..., e.g. linear scene.bodies.ball.viscosity_model=linear"
            raise InputError("compare", "--variant", name, rule)
        first = options.estimations[0]
        _add(models, name, load_estimation(first, set=[*options.set, *changes], **given))
    return models


def _add(models: dict[str, Any], name: str, config: Any) -> None:
    if name in models:
        raise InputError("compare", "models", name, "each name once", "give files other names")
    models[name] = config


def write(
    found: Any, folder: OutputFolder, *, report: bool = True,
    estimations: Mapping[str, Any] | None = None,
) -> None:  # fmt: skip
    """Write result.yaml, metrics.json, and (report) report.html and its pictures: all or none.

    estimations  file -> content of a model's estimation, written beside them
    Of a comparison that was cancelled there is no page.
    """
    files = {} if estimations is None else {"estimations": list(estimations)}
    with folder.staging() as stage:
        for name, content in (estimations or {}).items():
            write_yaml(stage / name, content)
        write_yaml(stage / "result.yaml", {"command": "compare", **files, **found.document()})
        write_json(stage / "metrics.json", found.metrics())
        if report and found.status != "cancelled":
            from diffsim_ros.viz.comparison_report import write_comparison_report

            write_comparison_report(stage / "report.html", found)


def summary(found: Any) -> str:
    """The verdict in words, and the table that it rests on."""
    metrics = found.metrics()["models"]
    keys = sorted({k for m in metrics.values() for k in m["held_out"]} - {"trials", "rms_residual"})
    rows: list[Sequence[str]] = [["model", "held out", *keys, "delta AIC", "delta BIC"]]
    for name, m in metrics.items():
        held = m["held_out"]
        figures = [f"{held[k]:.4g}" if k in held else "-" for k in ("rms_residual", *keys)]
        rows.append([name, *figures, f"{m['delta_aic']:.4g}", f"{m['delta_bic']:.4g}"])
    lines = [found.sentences[0], "", table(rows), "", *found.sentences[1:], *found.notes]
    for model in found.models:
        for name, p in model.parameters().items():
            sigma = "" if p["std_dev"] is None else f" +- {p['std_dev']:.2g}"
            note = f" ({p['note']})" if p["note"] else ""
            lines.append(f"{model.name}: {name} {p['value']:.6g}{sigma} {p['unit']}{note}")
    return "\n".join(lines)
