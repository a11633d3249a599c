"""The inverse layer: from measurements to parameters with uncertainty.  See docs/inverse.md."""

from .cloud_track import CloudTrack, RigidSkin, SoftSkin
from .continuation import EARLY, continuation, horizons
from .gradient_check import GradientReport, check_gradient, check_problem
from .identifiability import identifiability
from .losses import Cauchy, Huber, Loss, SoftL1, StudentT
from .objectives import LinearFunctional, PointTrack, PoseTrack, Term, metric_track
from .optimizers import LMOptions, lbfgs, levenberg_marquardt
from .parameters import Parameter, ParameterMap
from .polish import polish
from .problem import Evaluation, LeastSquaresProblem, Problem
from .simulation_problem import SimulationProblem
from .solution import Progress, Solution
from .trial import InitialState, Trial
from .twist_track import TwistTrack
from .uncertainty import Uncertainty, bootstrap, gauss_newton_covariance, sandwich_covariance

__all__ = [
    "EARLY", "Cauchy", "CloudTrack", "Evaluation", "GradientReport", "Huber", "InitialState",
    "LMOptions", "LeastSquaresProblem", "LinearFunctional", "Loss", "Parameter", "ParameterMap",
    "PointTrack", "PoseTrack", "Problem", "Progress", "RigidSkin", "SimulationProblem", "SoftL1",
    "SoftSkin", "Solution", "StudentT", "Term", "Trial", "TwistTrack", "Uncertainty", "bootstrap",
    "check_gradient", "check_problem", "continuation", "gauss_newton_covariance", "horizons",
    "identifiability", "lbfgs", "levenberg_marquardt", "metric_track", "polish",
    "sandwich_covariance",
]  # fmt: skip
