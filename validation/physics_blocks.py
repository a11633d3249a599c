"""Cook's membrane and a pressed block, nearly incompressible, by tetrahedra on equal cells.

Deflections, and their exact derivatives by Young's modulus and Poisson's ratio, of equilibria under
small loads, against independent finite elements (reference_blocks).  First Cook's own membrane
against the published deflection, then those that lock, and the derivatives of the cantilever's sag.
"""

from __future__ import annotations

import functools

import numpy as np

from diffsim_ros import _engine, meshes
from diffsim_ros.scene.tets import TetMesh, face_areas, quadratic
from diffsim_ros.statics import equilibrium

from . import physics_solids, reference_blocks
from .common import judged
from .reference_blocks import END, FLAT, LIGHT, PRESSED, RISE, SIDE, SMALL, SPAN, THICK, tapered

YOUNG = 2.6e5  # Pa
POISSON = (0.45, 0.499)
PUBLISHED = 23.96  # E t u/F of Cook's membrane in plane stress, Poisson 1/3, middle of its end
THIN = 0.01  # m, its thickness
ROLLER = 1e3  # stiffness of a roller over Young's modulus times a metre
ROUNDING = 1e-5  # of the rollers' lengths, over the forces
BAR = 0.05  # of p2_p0: deflections, their derivatives by Young's modulus
# By Poisson's ratio: of the recommended split, of the others.
SLOPE_BAR = {"membrane": (0.05, 0.25), "block": (0.12, 0.15)}
SLOPE_BAR |= {"slim": (0.05, 0.2), "graded": (0.05, 0.2), "fine": (0.05, 0.2)}
# element, cells of the membrane, cells of the block, whether the bars hold it
ELEMENTS = (
    ("p1", (16, 16, 1), (8, 8, 4), False),
    ("p1_fbar", (16, 16, 1), (8, 8, 4), False),
    ("p2", (8, 8, 1), (4, 4, 2), False),
    ("p2_p0", (8, 8, 1), (4, 4, 2), True),
)
# Cells of the cantilever by p2_p0; last one over the one at the clamp.
BEAMS = {
    "equal": ((4, 4, 6), 1.0), "cubes": ((6, 6, 13), 1.0), "slim": ((4, 4, 30), 1.0),
    "graded": ((4, 4, 10), 4.0), "fine": ((6, 6, 13), 4.0),
}  # fmt: skip
# What locks p2_p0 most: cells of the cantilever, split, Poisson's ratio.
WORST = (
    ((4, 4, 10), "six", 0.49999), ((5, 5, 5), "six_parallel", 0.499),
    ((7, 7, 7), "six_parallel", 0.499),
)  # fmt: skip
LEVELS = {"membrane": (8, 12, 16), "block": (2, 3, 4), "cantilever": (2, 3, 4)}  # bricks
COARSE = {"membrane": (4, 6, 8), "block": (1, 2, 3)}  # for a part of the study
REFERENCES = {
    "membrane": reference_blocks.Membrane, "block": reference_blocks.Block,
    "cantilever": reference_blocks.Cantilever,
}  # fmt: skip


def pushed(mesh, element, poisson, clamp, share, force, rollers=False) -> _engine.Scene:
    """A solid glued to the world at `clamp` (nodes,), with a total `force` (3,) by `share`."""
    s = _engine.Scene()
    s.set_gravity([0, 0, 0])
    s.add_solid("block", vertices=mesh.vertices, tets=mesh.tets, density=1000.0, young=YOUNG,
                poisson=poisson, element=element,
                glued=[("", np.flatnonzero(clamp).tolist())])  # fmt: skip
    nodes = np.flatnonzero(share)
    s.add_point_force("push", points="block", index=nodes.tolist(), force=force,
                      shares=share[nodes])  # fmt: skip
    if rollers:  # long springs across: they hold nothing along the faces
        nodes = np.flatnonzero(~clamp)
        far = mesh.vertices[nodes] + [0, 0, 1.0]
        s.add_points("rails", bodies=[""] * len(nodes), local=far)
        s.add_springs("rollers", points_a="block", index_a=nodes.tolist(), points_b="rails",
                      index_b=list(range(len(nodes))), stiffness=ROLLER * YOUNG,
                      rest_length=1.0)  # fmt: skip
    return s


def meshed(element: str, vertices, tets, loaded) -> tuple[TetMesh, np.ndarray]:
    """The mesh that an element needs, and shares (nodes,) of a uniform traction on a face."""
    mesh = TetMesh(vertices, tets)
    mesh = quadratic(mesh) if element.startswith("p2") else mesh
    areas = face_areas(mesh, np.flatnonzero(loaded(mesh.vertices)))
    return mesh, areas / areas.sum()


def membrane(element: str, poisson: float, cells, split: str, thick=THICK, plane=True):
    """Cook's membrane under a force upwards: (scene, shares of its end, middle of it, force)."""
    vertices, tets = meshes.box((1, 1, thick), cells, split)
    x, y, z = np.add(vertices, [0.5, 0.5, 0]).T
    vertices = np.array([SPAN * x, tapered(x, y), z]).T
    mesh, share = meshed(element, vertices, tets, lambda at: np.isclose(at[:, 0], SPAN))
    clamp = mesh.vertices[:, 0] < 1e-9
    force = np.array([0, SMALL * YOUNG * thick / 20, 0])
    s = pushed(mesh, element, poisson, clamp, share, force, rollers=plane)
    away = np.linalg.norm(mesh.vertices[~clamp] - [SPAN, RISE + END / 2, 0], axis=1)
    return s, share[~clamp], np.argmin(away), force[1]


