"""Crocoddyl's own trotting problem of a quadruped, solved by FDDP: a script of its own, because
Crocoddyl's wheels want another Pinocchio than this package's environment has.

Reads JSON from standard input: urdf, position (nq,) of the standing robot, feet (left front, right
front, left hind, right hind), length and height [m] of steps, step [s], knots of a swing and of a
stand between, most iterations, repeats.  Writes JSON: what FDDP did from the quasi-static guess of
its examples.
"""

from __future__ import annotations

import json
import sys
import time

import crocoddyl
import numpy as np
import pinocchio
from crocoddyl.utils.quadruped import SimpleQuadrupedalGaitProblem


def solved(given: dict) -> dict:
    """Status, iterations, CPU seconds of one thread and where the robot ends."""
    model = pinocchio.buildModelFromUrdf(given["urdf"], pinocchio.JointModelFreeFlyer())
    position = pinocchio.neutral(model)
    position[:7] = given["base"]
    for name, angle in given["joints"].items():
        position[model.joints[model.getJointId(name)].idx_q] = angle
    model.referenceConfigurations["standing"] = position
    gait = SimpleQuadrupedalGaitProblem(model, *given["feet"])
    start = np.concatenate([position, np.zeros(model.nv)])
    problem = gait.createTrottingProblem(
        start, given["length"], given["height"], given["step"], given["swing"], given["stand"]
    )
    problem.nthreads = 1
    states, controls = [start] * (problem.T + 1), problem.quasiStatic([start] * problem.T)
    seconds = []
    for _ in range(given["repeats"]):
        solver = crocoddyl.SolverFDDP(problem)
        began = time.process_time()
        done = solver.solve(states, controls, given["iterations"], False)
        seconds.append(time.process_time() - began)
    data, places = model.createData(), []
    for state in (solver.xs[0], solver.xs[-1]):
        places.append(pinocchio.centerOfMass(model, data, np.array(state)[: model.nq]).copy())
    return {
        "version": crocoddyl.__version__, "nodes": problem.T + 1, "solved": bool(done),
        "iterations": int(solver.iter), "seconds": float(np.median(seconds)),
        "cost": float(solver.cost), "travel": (places[1] - places[0]).tolist(),
    }  # fmt: skip


if __name__ == "__main__":
    json.dump(solved(json.load(sys.stdin)), sys.stdout)
