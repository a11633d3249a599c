"""MoveIt's planning scene as received so far: obstacles, what the arm carries, and what may touch.

Messages are read by their fields only, so that nothing here needs moveit_msgs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from diffsim_ros import _engine
from diffsim_ros.errors import InputError, nearest
from diffsim_ros.robots import collision_solids as solids
from diffsim_ros.robots.arm import Arm

PLACE = "planning scene"
BOX, SPHERE, CYLINDER, CONE = 1, 2, 3, 4  # shape_msgs/SolidPrimitive
ADD, REMOVE, APPEND, MOVE = 0, 1, 2, 3  # moveit_msgs/CollisionObject
MOST_OBJECTS = 1000
WORLD = "world"
SIDES = 48
"""Of the pyramid about a cone."""
FIELDS = (("primitives", "primitive_poses"), ("meshes", "mesh_poses"), ("planes", "plane_poses"))


@dataclass(frozen=True)
class _Thing:
    """frame: of `pose`; parts: (kind, shape message, pose (4, 4) in the thing's frame)."""

    frame: str
    pose: np.ndarray
    parts: tuple[tuple[str, Any, np.ndarray], ...]
    link: str = ""
    touch: frozenset[str] = frozenset()


@dataclass
class PlanningScene:
    """The objects of the messages that `apply` was given, for an arm.

    Frames are those of the robot's links that stand still, the world (`world`), and those that the
    scene's fixed_frame_transforms give in one of them.
    """

    arm: Arm
    received: bool = False
    octomap: bool = False
    world: dict[str, _Thing] = field(default_factory=dict)
    attached: dict[str, _Thing] = field(default_factory=dict)
    lost: dict[str, str] = field(default_factory=dict)
    """Object -> why nothing may move until it is allowed again."""
    frames: dict[str, np.ndarray] = field(default_factory=dict)
    allowed: dict[frozenset[str], bool] = field(default_factory=dict)
    defaults: dict[str, bool] = field(default_factory=dict)
    _built: dict[str, tuple[_Thing, Any]] = field(default_factory=dict)

    # --- messages -------------------------------------------------------------------------------

    def apply(self, message: Any) -> None:
        """Take in a moveit_msgs/PlanningScene, whole or a difference; never raises.

        What cannot be used is reported by `obstacles` and `held`, so that nothing moves.
        """
        self.received = True
        if not message.is_diff:
            self.world, self.lost, self.frames = {}, {}, {}
            self.allowed, self.defaults, self.octomap = {}, {}, False
        if not (message.is_diff or message.robot_state.is_diff):
            self.attached = {}
        for transform in message.fixed_frame_transforms:
            self._each(transform.child_frame_id, self._apply_frame, transform)
        for given in message.robot_state.attached_collision_objects:
            self._each(given.object.id, self._apply_attached, given)
        for given in message.world.collision_objects:
            self._each(given.id, self._apply_object, given)
        if len(message.world.octomap.octomap.data):
            self.octomap = True
        if len(message.allowed_collision_matrix.entry_names):
            self._each("allowed_collision_matrix", self._apply_allowed,
                       message.allowed_collision_matrix)  # fmt: skip

    def _each(self, name: str, call: Callable, given: Any) -> None:
        try:
            call(given)
        except InputError as error:
            self.lost[name] = str(error)
        except (ValueError, TypeError, IndexError, AttributeError) as error:
            self.lost[name] = f"{PLACE}: {name}: {type(error).__name__}: {error}"

    def _apply_frame(self, given: Any) -> None:
        name = given.header.frame_id
        known = self._frame(given.child_frame_id, name)
        move, turn = given.transform.translation, given.transform.rotation
        self.frames[given.child_frame_id] = known @ _pose(given.child_frame_id, move, turn)

    def _apply_object(self, given: Any) -> None:
        """An object of the world is added, changed, moved or removed; no id: all of them."""
        name, operation = given.id, _number(given.operation)
        if operation == REMOVE:
            for gone in [name] if name else [*self.world]:
                self.world.pop(gone, None)
                self.lost.pop(gone, None)
            return
        if operation == MOVE and name in self.world and not _parts_count(given):
            self.world[name] = replace(self.world[name], frame=given.header.frame_id,
                                       pose=_pose_of(name, given.pose))  # fmt: skip
            self.lost.pop(name, None)
            return
        if operation not in (ADD, APPEND):
            raise InputError(PLACE, f"object {name}", operation, "ADD, or MOVE of a known object")
        thing = self._thing(given)
        if operation == APPEND and name in self.world:
            before = self.world[name]
            back = np.linalg.inv(self._frame(name, before.frame) @ before.pose)
            there = back @ self._frame(name, thing.frame) @ thing.pose
            more = tuple((kind, shape, there @ pose) for kind, shape, pose in thing.parts)
            thing = replace(before, parts=before.parts + more)
        elif not thing.parts:
            raise InputError(PLACE, f"object {name}", "no shapes", "at least one shape")
        if len(self.world) >= MOST_OBJECTS and name not in self.world:
            raise InputError(PLACE, "objects", len(self.world) + 1, f"at most {MOST_OBJECTS}")
        self.world[name] = thing
        self.lost.pop(name, None)

    def _apply_attached(self, given: Any) -> None:
        name, operation = given.object.id, _number(given.object.operation)
        if operation == REMOVE:
            link = given.link_name
            of_link = [one for one, thing in self.attached.items() if link in ("", thing.link)]
            for one in [name] if name else of_link:
                if self.attached.pop(one, None) is not None:
                    self.lost[one] = "it was detached: publish where it is now, or its removal"
            return
        thing = self._thing(given.object)
        if not thing.parts:
            raise InputError(PLACE, f"attached object {name}", "no shapes",
                             "the shapes, in the frame of a link")  # fmt: skip
        touch = frozenset([given.link_name, *given.touch_links])
        self.attached[name] = replace(thing, link=given.link_name, touch=touch)
        self.world.pop(name, None)
        self.lost.pop(name, None)

    def _apply_allowed(self, given: Any) -> None:
        names = list(given.entry_names)
        rows = [list(entry.enabled) for entry in given.entry_values]
        if [len(row) for row in rows] != [len(names)] * len(names):
            rule = f"{len(names)} entries of {len(names)} values"
            raise InputError(PLACE, "allowed_collision_matrix", "another size", rule)
        both = range(len(names))
        self.allowed = {
            frozenset((names[i], names[j])): bool(rows[i][j]) and bool(rows[j][i])
            for i in both for j in both if i != j
        }  # fmt: skip
        defaults = zip(given.default_entry_names, given.default_entry_values, strict=True)
        self.defaults = {name: bool(value) for name, value in defaults}
        self.lost.pop("allowed_collision_matrix", None)

    def _thing(self, given: Any) -> _Thing:
        parts = []
        for shapes, poses in FIELDS:
            made, places = getattr(given, shapes), getattr(given, poses)
            if len(places) not in (len(made), 0):
                key = f"object {given.id}: {poses}"
                raise InputError(PLACE, key, len(places), f"{len(made)}, one for each shape")
            for k, shape in enumerate(made):
                pose = _pose_of(given.id, places[k]) if len(places) else np.eye(4)
                parts.append((shapes, shape, pose))
        return _Thing(given.header.frame_id, _pose_of(given.id, given.pose), tuple(parts))

    # --- what is made of them -------------------------------------------------------------------

    def snapshot(self) -> PlanningScene:
        """A copy of the present state; its use may take long, and messages come meanwhile."""
        kept = ("world", "attached", "lost", "frames", "allowed", "defaults")
        return replace(self, **{name: dict(getattr(self, name)) for name in kept})

    def same(self, other: PlanningScene) -> bool:
        """Whether a check would find the same with it: publishers repeat what has not changed."""
        plain = ("lost", "allowed", "defaults", "octomap")
        return (
            all(getattr(self, name) == getattr(other, name) for name in plain)
            and _alike(self.frames, other.frames, np.array_equal)
            and _alike(self.world, other.world, _same_thing)
            and _alike(self.attached, other.attached, _same_thing)
        )

    def check(self) -> None:
        """InputError for a matrix that cannot be used."""
        for name, why in self.lost.items():
            raise InputError(PLACE, name, "not usable", "a scene that can be checked", why)

    def obstacles(self) -> dict[str, Any]:
        """Name -> _engine Sdf, or one like it, in the world; InputError names the object."""
        self.check()
        found = {}
        for name, thing in self.world.items():
            made = self._built.get(name)
            if made is None or made[0] is not thing:
                at = self._frame(name, thing.frame) @ thing.pose
                made = thing, union([_field(name, *part, at) for part in thing.parts])
                self._built[name] = made
            found[name] = made[1]
        for name in [name for name in self._built if name not in found]:
            self._built.pop(name, None)
        return found

    def held(self) -> list[solids.Solid]:
        """Solids that the arm carries; InputError names the object."""
        self.check()
        robot, found = self.arm.robot, []
        for name, thing in self.attached.items():
            for link in (thing.link, thing.frame or thing.link):
                if link not in robot.frames:
                    near, key = nearest(link, robot.frames), f"attached object {name}: link"
                    raise InputError(PLACE, key, link, "a link of the robot", near)
            frame = robot.frame(thing.frame or thing.link)
            if frame.carrier != robot.frame(thing.link).carrier:
                rule = f"a frame that moves with {thing.link}"
                raise InputError(PLACE, f"attached object {name}: frame", thing.frame, rule)
            for kind, shape, pose in thing.parts:
                at = frame.pose @ thing.pose @ pose
                found.append(_solid(name, frame.carrier, kind, shape, at))
        return found

    def may_touch(self, one: str, other: str) -> bool:
        """Whether the matrix, or an attached object's touch_links, allow two names to touch."""
        for a, b in ((one, other), (other, one)):
            if a in self.attached and b in self.attached[a].touch:
                return True
        allowed = self.allowed.get(frozenset((one, other)))
        if allowed is None:
            usual = [self.defaults[name] for name in (one, other) if name in self.defaults]
            allowed = bool(usual) and all(usual)
        return allowed

    def _frame(self, name: str, frame: str) -> np.ndarray:
        """Pose (4, 4) of a frame in the world."""
        links, base = self.arm.robot.frames, self.arm.base
        if frame in links and links[frame].carrier < 0:
            return base @ links[frame].pose
        if frame == WORLD:
            return np.eye(4)
        if frame in self.frames:
            return self.frames[frame]
        still = [link for link, at in links.items() if at.carrier < 0]
        rule = f"one of {', '.join([*still, WORLD, *self.frames])}"
        raise InputError(PLACE, f"object {name}: frame", frame, rule)


def _alike(one: dict, other: dict, same: Callable[[Any, Any], bool]) -> bool:
    return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)


