"""A twin's sensors of outputs: force–torque sensors under contacts, and single numbers.

They measure what the engine reports of the motion: nothing of a body while the gripper holds it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ..errors import nearest
from ..fields import Reader
from ..output_value import OutputValue
from ..rotation import quat_matrix
from ..scene.model import SceneModel
from ..sensing.observation import WrenchSample
from .record import TwinRecord


@dataclass(frozen=True, eq=False)
class WrenchSensor:
    """What a body exerts through contacts on a sensor; see `sensors.NAME.wrench` in
    docs/reference/twin_keys.md.

    origin (3,) [m], turn (3, 3)  of its frame in the world, to the world
    """

    name: str
    rate: float
    topic: str
    frame: str
    body: str
    contacts: tuple[str, ...]
    origin: np.ndarray
    turn: np.ndarray
    sigma_force: float
    sigma_torque: float
    dropout: float

    @property
    def outputs(self) -> tuple[str, ...]:
        """Outputs of the scene that it needs."""
        return tuple(f"{name}.{part}" for name in self.contacts for part in ("force", "torque"))

    def sample(self, record: TwinRecord, time, stamp, draw) -> WrenchSample | None:
        """Force and torque about its origin, in its own axes: minus those on the body."""
        noise, lost = draw.normal(size=(2, 3)), draw.random() < self.dropout
        found = [record.output(name, time) for name in self.outputs]
        if lost or any(value is None for value in found):
            return None
        force, torque = sum(found[0::2]), sum(found[1::2])
        arm = record.nodes(self.body, time).mean(axis=0) - self.origin
        own = -force @ self.turn, -(torque + np.cross(arm, force)) @ self.turn
        force, torque = own[0] + self.sigma_force * noise[0], own[1] + self.sigma_torque * noise[1]
        return WrenchSample(stamp, self.frame, tuple(force.tolist()), tuple(torque.tolist()))


@dataclass(frozen=True, eq=False)
class OutputSensor:
    """One number of an output: a load cell, a strain gauge, a motor's torque."""

    name: str
    rate: float
    topic: str
    value: OutputValue
    sigma: float
    dropout: float

    @property
    def outputs(self) -> tuple[str, ...]:
        """Outputs of the scene that it needs."""
        return (self.value.name,)

    def sample(self, record: TwinRecord, time, stamp, draw) -> float | None:
        """The number, in the output's unit."""
        noise, lost = draw.normal(), draw.random() < self.dropout
        found = record.output(self.value.name, time)
        if lost or found is None:
            return None
        parts = np.ravel(found)[self.value.columns[0]]
        exact = parts[0] if len(parts) == 1 else np.linalg.norm(parts)
        return float(exact + self.sigma * noise)


def read_wrench(
    reader: Reader, name: str, given: Mapping, key: str, scene: SceneModel
) -> WrenchSensor:
    """Section `sensors.NAME.wrench`."""
    body = given["body"]
    pressing = [c.name for c in scene.parts.contacts if c.points == body]
    if not given["contacts"]:
        raise reader.error(f"{key}.contacts", [], f"contacts of {body}: {', '.join(pressing)}")
    for i, contact in enumerate(given["contacts"]):
        if contact not in pressing:
            rule = f"contacts of {body}: " + (", ".join(pressing) or "it has none")
            raise reader.error(
                f"{key}.contacts[{i}]", contact, rule, nearest(str(contact), pressing)
            )
    return WrenchSensor(
        name, given["rate"], given["topic"] or f"{name}/wrench", given["frame"] or name, body,
        tuple(given["contacts"]), np.array(given["position"]),
        quat_matrix(np.array(given["orientation"])), given["sigma_force"], given["sigma_torque"],
        given["dropout"],
    )  # fmt: skip


def read_output(
    reader: Reader, name: str, given: Mapping, key: str, scene: SceneModel
) -> OutputSensor:
    """Section `sensors.NAME.output`."""
    value = OutputValue.of(scene.engine, given["output"], reader.place, f"{key}.output")
    if value.count > 1:
        rule = f"one of them: {value.name}[0] to {value.name}[{value.count - 1}]"
        raise reader.error(f"{key}.output", given["output"], rule)
    topic = given["topic"] or f"{name}/output"
    return OutputSensor(name, given["rate"], topic, value, given["sigma"], given["dropout"])
