"""diffsim_ros/meshes.py: volume, orientation, symmetry, quality, refusal of bad arguments."""

from __future__ import annotations

import numpy as np
import pytest

from diffsim_ros import meshes
from diffsim_ros.errors import InputError


def mapped_onto_itself(vertices, elements, transform):
    """True when the transformed mesh is the mesh: same vertices and same elements as sets."""
    image = vertices @ np.asarray(transform, dtype=float).T
    distance = np.linalg.norm(image[:, None] - vertices[None], axis=2)
    partner = distance.argmin(axis=1)
    if distance.min(axis=1).max() > 1e-9:
        return False
    moved = {tuple(sorted(e)) for e in partner[elements].tolist()}
    return moved == {tuple(sorted(e)) for e in elements.tolist()}


@pytest.mark.parametrize("n", (3, 5, 8))
def test_ball(n):
    vertices, tets = meshes.ball(n, 0.1)
    assert len(tets) == 20 * n**3
    assert len(np.unique(tets)) == len(vertices)
    q = meshes.quality(vertices, tets)
    assert q.min_dihedral > 39 and q.max_dihedral < 130 and q.min_det > 0.6
    # The polyhedron inside the sphere lacks a volume that falls with 1/n^2.
    assert 0 < 1 - q.volume / (4 / 3 * np.pi * 0.1**3) < 0.6 / n**2
    skin = meshes.surface(tets)
    assert len(skin) == 20 * n**2
    assert np.allclose(np.linalg.norm(vertices[np.unique(skin)], axis=1), 0.1, rtol=1e-12)


@pytest.mark.parametrize("n", (2, 3, 5))
def test_ball_is_point_symmetric_and_balanced(n):
    vertices, tets = meshes.ball(n, 0.1)
    assert mapped_onto_itself(vertices, tets, -np.eye(3))
    mass = meshes.lumped_masses(vertices, tets, 150.0)
    assert mass.sum() == pytest.approx(150 * meshes.quality(vertices, tets).volume)
    assert np.abs(mass @ vertices).max() < 1e-15
    moments = np.linalg.eigvalsh(vertices.T @ (mass[:, None] * vertices))
    assert np.ptp(moments) / moments.mean() < 0.05


@pytest.mark.parametrize(("split", "per_brick"), (("six", 6), ("five", 5)))
def test_box(split, per_brick):
    size, cells = (0.03, 0.04, 0.1), (2, 4, 6)
    vertices, tets = meshes.box(size, cells, split)
    assert vertices.shape == (3 * 5 * 7, 3) and len(tets) == per_brick * 48
    q = meshes.quality(vertices, tets)
    assert q.volume == pytest.approx(np.prod(size)) and q.min_det > 0.5
    assert np.allclose(vertices.max(axis=0), np.array(size) / 2)
    for axis in range(3):
        assert mapped_onto_itself(vertices, tets, np.diag(1 - 2 * np.eye(3)[axis]))
    skin = meshes.surface(tets)
    assert len(skin) == 4 * (2 * 4 + 2 * 6 + 4 * 6)
    outward = signed_volume(vertices, skin)
    assert outward == pytest.approx(np.prod(size))


def test_box_of_bricks_cut_alike():
    vertices, tets = meshes.box((1, 1, 1), (2, 2, 2), "six_parallel", (1, 1, 3))
    assert len(tets) == 48 and meshes.quality(vertices, tets).volume == pytest.approx(1)
    bricks = tets.reshape(8, 6, 4)
    assert np.ptp(bricks - bricks[:, :1, :1], axis=0).max() == 0
    skin = meshes.surface(tets)
    assert len(skin) == 48 and signed_volume(vertices, skin) == pytest.approx(1)
    assert np.unique(vertices[:, 2]) == pytest.approx([-0.5, -0.25, 0.5])


def signed_volume(vertices, triangles):
    """Volume inside a closed surface, by the divergence theorem."""
    a, b, c = (vertices[triangles[:, k]] for k in range(3))
    return float(np.einsum("ij,ij->", a, np.cross(b, c)) / 6)


def test_cube_of_five_holds_a_regular_tetrahedron():
    vertices, tets = meshes.box((1, 1, 1), (1, 1, 1), "five")
    angles = meshes.dihedral_angles(vertices, tets)
    regular = np.ptp(angles, axis=1) < 1e-9
    assert regular.sum() == 1
    assert angles[regular] == pytest.approx(np.degrees(np.arccos(1 / 3)))


def test_sheet():
    vertices, triangles = meshes.sheet(5, 2.0)
    assert vertices.shape == (25, 3) and triangles.shape == (32, 3)
    a, b, c = (vertices[triangles[:, k]] for k in range(3))
    area = np.cross(b - a, c - a)
    assert np.all(area[:, 2] > 0) and area[:, 2].sum() / 2 == pytest.approx(4.0)
    for axis in (0, 1):
        assert mapped_onto_itself(vertices, triangles, np.diag(1 - 2 * np.eye(3)[axis]))
    assert len(meshes.edges(triangles)) == 4 * 5 * 2 + 16
    rows, _ = meshes.sheet(3, 1.0, 5)
    assert rows[:, 0].max() == 0.5 and rows[:, 1].max() == 1.0


def test_flat_and_inverted_tets_show_in_the_quality():
    vertices, tets = meshes.box((1, 1, 1), (1, 1, 1))
    inverted = meshes.quality(vertices, tets[:, [1, 0, 2, 3]])
    assert inverted.volume == pytest.approx(-1) and inverted.min_det == pytest.approx(-1)
    assert meshes.quality(vertices * [1, 1, 1e-9], tets).min_dihedral < 1e-3
    assert np.all(meshes.positively_oriented(vertices, tets[:, [1, 0, 2, 3]])[:, 0] == tets[:, 1])


@pytest.mark.parametrize(
    ("call", "part"),
    [
        (lambda: meshes.ball(0), "ball: subdivisions: got 0"),
        (lambda: meshes.ball(2.5), "got 2.5"),
        (lambda: meshes.ball(2, -1.0), "ball: radius: got -1.0"),
        (lambda: meshes.box((1, 1, np.nan), (1, 1, 1)), "box: size: got nan"),
        (lambda: meshes.box((1, 1, 1), (1, 1, 1), "four"), "six | five | six_parallel"),
        (lambda: meshes.box((1, 1, 1), (2, 2, 2), "six", (1, 1, np.nan)), "from 0.001 to 1000"),
        (lambda: meshes.box((1, 1, 1), (2, 1, 2), "six", (1, 2, 1)), "1 along an axis of one cell"),
        (lambda: meshes.sheet(1), "at least 2 vertices"),
    ],
)
def test_bad_arguments_are_refused_in_one_line(call, part):
    with pytest.raises(InputError) as error:
        call()
    assert part in str(error.value) and "\n" not in str(error.value)
