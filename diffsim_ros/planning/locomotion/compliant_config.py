"""A PLAN.yaml with `compliant`, read strictly: scene, nominal gait, what is wanted."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import InputError, nearest
from ...fields import Reader, join
from ...inverse.gait import CycleChange, MeanSpeed, SmoothCycle
from ...inverse.goals import Goal
from ...inverse.guides import Heading
from ...inverse.marker_track import RigidPoints
from ...inverse.objectives import Objective
from ...inverse.parameters import ParameterMap
from ...parameter import Parameter
from ...scene.model import SceneModel, load_scene
from ...scene.placing import absolute
from ...yaml_file import read_mapping, read_yaml
from ..robust import Robust, read_robust
from . import compliant_schema as schema
from .nominal import NominalMotion, periodic_splines, read_nominal

UP = np.array([0.0, 0.0, 1.0])
SHARPER = 0.1
"""Share of the accepted deviation of the mean speed that the search counts as one."""
WHOLE = 1e-6
"""By which steps per interval may differ from a whole number."""


@dataclass(frozen=True)
class CyclicTargets:
    """Targets of motors as a function of changes of one cycle (a `Group` of the inverse layer).

    names             joints by changes: theta (m k,)
    scene_parameters  targets (N+1, m) of the engine, row by row
    first             (N+1, m) [rad] at theta = 0;  matrix (N+1, k): what one joint's changes add
    """

    names: tuple[str, ...]
    scene_parameters: tuple[str, ...]
    first: np.ndarray
    matrix: np.ndarray
    name: str = "targets"

    def values(self, theta: Any) -> np.ndarray:
        """Targets ((N+1) m,)."""
        joints = self.first.shape[1]
        change = np.reshape(np.asarray(theta, float), (joints, -1))
        return (self.first + self.matrix @ change.T).ravel()

    def jacobian(self, theta: Any) -> np.ndarray:
        """Their slopes ((N+1) m, m k), which are constant."""
        return self._slopes

    @cached_property
    def _slopes(self) -> np.ndarray:
        (rows, k), joints = self.matrix.shape, self.first.shape[1]
        slopes = np.zeros((rows, joints, joints, k))
        for j in range(joints):
            slopes[:, j, j] = self.matrix
        return slopes.reshape(rows * joints, joints * k)


@dataclass(frozen=True)
class CompliantConfig:
    """A checked refinement.

    scene      the robot, its motors with targets for lead-in and cycles, a row per interval
    nominal    the targets of one cycle, joints in the order of the scene's motors
    motors     their names in the scene, in that order;  standing (m,) their first targets
    basis      (n, k) what a joint's k changes add to its n targets of a cycle
    options    section `compliant`;  tolerances, search  its sections
    height     [m] of the trunk that is wanted; None: the nominal motion's
    robust     samples, None: the scene alone
    source     the mapping as read
    """

    place: str
    name: str
    scene: SceneModel
    nominal: NominalMotion
    motors: tuple[str, ...]
    standing: np.ndarray
    basis: np.ndarray
    options: Mapping[str, Any]
    tolerances: Mapping[str, float]
    search: Mapping[str, Any]
    source: Mapping
    height: float | None = None
    robust: Robust | None = field(default=None)

    @property
    def cycles(self) -> int:
        """That count."""
        return int(self.options["cycles"])

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the changes: joint by joint."""
        return tuple(
            f"{joint}[{k}]" for joint in self.nominal.joints for k in range(self.basis.shape[1])
        )

    @cached_property
    def map(self) -> ParameterMap:
        """Changes of the nominal targets as free parameters."""
        near, reach = self.tolerances["near"], self.options["range"]
        alike = {"lower": -reach, "upper": reach, "typical": near, "prior_mean": 0.0}
        sigma = near * np.sqrt(len(self.names))
        parameters = [
            Parameter(name, "rad", 0.0, prior_sigma=sigma, **alike) for name in self.names
        ]
        share, row = self.nominal.shares(self.cycles, self.options["lead_in"])
        targets = self.nominal.over(self.cycles, self.options["lead_in"], self.standing)
        keys = tuple(f"{m}.target[{k}]" for k in range(len(row)) for m in self.motors)
        group = CyclicTargets(self.names, keys, targets, share[:, None] * self.basis[row])
        return ParameterMap(parameters, self.scene.engine, [group])

    @cached_property
    def ends(self) -> np.ndarray:
        """Rows of the rollout (cycles + 1,) at which the counted cycles begin and end."""
        n = len(self.nominal.times)
        return n * (self.options["lead_in"] + np.arange(self.cycles + 1))

    @property
    def frames(self) -> np.ndarray:
        """Rows of the counted cycles."""
        return np.arange(self.ends[0], self.ends[-1] + 1)

    def speed(self, *, each: bool) -> MeanSpeed:
        """Mean speed of every cycle, or of all of them."""
        rows, o = self.ends if each else self.ends[[0, -1]], self.options
        sigma = o["speed"] * self.tolerances["each_cycle"]
        if not each:
            sigma = o["speed"] * self.tolerances["speed"] * SHARPER
        name = "speed of cycles" if each else "speed"
        times = rows * self.nominal.interval
        return MeanSpeed(o["body"], rows, times, o["direction"], o["speed"], sigma, name=name)

    @cached_property
    def objectives(self) -> tuple[Objective, ...]:
        """All that is sought, [a] speed, [b] stability, [c] smooth changes; nearness is a prior."""
        body, tol, rows = self.options["body"], self.tolerances, self.frames
        along = np.asarray(self.options["direction"]) / np.linalg.norm(self.options["direction"])
        ahead = np.array([along[0], along[1], 0.0])
        found: list[Any] = [self.speed(each=False), self.speed(each=True)]
        axes = {"upright": (UP, UP), "heading": (self.facing, ahead)}
        for name, (axis, direction) in axes.items():
            ends = RigidPoints(np.array([np.zeros(3), axis]))
            found.append(Heading(body, rows, ends, direction, tol[name], name=name))
        places = {"drift": (np.zeros(3), np.cross(UP, ahead))}
        if self.height is not None:
            places["height"] = (np.array([0.0, 0.0, self.height]), UP)
        for name, (target, across) in places.items():
            goal = {"target": target + self._start * (name == "drift"), "sigma": tol[name]}
            found.append(Goal(body, rows, **goal, across=across[None], name=name))
        sigmas = [tol[f"repeat_{what}"] for what in ("height", "turn", "velocity", "spin")]
        found.append(CycleChange(body, self.ends, UP, np.array(sigmas), name="repeat"))
        k = self.basis.shape[1]
        for j, joint in enumerate(self.nominal.joints):
            own = self.names[j * k : (j + 1) * k]
            sigma = tol["smooth"] * np.sqrt(len(self.nominal.joints))
            found.append(SmoothCycle("", own, self.basis, sigma, name=f"smooth {joint}"))
        return tuple(found)

    @cached_property
    def _start(self) -> np.ndarray:
        part = self.scene.parts.bodies[self.options["body"]]
        return np.array(part.pose["position"], float)

    @property
    def facing(self) -> np.ndarray:
        """Axis (3,) of the trunk, its own frame, that points along `direction` at the start."""
        from ...rotation import quat_matrix

        part = self.scene.parts.bodies[self.options["body"]]
        along = np.asarray(self.options["direction"], float)
        along = np.array([along[0], along[1], 0.0]) / np.linalg.norm(along[:2])
        return quat_matrix(np.array(part.pose["orientation"])).T @ along

    def targets(self, changes: Mapping[str, float]) -> np.ndarray:
        """Targets (n, m) [rad] of one cycle with changes by name."""
        theta = np.array([changes[name] for name in self.names])
        change = theta.reshape(len(self.motors), -1)
        return self.nominal.targets + self.basis @ change.T

    def lasting(self, cycles: int) -> CompliantConfig:
        """The same with another number of cycles that count."""
        scene = _with_motors(
            self.scene.description, self.place, self.nominal, self.motors, self.standing,
            cycles + self.options["lead_in"],
        )  # fmt: skip
        return replace(self, scene=scene, options={**self.options, "cycles": cycles}, robust=None)


