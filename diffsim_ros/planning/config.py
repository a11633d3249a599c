"""A checked plan, and the interfaces of its goals and its arm's task (load.py reads PLAN.yaml)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Protocol

import numpy as np

from ..errors import InputError
from ..fields import Reader
from ..inverse.guides import KeyLimit
from ..inverse.objectives import BodySlot, Objective
from ..inverse.parameters import ParameterMap
from ..parameter import Parameter
from ..robots.arm import Arm
from ..robots.controller import Settings
from ..robots.robot import Capsule
from ..scene.model import SceneModel
from .arm_motion import Carried
from .robust import Robust


class GoalObjective(Objective, Protocol):
    """An objective of the inverse layer that a plan is to reach (goals/)."""

    @property
    def tolerance(self) -> float:
        """Tolerance [m, m/s, rad, or an output's unit]."""
        ...

    @property
    def targets(self) -> np.ndarray:
        """Places (n, 3) [m, world] that are aimed at, none for other goals."""
        ...

    @property
    def row(self) -> int | None:
        """Row of the rollout at which the body itself is to be at one place; None: another goal."""
        ...

    def aimed_at(self, place: np.ndarray) -> GoalObjective:
        """Return the goal with this place (3,) [m, world] for all `targets`."""
        ...

    def reached(self, rollout: Any, slot: BodySlot) -> float:
        """Distance of a motion from it, in the unit of the tolerance."""
        ...


class Task(Protocol):
    """A task of an arm in a plan (tasks/).

    parameters    controls that it adds;  controls_key  of the YAML, for messages
    margin        share of the arm's limits of rates that the plan may use
    tracking      controller whose lag is anticipated, None: none is
    jitter        [s] standard deviation of a release;  holds  it holds what it releases
    """

    @property
    def arm(self) -> Arm:
        """The arm, in the world."""
        ...

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """See the class."""
        ...

    @property
    def controls_key(self) -> str:
        """See the class."""
        ...

    @property
    def margin(self) -> float:
        """See the class."""
        ...

    @property
    def tracking(self) -> Settings | None:
        """See the class."""
        ...

    @property
    def jitter(self) -> float:
        """See the class."""
        ...

    @property
    def holds(self) -> bool:
        """See the class."""
        ...

    def bound(
        self, reader: Reader, scene: SceneModel, parameters: list[Parameter]
    ) -> tuple[SceneModel, list[Parameter], list[Any]]:
        """Scene, controls, and groups of these that set parameters of the engine together."""
        ...

    def held(self, scene: SceneModel) -> list[Capsule]:
        """What the arm holds, for distances."""
        ...

    def carried(self, config: PlanConfig, controls: Mapping[str, float]) -> Carried:
        """The joints' motion for these controls; InputError naming joint and limit."""
        ...

    def deviation(
        self, config: PlanConfig, controls: Mapping[str, float], carried: Carried
    ) -> dict[str, float]:
        """Parameter of the scene -> its difference with the joints as executed."""
        ...

    def tightened(
        self, config: PlanConfig, bound: InputError, controls: Mapping[str, float], load: Callable
    ) -> tuple[PlanConfig, str]:
        """The plan with tighter bounds where a limit stopped it, and a sentence.

        load  load.load_plan.  Raises `bound` itself where that would not help.
        """
        ...

    def to_twin(
        self, scene: dict[str, Any], shift: dict[str, np.ndarray], jitter: float
    ) -> dict[str, Any]:
        """Entries of a TWIN.yaml; what the arm moves is removed from `scene`.

        shift  body -> (3,) [m] in the tool's frame of what is held; what is used is taken out
        """
        ...


@dataclass(frozen=True)
class PlanConfig:
    """A checked plan: the scene's model, controls, objectives of the goals, search options.

    map        controls as free parameters
    goals      objectives of the inverse layer, tolerances as their sigmas
    search     section `search`
    source     the mapping as read (provenance)
    together   objectives that smooth keys of kinematic bodies
    limits     of their speed, acceleration and jerk
    guides     names of goals that guide the search and need not be reached
    task       the arm's task, None: no arm
    robust     samples over which the plan is robust
    notes      sentences for whoever reads its results
    """

    place: str
    name: str
    scene: SceneModel
    map: ParameterMap
    goals: tuple[GoalObjective, ...]
    search: Mapping[str, Any]
    source: Mapping
    together: tuple[Objective, ...] = ()
    limits: tuple[KeyLimit, ...] = ()
    guides: frozenset[str] = frozenset()
    # `Any` where None is meant that who asks for it never meets
    task: Task | Any = None
    robust: Robust | Any = None
    notes: tuple[str, ...] = ()

    def __getstate__(self) -> dict[str, Any]:
        """The map without the engine's scene, which `scene` builds again."""
        kept = {one.name: getattr(self, one.name) for one in fields(self)}
        return {**kept, "map": (self.map.parameters, self.map.groups)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        parameters, groups = state["map"]
        controls = ParameterMap(parameters, state["scene"].engine, groups)
        self.__dict__.update(state, map=controls)

    @property
    def objectives(self) -> tuple[Objective, ...]:
        """All that the search minimises."""
        return (*self.goals, *self.together, *self.limits)
