"""Tracking of legged motions: composed references, predictive control, inverse dynamics [G 3.6]."""

from .body_integral import BodyIntegral, IntegralOptions
from .contact_state import ContactModel
from .controller import ControllerOptions, TrackingController
from .footfalls import FootfallOptions, Footfalls
from .inverse_dynamics import InverseDynamics, InverseDynamicsOptions, Wanted
from .mpc import Horizon, Mpc, MpcOptions
from .reference import ComposedMotion, MotionLibrary, ReferenceStates

__all__ = [
    "BodyIntegral",
    "ComposedMotion",
    "ContactModel",
    "ControllerOptions",
    "FootfallOptions",
    "Footfalls",
    "Horizon",
    "IntegralOptions",
    "InverseDynamics",
    "InverseDynamicsOptions",
    "MotionLibrary",
    "Mpc",
    "MpcOptions",
    "ReferenceStates",
    "TrackingController",
    "Wanted",
]
