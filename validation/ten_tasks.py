"""Ten tasks with public names alone, beside MuJoCo, Drake and Newton: lines, time, results.

Each task is one function of validation/tasks/; lines are those of its body and of the helpers that
it calls, without docstrings. Peers that are not installed are left out.
"""

from __future__ import annotations

import ast
import contextlib
import importlib
import inspect
import os
import tempfile
import time
from itertools import permutations, product
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import trimesh

TASKS = (
    "load_and_step", "gradient_of_a_landing", "batch_of_1000", "feedback_control",
    "fit_of_friction", "plan_of_a_throw", "custom_force", "custom_objective", "mesh_body",
    "soft_body",
)  # fmt: skip
PEERS = {"diffsim_ros": "ours", "mujoco": "mujoco_tasks", "drake": "drake_tasks",
         "newton": "newton_tasks"}  # fmt: skip
MOST_LINES = 15
FRICTION, NOISE = 0.3, 5e-4
TERMINAL = (0.1 * 9.81 / 0.02) ** 0.5  # [m/s] of the ball with drag
HEAVY = ("batch_of_1000", "plan_of_a_throw")
"""Left out of a part of the study."""


def study(fraction: float = 1.0) -> dict[str, Any]:
    """Figures of every task and engine; AssertionError where one of ours misses its bar."""
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as name:
        write_data(Path(name))
        for peer, module in PEERS.items():
            if fraction < 1 and peer != "diffsim_ros":
                continue
            try:
                tasks = importlib.import_module(f"validation.tasks.{module}")
            except ImportError as error:
                found[peer] = f"not installed: {error.name}"
                continue
            names = [t for t in TASKS if fraction >= 1 or t not in HEAVY]
            found[peer] = {task: one(tasks, task, Path(name)) for task in names}
    check(found["diffsim_ros"])
    return found


def write_data(folder: Path) -> None:
    """A recording of a box that slides, a surface mesh, and a cube of tetrahedra."""
    t = np.arange(31) * 0.01
    rest = np.minimum(t, 1 / (FRICTION * 9.81))
    x = rest - FRICTION * 9.81 * rest**2 / 2
    np.savetxt(folder / "slide.csv", x + np.random.default_rng(0).normal(scale=NOISE, size=31))
    stone = trimesh.creation.icosphere(subdivisions=1, radius=0.05)
    stone.vertices *= [1.0, 0.8, 0.6]
    stone.export(folder / "stone.obj")
    points, tets = cube(3, 0.1)
    cells = np.insert(tets, 0, 4, axis=1)
    with (folder / "cube.vtk").open("w") as file:
        file.write("# vtk DataFile Version 3.0\ncube\nASCII\nDATASET UNSTRUCTURED_GRID\n")
        file.write(f"POINTS {len(points)} double\n")
        np.savetxt(file, points)
        file.write(f"CELLS {len(cells)} {cells.size}\n")
        np.savetxt(file, cells, fmt="%d")
        file.write(f"CELL_TYPES {len(cells)}\n" + "10\n" * len(cells))


def cube(cells: int, edge: float) -> tuple[np.ndarray, np.ndarray]:
    """Vertices (n, 3) [m] about the centre, and six tetrahedra (6 cells^3, 4) in every cell."""
    n = cells + 1
    points = np.array(list(product(range(n), repeat=3)), float) * edge / cells - edge / 2
    strides, tets = np.array([n * n, n, 1]), []
    for corner in product(range(cells), repeat=3):
        first = int(np.array(corner) @ strides)
        for order in permutations(range(3)):
            steps = np.cumsum(strides[list(order)])
            tet = [first, *(first + int(step) for step in steps)]
            sides = points[tet[1:]] - points[tet[0]]
            tets.append(tet if np.linalg.det(sides) > 0 else [*tet[:2], tet[3], tet[2]])
    return points, np.array(tets)


def one(tasks: ModuleType, task: str, folder: Path) -> dict[str, Any]:
    """Lines, wall seconds of the first and of the second call, and the result, of one task."""
    function, seconds, result = getattr(tasks, task), [], None
    try:
        for _ in range(2):
            began = time.perf_counter()
            with open(os.devnull, "w") as null, contextlib.redirect_stdout(null):
                result = function(folder)
            seconds.append(time.perf_counter() - began)
    except Exception as error:
        result = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
    return {"lines": lines(tasks, task), "seconds": seconds, "result": plain(result)}


def lines(tasks: ModuleType, task: str) -> int:
    """Lines of a task and of the helpers and constants of its module that it uses."""
    tree = ast.parse(inspect.getsource(tasks))
    nodes = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    texts = {
        target.id: node
        for node in tree.body if isinstance(node, ast.Assign)
        for target in node.targets if isinstance(target, ast.Name)
    }  # fmt: skip
    open_, done, count = [task], set(), 0
    while open_:
        name = open_.pop()
        if name in done:
            continue
        done.add(name)
        node = nodes.get(name) or texts[name]
        count += (node.end_lineno or 0) - node.lineno + 1
        if isinstance(node, ast.FunctionDef):
            count -= 1 + len((ast.get_docstring(node) or "").splitlines()) + _head(node)
        used = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)} - {name}
        open_ += [n for n in used if (n in nodes or n in texts) and n not in TASKS]
    return count


def _head(node: ast.FunctionDef) -> int:
    """Lines of a function's signature beyond the first."""
    return node.body[0].lineno - node.lineno - 1


def plain(result: Any) -> Any:
    """A result as JSON has it; of many numbers the mean of every column."""
    if isinstance(result, str):
        return result
    array = np.asarray(result if not isinstance(result, tuple) else np.hstack(result), float)
    if array.ndim == 2 and len(array) > 3:
        array = array.mean(0)
    return [float(f"{value:.6g}") for value in np.atleast_1d(array).ravel()]


def check(found: dict[str, Any]) -> None:
    """Our own: short, and right by closed forms."""
    long = {task: one["lines"] for task, one in found.items() if one["lines"] > MOST_LINES}
    assert not long, f"more than {MOST_LINES} lines: {long}"
    result = {task: one["result"] for task, one in found.items()}
    broken = {task: value for task, value in result.items() if isinstance(value, str)}
    assert not broken, broken
    friction, sigma = result["fit_of_friction"]
    assert abs(friction - FRICTION) < 4 * sigma, result["fit_of_friction"]
    assert abs(result["feedback_control"][0]) < 1e-4, result["feedback_control"]
    fall = TERMINAL * np.tanh(9.81 / TERMINAL)
    assert abs(result["custom_force"][0] - fall) < 0.005, result["custom_force"]
    if "plan_of_a_throw" in result:
        assert result["plan_of_a_throw"][0] < 1e-3, result["plan_of_a_throw"]
    assert 0.02 < result["mesh_body"][0] < 0.05, result["mesh_body"]
    assert 0.09 < result["soft_body"][0] < 0.1, result["soft_body"]
