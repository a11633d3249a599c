"""What the page of an estimation from point clouds has of its own (estimation_page)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from diffsim_ros.viz import cloud_plots, curves, fit_plots, player, style
from diffsim_ros.viz import report_tables as tables
from diffsim_ros.viz.estimation_page import Page, judged, trained_on
from diffsim_ros.viz.summary import Summary

PLAYED = 60.0  # simulated frames per second of the playable motion
JUMP = 1e-3  # [s] within which the cloud of one frame of the camera gives way to the next
DASH = np.array([0.0, 0.0, 2e-3])  # a point is drawn as a dash [m]
CAPTION = {
    True: "As the camera sees it: the simulated surface in grey, the measured points by their "
          "distance to it (red: before the surface, blue: behind it).",
    False: "From the side: the simulated body in grey, what was measured by its distance to where "
           "it is on that body.",
}  # fmt: skip
STARTS = (
    ("position", "place", "mm", 1e3),
    ("velocity", "velocity", "m/s", 1.0),
    ("angular_velocity", "spin", "rad/s", 1.0),
)


def _content(result: Any) -> dict[str, Any]:
    shown = result.predictions
    return {
        "lead": _lead(judged(shown)),
        "camera": all(prediction.camera for prediction in shown),
        "sensor": shown[0].sensor if shown else "",
        "cards": _cards(judged(shown)),
        "motions": [motion_data(prediction) for prediction in shown],
        "curves": [curves_of(prediction) for prediction in shown],
        "distances": [_row(prediction) for prediction in shown],
        "sensors": [_sensor(p, sensor) for p in shown for sensor in p.sensors],
        "single": [_single(prediction, i) for i, prediction in enumerate(shown)],
    }


def motion_data(prediction: Any) -> dict[str, Any]:
    """Return the playable motion of a recording: the simulated surface and the camera's points."""
    clock = np.arange(0.0, prediction.t[-1], 1.0 / PLAYED)
    times = np.unique(np.concatenate([clock, prediction.t, prediction.t[1:] - JUMP]))
    k = np.searchsorted(prediction.t, times + 1e-9, side="right") - 1
    most = max(map(len, prediction.points))
    cloud = np.array([_padded(prediction.points[i], most) for i in k])
    dashes = np.concatenate([cloud, cloud + DASH], axis=1)
    lines = np.stack([np.arange(most), np.arange(most) + most], axis=1)
    none = np.zeros((0, 3), int)
    body = _at(prediction.clock, prediction.vertices.astype(float), times)
    bodies = [
        player.mesh_data("simulated", style.SIMULATED, body, prediction.triangles, none[:, :2]),
        player.mesh_data("measured points", style.MEASURED, dashes, none, lines),
    ]
    return {
        "name": f"{prediction.name} ({prediction.role})",
        "t": player.rounded(times, 4),
        "bodies": bodies,
        "planes": [] if prediction.floor is None else [_plane(*prediction.floor)],
        "errors": [
            {"label": "rms distance [mm]", "value": player.rounded(1e3 * prediction.rms[k], 2)},
            {
                "label": "shift [mm]",
                "value": player.rounded(1e3 * np.linalg.norm(prediction.shift, axis=1)[k], 2),
            },
        ],
        "forces": [],
    }


def curves_of(prediction: Any) -> dict[str, Any]:
    """Return the view of a recording: where the body is, and how far its points are off."""
    clock, t = prediction.clock, prediction.t
    middle = prediction.vertices.astype(float).mean(axis=1)
    measured = _at(clock, middle[:, None], t)[:, 0] + prediction.shift
    rms = {"simulated": prediction.rms}
    if prediction.before is not None:
        rms["first guess"] = prediction.before
    sigma = np.array([np.sqrt(np.mean(r**2)) for r in prediction.residual])
    lines = [curves.line(name, t, 1e3 * value) for name, value in rms.items()]
    groups = {
        "middle of the body": [
            curves.panel(f"{axis} [mm]", [
                curves.line("measured", t, 1e3 * measured[:, k]),
                curves.line("simulated", clock, 1e3 * middle[:, k]),
            ])
            for k, axis in enumerate(curves.AXES)
        ],
        "distances of points": [
            curves.panel("rms distance to the surface [mm]", lines),
            curves.panel("rms distance [σ]", [curves.line("simulated", t, sigma)]),
        ],
    }  # fmt: skip
    for sensor in prediction.sensors:
        for k, marker in enumerate(sensor.names):
            both = {"measured": sensor.measured[:, k], "simulated": sensor.simulated[:, k]}
            panels = curves.paths(sensor.t, {who: 1e3 * x for who, x in both.items()})
            if sensor.angle is not None:
                look = style.INK, "line"
                line = curves.line("apart", sensor.t, sensor.angle, look)
                panels.append(curves.panel("angle between them [°]", [line]))
            groups[f"{sensor.name}, {marker}"] = panels
    name = f"{prediction.name} ({prediction.role})"
    return curves.view(name, "time since the start [s]", groups)


