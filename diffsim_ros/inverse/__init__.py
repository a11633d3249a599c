"""From measurements to parameters with uncertainty.  See docs/explanation/inverse.md."""

from ..parameter import Parameter
from .adam import AdamOptions, adam
from .apex import Apex
from .bands import Band, prediction_bands
from .cloud_track import CloudTrack, RigidSkin, SoftSkin
from .continuation import EARLY, continuation, growing, horizons, three_phases
from .gradient_check import GradientReport, check_gradient, check_problem
from .gradient_settling import SettlingReport, check_settling
from .identifiability import identifiability
from .losses import Cauchy, Huber, Loss, SoftL1, StudentT
from .objectives import LinearFunctional, PoseTrack, Term, metric_track
from .optimizers import LMOptions, lbfgs, levenberg_marquardt
from .output_goals import OutputCost, OutputGoal
from .output_track import OutputTrack
from .parameters import ParameterMap
from .pinned import Pinned
from .polish import polish
from .problem import Evaluation, LeastSquaresProblem, Problem
from .profile import Profile, profile
from .simulation_problem import SimulationProblem
from .solution import Iteration, Solution
from .step_error import StepErrors, step_errors, step_for
from .trial import InitialState, Trial
from .twist_track import TwistTrack
from .uncertainty import (
    Uncertainty,
    bootstrap,
    correlated_covariance,
    gauss_newton_covariance,
    residual_noise,
    sandwich_covariance,
)

__all__ = [
    "EARLY", "AdamOptions", "Apex", "Band", "Cauchy", "CloudTrack", "Evaluation", "GradientReport",
    "Huber", "InitialState", "Iteration", "LMOptions", "LeastSquaresProblem", "LinearFunctional",
    "Loss", "OutputCost", "OutputGoal", "OutputTrack", "Parameter", "ParameterMap", "Pinned",
    "PoseTrack", "Problem", "Profile",
    "RigidSkin", "SettlingReport", "SimulationProblem", "SoftL1", "SoftSkin", "Solution",
    "StepErrors", "StudentT", "Term", "Trial", "TwistTrack", "Uncertainty", "adam", "bootstrap",
    "check_gradient", "check_problem", "check_settling", "continuation", "correlated_covariance",
    "gauss_newton_covariance", "growing", "horizons", "identifiability", "lbfgs",
    "levenberg_marquardt", "metric_track", "polish", "prediction_bands", "profile",
    "residual_noise", "sandwich_covariance", "step_errors", "step_for", "three_phases",
]  # fmt: skip
