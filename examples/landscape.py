"""Objective landscapes against the contact stiffness  [G Fig. 4.2].

A ball (540 tets, E 2e4 Pa, rho 150 kg/m^3, c_f 0.4) is tossed with spin; the objective is the
squared distance of its centre from a target at the end, over its start velocity (v_x, v_z).  Softer
contact makes the landscape smoother: the exact gradient at a sample and the difference of its
neighbours agree better.
"""

from __future__ import annotations

import numpy as np

import diffsim_ros as ds
from diffsim_ros.viz import style
from examples.common import Outcome

TARGET = np.array([1.2, 0.0, 0.3])
SPEEDS = {"v_x": (0.8, 2.6), "v_z": (-0.5, 3.0)}  # [m/s]
STIFFNESS = (5e3, 5e4, 5e5)  # of all surface points together [N/m]


def scene(k_n: float) -> dict:
    """The toss: k_t is k_n * 1/240 s for each of them."""
    return {
        "name": "toss",
        "world": {"step": 1 / 240, "duration": 0.8, "record_every": 192},
        "bodies": {
            "ball": {
                "type": "solid", "shape": {"ball": {"radius": 0.1, "layers": 3}},
                "density": 150, "young": 2e4, "poisson": 0.4, "viscosity": 5.0,
                "pose": {"position": [0, 0, 0.5]}, "angular_velocity": [0, 8, 0],
            }
        },
        "contact": [{"name": "ground", "points": "ball", "against": {"plane": {}}, "k_n": k_n,
                     "c_f": 0.4}],
    }  # fmt: skip


def sample(k_n: float, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Objective (count, count) over v_x, v_z and its gradient (count, count, 2)."""
    model = ds.load_scene(scene(k_n))
    wrt = ["ball.velocity.x", "ball.velocity.z"]
    axes = [np.linspace(*limits, count) for limits in SPEEDS.values()]
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 2)
    share = model.masses("ball") / model.masses("ball").sum()

    def apart(motion: ds.Rollout) -> tuple[float, dict[str, np.ndarray]]:
        off = share @ motion["ball"].position[-1] - TARGET
        by = np.zeros_like(motion["ball"].position)
        by[-1] = np.outer(share, 2 * off)
        return off @ off, {"ball.position": by}

    values, slopes = np.zeros(len(grid)), np.zeros((len(grid), 2))
    for i, speeds in enumerate(grid):
        given = dict(zip(wrt, speeds, strict=True))
        values[i], slopes[i] = model.value_and_gradient(apart, given, wrt=wrt)
    return values.reshape(count, count), slopes.reshape(count, count, 2)


def incoherence(values: np.ndarray, slopes: np.ndarray) -> float:
    """How far neighbours' difference and the mean of their gradients are apart, relative."""
    count = len(values)
    worst = []
    for axis, limits in enumerate(SPEEDS.values()):
        step = (limits[1] - limits[0]) / (count - 1)
        difference = np.diff(values, axis=axis) / step
        slope = np.moveaxis(slopes[..., axis], axis, 0)
        mean = np.moveaxis((slope[1:] + slope[:-1]) / 2, 0, axis)
        worst.append(np.median(np.abs(difference - mean)) / np.median(np.abs(mean)))
    return float(np.mean(worst))


def study(quick: bool = False) -> Outcome:
    """Landscapes for every stiffness; the softer the smoother."""
    found, count = Outcome(), 7 if quick else 31
    stiffness = (STIFFNESS[0], STIFFNESS[-1]) if quick else STIFFNESS
    fields = {}
    for k_n in stiffness:
        fields[k_n] = sample(k_n, count)
        values, slopes = fields[k_n]
        found.figures[f"k_n={k_n:g}"] = {
            "incoherence": incoherence(values, slopes),
            "least_objective": float(values.min()),
        }
    rough = [found.figures[f"k_n={k:g}"]["incoherence"] for k in stiffness]
    smoother = "the softest contact's landscape has at most 0.7 of the others' incoherence"
    found.check(smoother, rough[0] < 0.7 * min(rough[1:]))
    found.pictures["landscapes.png"] = picture(fields)
    return found


def picture(fields: dict) -> bytes:
    """Isolines and downhill arrows for each stiffness."""
    with style.styled():
        figure = style.new_figure(4.0 * len(fields), 4.0)
        for plot, (k_n, (values, slopes)) in zip(
            np.ravel(figure.subplots(1, len(fields))), fields.items(), strict=True
        ):
            axes = [np.linspace(*limits, len(values)) for limits in SPEEDS.values()]
            plot.contourf(*axes, np.sqrt(values).T, levels=20, cmap="viridis")
            length = np.linalg.norm(slopes, axis=-1, keepdims=True)
            arrow = -slopes / np.maximum(length, 1e-12)
            plot.quiver(
                *axes, arrow[..., 0].T, arrow[..., 1].T, color="white", scale=30, width=3e-3
            )
            plot.set(title=f"k_n = {k_n:g} N/m", xlabel="v_x [m/s]", ylabel="v_z [m/s]")
    return style.png_bytes(figure)
