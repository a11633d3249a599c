"""Where a motion begins other than at rest shapes and poses: the nodes of a scene, from files.

Rest shapes, rest lengths, glue and joints are those of the scene's own poses; only the state at the
start is another: an equilibrium that `diffsim statics` found, or vertices of a deformed body.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from diffsim_ros.errors import InputError, nearest
from diffsim_ros.fields import Field, Reader, join
from diffsim_ros.npz import numbers, read_npz, whole_numbers
from diffsim_ros.rotation import quat_log
from diffsim_ros.scene.mesh_files import TETS, read_tets
from diffsim_ros.scene.placing import absolute
from diffsim_ros.scene.targets import AXES
from diffsim_ros.scene.tets import TetMesh, least_jacobians

if TYPE_CHECKING:
    from diffsim_ros.scene.bodies.soft import SoftBody
    from diffsim_ros.scene.parts import Parts

Array = np.ndarray
START = Field(
    "any",
    "where the motion begins, rest shapes and joints as the poses below have them: pose.npz of "
    "`diffsim statics`, or soft body -> file of its vertices; see Deformed starts",
)
FILE = Field("text", "file, relative to this one")
POSE = "a pose.npz of `diffsim statics`: position, orientation of all nodes"
VERTICES = "vertices (n, 3) [m] in the body's frame, and velocities where it has some"
HELD = 1e-6  # of a body's extent: how far from its place a file may have a held vertex


def read_start(reader: Reader, value: object) -> str | dict[str, str] | None:
    """The section `start`, paths made absolute."""
    if value is None or isinstance(value, str):
        return None if value is None else absolute(reader, value)
    files = reader.mapping(value, "start")
    return {
        name: absolute(reader, reader.value(FILE, file, join("start", name)))
        for name, file in files.items()
    }


def apply_start(parts: Parts, engine: Any) -> None:
    """Start the engine's bodies from the files of `start`; InputError for one that does not fit."""
    if isinstance(parts.start, str):
        _scene(parts, engine, Path(parts.start))
    for name, file in (parts.start or {}).items() if not isinstance(parts.start, str) else ():
        key = join("start", name)
        body = parts.bodies.get(name)
        if body is None or not body.SOFT:
            soft = [n for n, b in parts.bodies.items() if b.SOFT]
            rule = "a solid, cloth or string of `bodies`"
            raise parts.reader.error(key, name, rule, nearest(name, soft))
        _body(parts.reader.place, key, engine, body, Path(file))


def _scene(parts: Parts, engine: Any, path: Path) -> None:
    arrays = read_npz(path, POSE)
    for word in ("position", "orientation"):
        if word not in arrays:
            raise InputError(path, word, None, POSE)
    rows = _rows(path, arrays, {name: engine.nodes_of(name) for name in engine.body_names})
    count = sum(n for _, n in rows.values())
    found = {word: numbers(path, arrays, word, (count, 3 + (word == "orientation")))
             for word in ("position", "orientation", "velocity", "angular_velocity")
             if word in arrays}  # fmt: skip
    for word, values in found.items():
        _finite(path, word, values)
    norm = np.linalg.norm(found["orientation"], axis=1)
    if np.any(bad := np.abs(norm - 1) > 1e-3):
        row = int(np.argmax(bad))
        rule = "a unit quaternion (x, y, z, w)"
        raise InputError(path, f"orientation[{row}]", found["orientation"][row].tolist(), rule)
    for name, (first, n) in rows.items():
        body = parts.bodies[name]
        here = {word: values[first : first + n] for word, values in found.items()}
        if body.SOFT:
            velocity = here.get("velocity", _rigid_velocity(body, here["position"]))
            _set_nodes(path, f"position of {name}", engine, body, here["position"], velocity)
        elif body.MOVES:
            _set_body(engine, name, body.TURNS, here)


