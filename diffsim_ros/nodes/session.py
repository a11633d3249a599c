"""What demos and experiments share: a folder, nodes of their own, one line for an early end."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from diffsim_ros.errors import InputError
from diffsim_ros.nodes.commander import CallFailed, Commander
from diffsim_ros.nodes.processes import Fleet, own_domain
from diffsim_ros.nodes.starting import heeded
from diffsim_ros.output import OutputFolder


def session(
    out: str | None,
    files: Sequence[str],
    work: Callable[[Path, Fleet | None, Commander], int],
    command: str = "demo",
    *,
    here: bool = False,
) -> int:
    """Call work(folder, fleet, commander) and return its exit code.

    out      folder of the results, None: a new, dated one;  files  that it may write there
    command  word for what is run
    here     True: the nodes run already, in this domain; fleet is None then
    Else 1: a node failed, 2: unusable input, 130: Ctrl-C, SIGTERM or a closed terminal. All nodes
    have ended then.
    """
    before = {number: signal.signal(number, signal.default_int_handler) for number in heeded()}
    folder = None
    try:
        folder = OutputFolder(out, files, command=command)
        path = folder.path.absolute()
        if here:
            with Commander() as commander:
                return work(path, None, commander)
        with own_domain(), Fleet(path / "logs") as fleet, Commander(fleet.check) as commander:
            return work(path, fleet, commander)
    except InputError as error:
        print(f"{command}: {error}", file=sys.stderr)
        return 2
    except CallFailed as error:
        print(f"{command}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"\n{command}: stopped; all nodes have ended", file=sys.stderr)
        return 130
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if folder is not None:
            folder.discard_if_empty()
