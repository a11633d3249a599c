"""Triangle meshes: exact signed distances against brute force, and what is refused."""

import numpy as np
import pytest

from diffsim_ros import _engine
from tests.native import surfaces

SHAPES = {
    "sphere": surfaces.sphere(n=12),
    "torus": surfaces.torus(nu=24, nv=16),
    "box": surfaces.box(),
    "angle": surfaces.angle(),
}


@pytest.mark.parametrize("turn", [False, True])
@pytest.mark.parametrize("name", SHAPES)
def test_distances_are_exact_and_signed(name, turn):
    """Against every triangle in turn; the sign against the winding number."""
    raw = surfaces.turned(SHAPES[name]) if turn else SHAPES[name]
    mesh = _engine.TriangleMesh(*raw)
    x = np.random.default_rng(1).uniform(mesh.low - 0.4, mesh.high + 0.4, (300, 3))
    d = mesh.distance(x)
    assert np.abs(d) == pytest.approx(surfaces.distance(raw, x), abs=1e-12)
    assert np.array_equal(d < 0, surfaces.winding(raw, x) > 0.5)


def test_points_on_the_surface_are_at_zero():
    points, faces = surfaces.turned(SHAPES["angle"])
    mesh = _engine.TriangleMesh(points, faces)
    centroids = points[faces].mean(axis=1)
    assert mesh.distance(np.concatenate([points, centroids])) == pytest.approx(0, abs=1e-15)


@pytest.mark.parametrize(
    ("name", "volume", "thickness"),
    [("box", 0.48, 0.6), ("angle", 0.5 * (0.4 * 1.0 + 0.6 * 0.4), 0.4)],
)
def test_volume_and_thickness(name, volume, thickness):
    mesh = _engine.TriangleMesh(*surfaces.turned(SHAPES[name]))
    assert mesh.volume == pytest.approx(volume)
    assert mesh.thickness == pytest.approx(thickness, rel=1e-6)


def test_thickness_of_a_torus_is_that_of_its_tube():
    mesh = _engine.TriangleMesh(*surfaces.torus(ring=1.0, tube=0.2, nu=96, nv=32))
    assert mesh.thickness == pytest.approx(0.4, rel=0.02)


def test_equal_vertices_are_merged_as_an_stl_file_needs():
    points, faces = SHAPES["box"]
    soup = points[faces].reshape(-1, 3)
    mesh = _engine.TriangleMesh(soup, np.arange(len(soup)).reshape(-1, 3))
    assert mesh.volume == pytest.approx(0.48)


def test_parts_that_overlap_are_refused_and_parts_that_do_not_are_not():
    """Two boxes: apart, one inside the other as a cavity, and pushed into each other."""
    points, faces = SHAPES["box"]
    two = np.concatenate([faces, faces + 8])
    apart = _engine.TriangleMesh(np.concatenate([points, points + np.array([2, 0, 0])]), two)
    assert apart.volume == pytest.approx(0.96)
    hollow = np.concatenate([faces, faces[:, ::-1] + 8])
    shell = _engine.TriangleMesh(np.concatenate([points, 0.9 * points]), hollow)
    assert shell.volume == pytest.approx(0.48 * (1 - 0.9**3))
    assert shell.distance([[0.0, 0, 0]])[0] == pytest.approx(0.27)
    assert shell.thickness == pytest.approx(0.03, rel=1e-6)
    with pytest.raises(_engine.InvalidInput, match=r"must not pass through another one, got edge"):
        _engine.TriangleMesh(np.concatenate([points, points + np.array([0.1, 0.07, 0.05])]), two)


def spoiled(change):
    points, faces = (a.copy() for a in SHAPES["box"])
    return change(points, faces)


def with_entry(array, at, value):
    array[at] = value
    return array


@pytest.mark.parametrize(
    ("change", "names"),
    [
        (lambda p, f: (p, f[1:]), r"mesh: surface: must be closed, got a hole along the edge \("),
        (lambda p, f: (p, f[:3]), "mesh: triangles: must be at least 4, got 3"),
        (lambda p, f: (p, f[:, ::-1]), "mesh: volume: must be > 0 .* inside out"),
        (
            lambda p, f: (p, with_entry(f, 5, f[5][::-1])),
            r"must not run along an edge .* as in tri",
        ),
        (lambda p, f: (p, np.concatenate([f, f[:1]])), r"triangles\[12\]: must not run along"),
        (lambda p, f: (p, with_entry(f, (2, 1), 8)), r"triangles\[2\]: must name vertices 0 to 7"),
        (lambda p, f: (p, with_entry(f, (2, 1), f[2, 0])), r"triangles\[2\]: must have an area"),
        (lambda p, f: (with_entry(p, (3, 0), np.nan), f), r"vertices\[3\]: must be finite"),
    ],
)
def test_bad_meshes_are_refused_with_place_rule_value_and_remedy(change, names):
    with pytest.raises(_engine.InvalidInput, match=names):
        _engine.TriangleMesh(*spoiled(change))