def _same_thing(one: _Thing, other: _Thing) -> bool:
    if one is other:
        return True
    fields = ("frame", "link", "touch")
    return (
        all(getattr(one, name) == getattr(other, name) for name in fields)
        and np.array_equal(one.pose, other.pose)
        and len(one.parts) == len(other.parts)
        and all(
            kind == kind_ and np.array_equal(pose, pose_)
            and same_message(shape, shape_)
            for (kind, shape, pose), (kind_, shape_, pose_)
            in zip(one.parts, other.parts, strict=True)
        )
    )  # fmt: skip


def same_message(one: Any, other: Any) -> bool:
    """Whether all numbers and words are the same: Humble's == is not exact, and the bytes between
    the fields of serialized messages are of chance."""
    if hasattr(one, "get_fields_and_field_types"):
        names = one.get_fields_and_field_types()
        return type(one) is type(other) and all(
            same_message(getattr(one, name), getattr(other, name)) for name in names
        )
    if isinstance(one, str | bytes | int | float | np.generic):
        return bool(one == other)
    return len(one) == len(other) and all(map(same_message, one, other))


def _number(value: Any) -> int:
    """A field of type byte, which rclpy gives as bytes of length 1."""
    return value[0] if isinstance(value, bytes) else int(value)


def _parts_count(given: Any) -> int:
    return sum(len(getattr(given, shapes)) for shapes, _ in FIELDS)


