"""Tracking of legged motions: composed references, predictive control, inverse dynamics [G 3.6]."""

from .controller import ControllerOptions, TrackingController
from .footfalls import FootfallOptions, Footfalls
from .inverse_dynamics import InverseDynamics, InverseDynamicsOptions, Wanted
from .mpc import Horizon, Mpc, MpcOptions
from .reference import ComposedMotion, MotionLibrary, ReferenceStates

__all__ = [
    "ComposedMotion",
    "ControllerOptions",
    "FootfallOptions",
    "Footfalls",
    "Horizon",
    "InverseDynamics",
    "InverseDynamicsOptions",
    "MotionLibrary",
    "Mpc",
    "MpcOptions",
    "ReferenceStates",
    "TrackingController",
    "Wanted",
]
