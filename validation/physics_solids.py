"""Solids against the independent cantilever reference (docs/results/cantilever_reference.json).

A bar 30 x 30 x 100 mm clamped at one end: deflection of its end under its own weight, a tip load
spread over the end face, and both; the first five frequencies about the unloaded straight state.
Elements of the engine: plain linear tetrahedra (which lock), smoothed linear ones (which lock
less), quadratic ones and those with a mean dilatation. First on cells that shrink towards the
clamp, where stresses are singular; then on equal cells, by every split of a scene's box: the sag's
errors, of which those of the recommended element must be small. Last a free ball's lowest
vibrations against Lamb's closed form for the sphere of the same volume.
"""

from __future__ import annotations

import json

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import eigsh

from diffsim_ros import _engine, meshes
from diffsim_ros.scene.tets import TetMesh, face_areas

from .closed_forms import lame, sphere_modes
from .common import RESULTS

WIDTH, LENGTH = 0.03, 0.1  # m
YOUNG, DENSITY, GRAVITY, TIP_LOAD = 2.6e5, 1070.0, 9.81, 0.51012  # Pa, kg/m^3, m/s^2, N
POISSON = (0.45, 0.499)
BALL_BAR = 0.03
# element: cells across, across, along; tetrahedra of a cell; last cell over the one at the clamp;
# bar on errors (None: shown only)
BARS = {
    "p1": ((6, 6, 16), "five", 6.0, None),
    "p1_fbar": ((6, 6, 16), "five", 6.0, 0.03),
    "p2": ((4, 4, 6), "six", 4.0, 0.03),
    "p2_p0": ((4, 4, 6), "six", 3.0, 0.03),
}
# Equal cells: element, cells, bar on the sag's error by any split.
UNIFORM = (
    ("p1", (5, 5, 16), None),
    ("p1_fbar", (5, 5, 16), None),
    ("p1_fbar", (8, 8, 8), None),
    ("p2", (4, 4, 6), None),
    ("p2_p0", (2, 2, 6), 0.03),
    ("p2_p0", (4, 4, 6), 0.03),
    ("p2_p0", (4, 4, 10), 0.03),
)
# Balls: element, layers, bar on the lowest frequencies' errors.
BALLS = (
    ("p1", 4, None), ("p1_fbar", 4, None), ("p2", 2, None), ("p2_p0", 2, BALL_BAR),
    ("p2_p0", 3, BALL_BAR),
)  # fmt: skip
RADIUS = 0.05  # m
PAIR = 0.01  # the two bending directions apart
FIRST = 5
INSTANTS = 1.0  # [s] of evaluate_element's step: velocities are zero
LONG_STEP, SETTLING = 0.05, 40  # [s], steps: a bending vibration loses 3/5 of itself in each