def _pose_of(name: str, pose: Any) -> np.ndarray:
    return _pose(name, pose.position, pose.orientation)


def _pose(name: str, position: Any, orientation: Any) -> np.ndarray:
    """(4, 4) of a position [m] and a quaternion; InputError where they are not finite or zero."""
    place = np.array([position.x, position.y, position.z], float)
    turn = np.array([orientation.x, orientation.y, orientation.z, orientation.w], float)
    if not np.all(np.abs(place) < 1e6):
        raise InputError(PLACE, f"object {name}: position", place.tolist(), "finite numbers [m]")
    if not (np.all(np.isfinite(turn)) and np.linalg.norm(turn) > 1e-6):
        rule = "x, y, z, w, finite and not all zero"
        raise InputError(PLACE, f"object {name}: orientation", turn.tolist(), rule)
    out = np.eye(4)
    out[:3, :3], out[:3, 3] = Rotation.from_quat(turn).as_matrix(), place
    return out


def union(fields: list[Any]) -> Any:
    """The union of several fields, or the only one; half-spaces are kept."""
    return fields[0] if len(fields) == 1 else NearestOf(fields)


@dataclass(frozen=True)
class NearestOf:
    """The least of several distances."""

    fields: list[Any]

    def evaluate(self, points: np.ndarray) -> tuple[np.ndarray]:
        return (np.min([one.evaluate(points)[0] for one in self.fields], axis=0),)


