"""`./run demo` with hidden truths drawn at random, on a machine left alone and on a busy one.

Friction 0.02 to 0.5, stiffness and viscosity times 0.3 to 3, mass +- 30 %, and where in the gripper
the ball sits. A run is right if it hits, or if the verdict on its estimate warned beforehand.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .common import judged, share

RUNS = 20
LOOPS = 6
"""Processes that keep the machine busy."""
RIGHT = 0.9
"""Share of runs that hit, or of which the verdict warned."""
LIMIT = 1800.0
"""[s] of wall time that a run gets."""
WARNED = ("misleading",)
SPIN = "while True: pass"


def study(fraction: float = 1.0, seed: int = 0) -> dict:
    """Per run the truth, the errors [m], the verdict and the wall time [s]."""
    count = share(RUNS, fraction)
    alone = [_run(seed + k) for k in range(count)]
    with _busy():
        busy = [_run(seed + RUNS + k) for k in range(count)]
    figures, missed = {}, []
    for name, runs in (("alone", alone), ("busy", busy)):
        right = sum(run["hit"] or run["warned"] for run in runs)
        figures[name] = {
            "runs": count, "hit": sum(run["hit"] for run in runs), "hit_or_warned": right,
            "seconds": [min(run["seconds"] for run in runs), max(run["seconds"] for run in runs)],
            "each": runs,
        }  # fmt: skip
        if right < RIGHT * count:
            missed.append(f"{name}: {right} of {count} hit, or were warned of")
    return judged(figures, missed)


def _run(seed: int) -> dict:
    """One run of the demo, by its exit code and its metrics.json."""
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        command = [sys.executable, "-m", "diffsim_ros.nodes.demo", "--out", str(out),
                   "--truth", "random", f"seed={seed}"]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT)
        metrics = out / "metrics.json"
        found = json.loads(metrics.read_text()) if metrics.exists() else {}
    verdict = found.get("verdict") or ""
    return {
        "seed": seed, "code": done.returncode, "hit": done.returncode == 0,
        "errors_m": found.get("errors_m"),
        "verdict": verdict.partition(":")[0], "warned": verdict.startswith(WARNED),
        "failed": found.get("failed", done.stderr[-300:]), "truth": found.get("truth"),
        "estimated": found.get("estimated"), "load": os.getloadavg()[0],
        "seconds": round(time.monotonic() - begun, 1),
    }  # fmt: skip


@contextmanager
def _busy() -> Iterator[None]:
    """LOOPS processes that compute all the time."""
    loops = [subprocess.Popen([sys.executable, "-c", SPIN]) for _ in range(LOOPS)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()
