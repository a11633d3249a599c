"""Executors without Ray: order, exceptions, cancel, lost processes."""

import os
import pickle
import threading
import time
from pathlib import Path

import numpy as np
import pytest
import yaml

from diffsim_ros import _engine, load_scene
from diffsim_ros.errors import InputError, NotConverged
from diffsim_ros.executors import (
    InProcess,
    Processes,
    WorkerLost,
    executor_of,
    gather,
    stream,
)
from tests.executors import work

ROOT = Path(__file__).resolve().parents[2]

SCENE = ROOT / "config" / "scenes" / "bouncing_cube.yaml"


def test_results_are_those_of_a_loop_whatever_the_executor():
    scene, speeds = load_scene(SCENE), list(np.linspace(0.0, 2.0, 12))
    expected = [work.reach(scene, speed, None) for speed in speeds]
    for executor in (InProcess(1), InProcess(3), Processes(2)):
        with executor:
            assert np.array_equal(gather(work.reach, speeds, scene, executor=executor), expected)


def test_every_index_comes_once_and_short_tasks_travel_together():
    sizes = []

    class Watched(InProcess):
        def _session(self, function, shared):
            session = super()._session(function, shared)
            submit = session.submit
            session.submit = lambda chunk: sizes.append(len(chunk)) or submit(chunk)
            return session

    found = list(stream(work.double, range(20_000), 2, executor=Watched(2)))
    assert sorted(found) == [(i, 2 * i) for i in range(20_000)]
    assert sizes[0] == 1 and max(sizes) > 1000 and len(sizes) < 200


def test_tasks_by_index_keep_it():
    assert dict(InProcess(2).run(work.double, {7: 1, 9: 2}, 10)) == {7: 10, 9: 20}
    assert list(stream(work.double, [], 1)) == []


@pytest.mark.parametrize("executor", [InProcess(2), Processes(2)])
def test_the_exception_of_a_task_names_it(executor):
    rule = r"task 3: scene.yaml: bodies.cube.mass: got -1; accepted: a number > 0"
    with pytest.raises(InputError, match=rule):
        gather(work.refuse, range(6), executor=executor)
    with pytest.raises(NotConverged, match="task 0: step 3 failed"):
        gather(work.refuse, ["late"], executor=executor)
    with pytest.raises(ZeroDivisionError) as caught:
        gather(work.fail, range(6), ZeroDivisionError("by chance"), executor=executor)
    assert "task 3" in caught.value.__notes__[-1] and "in fail" in caught.value.__notes__[-1]


def test_cancelling_ends_tasks_in_flight(tmp_path):
    token = _engine.CancelToken()
    timer = threading.Timer(0.2, token.cancel)
    timer.start()
    found = gather(work.wait_for, range(4), tmp_path, executor=InProcess(2), cancel=token)
    assert found == [None] * 4 and len(list(tmp_path.iterdir())) == 2


@pytest.mark.slow
def test_cancelling_ends_processes(tmp_path):
    token = _engine.CancelToken()
    begun, timer = time.monotonic(), threading.Timer(0.1, token.cancel)
    while_waiting = gather(
        work.wait_for, range(4), tmp_path, executor=Processes(2), cancel=token,
        progress=lambda done, count: timer.start(),
    )  # fmt: skip
    assert while_waiting == [None] * 4 and time.monotonic() - begun < 60


@pytest.mark.slow
def test_the_work_of_a_killed_process_is_done_again(tmp_path):
    found = gather(work.end_once, range(10), tmp_path, executor=Processes(2))
    assert found == [k * k for k in range(10)] and (tmp_path / "killed").exists()
    assert all((tmp_path / f"{k}.log").exists() for k in range(10))
    with pytest.raises(WorkerLost, match=r"4 times a process ended by itself .* \[0\]"):
        gather(work.end_always, [0], tmp_path, executor=Processes(1))


@pytest.mark.slow
def test_processes_are_kept_for_the_next_run_until_they_are_closed():
    with Processes(1) as executor:
        first = gather(work.process, [1, 2], 10, executor=executor)
        second = gather(work.process, [3], 20, executor=executor)
        assert [total for _, total in (*first, *second)] == [11, 12, 23]
        assert len({pid for pid, _ in (*first, *second)}) == 1
        run = executor.run(work.process, range(9), 1)
        next(run)
        run.close()  # in the middle: what still works on it is not the next run's
        (pid, _), *_ = gather(work.process, [1], 1, executor=executor)
        assert pid != first[0][0]
        assert not Path(f"/proc/{first[0][0]}").exists()
    assert not Path(f"/proc/{pid}").exists()


def test_progress_and_leaving_early():
    seen = []
    run = stream(work.double, range(9), 1, progress=lambda *now: seen.append(now))
    next(run)
    run.close()
    assert seen[0] == (0, 9) and seen[1] == (1, 9)


@pytest.mark.parametrize("workers", [-1, True, 1.5])
def test_workers_are_a_whole_number(workers):
    with pytest.raises(InputError, match="executor: workers"):
        executor_of(None, workers)
    assert executor_of().workers == os.cpu_count()


def test_a_scene_is_pickled_by_its_parts(tmp_path):
    scene = load_scene(SCENE)
    scene.engine.set_value("cube.mass", 0.5)
    again = pickle.loads(pickle.dumps(scene))
    assert np.array_equal(again.engine.values, scene.engine.values)
    one, other = scene.rollout(), again.rollout()
    assert np.array_equal(one["cube"].position, other["cube"].position)
    halved = pickle.loads(pickle.dumps(scene.halved(1)))
    assert halved.options.step == scene.options.step / 2


def test_a_surface_from_another_file_is_refused(tmp_path):
    mesh = tmp_path / "ground.obj"
    corners = [(x, y, z) for x in (-2, 2) for y in (-2, 2) for z in (-1, 0)]
    faces = ["1 2 4", "1 4 3", "5 7 8", "5 8 6", "1 5 6", "1 6 2", "3 4 8", "3 8 7", "1 3 7",
             "1 7 5", "2 6 8", "2 8 4"]  # fmt: skip
    text = "".join(f"v {x} {y} {z}\n" for x, y, z in corners) + "".join(f"f {f}\n" for f in faces)
    mesh.write_text(text)
    given = yaml.safe_load(SCENE.read_text())
    given["sdfs"] = {"ground": {"mesh": {"file": str(mesh), "scale": "1 m", "voxel": 0.25}}}
    scene = load_scene(given)
    kept = pickle.dumps(scene)
    assert pickle.loads(kept).steps == scene.steps
    mesh.write_text(text + "# another\n")
    with pytest.raises(InputError, match=r"sdfs: got .*ground.obj"):
        pickle.loads(kept)


@pytest.mark.parametrize("given", [[(0, 1), (0, 1)], [(0, 1)], [(0, 1), (7, 1)]])
def test_results_that_are_doubled_missing_or_of_no_task_are_an_error(given):
    class Faulty(InProcess):
        def run(self, function, tasks, shared=None, *, cancel=None):
            yield from given

    with pytest.raises(RuntimeError, match=r"task 0|without a result|task 7"):
        gather(work.double, [1, 2], 3, executor=Faulty())
