"""Finer meshes of solids: the same body, edges half as long."""

from __future__ import annotations

import numpy as np
import pytest

from diffsim_ros import meshes
from diffsim_ros.scene import load_scene, tets
from diffsim_ros.scene.finer import finer, numbered, with_elements

SHAPES = {
    "ball": {"radius": 0.1, "layers": 2},
    "box": {"size": [0.1, 0.2, 0.3], "cells": [1, 2, 3]},
    "cylinder": {"radius": 0.1, "height": 0.2, "rings": 2, "layers": 2},
}


def resolved(shape, **more):
    body = {"type": "solid", "shape": shape, "density": 100, "young": 1e4, "poisson": 0.3, **more}
    return load_scene({"world": {"step": 0.01, "duration": 0.1}, "bodies": {"b": body}})


def solid(model):
    return model.parts.bodies["b"].mesh


@pytest.mark.parametrize("kind", [*SHAPES, "mesh"])
@pytest.mark.parametrize("element", ["p1", "p2"])
def test_the_finer_body_has_the_same_volume_and_eight_times_the_tets(kind, element, tmp_path):
    shape = SHAPES.get(kind)
    if kind == "mesh":
        meshio = pytest.importorskip("meshio")
        mesh = tets.box([0.1, 0.2, 0.3], [1, 2, 2])
        meshio.write_points_cells(tmp_path / "m.vtk", mesh.vertices, [("tetra", mesh.tets)])
        shape = {"file": str(tmp_path / "m.vtk")}
    model = resolved({kind: shape}, element=element)
    coarse = solid(model)
    fine = solid(load_scene(finer(model.description)))
    assert len(fine.tets) == 8 * len(coarse.tets) and fine.tets.shape[1] == coarse.tets.shape[1]
    assert fine.volume == pytest.approx(coarse.volume, rel=1e-9)
    twice = solid(load_scene(finer(finer(model.description)))).tets
    np.testing.assert_array_equal(twice, solid(load_scene(finer(model.description, 4))).tets)
    between = len(solid(load_scene(finer(model.description, 1.5))).tets)
    assert len(coarse.tets) < between <= len(fine.tets)
    other = {"p1": "p2", "p2": "p1"}[element]
    changed = solid(load_scene(with_elements(model.description, {"b": other})))
    assert changed.tets.shape == (len(coarse.tets), {"p1": 4, "p2": 10}[other])


@pytest.mark.parametrize("order", [1, 2])
def test_red_refinement_keeps_volume_surface_and_angles(order):
    mesh = tets.ball(1.0, 2)
    mesh = tets.quadratic(mesh) if order == 2 else mesh
    found, least = mesh, meshes.dihedral_angles(mesh.vertices, mesh.corners).min()
    for _ in range(2):
        found = tets.refined(found)
        assert found.volumes().min() > 0.0
        assert found.volumes().sum() == pytest.approx(mesh.volumes().sum())
        assert meshes.dihedral_angles(found.vertices, found.corners).min() > 0.5 * least
    assert len(found.tets) == 64 * len(mesh.tets)
    assert found.boundary().shape[0] == 16 * mesh.boundary().shape[0]
    edges = np.sort(meshes.surface(found.corners)[:, [[0, 1], [1, 2], [2, 0]]], axis=2)
    _, count = np.unique(edges.reshape(-1, 2), axis=0, return_counts=True)
    assert set(count.tolist()) == {2}, "closed, without hanging vertices"


def test_vertices_that_are_named_by_number_are_found():
    assert numbered(resolved({"box": SHAPES["box"]}).description) == ""
    pinned = {"pinned": [[0, 1]]}
    assert numbered(resolved({"box": SHAPES["box"]}, **pinned).description) == "bodies.b"
    described = resolved({"box": SHAPES["box"]}).description
    link = {"name": "l", "a": {"body": "b", "vertex": 3}, "b": {"world": [0, 0, 0]}}
    assert numbered({**described, "links": [link]}) == "link l"
