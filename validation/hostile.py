"""Readers of files from outside, called on hostile ones: one case, its measure, its verdict."""

from __future__ import annotations

import gc
import os
import resource
import signal
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

from diffsim_ros.errors import InputError

SECONDS = 2.0
"""CPU time in which a case must be refused."""
MEMORY = 500 * 2**20
"""Additional resident memory [bytes] at its peak."""
HANG = 20
"""CPU seconds after which a reader is given up."""


class Case(NamedTuple):
    """One hostile input.

    kind, name  of the format, and what is wrong with it
    reader      key of READERS
    make        makes the file or folder below a folder, returns what the reader is given
    refused     False: it may also be read, as long as that is cheap (a number that is only odd)
    """

    kind: str
    name: str
    reader: str
    make: Callable[[Path], Any]
    refused: bool = True


class Outcome(NamedTuple):
    """How a case ended: "refused", "read", or what was wrong; CPU seconds, memory [bytes]."""

    end: str
    seconds: float
    memory: int
    message: str = ""


MESH = (None, "scene", "mesh")
FUNCTIONS = {
    "scene": ("scene:load_scene",), "estimation": ("real2sim.config:load_estimation",),
    "arm": ("robots.arm:load_arm",), "twin": ("twin.config:load_twin",),
    "plan": ("planning.load:load_plan",), "urdf": ("robots.urdf:load_robot",),
    "trajectory": ("robots.trajectory:JointTrajectory.load",),
    "result": ("real2sim.results:load_parameters",),
    "transform": ("sensing.frames:read_transform",),
    "recording": ("sensing.read:read",), "tosses": ("sensing.tosses:read_tosses",),
    "joints": ("sensing.read:read_trials", "joints"), "cloud": ("sensing.clouds.files:read_cloud",),
    "markers": ("sensing.read:read_trials", "markers"),
    "triangles": ("scene.mesh_files:read_triangles", *MESH),
    "tets": ("scene.mesh_files:read_tets", *MESH), "vdb": ("scene.vdb_file:load_level_set",),
}  # fmt: skip
"""Reader -> module and function of the package, and what it is given beside a source."""


def _read(place: str, more: tuple, source: Any) -> Any:
    """Call a function, imported only now: a case is measured in a child."""
    module, _, name = place.partition(":")
    function = attrgetter(name)(import_module(f"diffsim_ros.{module}"))
    return function(Path(source) if more == MESH else source, *more)


READERS: dict[str, Callable[[Any], Any]] = {
    name: partial(_read, place, tuple(more)) for name, (place, *more) in FUNCTIONS.items()
}
"""Readers by name: source -> what it holds, or an InputError."""


class Watch:
    """An audit hook of a child: what no reader may do (files opened by C code escape it)."""

    EVENTS = (
        "socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "os.system", "os.exec",
        "os.posix_spawn", "os.fork", "subprocess.Popen", "os.mkdir", "os.remove", "os.rename",
        "os.symlink", "os.link", "os.chmod", "shutil.rmtree",
    )  # fmt: skip
    WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND

    def __init__(self) -> None:
        self.found: list[str] = []
        sys.addaudithook(self)

    def __call__(self, event: str, given: tuple) -> None:
        if event == "open" and isinstance(given[0], (str, bytes)):
            path, writing = os.fsdecode(given[0]), (given[2] or 0) & self.WRITING
            if writing and not path.startswith((tempfile.gettempdir(), "/dev/null", "/proc/self/")):
                self.found.append(f"writes {path}")
        elif event in self.EVENTS and not self._usual(event, given):
            self.found.append(f"{event} {given}"[:200])

    @staticmethod
    def _usual(event: str, given: tuple) -> bool:
        """Our own trial in a child process; the temporary folder of a compressed recording."""
        if event == "subprocess.Popen":
            return given[0] == sys.executable
        first = str(given[0]) if given else ""
        inside = first.startswith(tempfile.gettempdir()) or (
            event == "os.remove" and not os.path.isabs(first) and given[1] >= 0
        )  # the latter by rmtree, of that folder
        return event in ("os.mkdir", "os.remove", "shutil.rmtree") and inside


def measured(reader: str, source: Any) -> Outcome:
    """Call a reader; everything but InputError and an answer is wrong."""
    _forget_peak()
    before, start = _status("VmRSS"), _cpu_seconds()
    end, message = "read", ""
    try:
        READERS[reader](source)
    except InputError as error:
        end, message = "refused", str(error)
        if len(message) > 5000:
            end = "message too long"
    except Exception as error:
        end, message = f"{type(error).__name__}", str(error)[:300]
    seconds = _cpu_seconds() - start
    return Outcome(end, seconds, max(_status("VmHWM") - before, 0), message)


def verdict(case: Case, outcome: Outcome) -> str:
    """What is wrong with an outcome, "" where nothing is."""
    if outcome.end != "refused" and (case.refused or outcome.end != "read"):
        return f"{outcome.end} instead of a refusal: {outcome.message}"
    if outcome.seconds > SECONDS:
        return f"{outcome.seconds:.1f} s"
    if outcome.memory > MEMORY:
        return f"{outcome.memory / 2**20:.0f} MB"
    return ""


def judged(cases: Sequence[Case], folder: Path) -> list[tuple[Case, Outcome]]:
    """Outcomes of the cases, one after the other in a child that a hang or a crash ends.

    After such an end the next child goes on behind the case.
    """
    done: list[tuple[Case, Outcome]] = []
    while len(done) < len(cases):
        rest = cases[len(done) :]
        ends, status = _child(rest, folder)
        done += zip(rest, ends, strict=False)
        if len(ends) < len(rest):
            name = signal.Signals(status).name if status else "the process ended"
            done.append((rest[len(ends)], Outcome(name, float(HANG), 0, "no answer")))
    return done


def _child(cases: Sequence[Case], folder: Path) -> tuple[list[Outcome], int]:
    """Outcomes of the cases until the child ended, and the signal that ended it."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        gc.freeze()  # the parent's objects are not collected here: their threads are not
        try:
            os.close(read)
            with os.fdopen(write, "w") as answers:
                _work(cases, folder, answers)
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read) as answers:
        lines = answers.read().splitlines()
    _, status = os.waitpid(pid, 0)
    outcomes = []
    for line in lines:
        end, seconds, memory, message = line.split("\t")
        outcomes.append(Outcome(end, float(seconds), int(memory), message))
    return outcomes, os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0


def _work(cases: Sequence[Case], folder: Path, answers) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    watch = Watch()
    for number, case in enumerate(cases):
        own = folder / f"{os.getpid()}_{number}"
        own.mkdir(parents=True)
        source = case.make(own)
        watch.found.clear()
        signal.setitimer(signal.ITIMER_PROF, HANG)
        signal.alarm(5 * HANG)
        outcome = measured(case.reader, source)
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.alarm(0)
        if watch.found:
            outcome = outcome._replace(end="did what it must not", message="; ".join(watch.found))
        message = " ".join(outcome.message.split())[:300]
        answers.write(f"{outcome.end}\t{outcome.seconds}\t{outcome.memory}\t{message}\n")
        answers.flush()


def _cpu_seconds() -> float:
    """Of this process and of those that it has waited for."""
    found = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(r.ru_utime + r.ru_stime for r in found)


def _status(key: str) -> int:
    """A line of /proc/self/status [bytes]."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(key + ":"):
            return 1024 * int(line.split()[1])
    return 0


def _forget_peak() -> None:
    """VmHWM starts again from what is resident now."""
    Path("/proc/self/clear_refs").write_text("5")
