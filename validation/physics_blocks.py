"""Cook's membrane and a pressed block, nearly incompressible, by tetrahedra on equal cells.

Deflections, and their exact derivatives by Young's modulus and Poisson's ratio, of equilibria under
small loads, against independent finite elements (reference_blocks).  First Cook's own membrane
against the published deflection, then those that lock, and the derivatives of the cantilever's sag.
"""

from __future__ import annotations

import functools

import numpy as np

from diffsim_ros import _engine, meshes
from diffsim_ros.scene.tets import TetMesh, triangle_areas
from diffsim_ros.statics import equilibrium

from . import physics_solids
from .common import judged
from .reference_blocks import (
    END,
    FLAT,
    PRESSED,
    RISE,
    SIDE,
    SPAN,
    THICK,
    Block,
    Membrane,
    slopes,
    tapered,
)
from .reference_fem import Bar
from .reference_fem import equilibrium as reference_equilibrium

YOUNG = 2.6e5  # Pa
POISSON = (0.45, 0.499)
PUBLISHED = 23.96  # E t u/F of Cook's membrane in plane stress, Poisson 1/3, middle of its end
THIN = 0.01  # m, its thickness
SMALL = 1e-4  # m, deflection at which all is linear
ROLLER = 1e3  # stiffness of a roller over Young's modulus times a metre
ROUNDING = 1e-5  # of the rollers' lengths, over the forces
BAR = 0.05  # of p2_p0: deflections, their derivatives by Young's modulus
SLOPE_BAR = {"membrane": 0.25, "block": 0.15, "graded": 0.2}  # by Poisson's ratio
# element, cells of the membrane, cells of the block, whether the bars hold it
ELEMENTS = (
    ("p1", (16, 16, 1), (8, 8, 4), False),
    ("p1_fbar", (16, 16, 1), (8, 8, 4), False),
    ("p2", (8, 8, 1), (4, 4, 2), False),
    ("p2_p0", (8, 8, 1), (4, 4, 2), True),
)
BEAMS = {"equal": ((4, 4, 6), 1.0), "graded": ((4, 4, 10), 4.0)}  # cells of the cantilever, grading


def shares(vertices: np.ndarray, tets: np.ndarray, face) -> np.ndarray:
    """(nodes,) of a uniform traction on faces whose corners (n, 3, 3) are all in `face`."""
    mesh = TetMesh(vertices, tets)
    corners = meshes.surface(mesh.corners)
    corners = corners[face(vertices[corners]).all(axis=1)]
    area, found = triangle_areas(vertices, corners), np.zeros(len(vertices))
    if tets.shape[1] == 4:
        np.add.at(found, corners, area[:, None] / 3)
    else:  # shape functions of corners have no mean on a face
        middle = mesh._middles()
        for triangle, size in zip(np.sort(corners, axis=1).tolist(), area, strict=True):
            for i, j in ((0, 1), (1, 2), (0, 2)):
                found[middle[triangle[i], triangle[j]]] += size / 3
    return found / found.sum()


def pushed(vertices, tets, element, poisson, clamp, share, force, rollers=None) -> _engine.Scene:
    """A solid glued to the world at `clamp` (nodes,), with a total `force` (3,) by `share`."""
    s = _engine.Scene()
    s.set_gravity([0, 0, 0])
    s.add_solid("block", vertices=vertices, tets=tets, density=1000.0, young=YOUNG,
                poisson=poisson, element=element,
                glued=[("", np.flatnonzero(clamp).tolist())])  # fmt: skip
    share = np.where(clamp, 0.0, np.round(share, 12))
    for k, one in enumerate(np.unique(share[share > 0])):
        nodes = np.flatnonzero(share == one).tolist()
        s.add_point_force(f"push {k}", points="block", index=nodes, force=list(one * force))
    if rollers is not None:  # long springs across: they hold nothing along the faces
        nodes = np.flatnonzero(rollers & ~clamp)
        far = vertices[nodes] + [0, 0, 1.0]
        s.add_points("rails", bodies=[""] * len(nodes), local=far)
        s.add_springs("rollers", points_a="block", index_a=nodes.tolist(), points_b="rails",
                      index_b=list(range(len(nodes))), stiffness=ROLLER * YOUNG,
                      rest_length=1.0)  # fmt: skip
    return s


