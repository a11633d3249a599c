"""Faults at random instants while the driver moves an arm, evaluated by the robot's own record.

Robot (the mock controller in each of its versions), driver and clients are processes; two pipelines
of them run side by side, in ROS domains of their own.  Each execution has a motion from where the
arm stands, at random close to the limits, and a fault at a random instant, in a fifth of them two.
The robot writes down every control cycle, and the judge (faults_judge.py) asks of each execution:

1. the commands of the driver's trajectories keep the arm's limits to 1 %.  Brakes after a
   cancellation are the controller's own and have figures of their own (position, velocity); what
   another client sends is its own affair until the driver stops it;
2. the gripper opened only within its bounds of place, velocity and lateness, by the record,
   and never after a cancellation was accepted, in a stop, or after the end was reported;
3. the arm rests afterwards, and no trajectory of the driver runs on;
4. the answer is true to the record;
5. no process prints an exception, ends with another exit code than it should, or is late.

Then drivers that are broken on purpose (faults_breaks.py) go through the same: each must be caught.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path

from .common import ROOT, judged, share

EXECUTIONS, PIPELINES, SEED = 2010, 4, 20261122
BROKEN = {
    "release_unchecked": ["replaced_by_topic", "driver_stopped", "none"],
    "cancel_rejected": ["cancel"],
    "path_unchecked": ["replaced_by_topic"],
    "limits_unchecked": ["unsafe_goal"],
}
"""Break of the driver -> faults under which it must be detected."""
TRIED = 24
"""Executions of a broken driver."""
PROGRESS = 50
WORST = ("told_position", "told_velocity", "told_acceleration", "told_step", "brake_position",
         "brake_velocity", "release_place", "release_velocity", "release_lateness",
         "release_transport", "rest_after_fault")  # fmt: skip
"""Figures of an execution of which the largest counts."""
LOG = os.environ.get("FAULTS_LOG", "")
"""File to which every execution is written, a line each; empty: none."""


def run(jobs: Sequence[dict], heed: Callable[[dict], None]) -> None:
    """Run a pipeline for each job (see faults_pipeline); heed(execution) gets each as it ends."""
    lock, running = threading.Lock(), []

    def read(process: subprocess.Popen) -> None:
        for line in process.stdout:
            with lock:
                heed(json.loads(line))

    with tempfile.TemporaryDirectory() as folder:
        for k, job in enumerate(jobs):
            given = json.dumps({**job, "folder": str(Path(folder) / str(k))})
            process = subprocess.Popen(
                [sys.executable, "-m", "validation.faults_pipeline", given],
                stdout=subprocess.PIPE, cwd=ROOT, text=True,
            )  # fmt: skip
            thread = threading.Thread(target=read, args=(process,))
            thread.start()
            running.append((process, thread))
        try:
            for process, thread in running:
                thread.join()
                process.wait()
        finally:
            for process, _ in running:
                process.terminate()
                process.wait()
                process.stdout.close()
    codes = [process.returncode for process, _ in running]
    if any(codes):
        heed({"trouble": f"pipelines ended with {codes}"})


class Tally:
    """Figures over executions; called with each."""

    def __init__(self, total: int) -> None:
        self.total, self.done, self.begun = total, [], time.monotonic()
        self.troubles: list[str] = []

    def __call__(self, one: dict) -> None:
        """Count an execution, and print how far it is."""
        if "trouble" in one:
            self.troubles.append(one["trouble"])
            print(f"trouble: {one['trouble']}", flush=True)
            return
        self.done.append(one)
        if LOG:
            with open(LOG, "a") as file:
                file.write(json.dumps(one) + "\n")
        for text in one["violations"]:
            print(f"VIOLATION {one['faults']} {one['code']}: {text}", flush=True)
        if len(self.done) % PROGRESS == 0:
            minutes = (time.monotonic() - self.begun) / 60
            print(f"{len(self.done)} of {self.total}, {minutes:.1f} min", flush=True)

    def figures(self) -> dict:
        """Overall, and by fault: one with two faults counts for both."""
        by_fault = defaultdict(list)
        for one in self.done:
            for name in one["faults"]:
                by_fault[name].append(one)
        keys = ("version", "output", "gripper", "kind", "wall", "process")
        counts = {key: dict(Counter(str(one[key]) for one in self.done)) for key in keys}
        return {
            "executions": len(self.done),
            "robots_that_went_deaf": sum(one["deaf"] for one in self.done),
            "with_two_faults": sum(len(one["faults"]) > 1 for one in self.done),
            **{f"by_{key}": found for key, found in counts.items()},
            "all": summed(self.done),
            "by_fault": {name: summed(ones) for name, ones in sorted(by_fault.items())},
            "examples_of_violations": [
                f"{'+'.join(one['faults'])}: {text}" for one in self.done
                for text in one["violations"]
            ][:20],
            "troubles_of_the_bench": self.troubles[:20],
        }  # fmt: skip


def summed(ones: Sequence[dict]) -> dict:
    """Counts and worst figures of executions."""
    worst = {}
    for name in WORST:
        values = [one["figures"][name] for one in ones if name in one["figures"]]
        if values:
            worst[name] = round(max(values), 4)
    return {
        "executions": len(ones),
        "happened_in_time": sum(len(one["happened"]) > 0 for one in ones),
        "ends": dict(Counter(one["code"] for one in ones)),
        "releases": dict(Counter(one["release"] for one in ones)),
        "worst": worst,
        "longest": round(max((one["seconds"] for one in ones), default=0.0), 1),
        "violations": sum(len(one["violations"]) > 0 for one in ones),
    }


def broken(names: Sequence[str], count: int) -> dict[str, dict]:
    """Drivers that are broken so: how many executions, and in how many of them it was detected."""
    tally = Tally(count * len(names))
    jobs = []
    for k, name in enumerate(names):
        faults = BROKEN[name]
        main = [faults[i % len(faults)] for i in range(count)]
        jobs.append({"seed": SEED + 100 + k, "names": main, "breaks": [name]})
    run(jobs, tally)
    found = {}
    for name in names:
        ones = [one for one in tally.done if one["breaks"] == [name]]
        caught = [one for one in ones if one["violations"]]
        sentences = sorted({text[:80] for one in caught for text in one["violations"]})
        found[name] = {"executions": len(ones), "caught": len(caught), "said": sentences[:5]}
    return found


def study(
    fraction: float = 1.0, *, pipelines: int = PIPELINES, breaks: Sequence[str] = tuple(BROKEN)
) -> dict:
    """Figures over EXECUTIONS times `fraction`, and of the broken drivers."""
    count = share(EXECUTIONS, fraction)
    counts = [count // pipelines + (k < count % pipelines) for k in range(pipelines)]
    tally = Tally(count)
    run([{"seed": SEED + k, "count": number} for k, number in enumerate(counts)], tally)
    figures = tally.figures()
    return finished(figures, count, broken(breaks, share(TRIED, max(fraction, 0.25))))


def finished(figures: dict, count: int, broken_drivers: dict[str, dict]) -> dict:
    """All figures; Missed where a bar was."""
    figures, missed = {**figures, "broken_drivers": broken_drivers}, []
    if figures["executions"] < count:
        missed.append(f"{figures['executions']} of {count} executions were done")
    if figures["all"]["violations"]:
        missed.append(f"{figures['all']['violations']} executions with violations")
    for name, found in figures["broken_drivers"].items():
        if not found["caught"]:
            missed.append(f"a driver with {name} was not caught")
    return judged(figures, missed)
