"""Stepping a scene from state to state, for feedback in the loop, and the derivatives of a step."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from diffsim_ros import _engine
from diffsim_ros.errors import InputError, NotConverged, nearest
from diffsim_ros.fields import whole_number
from diffsim_ros.real_numbers import finite, numbers
from diffsim_ros.simulation.interrupt import interruptible
from diffsim_ros.simulation.named import NamedScene
from diffsim_ros.simulation.values import Values

Array = NDArray[np.float64]
PullBack = Callable[..., tuple[Values, Array]]
T = TypeVar("T")

WORTH_A_THREAD = 2000
"""Steps times degrees of freedom from which a call may last, so that it must answer to Ctrl-C."""


@dataclass(frozen=True, eq=False)
class State:
    """Where a scene stands: what a step goes on from.  It never changes.

    values    the scene's numbers that hold from here on
    snapshot  the engine's state, with that of a step before where the time scheme looks back
    """

    scene: NamedScene
    values: Values
    snapshot: _engine.Snapshot

    @property
    def time(self) -> float:
        """[s] since the start."""
        return float(self.snapshot.t)

    def observe(self, names: str | Sequence[str]) -> Array:
        """Numbers of `scene.observables` here, one after the other, (n,): ["hinge.coordinate"].

        InputError for another name.
        """
        wanted = checked_names(self.scene, names)
        return np.asarray(
            self.scene.engine.outputs_at(
                self.snapshot, self.values.array, wanted, self.scene.options
            )
        )

    def __deepcopy__(self, memo: dict[int, Any]) -> State:
        """Itself, as nothing changes it."""
        return self

    def __repr__(self) -> str:
        return f"<state of {self.scene.label} at {self.time:.6g} s>"


@dataclass(frozen=True, eq=False)
class Linearization:
    """A step about a state and controls: dx' = A dx + B du, dy = C dx + D du.

    x holds d = len(names) changes of place (of a body's rotation about the world's axes [rad]) and
    their rates, (dq, dv), and, where the scheme looks back on two steps (bdf2), those of the step
    before: n = 2 d or 4 d.
    A (n, n);  B (n, m) by `controls`;  C (k, n), D (k, m) of what was observed after the step
    names      of the degrees of freedom, such as cube.position.x or hinge
    state      where the step led;  observed (k,) there
    """

    A: Array
    B: Array
    C: Array
    D: Array
    names: tuple[str, ...]
    controls: tuple[str, ...]
    state: State
    observed: Array

    def __repr__(self) -> str:
        shapes = ", ".join(f"{name} {getattr(self, name).shape}" for name in "ABCD")
        return f"<linearization at {self.state.time:.6g} s: {shapes}; x of {', '.join(self.names)}>"


def checked_names(scene: NamedScene, names: str | Sequence[str]) -> list[str]:
    """Names of observables as a list; InputError for an unknown or a repeated one."""
    wanted = [names] if isinstance(names, str) else list(names)
    for k, name in enumerate(wanted):
        if name not in scene.observables:
            rule = "one of scene.observables"
            raise InputError("observe", "", name, rule, nearest(name, scene.observables))
        if name in wanted[:k]:
            raise InputError("observe", "", name, "each name once")
    return wanted


class Stepping:
    """The steps of one scene."""

    def __init__(self, scene: NamedScene) -> None:
        self.scene = scene

    def start(self, values: Values, joints: Mapping[str, tuple[float, float]]) -> State:
        """Where the scene starts; see `Scene.start`."""
        at = {}
        for name, pair in joints.items():
            at[name] = numbers("start", name, pair)
            if at[name].shape != (2,) or not np.isfinite(at[name]).all():
                raise InputError("start", name, pair, "(coordinate, rate), finite numbers")
        return State(self.scene, values, self.scene.engine.snapshot(values.array, at))

    def run(
        self, state: State, controls: Mapping[str, float] | None, steps: int, wrt: Sequence[int],
        observe: Sequence[str], mode: str,
    ) -> tuple[State, _engine.Segment]:  # fmt: skip
        """The state after `steps` steps, and the engine's segment."""
        if state.scene.engine is not self.scene.engine and not self.scene.same(state.scene):
            raise InputError("step", "state", state, "a state of this scene")
        steps = whole_number("step", "steps", steps, 1)
        p = state.values.replaced(controls)
        for name in self._initial.intersection(controls or ()):
            rule = "a value that acts during steps; this one acts at the start alone"
            raise InputError("step", "controls", name, rule, "give it to scene.start(...)")

        def work(token: _engine.CancelToken) -> _engine.Segment:
            return _engine.Segment(
                self.scene.engine, [state.snapshot], p.array[None], steps, self.scene.options,
                active=list(wrt), mode=mode, threads=1, outputs=list(observe), cancel=token,
            )  # fmt: skip

        segment = self._run(work, steps)
        if not segment.ok[0]:
            raise NotConverged(f"step at {state.time:.6g} s: {segment.failure(0)}")
        return State(self.scene, state.values, segment.ends[0]), segment

    def _run(self, work: Callable[[_engine.CancelToken], T], steps: int) -> T:
        """work(token), so that Ctrl-C ends it where it may last."""
        lasts = steps * self.ndof >= WORTH_A_THREAD
        return interruptible(work) if lasts else work(_engine.CancelToken())

    @cached_property
    def _initial(self) -> frozenset[str]:
        return frozenset(info.name for info in self.scene.engine.parameters if info.initial)

    def vjp(
        self, state: State, controls: Mapping[str, float] | None, steps: int, wrt: Sequence[int],
        observe: Sequence[str],
    ) -> tuple[State, Array, PullBack]:  # fmt: skip
        """See `Scene.vjp`."""
        for name in (self.scene.values.names[k] for k in wrt):
            if name in self._initial:
                rule = "values that act during steps; this one acts at the start alone"
                remedy = "take scene.rollout(wrt=...), or go back to the start by by_state"
                raise InputError("step", "wrt", name, rule, remedy)
        places, by = state.values.replaced(controls).with_followers(wrt)
        end, segment = self.run(state, controls, steps, places, observe, "store")
        size = segment.outputs.shape[1]
        names = [self.scene.values.names[k] for k in wrt]
        units = [self.scene.values.units[k] for k in wrt]

        def pull_back(
            by_observed: ArrayLike | None = None, by_state: ArrayLike | None = None
        ) -> tuple[Values, Array]:
            """dO/d(values of wrt) and cotangents (4, ndof) of the state that the step began with.

            by_observed  (n,) dO/d(observed);  by_state (4, ndof) cotangents of the state after the
            step, as another step's pull_back returns them
            """
            y = _cotangent("by_observed", by_observed, (size,))
            x = _cotangent("by_state", by_state, (4, self.ndof))

            def work(token: _engine.CancelToken) -> tuple[Array, Array]:
                return segment.gradient(y[None], x[None], 1, token)

            by_p, start = self._run(work, steps)
            return Values(names, by_p[0] @ by, units), np.asarray(start[0])

        return end, np.asarray(segment.outputs[0]), pull_back

    @cached_property
    def ndof(self) -> int:
        """Degrees of freedom of the engine, those of bodies that joints carry included."""
        return int(self.scene.engine.ndof)

    def linearize(
        self, state: State, controls: Mapping[str, float] | None, steps: int, wrt: Sequence[int],
        observe: Sequence[str],
    ) -> Linearization:  # fmt: skip
        """See `Scene.linearize`: one pull back per row."""
        dofs = np.asarray(self.scene.engine.state_dofs)
        end, observed, pull_back = self.vjp(state, controls, steps, wrt, observe)
        backs = 4 if self._looks_back else 2
        p = state.values.replaced(controls).array
        rows, by_p = [], []
        for k in range(backs * len(dofs) + len(observed)):
            by_state, by_observed = np.zeros((4, self.ndof)), np.zeros(len(observed))
            if k < backs * len(dofs):
                by_state[k // len(dofs), dofs[k % len(dofs)]] = 1.0
            else:
                by_observed[k - backs * len(dofs)] = 1.0
            gradient, start = pull_back(by_observed, by_state)
            start = self.scene.engine.pull_to_state_dofs(p, state.snapshot, start)
            rows.append(start[:backs][:, dofs].ravel())
            by_p.append(gradient.array)
        n = backs * len(dofs)
        by_x = np.array(rows).reshape(len(rows), n)
        by_u = np.array(by_p).reshape(len(rows), len(wrt))
        return Linearization(
            by_x[:n], by_u[:n], by_x[n:], by_u[n:],
            tuple(self.scene.engine.dof_name(int(dof)) for dof in dofs),
            tuple(self.scene.values.names[k] for k in wrt), end, observed,
        )  # fmt: skip

    @property
    def _looks_back(self) -> bool:
        options = self.scene.options
        return bool(options.stepper == "implicit" and options.order == 2)


def _cotangent(name: str, given: ArrayLike | None, shape: tuple[int, ...]) -> Array:
    if given is None:
        return np.zeros(shape)
    return finite("pull_back", name, given, shape)
