"""The start of a node's process: its imports take seconds, and may be interrupted.

Nothing has begun then, so a signal ends the process at once, quietly. Executables start here
(`start`); `python -m diffsim_ros.nodes.NAME`, to which `diffsim node NAME` turns, comes by the
package. Only the standard library.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from importlib import import_module
from types import TracebackType

NODES = ("driver", "estimator", "legged_driver", "legged_planner", "legged_twin",
         "mock_controller", "observer", "planner", "replay", "simulator", "visualizer")  # fmt: skip
"""Modules here that are nodes: their `main` takes the signals over (common.run_node)."""
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""End a node: Ctrl-C, launch and systemd, a closed terminal."""

OWN_WORLD = tuple((f"/{name}", name) for name in ("clock", "tf", "tf_static"))
"""Remappings: a twin's time and frames are its own, so in a namespace they are in it as well."""


def heeded() -> tuple[signal.Signals, ...]:
    """SIGNALS, without SIGHUP where nohup has it ignored."""
    deaf = signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    return tuple(s for s in SIGNALS if s != signal.SIGHUP or not deaf)


def be_quiet(module: str) -> None:
    """Until the program `module` takes them over: signals end a node with code 0, and Ctrl-C a
    command without a traceback. Signals that the caller had blocked arrive now."""
    package, _, name = module.rpartition(".")
    if package == __package__ and name in NODES:
        for number in heeded():
            signal.signal(number, _leave)
    else:
        sys.excepthook = _print_defect
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)


def _leave(*_: object) -> None:
    os._exit(0)


def _print_defect(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    if not issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, trace)


def start(module: str) -> int:
    """Import a module and run its `main`; returns the exit code."""
    be_quiet(module)
    return import_module(module).main()


def by_module(arguments: Sequence[str]) -> None:
    """The same for `python -m MODULE`, whose imports have begun; arguments: sys.orig_argv."""
    if "-m" in arguments[:-1]:
        be_quiet(arguments[arguments.index("-m") + 1])
