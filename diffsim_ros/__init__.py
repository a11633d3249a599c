"""diffsim_ros: differentiable simulation for real2sim and planning with ROS 2.

>>> import diffsim_ros as ds
>>> scene = ds.load_scene("config/scenes/bouncing_cube.yaml")
>>> rollout = scene.rollout({"cube.mass": 0.4}, wrt=["cube.velocity.x", "cube.mass"])
>>> end = 0 * rollout["cube"].position
>>> end[-1, 2] = 1.0  # dO/d(position): the objective is the last height
>>> list(rollout.gradient({"cube.position": end}))
['cube.velocity.x', 'cube.mass']

Importing this package is cheap: the engine, NumPy and SciPy are imported when a name is first
used, ROS by the nodes alone.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from diffsim_ros.errors import InputError, NotConverged
    from diffsim_ros.planning import PlanConfig, PlanResult, load_plan, plan
    from diffsim_ros.real2sim.config import EstimationConfig, load_estimation
    from diffsim_ros.real2sim.estimate import estimate
    from diffsim_ros.real2sim.results import EstimationResult
    from diffsim_ros.simulation import (
        BodyMotion,
        Linearization,
        Rollout,
        RolloutBatch,
        Scene,
        SceneBuilder,
        State,
        Values,
        load_scene,
    )

__version__ = "0.1.0"

__all__ = [
    "BodyMotion", "EstimationConfig", "EstimationResult", "InputError", "Linearization",
    "NotConverged", "PlanConfig", "PlanResult", "Rollout", "RolloutBatch", "Scene", "SceneBuilder",
    "State", "Values", "estimate", "load_estimation", "load_plan", "load_scene", "plan",
]  # fmt: skip

_MODULES = {
    "errors": ("InputError", "NotConverged"),
    "planning": ("PlanConfig", "PlanResult", "load_plan", "plan"),
    "real2sim.config": ("EstimationConfig", "load_estimation"),
    "real2sim.estimate": ("estimate",),
    "real2sim.results": ("EstimationResult",),
    "simulation": (
        "BodyMotion", "Linearization", "Rollout", "RolloutBatch", "Scene", "SceneBuilder", "State",
        "Values", "load_scene",
    ),
}  # fmt: skip


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used (PEP 562)."""
    for module, names in _MODULES.items():
        if name in names:
            found = getattr(importlib.import_module(f"{__name__}.{module}"), name)
            globals()[name] = found
            return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
