"""What a scene holds, by name."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from diffsim_ros.rotation import quat_matrix
from diffsim_ros.scene import SceneModel
from diffsim_ros.scene.joint_start import moved_by_joints, open_joints
from diffsim_ros.scene.links.joint import PLACE, JointLink
from diffsim_ros.simulation.tangents import NodeTangents
from diffsim_ros.simulation.values import Values, values_of

Array = NDArray[np.float64]


class NamedScene(SceneModel):
    """A checked scene whose numbers and observables have names."""

    @cached_property
    def values(self) -> Values:
        """All numbers that the motion depends on: name -> value, with units."""
        return values_of(self.engine)

    @cached_property
    def observables(self) -> dict[str, str]:
        """Outputs, and numbers of the motion (`cube.position`, `hinge.rate`): name -> unit."""
        known = [*self.engine.outputs, *self.engine.motion_outputs]
        return {output.name: output.unit for output in known}

    @cached_property
    def tangents(self) -> NodeTangents:
        """Degrees of freedom of the engine's nodes."""
        return NodeTangents(self.engine)

    def masses(self, body: str) -> Array:
        """(n,) [kg] of a body's nodes, with the scene's values; zero for kinematic bodies."""
        first, count = self.engine.nodes_of(body)
        return np.asarray(self.engine.masses(self.engine.values)[first : first + count])

    @cached_property
    def _initial(self) -> NDArray[np.bool_]:
        """(np,) which values act at the start alone."""
        return np.array([info.initial for info in self.engine.parameters], bool)

    @cached_property
    def _keys(self) -> NDArray[np.bool_]:
        """(np,) which values are keys of kinematic bodies, whose first ones say how they start."""
        keyed = [name for name, body in self.parts.bodies.items() if not body.MOVES]
        return np.array([name.startswith(tuple(f"{k}." for k in keyed)) for name in self.values])

    @cached_property
    def _opens(self) -> NDArray[np.bool_]:
        """(np,) which values may open a stiff joint: poses of bodies at the start, and its own
        place in them."""
        stiff = [one for one in self.parts.links if isinstance(one, JointLink)]
        stiff = [one for one in stiff if one.coordinates == "maximal"]
        own = {f"{one.name}.{word}" for one in stiff for word in PLACE}
        held = {name for one in stiff for name in (one.body_a, one.body_b)}
        posed = tuple(f"{name}.{word}" for name in held for word in ("position", "rotation"))
        return np.array([name in own or name.startswith(posed) for name in self.values.names])

    def same(self, other: NamedScene) -> bool:
        """Whether the other is this scene, as a copy that pickle made is."""
        alike = np.array_equal(other.engine.values, self.engine.values)
        return alike and bool(other.description == self.description)

    @property
    def label(self) -> str:
        """The scene's name, else its file's."""
        return str(self.description.get("name") or (self.path.name if self.path else "scene"))


def warnings_of_start(scene: NamedScene, values: Values) -> list[str]:
    """What joints do with a start that these values have and the scene's own have not, in words:
    bodies that reduced coordinates place elsewhere, stiff joints that are open."""
    changed = values.array != scene.values.array
    if not changed.any():
        return []  # loading has looked at the scene's own
    found = []
    if changed[scene._initial | scene._keys].any():
        found += moved_by_joints(scene.parts, scene.engine.start_moved(values.array))
    if changed[scene._opens].any():
        position, orientation, _ = scene.engine.start_pose(values.array, [])

        def pose(name: str) -> tuple[Array, Array]:
            node = scene.engine.nodes_of(name)[0]
            return position[node], quat_matrix(orientation[node])

        found += open_joints(scene.parts, values, pose)
    return found
