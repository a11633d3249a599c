"""A first estimation of a foam ball (or box) thrown onto a floor in a depth camera's view.

The floor gives height and tilt of the camera, what moves is the body, and its points give the size
of a ball.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from scipy.spatial import cKDTree

from ....errors import InputError
from ....rotation import quat_between, quat_matrix
from ....scene.finer import flat_faces
from ....sensing.check import Examined
from ....sensing.clouds.cloud import Cloud
from ....sensing.clouds.options import OBJECT, DepthNoise, read_cloud_options
from ....sensing.clouds.planes import Plane, find_planes, is_floor
from ....sensing.findings import FEW_POINTS
from ....sensing.flight import G
from ....sensing.observation import Observation
from ...first_guess import First, Given, filled, last_apart

CELL = 0.05
"""Edge of the cells [m] in which frames are compared."""
STAYS = 0.4
"""Share of the frames in which a cell is occupied that holds no moving body."""
MARGIN = 0.15
"""Of the box around what moves [m]."""
ENOUGH = int(str(OBJECT["points"].default))
"""Points above the floor that make a body in a frame, as in the pipeline."""
SPARSE = 10
"""The same of sparse clouds, where most frames have fewer; it is written into the estimation."""
MOSTLY = 0.8
"""Share of the frames with SPARSE points that must have ENOUGH, or the cloud is sparse."""
ON_FLOOR = 100
"""Points of the floor at the body's distances that show its roughness."""
LEAST = 4
"""Frames that must see the body."""
DENSITY = 100.0
"""Guess [kg/m^3] where no mass is given: foam."""
LAYERS = 3
"""Of tetrahedra in a ball."""
YOUNG = 2.0e4
"""Guess [Pa]: soft foam."""
PIXEL = 12.0**-0.5
"""Standard deviation of a point across its ray, in pixels: it lies anywhere in its own."""
MOST_RAYS = 2000
"""Points of a frame at most whose nearest neighbours are looked for."""
FINEST = 5e-4
"""Least noise along a ray [m]."""
TAILS = 6.0
"""Heights beyond so many times the median one are not the floor's: four standard deviations."""


@dataclass(frozen=True)
class View:
    """The camera's pose and its points of the body, world frame: z up, the floor at 0.

    position [m], orientation (x, y, z, w) of the sensor;  rms of the floor's points [m]
    noise       of a point, as the floor and the distance of neighbours show it
    low, high   box around the body's path [m];  radius of a ball through its points [m]
    frames      that show it;  points: of it in a frame at least
    """

    position: np.ndarray
    orientation: np.ndarray
    rms: float
    noise: DepthNoise
    low: np.ndarray
    high: np.ndarray
    radius: float
    frames: int
    points: int


def make(examined: Sequence[Examined], folder: Path, given: Given) -> First:
    """See first.first."""
    views = [view_of(one.stream) for one in examined]
    low = np.min([view.low for view in views], axis=0)
    high = np.max([view.high for view in views], axis=0)
    view = replace(views[0], low=low, high=high)
    size = given.size or (2.0 * view.radius,)
    volume = np.pi / 6.0 * size[0] ** 3 if len(size) == 1 else float(np.prod(size))
    density = DENSITY if given.mass is None else given.mass / volume
    paths = [os.path.relpath(one.stream.path.resolve(), folder.resolve()) for one in examined]
    notes = [
        f"the camera stands {view.position[2]:.3f} m above the measured floor, whose normal is "
        "the world's z",
        f"the body is what moves: in {view.frames} frames of the first recording, all between "
        f"{np.round(view.low, 2).tolist()} and {np.round(view.high, 2).tolist()} m",
    ]
    if not given.size:
        notes.append(f"a ball of diameter {size[0]:.3f} m, through its points, is assumed (--size)")
    if given.mass is None:
        notes.append(f"the density is a guess, {DENSITY:g} kg/m^3: weigh the body (--mass)")
    if view.points < ENOUGH:
        text = f"few points show the body: from {view.points} on count in a frame (object.points)"
        notes.append(text)
    notes.append(f"stiffness starts at a guess, {YOUNG:g} Pa; its bounds span 1 kPa to 10 MPa")
    scene = _scene(size, density, float(np.ptp(examined[0].stream.t)))
    return First(scene, _estimation(view, size, paths, examined[0].stream), {}, tuple(notes))


