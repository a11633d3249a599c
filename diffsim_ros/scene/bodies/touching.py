"""Contact spheres of what has a frame and may have a shape: rigid, kinematic bodies, particles."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from diffsim_ros.scene import shapes
from diffsim_ros.scene.bodies.body import contact_spheres_name


class Touching:
    """What a body with the key `contact_spheres` touches with."""

    name: str
    contact_spheres: dict | None

    @property
    def touches(self) -> bool:
        """Whether it has contact points."""
        return self.contact_spheres is not None

    def contact_spheres_at_start(self) -> shapes.ContactSpheres:
        """Contact points in its frame at the start."""
        return self._spheres[0]

    @cached_property
    def _spheres(self) -> tuple[shapes.ContactSpheres, np.ndarray | None]:
        """Contact spheres, and to which member of a compound each belongs."""
        ((kind, values),) = self.contact_spheres.items()
        if kind in ("vertices", "members"):
            return self.form.spheres(values["radius"], values["count"], values["scale"])
        return shapes.contact_spheres(kind, values, self.outline()[1]), None

    def contact_weights(self) -> np.ndarray | None:
        """Of a compound: every member that touches has the same share; else equal: None."""
        of = self._spheres[1]
        if of is None or not of.any():
            return None
        _, number, count = np.unique(of, return_inverse=True, return_counts=True)
        return 1 / (len(count) * count[number])

    def add_contact_spheres(self, scene: Any) -> None:
        """Add them to the engine's scene."""
        if self.touches:
            points = self.contact_spheres_at_start()
            scene.add_points(
                contact_spheres_name(self.name),
                bodies=[self.name] * len(points.local),
                local=points.local,
                inset=points.inset,
                radius=points.radius,
                scale=points.scale,
            )
