"""Files whose readers trust the counts in them: read in a child process first, within bounds.

A damaged file could otherwise take all memory, crash the process, or keep it busy forever.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from diffsim_ros.errors import InputError
from diffsim_ros.files import FREE, require_regular

LARGEST = 2**30
"""Bytes of a file."""
UNFOLDED = 20
"""Times its size that a file takes in memory, at most; 5 are usual."""
SECONDS, SECONDS_PER_BYTE = 1.0, 5e-7
"""CPU time that reading may take; it is a tenth of that."""
IMPORTS = {"vdb": "from diffsim_ros import _engine", "gmsh": "import meshio"}
READS = {
    "vdb": "_engine.LevelSet.load(sys.argv[1])",
    "gmsh": "meshio.read(sys.argv[1], file_format='gmsh')",
}
TRIAL = """
import math, os, resource, sys
{imports}
seconds = math.ceil(sum(os.times()[:2]) + float(sys.argv[2]))
memory = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
memory += int(sys.argv[3])
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
try:
    {read}
except BaseException as error:
    sys.exit(str(error)[:500] or type(error).__name__)
"""


def try_reading(kind: str, path: str | Path, place: object, key: str, rule: str) -> None:
    """Raise InputError unless a child process reads the file; kind: "vdb" or "gmsh"."""
    size = require_regular(path, rule, place=place, key=key, limit=LARGEST)
    limits = [str(SECONDS + SECONDS_PER_BYTE * size), str(4 * FREE + UNFOLDED * size)]
    code = TRIAL.format(imports=IMPORTS[kind], read=READS[kind])
    command = [sys.executable, "-c", code, str(path), *limits]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    if done.returncode:
        output = done.stderr.strip().splitlines()
        reason = output[-1] if done.returncode > 0 and output else "reading it does not end well"
        raise InputError(place, key, f"{path}: {reason}", rule)
