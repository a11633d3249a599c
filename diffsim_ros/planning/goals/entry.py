"""One entry of `goals`: what every kind of goal reads of it and of its body."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import InputError, nearest
from ...fields import REQUIRED, Field, Reader, Section
from ...inverse.marker_track import Carrier, RigidPoints, SoftPoints
from ...scene.bodies.regions import region, resolve_region
from ...scene.model import SceneModel

HEAD: Section = {
    "name": Field("text", "for reports; default: the body's", default=None),
    "body": Field("text", "a rigid body, particle or solid of the scene", default=REQUIRED),
    "at": Field("number", "time; the nearest recorded instant counts", "s", minimum=0),
    "during": Field("numbers", "from, to: all of it, or with `softness` any time in it", "s"),
    "softness": Field(
        "number",
        "width of the soft minimum over the time: the nearest passage counts",
        "m",
        minimum=0,
        strict=True,
    ),
}
"""Keys before those of the kinds ..."""
TAIL: Section = {
    "tolerance": Field(
        "number",
        "what is near enough: of places and clearance [m], velocity [m/s], directions [rad]; of "
        "several points the root of the mean square",
        default=0.01,
        minimum=0,
        strict=True,
    ),
    "required": Field("flag", "false: it guides the search and need not be reached", default=True),
}
"""... and behind them."""


@dataclass
class GoalEntry:
    """An entry of `goals`, its keys read.

    asked   its keys of goals;  soft  whether its body is a solid, cloth or string
    frames  its rows of the rollout;  sigma  tolerance
    """

    reader: Reader
    goal: Mapping[str, Any]
    key: str
    scene: SceneModel
    asked: list[str]

    def __post_init__(self) -> None:
        bodies, name = self.scene.parts.bodies, self.goal["body"]
        if name not in bodies:
            raise self.error("body", "a body of the scene", nearest(name, bodies))
        self.body = bodies[name]
        if not self.body.MOVES:
            raise self.error("body", "a body that moves freely")
        self.soft = self.body.SOFT
        self.frames, self.sigma = self._frames(), self.goal["tolerance"]
        self.name = self.goal["name"] or name

    def error(self, entry: str, rule: str, remedy: str = "") -> InputError:
        """InputError for one of the goal's keys."""
        return self.reader.error(f"{self.key}.{entry}", self.goal[entry], rule, remedy)

    def called(self, key: str) -> str:
        """The goal's name; with the kind where it has several."""
        return self.name if len(self.asked) == 1 else f"{self.name} {key}"

    def of_rigid(self, key: str) -> None:
        """InputError where a key is given of a body that is not rigid."""
        if self.goal[key] is not None and not self.body.CARRIES:
            raise self.error(key, "of a rigid body only")

    def together(self, key: str, other: str) -> None:
        """InputError where a key is given without another one."""
        if self.goal[key] is not None and self.goal[other] is None:
            raise self.error(key, f"given together with `{other}`")

    def centre(self) -> dict[str, Any]:
        """A Goal's arguments for the centre of mass: of a soft body, or of its chosen vertices."""
        if not self.soft:
            return {}
        nodes, _, masses = self.vertices()
        if self.goal["vertices"] is None:
            return {"weights": masses}
        share = (masses / masses.sum())[None]
        return {"points": SoftPoints(nodes, share, np.zeros((1, 3)))}

    def points(self) -> tuple[Carrier, np.ndarray]:
        """The points that count, as the body carries them, and in its own frame (n, 3)."""
        if self.soft:
            nodes, own, _ = self.vertices()
            return SoftPoints(nodes, np.eye(len(nodes)), np.zeros((len(nodes), 3))), own
        given = self.goal["points"]
        own = self.outline() if given is None else np.array(given)
        return RigidPoints(own), own

    def outline(self) -> np.ndarray:
        """Points of a rigid body that define its pose: corners of a box, poles of a sphere ..."""
        kind, size = self.body.outline()
        if kind == "box":
            return 0.5 * size * np.array(np.meshgrid(*[(-1, 1)] * 3)).reshape(3, -1).T
        if kind == "sphere":
            return 0.5 * size * np.concatenate([np.eye(3), -np.eye(3)])
        if self.body.touches:
            return self.body.contact_spheres_at_start().centres()
        rule = "of a body with a shape or contact_spheres"
        raise self.reader.error(self.key, self.asked, rule, "or give `points`")

    def vertices(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Nodes (n,) of the chosen free vertices, their places (n, 3) in the body, masses (n,)."""
        vertices = self.body.mesh.vertices
        free = self.body.free()
        chosen = np.arange(len(free))
        if self.goal["vertices"] is not None:
            key = f"{self.key}.vertices"
            where = resolve_region(self.reader, self.goal["vertices"], vertices, key)
            chosen = region(where, vertices)
        chosen = chosen[free[chosen]]
        if not len(chosen):
            raise self.error("vertices", "at least one vertex that nothing holds")
        nodes = (np.cumsum(free) - 1)[chosen]
        engine = self.scene.engine
        first, _ = engine.nodes_of(self.goal["body"])
        return nodes, vertices[chosen], engine.masses(engine.values)[first + nodes]

    def _frames(self) -> np.ndarray:
        """The goal's rows of the rollout."""
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
