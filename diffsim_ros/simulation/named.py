"""What a scene holds, by name."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from diffsim_ros.scene import SceneModel
from diffsim_ros.scene.joint_start import moved_by_joints
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

    @property
    def label(self) -> str:
        """The scene's name, else its file's."""
        return str(self.description.get("name") or (self.path.name if self.path else "scene"))


def moved_at_start(scene: NamedScene, values: Values) -> list[str]:
    """What joints in reduced coordinates do not let start as these values have it, in words."""
    initial = scene._initial
    if np.array_equal(values.array[initial], scene.values.array[initial]):
        return []  # loading has looked at the scene's own
    return moved_by_joints(scene.parts, scene.engine.start_moved(values.array))