def block(element: str, poisson: float, cells, split: str):
    """The block, pressed: (scene, shares of the pressed square, None, force downwards)."""
    vertices, tets = meshes.box((SIDE, SIDE, FLAT), cells, split)
    vertices[:, 2] += FLAT / 2

    def pressed(at):
        inside = np.abs(at[:, :2]).max(axis=1) < PRESSED / 2 + 1e-9
        return inside & np.isclose(at[:, 2], FLAT)

    mesh, share = meshed(element, vertices, tets, pressed)
    clamp, force = mesh.vertices[:, 2] < 1e-9, np.array([0, 0, -SMALL * YOUNG * SIDE / 10])
    return pushed(mesh, element, poisson, clamp, share, force), share[~clamp], None, force[2]


def found_slopes(made, axis: int) -> dict[str, float]:
    """Mean displacement per force, and its exact derivatives by both elastic numbers."""
    s, share, _, force = made
    rest = equilibrium(s, tolerance=ROUNDING)
    first = rest.scene.first[:-1]
    dx = np.zeros(len(rest.scene.free))
    dx[first + axis] = share
    mean = share @ (rest.position - rest.scene.start.position)[:, axis]
    by = rest.gradient(dx, ["block.young", "block.poisson"])
    return dict(
        zip(("mean", "by_young", "by_poisson"), (np.array([mean, *by]) / force), strict=True)
    )


def errors(found: dict, wanted: dict) -> dict[str, float]:
    """Relative ones."""
    return {key: float(found[key] / wanted[key] - 1) for key in found}


@functools.cache
def reference(kind: str, poisson: float, fine: bool = True) -> dict[str, float]:
    """Independent figures: limits of bricks as they are refined."""
    levels = LEVELS[kind] if fine else COARSE[kind]
    return reference_blocks.limits(REFERENCES[kind], levels, YOUNG, poisson)


def compared(kind: str, element: str, poisson: float, cells, split: str, fine=True) -> dict:
    """Errors of the mean deflection and of its derivatives."""
    made = (membrane if kind == "membrane" else block)(element, poisson, cells, split)
    return errors(
        found_slopes(made, 1 if kind == "membrane" else 2), reference(kind, poisson, fine)
    )


def cook(element: str, cells, split: str) -> float:
    """Cook's own membrane: error of the deflection of its end's middle, against the published."""
    s, _, middle, force = membrane(element, 1 / 3, cells, split, THIN, plane=False)
    rest = equilibrium(s)
    up = (rest.position - rest.scene.start.position)[middle, 1]
    return float(up * YOUNG * THIN / force / PUBLISHED - 1)


def cantilever(element: str, poisson: float, cells, split: str, grading: float = 1.0) -> dict:
    """Errors of the sag under a little of its weight, and of its derivatives; number of tets."""
    bar = physics_solids.Cantilever(element, poisson, cells, split=split, grading=grading)
    s = bar.bare()
    s.set_gravity([0, -LIGHT * physics_solids.GRAVITY, 0])
    rest = equilibrium(s)
    share = bar.end_shares()
    dx = np.zeros(len(rest.scene.free))
    dx[rest.scene.first[:-1] + 1] = -share / LIGHT
    by = rest.gradient(dx, ["bar.young", "bar.poisson"])
    found = {"mean": bar.deflection(rest.position) / LIGHT, "by_young": by[0], "by_poisson": by[1]}
    return errors(found, reference("cantilever", poisson)) | {"tets": len(bar.tets)}


def beyond(kind: str, split: str, name: str, found: dict) -> list[str]:
    """Sentences on errors beyond the bars."""
    recommended, other = SLOPE_BAR.get(kind, (np.inf, np.inf))
    slope = recommended if split == "six" else other
    bars = {"mean": BAR, "by_young": BAR, "by_poisson": slope}
    return [
        f"{kind} {name}: {key} {found[key]:.3g}, required {bar:g}"
        for key, bar in bars.items()
        if not abs(found[key]) <= bar
    ]


def study(fraction: float = 1.0, seed: int = 0) -> dict:
    """Every element by every split at both Poisson's ratios; a fraction: p2_p0 by one split."""
    whole, missed = fraction >= 1, []
    figures: dict = {"published": {}, "membrane": {}, "block": {}, "cantilever": {}}
    for element, wide, deep, bound in ELEMENTS if whole else ELEMENTS[-1:]:
        for split in meshes.SPLITS if whole else ("six",):
            name = f"{element}_{split}"
            error = figures["published"][name] = cook(element, wide, split)
            if bound and not abs(error) <= BAR:
                missed.append(f"published {name}: {error:.3g}, required {BAR:g}")
            for poisson in POISSON if whole else POISSON[-1:]:
                key = f"{name}_{poisson:g}"
                for kind, cells in (("membrane", wide), ("block", deep)):
                    row = compared(kind, element, poisson, cells, split, whole)
                    figures[kind][key] = row
                    missed += beyond(kind, split, key, row) if bound else []
    if whole:
        figures["cantilever"], more = beams()
        missed += more
    return judged(figures, missed)


def beams() -> tuple[dict, list[str]]:
    """The cantilever by p2_p0 on all its cells, and what is beyond the bars."""
    figures, missed = {}, []
    for kind, (cells, grading) in BEAMS.items():
        for split in meshes.SPLITS:
            for poisson in POISSON:
                name = f"{kind}_{split}_{poisson:g}"
                row = figures[name] = cantilever("p2_p0", poisson, cells, split, grading)
                missed += beyond(kind, split, name, row)
    for cells, split, poisson in WORST:
        name = f"{'x'.join(map(str, cells))}_{split}_{poisson:g}"
        figures[name] = cantilever("p2_p0", poisson, cells, split)
        missed += beyond("worst", split, name, figures[name])
    return figures, missed