def view_of(stream: Observation) -> View:
    """Pose of a recording's camera, and what moves before it.

    Raises InputError where no floor is found, or nothing moves.
    """
    clouds = stream.clouds
    options = read_cloud_options({"planes": {"count": 3}}, stream.place).planes
    points = np.concatenate([cloud.points for cloud in clouds[:3]])
    planes = find_planes(points, clouds[0].eye, options)
    floors = [plane for plane in planes if is_floor(plane)]
    if not floors:
        got = "; ".join(np.array2string(p.normal, precision=2) for p in planes) or "no plane"
        rule = "a floor: a plane whose normal is about -y (optical frame) or z (level frame)"
        raise InputError(stream.place, "planes", got, rule, "let the camera see the floor")
    floor = max(floors, key=lambda plane: plane.inliers)
    orientation = quat_between(floor.normal, (0.0, 0.0, 1.0))
    turn = quat_matrix(orientation)
    position = np.array([0.0, 0.0, -floor.offset])
    moved = [cloud.moved(turn, position, "world") for cloud in clouds]
    moving = _moving(moved, 3.0 * floor.rms)
    enough = _enough([len(part) for part in moving])
    detected = [part for part in moving if len(part) >= enough]
    if len(detected) < LEAST:
        rule = f"at least {LEAST} in which {enough} points or more move above the floor"
        got = f"{len(detected)} of {len(moving)}, at most {max(map(len, moving))} points"
        remedy = "record the whole throw, the body not at rest in most frames"
        if max(map(len, clouds)) <= FEW_POINTS:
            remedy = "markers? Record them with labels: CSV, C3D, Markers (docs/how-to/markers.md)"
        raise InputError(stream.place, "frames that show a moving body", got, rule, remedy)
    middles = np.array([np.median(part, axis=0) for part in detected])
    low, high = middles.min(axis=0) - 2.0 * MARGIN, middles.max(axis=0) + 2.0 * MARGIN
    radius = float(np.median([_ball(part) for part in detected]))
    body = np.concatenate(detected)
    noise = _noise(clouds[0], points, floor, np.linalg.norm(body - moved[0].eye, axis=1))
    return View(position, orientation, floor.rms, noise, low, high, radius, len(detected), enough)


def _enough(counts: Sequence[int]) -> int:
    """Points that make a body in a frame: ENOUGH, of sparse clouds fewer."""
    many, some = (sum(count >= least for count in counts) for least in (ENOUGH, SPARSE))
    return ENOUGH if many >= LEAST and many >= MOSTLY * some else SPARSE


