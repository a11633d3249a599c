"""Shared by demos and experiments: a folder, nodes of their own, one line for an early end."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from diffsim_ros.errors import InputError
from diffsim_ros.nodes.commander import CallFailed, Commander, interrupts
from diffsim_ros.nodes.processes import NodeProcesses, own_domain
from diffsim_ros.output import OutputFolder

BUSY = 1.5
"""Processes that want to compute, per core, from which a machine is said to be overloaded."""


def overload() -> str:
    """Where the machine has more to do than it can, a sentence that says so, else ""."""
    cores = len(os.sched_getaffinity(0))
    load = os.getloadavg()[0]
    if load <= BUSY * cores:
        return ""
    return (
        f"; the machine is overloaded: {load:.1f} processes want to compute on {cores} cores. "
        "Try again when it is less busy"
    )


def session(
    out: str | None,
    files: Sequence[str],
    work: Callable[[Path, NodeProcesses | None, Commander], int],
    command: str = "demo",
    *,
    here: bool = False,
    arguments: Sequence[str] = (),
) -> int:
    """Call work(folder, processes, commander) and return its exit code.

    out        folder of the results, None: a new, dated one;  files  that it may write there
    command    name of the command that is run
    here       True: the nodes run already, in this domain; processes is None then
    arguments  of the command line for ROS, with `here`: `--ros-args -r __ns:=/robot1`
    Else 1: a node failed, 2: unusable input, 130: Ctrl-C, SIGTERM or a closed terminal, which end
    the wait for a node (`commander.interrupts`). All nodes have ended then.
    """
    folder = None
    try:
        folder = OutputFolder(out, files, command=command)
        path = folder.path.absolute()
        with interrupts() as watch:
            if here:
                with Commander(watch, arguments) as commander:
                    return work(path, None, commander)

            def look() -> None:
                watch()
                processes.check()

            with (
                own_domain(),
                NodeProcesses(path / "logs") as processes,
                Commander(look) as commander,
            ):
                return work(path, processes, commander)
    except InputError as error:
        print(f"{command}: {error}", file=sys.stderr)
        return 2
    except CallFailed as error:
        print(f"{command}: {error}{overload()}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        ended = "the nodes run on" if here else "all nodes have ended"
        print(f"\n{command}: stopped; {ended}", file=sys.stderr)
        return 130
    finally:
        if folder is not None:
            folder.discard_if_empty()