def load_compliant(
    source: str | Path | Mapping, *, base: str | Path | None = None,
    estimated: str | Path | None = None, nominal: NominalMotion | None = None,
    set: Iterable[str] = (),
) -> CompliantConfig:  # fmt: skip
    """Read a refinement from a file or mapping; InputError naming file, key, value and rule.

    base       folder, or file, that paths of a mapping are relative to
    estimated  result.yaml of an estimation, in place of the plan's own `estimated`
    nominal    motion, in place of the file that the plan names
    set        "KEY=VALUE" that replace values of the file
    """
    content, place = read_mapping(source, base, set)
    reader = Reader(place)
    top = reader.section(schema.PLAN, reader.mapping(content, ""))
    if not isinstance(top["scene"], (str, Mapping)):
        raise reader.error("scene", top["scene"], "a path or a mapping")
    options = reader.section(schema.COMPLIANT, top["compliant"], "compliant")
    tolerances = reader.section(
        schema.TOLERANCES, options.pop("tolerances"), "compliant.tolerances"
    )
    search = reader.section(schema.SEARCH, top["search"], "search")
    if nominal is None:
        if not isinstance(options["nominal"], str):
            raise reader.error("compliant.nominal", options["nominal"], "a file")
        nominal = read_nominal(absolute(reader, options["nominal"]), options["period"])
    if not np.linalg.norm(options["direction"][:2]) > 0:
        rule = "a direction along the ground"
        raise reader.error("compliant.direction", options["direction"], rule)
    if options["speed"] == 0:
        raise reader.error("compliant.speed", 0, "another number than 0")
    folder = place if not isinstance(source, Mapping) else base
    given = str(estimated) if estimated is not None else top["estimated"]
    raw = load_scene(top["scene"], base=folder, estimated=_only_file(reader, given))
    values = _estimates(reader, given, raw)
    description = {**raw.description, "values": {**raw.description["values"], **values}}
    motors, standing = _motors(reader, raw, nominal)
    cycles = options["cycles"] + options["lead_in"]
    scene = _with_motors(description, raw.place, nominal, motors, standing, cycles)
    body = options["body"]
    if body not in scene.bodies or scene.parts.bodies[body].SOFT:
        rigid = [name for name, part in scene.parts.bodies.items() if not part.SOFT]
        rule = "a rigid body of the scene"
        raise reader.error("compliant.body", body, rule, nearest(body, rigid))
    n = len(nominal.times)
    basis = np.eye(n) if options["knots"] is None else periodic_splines(n, options["knots"])
    if basis.shape[1] > n:
        rule = f"at most {n}, the targets of a cycle"
        raise reader.error("compliant.knots", options["knots"], rule)
    config = CompliantConfig(
        raw.place, top["name"], scene, nominal, motors, standing, basis, options, tolerances,
        search, reader.mapping(content, ""), options["height"],
    )  # fmt: skip
    single = _only_file(reader, given)
    robust = read_robust(reader, search["robust"], scene, config.map, None, single)
    return replace(config, robust=robust)


