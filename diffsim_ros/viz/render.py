"""Markers -> PNG: a small z-buffered renderer, so that pictures need no display and no rviz.

Opaque triangles are lit and depth-tested, they drop a soft shadow on the table, translucent ones
are blended over them from back to front; lines are ribbons that face the camera. Anti-aliased by
rendering `SUPERSAMPLE` times larger.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
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
    markers = [m for m in markers if m.action is Action.ADD and m.kind is not MarkerKind.TEXT]
    camera = camera or camera_for(markers)
    width, height = size[0] * SUPERSAMPLE, size[1] * SUPERSAMPLE
    canvas = _Canvas(camera, width, height)
    soups = [soup for marker in markers for soup in triangles(marker, camera)]
    for soup in soups:
        canvas.draw_opaque(soup)
    canvas.cast_shadows(soups)
    canvas.draw_translucent(soups)
    small = canvas.image.reshape(size[1], SUPERSAMPLE, size[0], SUPERSAMPLE, 3).mean(axis=(1, 3))
    return (255.0 * np.clip(small, 0.0, 1.0) + 0.5).astype(np.uint8)


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

    def draw_opaque(self, soup: Soup) -> None:
        """Draw the triangles with alpha 1; of closed surfaces those that face the camera."""
        solid = soup.colour[:, 3] >= 1.0
        if soup.closed:
            view = soup.corners.mean(axis=1) - np.asarray(self.camera.eye)
            solid &= np.einsum("ij,ij->i", soup.normal, view) < 0
        shades = self._shades(soup)
        for face, shade in zip(soup.corners[solid], shades[solid], strict=True):
            for rows, cols, near, inside in self._cover(face):
                front = inside & (near > self.nearness[rows, cols])
                self.nearness[rows, cols][front] = near[front]
                self.image[rows, cols][front] = shade
                self.table[rows, cols][front] = soup.table
        if soup.table:
            self.table_top = float(soup.corners[..., 2].max())
            self._finish_table(soup)

    def draw_translucent(self, soups: Sequence[Soup]) -> None:
        """Blend the triangles with alpha < 1 that face the camera, farthest first."""
        todo = []
        for soup in soups:
            shades = self._shades(soup)
            for face, normal, colour, shade in zip(
                soup.corners, soup.normal, soup.colour, shades, strict=True
            ):
                view = face.mean(axis=0) - np.asarray(self.camera.eye)
                if colour[3] < 1.0 and normal @ view <= 0:
                    todo.append((-float(np.linalg.norm(view)), face, shade, colour[3]))
        for _, face, shade, alpha in sorted(todo, key=lambda item: item[0]):
            for rows, cols, near, inside in self._cover(face):
                front = inside & (near > COPLANAR * self.nearness[rows, cols])
                patch = self.image[rows, cols]
                patch[front] = (1 - alpha) * patch[front] + alpha * shade

    def cast_shadows(self, soups: Sequence[Soup]) -> None:
        """Darken the table where something (lit) stands between it and the light."""
        if self.table_top is None:
            return
        dark = np.zeros((self.height, self.width))
        for soup in soups:
            if soup.table or not soup.normal.any():
                continue
            drop = (soup.corners[..., 2:] - self.table_top) / LIGHT[2]
            flat = soup.corners - drop * LIGHT
            for face, colour in zip(flat, soup.colour, strict=True):
                strength = 0.36 if colour[3] >= 1.0 else 0.14
                for rows, cols, _, inside in self._cover(face):
                    patch = dark[rows, cols]
                    patch[inside] = np.maximum(patch[inside], strength)
        from scipy.ndimage import gaussian_filter  # pictures without a table are drawn sooner

        dark = gaussian_filter(dark, 2.2 * SUPERSAMPLE)
        self.image *= 1 - (dark * self.table)[..., None]

    def _shades(self, soup: Soup) -> np.ndarray:
        """Lambert's law with a sky: colour (n, 3) of every triangle."""
        lit = soup.normal.any(axis=1)
        glow = np.clip(soup.normal @ (LIGHT / np.linalg.norm(LIGHT)), 0, 1)
        sky = 0.5 * (1 + soup.normal[:, 2])
        level = np.where(lit, 0.52 + 0.44 * glow + 0.14 * sky, 1.0)
        return np.clip(soup.colour[:, :3] * level[:, None], 0, 1)

    def _cover(self, face: np.ndarray):
        """Yield (rows, cols, 1/depth, inside) of the pixels that a triangle (3, 3) may cover."""
        for part in clip_near(face, self.camera):
            xy, depth = project(part, self.camera, self.width, self.height)
            low = np.maximum(np.floor(xy.min(axis=0)).astype(int), 0)
            high = np.minimum(np.ceil(xy.max(axis=0)).astype(int) + 1, (self.width, self.height))
            area = np.linalg.det(np.stack([xy[1] - xy[0], xy[2] - xy[0]]))
            if (high <= low).any() or abs(area) < 1e-12:
                continue
            x = np.arange(low[0], high[0]) + 0.5
            y = (np.arange(low[1], high[1]) + 0.5)[:, None]
            w1 = (
                (x - xy[0, 0]) * (xy[2, 1] - xy[0, 1]) - (y - xy[0, 1]) * (xy[2, 0] - xy[0, 0])
            ) / area
            w2 = (
                (xy[1, 0] - xy[0, 0]) * (y - xy[0, 1]) - (xy[1, 1] - xy[0, 1]) * (x - xy[0, 0])
            ) / area
            w0 = 1 - w1 - w2
            inside = (w0 >= -1e-9) & (w1 >= -1e-9) & (w2 >= -1e-9)
            near = w0 / depth[0] + w1 / depth[1] + w2 / depth[2]
            yield slice(low[1], high[1]), slice(low[0], high[0]), near, inside

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
