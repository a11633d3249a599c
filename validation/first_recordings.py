"""Synthetic first recordings: what a lab's tracker may bring, with its truth, for first_data.

Bodies move by this package's simulator, sizes, masses and materials drawn per seed; the files then
get noise, a rate, a unit, an axis that is up, and an order of quaternions.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from diffsim_ros import _engine
from diffsim_ros.inverse.marker_track import interpolated
from diffsim_ros.inverse.simulation_problem import body_slots
from diffsim_ros.real2sim.sensors.marker.attach import carrier_of
from diffsim_ros.rotation import quat_exp, quat_log, quat_multiply, quat_rotate
from diffsim_ros.scene.model import load_scene

KINDS = ("tosses", "throws", "pushes", "swings", "joints")
RATES, NOISE = (60.0, 1000.0), (1e-4, 2e-3)
UNITS = {"m": 1.0, "mm": 1000.0}
UPS = ("+z", "+y")
STEP = 1e-3
ROTATION = 3.0
"""Noise of rotations [rad] over that of places [m]: markers some 0.3 m about the origin."""


@dataclass(frozen=True)
class Case:
    """A recording and its truth.

    kind      of KINDS;  rate [Hz], noise [m] (of joints: degrees or not)
    unit, up  of places;  last: w last in the file where its format has it first, and the reverse
    degrees   angles of joints are in degrees
    body      edge [m], mass [kg], friction, stiffness (k_n over mass
              [1/s^2]) and zeta of its contact; of swings young [Pa]
    """

    kind: str
    seed: int
    rate: float
    noise: float
    unit: str = "m"
    up: str = "+z"
    wrong_order: bool = False
    degrees: bool = False
    body: dict = field(default_factory=dict)

    @property
    def words(self) -> str:
        """For reports."""
        order = "w misplaced" if self.wrong_order else "w as said"
        if self.kind == "joints":
            order = "degrees" if self.degrees else "rad"
        return (
            f"{self.kind} {self.seed}: {self.rate:.0f} Hz, {1e3 * self.noise:.2g} mm, {self.unit}, "
            f"{self.up}, {order}"
        )


def drawn(seed: int) -> Case:
    """The case of a seed; kinds in turn, the rest at random."""
    rng = np.random.default_rng([seed, 7])
    kind = ("tosses", "pushes", "swings", "joints", "throws", "tosses")[seed % 6]
    rate = float(np.round(np.exp(rng.uniform(*np.log(RATES)))))
    noise = float(np.exp(rng.uniform(*np.log(NOISE))))
    body = {
        "edge": rng.uniform(0.06, 0.14), "mass": rng.uniform(0.15, 0.8),
        "friction": rng.uniform(0.15, 0.5), "young": np.exp(rng.uniform(*np.log([1e5, 1e6]))),
        "stiffness": np.exp(rng.uniform(*np.log([5e4, 3e5]))), "zeta": rng.uniform(0.6, 1.6),
    }  # fmt: skip
    unit, up = rng.choice(list(UNITS)), rng.choice(UPS)
    wrong, degrees = bool(rng.random() < 0.4), bool(rng.random() < 0.5)
    if kind in ("swings", "joints"):
        # markers have no order; a swing's own unit cannot be seen, so mm must be refused
        wrong = False
    return Case(kind, seed, rate, noise, str(unit), str(up), wrong, degrees, body)


def write(case: Case, folder: Path) -> Path:
    """Simulate and write the recording of a case."""
    rng = np.random.default_rng([case.seed, 11])
    if case.kind == "swings":
        return _beam(case, folder, rng)
    if case.kind == "joints":
        return _joints(case, folder, rng)
    trials = [_rigid(case, rng) for _ in range({"tosses": 10, "throws": 8, "pushes": 4}[case.kind])]
    return _saved(case, folder, trials, rng)


def _rigid(case: Case, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Positions (n, 3) [m] and quaternions (n, 4) of a cube that is tossed, thrown or pushed."""
    edge, mass = case.body["edge"], case.body["mass"]
    k_n, zeta = case.body["stiffness"] * mass, case.body["zeta"]
    scene = {
        "world": {"step": STEP, "duration": 1.0},
        "bodies": {
            "cube": {
                "type": "rigid", "shape": {"box": {"size": [edge] * 3}}, "mass": mass,
                "pose": {"position": [0, 0, 1]},
                "contact_spheres": {"corners": {"radius": 0.03 * edge}},
            }
        },
        "sdfs": {"table": {"plane": {}}},
        "contact": [{
            "name": "table", "points": "cube", "against": "table", "damping": "ramped",
            "d_0": 2e-4, "k_n": k_n, "k_t": 0.002 * k_n, "k_d": 2.0 * zeta * np.sqrt(k_n * mass),
            "c_f": case.body["friction"],
        }],
    }  # fmt: skip
    start = {
        "position": [0.0, 0.0, rng.uniform(1.6, 2.2) * edge],
        "rotation": quat_log(quat_exp(rng.normal(0.0, 1.0, 3))),
        "velocity": [*rng.normal(0.0, 0.5, 2), rng.uniform(0.3, 1.0)],
        "angular_velocity": rng.normal(0.0, 4.0, 3),
    }
    if case.kind == "throws":
        start["position"][2] += 0.3
        start["velocity"] = [*rng.normal(0.0, 0.6, 2), rng.uniform(0.5, 1.5)]
    if case.kind == "pushes":
        heading = rng.uniform(-np.pi, np.pi)
        push = rng.uniform(0.5, 1.2)
        start = {
            "position": [0.0, 0.0, 0.5 * edge], "rotation": [0.0, 0.0, rng.uniform(-3, 3)],
            "velocity": [push * np.cos(heading), push * np.sin(heading), 0.0],
            "angular_velocity": [0.0, 0.0, rng.normal(0.0, 1.0)],
        }  # fmt: skip
    model = load_scene(scene)
    p = model.engine.values
    for what, values in start.items():
        for axis, value in zip("xyz", values, strict=True):
            p[model.engine.index(f"cube.{what}.{axis}")] = value
    frame = 1.0 / case.rate
    every = int(np.ceil(frame / STEP))
    frames = int(1.2 * case.rate)
    options = _engine.Options(step=frame / every, record_every=every)
    run = _engine.rollout(model.engine, p, frames * every, options)
    assert run.ok, run.message
    position, q = np.array(run.position[:, 0]), np.array(run.orientation[:, 0])
    if case.kind == "throws":
        position, q = _held(case, position, q, np.array(start["velocity"]), rng)
    return position, q


