"""Scenes at rest: where they come to rest, how they vibrate about it, and both's derivatives.

at_rest      the forces, stiffness and mass of a whole scene at a pose
equilibrium  the pose at which all forces vanish
sparse       solutions with a stiffness matrix that may have free directions
modes        frequencies and shapes of small vibrations
measured     measured places at rest and frequencies as objectives, and their problem
"""

from diffsim_ros.statics.equilibrium import Equilibrium, equilibrium
from diffsim_ros.statics.measured import Frequencies, PlacesAtRest, rest_problem
from diffsim_ros.statics.modes import Modes, modes

__all__ = [
    "Equilibrium", "Frequencies", "Modes", "PlacesAtRest", "equilibrium", "modes", "rest_problem",
]  # fmt: skip
