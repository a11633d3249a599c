"""Locking on a mesh without structure: Bob (data/bob), held below and bent by its own weight.

Bob, of 1467 tetrahedra that fTetWild made, is glued to the world at its lowest part and weighs to
the side. Mean displacement by mass in linear statics, nearly incompressible, by every element on
this mesh and on that of eight times as many tetrahedra, against independent finite elements on the
latter (scikit-fem: quadratic displacements, continuous linear pressures).
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from skfem import (
    Basis,
    BilinearForm,
    ElementTetP1,
    ElementTetP2,
    ElementVector,
    LinearForm,
    MeshTet,
)
from skfem.helpers import ddot, div, sym_grad

from diffsim_ros import _engine, meshes
from diffsim_ros.scene.mesh_files import read_tets
from diffsim_ros.statics.at_rest import SceneAtRest
from diffsim_ros.statics.sparse import Factor

from .closed_forms import lame
from .common import ROOT, judged

MESH = ROOT / "data" / "bob" / "bob.vtk"
YOUNG, DENSITY, GRAVITY = 2.4e4, 90.0, 9.81  # Pa, kg/m^3, m/s^2, as config/planning/throw_bob.yaml
POISSON = (0.45, 0.499)
BELOW = 0.015  # m above its lowest vertex: tetrahedra below are held
ELEMENTS = ("p1", "p1_fbar", "p2", "p2_p0")
BAR = 0.05  # of p2_p0 on the mesh as it is


def divided(vertices: np.ndarray, tets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Each tetrahedron as eight, child k of tetrahedron i in row 8 i + k."""
    vertices, ten = meshes.quadratic(vertices, tets)
    children = [
        (0, 4, 6, 7), (4, 1, 5, 8), (6, 5, 2, 9), (7, 8, 9, 3),
        (6, 8, 4, 5), (6, 8, 5, 9), (6, 8, 9, 7), (6, 8, 7, 4),
    ]  # fmt: skip
    return vertices, meshes.positively_oriented(vertices, ten[:, children].reshape(-1, 4))


def bob(level: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(vertices, tets, whether each is held), each tetrahedron of the file as 8^level."""
    mesh = read_tets(MESH, None, "physics_bob", "file")
    vertices, tets = mesh.vertices, mesh.corners
    held = (vertices[tets][..., 2] < vertices[:, 2].min() + BELOW).all(axis=1)
    for _ in range(level):
        (vertices, tets), held = divided(vertices, tets), np.repeat(held, 8)
    return vertices, tets, held


def deflection(element: str, poisson: float, level: int) -> tuple[float, int, int]:
    """Mean displacement along the weight [m], by mass; numbers of tets and of nodes."""
    vertices, tets, held = bob(level)
    if element.startswith("p2"):
        vertices, tets = meshes.quadratic(vertices, tets)
    s = _engine.Scene()
    s.set_gravity([GRAVITY, 0, 0])
    s.add_solid("bob", vertices=vertices, tets=tets, density=DENSITY, young=YOUNG,
                poisson=poisson, element=element,
                glued=[("", np.unique(tets[held]).tolist())])  # fmt: skip
    rest = SceneAtRest(s)
    forces = rest.evaluate(rest.start)
    work = forces.r @ Factor(forces.K).solve(forces.r)
    corners = vertices[tets[:, :4]]
    volume = np.linalg.det(corners[:, 1:] - corners[:, :1]).sum() / 6
    return float(work / (DENSITY * GRAVITY * volume)), len(tets), len(vertices)


def reference(poisson: float, level: int) -> float:
    """The same by Taylor and Hood's elements [m]."""
    vertices, tets, held = bob(level)
    mu, lam = lame(YOUNG, poisson)
    mesh = MeshTet(np.ascontiguousarray(vertices.T), np.ascontiguousarray(tets.T))
    space = Basis(mesh, ElementVector(ElementTetP2()), intorder=4)
    pressures = space.with_element(ElementTetP1())
    K = BilinearForm(lambda u, v, _: 2 * mu * ddot(sym_grad(u), sym_grad(v))).assemble(space)
    B = BilinearForm(lambda u, q, _: -div(u) * q).assemble(space, pressures)
    C = BilinearForm(lambda p, q, _: p * q / lam).assemble(pressures)
    load = LinearForm(lambda v, _: DENSITY * GRAVITY * v[0]).assemble(space)
    fixed = np.unique(space.element_dofs[:, held])
    free = np.setdiff1d(np.arange(space.N), fixed)
    A = sp.bmat([[K[free][:, free], B[:, free].T], [B[:, free], -C]], format="csc")
    push = np.concatenate([load[free], np.zeros(pressures.N)])
    return float(push @ Factor(A).solve(push) / load.sum())


def study(fraction: float = 1.0, seed: int = 0) -> dict:
    """Errors of all elements on both meshes; a fraction: p1 and p2_p0 on the coarse one."""
    whole, missed = fraction >= 1, []
    figures: dict = {}
    for poisson in POISSON if whole else POISSON[-1:]:
        levels = (0, 1) if whole else (0,)
        by_level = [reference(poisson, level) for level in levels]
        exact = by_level[-1]
        left = abs(by_level[0] / exact - 1)
        figures[f"reference_{poisson:g}"] = {"mean_m": exact, "change": left}
        for element in ELEMENTS if whole else (ELEMENTS[0], ELEMENTS[-1]):
            for level in levels:
                found, tets, nodes = deflection(element, poisson, level)
                row = {"error": found / exact - 1, "tets": tets, "nodes": nodes}
                figures[f"{element}_{tets}_{poisson:g}"] = row
                if element == "p2_p0" and not abs(row["error"]) <= BAR:
                    missed.append(f"p2_p0, {tets}, Poisson {poisson:g}: {row['error']:.3g}")
    return judged(figures, missed)