def _sensor(prediction: Any, sensor: Any) -> list[str]:
    """One line of the table of other sensors."""
    e = sensor.errors
    angle = f"{e['rotation_error_deg']:.3g}" if "rotation_error_deg" in e else "–"
    numbers = [f"{1e3 * e['position_error_m']:.3g}", f"{e['rms_over_sigma']:.3g}", angle]
    return [prediction.name, prediction.role, sensor.name, str(e["samples"]), *numbers]


def _padded(points: np.ndarray, count: int) -> np.ndarray:
    """So many points, the last one repeated."""
    return points[np.minimum(np.arange(count), len(points) - 1)]


def _at(clock: np.ndarray, values: np.ndarray, times: np.ndarray) -> np.ndarray:
    """Values (G, ...) at clock (G,) interpolated to times (T,)."""
    i = np.clip(np.searchsorted(clock, times, side="right") - 1, 0, max(len(clock) - 2, 0))
    j = np.minimum(i + 1, len(clock) - 1)
    span = np.where(j > i, clock[j] - clock[i], 1.0)
    share = np.clip((times - clock[i]) / span, 0.0, 1.0)[:, None, None]
    return values[i] + share * (values[j] - values[i])


def _plane(normal: np.ndarray, offset: float) -> dict[str, list[float]]:
    turn, _ = Rotation.align_vectors([normal], [[0.0, 0.0, 1.0]])
    return {"p": (offset * normal).tolist(), "q": turn.as_quat().tolist()}


def _lead(predictions: Sequence[Any]) -> str:
    if not predictions:
        return "No recording was predicted."
    rms = 1e3 * np.mean([p.errors["rms_distance_m"] for p in predictions])
    share = np.mean([p.errors["rms_over_sigma"] for p in predictions])
    return (
        f"Over {len(predictions)} recording(s) {trained_on(predictions)}, points lie "
        f"{rms:.2g} mm rms off the simulated body ({share:.2f} of the sensor's sigma); after "
        f"the free flight the simulated body is {1e3 * max(map(_later, predictions)):.2g} mm off "
        "on average, at worst."
    )


def _later(prediction: Any) -> float:
    """Mean shift after the free flight, or of it where there is nothing later [m]."""
    return prediction.errors.get("mean_shift_m_later", prediction.errors["mean_shift_m"])


def _cards(predictions: Sequence[Any]) -> list[dict[str, str]]:
    found = []
    for key, label, unit, factor in (
        ("rms_over_sigma", "Worst rms distance", "σ", 1.0),
        ("rms_distance_m", "Worst rms distance", "mm", 1e3),
        ("mean_shift_m_later", "Worst mean shift after the flight", "mm", 1e3),
    ):
        having = [p for p in predictions if key in p.errors]
        if having:
            worst = max(having, key=lambda p: p.errors[key])
            found.append(tables.card(label, f"{factor * worst.errors[key]:.3g}", unit, worst.name))
    return found


def _row(prediction: Any) -> dict[str, Any]:
    """One line of the table of distances."""
    e = prediction.errors
    numbers = [
        f"{factor * e[key]:.3g}" if key in e else "–"
        for key, factor in (
            ("rms_distance_m", 1e3), ("rms_over_sigma", 1.0), ("mean_shift_m", 1e3),
            ("rms_distance_m_later", 1e3), ("rms_over_sigma_later", 1.0),
            ("mean_shift_m_later", 1e3),
        )
    ]  # fmt: skip
    frames = f"{len(prediction.t)} ({prediction.flight} in free flight)"
    points = f"{np.mean([len(p) for p in prediction.points]):.0f}"
    return {
        "name": prediction.name, "role": prediction.role, "frames": frames, "points": points,
        "numbers": numbers,
    }  # fmt: skip


def _single(prediction: Any, number: int) -> dict[str, Any]:
    """One recording: overlay, start as found, and the pipeline's stages."""
    start, rows = prediction.start, []
    for kind, label, unit, factor in STARTS:
        if kind in start.sigma:
            value, sigma = factor * getattr(start.state, kind), factor * start.sigma[kind]
            text = ", ".join(fit_plots.with_sigma(v, s) for v, s in zip(value, sigma, strict=True))
            rows.append((f"{label} at the start [{unit}]", text))
    stages = [
        {
            "stage": row["stage"],
            "numbers": [
                f"{row['points_in']:.0f}", f"{row['points_out']:.0f}", f"{row['median_ms']:.2f}",
                f"{row['longest_ms']:.2f}",
            ],
        }
        for row in prediction.stages
    ]  # fmt: skip
    return {
        "title": f"{prediction.name} ({prediction.role})", "figure": _overlay(number),
        "caption": CAPTION[prediction.camera],
        "start": rows, "stages": stages,
    }  # fmt: skip


def _overlay(number: int) -> str:
    """Name of a recording's figure; the first one stands beside the page too."""
    return f"overlay_{number}" if number else "clouds"


def _figures(result: Any, summary: Summary) -> Mapping[str, Any]:
    """The distances, and one figure per recording."""
    shown = result.predictions
    figures = {_overlay(i): cloud_plots.overlay(p) for i, p in enumerate(shown)}
    if shown:
        figures["cloud_residuals"] = cloud_plots.cloud_residuals(shown)
    return figures


PAGE = Page("cloud_report.html", "Distances", "Recordings", _figures, _content)
