"""Why the cantilever's sag is slow to show its derivative by Poisson's ratio: the clamp's edges.

The bar of physics_solids under its own weight, in linear statics, on equal cells by p2_p0: clamped,
or held lengthwise alone at z = 0 and carried by a uniform traction across its other end. Stresses
are singular along the edges of the first clamp, by a power that follows Poisson's ratio; the second
has no shear and no such edges. Sag (of the end against the root) and its derivative by Poisson's
ratio, by central differences, against the independent bricks of reference_fem.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from diffsim_ros import _engine, meshes
from diffsim_ros.scene.tets import TetMesh, face_areas
from diffsim_ros.statics.at_rest import SceneAtRest
from diffsim_ros.statics.sparse import Factor

from . import reference_fem
from .common import judged
from .physics_solids import DENSITY, GRAVITY, LENGTH, POISSON, WIDTH, YOUNG

CELLS = ((4, 4, 6), (6, 6, 13))
BRICKS = 3  # per half width
STEP = 1e-4  # of Poisson's ratio
# By Poisson's ratio, of the bar without edges, per sag: at 0.45 and 0.499.
BARS = {0.45: 0.003, 0.499: 0.01}


def sag(x, K, shares: tuple, weight, clamped: bool, fixed=()) -> float:
    """Mean displacement of the end against the root, downwards [m].

    x (n, 3); K (3n, 3n); shares (root, end) of uniform tractions (n,); weight (n,) [N]
    """
    root_share, end_share = shares
    f = np.zeros((len(x), 3))
    f[:, 1] = -weight
    root = np.flatnonzero(np.isclose(x[:, 2], 0))
    held = [3 * root + axis for axis in ((0, 1, 2) if clamped else (2,))]
    if not clamped:
        f[:, 1] += weight.sum() * end_share
        # loads balance, so that these carry nothing: translations, and the turn about z
        middle, high = (root[np.argmin(np.hypot(x[root, 0], x[root, 1] - y))]
                        for y in (0, WIDTH / 2))  # fmt: skip
        held.append(np.array([3 * middle, 3 * middle + 1, 3 * high]))
    keep = np.setdiff1d(np.arange(f.size), np.concatenate([*held, fixed]).astype(int))
    u = np.zeros(f.size)
    u[keep] = Factor(K[keep][:, keep]).solve(f.ravel()[keep])
    return float((root_share - end_share) @ u[1::3])


def of_tets(cells: tuple, split: str, poisson: float, clamped: bool) -> float:
    """`sag` by the engine's p2_p0."""
    vertices, tets = meshes.quadratic(*meshes.box((WIDTH, WIDTH, LENGTH), cells, split))
    vertices[:, 2] += LENGTH / 2
    s = _engine.Scene()
    s.set_gravity([0, 0, 0])
    s.add_solid("bar", vertices=vertices, tets=tets, density=DENSITY, young=YOUNG,
                poisson=poisson, element="p2_p0")  # fmt: skip
    rest = SceneAtRest(s)
    mesh = TetMesh(vertices, tets)
    shares = tuple(
        face_areas(mesh, np.flatnonzero(np.isclose(vertices[:, 2], z))) / WIDTH**2
        for z in (0, LENGTH)
    )
    K = rest.evaluate(rest.start).K.tocsr()
    return sag(vertices, K, shares, s.masses(s.values) * GRAVITY, clamped)


def of_bricks(n: int, poisson: float, clamped: bool) -> float:
    """`sag` by half a bar of bricks."""
    bar = reference_fem.Bar(n, poisson)
    K = bar.stiffness(bar.state(np.zeros(bar.ndof))).tocsr()
    areas = [bar.areas(lambda at, z=z: np.isclose(at[2], z)) for z in (0, LENGTH)]
    shares = tuple(area / area.sum() for area in areas)
    weight = bar.nodal(np.array([0, DENSITY * GRAVITY, 0]))[1::3]
    mirror = 3 * np.flatnonzero(np.isclose(bar.x[:, 0], 0))
    return sag(bar.x, K, shares, weight, clamped, mirror)


def by_poisson(sag_of: Callable[[float], float], poisson: float) -> tuple[float, float]:
    """(sag, its derivative by Poisson's ratio)."""
    low, high = sag_of(poisson - STEP), sag_of(poisson + STEP)
    return (low + high) / 2, (high - low) / (2 * STEP)


def study(fraction: float = 1.0, seed: int = 0) -> dict:
    """Both clamps, all splits; a fraction: the bar without edges at 0.45 by one split."""
    whole, missed = fraction >= 1, []
    figures: dict = {}
    for poisson in POISSON if whole else POISSON[:1]:
        for clamped in (True, False) if whole else (False,):
            kind = f"{'clamped' if clamped else 'lengthwise'}_{poisson:g}"
            n = BRICKS if whole else 2
            exact, slope = by_poisson(lambda nu, n=n, c=clamped: of_bricks(n, nu, c), poisson)
            figures[kind] = {"sag_m": exact, "by_poisson_per_sag": slope / exact}
            for cells in CELLS if whole else CELLS[:1]:
                for split in meshes.SPLITS if whole else ("six",):
                    found, by = by_poisson(
                        lambda nu, a=(cells, split), c=clamped: of_tets(*a, nu, c), poisson
                    )
                    name = f"{kind}_{'x'.join(map(str, cells))}_{split}"
                    off = (by - slope) / exact
                    figures[name] = {
                        "sag": found / exact - 1, "by_poisson": by / slope - 1, "per_sag": off,
                    }  # fmt: skip
                    if not clamped and not abs(off) <= BARS[poisson]:
                        missed.append(f"{name}: {off:.3g} per sag, required {BARS[poisson]:g}")
    return judged(figures, missed)
