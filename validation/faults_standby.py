"""A process that has imported its program and waits for the word to run it.

`python -m validation.faults_standby MODULE`: imports MODULE, reads one line from standard input,
the command line as a JSON list, and runs MODULE's `main` as `python -m MODULE` does.
"""

from __future__ import annotations

import ctypes
import faulthandler
import json
import signal
import sys
from importlib import import_module

from diffsim_ros.nodes.starting import be_quiet

from .faults_breaks import BREAKS

PR_SET_PDEATHSIG = 1


def main() -> int:
    """Import, wait, run; returns the program's exit code."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # a study under nohup has it ignored
    faulthandler.register(signal.SIGUSR1)  # where every thread is, into the log
    name = sys.argv[1]
    be_quiet(name)
    module = import_module(name)
    line = sys.stdin.readline()
    if not line:
        return 0
    given = json.loads(line)
    for name in given["breaks"]:
        BREAKS[name]()
    sys.argv = [module.__file__, *given["arguments"]]
    return module.main()


if __name__ == "__main__":
    sys.exit(main())
