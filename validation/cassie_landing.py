"""A real compliant biped lands from jumps: predicted after fitting on the other recordings.

Cassie's landings (data/cassie_landing, used by Acosta, Yang and Posa, "Validating robotics
simulators on real-world impacts", RA-L 2022): from the state 2 ms after a recording begins and
the measured torques 47 ms of motion follow.  Stiffness and damping of springs, contact, friction
of motors and the height of the floor are fitted on four fifths of the landings, the others are
predicted.  Beside it: the published figures; the robot with its springs held, on a floor as it
is fitted then or a hard one; and the motion with which it arrives, kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from diffsim_ros.inverse.optimizers import LMOptions, levenberg_marquardt
from diffsim_ros.inverse.simulation_problem import SimulationProblem, body_slots
from diffsim_ros.parameter import Parameter
from diffsim_ros.rotation import quat_exp, quat_log, quat_multiply

from .cassie import EVERY, PASSIVE, SIDES, SIGMA, STEPS, Landing, landings, problem_of
from .common import judged

FOLDS, TENTH = 5, (4, 2)
"""Folds of the full study; landings that a tenth fits and predicts."""
ITERATIONS, SHORT = 12, ("fitted", "before_fit", "rigid")
"""Of Levenberg and Marquardt, of which five do most; models of a tenth."""
LESS, BETTER = 0.85, 0.8
"""Bars: error over that of the rigid robot; share of landings in which it is less."""
HARD = {"k_n": 1e7, "k_t": 1e5, "c_n": 5.0}
HELD = {"knee_k": 1e5, "heel_k": 1e5, "knee_c": 100.0, "heel_c": 100.0}
"""What a hard floor and held springs are: N/m, N s/m, s/m; N m/rad, N m s/rad."""


@dataclass(frozen=True)
class Model:
    """One way to predict.  held: parameters that are not fitted; locked: springs stand still; late:
    how much later than logged torques act [s], of which the fit takes the best."""

    held: dict[str, float]
    locked: bool = False
    fitted: bool = True
    late: tuple[float, ...] = (0.0,)


MODELS = {
    "fitted": Model({}),
    "late_torques": Model({}, late=(0.002, 0.004)),
    "before_fit": Model({}, fitted=False),
    "springs_held": Model(HELD, locked=True),
    "rigid": Model(HELD | HARD, locked=True),
}


def _of(name: str, unit: str, value: float, bounds: tuple[float, float], *sets: str) -> Parameter:
    every = {one.replace("*", side): (1.0, 1.0) for one in sets for side in SIDES}
    scale = "linear" if bounds[0] < 0 else "log"
    return Parameter(name, unit, value, lower=bounds[0], upper=bounds[1], scale=scale, sets=every)


DAMPING = "{}_*.friction_damping"
PARAMETERS = (
    _of("k_n", "N/m", 4e4, (2e3, 1e8), "ground_*.k_n"),
    _of("c_n", "s/m", 0.5, (1e-3, 50), "ground_*.c_n"),
    _of("k_t", "N s/m", 200, (1, 1e6), "ground_*.k_t"),
    _of("c_f", "1", 0.8, (0.1, 3), "ground_*.c_f"),
    _of("floor", "m", 0.0, (-0.02, 0.02), "ground_*.surface_offset"),
    _of("knee_k", "N m/rad", 1500, (200, 1e6), "knee_torsion_*.stiffness"),
    _of("knee_c", "N m s/rad", 1, (1e-2, 1e3), "knee_torsion_*.damping"),
    _of("heel_k", "N m/rad", 1250, (200, 1e6), "heel_torsion_*.stiffness"),
    _of("heel_c", "N m s/rad", 1, (1e-2, 1e3), "heel_torsion_*.damping"),
    _of("hip_c", "N m s/rad", 1, (1e-3, 30), *(DAMPING.format(j) for j in ("hip_roll", "hip_yaw"))),
    _of("leg_c", "N m s/rad", 1, (1e-3, 30), *(DAMPING.format(j) for j in ("hip_pitch", "knee"))),
    _of("toe_c", "N m s/rad", 1, (1e-3, 30), DAMPING.format("toe")),
)  # fmt: skip


def study(fraction: float = 1.0, seed: int = 0) -> dict:
    """Errors of predicted landings by every model; Missed: springs that fit do not pay.

    A tenth fits a few landings, drawn with `seed`, and predicts fewer.
    """
    every = landings()
    order = np.random.default_rng(seed).permutation(len(every))
    folds = [list(part) for part in np.array_split(order, FOLDS)]
    splits = [(sorted(set(order) - set(part)), part) for part in folds]
    if fraction < 1:
        splits = [(list(order[: TENTH[0]]), list(order[TENTH[0] : sum(TENTH)]))]
    models = {name: model for name, model in MODELS.items() if fraction >= 1 or name in SHORT}
    apart: dict[str, dict[str, np.ndarray]] = {name: {} for name in (*models, "motion_kept")}
    found: dict[str, list[dict[str, float]]] = {name: [] for name in models}
    for train, held_out in splits:
        for name, model in models.items():
            values = _fitted(model, [every[k] for k in train])
            found[name].append(values)
            rows = _predicted(model, values, [every[k] for k in held_out])
            apart[name] |= {every[k].name: row for k, row in zip(held_out, rows, strict=True)}
        apart["motion_kept"] |= {every[k].name: _kept(every[k]) for k in held_out}
    figures = {
        "landings": len(every), "predicted": len(apart["fitted"]),
        "errors": {name: _errors(list(rows.values())) for name, rows in apart.items()},
        "score": {name: _score(rows) for name, rows in apart.items()},
        "parameters": {name: _spread(values) for name, values in found.items()},
    }  # fmt: skip
    return judged(figures, _missed(figures, fraction))


def _missed(figures: dict, fraction: float) -> list[str]:
    """Bars that are missed; a tenth only asks that the fit beats the rigid robot."""
    ours, rigid = (figures["score"][name]["per_landing"] for name in ("fitted", "rigid"))
    ratio = figures["score"]["fitted"]["all"] / figures["score"]["rigid"]["all"]
    better = sum(ours[name] < rigid[name] for name in ours)
    figures["beside_rigid"] = {"ratio": ratio, "better": better, "of": len(ours)}
    missed = []
    if ratio > (LESS if fraction >= 1 else 1.0):
        missed.append(f"errors are {ratio:.3g} of the rigid robot's")
    if fraction >= 1 and better < BETTER * len(ours):
        missed.append(f"better than the rigid robot in {better} of {len(ours)} landings only")
    return missed


def _problem(model: Model, landed: Sequence[Landing], late: float) -> SimulationProblem:
    parameters = [
        replace(p, value=model.held[p.name], free=False) if p.name in model.held else p
        for p in PARAMETERS
    ]
    return problem_of([one.later(late) for one in landed], parameters, locked=model.locked)


def _fitted(model: Model, landed: Sequence[Landing]) -> dict[str, float]:
    """Values of the free parameters, by name; with them `late` [s]."""
    best: tuple[float, dict[str, float]] | None = None
    for late in model.late:
        problem = _problem(model, landed, late)
        z, cost = problem.start, 0.0
        if model.fitted:
            options = LMOptions(max_iterations=ITERATIONS)
            solution = levenberg_marquardt(problem, options=options)
            z, cost = solution.z, solution.value
        values = dict(zip(problem.names, problem.values(z).tolist(), strict=True))
        if best is None or cost < best[0]:
            best = cost, values | {"late": late}
    assert best is not None
    return best[1]


def _predicted(
    model: Model, values: dict[str, float], landed: Sequence[Landing]
) -> list[np.ndarray]:
    """Residuals of every landing (times, 40), in SIGMA; see `_columns`."""
    problem = _problem(model, landed, values["late"])
    z = problem.map.scaled({name: values[name] for name in problem.names})
    named, slots, found = problem.map.named(z), body_slots(problem.scene), []
    for trial, run in zip(problem.trials, problem.rollouts(z), strict=True):
        terms = [o.term(run, slots[o.body], named) for o in trial.objectives]
        found.append(np.concatenate([t.residual for t in terms], axis=1))
    return found


def _kept(landing: Landing) -> np.ndarray:
    """Residuals (times, 40) of a motion that goes on with the velocities of its start."""
    rows = np.arange(EVERY, STEPS + 1, EVERY)
    t = landing.t[rows, None]
    turned = quat_multiply(quat_exp(t * landing.spin[0]), landing.orientation[0])
    back = landing.orientation[rows] * np.array([-1.0, -1.0, -1.0, 1.0])
    found = [
        (landing.position[0] + t * landing.velocity[0] - landing.position[rows]) / SIGMA["place"],
        quat_log(quat_multiply(turned, back)) / SIGMA["turn"],
        (landing.velocity[0] - landing.velocity[rows]) / SIGMA["velocity"],
        (landing.spin[0] - landing.spin[rows]) / SIGMA["spin"],
    ]
    for joint in _joints(landing):
        q, rate = landing.start_q[joint], landing.start_qd[joint]
        found.append((q + t * rate - landing.q[joint][rows, None]) / SIGMA["position"])
        found.append((rate - landing.qd[joint][rows, None]) / SIGMA["rate"])
    return np.concatenate(found, axis=1)


def _joints(landing: Landing) -> list[str]:
    return [joint for joint in landing.q if not joint.startswith("ankle_spring")]


def _columns() -> dict[str, tuple[list[int], float]]:
    """Name of an error -> its columns of the residuals, and its size where they are one."""
    joints = _joints(landings()[0])
    passive = [i for i, joint in enumerate(joints) if joint.startswith(PASSIVE)]
    driven = [i for i in range(len(joints)) if i not in passive]
    return {
        "pelvis_position_mm": ([0, 1, 2], 1e3 * SIGMA["place"]),
        "pelvis_rotation_deg": ([3, 4, 5], np.rad2deg(SIGMA["turn"])),
        "pelvis_velocity_m_s": ([6, 7, 8], SIGMA["velocity"]),
        "pelvis_spin_rad_s": ([9, 10, 11], SIGMA["spin"]),
        "motor_position_rad": ([12 + 2 * i for i in driven], SIGMA["position"]),
        "motor_rate_rad_s": ([13 + 2 * i for i in driven], SIGMA["rate"]),
        "spring_position_rad": ([12 + 2 * i for i in passive], SIGMA["position"]),
        "spring_rate_rad_s": ([13 + 2 * i for i in passive], SIGMA["rate"]),
    }


def _errors(rows: Sequence[np.ndarray]) -> dict:
    """Root mean squares over all landings, of the whole motion and of its last 8 ms.

    Vectors by length (three columns together), joints each by itself.
    """
    found = {}
    for name, (columns, size) in _columns().items():
        squares = np.array([row[:, columns] ** 2 for row in rows])
        each = squares.sum(axis=2) if name.startswith("pelvis") else squares.mean(axis=2)
        found[name] = float(size * np.sqrt(each.mean()))
        found[f"{name}_at_the_end"] = float(size * np.sqrt(each[:, -4:].mean()))
    return found


def _score(rows: dict[str, np.ndarray]) -> dict:
    """Root mean square of all residuals, in SIGMA: of every landing, and of all."""
    each = {name: float(np.sqrt(np.mean(row**2))) for name, row in rows.items()}
    return {"all": float(np.sqrt(np.mean(np.square(list(each.values()))))), "per_landing": each}


def _spread(fits: Sequence[dict[str, float]]) -> dict:
    """Of every parameter: median, least and largest over the folds."""
    table = {name: [fit[name] for fit in fits] for name in fits[0]}
    return {n: [float(f(v)) for f in (np.median, np.min, np.max)] for n, v in table.items()}
