"""Scene files: read, checked, resolved and built into an engine scene (docs/scene.md)."""

from diffsim_ros.scene.model import BodyInfo, SceneModel, SdfInfo, load_scene
from diffsim_ros.scene.parameters import ParameterSpec

__all__ = ["BodyInfo", "ParameterSpec", "SceneModel", "SdfInfo", "load_scene"]
