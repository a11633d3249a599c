"""Scene files: read, checked, resolved and built into an engine scene (docs/reference/scene.md)."""

from diffsim_ros.scene.bodies import BodyInfo
from diffsim_ros.scene.model import SceneModel, load_scene
from diffsim_ros.scene.sdfs import SdfInfo

__all__ = ["BodyInfo", "SceneModel", "SdfInfo", "load_scene"]
