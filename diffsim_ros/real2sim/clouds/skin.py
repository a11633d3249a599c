"""The surface of a scene's body, as `inverse.cloud_track` wants it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...inverse.cloud_track import RigidSkin, SoftSkin
from ...scene.body_surface import body_surface

if TYPE_CHECKING:
    from ...scene.model import SceneModel


def skin_of(
    model: SceneModel, name: str, refine: int = 2, radius: float | None = None
) -> SoftSkin | RigidSkin:
    """See scene.body_surface."""
    found = body_surface(model, name, refine, radius)
    if found.nodes is None:
        return RigidSkin(found.triangles, found.fixed)
    return SoftSkin(found.triangles, found.nodes, found.weights, found.fixed)
