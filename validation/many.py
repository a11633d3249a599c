"""Many tasks on a local Ray cluster of several nodes, beside this process: digits, speed, losses.

The nodes are of one machine, so the speed-up of two workers is that of its two cores.  Ratios are
of runs one after the other, repeated; they hang on what else the machine does: `load` tells.
Without Ray (extra `ray`) only what runs in this process and in processes is measured.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from diffsim_ros.executors import Executor, InProcess, Processes, RayExecutor, gather, stream
from diffsim_ros.executors.ray_cluster import RECOUNT
from diffsim_ros.simulation import load_scene

from .common import ROOT, judged, share

SCENE = ROOT / "config" / "scenes" / "bouncing_cube.yaml"
MOTIONS, TIMED, SHORT = 200, 60, 100_000
REPEATS = 5
WORK = 0.1
"""CPU time of a task whose speed-up is measured [s]."""
LEAST_SPEED_UP, MOST_OVERHEAD = 1.8, 0.2
KILLED = 120
"""Tasks of a run in which something is killed."""


def motion(scene: Any, velocity: Sequence[float], cancel: Any) -> np.ndarray:
    """Poses (frames, 3) of a thrown cube."""
    names = (f"cube.velocity.{axis}" for axis in "xyz")
    run = scene.rollout(dict(zip(names, velocity, strict=True)), duration=0.5)
    return run["cube"].position


def busy(seconds: float, task: int, cancel: Any) -> tuple[int, float]:
    """Works for so much CPU time; (task, time that passed)."""
    begun, end = time.perf_counter(), time.thread_time() + seconds
    while time.thread_time() < end:
        pass
    return task, time.perf_counter() - begun


def process(shared: None, task: int, cancel: Any) -> int:
    """Which one does it."""
    busy(0.02, task, cancel)
    return threading.get_ident() if threading.current_thread().name != "MainThread" else os.getpid()


def fragile(given: tuple[str, int], task: int, cancel: Any) -> int:
    """Writes down that it was done; one process is killed by the task with that index."""
    folder, victim = Path(given[0]), given[1]
    if task == victim and not (folder / "killed").exists():
        (folder / "killed").touch()
        os.kill(os.getpid(), signal.SIGKILL)
    busy(0.05, task, cancel)
    with (folder / f"{task}.log").open("a") as file:
        file.write(f"{node()}\n")
    return task * task


def node() -> str:
    """Ray's name of the node that this process is on."""
    ray = sys.modules.get("ray")
    return str(ray.get_runtime_context().get_node_id()) if ray and ray.is_initialized() else "here"


def digest(results: Sequence[np.ndarray]) -> str:
    """Of all digits of results."""
    return hashlib.sha256(b"".join(one.tobytes() for one in results)).hexdigest()[:16]


@contextmanager
def cluster(nodes: int) -> Iterator[Any]:
    """A head without CPUs and so many nodes of one CPU each, on this machine."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ["RAY_worker_niceness"] = "0"  # by default workers give way to all else here
    from ray.cluster_utils import Cluster

    head = {"num_cpus": 0, "include_dashboard": False}
    found = Cluster(initialize_head=True, head_node_args=head)
    try:
        for _ in range(nodes):
            found.add_node(num_cpus=1)
        yield found
    finally:
        found.shutdown()


def digits(executors: dict[str, Executor], count: int) -> dict:
    """The same motions by every executor."""
    scene, rng = load_scene(SCENE), np.random.default_rng(0)
    tasks = rng.normal(size=(count, 3)).tolist()
    plain = digest([motion(scene, task, None) for task in tasks])
    found = {"loop": plain}
    for name, executor in executors.items():
        found[name] = digest(gather(motion, tasks, scene, executor=executor))
    return {"motions": count, "digests": found, "equal": len(set(found.values())) == 1}


def timed(executor: Executor, count: int, seconds: float) -> dict:
    """Wall time of tasks of so much CPU time, and what it takes beside their own."""
    there: set[int] = set()
    while len(there) < executor.workers:  # every worker has begun
        there |= set(gather(process, range(8 * executor.workers), executor=executor))
    begun = time.perf_counter()
    found = gather(busy, range(count), seconds, executor=executor)
    wall = time.perf_counter() - begun
    assert [index for index, _ in found] == list(range(count))
    own = sum(took for _, took in found)
    return {"wall_s": wall, "tasks_s": own, "overhead": executor.workers * wall / own - 1.0}


def speed_up(count: int, repeats: int) -> dict:
    """One worker and two, in turn; the tasks' times say how much others took of the cores."""
    rows = []
    with cluster(1) as nodes, RayExecutor(nodes.address) as executor:
        for _ in range(repeats):
            row: dict = {"load": os.getloadavg()[0]}
            row["1"] = timed(executor, count, WORK)
            second = nodes.add_node(num_cpus=1)
            time.sleep(1.5 * RECOUNT)
            row["2"] = timed(executor, count, WORK)
            nodes.remove_node(second)
            time.sleep(1.5 * RECOUNT)
            row["speed_up"] = row["1"]["wall_s"] / row["2"]["wall_s"]
            rows.append(row)
            print(f"speed-up {row['speed_up']:.2f} at load {row['load']:.1f}", flush=True)
    ratios = [row["speed_up"] for row in rows]
    return {"tasks": count, "seconds": WORK, "runs": rows, "best": max(ratios),
            "median": float(np.median(ratios))}  # fmt: skip


