"""A scene simulated a stretch at a time, so that its motion is seen while it is simulated."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from diffsim_ros import _engine
from diffsim_ros.rotation import quat_from_matrix

if TYPE_CHECKING:
    from diffsim_ros.scene.model import SceneModel

Array = np.ndarray


class SteppedMotion:
    """The motion of a scene, as far as it has been simulated: what pictures need of a rollout.

    time (F,) [s];  position (F, nodes, 3) [m];  orientation (F, nodes, 4), world: of all frames,
    those that are still to come as at the start
    contact_point, contact_force  (F, contacts, 3): resultant of each contact on its body [N], and
    the point of its line of action that is nearest to where the body's origin is [m]
    done   number of frames that have been simulated;  message  why it stopped early, or ""
    """

    def __init__(self, model: SceneModel, frames_per_second: float) -> None:
        engine = model.engine
        self.model, self.message, self.done = model, "", 1
        step = model.options.step
        self.every = max(1, round(1.0 / (frames_per_second * step)))
        count = 1 + -(-model.steps // self.every)
        self.time = np.minimum(np.arange(count) * self.every, model.steps) * step
        self._bodies = [(name, *engine.nodes_of(name)) for name in engine.body_names]
        known = {output.name for output in engine.motion_outputs}
        self._turns = {name for name, _, _ in self._bodies if f"{name}.x_axis" in known}
        self._contacts = _contacts(model)
        self._names = self._outputs()
        nodes = sum(number for _, _, number in self._bodies)
        self.position = np.zeros((count, nodes, 3))
        self.orientation = np.zeros((count, nodes, 4))
        self.orientation[..., 3] = 1.0
        self.contact_point = np.zeros((count, len(self._contacts), 3))
        self.contact_force = np.zeros_like(self.contact_point)
        self._values = np.array(engine.values)
        self._at = engine.snapshot(self._values)
        self._put(engine.outputs_at(self._at, self._values, self._names, model.options), 0)
        self.position[1:], self.orientation[1:] = self.position[0], self.orientation[0]

    @property
    def end(self) -> float:
        """[s] to which it will be simulated."""
        return float(self.time[-1])

    def known(self) -> SteppedMotion:
        """The frames that have been simulated."""
        found = copy.copy(self)
        for name in ("time", "position", "orientation", "contact_point", "contact_force"):
            setattr(found, name, getattr(self, name)[: self.done])
        return found

    def frames(self) -> Iterator[int]:
        """Simulate to each next frame, and give its number; ends early where the engine fails."""
        model = self.model
        while self.done < len(self.time):
            steps = min(self.every, model.steps - (self.done - 1) * self.every)
            segment = _engine.Segment(
                model.engine, [self._at], self._values[None], steps, model.options, threads=1,
                outputs=self._names,
            )  # fmt: skip
            if not segment.ok[0]:
                self.message = segment.failure(0)
                return
            self._at = segment.ends[0]
            self._put(segment.outputs[0], self.done)
            self.done += 1
            yield self.done - 1

    def _outputs(self) -> list[str]:
        names = []
        for body, _, _ in self._bodies:
            names.append(f"{body}.position")
            if body in self._turns:
                names += [f"{body}.x_axis", f"{body}.y_axis"]
        return names + [f"{c}.{word}" for c, _, _ in self._contacts for word in ("force", "torque")]

    def _put(self, numbers: Array, frame: int) -> None:
        """Take a frame from the outputs' numbers."""
        rows, at = np.reshape(numbers, (-1, 3)), 0
        for body, first, count in self._bodies:
            self.position[frame, first : first + count] = rows[at : at + count]
            at += count
            if body in self._turns:
                x, y = rows[at : at + 2]
                matrix = np.column_stack([x, y, np.cross(x, y)])
                self.orientation[frame, first] = quat_from_matrix(matrix)
                at += 2
        for k, (_, first, count) in enumerate(self._contacts):
            force, torque = rows[at : at + 2]
            origin = self.position[frame, first : first + count].mean(axis=0)
            square = max(float(force @ force), 1e-12)
            self.contact_force[frame, k] = force
            self.contact_point[frame, k] = origin + np.cross(force, torque) / square
            at += 2


def _contacts(model: SceneModel) -> list[tuple[str, int, int]]:
    """(contact, first node, nodes) of those that report the force on a body."""
    known = {output.name for output in model.engine.outputs}
    return [
        (contact.name, *model.engine.nodes_of(contact.points))
        for contact in model.parts.contacts
        if {f"{contact.name}.force", f"{contact.name}.torque"} <= known
    ]
