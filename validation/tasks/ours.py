"""Ten tasks with the public names of this package alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy.optimize import least_squares, minimize

import diffsim_ros as ds

TARGET = np.array([1.0, 0.2, 0.35])


def load_and_step(folder: Path) -> float:
    """Height of a cube after a second [m]."""
    scene = ds.load_scene("config/scenes/bouncing_cube.yaml")
    state = scene.start()
    for _ in range(round(1.0 / scene.time_step)):
        state = scene.step(state)
    return float(state.observe("cube.position")[2])


def ball() -> ds.Scene:
    """A ball that is thrown onto the ground."""
    builder = ds.SceneBuilder("throw", step=1 / 2000, duration=0.6, record_every=10)
    builder.body("ball", shape={"sphere": {"radius": 0.05}}, mass=0.1, velocity=[1.5, 0, 0],
                 contact_spheres={"sphere": {}}, pose={"position": [0, 0, 0.5]})  # fmt: skip
    return builder.contact("ball", {"plane": {}}, name="ground", k_n=5e3, c_n=0.1, c_f=0.3).build()


def gradient_of_a_landing(folder: Path) -> np.ndarray:
    """d(x after 0.6 s and a bounce)/d(start velocity)."""
    rollout = ball().rollout(wrt="ball.velocity.*", sensitivities=True)
    return np.asarray(rollout.sensitivity("ball.position")[-1, 0])


def batch_of_1000(folder: Path) -> np.ndarray:
    """Where 1000 throws end."""
    speeds = np.linspace(0.5, 2.5, 1000)
    batch = ball().rollout_batch({"ball.velocity.x": speeds})
    return batch.stacked("ball.position")[:, -1]


def feedback_control(folder: Path) -> float:
    """How far a pendulum is from upright after two seconds of control [rad]."""
    builder = ds.SceneBuilder("pendulum", step=0.002, duration=2.0, scheme="bdf1")
    builder.body("rod", shape={"box": {"size": [0.04, 0.04, 0.5]}}, mass=0.8,
                 pose={"position": [0, 0, -0.25]})  # fmt: skip
    builder.link("hinge", "joint", kind="hinge", body_b="rod", position=[0, 0, 0], axis=[0, 1, 0],
                 coordinates="reduced")  # fmt: skip
    builder.link("drive", "motor", joint="hinge", kind="torque", keys=[0, 0], interval=2.0)
    scene = builder.build()
    state = scene.start(joints={"hinge": (np.pi - 0.3, 0.0)})
    for _ in range(scene.steps):
        angle, rate = state.observe(["hinge.coordinate", "hinge.rate"])
        torque = 20 * (np.pi - angle) - 3 * rate
        state = scene.step(state, {"drive.torque[0]": torque, "drive.torque[1]": torque})
    return float(np.pi - state.observe("hinge.coordinate")[0])


def fit_of_friction(folder: Path) -> tuple[float, float]:
    """Friction of a box that slides, and its standard deviation."""
    builder = ds.SceneBuilder("slide", step=1 / 500, duration=0.3, record_every=5)
    builder.body("box", shape={"box": {"size": [0.1, 0.1, 0.05]}}, mass=0.4, velocity=[1, 0, 0],
                 pose={"position": [0, 0, 0.025]})  # fmt: skip
    scene = builder.contact("box", {"plane": {}}, name="ground", k_n=1e5, c_n=0, c_f=0.5).build()
    recorded = np.loadtxt(folder / "slide.csv")

    def rolled(c_f: float) -> ds.Rollout:
        return scene.rollout({"ground.c_f": c_f}, wrt="ground.c_f", sensitivities=True)

    fit = least_squares(
        lambda c: (rolled(c[0])["box"].position[:, 0] - recorded) / 5e-4, [0.5],
        jac=lambda c: rolled(c[0]).sensitivity("box.position")[:, 0] / 5e-4,
    )  # fmt: skip
    return float(fit.x[0]), float((fit.jac.T @ fit.jac)[0, 0] ** -0.5)


def plan_of_a_throw(folder: Path) -> float:
    """By how much a throw with a bounce misses its target [m]."""
    scene, names = ball(), [f"ball.velocity.{axis}" for axis in "xyz"]

    def cost(v: np.ndarray) -> tuple[float, np.ndarray]:
        rollout = scene.rollout(dict(zip(names, v, strict=True)), wrt=names)
        off, by = rollout["ball"].position[-1] - TARGET, np.zeros((len(rollout.time), 3))
        by[-1] = 2 * off
        return off @ off, rollout.gradient({"ball.position": by}).array

    return float(minimize(cost, [1.5, 0.0, 0.0], jac=True).fun ** 0.5)


def custom_force(folder: Path) -> float:
    """Speed of a ball after a second of fall with quadratic drag [m/s]."""
    builder = ds.SceneBuilder("drag", step=1 / 1000, duration=1.0, scheme="bdf1")
    builder.body("ball", "particle", mass=0.1, pose={"position": [0, 0, 10]})
    scene = builder.link("drag", "force", body="ball", force=[0, 0, 0]).build()
    state = scene.start()
    for _ in range(scene.steps):
        v = state.observe("ball.velocity")
        force = -0.02 * np.linalg.norm(v) * v
        state = scene.step(
            state, {f"drag.force[0].{a}": f for a, f in zip("xyz", force, strict=True)}
        )
    return float(-state.observe("ball.velocity")[2])


def custom_objective(folder: Path) -> tuple[float, np.ndarray]:
    """Time spent near a point, softly, and its gradient by the start velocity."""
    scene = ball()

    def near(rollout: ds.Rollout) -> tuple[float, dict[str, np.ndarray]]:
        off = rollout["ball"].position - TARGET
        share = np.exp(-(off**2).sum(1) / 0.1)
        return share.mean(), {"ball.position": -2 / 0.1 * share[:, None] * off / len(share)}

    value, gradient = scene.value_and_gradient(near, wrt="ball.velocity.*")
    return value, gradient.array


def mesh_body(folder: Path) -> float:
    """Height at which a mesh comes to rest [m]."""
    builder = ds.SceneBuilder("mesh", step=1 / 500, duration=2.0)
    builder.body("stone", shape={"mesh": {"file": "stone.obj"}}, density=1000,
                 pose={"position": [0, 0, 0.3]})  # fmt: skip
    scene = builder.contact("stone", {"plane": {}}, k_n=2e5, c_n=0.5, c_f=0.5).build(folder)
    return float(scene.rollout()["stone"].position[-1, 2])


def soft_body(folder: Path) -> float:
    """Height of a soft cube that has come to rest on the ground [m]."""
    builder = ds.SceneBuilder("soft", step=1 / 200, duration=2.0)
    builder.body("cube", "solid", shape={"box": {"size": [0.1, 0.1, 0.1], "cells": [3, 3, 3]}},
                 density=500, young=2e4, poisson=0.3, viscosity=20,
                 pose={"position": [0, 0, 0.06]})  # fmt: skip
    scene = builder.contact("cube", {"plane": {}}, k_n=1e4, c_n=0.5, c_f=0.5).build()
    vertices = scene.rollout().vertices("cube")[-1]
    return float(np.ptp(vertices[:, 2]))