def _noise(cloud: Cloud, points: np.ndarray, floor: Plane, distances: np.ndarray) -> DepthNoise:
    """Of a point: across its ray by the angle between neighbours, along it what of the floor's
    roughness that leaves, at the distances of the body.

    points  (n, 3) [m] of the camera that `cloud` is of;  distances (k,) [m] of the body's points
    """
    rays = _directions(cloud.points - cloud.eye)
    apart = np.zeros(1)
    if len(rays) > 1:
        apart = cKDTree(rays).query(rays[:: max(1, len(rays) // MOST_RAYS)], k=2)[0][:, 1]
    lateral = PIXEL * float(np.median(apart))
    height, away = floor.distance(points), points - cloud.eye
    low, high = np.quantile(distances, (0.05, 0.95))
    r = np.linalg.norm(away, axis=1)
    near = np.abs(height) < CELL
    if np.count_nonzero(near & (low < r) & (r < high)) >= ON_FLOOR:
        near &= (low < r) & (r < high)
    near &= np.abs(height) <= TAILS * float(np.median(np.abs(height[near])))
    cosine = (_directions(away[near]) @ floor.normal) ** 2
    across = (lateral * r[near]) ** 2 * (1.0 - cosine)
    left = float(np.mean(height[near] ** 2 - across)) / max(float(cosine.mean()), 1e-3)
    return DepthNoise(max(float(np.sqrt(max(left, 0.0))), FINEST), lateral=lateral)


def _directions(away: np.ndarray) -> np.ndarray:
    """Unit vectors (n, 3)."""
    return away / np.linalg.norm(away, axis=1, keepdims=True)


def _moving(clouds: Sequence[Cloud], above: float) -> list[np.ndarray]:
    """Points of every frame, above the floor, in cells that most frames leave empty."""
    cells = [np.floor(cloud.points / CELL).astype(np.int64) for cloud in clouds]
    each = [np.unique(cell, axis=0) for cell in cells]
    known, count = np.unique(np.concatenate(each), axis=0, return_counts=True)
    often = {tuple(cell) for cell in known[count > STAYS * len(clouds)]}
    found = []
    for cloud, cell in zip(clouds, cells, strict=True):
        free = np.array([tuple(one) not in often for one in cell], bool)
        points = cloud.points[free & (cloud.points[:, 2] > above)]
        middle = np.median(points, axis=0) if len(points) else np.zeros(3)
        near = np.linalg.norm(points - middle, axis=1) < 2.0 * MARGIN
        found.append(points[near])
    return found


def _ball(points: np.ndarray) -> float:
    """Radius [m] of the sphere through points (n, 3), by linear least squares."""
    rows = np.column_stack([2.0 * points, np.ones(len(points))])
    solution = np.linalg.lstsq(rows, np.sum(points**2, axis=1), rcond=None)[0]
    return float(np.sqrt(max(solution[3] + solution[:3] @ solution[:3], 0.0)))


def _scene(size: Sequence[float], density: float, duration: float) -> str:
    radius = size[0] / 2 * flat_faces(LAYERS)
    shape = f"{{ball: {{radius: {radius:.5g}, layers: {LAYERS}}}}}"
    why = f"; a mesh of this radius has the volume of a ball of {size[0] / 2:.5g} m"
    if len(size) == 3:
        edges = ", ".join(f"{edge:.5g}" for edge in size)
        shape, why = f"{{box: {{size: [{edges}], cells: [4, 4, 4]}}}}", ""
    return filled(
        __file__, "first_scene.yaml", g=G, duration=duration + 0.05, shape=shape, why=why,
        density=density, young=YOUNG, height=max(size),
    )  # fmt: skip


def _estimation(
    view: View, size: Sequence[float], paths: Sequence[str], stream: Observation
) -> str:
    train, validate = last_apart(paths)

    def numbers(values: Iterable[float]) -> str:
        return ", ".join(f"{value:.6g}" for value in values)

    sparse = view.points < ENOUGH
    surface = "\n  turning: true         # a box turns: its orientation and spin are found too"
    if len(size) < 3:
        surface = f"\n  radius: {size[0] / 2:.5g}        # of the round ball, which the camera sees"
    return filled(
        __file__, "first_estimation.yaml", train=train, validate=validate, g=G,
        surface=surface, scale=stream.scale,
        position=numbers(view.position), orientation=numbers(view.orientation),
        low=numbers([*view.low[:2], -0.1]), high=numbers(view.high),
        plane=max(4.0 * view.rms, 0.01), near=(0.6 if sparse else 0.4) * max(size),
        neighbours=2 if sparse else 5, object=(0.5 if sparse else 0.3) * max(size),
        points=f", points: {view.points}, least: 2" if sparse else "",
        along=view.noise.constant, lateral=view.noise.lateral, young=YOUNG,
    )  # fmt: skip
