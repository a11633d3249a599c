"""What the studies share: counts of a fraction, binomial bounds, and where results go."""

from __future__ import annotations

import json
import math
import platform
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from scipy.stats import binom

from diffsim_ros.commands.running import ProgressLine
from diffsim_ros.executors import Executor, executor_of, gather
from diffsim_ros.executors.executor import Function
from diffsim_ros.executors.tasks import Report

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "docs" / "results"
EVERY = 20.0
"""Seconds between lines of progress."""


class Executors:
    """Where the studies' independent tasks run, as `python -m validation` was asked to."""

    ray: str | None = None
    """Address of a Ray cluster, None: where each study runs its own."""
    resume: Path | None = None
    """Folder that keeps finished tasks."""


class Models:
    """Robots and scenes that the study `zoo` examines."""

    folder: Path | None = None
    """Given by `--models`; None: the packages that have some."""


def side_by_side(
    function: Function, tasks: Sequence[Any], shared: Any = None, *, here: Executor,
    what: str = "cases", progress: Report | None = None,
) -> list[Any]:  # fmt: skip
    """Results, plain data, of independent tasks in their order; by `here` unless a cluster was
    asked for.

    what      the tasks are, for progress
    progress  called with (done, all) [a line on stderr every EVERY seconds]
    """
    with ExitStack() as stack:
        ray = Executors.ray
        executor = here if ray is None else stack.enter_context(executor_of(ray))
        return gather(
            function, tasks, shared, executor=executor, folder=Executors.resume,
            progress=progress or stack.enter_context(ProgressLine(every=EVERY)).count(what),
        )  # fmt: skip


class Missed(AssertionError):
    """Bars that a study missed, one sentence each, with the figures that it measured."""

    def __init__(self, figures: dict, missed: Sequence[str]) -> None:
        super().__init__("; ".join(missed))
        self.figures, self.missed = figures, list(missed)


def judged(figures: dict, missed: Sequence[str]) -> dict:
    """The figures; Missed, which keeps them, unless no bar was missed."""
    if missed:
        raise Missed(figures, missed)
    return figures


def share(count: int, fraction: float) -> int:
    """`count` of the full study at this fraction of it, rounded up."""
    return math.ceil(count * fraction - 1e-9)


def binomial_bounds(n: int, low: float, high: float, fraction: float) -> tuple[int, int]:
    """Counts out of n that pass for a rate in [low, high].

    The full study asserts the rate itself; a tenth the 99.9 % binomial bound around it.
    """
    if fraction >= 1:
        return math.ceil(low * n - 1e-9), math.floor(high * n + 1e-9)
    return int(binom.ppf(0.0005, n, low)), int(binom.ppf(0.9995, n, high))


def cpu() -> str:
    """Kind of CPU, for the records."""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or "unknown"


def commit() -> str:
    """The checkout's commit, marked when files differ from it, what studies have recorded aside."""
    run = ["git", "-C", str(ROOT)]
    try:
        head = subprocess.run(
            [*run, "rev-parse", "--short", "HEAD"], capture_output=True, text=True
        )
        rest = ["--", str(ROOT), f":(exclude){RESULTS}"]  # one study after another stays unmarked
        dirty = subprocess.run(
            [*run, "status", "--porcelain", *rest], capture_output=True, text=True
        )
    except OSError:
        return "unknown"
    return head.stdout.strip() + ("+" if dirty.stdout.strip() else "")


def record(name: str, figures: dict, seconds: float) -> Path:
    """Write figures to docs/results/NAME.json with commit, date and kind of CPU."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    path = RESULTS / f"{name}.json"
    header = {
        "commit": commit(), "date": time.strftime("%Y-%m-%d"), "cpu": cpu(),
        "seconds": round(seconds, 1),
    }  # fmt: skip
    path.write_text(json.dumps(header | figures, indent=2) + "\n")
    return path


def run_and_record(name: str, study: Callable[..., dict]) -> dict:
    """Run a whole study, record its figures, and return them.

    Those of a study that raises Missed are recorded too, with the bars under "missed"; it goes on.
    """
    start = time.perf_counter()
    try:
        figures = study()
    except Missed as error:
        record(name, {"missed": error.missed, **error.figures}, time.perf_counter() - start)
        raise
    record(name, figures, time.perf_counter() - start)
    return figures
