"""Arguments of wrong sizes, which the engine once read beyond their ends; a part of its fuzzing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from diffsim_ros import _engine

INERTIA = [0.01, 0.01, 0.01, 0.0, 0.0, 0.0]
CORNERS = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], float)
FACES = [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]
REFUSED = _engine.InvalidInput


@pytest.fixture
def scene():
    s = _engine.Scene()
    s.add_rigid_body("a", mass=1.0, inertia=INERTIA, radius=0.1)
    s.add_rigid_body("b", mass=1.0, inertia=INERTIA, radius=0.1, position=[1, 0, 0])
    s.add_joint("j", kind="hinge", body_a="a", body_b="b", position=[0.5, 0, 0])
    return s


@pytest.fixture
def chain():
    frames = np.tile(np.eye(4), (3, 1, 1))
    frames[:, 0, 3] = 0.3
    return _engine.Chain(frames, np.tile([0.0, 0.0, 1.0], (3, 1)), [True] * 3, np.eye(4)[None])


def test_elements_are_evaluated_at_states_of_the_scene(scene):
    sound = [np.zeros((2, 3))] * 4
    for bad in ([np.zeros((1, 3))] * 4, [np.zeros((2, 2))] * 4, [np.zeros((0, 3))] * 4, sound[:3]):
        with pytest.raises(REFUSED, match="instants"):
            scene.evaluate_element("j", scene.values, [sound, bad], 0.01)
    for p in (scene.values[:-1], np.full_like(scene.values, np.nan), []):
        for call in (lambda p: scene.evaluate_element("j", p, [sound] * 2, 0.01),
                     lambda p: scene.time_element("j", p, 1)):  # fmt: skip
            with pytest.raises(REFUSED):
                call(p)
    for step in (0.0, -1.0, np.nan):
        with pytest.raises(REFUSED, match="step"):
            scene.evaluate_element("j", scene.values, [sound] * 2, step)
    assert "r" in scene.evaluate_element("j", scene.values, [sound] * 2, 0.01)


def test_a_joint_looks_at_rollouts_of_its_scene(scene):
    run = _engine.rollout(scene, scene.values, 2)
    assert len(scene.joint_motion("j", scene.values, run)["rate"]) == 3
    names = ("position", "orientation", "velocity", "angular_velocity")
    for name in names:
        for part in (np.zeros((3, 2, 1)), np.zeros((3, 1, 4)), np.zeros((1, 2, 3)), np.zeros(5)):
            arrays = {key: getattr(run, key) for key in names} | {name: part}
            with pytest.raises(REFUSED, match="rollout"):
                scene.joint_motion("j", scene.values, SimpleNamespace(**arrays))


def test_a_linear_solver_checks_what_it_is_given():
    for sizes, pairs in (([], []), ([2], []), ([3, 4], []), ([3, 3], [(0, 2)]), ([3], [(-1, 0)])):
        with pytest.raises(REFUSED, match="LinearSolver"):
            _engine.LinearSolver(sizes, pairs)
    for method in ("automatic", "direct", "krylov", "lagged"):
        solver, ones = _engine.LinearSolver([3, 3], [(0, 1)], method), np.ones(6)
        values = np.concatenate([np.eye(3).ravel()] * 2 + [np.zeros(18)])
        for bad in (values[:-1], []):
            with pytest.raises(REFUSED, match="values"):
                solver.solve_positive(bad, ones, True)
        with pytest.raises(REFUSED, match="rhs"):
            solver.solve_positive(values, ones[:-1], True)
        assert solver.solve_positive(values, ones, True)["x"][:, 0] == pytest.approx(ones)


def test_a_chain_checks_the_lengths_of_what_it_follows(chain):
    task, poses = _engine.PoseTask("free", [0, 0, 1], 1.0), np.tile(np.eye(4), (3, 1, 1))
    ones, q = np.ones(3), np.zeros((3, 3))
    limits = _engine.MotionLimits(-ones, ones, ones, ones, ones)
    with pytest.raises(REFUSED, match="poses"):
        chain.reach(task, poses, q[:2])
    with pytest.raises(REFUSED, match="iterations"):
        chain.reach(task, poses, q, -1)
    for begin in (-1, 3):
        with pytest.raises(REFUSED, match="begin"):
            chain.follow(task, poses, begin, ones)
    times = np.arange(3.0)
    for few in (limits, _engine.MotionLimits(-ones[:2], ones, ones, ones, ones[:0])):
        for t, rows, count in ((times[:2], q, 3), (times, q[:2], 3), (times[:1], q[:1], 1)):
            with pytest.raises(REFUSED, match="smooth"):
                chain.smooth(task, poses[:count], t, few, True, rows)
    with pytest.raises(REFUSED, match="limits"):
        chain.smooth(task, poses, times, few, True, q)
    for bad in (times[::-1], np.full(3, np.nan)):
        with pytest.raises(REFUSED, match="times"):
            chain.smooth(task, poses, bad, limits, True, q)
    with pytest.raises(REFUSED, match="iterations"):
        chain.smooth(task, poses, times, limits, True, q, -1)


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf, 1e200])
def test_distances_are_of_places(number):
    mesh = _engine.TriangleMesh(CORNERS, FACES)
    assert mesh.distance([[2.0, 0, 0]])[0] == pytest.approx(1.0)
    assert len(mesh.distance(np.zeros((0, 3)))) == 0
    with pytest.raises(REFUSED, match="mesh: x"):
        mesh.distance([[0.0, 0, number]])


def test_wrong_types_are_type_errors(scene):
    for points in ("x", 3.0, object(), [[1, 2]]):
        with pytest.raises(TypeError):
            scene.add_points("p", bodies=["a"], local=points)
    with pytest.raises(TypeError):
        scene.add_cable("c", points=5, index=[0], stiffness=1.0, rest_length=1.0)


@pytest.mark.parametrize("cells", [-(2**31), -1, 0, 3, 257, 2**31 - 1])
def test_outlines_have_cells(cells):
    with pytest.raises(REFUSED, match="cells"):
        _engine.Sphere(1.0).outline(cells=cells)


def test_the_bindings_stand_odd_arguments():
    """In a process of its own: a crash is what is searched."""
    command = [sys.executable, "-m", "validation.fuzz_bindings", "--seconds", "4", "--seed", "1"]
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run(command, capture_output=True, text=True, cwd=root)
    assert done.returncode == 0, done.stdout[-3000:]
