"""`diffsim estimate`: parameters from recordings."""

from __future__ import annotations

import argparse
from typing import Any

from diffsim_ros.commands.running import ProgressLine, run_cancellable
from diffsim_ros.commands.table import table

LISTED = 6
"""Predictions that are listed one by one, if there are no more."""


def run(options: argparse.Namespace) -> int:
    """Estimate, write the results, print parameters and figures; 0 converged, else 3."""
    from diffsim_ros.real2sim.config import load_estimation
    from diffsim_ros.real2sim.estimate import estimate
    from diffsim_ros.real2sim.results import open_folder, write_results

    config = load_estimation(
        options.estimation, train=options.train, validate=options.validate, set=options.set
    )
    with open_folder(options.out) as folder, ProgressLine() as line:
        result = run_cancellable(
            lambda cancel: estimate(config, progress=line, cancel=cancel), line=line
        )
        line.show("writing the results", "writing")
        write_results(result, folder)
    print(summary(result))
    print(f"results in {folder.path}")
    return 0 if result.converged else 3


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
