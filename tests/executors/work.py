"""Functions that tests send to workers."""

import os
import signal
import time
from pathlib import Path

from diffsim_ros.errors import InputError, NotConverged


def reach(scene, speed, cancel):
    """Where the cube ends."""
    return scene.rollout({"cube.velocity.x": speed})["cube"].position[-1]


def double(shared, task, cancel):
    return shared * task


def process(shared, task, cancel):
    """The process, and the sum of what it was given."""
    return os.getpid(), shared + task


def log(folder, task, cancel):
    """Writes down that it was done."""
    index, seconds = task
    time.sleep(seconds)
    with (Path(folder) / f"{index}.log").open("a") as file:
        file.write(f"{os.getpid()}\n")
    return index * index


def fail(shared, task, cancel):
    if task == 3:
        raise shared
    return task


def refuse(shared, task, cancel):
    if task == 3:
        raise InputError("scene.yaml", "bodies.cube.mass", -1, "a number > 0 [kg]")
    if task == "late":
        raise NotConverged("step 3 failed")
    return task


def end_once(folder, task, cancel):
    """The process that does task 5 first is killed."""
    mark = Path(folder) / "killed"
    if task == 5 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return log(folder, (task, 0.02), cancel)


def end_always(folder, task, cancel):
    os.kill(os.getpid(), signal.SIGKILL)


def wait_for(folder, task, cancel):
    """Until cancelled."""
    (Path(folder) / f"{task}.begun").touch()
    while not cancel.cancelled:
        time.sleep(0.01)
    return task
