"""What a PLAN.yaml plans, by the key that it has."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from diffsim_ros.yaml_file import read_mapping

KINDS = ("excitation", "compliant", "locomotion")
"""Keys of plans that are none of goals of a scene; each is the kind's name."""


def plan_kind(source: str | Path | Mapping) -> str:
    """One of KINDS, or "goals": any other content, which `load_plan` checks."""
    content, _ = read_mapping(source, None)
    if isinstance(content, Mapping):
        return next((kind for kind in KINDS if kind in content), "goals")
    return "goals"