def _rows(
    path: Path, arrays: dict[str, Array], nodes: dict[str, tuple[int, int]]
) -> dict[str, tuple[int, int]]:
    """First row and number of rows in the file of every body; InputError for other bodies."""
    if not {"names", "counts"} <= set(arrays):
        return nodes
    found, first = {}, 0
    counts = whole_numbers(path, arrays, "counts", (arrays["names"].size,)).tolist()
    for name, count in zip(arrays["names"].ravel().tolist(), counts, strict=True):
        found[name] = (first, count)
        first += count
    for name in dict.fromkeys([*nodes, *found]):
        got, want = (c.get(name, (0, 0))[1] for c in (found, nodes))
        if got != want:
            remedy = "a pose is of one scene: make it with this one"
            accepted = f"{want} nodes of {name!r}"
            raise InputError(path, "counts", f"{got} nodes of {name!r}", accepted, remedy)
    return found


def _set_body(engine: Any, name: str, turns: bool, here: dict[str, Array]) -> None:
    words = {"position": here["position"][0]}
    if "velocity" in here:
        words["velocity"] = here["velocity"][0]
    if turns:
        words["rotation"] = quat_log(here["orientation"][0] / np.linalg.norm(here["orientation"]))
        if "angular_velocity" in here:
            words["angular_velocity"] = here["angular_velocity"][0]
    for word, vector in words.items():
        for axis, value in zip(AXES, vector.tolist(), strict=True):
            engine.set_value(f"{name}.{word}.{axis}", value)


def _body(place: object, key: str, engine: Any, body: SoftBody, path: Path) -> None:
    count = len(body.mesh.vertices)
    velocities = np.zeros((count, 3))
    if path.suffix.lower() in TETS:
        vertices = read_tets(path, 1.0, place, key).vertices
        if vertices.shape != (count, 3):
            raise InputError(place, key, f"{path}: {len(vertices)} vertices", f"{count}")
    else:
        arrays = read_npz(path, VERTICES)
        if "vertices" not in arrays:
            raise InputError(path, "vertices", None, VERTICES)
        vertices = numbers(path, arrays, "vertices", (count, 3))
        if "velocities" in arrays:
            velocities = numbers(path, arrays, "velocities", (count, 3))
    _finite(path, "vertices", vertices)
    _finite(path, "velocities", velocities)
    free, rest = body.free(), body.mesh.vertices
    apart = np.where(free, 0.0, np.linalg.norm(vertices - rest, axis=1))
    if apart.max() > HELD * np.ptp(rest, axis=0).max():
        row = int(np.argmax(apart))
        rule = f"{rest[row].tolist()}, where the shape has it: it is pinned or glued"
        raise InputError(path, f"vertices[{row}]", vertices[row].tolist(), rule)
    at, turn = body.start_pose()
    position = at + vertices[free] @ turn.T
    velocity = _rigid_velocity(body, position) + velocities[free] @ turn.T
    _set_nodes(path, "vertices", engine, body, position, velocity)


def _rigid_velocity(body: SoftBody, position: Array) -> Array:
    """Velocities (m, 3) of the body's own start at places (m, 3), world frame."""
    arm = position - np.array(body.pose["position"])
    return np.array(body.velocity) + np.cross(np.array(body.angular_velocity), arm)


def _set_nodes(
    path: Path, key: str, engine: Any, body: SoftBody, position: Array, velocity: Array
) -> None:
    """Start the free vertices there, world frame; InputError for an inverted tet."""
    shape = body.mesh
    if shape.tets is not None:
        vertices = body.placed_vertices()
        vertices[body.free()] = position
        least = least_jacobians(TetMesh(shape.vertices, shape.tets), vertices)
        if least.min() <= 0:
            worst = int(np.argmin(least))
            got = f"tet {worst} of {body.name}, its vertices {shape.tets[worst].tolist()}, inverted"
            rule = f"a start in which every volume is positive; here {least[worst]:.3g} of its rest"
            raise InputError(path, key, got, rule)
    engine.set_start(body.name, position=position, velocity=velocity)


def _finite(path: Path, key: str, values: Array) -> None:
    if not np.isfinite(values).all():
        row = int(np.argwhere(~np.isfinite(values))[0, 0])
        raise InputError(path, f"{key}[{row}]", values[row].tolist(), "finite numbers")