class Cantilever:
    """The bar along z, clamped at z = 0 by gluing it to the world."""

    def __init__(
        self, element: str, poisson: float, cells, mass="lumped", split="six", grading=3.0
    ):
        vertices, tets = meshes.box((WIDTH, WIDTH, LENGTH), cells, split, (1, 1, grading))
        vertices[:, 2] += LENGTH / 2
        if element.startswith("p2"):
            vertices, tets = meshes.quadratic(vertices, tets)
        self.vertices, self.tets = vertices, tets
        clamp = vertices[:, 2] < 1e-9
        self.free = np.flatnonzero(~clamp)
        self.solid = {
            "vertices": vertices, "tets": tets, "density": DENSITY, "young": YOUNG,
            "poisson": poisson, "element": element, "mass": mass,
            "glued": [("", np.flatnonzero(clamp).tolist())],
        }  # fmt: skip
        self.scene = self.bare()

    def bare(self) -> _engine.Scene:
        """The bar alone."""
        s = _engine.Scene()
        s.add_solid("bar", **self.solid)
        return s

    def evaluated(self, name: str, x: np.ndarray) -> dict:
        """One element at places x (free, 3), at rest."""
        zero = np.zeros_like(x)
        now = [[x, zero, zero, zero]] * 2
        return self.scene.evaluate_element(name, self.scene.values, now, INSTANTS)

    def mass(self) -> sp.csc_matrix:
        x = self.vertices[self.free]
        names = [n for n in self.scene.element_names if n in ("inertia", "bar (mass)")]
        return sp.csc_matrix(INSTANTS * sum(self.evaluated(n, x)["B"] for n in names))

    def end_shares(self) -> np.ndarray:
        """(free,) shares of a uniform traction on the end face: exact for its shape functions."""
        end = np.flatnonzero(np.isclose(self.vertices[:, 2], LENGTH))
        areas = face_areas(TetMesh(self.vertices, self.tets), end)
        return areas[self.free] / WIDTH**2

    def settled(self, weight: bool, pull: bool) -> np.ndarray:
        """Places (free, 3) at rest under the loads: BDF1 at long steps damps all vibration."""
        s = self.bare()
        s.set_gravity([0, -GRAVITY * weight, 0])
        if pull:
            s.add_point_force("pull", points="bar", index=self.free.tolist(),
                              force=[0, -TIP_LOAD, 0], shares=self.end_shares())  # fmt: skip
        r = _engine.rollout(s, s.values, SETTLING, _engine.Options(step=LONG_STEP, order=1))
        assert r.ok, r.message
        assert np.abs(r.velocity[-1]).max() < 1e-6, np.abs(r.velocity[-1]).max()
        return r.position[-1]

    def deflection(self, places: np.ndarray) -> float:
        """Mean of the end face, downward [m]."""
        return float(-self.end_shares() @ (places - self.vertices[self.free])[:, 1])

    def deflections(self) -> dict[str, float]:
        """By load [m]."""
        loads = {"weight": (True, False), "tip_load": (False, True), "both": (True, True)}
        return {
            f"{name}_tip_m": self.deflection(self.settled(*load)) for name, load in loads.items()
        }

    def frequencies(self) -> np.ndarray:
        """The first five [Hz], ascending."""
        K = sp.csc_matrix(self.evaluated("bar", self.vertices[self.free])["K"])
        start = np.random.default_rng(0).normal(size=K.shape[0])
        squares = eigsh(K, FIRST, self.mass(), sigma=0, v0=start, return_eigenvectors=False)
        return np.sqrt(np.sort(squares)) / (2 * np.pi)


def reference_of(poisson: float) -> dict:
    """Deflections and first modes by the independent code."""
    text = (RESULTS / "cantilever_reference.json").read_text()
    return json.loads(text)[f"poisson_{poisson:g}"]


def sag_error(element: str, poisson: float, cells, split: str) -> tuple[float, int, int]:
    """On equal cells: relative error of the end's sag under the bar's weight; tets, nodes."""
    bar = Cantilever(element, poisson, cells, split=split, grading=1.0)
    exact = reference_of(poisson)["deflections"]["weight_tip_m"]["value"]
    return bar.deflection(bar.settled(True, False)) / exact - 1, len(bar.tets), len(bar.vertices)


def compared(element: str, poisson: float, cells, mass="lumped", split="six", grading=3.0) -> dict:
    """Relative errors of deflections and frequencies, and how far the bending pair is apart."""
    reference = reference_of(poisson)
    bar = Cantilever(element, poisson, cells, mass, split, grading)
    got = bar.deflections()
    errors = {
        name: value / reference["deflections"][name]["value"] - 1 for name, value in got.items()
    }
    modes = bar.frequencies()
    named = {}
    for k, (mode, hz) in enumerate(zip(reference["first_modes"], modes, strict=True)):
        named[f"{k + 1}_{mode['mode']}"] = float(hz / mode["hz"] - 1)
    return {
        "tets": len(bar.tets), "nodes": len(bar.vertices), "tip_errors": errors,
        "frequency_errors": named, "pair_apart": float(modes[1] / modes[0] - 1),
    }  # fmt: skip


