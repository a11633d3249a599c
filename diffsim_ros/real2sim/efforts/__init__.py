"""Arms from logged positions and efforts: inertias, gains and friction by inverse dynamics."""

from .base_parameters import BaseParameters, base_parameters
from .identify import EffortModel, EffortOptions, JointError, errors_of, identify

__all__ = [
    "BaseParameters",
    "EffortModel",
    "EffortOptions",
    "JointError",
    "base_parameters",
    "errors_of",
    "identify",
]
