"""Tasks on Ray clusters of this machine; skipped where the extra `ray` is not installed."""

import itertools
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from diffsim_ros import load_scene
from diffsim_ros.errors import InputError, NotConverged
from diffsim_ros.executors import RayExecutor, WorkerLost, gather, stream
from tests.executors import work

os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
ray = pytest.importorskip("ray")
ROOT = Path(__file__).resolve().parents[2]
HEAD = {"num_cpus": 0, "include_dashboard": False}
SCENE = ROOT / "config" / "scenes" / "bouncing_cube.yaml"
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module")
def cluster():
    """A head without CPUs, which the driver is on, and two nodes of one CPU each."""
    from ray.cluster_utils import Cluster

    found = Cluster(
        initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False}
    )
    found.workers = [found.add_node(num_cpus=1) for _ in range(2)]
    yield found
    found.shutdown()


@pytest.fixture(scope="module")
def executor(cluster):
    with RayExecutor(cluster.address) as found:
        yield found


def test_results_are_those_of_a_loop(executor):
    scene, speeds = load_scene(SCENE), list(np.linspace(0.0, 2.0, 24))
    expected = [work.reach(scene, speed, None) for speed in speeds]
    assert np.array_equal(gather(work.reach, speeds, scene, executor=executor), expected)


def test_what_is_shared_is_sent_once_for_runs_of_the_same(executor, monkeypatch):
    sent, put = [], ray.put
    monkeypatch.setattr(ray, "put", lambda value: sent.append(len(value)) or put(value))
    scene = load_scene(SCENE)
    for speeds in ([0.1, 0.2], [0.3, 0.4], [0.1]):
        expected = [work.reach(scene, speed, None) for speed in speeds]
        assert np.array_equal(gather(work.reach, speeds, scene, executor=executor), expected)
    assert len(sent) == 1
    assert gather(work.double, [1, 2], 3, executor=executor) == [3, 6] and len(sent) == 2


def test_functions_of_a_program_itself_are_sent_too(executor):
    scale = 3
    run = executor.run(lambda shared, task, cancel: scale * shared * task, {4: 1, 6: 2}, 5)
    assert dict(run) == {4: 15, 6: 30}


def test_the_exception_of_a_task_names_it_and_is_not_retried(executor, tmp_path):
    with pytest.raises(InputError, match=r"task 3: scene.yaml: bodies.cube.mass: got -1"):
        gather(work.refuse, range(6), executor=executor)
    with pytest.raises(NotConverged, match="task 0: step 3 failed"):
        gather(work.refuse, ["late"], executor=executor)
    with pytest.raises(ZeroDivisionError):
        gather(work.fail, range(6), ZeroDivisionError("by chance"), executor=executor)


def test_the_work_of_a_killed_worker_is_done_again(executor, tmp_path):
    found = list(stream(work.end_once, range(20), tmp_path, executor=executor))
    assert sorted(found) == [(k, k * k) for k in range(20)] and (tmp_path / "killed").exists()


def test_a_task_that_always_ends_its_worker_is_named(executor, tmp_path):
    with pytest.raises(WorkerLost, match="task 0: 6 workers were lost"):
        gather(work.end_always, [0], tmp_path, executor=executor)


def test_cancelled_tasks_are_ended(executor, tmp_path):
    class Token:
        cancelled = False

    run = executor.run(work.wait_for, {0: 0, 1: 1}, tmp_path, cancel=Token)
    threading.Timer(0.1, lambda: setattr(Token, "cancelled", True)).start()
    assert list(run) == []
    assert gather(work.double, range(4), 2, executor=executor) == [0, 2, 4, 6]


def test_the_work_of_a_killed_node_is_done_again(cluster, executor, tmp_path):
    node, found = cluster.add_node(num_cpus=1), []
    for index, result in stream(work.log, [(k, 0.1) for k in range(60)], str(tmp_path),
                                executor=executor):  # fmt: skip
        found.append((index, result))
        if len(found) == 15:
            cluster.remove_node(node, allow_graceful=False)
    assert sorted(found) == [(k, k * k) for k in range(60)]


DRIVER = """
import sys
from diffsim_ros.executors import RayExecutor, stream
from tests.executors import work
if __name__ == "__main__":
    address, folder, logs = sys.argv[1:]
    with RayExecutor(address) as executor:
        tasks = [(k, 0.1) for k in range(60)]
        for index, _ in stream(work.log, tasks, logs, executor=executor, folder=folder):
            print(index, flush=True)
"""


def test_a_killed_driver_goes_on_from_its_journal(cluster, tmp_path):
    logs = tmp_path / "logs"
    logs.mkdir()
    arguments = [sys.executable, "-c", DRIVER, cluster.address, str(tmp_path / "kept"), str(logs)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    first = subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True, env=environment)
    lines = (line.strip() for line in first.stdout)  # Ray's own words on lost nodes among them
    seen = list(itertools.islice((int(line) for line in lines if line.isdigit()), 20))
    first.send_signal(signal.SIGKILL)
    first.wait()
    time.sleep(1)
    done = subprocess.run(arguments, capture_output=True, text=True, env=environment, check=True)
    again = [int(line) for line in done.stdout.splitlines() if line.isdigit()]
    assert sorted(again) == list(range(60))
    (kept,) = (tmp_path / "kept").iterdir()
    assert len(kept.read_text().splitlines()) == 61
    twice = [k for k in range(60) if len((logs / f"{k}.log").read_text().split()) > 1]
    assert len(twice) <= 20 and not set(twice) & set(seen[:-1])


@pytest.mark.parametrize("address", ["", "head", "ray://", "head:port", "head:0", 7])
def test_what_is_no_address_is_refused(address):
    with pytest.raises(InputError, match=r"ray: address: got .*; accepted: local, HOST:PORT"):
        RayExecutor(address)


def test_an_address_without_an_answer_is_refused(cluster):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    program = (
        "from diffsim_ros.executors import RayExecutor\n"
        f"try: RayExecutor('ray://127.0.0.1:{port}')\n"
        "except ValueError as error: print(error)"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    found = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=environment
    )
    assert "Connection refused: is `ray start --head` running there?" in found.stdout