def _held(
    case: Case, position: np.ndarray, q: np.ndarray, velocity: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """The same after a hand that holds the body and swings it to its start."""
    n, span = int(0.5 * case.rate), 0.5
    s = np.arange(n) / n
    away = rng.uniform(-0.1, 0.1, 3) - 0.15 * velocity
    # a cubic from rest, `away` of the start, to the start with its velocity
    shape = s**2 * (3.0 - 2.0 * s)
    end = s**2 * (s - 1.0) * span
    path = position[0] + (1.0 - shape)[:, None] * away + end[:, None] * velocity
    return np.concatenate([path, position]), np.concatenate([np.repeat(q[:1], n, axis=0), q])


def _saved(
    case: Case, folder: Path, trials: list[tuple[np.ndarray, np.ndarray]], rng: np.random.Generator
) -> Path:
    """An npz of tosses, or of throws a table, with noise, unit, axes and order of the case."""
    turn = quat_exp([-0.5 * np.pi, 0.0, 0.0]) if case.up == "+y" else np.array([0.0, 0, 0, 1])
    rows, lengths = [], [len(p) for p, _ in trials]
    for position, q in trials:
        position = position + rng.normal(0.0, case.noise, position.shape)
        blur = quat_exp(rng.normal(0.0, ROTATION * case.noise, position.shape))
        position = UNITS[case.unit] * quat_rotate(turn, position)
        rows.append(np.concatenate([position, quat_multiply(turn, quat_multiply(blur, q))], axis=1))
    table = np.concatenate(rows)
    numbers = np.repeat(np.arange(len(trials)), lengths)
    first = table[:, [0, 1, 2, 6, 3, 4, 5]]
    if case.kind == "throws":
        path = folder / "throws.csv"
        t = np.concatenate([np.arange(n) for n in lengths]) / case.rate
        columns = np.column_stack([numbers, t, first if case.wrong_order else table])
        header = "toss_id,t,px,py,pz,qx,qy,qz,qw"
        np.savetxt(path, columns, delimiter=",", header=header, comments="", fmt="%.9g")
        return path
    path = folder / f"{case.kind}.npz"
    np.savez(
        path, toss_id=np.arange(len(trials)), start=np.cumsum([0, *lengths[:-1]]),
        length=np.array(lengths), state=table if case.wrong_order else first, dt=1.0 / case.rate,
    )  # fmt: skip
    return path


def _beam(case: Case, folder: Path, rng: np.random.Generator) -> Path:
    """Markers of a clamped soft beam, held straight for 0.3 s and let go."""
    size, rate = np.array([0.1, 0.03, 0.02]), min(case.rate, 200.0)
    step = 1.0 / rate / max(1, int(np.ceil(1.0 / rate / 2.5e-3)))
    every = round(1.0 / rate / step)
    scene = {
        "world": {"step": step, "duration": 1.5, "record_every": every, "scheme": "bdf2"},
        "bodies": {
            "beam": {
                "type": "solid", "shape": {"box": {"size": size.tolist(), "cells": [5, 1, 1]}},
                "element": "p2", "density": 1070.0, "young": float(case.body["young"]),
                "poisson": 0.49, "viscosity": 1e-3 * float(case.body["young"]),
                "pose": {"position": [-0.05, 0.0, 0.0]},
                "pinned": [{"plane": {"normal": [1, 0, 0], "offset": -0.05}}],
                "contact_spheres": "none",
            }
        },
    }  # fmt: skip
    model = load_scene(scene)
    run = _engine.rollout(model.engine, model.engine.values, model.steps, model.options)
    assert run.ok, run.message
    at = np.array([[0, 0.015, 0.01], [0, -0.015, 0.01], [0, 0, -0.01], [-0.04, 0.015, 0.01]])
    t = np.arange(int(1.5 * rate) - 2) / rate
    slot = body_slots(model.engine)["beam"]
    moving, _ = interpolated(carrier_of(model, "beam", at), run, slot, t, every * step)
    clamp = np.array([[-0.1, 0.015, 0.01], [-0.1, -0.015, 0.01], [-0.1, 0.0, -0.01]])
    still = np.repeat(clamp[None], len(moving), axis=0)
    p = np.concatenate([moving, still], axis=1)
    p = np.concatenate([np.repeat(p[:1], int(0.3 * rate), axis=0), p])
    p = p + rng.normal(0.0, case.noise / 4.0, p.shape)
    if case.up == "+y":
        p = quat_rotate(quat_exp([-0.5 * np.pi, 0.0, 0.0]), p)
    names = ("tip1", "tip2", "tip3", "mid", "base1", "base2", "base3")
    header = ",".join(["t", *(f"{name}_{a}" for name in names for a in "xyz")])
    rows = np.column_stack([np.arange(len(p)) / rate, UNITS[case.unit] * p.reshape(len(p), -1)])
    path = folder / "swing.csv"
    np.savetxt(path, rows, delimiter=",", header=header, comments="", fmt="%.9g")
    return path


def _joints(case: Case, folder: Path, rng: np.random.Generator) -> Path:
    """A UR5's log of positions, rates and commands along sines; no efforts, no dynamics."""
    names = [f"{n}_joint" for n in ("shoulder_pan", "shoulder_lift", "elbow", *WRISTS)]
    t = np.arange(int(4.0 * min(case.rate, 250.0))) / min(case.rate, 250.0)
    s = np.clip(t - 0.2, 0.0, None)[:, None]
    w, reach = rng.uniform(0.8, 2.0, 6), rng.uniform(0.6, 1.2, 6)
    q = reach * (1.0 - np.cos(w * s)) + rng.uniform(-1.0, 1.0, 6)
    qd = reach * w * np.sin(w * s)
    factor = 180.0 / np.pi if case.degrees else 1.0
    blur = 1e-4 * rng.standard_normal(q.shape)
    path = folder / "joints.npz"
    np.savez(
        path, t=t, joints=np.array(names), q=factor * (q + blur), qd=factor * qd,
        q_command=factor * q,
    )  # fmt: skip
    return path


WRISTS = ("wrist_1", "wrist_2", "wrist_3")
