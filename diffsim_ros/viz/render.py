"""Markers -> PNG: a small z-buffered renderer, so that pictures need no display and no rviz.

Opaque triangles are lit and depth-tested, they drop a soft shadow on the table, translucent ones
are blended over them from back to front; lines are ribbons that face the camera. Anti-aliased by
rendering `SUPERSAMPLE` times larger.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from diffsim_ros.output import write_bytes
from diffsim_ros.viz import style
from diffsim_ros.viz.markers import Action, Marker, MarkerKind
from diffsim_ros.viz.meshes import (
    Soup,
    Viewpoint,
    clip_near,
    extent,
    focal_length,
    project,
    triangles,
)

SUPERSAMPLE = 2
COPLANAR = 1.0005  # a translucent face must be nearer by this factor, or equal faces would speckle
LIGHT = np.array([-0.42, -0.55, 0.72])  # towards the light, world frame
EDGE = 1e-9  # share of a triangle by which pixels on its edge may be outside
NEAR = 0.01  # nothing nearer to the camera is drawn [m]
STRIP = 64  # rows of the picture; a multiple of SUPERSAMPLE
AT_ONCE = 2_000_000  # pixels of triangles' boxes that are looked at together
BACKDROP = np.array([[0.97, 0.975, 0.985], [0.90, 0.92, 0.945]])  # top, bottom of the picture


def camera_for(
    markers: Iterable[Marker], *, azimuth: float = -60.0, elevation: float = 22.0, fov: float = 30.0
) -> Viewpoint:
    """Return a camera that sees all markers but the table, from the given direction [deg]."""
    points = [extent(m) for m in markers if m.ns != "table" and m.action is Action.ADD]
    cloud = np.concatenate(points) if points else np.zeros((1, 3))
    low, high = cloud.min(axis=0), cloud.max(axis=0)
    target = 0.5 * (low + high)
    reach = 0.5 * float(np.linalg.norm(high - low)) + 0.05
    az, el = np.radians([azimuth, elevation])
    towards = np.array([np.cos(el) * np.cos(az), np.cos(el) * np.sin(az), np.sin(el)])
    eye = target + towards * reach / np.sin(np.radians(fov) / 2) * 0.82
    return Viewpoint(tuple(eye), tuple(target), fov)


def render(
    markers: Sequence[Marker], camera: Viewpoint | None = None, size: tuple[int, int] = (960, 640)
) -> np.ndarray:
    """Return the picture (height, width, 3) uint8; `size` is (width, height) in pixels.

    TEXT markers are left to `render_png`. Markers with action DELETE are not drawn.
    """
    return Renderer(camera or camera_for(markers), size).picture(markers, last=True)


class Renderer:
    """Pictures from one place: what stands still is drawn once.

    size   (width, height) in pixels;  still  markers that are in every picture
    """

    def __init__(
        self, camera: Viewpoint, size: tuple[int, int] = (960, 640), still: Sequence[Marker] = ()
    ) -> None:
        self.camera, self.size = camera, size
        self._canvas = _Canvas(camera, size[0] * SUPERSAMPLE, size[1] * SUPERSAMPLE)
        self._still = self._soups(still)
        for soup in self._still:
            self._canvas.draw_opaque(soup)

    def picture(self, markers: Sequence[Marker], *, last: bool = False) -> np.ndarray:
        """These beside those that stand still: (height, width, 3) uint8.

        last  none follows: drawn on the canvas itself, whose copy is a third of a picture's time
        """
        canvas, moving = self._canvas if last else self._canvas.copy(), self._soups(markers)
        for soup in moving:
            canvas.draw_opaque(soup)
        soups = [*self._still, *moving]
        canvas.cast_shadows(soups)
        canvas.draw_translucent(soups)
        return canvas.picture()

    def _soups(self, markers: Sequence[Marker]) -> list[Soup]:
        shown = (m for m in markers if m.action is Action.ADD and m.kind is not MarkerKind.TEXT)
        return [soup for marker in shown for soup in triangles(marker, self.camera)]


def render_png(
    markers: Sequence[Marker],
    path: str | os.PathLike[str] | None = None,
    *,
    camera: Viewpoint | None = None,
    size: tuple[int, int] = (960, 640),
    title: str = "",
    legend: Sequence[tuple[str, str]] = (),
) -> bytes:
    """Render markers, with TEXT markers, title and (label, "#rrggbb") legend on top; return PNG.

    Writes the file too (atomically) if a path is given.
    """
    camera = camera or camera_for(markers)
    picture = render(markers, camera, size)
    with style.styled():
        figure = Figure(figsize=(size[0] / 100, size[1] / 100), dpi=100)
        axes = figure.add_axes((0, 0, 1, 1))
        axes.imshow(picture, extent=(0, size[0], size[1], 0), interpolation="nearest")
        axes.set(xlim=(0, size[0]), ylim=(size[1], 0))
        axes.set_axis_off()
        for marker in markers:
            if marker.kind is MarkerKind.TEXT and marker.action is Action.ADD:
                _write_text(axes, marker, camera, size)
        if title:
            axes.text(24, 34, title, fontsize=14, fontweight="semibold", va="center")
        for i, (label, colour) in enumerate(legend):
            y = (62 if title else 34) + 24 * i
            axes.plot([26, 40], [y, y], color=colour, linewidth=6, solid_capstyle="butt")
            axes.text(50, y, label, fontsize=11, va="center")
        png = style.png_bytes(figure, dpi=100)
    if path is not None:
        write_bytes(Path(path), png, overwrite=True)
    return png


def _write_text(axes, marker: Marker, camera: Viewpoint, size: tuple[int, int]) -> None:
    where, depth = project(marker.position[None], camera, *size)
    if depth[0] <= 0:
        return
    pixels = marker.scale[2] / depth[0] * focal_length(camera, size[1])
    axes.text(
        *where[0],
        marker.text,
        fontsize=float(np.clip(pixels * 0.72, 7, 14)),
        color=marker.colour,
        ha="center",
        va="bottom",
    )


class _Canvas:
    """Picture, inverse depth and "is table" per pixel, and the passes that fill them."""

    def __init__(self, camera: Viewpoint, width: int, height: int) -> None:
        self.camera, self.width, self.height = camera, width, height
        ramp = np.linspace(0, 1, height)[:, None, None]
        backdrop = (1 - ramp) * BACKDROP[0] + ramp * BACKDROP[1]
        self.backdrop = backdrop.astype(np.float32)  # (height, 1, 3)
        self.image = np.tile(self.backdrop, (1, width, 1))
        self.nearness = np.zeros((height, width))
        self.table = np.zeros((height, width), dtype=bool)
        self.table_top: float | None = None

    def copy(self) -> _Canvas:
        """One to go on with."""
        other = copy.copy(self)
        other.image, other.nearness = self.image.copy(), self.nearness.copy()
        other.table = self.table.copy()
        return other

    def picture(self) -> np.ndarray:
        """(height, width, 3) uint8, as large as was asked for."""
        n = SUPERSAMPLE
        parts = [
            sum(part[i::n, j::n] for i in range(n) for j in range(n))
            for part in (self.image[rows] for rows in self._strips())
        ]
        scale = np.float32(255.0 / n**2)
        return np.concatenate([(scale * one + 0.5).clip(0, 255).astype(np.uint8) for one in parts])

    def _strips(self) -> list[slice]:
        """Rows of the image that are looked at together: they fit into the processor's cache."""
        return [slice(first, first + STRIP) for first in range(0, self.height, STRIP)]

    def draw_opaque(self, soup: Soup) -> None:
        """Draw the triangles with alpha 1; of closed surfaces those that face the camera."""
        solid = soup.colour[:, 3] >= 1.0
        if soup.closed:
            view = soup.corners.mean(axis=1) - np.asarray(self.camera.eye)
            solid &= np.einsum("ij,ij->i", soup.normal, view) < 0
        shades = self._shades(soup)[solid]
        image, nearness = self.image.reshape(-1, 3), self.nearness.reshape(-1)
        for pixel, near, face in self._cover(soup.corners[solid]):
            front = near > nearness[pixel]
            pixel, near, face = pixel[front], near[front], face[front]
            np.maximum.at(nearness, pixel, near)
            nearest = near == nearness[pixel]
            pixel, face = pixel[nearest], face[nearest]
            image[pixel] = shades[face]
            self.table.reshape(-1)[pixel] = soup.table
        if soup.table:
            self.table_top = float(soup.corners[..., 2].max())
            self._finish_table(soup)

    def draw_translucent(self, soups: Sequence[Soup]) -> None:
        """Blend the triangles with alpha < 1 that face the camera, farthest first."""
        eye, chosen = np.asarray(self.camera.eye), []
        for soup in soups:
            view = soup.corners.mean(axis=1) - eye
            seen = (soup.colour[:, 3] < 1.0) & (np.einsum("ij,ij->i", soup.normal, view) <= 0)
            look = np.column_stack([self._shades(soup), soup.colour[:, 3]])
            chosen.append((soup.corners[seen], look[seen], np.linalg.norm(view[seen], axis=1)))
        if not chosen:
            return
        corners, looks, away = (np.concatenate(column) for column in zip(*chosen, strict=True))
        order = np.argsort(-away, kind="stable")
        corners, looks = corners[order], looks[order]
        image, nearness = self.image.reshape(-1, 3), self.nearness.reshape(-1)
        for pixel, near, face in self._cover(corners):
            front = near > COPLANAR * nearness[pixel]
            pixel, look = pixel[front], looks[face[front]]
            for layer in _layers(pixel):
                alpha = look[layer, 3:]
                at = pixel[layer]
                image[at] = (1 - alpha) * image[at] + alpha * look[layer, :3]

    def cast_shadows(self, soups: Sequence[Soup]) -> None:
        """Darken the table where something (lit) stands between it and the light."""
        if self.table_top is None:
            return
        dark = np.zeros(self.height * self.width)
        for soup in soups:
            if soup.table or not soup.normal.any():
                continue
            drop = (soup.corners[..., 2:] - self.table_top) / LIGHT[2]
            strength = np.where(soup.colour[:, 3] >= 1.0, 0.36, 0.14)
            for pixel, _, face in self._cover(soup.corners - drop * LIGHT):
                np.maximum.at(dark, pixel, strength[face])
        dark = dark.reshape(self.height, self.width)
        sigma = 2.2 * SUPERSAMPLE
        ends = [np.flatnonzero(dark.any(axis=axis)) for axis in (1, 0)]
        if not len(ends[0]):
            return
        margin = int(np.ceil(4.0 * sigma)) + 1  # beyond, the filter's weights are zero
        part = tuple(slice(max(0, one[0] - margin), one[-1] + margin + 1) for one in ends)
        from scipy.ndimage import gaussian_filter  # pictures without a table are drawn sooner

        shade = gaussian_filter(dark[part], sigma) * self.table[part]
        self.image[part] *= 1 - shade[..., None]

    def _shades(self, soup: Soup) -> np.ndarray:
        """Lambert's law with a sky: colour (n, 3) of every triangle."""
        lit = soup.normal.any(axis=1)
        glow = np.clip(soup.normal @ (LIGHT / np.linalg.norm(LIGHT)), 0, 1)
        sky = 0.5 * (1 + soup.normal[:, 2])
        level = np.where(lit, 0.52 + 0.44 * glow + 0.14 * sky, 1.0)
        return np.clip(soup.colour[:, :3] * level[:, None], 0, 1)

    def _cover(self, faces: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Yield (pixels, 1/depth, numbers of their triangles) that triangles (n, 3, 3) cover, in
        the triangles' order and so many at once as fit into memory."""
        depth = (faces - np.asarray(self.camera.eye)) @ self.camera.axes()[2] - NEAR
        number = np.flatnonzero((depth > 0).all(axis=1))
        crossing = np.flatnonzero((depth > 0).any(axis=1) & (depth <= 0).any(axis=1))
        if len(crossing):
            cut = [(k, part) for k in crossing for part in clip_near(faces[k], self.camera, NEAR)]
            number = np.concatenate([number, [k for k, _ in cut]]).astype(int)
            order = np.argsort(number, kind="stable")
            parts = np.concatenate([faces[number[: -len(cut)]], [part for _, part in cut]])
            faces, number = parts[order], number[order]
        else:
            faces = faces[number]
        xy, depth = project(faces, self.camera, self.width, self.height)
        low = np.maximum(np.floor(xy.min(axis=1)), 0).astype(int)
        size = (self.width, self.height)
        high = np.minimum(np.ceil(xy.max(axis=1)) + 1, size).astype(int)
        first, second = xy[:, 1] - xy[:, 0], xy[:, 2] - xy[:, 0]
        area = first[:, 0] * second[:, 1] - first[:, 1] * second[:, 0]
        kept = (high > low).all(axis=1) & (np.abs(area) >= 1e-12)
        low, high, number = low[kept], high[kept], number[kept]
        plane = _Planes(xy[kept], 1.0 / depth[kept])
        ends = np.cumsum(np.prod(high - low, axis=1))
        begin = 0
        while begin < len(number):
            done = ends[begin - 1] if begin else 0
            end = max(begin + 1, int(np.searchsorted(ends, done + AT_ONCE, side="right")))
            some = slice(begin, end)
            tall = high[some, 1] - low[some, 1]
            k, down = _runs(tall)
            k += begin
            row = low[k, 1] + down
            left, right = plane.inside(k, row + 0.5)
            left = np.clip(left, low[k, 0], high[k, 0]).astype(int)
            wide = np.maximum(np.clip(right, low[k, 0], high[k, 0]).astype(int) - left, 0)
            line, along = _runs(wide)
            near = plane.nearness(k, left + 0.5, row + 0.5)[line] + along * plane.slope[k][line]
            yield (row * self.width + left)[line] + along, near, number[k][line]
            begin = end

    def _finish_table(self, soup: Soup) -> None:
        """Draw a 0.1 m grid on the table's top and let it fade into the backdrop.

        In single precision: lines are 0.4 mm wide, and it is most of a picture's pixels.
        """
        f = np.float32(focal_length(self.camera, self.height))
        low, high = soup.corners.min(axis=(0, 1)), soup.corners.max(axis=(0, 1))
        middle, reach = 0.5 * (low + high), np.float32(0.5 * (high - low)[:2].min())
        eye, axes = np.asarray(self.camera.eye, np.float32), self.camera.axes().astype(np.float32)
        across = (np.arange(self.width, dtype=np.float32) + 0.5 - self.width / 2) / f
        down = (self.height / 2 - np.arange(self.height, dtype=np.float32) - 0.5) / f
        for rows in self._strips():
            table = self.table[rows]
            if not table.any():
                continue
            depth = 1 / np.where(table, self.nearness[rows], 1.0).astype(np.float32)
            half = 0.0004 + 0.35 * depth / f  # of a line's width
            strength, away = np.float32(0), np.float32(0)
            for k in range(2):
                ray = (axes[2, k] + down[rows] * axes[1, k])[:, None] + across * axes[0, k]
                where = eye[k] + depth * ray
                apart = np.abs((where + 0.05) % 0.1 - 0.05)
                strength = np.maximum(strength, np.clip(1.5 - apart / half, 0, 1))
                away = away + (where - np.float32(middle[k])) ** 2
            fade = np.clip((np.sqrt(away) / reach - 0.55) / 0.45, 0, 1) ** 2
            colour = self.image[rows] * (1 - 0.10 * strength)[..., None]
            colour += fade[..., None] * (self.backdrop[rows] - colour)
            self.image[rows][table] = colour[table]


class _Planes:
    """Triangles in the picture: barycentric weights and 1/depth, all linear in x and y.

    corners  (n, 3, 2) [pixels];  inverse  1/depth of the corners (n, 3)
    """

    def __init__(self, corners: np.ndarray, inverse: np.ndarray) -> None:
        self.origin = corners[:, 0]
        (ax, ay), (bx, by) = (corners[:, 1] - self.origin).T, (corners[:, 2] - self.origin).T
        area = ax * by - ay * bx
        one, two = np.stack([by, -bx]) / area, np.stack([-ay, ax]) / area
        self._weights = np.stack([-one - two, one, two])  # slopes (weight, axis, triangle)
        self._inverse = inverse[:, 0]
        self._rise = (inverse[:, 1:2] - inverse[:, :1]).T * one
        self._rise += (inverse[:, 2:3] - inverse[:, :1]).T * two
        self.slope = self._rise[0]

    def inside(self, k: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """First column, and the one after the last, whose middle is in triangle k on line y."""
        x0, y0 = self.origin[k].T
        low, high = np.full(len(k), -np.inf), np.full(len(k), np.inf)
        for weight, at_origin in zip(self._weights, (1.0, 0.0, 0.0), strict=True):
            slope, value = weight[0][k], at_origin + EDGE + weight[1][k] * (y - y0)
            with np.errstate(divide="ignore", invalid="ignore"):
                zero = x0 - value / slope  # of a level edge infinite: all of the line, or none
            low = np.where(slope > 0, np.maximum(low, zero), low)
            high = np.where(slope < 0, np.minimum(high, zero), high)
            high = np.where((slope == 0) & (value < 0), -np.inf, high)
        return np.ceil(low - 0.5), np.floor(high - 0.5) + 1

    def nearness(self, k: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """1/depth of triangle k at (x, y)."""
        x0, y0 = self.origin[k].T
        return self._inverse[k] + self._rise[0][k] * (x - x0) + self._rise[1][k] * (y - y0)


def _runs(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For counts (n,): i as often as counts[i] says, and 0, 1, ... within each."""
    number = np.repeat(np.arange(len(counts)), counts)
    return number, np.arange(len(number)) - (np.cumsum(counts) - counts)[number]


def _layers(pixel: np.ndarray) -> Iterator[np.ndarray]:
    """Places in `pixel` in rounds: every round has a pixel once, its first place first."""
    order = np.argsort(pixel, kind="stable")
    ordered = pixel[order]
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    counts = np.diff(np.concatenate([starts, [len(ordered)]]))
    rank = np.arange(len(ordered)) - np.repeat(starts, counts)
    for number in range(int(counts.max(initial=0))):
        yield order[rank == number]