def _only_file(reader: Reader, given: Any) -> Path | None:
    """The one file of `estimated` whose values go by their own names, as of other plans."""
    if not isinstance(given, str):
        return None
    return Path(absolute(reader, given))


def _estimates(reader: Reader, given: Any, scene: SceneModel) -> dict[str, float]:
    """Values of the scene's parameters from a list of results."""
    if given is None or isinstance(given, str):
        return {}
    entries = given if isinstance(given, list) else [given]
    known = [info.name for info in scene.engine.parameters]
    found: dict[str, float] = {}
    for i, entry in enumerate(entries):
        key = f"estimated[{i}]"
        entry = {"file": entry} if isinstance(entry, str) else entry
        own = reader.section(schema.ESTIMATED, entry, key)
        path = absolute(reader, own["file"])
        content = read_yaml(path)
        values = content.get("scene") if isinstance(content, Mapping) else None
        if not isinstance(values, Mapping):
            raise reader.error(f"{key}.file", own["file"], "a result.yaml of diffsim estimate")
        sets = own["sets"] or {name: name for name in values}
        for target, name in sets.items():
            if target not in known:
                rule = "a parameter of the scene"
                raise reader.error(join(key, f"sets.{target}"), name, rule, nearest(target, known))
            if name not in values:
                rule = f"a parameter that {own['file']} has"
                raise reader.error(join(key, f"sets.{target}"), name, rule, nearest(name, values))
            found[target] = float(values[name])
    return found


def _motors(
    reader: Reader, scene: SceneModel, nominal: NominalMotion
) -> tuple[tuple[str, ...], np.ndarray]:
    """Motors of the nominal motion's joints, and their first targets."""
    by_joint = {
        link["joint"]: link for link in scene.description["links"]
        if link.get("type") == "motor" and link["kind"] == "position"
    }  # fmt: skip
    motors = []
    for joint in nominal.joints:
        if joint not in by_joint:
            rule = "a joint of the scene that a motor of kind position drives"
            raise reader.error("compliant.nominal", joint, rule, nearest(joint, by_joint))
        motors.append(by_joint[joint])
    standing = [np.atleast_1d(motor["keys"])[0] for motor in motors]
    return tuple(motor["name"] for motor in motors), np.array(standing, float)


def _with_motors(
    description: dict, place: str, nominal: NominalMotion, motors: tuple[str, ...],
    standing: np.ndarray, cycles: int,
) -> SceneModel:  # fmt: skip
    """The scene with a target per interval for its motors, over so many cycles."""
    changed = copy.deepcopy(description)
    step, rows = changed["world"]["step"], cycles * len(nominal.times)
    every = nominal.interval / step
    if round(every) < 1 or abs(every - round(every)) > WHOLE * every:
        near = nominal.interval / max(1, round(every))
        rule = f"a whole number of steps in the interval of the targets, {nominal.interval:g} s"
        raise InputError(place, "world.step", step, rule, f"{near:.6g} s, for example")
    changed["world"] |= {"duration": rows * nominal.interval, "record_every": round(every)}
    first = dict(zip(motors, standing, strict=True))
    for link in changed["links"]:
        if link.get("name") in first:
            link["keys"] = [float(first[link["name"]])] * (rows + 1)
            link["interval"] = nominal.interval
    return load_scene(changed, base=place)
