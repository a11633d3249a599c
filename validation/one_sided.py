"""Do one-sided answers hold?  Friction of cubes that land flat and stick, of known truth.

Each recording is three drops of a cube with some velocity along the table, 0.5 mm and 2 mrad of
noise; friction, velocity and stiffness are drawn.  Many cubes hardly slide, so that friction is
known from below only: "at least" must then be below the truth.  Of those that do slide there is a
standard deviation, whose interval counts.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from diffsim_ros import _engine
from diffsim_ros.executors import InProcess
from diffsim_ros.real2sim.config import load_estimation
from diffsim_ros.real2sim.estimate import estimate
from diffsim_ros.rotation import quat_exp, quat_multiply
from diffsim_ros.scene.model import load_scene

from .common import binomial_bounds, judged, share, side_by_side

RECORDINGS, COVERAGE = 60, 0.90
DROPS, RATE, STEPS, FRAMES = 3, 100.0, 10, 30
POSITION, ROTATION = 5e-4, 2e-3
SEED = 9_100_000


@dataclass(frozen=True)
class Outcome:
    """Truth, estimate, standard deviation or None, and the bound's side and value or None."""

    truth: float
    value: float
    std_dev: float | None
    bound: tuple[str, float] | None
    grade: str

    @property
    def holds(self) -> bool:
        """Whether what is said of friction is true of it."""
        if self.bound is not None:
            side, value = self.bound
            return self.truth >= value if side == "lower" else self.truth <= value
        return self.std_dev is not None and abs(self.value - self.truth) <= 1.96 * self.std_dev


def scene(friction: float, stiffness: float) -> dict:
    """A soft cube above a table."""
    return {
        "world": {"step": 1.0 / RATE / STEPS, "duration": FRAMES / RATE},
        "bodies": {
            "cube": {
                "shape": {"box": {"size": [0.1, 0.1, 0.1]}}, "mass": 0.4, "inertia": 0.0008,
                "pose": {"position": [0.0, 0.0, 0.13]},
                "contact_spheres": {"corners": {"radius": 0.005}},
            }
        },
        "sdfs": {"table": {"plane": {}}},
        "contact": [{
            "name": "table", "points": "cube", "against": "table", "k_n": stiffness,
            "k_t": 0.01 * stiffness, "c_n": 0.4, "c_f": friction,
        }],
    }  # fmt: skip


def drops(path: Path, description: dict, speed: float, rng: np.random.Generator) -> None:
    """Write recorded drops that begin with this velocity along the table [m/s]."""
    engine, rows = load_scene(description).engine, []
    options = _engine.Options(step=1.0 / RATE / STEPS, record_every=STEPS)
    for _ in range(DROPS):
        p, heading = engine.values, rng.uniform(-np.pi, np.pi)
        p[engine.index("cube.rotation.z")] = rng.uniform(-0.5, 0.5)
        velocity = speed * np.cos(heading), speed * np.sin(heading), -0.3
        for axis, value in zip("xyz", velocity, strict=True):
            p[engine.index(f"cube.velocity.{axis}")] = value
        run = _engine.rollout(engine, p, FRAMES * STEPS, options)
        assert run.ok, run.message
        position = run.position[:, 0] + rng.normal(0.0, POSITION, (FRAMES + 1, 3))
        blur = quat_exp(rng.normal(0.0, ROTATION, (FRAMES + 1, 3)))
        q = quat_multiply(blur, run.orientation[:, 0])
        rows.append(np.concatenate([position, q[:, [3, 0, 1, 2]]], axis=1))
    n = FRAMES + 1
    np.savez(
        path, toss_id=np.arange(DROPS) + 1, start=n * np.arange(DROPS),
        length=np.full(DROPS, n), state=np.concatenate(rows), dt=np.float64(1.0 / RATE),
    )  # fmt: skip


def estimation(path: Path) -> dict:
    """Friction, stiffness and damping of a scene with values of tables."""

    def free(value: float, bounds: tuple[float, float], target: str) -> dict:
        return {"value": value, "bounds": list(bounds), "scale": "log", "sets": {target: 1}}

    return {
        "name": "drops", "kind": "poses", "body": "cube", "scene": scene(0.5, 4000.0),
        "data": {"train": {"files": [str(path)]}},
        "measurement": {
            "start": "height", "half_edge": 0.05, "sigma_position": POSITION,
            "sigma_rotation": float(np.degrees(ROTATION)),
        },
        "simulation": {"steps_per_frame": STEPS, "threads": 1},
        "parameters": {
            "friction": free(0.5, (0.02, 2.0), "table.c_f"),
            "stiffness": free(4000.0, (500.0, 50000.0), "table.k_n")
            | {"sets": {"table.k_n": 1, "table.k_t": {"factor": 0.01, "power": 1}}},
            "damping": free(0.4, (0.01, 5.0), "table.c_n"),
        },
        "fit": {"initial_state": "nuisance", "horizons": [15]},
        "uncertainty": {"method": "auto"},
    }  # fmt: skip


def outcome(seed: int, cancel: Any = None) -> Outcome:
    """Drop, blur, estimate."""
    rng = np.random.default_rng(seed)
    truth, speed = float(rng.uniform(0.15, 0.8)), float(rng.uniform(0.1, 0.5))
    stiffness = float(np.exp(rng.uniform(*np.log([2500.0, 6000.0]))))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "drops.npz"
        drops(path, scene(truth, stiffness), speed, rng)
        result = estimate(load_estimation(estimation(path)), report=False, cancel=cancel)
    found = next(p for p in result.parameters if p.name == "friction")
    bound = None if found.bound is None else (found.bound.side, found.bound.value)
    grade = "" if result.verdict is None else result.verdict.grade
    return Outcome(truth, found.value, found.std_dev, bound, grade)


def _outcome(shared: None, seed: int, cancel: Any) -> dict:
    return vars(outcome(seed, cancel))


def study(fraction: float = 1.0, seed: int = 0) -> dict:
    """The whole item; Missed names the bars that were not met."""
    first = SEED + 1000 * seed
    seeds = range(first, first + share(RECORDINGS, fraction))
    rows = side_by_side(_outcome, seeds, here=InProcess(), what="recordings")
    done = [Outcome(**row) for row in rows]
    bounded = [one for one in done if one.bound is not None]
    holding = sum(one.holds for one in bounded)
    figures = {
        "recordings": len(done), "one_sided": len(bounded), "one_sided_hold": holding,
        "intervals": len(done) - len(bounded),
        "intervals_hold": sum(one.holds for one in done if one.bound is None),
        "grades": dict(Counter(one.grade for one in done)),
        "truth_over_bound": sorted(one.truth / one.bound[1] for one in bounded if one.bound),
        "rows": [vars(one) for one in done],
    }  # fmt: skip
    missed = []
    if holding < binomial_bounds(len(bounded), COVERAGE, 1.0, fraction)[0]:
        missed.append(f"{holding} of {len(bounded)} one-sided answers hold")
    if not bounded:
        missed.append("no one-sided answer was given")
    return judged(figures, missed)