def killed(nodes: Any, executor: Executor, count: int) -> dict:
    """A worker, then a node killed mid-run; then the driver, which goes on from its journal."""
    figures = {}
    for what in ("worker", "node"):
        with tempfile.TemporaryDirectory() as folder:
            doomed = nodes.add_node(num_cpus=1) if what == "node" else None
            victim = count // 3 if what == "worker" else -1
            found = []
            for pair in stream(fragile, range(count), (folder, victim), executor=executor):
                found.append(pair)
                if doomed is not None and _worked(doomed.node_id, Path(folder)):
                    nodes.remove_node(doomed, allow_graceful=False)
                    doomed = None
            ended = (Path(folder) / "killed").exists() if what == "worker" else doomed is None
            figures[what] = {"killed": ended, **_counted(found, count, Path(folder))}
    with tempfile.TemporaryDirectory() as folder:
        figures["driver"] = _driver_killed(nodes.address, count, Path(folder))
    return figures


def _worked(node_id: str, folder: Path) -> bool:
    """Whether a node has done a task."""
    return any(node_id in log.read_text() for log in folder.glob("*.log"))


def _counted(found: list[tuple[int, int]], count: int, folder: Path) -> dict:
    """Results of a run: all there, none twice, right; tasks that were done more than once."""
    again = sum(len(log.read_text().split()) - 1 for log in folder.glob("*.log"))
    right = sorted(found) == [(k, k * k) for k in range(count)]
    return {"tasks": count, "results": len(found), "right": right, "done_again": again}


def _driver_killed(address: str, count: int, folder: Path) -> dict:
    """Killed after a third of the results, and started again."""
    (folder / "logs").mkdir()
    program = f"from validation.many import driver; driver({address!r}, {str(folder)!r}, {count})"
    command = [sys.executable, "-c", program]
    paths = os.pathsep.join([str(ROOT), *sys.path])
    environment = {**os.environ, "PYTHONPATH": paths}
    first = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL)
    journal = folder / "kept"
    while _lines(journal) < count // 3 and first.poll() is None:
        time.sleep(0.02)
    first.kill()
    first.wait()
    had = _lines(journal)
    subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, check=True)
    given = (str(folder / "logs"), -1)
    found = list(stream(fragile, range(count), given, folder=journal))  # nothing is left to do
    return {**_counted(found, count, folder / "logs"), "before": had, "lines": _lines(journal)}


def _lines(journal: Path) -> int:
    """Results in a journal."""
    files = list(journal.glob("*.jsonl")) if journal.is_dir() else []
    return sum(max(0, file.read_bytes().count(b"\n") - 1) for file in files)


def driver(address: str, folder: str, count: int) -> None:
    """The driver that is killed."""
    given = (str(Path(folder) / "logs"), -1)
    with RayExecutor(address) as executor:
        for _ in stream(fragile, range(count), given, executor=executor,
                        folder=Path(folder) / "kept"):  # fmt: skip
            pass


def study(fraction: float = 1.0) -> dict:
    """The whole item; Missed names the bars that were not met."""
    there = fraction >= 1 and importlib.util.find_spec("ray") is not None
    figures: dict = {"cores": os.cpu_count(), "ray": there}
    here: dict[str, Executor] = {"threads": InProcess(2), "processes": Processes(2)}
    short = share(SHORT, fraction)
    figures["short_tasks"] = {"count": short, "seconds": 1e-3}
    if not there:
        figures["digits"] = digits(here, share(MOTIONS, fraction))
        figures["short_tasks"]["processes"] = timed(here["processes"], share(short, 0.1), 1e-3)
        return judged(figures, [] if figures["digits"]["equal"] else ["digits differ"])
    import ray

    figures["ray_version"] = ray.__version__
    with cluster(2) as nodes, RayExecutor(nodes.address) as executor:
        figures["digits"] = digits({**here, "ray": executor}, share(MOTIONS, fraction))
        figures["short_tasks"]["ray"] = timed(executor, short, 1e-3)
        print(figures["short_tasks"], flush=True)
        figures["killed"] = killed(nodes, executor, share(KILLED, fraction))
        print(figures["killed"], flush=True)
    figures["speed_up"] = speed_up(TIMED, REPEATS)
    missed = [] if figures["digits"]["equal"] else ["digits differ"]
    missed += [f"{what} killed: {row}" for what, row in figures["killed"].items()
               if not row["right"] or not row.get("killed", True)]  # fmt: skip
    over = figures["short_tasks"]["ray"]["overhead"]
    if over > MOST_OVERHEAD:
        missed.append(f"10^5 tasks of 1 ms: {100 * over:.0f} % beside their own time")
    if figures["speed_up"]["best"] < LEAST_SPEED_UP:
        missed.append(f"speed-up {figures['speed_up']['best']:.2f}, {LEAST_SPEED_UP} wanted")
    return judged(figures, missed)