def membrane(element: str, poisson: float, cells, split: str, thick=THICK, plane=True):
    """Cook's membrane at rest under a force upwards: (scene, shares of its end, middle, force)."""
    vertices, tets = meshes.box((1, 1, thick), cells, split)
    x, y, z = np.add(vertices, [0.5, 0.5, 0]).T
    vertices = np.array([SPAN * x, tapered(x, y), z]).T
    if element.startswith("p2"):
        vertices, tets = meshes.quadratic(vertices, tets)
    clamp = vertices[:, 0] < 1e-9
    share = shares(vertices, tets, lambda corner: np.isclose(corner[..., 0], SPAN))
    rollers = np.ones(len(vertices), bool) if plane else None
    force = np.array([0, SMALL * YOUNG * thick / 20, 0])
    s = pushed(vertices, tets, element, poisson, clamp, share, force, rollers)
    end = [SPAN, RISE + END / 2, 0]
    return s, share[~clamp], np.argmin(np.linalg.norm(vertices[~clamp] - end, axis=1)), force[1]


def block(element: str, poisson: float, cells, split: str):
    """The block, pressed: (scene, shares of the pressed square, None, force downwards)."""
    vertices, tets = meshes.box((SIDE, SIDE, FLAT), cells, split)
    vertices[:, 2] += FLAT / 2
    if element.startswith("p2"):
        vertices, tets = meshes.quadratic(vertices, tets)
    clamp = vertices[:, 2] < 1e-9

    def pressed(corner):
        inside = np.abs(corner[..., :2]).max(axis=-1) < PRESSED / 2 + 1e-9
        return inside & np.isclose(corner[..., 2], FLAT)

    share, force = shares(vertices, tets, pressed), np.array([0, 0, -SMALL * YOUNG * SIDE / 10])
    s = pushed(vertices, tets, element, poisson, clamp, share, force)
    return s, share[~clamp], None, force[2]


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
    """Independent figures, of bricks fine enough for 0.5 %."""
    if kind == "membrane":
        return slopes(Membrane, 16 if fine else 8, YOUNG, poisson)
    return slopes(Block, 3 if fine else 2, YOUNG, poisson)


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


@functools.cache
def cantilever_reference(poisson: float, n: int) -> dict[str, float]:
    """Sag of the cantilever by its weight, and differences by both elastic numbers."""

    def sag(young: float, nu: float) -> float:
        bar = Bar(n, nu, young=young)
        free, up = bar.free(on_x=(0,)), np.array([0, 1.0, 0])
        density = physics_solids.DENSITY * physics_solids.GRAVITY
        u = reference_equilibrium(bar, bar.nodal(-density * up), free)
        share = bar.nodal(up, end_only=True)
        return float(-share @ u / share.sum())

    step = 0.02 * (0.5 - poisson)
    return {
        "mean": sag(YOUNG, poisson),
        "by_young": (sag(1.01 * YOUNG, poisson) - sag(0.99 * YOUNG, poisson)) / (0.02 * YOUNG),
        "by_poisson": (sag(YOUNG, poisson + step) - sag(YOUNG, poisson - step)) / (2 * step),
    }


def cantilever(
    element: str, poisson: float, cells, split: str, grading: float = 1.0, n: int = 3
) -> dict:
    """Errors of the sag and of its derivatives."""
    bar = physics_solids.Cantilever(element, poisson, cells, split=split, grading=grading)
    s = bar.bare()
    s.set_gravity([0, -physics_solids.GRAVITY, 0])
    rest = equilibrium(s)
    share = bar.end_shares()
    dx = np.zeros(len(rest.scene.free))
    dx[rest.scene.first[:-1] + 1] = -share
    by = rest.gradient(dx, ["bar.young", "bar.poisson"])
    found = {"mean": bar.deflection(rest.position), "by_young": by[0], "by_poisson": by[1]}
    return errors(found, cantilever_reference(poisson, n))


def beyond(kind: str, name: str, found: dict) -> list[str]:
    """Sentences on errors beyond the bars."""
    bars = {"mean": BAR, "by_young": BAR, "by_poisson": SLOPE_BAR.get(kind, np.inf)}
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
                key, rows = f"{name}_{poisson:g}", {}
                for kind, cells in (("membrane", wide), ("block", deep)):
                    rows[kind] = compared(kind, element, poisson, cells, split, whole)
                    figures[kind][key] = rows[kind]
                for kind, (cells, grading) in BEAMS.items() if bound and whole else ():
                    rows[kind] = cantilever(element, poisson, cells, split, grading)
                    figures["cantilever"][f"{kind}_{key}"] = rows[kind]
                if bound:
                    missed += [m for kind, row in rows.items() for m in beyond(kind, key, row)]
    return judged(figures, missed)