def study_cantilever(fraction: float = 1.0, seed: int = 0) -> dict:
    """Every element at both Poisson's ratios; a fraction runs the nearly incompressible one."""
    figures = {}
    for element, (cells, split, grading, bar) in BARS.items():
        for poisson in POISSON if fraction >= 1 else POISSON[-1:]:
            f = compared(element, poisson, cells, split=split, grading=grading)
            figures[f"{element}_poisson_{poisson:g}"] = f
            assert f["tets"] <= 3000
            if bar is None:
                continue
            worst = max(
                abs(e) for e in (*f["tip_errors"].values(), *f["frequency_errors"].values())
            )
            assert worst <= bar, f"{element} at Poisson {poisson}: {f}"
            assert abs(f["pair_apart"]) <= PAIR, f"{element} at Poisson {poisson}: {f}"
    locked = figures["p1_poisson_0.499"]["tip_errors"]["tip_load_tip_m"]
    assert locked < -0.1, f"plain linear tetrahedra should lock: {locked}"
    return figures


def study_equal_cells(fraction: float = 1.0, seed: int = 0) -> dict:
    """The sag on equal cells by every split; a fraction runs the recommended element's coarsest."""
    figures: dict = {}
    chosen = UNIFORM if fraction >= 1 else [row for row in UNIFORM if row[2]][:1]
    for element, cells, bar in chosen:
        for split in meshes.SPLITS:
            row: dict = {}
            for poisson in POISSON:
                error, row["tets"], row["nodes"] = sag_error(element, poisson, cells, split)
                row[f"sag_error_{poisson:g}"] = error
                assert bar is None or abs(error) <= bar, (element, cells, split, poisson, error)
            figures[f"{element}_{'x'.join(map(str, cells))}_{split}"] = row
            assert bar is None or row["tets"] <= 3000
    return figures


def ball_errors(element: str, poisson: float, layers: int) -> dict:
    """Relative errors of a free ball's five lowest torsional and spheroidal frequencies (mean)."""
    vertices, tets = meshes.ball(layers, RADIUS)
    radius = np.cbrt(meshes.quality(vertices, tets).volume * 3 / (4 * np.pi))
    if element.startswith("p2"):
        vertices, tets = meshes.quadratic(vertices, tets)
    s = _engine.Scene()
    s.add_solid("ball", vertices=vertices, tets=tets, density=DENSITY, young=YOUNG,
                poisson=poisson, element=element, mass="consistent")  # fmt: skip
    zero = np.zeros_like(vertices)
    now = [[vertices, zero, zero, zero]] * 2
    found = {n: s.evaluate_element(n, s.values, now, INSTANTS) for n in s.element_names}
    M = sp.csc_matrix(INSTANTS * (found["inertia"]["B"] + found["ball (mass)"]["B"]))
    start = np.random.default_rng(0).normal(size=M.shape[0])
    squares = eigsh(sp.csc_matrix(found["ball"]["K"]), 16, M, sigma=-1e3, v0=start,
                    return_eigenvectors=False)  # fmt: skip
    omega = np.sqrt(np.sort(squares)[6:])  # without the six rigid motions
    speed = np.sqrt(lame(YOUNG, poisson)[0] / DENSITY)
    torsional, spheroidal = sphere_modes(poisson)
    return {
        "torsional": float(omega[:5].mean() * radius / speed / torsional - 1),
        "spheroidal": float(omega[5:].mean() * radius / speed / spheroidal - 1),
        "tets": len(tets), "nodes": len(vertices),
    }  # fmt: skip


def study_balls(fraction: float = 1.0, seed: int = 0) -> dict:
    """Free balls at both Poisson's ratios; a fraction runs the recommended element's coarsest."""
    figures: dict = {}
    for element, layers, bar in BALLS if fraction >= 1 else BALLS[3:4]:
        for poisson in POISSON:
            f = ball_errors(element, poisson, layers)
            figures[f"{element}_{layers}_layers_poisson_{poisson:g}"] = f
            worst = max(abs(f["torsional"]), abs(f["spheroidal"]))
            assert bar is None or worst <= bar, (element, layers, poisson, f)
    return figures


def study(fraction: float = 1.0, seed: int = 0) -> dict:
    """The cantilever, as `./run validate physics_solids`."""
    return {
        "cantilever": study_cantilever(fraction, seed),
        "equal_cells": study_equal_cells(fraction, seed),
        "balls": study_balls(fraction, seed),
    }
