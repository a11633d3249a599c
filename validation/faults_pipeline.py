"""One of the fault study's pipelines: a process with a ROS domain of its own.

`python -m validation.faults_pipeline JSON`: seed, count, folder, breaks; prints a line of JSON for
each execution.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

import numpy as np

from diffsim_ros.nodes.processes import own_domain

from .faults_bench import Bench, Failed
from .faults_judge import Judge, Trace
from .faults_run import execution
from .faults_scenes import queue, scene

KEPT = 30
"""Executions that a driver lives at most, so that its parameters vary."""
TRIES = 3


def summary(trace: Trace, judge: Judge, seconds: float) -> dict:
    """What the study keeps of one execution."""
    report = trace.report
    return {
        "faults": trace.scene.names,
        "happened": [name for name in trace.scene.names if name in trace.at],
        "kind": trace.scene.kind,
        "version": trace.scene.version,
        "wall": trace.wall,
        "output": trace.output,
        "gripper": trace.gripper,
        "process": trace.scene.process,
        "code": report.code if report else "none",
        "message": report.message if report else "",
        "release": "none" if not judge.plan or judge.plan.release is None else
                   "made" if judge.opened else "withheld",
        "figures": judge.figures,
        "deaf": trace.deaf,
        "violations": judge.violations,
        "seconds": seconds,
    }  # fmt: skip


class Pipeline:
    """Executions one after the other."""

    def __init__(self, seed: int, folder: Path, breaks: tuple[str, ...]) -> None:
        self.rng = np.random.default_rng(seed)
        self.bench = Bench(folder, self.rng, breaks)
        self.wall, self._age = False, 0

    def run(self, names: list[str]) -> None:
        """Have every main fault of `names` happen; prints."""
        names = list(names)
        while names:
            dead = self.bench.driver is None or self.bench.driver.code is not None
            if dead or self._age >= KEPT:
                if not dead:
                    self._report_end()
                timed = sum(not name.startswith("clock_") for name in names)
                self.wall = bool(self.rng.random() < 0.4 * (timed / len(names)))
                self._age = 0
            fits = [k for k, name in enumerate(names)
                    if not (self.wall and name.startswith("clock_"))]  # fmt: skip
            if not fits:
                self._age = KEPT
                continue
            self._one(names.pop(fits[0]))

    def _report_end(self) -> None:
        wrong = self.bench.end_driver()
        if wrong:
            print(json.dumps({"trouble": wrong}), flush=True)

    def _one(self, name: str) -> None:
        begun, bench = time.monotonic(), self.bench
        wanted = scene(self.rng, bench.arm, np.array(bench.position), name, wall=self.wall)
        for attempt in range(TRIES):
            try:
                bench.make_ready(wanted, self.wall)
                break
            except Failed as error:
                print(json.dumps({"trouble": str(error)}), flush=True)
                bench.give_up()
                if attempt == TRIES - 1:
                    raise
        trace = execution(bench, wanted, self.wall)
        self._age += 1
        judge = Judge(trace, bench.arm)
        one = summary(trace, judge, time.monotonic() - begun)
        print(json.dumps({**one, "breaks": bench.breaks}), flush=True)
        if (judge.violations or trace.deaf) and os.environ.get("FAULTS_KEEP"):
            self._keep(trace, judge)

    def _keep(self, trace: Trace, judge: Judge) -> None:
        """For finding the reason."""
        import pickle

        folder = Path(os.environ["FAULTS_KEEP"])
        folder.mkdir(exist_ok=True)
        with (folder / f"{time.monotonic_ns()}.pickle").open("wb") as file:
            pickle.dump((trace, judge.violations), file)


def main() -> int:
    """One pipeline."""
    given = json.loads(sys.argv[1])
    folder = Path(given["folder"])
    folder.mkdir(parents=True, exist_ok=True)
    names = given.get("names") or queue(np.random.default_rng(given["seed"]), given["count"])
    with own_domain():
        pipeline = Pipeline(given["seed"], folder, tuple(given.get("breaks", ())))
        try:
            pipeline.run(names)
        finally:
            pipeline.bench.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
