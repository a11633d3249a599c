"""`python -m validation [ITEM...]`: run full studies and write docs/results/ITEM.json."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy: CPU times are of one thread

from diffsim_ros.errors import InputError
from diffsim_ros.executors import check_address

from .common import Executors, Models, run_and_record

ITEMS = {
    "gradients": "derivatives of simulated motion against central differences",
    "gradients_mixed": "the same over scenes of soft, rigid and jointed bodies",
    "reduced": "the same over trees of joints in reduced coordinates, and how far these open",
    "hard_contact": "hard contact of the velocity stepper: its laws, closed forms, derivatives",
    "touchdown": "derivatives after contact over all phases of a step, 19 scenes",
    "defaults": "contacts by defaults alone: creep, rest, stacks, bounces, beside MuJoCo and Drake",
    "onset_gain": "plans and fits with contact integrated within steps, and sampled",
    "physics": "closed forms, orders of convergence, conservation",
    "cube_toss": "estimation and prediction of the real cube tosses",
    "cube_laws": "laws of contact that the engine lacks, on pieces of the cube tosses",
    "cube_ensemble": "the cube tosses by the middle of many random motions",
    "cube_kicked": "the same by the engine and its law",
    "cube_peers": "the cube tosses by MuJoCo, Drake and Bullet, fitted to the same folds",
    "robustness": "random drops: steps that converge as asked",
    "dynamics": "recursive dynamics of robots and random trees beside Pinocchio",
    "physics_solids": "the soft cantilever by every kind of solid",
    "physics_blocks": "Cook's membrane and a pressed block, with derivatives",
    "physics_clamp": "the sag by Poisson's ratio with and without the edges of a clamp",
    "physics_bob": "Bob bent by its own weight, nearly incompressible, by every kind of solid",
    "cantilever_reference": "the soft cantilever by scikit-fem: what solids are held against",
    "contact_models": "a soft puck under penalty and hybrid contact beside inequalities",
    "silicone_beam": "a clamped soft beam, each load predicted from the others",
    "soft_arm": "a pneumatic arm, releases predicted from one pressure's",
    "real_tosses": "square, ellipse, elbow, tennis balls beside baselines",
    "real_clouds": "real depth clouds: encodings, planes, clusters",
    "foam_ball": "a foam ball before a depth camera: coverage of intervals",
    "thrown_markers": "a soft sphere and cube thrown with six markers: coverage",
    "arm_efforts": "a TIAGo's motor currents on unseen motion, beside five coefficients a joint",
    "arm_body": "the same arm as one body: held-out currents and motion, halves, payload",
    "cassie_landing": "a real compliant biped's landings predicted, beside a rigid one",
    "locomotion": "motions of legged-wheeled robots as in [G Table 2.1], of random ones, solvers",
    "locomotion_robots": "published quadrupeds trot, turn and stop; trots beside Crocoddyl's",
    "excitation": "what a designed excitation tells of a UR5, beside the motion of a throw",
    "sysid": "beside MuJoCo's toolbox: an arm's joint log, cube tosses",
    "model_comparison": "a wrong law of viscosity is recognised",
    "noise_study": "noise on a thrown soft body, three friction laws",
    "correlated_noise": "coverage of intervals under noise that is correlated over time",
    "compliant": "a quadruped with soft feet: its drop, its gait refined, MuJoCo beside",
    "driver": "what leaves the driver, and how its motions end",
    "faults": "faults at random instants of motions over ROS, evaluated by the robot's record",
    "interpolation": "what controllers command of accepted motions, in each version",
    "collision": "random motions among things, beside Pinocchio with coal",
    "two_robots": "two twins in two namespaces: both plan and move at once",
    "inverse_kinematics": "random paths of three arms: solved, within limits, ms",
    "throwing": "throws by bounces, spin and walls to points and poses",
    "manipulation": "things moved through strings, bands, springs, cloth",
    "executed_plans": "the UR5's plans in its twin and over ROS, much varied",
    "mujoco_throw": "a planned throw of the UR5 in MuJoCo too",
    "locomotion_mujoco": "plans of robots on legs and wheels, tracked in MuJoCo",
    "locomotion_servos": "greatest speeds from rest with the servos that the thesis names",
    "locomotion_wheels": "robots on wheels with predictive control, pushed, beside open loop",
    "locomotion_feedback": "legged motions with predictive control, pushed, beside open loop",
    "tennis": "a tennis ball's bounce estimated, thrown by a table at a wall",
    "learning": "a network learns to throw a ball into a cup",
    "learning_pendulum": "pendulums of one to seven links learn to swing up, beside SAC",
    "learning_ant": "gymnasium's Ant learned here, its policy run in MuJoCo, beside SAC there",
    "ten_tasks": "ten common tasks with public names alone, beside MuJoCo, Drake and Newton",
    "security": "hostile files of every format, each refused in 2 s and 500 MB",
    "first_data": "check, init and estimate on recordings not seen before, as they come",
    "calibration": "coverage of 95 % intervals on synthetic tosses",
    "wheel": "the wheel made, installed into an empty environment, its first gradient",
    "demo": "./run demo with hidden truths drawn at random, also on a busy machine",
    "halves": "real recordings: estimates from disjoint sets agree within std_dev",
    "verdicts": "right and wrong models of synthetic tosses, told apart",
    "one_sided": "friction of bodies that stick: answers with one side, of known truth",
    "viewer": "the viewer in Chromium without a GPU: frames and updates a second, nothing online",
    "many": "many tasks on a Ray cluster: digits, speed-up, cost of short ones, what is killed",
    "zoo": "published URDFs and MJCFs: taken, right, named, simulated, derived (--models DIR)",
    "whole_models": "published robots with their files' contact, one second, beside MuJoCo",
    "mesh_numbers": "soft balls and boxes whose truth has another mesh: coverage",
    "soft_body": "a soft ball found where a rigid one cannot explain the clouds",
}


def main() -> int:
    """Run the named items, or all; 1 when a bar is missed."""
    parser = argparse.ArgumentParser(
        prog="run validate",
        epilog="\n".join(f"{name}: {what}" for name, what in ITEMS.items()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("items", nargs="*", choices=[*ITEMS, []], metavar="ITEM")
    text = "Ray cluster for what runs side by side: local, HOST:PORT or ray://HOST:PORT"
    parser.add_argument("--ray", metavar="ADDRESS", help=text)
    text = "keep finished parts of studies here, and go on from those that are there"
    parser.add_argument("--resume", type=Path, metavar="DIR", help=text)
    text = "folder of URDFs and MJCFs for `zoo`; absent: those of installed packages"
    parser.add_argument("--models", metavar="DIR", type=Path, help=text)
    options = parser.parse_args()
    if options.ray is not None:
        try:
            check_address(options.ray)
        except InputError as error:
            print(error, file=sys.stderr)
            return 2
    Executors.ray, Executors.resume = options.ray, options.resume
    Models.folder = options.models
    names = options.items or list(ITEMS)
    try:
        return _studies(names)
    except InputError as error:
        if options.resume is None or options.resume not in Path(str(error.place)).parents:
            raise
        print(error, file=sys.stderr)  # of a folder that cannot be written, or that another writes
        return 2
    except KeyboardInterrupt:
        kept = "" if options.resume is None else f"; what is done is in {options.resume}"
        print(f"stopped{kept}", file=sys.stderr)
        return 130


def _studies(names: Sequence[str]) -> int:
    missed = 0
    for name in names:
        print(f"== {name}: {ITEMS[name]}", flush=True)
        try:
            figures = run_and_record(name, importlib.import_module(f"validation.{name}").study)
        except (AssertionError, ImportError) as error:  # an extra may be missing
            missed += 1
            print(f"MISSED {name}: {error}", flush=True)
        else:
            print(json.dumps(figures, indent=2), flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
