"""Excitation: motions of an arm whose efforts tell the most of its inertias, friction and gains."""

from .config import ExcitationConfig, load_excitation
from .design import design
from .result import ExcitationResult

__all__ = ["ExcitationConfig", "ExcitationResult", "design", "load_excitation"]
