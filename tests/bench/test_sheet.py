"""bench/sheet.py: MuJoCo's two sheets and this engine's are one and the same sheet."""

from __future__ import annotations

import numpy as np
import pytest

from bench import sheet
from bench.sheet_engine import Cloth
from bench.sheet_scene import AREA_DENSITY, SIZE, STIFFNESS, Fall, Sheet, error_mm


def test_sheet_has_the_masses_and_edges_of_the_scene():
    hang, drop = Sheet.of(5, "hang"), Sheet.of(5, "drop")
    assert hang.mass * 25 == pytest.approx(AREA_DENSITY * SIZE**2)
    assert np.allclose(hang.vertices[list(hang.held), 0], -SIZE / 2)
    assert np.ptp(hang.vertices[list(hang.held), 1]) == pytest.approx(SIZE)
    assert not drop.held and len(drop.edges) == len(drop.lengths) == 4 * 5 * 2 + 16


def test_stretch_energy_is_the_membrane_s():
    """E t = 4/3 k, Poisson 1/3: energy of the springs under small strains of a fine sheet."""
    s = Sheet.of(41, "drop")
    for strain in (np.diag([1e-4, 0]), np.diag([0, 1e-4]), np.array([[0, 5e-5], [5e-5, 0]])):
        x = s.vertices.copy()
        x[:, :2] += x[:, :2] @ strain
        a, b = s.edges.T
        longer = np.linalg.norm(x[b] - x[a], axis=1) - s.lengths
        springs = STIFFNESS / 2 * np.sum(longer**2)
        et, poisson = 4 / 3 * STIFFNESS, 1 / 3
        trace, square = np.trace(strain), np.sum(strain**2)
        plate = et / (1 - poisson**2) * (poisson * trace**2 + (1 - poisson) * square) / 2 * SIZE**2
        assert springs == pytest.approx(plate, rel=0.04)  # the rim has half a row of springs more


def test_engine_swings_as_mujoco_does_with_the_same_springs():
    mujoco = pytest.importorskip("bench.sheet_mujoco")
    s = Sheet.of(7, "hang")
    own = Cloth(s, 1 / 960).fall(0.4)
    peer = mujoco.simulate(s, 1 / 7680, "springs", 0.4)
    assert peer.ok and error_mm(own, peer) < 2.0 and own.final[:, 2].mean() < -0.05
    assert np.array_equal(own.final[list(s.held)], s.vertices[list(s.held)])


def test_membrane_and_springs_swing_alike():
    mujoco = pytest.importorskip("bench.sheet_mujoco")
    s = Sheet.of(13, "hang")
    springs = mujoco.simulate(s, 1 / 7680, "springs", 0.3)
    membrane = mujoco.simulate(s, 1 / 3840, "membrane", 0.3)
    assert error_mm(springs, membrane) < 5.0


def test_sheet_comes_to_lie_on_the_sphere():
    s = Sheet.of(9, "drop")
    own = Cloth(s, 1 / 480).fall(0.3)
    reach = np.linalg.norm(own.final, axis=1)
    assert 0.095 < reach.min() < 0.103 and own.final[:, 2].min() < 0.02


def test_gradient_by_the_stiffnesses_is_that_of_differences():
    cloth = Cloth(Sheet.of(5, "hang"), 1 / 240, tolerance=1e-11, stagnate=True)
    slopes, cpu = cloth.gradient(duration=0.3)
    scene, p = cloth.scene, cloth.scene.values
    from diffsim_ros import _engine

    options = _engine.Options(
        step=1 / 240, order=2, record_every=72, tolerance=1e-11, stagnate=True
    )

    def height(k, change):
        moved = p.copy()
        moved[cloth.active[k]] += change
        return _engine.rollout(scene, moved, 72, options).position[-1, :, 2].sum() / 25

    for k in range(2):
        difference = (height(k, 0.05) - height(k, -0.05)) / 0.1
        assert slopes[k] == pytest.approx(difference, rel=1e-4, abs=1e-10)
    assert cpu > 0


def test_the_comparison_runs(tmp_path):
    figures = sheet.main(tmp_path, sizes=(5,), rates=(60, 120), repeats=1)
    for scene in sheet.SCENES:
        row = figures[f"{scene}_5"]
        assert row["step"]["engine"]["forward_ms"] > 0
        assert row["work_precision"]["engine"]["rate_120"]["centre_mm"] >= 0
    assert not Fall(np.full((4, 3), np.nan), 1.0).ok