def placed(field: Any, pose: np.ndarray) -> Any:
    """A field that stands at a pose (4, 4) of the world."""
    if isinstance(field, solids.Convex):
        turn = Rotation.from_matrix(pose[:3, :3]).as_quat()
        return solids.Convex(_engine.Transformed(field.sdf, pose[:3, 3], turn))
    return _Placed(field, pose)


@dataclass(frozen=True)
class _Placed:
    """A mesh in its own frame that stands at a pose (4, 4) of the world."""

    field: Any
    pose: np.ndarray

    def evaluate(self, points: np.ndarray) -> tuple[np.ndarray]:
        return self.field.evaluate((points - self.pose[:3, 3]) @ self.pose[:3, :3])[:1]


def _field(name: str, kind: str, shape: Any, pose: np.ndarray, at: np.ndarray) -> Any:
    """Distance of a shape in the world; its thing's frame stands at `at`."""
    if kind == "planes":  # two-sided, as in MoveIt's own checks
        normal, offset = np.array(shape.coef[:3], float), float(shape.coef[3])
        size = np.linalg.norm(normal)
        if not (np.isfinite(offset) and 1e-9 < size < np.inf):
            rule = "a, b, c, d of a x + b y + c z + d = 0, not all zero"
            raise InputError(PLACE, f"object {name}: plane", list(shape.coef), rule)
        normal, offset = normal / size, -offset / size
        sides = [_engine.Plane(normal, offset), _engine.Plane(-normal, -offset)]
        return placed(solids.Convex(_engine.Intersection(sides)), at @ pose)
    solid = _solid(name, -1, kind, shape, at @ pose)
    return placed(solid.field, solid.pose)


def _solid(name: str, carrier: int, kind: str, shape: Any, pose: np.ndarray) -> solids.Solid:
    """A shape as a solid that moves with a joint; InputError where there is none."""
    if kind == "meshes":
        vertices = np.array([(v.x, v.y, v.z) for v in shape.vertices], float)
        triangles = np.array([tuple(t.vertex_indices) for t in shape.triangles], int)
        return solids.mesh(name, carrier, pose, vertices, triangles)
    if kind == "planes":
        raise InputError(PLACE, f"attached object {name}", "a plane", "a solid or a mesh")
    counts = {BOX: 3, SPHERE: 1, CYLINDER: 2, CONE: 2}
    type_, sizes = _number(shape.type), np.array(shape.dimensions, float)
    if type_ not in counts:
        raise InputError(PLACE, f"object {name}: primitive type", type_, "a box (1), a sphere (2), "
                         "a cylinder (3) or a cone (4)")  # fmt: skip
    if len(sizes) != counts[type_] or not np.all((sizes > 0) & (sizes < 1e3)):
        rule = f"{counts[type_]} numbers above 0 and below 1000 m"
        raise InputError(PLACE, f"object {name}: dimensions", sizes.tolist(), rule)
    if type_ == BOX:
        return solids.box(name, carrier, pose, sizes)
    if type_ == SPHERE:
        return solids.capsule(name, carrier, np.tile(pose[:3, 3], (2, 1)), float(sizes[0]))
    if type_ == CYLINDER:
        return solids.cylinder(name, carrier, pose, float(sizes[1]), float(sizes[0]))
    return solids.mesh(name, carrier, pose, *_cone(*sizes))


def _cone(height: float, radius: float) -> tuple[np.ndarray, np.ndarray]:
    """Vertices and triangles of a pyramid about a cone: tip up, halfway up at the origin."""
    angles = 2 * np.pi * np.arange(SIDES) / SIDES
    around = radius / np.cos(np.pi / SIDES)
    foot = np.stack([around * np.cos(angles), around * np.sin(angles),
                     np.full(SIDES, -height / 2)], axis=1)  # fmt: skip
    vertices = np.vstack([foot, [[0, 0, height / 2], [0, 0, -height / 2]]])
    i, j = np.arange(SIDES), (np.arange(SIDES) + 1) % SIDES
    tip, middle = np.full(SIDES, SIDES), np.full(SIDES, SIDES + 1)
    return vertices, np.concatenate([np.stack([i, j, tip], 1), np.stack([j, i, middle], 1)])
