"""Level sets in .vdb files: tried in a child process before they are read in this one.

OpenVDB trusts the counts in a file: a damaged one can take all memory, crash it or keep it busy.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

from diffsim_ros.errors import InputError
from diffsim_ros.files import FREE, require_regular

LARGEST = 2**30
"""Bytes of a file."""
UNFOLDED = 20
"""Times its size that a level set takes in memory, at most; 5 are usual."""
SECONDS, SECONDS_PER_BYTE = 2, 2e-7
"""CPU time that reading may take; 20 MB take 0.3 s."""
RULE = "a .vdb file that diffsim wrote, whole"
REMEDY = "make it anew from the mesh"
TRIAL = """
import resource, sys
from diffsim_ros import _engine
seconds, memory = int(sys.argv[2]), int(sys.argv[3])
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
resource.setrlimit(resource.RLIMIT_AS, (used + memory, used + memory))
try:
    _engine.LevelSet.load(sys.argv[1])
except Exception as error:
    sys.exit(str(error)[:500] or type(error).__name__)
"""


def load_level_set(path: str | Path, place: object = "scene", key: str = "vdb") -> Any:
    """The engine's level set in a file; InputError for one that is no such file, or damaged."""
    from diffsim_ros import _engine

    size = require_regular(path, RULE, place=place, key=key, limit=LARGEST)
    limits = [str(round(SECONDS + SECONDS_PER_BYTE * size)), str(4 * FREE + UNFOLDED * size)]
    command = [sys.executable, "-c", TRIAL, str(path), *limits]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    if done.returncode:
        said = done.stderr.strip().splitlines()
        reason = said[-1] if done.returncode > 0 and said else "reading it does not end well"
        raise InputError(place, key, f"{path}: {reason}", RULE, REMEDY)
    return _engine.LevelSet.load(str(path))
