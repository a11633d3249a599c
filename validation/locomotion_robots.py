"""Published quadrupeds trot, turn and stop by one rule each; trots beside Crocoddyl's.

Robots come from their URDFs (data/robots) with feet and a standing pose named.  With h the height
of the centre of mass, a trot has a period of 5 sqrt(h/g), steps 0.1 h high and a stride of h/2, a
turn 20 degrees a period on the spot; a stop begins in the trot, at a sample in the middle of a
swing, goes on to the end of the next period and ends at rest half a period later.

Crocoddyl's trotting problem (SimpleQuadrupedalGaitProblem of its examples, FDDP) is solved for the
same robots, steps and time steps where it is installed:

    pip install --target FOLDER crocoddyl==3.2.1 pin==4.0.0 libpinocchio==4.0.0
    DIFFSIM_CROCODDYL=FOLDER ./run validate locomotion_robots
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from diffsim_ros.executors import InProcess
from diffsim_ros.planning.locomotion import (
    Begin,
    FootfallPattern,
    LocomotionConfig,
    LocomotionGoals,
    LocomotionMotion,
    generate,
    load_legged_robot,
    named_gait,
)
from diffsim_ros.planning.locomotion.motion import base_poses
from diffsim_ros.yaml_file import read_yaml

from .common import ROOT, judged, share, side_by_side

FOLDER = ROOT / "config" / "locomotion" / "robots"
ROBOTS = ("solo12", "anymal", "anymal_wheels", "hyq", "go1")
SAMPLES, DRAWN = 24, 40
"""Of a period; rules drawn at random, each for one robot."""
NODES = ((0.02, 12, 2), (0.01, 25, 2))
"""Time step [s], knots of a swing and of a stand between; the second is that of its examples. Ours
begins at rest, which takes two samples of standing."""
SIDES = {  # left front, right front, left hind, right hind
    "solo12": ("FL", "FR", "HL", "HR"),
    "anymal": ("LF", "RF", "LH", "RH"),
    "hyq": ("LF", "RF", "LH", "RH"),
    "go1": ("FL", "FR", "RL", "RR"),
}
MOST, REPEATS = 100, 5
"""Iterations of FDDP, as in its examples; solutions of which the median time counts."""


@dataclass(frozen=True)
class Rule:
    """How robots move: period over sqrt(height / g); height of swings and stride over height; turn
    of a period; sample of the trot from which it stops."""

    period: float = 5.0
    swing: float = 0.1
    stride: float = 0.5
    turn: float = math.radians(20.0)
    sample: int = 5


RULE = Rule()


def random_rule(rng: np.random.Generator) -> Rule:
    """Any rule about that one, backwards too."""
    return Rule(
        rng.uniform(4.0, 6.0), rng.uniform(0.06, 0.18), rng.uniform(-0.3, 0.6),
        rng.uniform(-1.0, 1.0) * math.radians(30.0), int(rng.integers(SAMPLES)),
    )  # fmt: skip


def study(fraction: float = 1.0, seed: int = 0) -> dict:
    """Every robot's motions, also by rules drawn with `seed`, and both planners' trots.

    Missed: a motion that misses its goals.
    """
    names = ROBOTS if fraction >= 1 else ROBOTS[::3]
    figures: dict[str, Any] = {"robots": {name: motions(name)[0] for name in names}}
    missed = [
        f"{name}, {what}: {row['status']}"
        for name, rows in figures["robots"].items()
        for what, row in rows.items()
        if row["status"] != "reached"
    ]
    rng, count = np.random.default_rng(seed), share(DRAWN, fraction)
    drawn = [(names[k % len(names)], random_rule(rng)) for k in range(count)]
    # one after the other here: CPU times are of the process
    done = side_by_side(_drawn_rows, drawn, here=InProcess(1), what="rules drawn at random")
    rows = [(*pair, found) for pair, found in zip(drawn, done, strict=True)]
    reached = [row["status"] == "reached" for *_, found in rows for row in found.values()]
    figures["drawn"] = {
        "motions": len(reached), "reached": sum(reached),
        "most_seconds": max(row["seconds"] for *_, found in rows for row in found.values()),
        "lack": [
            {"robot": name, "motion": what, "rule": asdict(rule), "status": row["status"]}
            for name, rule, found in rows
            for what, row in found.items()
            if row["status"] != "reached"
        ],
    }  # fmt: skip
    if figures["drawn"]["lack"]:
        missed.append(f"{len(figures['drawn']['lack'])} motions by rules drawn at random")
    folder = os.environ.get("DIFFSIM_CROCODDYL")
    pairs = [(name, nodes) for name in SIDES if name in names for nodes in NODES]
    figures["crocoddyl"] = [beside(*pair, folder) for pair in pairs] if folder else "not installed"
    return judged(figures, missed)


def _drawn_rows(shared: None, task: tuple[str, Rule], cancel: Any) -> dict:
    return motions(*task, repeats=1)[0]


def base_config(name: str, rule: Rule) -> tuple[LocomotionConfig, float]:
    """A trot by a rule, without goals, and the height of the centre of mass [m]."""
    robot = load_legged_robot(FOLDER / f"{name}.yaml")
    stands = np.concatenate(robot.standing_pose())
    height = float(robot.centre_of_mass(robot.stance, base_poses(stands[None])[0])[2])
    period = rule.period * math.sqrt(height / 9.81)
    pattern = named_gait(robot, "trot", SAMPLES)
    return LocomotionConfig(name, name, robot, pattern, period, rule.swing * height), height


def motions(
    name: str, rule: Rule = RULE, *, repeats: int = REPEATS
) -> tuple[dict, dict[str, tuple[LocomotionConfig, LocomotionMotion]]]:
    """Figures of trot, turn and stop, and the motions."""
    base, height = base_config(name, rule)
    goals = {
        "trot": LocomotionGoals(travel=(rule.stride * height, 0.0), turn=0.0),
        "turn": LocomotionGoals(travel=(0.0, 0.0), turn=rule.turn),
    }
    found, rows = {}, {}
    for what, goal in goals.items():
        found[what], rows[what] = _timed(replace(base, goals=goal), repeats)
    found["stop"], rows["stop"] = _timed(stop_of(*found["trot"], rule.sample), repeats)
    rows["stop"]["speed_before_m_s"] = float(np.linalg.norm(found["trot"][1].velocity))
    return rows, found


def stop_of(trot: LocomotionConfig, motion: LocomotionMotion, sample: int) -> LocomotionConfig:
    """From a sample on to the end of the trot's next period, then half a period of standing."""
    flags = trot.footfall.contact
    going = flags[np.arange(sample, 2 * SAMPLES) % SAMPLES]
    standing = np.ones((SAMPLES // 2, flags.shape[1]), bool)
    pattern = FootfallPattern(trot.footfall.names, np.vstack([going, standing]), False)
    return replace(
        trot, name=f"{trot.name}_stop", footfall=pattern,
        duration=trot.step * (pattern.samples - 1), begin=Begin(motion, sample),
        goals=LocomotionGoals(turn=0.0),
    )  # fmt: skip


def _timed(
    config: LocomotionConfig, repeats: int
) -> tuple[tuple[LocomotionConfig, LocomotionMotion], dict]:
    seconds = []
    for _ in range(repeats):
        began = time.process_time()
        motion = generate(config)
        seconds.append(time.process_time() - began)
    row = {
        "status": motion.status, "iterations": motion.iterations, "samples": motion.samples,
        "seconds": round(float(np.median(seconds)), 4),
        "distances": {one.name: one.distance for one in motion.goals},
    }  # fmt: skip
    return (config, motion), row


def beside(name: str, nodes: tuple[float, int, int], folder: str) -> dict:
    """Crocoddyl's trot of a robot, and ours of as many nodes, as long and far, from rest to rest.

    Its two nodes in which feet land are impulses and last no time.
    """
    base, height = base_config(name, RULE)
    step, swing, stand = nodes
    robot = base.robot
    theirs = crocoddyl_trot(folder, {
        "urdf": str((FOLDER / read_yaml(FOLDER / f"{name}.yaml")["urdf"]).resolve()),
        "base": np.concatenate(robot.standing_pose()).tolist(),
        "joints": dict(zip(robot.joint_names, robot.stance.tolist(), strict=True)),
        "feet": feet_links(name), "length": RULE.stride * height, "height": RULE.swing * height,
        "step": step, "swing": swing, "stand": stand, "iterations": MOST, "repeats": REPEATS,
    })  # fmt: skip
    contact = flags_of(base.footfall.names, SIDES[name], swing, stand)
    if len(contact) != theirs["nodes"]:
        raise RuntimeError(f"{name}: {theirs['nodes']} nodes, {len(contact)} samples")
    ours = replace(
        base, footfall=FootfallPattern(base.footfall.names, contact, False),
        duration=2 * step * (stand + swing), friction=0.7,
        goals=LocomotionGoals(travel=(theirs["travel"][0], theirs["travel"][1]), turn=0.0),
    )  # fmt: skip
    _, row = _timed(ours, REPEATS)
    return {"robot": name, "step": step, "nodes": len(contact), "crocoddyl": theirs, "ours": row}


def feet_links(name: str) -> list[str]:
    """Frames of the feet in the URDF, in the order of SIDES."""
    given = read_yaml(FOLDER / f"{name}.yaml")["end_effectors"]
    return [given[foot]["link"] for foot in SIDES[name]]


def flags_of(names: Sequence[str], sides: Sequence[str], swing: int, stand: int) -> np.ndarray:
    """Contact flags (nodes, m) of Crocoddyl's trot: stand, right front and left hind swing, land;
    stand, the other two swing, land; stand."""
    rows = []
    for lifted in ((1, 2), (0, 3)):
        flying = {sides[k] for k in lifted}
        rows += [[True] * len(names)] * stand
        rows += [[name not in flying for name in names]] * swing
        rows += [[True] * len(names)]
    return np.array([*rows, rows[-1]])


def crocoddyl_trot(folder: str, given: dict) -> dict:
    """What crocoddyl_trot.py says, run with the packages in a folder of `pip install --target`."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    packages = Path(folder) / "cmeel.prefix" / "lib" / version / "site-packages"
    script = Path(__file__).with_name("crocoddyl_trot.py")
    environment = {
        "PATH": os.environ.get("PATH", ""), "PYTHONPATH": f"{packages}{os.pathsep}{folder}",
        "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1",
    }  # fmt: skip
    run = subprocess.run(
        [sys.executable, "-S", str(script)], input=json.dumps(given), env=environment,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if run.returncode:
        raise RuntimeError(f"crocoddyl: {run.stderr.strip().splitlines()[-1:]}")
    return dict(json.loads(run.stdout))
