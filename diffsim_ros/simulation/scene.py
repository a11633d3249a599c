"""A scene to simulate: rollouts, batches, steps, and the derivatives of all of them."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from functools import cached_property
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from diffsim_ros import _engine
from diffsim_ros.errors import InputError, NotConverged
from diffsim_ros.fields import whole_number
from diffsim_ros.output import write_text, write_yaml
from diffsim_ros.real_numbers import finite
from diffsim_ros.scene import load_scene as load_model
from diffsim_ros.simulation.batch import RolloutBatch, batch_values
from diffsim_ros.simulation.interrupt import interruptible
from diffsim_ros.simulation.named import NamedScene
from diffsim_ros.simulation.rollout import Rollout
from diffsim_ros.simulation.sent import SentRun, one_motion
from diffsim_ros.simulation.state import (
    Linearization,
    PullBack,
    State,
    Stepping,
    checked_names,
)
from diffsim_ros.simulation.values import Values

if TYPE_CHECKING:
    from diffsim_ros.executors import Executor

Array = NDArray[np.float64]
Numbers = Mapping[str, float] | ArrayLike | None
Objective = Callable[[Rollout], tuple[float, Mapping[str, ArrayLike]]]


class Scene(NamedScene):
    """A checked scene that can be simulated; made by `load_scene` or `SceneBuilder.build`.

    Numbers of a run are given by name, `{"cube.mass": 0.3}`, or all as an array in the order of
    `values`; what is not given has the scene's value.  Gradients are exact derivatives of the
    discrete motion as it was run (docs/explanation/engine.md).  Long calls release the interpreter
    lock and end on Ctrl-C.
    """

    @property
    def time_step(self) -> float:
        """[s]"""
        return float(self.options.step)

    @property
    def duration(self) -> float:
        """Simulated time of a rollout without `duration` [s]."""
        return self.steps * self.time_step

    def __repr__(self) -> str:
        bodies = ", ".join(f"{name} ({info.kind})" for name, info in self.bodies.items())
        return (
            f"<scene {self.label}: {self.steps} steps of {self.time_step:.6g} s; bodies {bodies}; "
            f"{len(self.values)} values, {len(self.observables)} observables>"
        )

    def write(self, path: str | Path) -> None:
        """Write the resolved scene as a YAML file, which `load_scene` reads again."""
        write_yaml(Path(path), self.description)

    def export(self, folder: str | Path, *, impact: float = 1.0) -> dict[str, list[str]]:
        """Write the scene for MuJoCo (scene.mjcf.xml), URDF (Drake, ROS) and SDF (Gazebo).

        impact  speed [m/s] at which MuJoCo's and Gazebo's contacts, whose damping is linear, bounce
                as the scene's
        Returns file -> what of the scene it lacks, in words.  Raises InputError for a speed that is
        not above 0, or a scene without rigid body, particle and solid; FileExistsError, before
        anything is written, where a file of that name is there.
        """
        from diffsim_ros.scene.export import exported  # with SciPy

        files, lacks = exported(self, impact)
        for name in files:
            if (Path(folder) / name).exists():
                raise FileExistsError(17, "file exists", str(Path(folder) / name))
        Path(folder).mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            write_text(Path(folder) / name, content)
        return lacks

    # --- whole motions --------------------------------------------------------------------------

    def rollout(
        self,
        values: Numbers = None,
        *,
        duration: float | None = None,
        wrt: str | Sequence[str] = (),
        outputs: str | Sequence[str] = (),
        sensitivities: bool = False,
        contact_modes: bool = False,
        allow_failure: bool = False,
    ) -> Rollout:
        """Simulate from the start; recorded are every `world.record_every` steps, and the end.

        values         numbers that differ from the scene's, by name, or all (np,)
        duration       [s], rounded to whole steps [the scene's]
        wrt            names or patterns (`cube.velocity.*`) of the values that gradients are by
        outputs        of `observables`, to be reported at every recorded frame
        sensitivities  True: derivatives are carried forward, for `Rollout.sensitivity`; cheap for
                       few values.  False: `Rollout.gradient` goes back through the motion
        contact_modes  True: `Rollout.modes` says of every step which contact points stick or slip
        allow_failure  True: a motion that stops early is returned as far as it went (`ok` False)
        Raises InputError for what is not known or not finite, NotConverged for a step that failed.
        """
        p = self.values.replaced(values)
        chosen, mode = self._derivatives(wrt, sensitivities)
        asked, steps = checked_names(self, outputs), self._steps(duration)
        options = self._recording(contact_modes)
        active = p.with_followers(chosen)[0]
        run = interruptible(
            lambda token: _engine.rollout(
                self.engine, p.array, steps, options, active=active, mode=mode,
                cancel=token, outputs=asked,
            )
        )  # fmt: skip
        if not run.ok and not allow_failure:
            raise NotConverged(f"{self.label}: {run.status}: {run.message}")
        return Rollout(self, run, p, chosen, mode)

    def rollout_batch(
        self,
        values: Mapping[str, ArrayLike] | ArrayLike,
        *,
        duration: float | None = None,
        wrt: str | Sequence[str] = (),
        outputs: str | Sequence[str] = (),
        sensitivities: bool = False,
        allow_failure: bool = False,
        threads: int = 0,
        executor: Executor | None = None,
    ) -> RolloutBatch:
        """Simulate B motions side by side on the engine's threads; see `rollout`.

        values    name -> number or (B,), or all numbers (B, np)
        threads   0: every core; results do not depend on it
        executor  simulates them (diffsim_ros.executors: on a Ray cluster, for example), each on one
                  thread, with the same results [the engine's threads].  Motions come back whole;
                  derivatives need `sensitivities`, for the adjoint stays where it was simulated
        """
        P = batch_values(self.values, values)
        chosen, mode = self._derivatives(wrt, sensitivities)
        active = self.values.with_followers(chosen)[0]
        asked, steps = checked_names(self, outputs), self._steps(duration)
        threads = whole_number("rollout_batch", "threads", threads, 0)
        if executor is not None and mode == "checkpoint":
            rule = "True for derivatives by an executor"
            raise InputError("rollout_batch", "sensitivities", False, rule)

        options = self._recording()

        def work(token: _engine.CancelToken) -> Sequence[Any]:
            if executor is None:
                return _engine.rollout_batch(
                    self.engine, P, steps, options, active=active, mode=mode, threads=threads,
                    cancel=token, outputs=asked,
                )  # fmt: skip
            from diffsim_ros.executors import gather

            shared = self, steps, active, mode, asked
            found = gather(one_motion, list(P), shared, executor=executor, cancel=token)
            return [SentRun(held) for held in found if held is not None]

        runs = interruptible(work)
        for k, run in enumerate(runs):
            if not run.ok and not allow_failure:
                raise NotConverged(f"{self.label}, motion {k}: {run.status}: {run.message}")
        each = [
            Rollout(self, run, self.values.replaced(p), chosen, mode)
            for run, p in zip(runs, P, strict=True)
        ]
        return RolloutBatch(each, threads)

    def value_and_gradient(
        self,
        objective: Objective,
        values: Numbers = None,
        *,
        wrt: str | Sequence[str],
        duration: float | None = None,
        outputs: str | Sequence[str] = (),
    ) -> tuple[float, Values]:
        """O and dO/dp of an objective of the motion.

        objective  Rollout -> (O, cotangents): its value, and dO/d(what it looks at) by name, as
                   `Rollout.gradient` takes them
        The others as in `rollout`.
        """
        motion = self.rollout(values, duration=duration, wrt=wrt, outputs=outputs)
        found = objective(motion)
        known = isinstance(found, tuple | list) and len(found) == 2
        if not known or not isinstance(found[1], Mapping):
            rule = "(O, cotangents): its value, and name of what is observed -> dO/d(it)"
            raise InputError("value_and_gradient", "objective", found, rule)
        value = finite("value_and_gradient", "objective", found[0], ())
        return float(value), motion.gradient(found[1])

    # --- step by step ---------------------------------------------------------------------------

    @cached_property
    def _stepping(self) -> Stepping:
        return Stepping(self)

    def start(
        self, values: Numbers = None, *, joints: Mapping[str, tuple[float, float]] | None = None
    ) -> State:
        """The state that a motion with these values starts from.

        joints  hinges and sliders in reduced coordinates -> (coordinate [rad or m], rate)
        """
        return self._stepping.start(self.values.replaced(values), joints or {})

    def step(
        self, state: State, controls: Mapping[str, float] | None = None, *, steps: int = 1
    ) -> State:
        """The state after `steps` time steps in which `controls` replace the state's values.

        controls  of `values`, such as a motor's torque or a force; they do not outlast the call
        Raises NotConverged where a step fails, InputError for a value that acts at the start alone.
        """
        return self._stepping.run(state, controls, steps, [], [], "none")[0]

    def vjp(
        self,
        state: State,
        controls: Mapping[str, float] | None = None,
        *,
        steps: int = 1,
        wrt: str | Sequence[str] | None = None,
        observe: str | Sequence[str] = (),
    ) -> tuple[State, Array, PullBack]:
        """A step, what is observed after it, and its vector-Jacobian product.

        wrt  of `values` that act during steps [the names of controls]
        Returns (state, observed (n,), pull_back): pull_back(by_observed, by_state) gives dO/d(wrt)
        and the cotangents (4, ndof) of `state`, which the pull_back of the step before takes.
        """
        return self._stepping.vjp(
            state, controls, steps, self._by(controls, wrt), checked_names(self, observe)
        )

    def linearize(
        self,
        state: State,
        controls: Mapping[str, float] | None = None,
        *,
        steps: int = 1,
        wrt: str | Sequence[str] | None = None,
        observe: str | Sequence[str] = (),
    ) -> Linearization:
        """A, B, C, D of a step about a state, exact, for LQR, Kalman filters and the like.

        In the coordinates of joints in reduced coordinates; InputError with constrained joints.
        wrt  of `values` that act during steps [the names of controls]
        """
        return self._stepping.linearize(
            state, controls, steps, self._by(controls, wrt), checked_names(self, observe)
        )

    def stream(
        self, values: Numbers = None, *, duration: float | None = None, every: int | None = None
    ) -> Iterator[State]:
        """The start, then the state after every `every` steps [the scene's record_every]."""
        given = self.options.record_every if every is None else every
        every = whole_number("stream", "every", given, 1)
        state, left = self.start(values), self._steps(duration)
        yield state
        while left > 0:
            state = self.step(state, steps=min(every, left))
            left -= every
            yield state

    # --------------------------------------------------------------------------------------------

    def _recording(self, contact_modes: bool = False) -> _engine.Options:
        """The scene's options, to record the end of a motion wherever it is."""
        options = copy.copy(self.options)
        options.record_end = True
        options.record_modes |= contact_modes
        return options

    def _by(
        self, controls: Mapping[str, float] | None, wrt: str | Sequence[str] | None
    ) -> list[int]:
        return self.values.indices(list(controls or {}) if wrt is None else wrt)

    def _derivatives(self, wrt: str | Sequence[str], sensitivities: bool) -> tuple[list[int], str]:
        chosen = self.values.indices(wrt)
        if sensitivities and not chosen:
            raise InputError("rollout", "wrt", wrt, "names, as sensitivities are by some values")
        return chosen, "none" if not chosen else "sensitivity" if sensitivities else "checkpoint"

    def _steps(self, duration: float | None) -> int:
        if duration is None:
            return self.steps
        known = isinstance(duration, Real) and not isinstance(duration, bool)
        steps = round(duration / self.time_step) if known and math.isfinite(duration) else 0
        if steps < 1:
            rule = f"a time of at least a step, {self.time_step:.6g} s"
            raise InputError("rollout", "duration", duration, rule)
        return steps


def load_scene(
    source: str | Path | Mapping[str, Any],
    *,
    base: str | Path | None = None,
    estimated: str | Path | None = None,
) -> Scene:
    """Read a scene file, or a mapping with the same keys (docs/reference/scene.md).

    base       folder, or file, that paths in a mapping are relative to
    estimated  result.yaml of an estimation, whose values the scene takes
    Raises InputError: file, path inside it, value, rule, remedy.
    """
    model = load_model(source, base=base, estimated=estimated)
    return Scene(**{field.name: getattr(model, field.name) for field in fields(model)})
