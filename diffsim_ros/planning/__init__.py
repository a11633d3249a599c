"""Planning: motions that reach goals, found with the derivatives of the simulated motion."""

from .config import PlanConfig
from .kind import plan_kind
from .load import load_plan
from .plan import plan
from .result import PlanResult

__all__ = ["PlanConfig", "PlanResult", "load_plan", "plan", "plan_kind"]
