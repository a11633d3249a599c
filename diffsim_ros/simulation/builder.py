"""Scenes written in Python: the keys of a scene file, checked by the same reader."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any, Self

import numpy as np

from diffsim_ros.errors import InputError
from diffsim_ros.output import write_yaml
from diffsim_ros.simulation.scene import Scene, load_scene


class SceneBuilder:
    """A scene put together by calls; keys are those of docs/reference/scene.md.

    >>> builder = SceneBuilder("drop", step=1 / 240, duration=1.0)
    >>> builder = builder.body("cube", shape={"box": {"size": [0.1, 0.1, 0.1]}}, mass=0.4)
    >>> builder = builder.surface("ground", plane={"offset": -0.5})
    >>> builder = builder.contact("cube", "ground", k_n=2e4, c_f=0.3)
    >>> builder.build()
    <scene drop: 240 steps of 0.00416667 s; bodies cube (box); 31 values, 11 observables>

    Nothing is checked before `build`, whose InputError names the key, as for a file.
    """

    def __init__(self, name: str = "", *, step: float, duration: float, **world: Any) -> None:
        """step, duration [s];  world: other keys of `world`, such as gravity or scheme."""
        self.description: dict[str, Any] = {
            "name": name, "world": _plain({"step": step, "duration": duration, **world}),
        }  # fmt: skip

    def body(self, name: str, type: str = "rigid", **keys: Any) -> Self:
        """Add a body: rigid, solid, cloth, string, particle, kinematic ..."""
        return self._named("bodies", name, {"type": type, **keys})

    def surface(self, name: str, **shape: Any) -> Self:
        """Add a signed distance field, such as plane={}, sphere={"radius": 0.1}."""
        return self._named("sdfs", name, shape)

    def material(self, name: str, **keys: Any) -> Self:
        """Add a material, which bodies and contacts take numbers from."""
        return self._named("materials", name, keys)

    def robot(self, name: str, **keys: Any) -> Self:
        """Add a robot from a URDF or MJCF."""
        return self._named("robots", name, keys)

    def contact(self, points: str, against: Any, *, name: str = "", **keys: Any) -> Self:
        """Let a body's contact spheres or vertices touch a surface, by its name or its keys."""
        entry = {"name": name or f"{points}_contact", "points": points, "against": against, **keys}
        return self._listed("contact", entry)

    def link(self, name: str, type: str, **keys: Any) -> Self:
        """Add a link: spring, joint, motor, cable, force, torque ..."""
        return self._listed("links", {"name": name, "type": type, **keys})

    def parameter(self, path: str, **keys: Any) -> Self:
        """Declare a parameter of estimation: a path into the scene, with bounds, scale, prior."""
        return self._named("parameters", path, keys)

    def set(self, section: str, value: Any) -> Self:
        """Set a section of the scene file that has no method of its own, such as start."""
        self.description[section] = _plain(value)
        return self

    def build(self, base: str | Path | None = None) -> Scene:
        """The checked scene.  base: folder that paths are relative to [the present one]."""
        return load_scene(copy.deepcopy(self.description), base=base)

    def write(self, path: str | Path) -> None:
        """Write the scene file as it was put together."""
        write_yaml(Path(path), self.description)

    def _named(self, section: str, name: str, entry: dict[str, Any]) -> Self:
        entries = self.description.setdefault(section, {})
        if name in entries:
            raise InputError("scene", f"{section}.{name}", name, "a name that is not yet used")
        entries[name] = _plain(entry)
        return self

    def _listed(self, section: str, entry: dict[str, Any]) -> Self:
        self.description.setdefault(section, []).append(_plain(entry))
        return self


def _plain(value: Any) -> Any:
    """Arrays, tuples and NumPy's numbers as a YAML file has them."""
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return value
