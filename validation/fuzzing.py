"""Fuzzing in child processes: programs drawn from seeds, and what ends a child as a finding.

A child runs programs one after the other and notes the seed of each before it starts, so that a
crash is found again with `--program SEED`.  A finding is a signal, an exit that no program asked
for, an exception that is not documented, CPU time or memory beyond the bounds.
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path

CPU_SECONDS = 10.0
"""Of one program; three times as much under sanitizers."""
WALL_SECONDS = 180.0
"""Of one program: a deadlock uses no CPU time."""
MEMORY = 2 * 2**30
"""Growth of a child's resident memory [bytes]."""
BATCH = 1000
"""Programs of a child; a fresh one has no memory of those before."""
MARK = "FINDING "


class Finding(Exception):
    """A program's result that is no crash but wrong all the same."""


def sanitized() -> bool:
    """True where the address sanitizer's library is loaded before Python."""
    return "asan" in os.environ.get("LD_PRELOAD", "")


def run_programs(program: Callable[[int], None], first: int, count: int, note: Path) -> None:
    """Run the programs of `count` seeds in this process, which ends where one hangs or crashes.

    Wrong exceptions are written to stderr, each after a line FINDING and its seed.
    """
    faulthandler.enable()
    faulthandler.register(signal.SIGPROF, chain=True)  # prints where, then ends the process
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with note.open("w") as file:
        for seed in range(first, first + count):
            file.seek(0)
            file.write(f"{seed:020d}")
            file.flush()
            signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS * (3 if sanitized() else 1))
            faulthandler.dump_traceback_later(WALL_SECONDS, exit=True)
            try:
                program(seed)
            except Exception:
                print(f"{MARK}{seed}\n{traceback.format_exc()}", file=sys.stderr, flush=True)
            signal.setitimer(signal.ITIMER_PROF, 0)
            grown = 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
            if grown > MEMORY:
                text = f"{MARK}{seed}\nmemory grew by {grown / 2**20:.0f} MB"
                print(text, file=sys.stderr, flush=True)
                os._exit(0)
    faulthandler.cancel_dump_traceback_later()


def campaign(module: str, seconds: float, seed: int, batch: int = BATCH, log: str = "") -> dict:
    """Run children of `module` for so many CPU seconds; figures and findings, also to `log`."""
    used, programs, findings, started = 0.0, 0, [], time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        note = Path(folder) / "seed"
        while used < seconds:
            command = [sys.executable, "-m", module, "--child", str(seed), str(batch), str(note)]
            before = _children()
            done = subprocess.run(command, capture_output=True, text=True, errors="replace")
            used += _children() - before
            last = int(note.read_text() or seed) if note.exists() else seed
            programs += last - seed + 1
            seed = last + 1
            head, *wrong = done.stderr.split(MARK)
            findings += [
                {"seed": int(text.partition("\n")[0]), "exit": 0, "tail": text[-3000:]}
                for text in wrong
            ]
            if done.returncode:
                tail = (wrong or [head])[-1][-6000:]
                findings.append({"seed": last, "exit": done.returncode, "tail": tail})
            figures = {
                "programs": programs, "cpu_seconds": round(used, 1),
                "wall_seconds": round(time.monotonic() - started, 1), "next_seed": seed,
                "findings": findings,
            }  # fmt: skip
            if log:
                Path(log).write_text(json.dumps(figures, indent=1))
    return figures


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main(module: str, program: Callable[..., None], what: str) -> int:
    """The command line of a fuzzer; 1 when there are findings."""
    parser = argparse.ArgumentParser(prog=f"python -m {module}", description=what)
    parser.add_argument("--seconds", type=float, default=60.0, help="CPU seconds of all programs")
    parser.add_argument("--seed", type=int, default=0, help="of the first program")
    parser.add_argument("--log", default="", help="JSON file that holds the figures so far")
    parser.add_argument("--program", type=int, help="run one program, with every call printed")
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.program is not None:
        faulthandler.enable()
        program(options.program, say=lambda text: print(text, file=sys.stderr, flush=True))
        return 0
    if options.child:
        first, count, note = options.child
        run_programs(program, int(first), int(count), Path(note))
        return 0
    figures = campaign(module, options.seconds, options.seed, log=options.log)
    print(json.dumps(figures, indent=1))
    return 1 if figures["findings"] else 0
