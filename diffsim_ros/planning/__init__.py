"""Planning: motions that reach goals, found with the derivatives of the simulated motion."""

from .config import PlanConfig, load_plan
from .plan import PlanResult, plan

__all__ = ["PlanConfig", "PlanResult", "load_plan", "plan"]
