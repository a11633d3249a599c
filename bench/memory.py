"""Memory and time of a long gradient: 2000 steps of the 10k ball in checkpoint mode.

A checkpoint must hold what a step cannot be linearized without: positions and velocities, 2 ndof
doubles. `bytes_over_floor` is what the process grew by during the rollout, per step, over that,
`with_gradient_over_floor` the same of the most it held until the gradient was there;
`gradient_to_forward` the wall time of the backward pass over that of the rollout, in the same run.
"""

from __future__ import annotations

import ctypes
import os
import resource
import sys
import time
from pathlib import Path

import numpy as np

from .ball_engine import Ball
from .ball_scene import SPIN, VELOCITY, Mesh


def resident() -> int:
    """Bytes of memory that this process occupies, what it has freed given back."""
    ctypes.CDLL(None).malloc_trim(0)
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def peak() -> int:
    """Most bytes that this process has occupied so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main(out: Path | None = None, *, subdivisions: int = 8, steps: int = 2000) -> dict:
    """Run it; returns the figures. `out` is not used: there is nothing to draw."""
    if not sys.platform.startswith("linux"):
        print("memory: left out: it reads /proc and glibc's heap", file=sys.stderr, flush=True)
        return {}
    mesh, dt = Mesh.of(subdivisions), 1 / 240
    ball = Ball(mesh, dt)
    ball.gradient("checkpoint", duration=4 * dt)  # what is allocated once
    before = resident()
    begin = time.perf_counter()
    r, _ = ball.rollout(steps * dt, VELOCITY, SPIN, 0, active=ball.active, mode="checkpoint")
    forward = time.perf_counter() - begin
    grown = resident() - before
    gx = np.zeros((len(r.time), ball.scene.ndof))
    gx[-1] = 1
    begin = time.perf_counter()
    r.gradient(gx, 0 * gx)
    backward = time.perf_counter() - begin
    floor = 2 * 8 * ball.scene.ndof
    return {
        "tets": 20 * subdivisions**3,
        "steps": steps,
        "ndof": ball.scene.ndof,
        "bytes_per_step": grown / steps,
        "bytes_over_floor": grown / steps / floor,
        "with_gradient_over_floor": (peak() - before) / steps / floor,
        "forward_ms": forward / steps * 1e3,
        "gradient_to_forward": backward / forward,
    }
