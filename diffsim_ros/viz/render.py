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
NEAR = 0.01  # nothing nearer to the camera is drawn [m]
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
    camera = camera or camera_for(markers)
    return Renderer(camera, size).picture(markers)


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

    def picture(self, markers: Sequence[Marker]) -> np.ndarray:
        """These beside those that stand still: (height, width, 3) uint8."""
        canvas, moving = self._canvas.copy(), self._soups(markers)
        for soup in moving:
            canvas.draw_opaque(soup)
        soups = [*self._still, *moving]
        canvas.cast_shadows(soups)
        canvas.draw_translucent(soups)
        width, height = self.size
        rows = canvas.image.reshape(height, SUPERSAMPLE, -1).sum(axis=1)
        small = rows.reshape(height, width, SUPERSAMPLE, 3).sum(axis=2) / SUPERSAMPLE**2
        return (255.0 * np.clip(small, 0.0, 1.0) + 0.5).astype(np.uint8)

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
        self.image = np.broadcast_to(
            (1 - ramp) * BACKDROP[0] + ramp * BACKDROP[1], (height, width, 3)
        ).copy()
        self.nearness = np.zeros((height, width))
        self.table = np.zeros((height, width), dtype=bool)
        self.table_top: float | None = None

    def copy(self) -> _Canvas:
        """One to go on with."""
        other = copy.copy(self)
        other.image, other.nearness = self.image.copy(), self.nearness.copy()
        other.table = self.table.copy()
        return other

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
            order = np.argsort(near, kind="stable")  # of one pixel the last, the nearest, stays
            pixel, near, face = pixel[order], near[order], face[order]
            nearness[pixel] = near
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
                for value in (0.14, 0.36):
                    here = pixel[strength[face] == value]
                    dark[here] = np.maximum(dark[here], value)
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
        low, wide, tall = low[kept], *(high - low)[kept].T
        xy, first, second, area = xy[kept], first[kept], second[kept], area[kept]
        number, inverse = number[kept], 1.0 / depth[kept]
        ends = np.cumsum(wide * tall)
        begin = 0
        while begin < len(number):
            done = ends[begin - 1] if begin else 0
            end = max(begin + 1, int(np.searchsorted(ends, done + AT_ONCE, side="right")))
            k = np.repeat(np.arange(begin, end), (wide * tall)[begin:end])
            local = np.arange(len(k)) + done - (ends - wide * tall)[k]
            column, row = low[k, 0] + local % wide[k], low[k, 1] + local // wide[k]
            x, y = column + 0.5 - xy[k, 0, 0], row + 0.5 - xy[k, 0, 1]
            w1 = (x * second[k, 1] - y * second[k, 0]) / area[k]
            w2 = (first[k, 0] * y - first[k, 1] * x) / area[k]
            w0 = 1 - w1 - w2
            inside = (w0 >= -1e-9) & (w1 >= -1e-9) & (w2 >= -1e-9)
            k, w0, w1, w2 = k[inside], w0[inside], w1[inside], w2[inside]
            near = w0 * inverse[k, 0] + w1 * inverse[k, 1] + w2 * inverse[k, 2]
            yield (row * self.width + column)[inside], near, number[k]
            begin = end

    def _finish_table(self, soup: Soup) -> None:
        """Draw a 0.1 m grid on the table's top and let it fade into the backdrop."""
        rows, cols = np.nonzero(self.table)
        if not len(rows):
            return
        f = focal_length(self.camera, self.height)
        x, y = (cols + 0.5 - self.width / 2) / f, (self.height / 2 - rows - 0.5) / f
        rays = np.stack([x, y, np.ones(len(x))], -1) @ self.camera.axes()
        depth = 1 / self.nearness[rows, cols]
        where = np.asarray(self.camera.eye) + rays * depth[:, None]
        apart = np.abs((where[:, :2] + 0.05) % 0.1 - 0.05)
        line = 0.0004 + 0.35 * depth[:, None] / f
        strength = np.clip(1.5 - apart / line, 0, 1).max(axis=1)[:, None]
        low, high = soup.corners.min(axis=(0, 1)), soup.corners.max(axis=(0, 1))
        centre, reach = 0.5 * (low + high)[:2], 0.5 * (high - low)[:2].min()
        radius = np.linalg.norm(where[:, :2] - centre, axis=1)[:, None] / reach
        fade = np.clip((radius - 0.55) / 0.45, 0, 1) ** 2
        ramp = ((rows + 0.5) / self.height)[:, None]
        backdrop = (1 - ramp) * BACKDROP[0] + ramp * BACKDROP[1]
        colour = self.image[rows, cols] * (1 - 0.10 * strength)
        self.image[rows, cols] = (1 - fade) * colour + fade * backdrop


def _layers(pixel: np.ndarray) -> Iterator[np.ndarray]:
    """Places in `pixel` in rounds: every round has a pixel once, its first place first."""
    order = np.argsort(pixel, kind="stable")
    ordered = pixel[order]
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    counts = np.diff(np.concatenate([starts, [len(ordered)]]))
    rank = np.arange(len(ordered)) - np.repeat(starts, counts)
    for number in range(int(counts.max(initial=0))):
        yield order[rank == number]
