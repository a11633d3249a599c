"""Simulating from Python: scenes, rollouts, steps and their derivatives (docs/reference/api.md)."""

from diffsim_ros.simulation.batch import RolloutBatch
from diffsim_ros.simulation.builder import SceneBuilder
from diffsim_ros.simulation.rollout import BodyMotion, Rollout
from diffsim_ros.simulation.scene import Scene, load_scene
from diffsim_ros.simulation.state import Linearization, State
from diffsim_ros.simulation.values import Values

__all__ = [
    "BodyMotion", "Linearization", "Rollout", "RolloutBatch", "Scene", "SceneBuilder", "State",
    "Values", "load_scene",
]  # fmt: skip
