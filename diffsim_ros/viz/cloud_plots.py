"""Figures of clouds against simulated surfaces: what the camera saw, distances, residuals.

They read real2sim.sensors.cloud.experiment.CloudPrediction by its attributes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from scipy.stats import chi, norm

from diffsim_ros.viz import style
from diffsim_ros.viz.plots import in_style, plain_log

INSTANTS = 8  # frames that an overlay shows, evenly spread
REACH = 3.0  # sigmas at which the colours of residuals end
COLOURS = "RdBu_r"  # blue: behind the simulated surface, red: before it


@in_style
def overlay(prediction: Any) -> Figure:
    """Return the camera's view at some instants: points by residual over the simulated surface."""
    picks = np.unique(np.linspace(0, len(prediction.t) - 1, INSTANTS).round().astype(int))
    figure = style.new_figure(10.5, 2.9 * -(-len(picks) // 4) + 0.3)
    axes = figure.subplots(-(-len(picks) // 4), min(4, len(picks)), squeeze=False).ravel()
    views = [_view(prediction, k) for k in picks]
    half = 0.55 * max(np.ptp(pixels, axis=0).max() for pixels, *_ in views)
    shown = None
    for axis, k, (pixels, faces, shade, points) in zip(axes, picks, views, strict=False):
        grey = np.repeat(shade[:, None], 3, axis=1)
        axis.add_collection(PolyCollection(pixels[faces], facecolors=grey, edgecolors="none"))
        shown = axis.scatter(
            *points.T, c=prediction.residual[k], cmap=COLOURS, vmin=-REACH, vmax=REACH, s=9,
            edgecolors=style.INK, linewidths=0.25,
        )  # fmt: skip
        middle = 0.5 * (pixels.max(axis=0) + pixels.min(axis=0))
        axis.set(xlim=middle[0] + half * np.array([-1, 1]), aspect="equal")
        axis.set(ylim=middle[1] + half * np.array([-1, 1]), xticks=[], yticks=[])
        axis.grid(False)
        axis.spines[:].set_visible(False)
        flying = "free flight" if k < prediction.flight else "predicted"
        flying = flying if prediction.role == "validate" else "fitted"
        axis.set_title(f"{prediction.t[k]:.3f} s, {flying}", fontsize=9)
    for axis in axes[len(picks) :]:
        axis.set_axis_off()
    figure.colorbar(shown, ax=axes, shrink=0.7, label="distance to the surface [σ]")
    return figure


def _view(prediction: Any, k: int):
    """Pixels (n, 2) of the surface at frame k, its visible faces back to front with their shades,
    and pixels of the points, all in metres at the body's distance."""
    at = int(np.argmin(np.abs(prediction.clock - prediction.t[k])))
    x, eye = prediction.vertices[at].astype(float), prediction.eye
    forward = x.mean(axis=0) - eye
    far = np.linalg.norm(forward)
    forward = forward / far
    up = np.array([0.0, 0.0, 1.0]) if abs(forward[2]) < 0.99 else np.array([0.0, 1.0, 0.0])
    right = np.cross(forward, up)
    right /= np.linalg.norm(right)
    axes = np.stack([right, np.cross(right, forward), forward])

    def pixels(places):
        in_camera = (places - eye) @ axes.T
        return far * in_camera[:, :2] / in_camera[:, 2:]

    corners = x[prediction.triangles]
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normal /= np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-300)
    middle = corners.mean(axis=1) - eye
    facing = np.einsum("ni,ni->n", normal, -middle) / np.linalg.norm(middle, axis=1)
    front = np.flatnonzero(facing > 0)
    front = front[np.argsort(-np.linalg.norm(middle[front], axis=1))]
    shade = 0.62 + 0.33 * facing[front]
    return pixels(x), prediction.triangles[front], shade, pixels(prediction.points[k])


@in_style
def cloud_residuals(predictions: Sequence[Any]) -> Figure:
    """Return distances over time, before and after, shifts over time, and residuals' histogram."""
    figure = style.new_figure(10.5, 3.1)
    rms, shift, spread = figure.subplots(1, 3)
    colours = (style.SIMULATED, style.MEASURED, *style.OTHERS.values(), *style.SPARE)
    for k, prediction in enumerate(predictions):
        look = {"color": colours[k % len(colours)], "lw": 1.3, "marker": "o", "ms": 3}
        if prediction.before is not None:
            rms.plot(prediction.t, 1e3 * prediction.before, color=style.MUTED, lw=0.8, ls="--",
                     label="first guess" if k == 0 else None)  # fmt: skip
        rms.plot(prediction.t, 1e3 * prediction.rms, label=prediction.name, **look)
        shift.plot(prediction.t, 1e3 * np.linalg.norm(prediction.shift, axis=1), **look)
        for axis in (rms, shift):
            axis.axvline(prediction.t[prediction.flight - 1], color=look["color"], lw=0.7, ls=":")
        bins = np.linspace(-4, 4, 33)
        spread.hist(np.concatenate(prediction.residual), bins, density=True, histtype="step",
                    color=look["color"], lw=1.3)  # fmt: skip
    x = np.linspace(-4, 4, 200)
    expected = norm.pdf(x)
    if predictions and not predictions[0].camera:  # a distance of three equal errors
        expected = np.sqrt(3.0) * chi.pdf(np.sqrt(3.0) * x, 3)
    spread.plot(x, expected, color=style.MUTED, lw=1.0, ls="--", label="the sensor's noise")
    rms.set(title="Rms distance [mm]", xlabel="time [s]", yscale="log")
    plain_log(rms.yaxis)
    shift.set(title="Shift that fits best [mm]", xlabel="time [s]")
    shift.set_ylim(0, None)
    spread.set(title="Residuals [σ]", xlabel="distance / σ")
    rms.legend(fontsize=7.5)
    spread.legend(fontsize=7.5)
    return figure
