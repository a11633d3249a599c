"""Entries of `goals`, read strictly, as objectives of the inverse layer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import InputError, nearest
from ..fields import Reader
from ..inverse.goals import Goal, OrientationGoal
from ..inverse.guides import ClearanceGuide, Heading, affine_axis
from ..inverse.marker_track import Carrier, RigidPoints, SoftPoints
from ..rotation import quat_matrix
from ..scene.build import proxies_of, shape_of
from ..scene.build_sdf import engine_sdf
from ..scene.build_soft import glued_vertices
from ..scene.model import SceneModel
from ..scene.placing import resolve_pose
from ..scene.soft_bodies import resolve_region
from ..scene.soft_shapes import SOFT, region, soft_shape
from ..scene.surfaces import resolve_surface
from . import schema

ASKED = ("position", "positions", "pose", "velocity", "orientation", "axis", "clear_of")
"""What a goal may be about."""
OF_RIGID = ("point", "points", "orientation")
ONE_NODE = SoftPoints(np.zeros(1, int), np.ones((1, 1)), np.zeros((1, 3)))
"""A particle as a carrier of points."""


def read_goals(reader: Reader, values: Iterable, scene: SceneModel) -> tuple[list[Any], set[str]]:
    """Objectives of all entries of `goals`, and the names of those that only guide the search."""
    found: list[Any] = []
    guides: set[str] = set()
    names: set[str] = set()
    for i, value in enumerate(values):
        key = f"goals[{i}]"
        goal = reader.section(schema.GOAL, value, key)
        objectives = _Entry(reader, goal, key, scene).objectives()
        for objective in objectives:
            if objective.name in names:
                rule = "another name than the goals before"
                raise reader.error(f"{key}.name", objective.name, rule, "give each one a `name`")
            names.add(objective.name)
        guides |= set() if goal["required"] else {o.name for o in objectives}
        found += objectives
    return found, guides


@dataclass
class _Entry:
    """One entry of `goals`: what is read of it and of its body."""

    reader: Reader
    goal: Mapping
    key: str
    scene: SceneModel

    def __post_init__(self):
        bodies, name = self.scene.description["bodies"], self.goal["body"]
        if name not in bodies:
            raise self.error("body", "a body of the scene", nearest(name, bodies))
        self.body = bodies[name]
        if self.body["type"] == "handle":
            raise self.error("body", "a body that moves freely")
        self.soft = self.body["type"] in SOFT
        self.frames, self.sigma = self._frames(), self.goal["tolerance"]
        self.name = self.goal["name"] or name
        self._check()

    def error(self, entry: str, rule: str, remedy: str = "") -> InputError:
        """InputError for one of the goal's keys."""
        return self.reader.error(f"{self.key}.{entry}", self.goal[entry], rule, remedy)

    def _check(self) -> None:
        goal = self.goal
        self.asked = [k for k in ASKED if goal[k] is not None]
        if not self.asked:
            rule = "at least one of " + ", ".join(ASKED)
            raise self.reader.error(self.key, sorted(k for k, v in goal.items() if v), rule)
        for k in OF_RIGID:
            if goal[k] is not None and self.body["type"] != "rigid":
                raise self.error(k, "of a rigid body only")
        if goal["vertices"] is not None and not self.soft:
            raise self.error("vertices", "of a solid, cloth or string", "a rigid body has `points`")
        for k in ("pose", "axis"):
            if goal[k] is not None and self.body["type"] == "particle":
                raise self.error(k, "of a body that has one: no particle")
        if sum(goal[k] is not None for k in ("position", "positions", "pose")) > 1:
            raise self.reader.error(self.key, self.asked, "one of position, positions and pose")
        places = {"position", "positions", "pose"}
        if goal["softness"] is not None and not places.issuperset(self.asked):
            raise self.error("softness", "of a goal with `position`, `positions` or `pose` alone")
        given = {"point": "position", "line": "position", "direction": "axis", "axis": "direction"}
        for k, other in given.items():
            if goal[k] is not None and goal[other] is None:
                raise self.error(k, f"given together with `{other}`")

    def objectives(self) -> list[Any]:
        """One objective for each thing the entry asks for."""
        goal, found, alone = self.goal, [], len(self.asked) == 1
        called = {k: self.name if alone else f"{self.name} {k}" for k in self.asked}
        if goal["position"] is not None:
            found.append(self._place(self.name))
        if goal["positions"] is not None or goal["pose"] is not None:
            found.append(self._places(self.name))
        if goal["velocity"] is not None:
            name = f"{self.name} velocity"
            found.append(Goal(goal["body"], self.frames, goal["velocity"], self.sigma, rate=True,
                              name=name, **self._centre()))  # fmt: skip
        if goal["orientation"] is not None:
            turned = np.tile(goal["orientation"], (len(self.frames), 1))
            each = self.sigma * np.sqrt(len(self.frames))
            name = f"{self.name} orientation"
            given = {"sigma_rotation": each, "name": name}
            found.append(OrientationGoal(goal["body"], self.frames, None, turned, **given))
        if goal["axis"] is not None:
            found.append(Heading(goal["body"], self.frames, self._axis(), goal["direction"],
                                 self.sigma, name=called["axis"]))  # fmt: skip
        if goal["clear_of"] is not None:
            points, radius = self._touching()
            found.append(ClearanceGuide(goal["body"], self.frames, points, self._surface(),
                                   goal["clearance"] + radius, self.sigma,
                                   name=called["clear_of"]))  # fmt: skip
        return found

    def _place(self, name: str) -> Goal:
        """The centre of mass, of the body or of some vertices, or one point, at one place."""
        goal, across = self.goal, None
        if goal["line"] is not None:
            _, size, rows = np.linalg.svd(np.array([goal["line"]]))
            if not size[0] > 0:
                raise self.error("line", "a direction, not all zero")
            across = rows[1:]
        at = {"local": goal["point"]} if goal["point"] is not None else self._centre()
        return Goal(goal["body"], self.frames, goal["position"], self.sigma, across=across,
                    softness=goal["softness"], name=name, **at)  # fmt: skip

    def _places(self, name: str) -> Goal:
        """Several points, each at its own place."""
        goal = self.goal
        if goal["pose"] is not None:
            pose = resolve_pose(self.reader, goal["pose"], f"{self.key}.pose")
            points, own = self._points()
            turn = quat_matrix(np.array(pose["orientation"]))
            target = pose["position"] + own @ turn.T
        else:
            if goal["vertices"] is None and goal["points"] is None:
                raise self.error("positions", "given together with `vertices` or `points`")
            points, own = self._points()
            target = np.array(goal["positions"])
            if len(target) != len(own):
                rule = f"{len(own)} positions, one for each point that is not held"
                raise self.error("positions", rule)
        return Goal(goal["body"], self.frames, target, self.sigma, points=points,
                    softness=goal["softness"], name=name)  # fmt: skip

    def _centre(self) -> dict[str, Any]:
        """What a Goal needs for the centre of mass: of a soft body, or of its chosen vertices."""
        if not self.soft:
            return {}
        nodes, _, masses = self._vertices()
        if self.goal["vertices"] is None:
            return {"weights": masses}
        share = (masses / masses.sum())[None]
        return {"points": SoftPoints(nodes, share, np.zeros((1, 3)))}

    def _points(self) -> tuple[Carrier, np.ndarray]:
        """The points that count, as the body carries them, and in its own frame (n, 3)."""
        if self.soft:
            nodes, own, _ = self._vertices()
            return SoftPoints(nodes, np.eye(len(nodes)), np.zeros((len(nodes), 3))), own
        given = self.goal["points"]
        own = self._outline() if given is None else np.array(given)
        return RigidPoints(own), own

    def _outline(self) -> np.ndarray:
        """Points of a rigid body that tell its pose: corners of a box, poles of a sphere ..."""
        kind, size = shape_of(self.body)
        if kind == "box":
            return 0.5 * size * np.array(np.meshgrid(*[(-1, 1)] * 3)).reshape(3, -1).T
        if kind == "sphere":
            return 0.5 * size * np.concatenate([np.eye(3), -np.eye(3)])
        if "proxies" in self.body:
            return proxies_of(self.body).centres()
        rule = "of a body with a shape or proxies"
        raise self.reader.error(self.key, self.asked, rule, "or give `points`")

    def _touching(self) -> tuple[Carrier, np.ndarray | float]:
        """Points that keep clear, and their radii [m]."""
        if self.soft or self.goal["points"] is not None:
            return self._points()[0], 0.0
        if "proxies" in self.body:
            proxies = proxies_of(self.body)
            if self.body["type"] == "rigid":
                return RigidPoints(proxies.centres()), proxies.radius
            return ONE_NODE, proxies.radius
        return ONE_NODE if self.body["type"] == "particle" else self._points()[0], 0.0

    def _axis(self) -> Carrier:
        axis = np.array(self.goal["axis"])
        if not np.linalg.norm(axis) > 0:
            raise self.error("axis", "a direction, not all zero")
        if not self.soft:
            return RigidPoints(np.array([np.zeros(3), axis / np.linalg.norm(axis)]))
        nodes, own, masses = self._vertices()
        weights = affine_axis(own, masses, axis / np.linalg.norm(axis))
        if weights is None:
            rule = "a direction in which the vertices extend"
            raise self.error("axis", rule, "a flat sheet has none along its normal")
        return SoftPoints(nodes, np.array([np.zeros(len(nodes)), weights]), np.zeros((2, 3)))

    def _surface(self) -> Any:
        named = self.scene.description["sdfs"]
        place = f"{self.key}.clear_of"
        surface = resolve_surface(self.reader, named, self.goal["clear_of"], place)
        return engine_sdf(surface, named)

    def _vertices(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Nodes (n,) of the chosen free vertices, their places (n, 3) in the body, masses (n,)."""
        shape = soft_shape(self.body)
        free = np.ones(len(shape.vertices), bool)
        for _, held in glued_vertices(self.body, shape):
            free[held] = False
        chosen = np.arange(len(free))
        if self.goal["vertices"] is not None:
            key = f"{self.key}.vertices"
            chosen = region(resolve_region(self.reader, self.goal["vertices"], shape, key),
                            shape.vertices)  # fmt: skip
        chosen = chosen[free[chosen]]
        if not len(chosen):
            raise self.error("vertices", "at least one vertex that nothing holds")
        nodes = (np.cumsum(free) - 1)[chosen]
        engine = self.scene.engine
        first, _ = engine.nodes_of(self.goal["body"])
        return nodes, shape.vertices[chosen], engine.masses(engine.values)[first + nodes]

    def _frames(self) -> np.ndarray:
        """Rows of the rollout that the goal is about."""
        goal, scene = self.goal, self.scene
        if (goal["at"] is None) == (goal["during"] is None):
            rule = "either `at` or `during`"
            raise self.reader.error(self.key, goal["at"], rule, "give exactly one")
        if goal["softness"] is not None and goal["during"] is None:
            raise self.error("softness", "given together with `during`")
        span = [goal["at"]] * 2 if goal["during"] is None else goal["during"]
        interval = scene.options.step * scene.options.record_every
        last = scene.steps // scene.options.record_every
        where = "at" if goal["during"] is None else "during"
        if len(span) != 2 or not 0 <= span[0] <= span[1] <= last * interval + 1e-9:
            raise self.error(where, f"times from 0 to the scene's duration, {last * interval:g} s")
        first, end = (round(time / interval) for time in span)
        return np.arange(first, end + 1)
