"""A simulated motion: what it holds by name, and its exact derivatives."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from diffsim_ros import _engine
from diffsim_ros.errors import InputError, nearest
from diffsim_ros.real_numbers import finite
from diffsim_ros.scene.crossing import texts_of
from diffsim_ros.scene.damped_friction import damped_friction
from diffsim_ros.scene.explicit_forces import explicit_forces
from diffsim_ros.scene.vertices import centre_of, vertex_positions
from diffsim_ros.scene.without_effect import without_effect
from diffsim_ros.simulation.interrupt import interruptible
from diffsim_ros.simulation.named import NamedScene, warnings_of_start
from diffsim_ros.simulation.sent import SentRun, plain_run, refuse
from diffsim_ros.simulation.tangents import OBSERVABLE
from diffsim_ros.simulation.values import Values

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class BodyMotion:
    """The motion of one body over F recorded frames; world frame, SI units.

    A rigid or kinematic body has one node, its frame; a particle or soft body has one for every
    vertex that is free to move.
    position          (F, 3) [m], of a soft body (F, n, 3)
    velocity          (F, 3) [m/s], of a soft body (F, n, 3)
    orientation       (F, 4) quaternion (x, y, z, w), body to world; None where nothing turns
    angular_velocity  (F, 3) [rad/s]; None where nothing turns
    """

    name: str
    position: Array
    velocity: Array
    orientation: Array | None
    angular_velocity: Array | None

    def __repr__(self) -> str:
        parts = [
            f"{key} {value.shape} [{unit}]"
            for key, unit in zip(OBSERVABLE, ("m", "m/s", "x, y, z, w", "rad/s"), strict=True)
            if (value := getattr(self, key)) is not None
        ]
        return f"<motion of {self.name}: {', '.join(parts)}>"


class Rollout:
    """A motion of a scene: `rollout["cube"].position`, `rollout.outputs["ground.force"]`.

    `for name in rollout` goes over its bodies.  The engine's arrays of all nodes together are there
    too (`position` (F, nodes, 3) ...): functions of the package that take a rollout read these.
    """

    def __init__(
        self, scene: NamedScene, run: _engine.Rollout, values: Values, wrt: Sequence[int],
        mode: str,
    ) -> None:  # fmt: skip
        """run: the engine's;  values: what it ran with;  wrt: places of what gradients are by;
        mode: none, checkpoint (adjoint) or sensitivity (direct)."""
        self.scene, self.engine, self.values = scene, run, values
        self._wrt, self._forward = list(wrt), mode == "sensitivity"
        self._by = values.with_followers(self._wrt)[1]
        self.status: str = run.status
        self.ok: bool = run.ok
        self.message: str = run.message

    # --- what it holds --------------------------------------------------------------------------

    @cached_property
    def warnings(self) -> list[str]:
        """What is to be noticed of the scene, its values and this motion, a sentence each."""
        scene = self.scene
        return [
            *warnings_of_start(scene, self.values), *damped_friction(scene.parts),
            *without_effect(scene.parts, self.values),
            *explicit_forces(scene.parts, self.values), *self.engine.warnings,
            *texts_of(scene.parts, scene.surfaces, scene.engine, self),
        ]  # fmt: skip

    @cached_property
    def time(self) -> Array:
        """(F,) [s] of the recorded frames."""
        return np.asarray(self.engine.time)

    @cached_property
    def position(self) -> Array:
        """(F, nodes, 3) [m] of all nodes."""
        return np.asarray(self.engine.position)

    @cached_property
    def velocity(self) -> Array:
        """(F, nodes, 3) [m/s] of all nodes."""
        return np.asarray(self.engine.velocity)

    @cached_property
    def orientation(self) -> Array:
        """(F, nodes, 4) quaternions (x, y, z, w) of all nodes; of points (0, 0, 0, 1)."""
        return np.asarray(self.engine.orientation)

    @cached_property
    def angular_velocity(self) -> Array:
        """(F, nodes, 3) [rad/s] of all nodes; of points 0."""
        return np.asarray(self.engine.angular_velocity)

    @cached_property
    def outputs(self) -> dict[str, Array]:
        """Name -> values (F, ...) of the outputs that were asked for."""
        return dict(self.engine.outputs)

    def observed(self, name: str) -> Array:
        """Values (F, ...) of "BODY.position" and the like, of "position" and the like of all nodes,
        or of an output that was asked for; InputError for another name."""
        if name in self.outputs:
            return self.outputs[name]
        body, _, kind = name.rpartition(".")
        if kind not in OBSERVABLE or (body and body not in self.scene.bodies):
            rule = "BODY.position and the like, or an output that the rollout was asked for"
            raise InputError("rollout", "", name, rule, self._remedy(name, OBSERVABLE))
        found = getattr(self[body] if body else self, kind)
        if found is None:
            raise InputError("rollout", name, "a body that does not turn", "its position, velocity")
        return np.asarray(found)

    def __getattr__(self, name: str) -> Any:
        """What only the engine's rollout has, such as `contact_force` or `iterations`."""
        if name.startswith("_") or name == "engine":
            raise AttributeError(name)
        return getattr(self.engine, name)

    def __getitem__(self, body: str) -> BodyMotion:
        rows = self._rows(body)
        soft = self.scene.parts.bodies[body].SOFT
        only = slice(None) if soft else 0
        turns = self.scene.tangents.frames.searchsorted(rows.start)
        framed = turns < len(self.scene.tangents.frames)
        framed = framed and self.scene.tangents.frames[turns] == rows.start
        return BodyMotion(
            body,
            self.position[:, rows][:, only],
            self.velocity[:, rows][:, only],
            self.orientation[:, rows][:, 0] if framed else None,
            self.angular_velocity[:, rows][:, 0] if framed else None,
        )

    def __iter__(self) -> Iterator[str]:
        return iter(self.scene.bodies)

    def __len__(self) -> int:
        return len(self.scene.bodies)

    def __contains__(self, body: object) -> bool:
        return body in self.scene.bodies

    def __repr__(self) -> str:
        frames = len(self.time)
        lines = [f"<rollout of {self.scene.label}: {frames} frames to {self.time[-1]:.6g} s, "
                 f"{self.status}>"]  # fmt: skip
        lines += [f"  {self[name]!r}" for name in self]
        lines += [f"  output {name} {value.shape}" for name, value in self.outputs.items()]
        lines += [f"  warning: {text}" for text in self.warnings]
        if self._wrt:
            more = f" and {len(self._wrt) - 6} more" if len(self._wrt) > 6 else ""
            lines.append(f"  gradient by {', '.join(self.wrt[:6])}{more}")
        return "\n".join(lines)

    def vertices(self, body: str) -> Array:
        """Positions (F, N, 3) [m] of all vertices of a soft body, glued and fixed ones too."""
        self._rows(body)
        if not self.scene.parts.bodies[body].SOFT:
            raise InputError("rollout", "vertices", body, "a soft body")
        return vertex_positions(self.scene, self.engine, body)

    def centre(self, body: str) -> Array:
        """Positions (F, 3) [m] of a body's frame, of a soft body of its free nodes' centre of
        mass."""
        self._rows(body)
        return centre_of(self.scene, self.engine, body, self.values.array)["position"]

    @cached_property
    def energy(self) -> dict[str, Array]:
        """Kind -> energy (F,) [J]: kinetic, gravity, springs, elastic, contact, total."""
        if isinstance(self.engine, SentRun):
            refuse("energy", "outputs=['energy']")
        return dict(self.scene.engine.energies(self.engine, self.values.array))

    # --- copies -----------------------------------------------------------------------------

    def __reduce__(self) -> tuple[Any, ...]:
        """For pickle, and so for other processes: the motion and its sensitivities as plain data.
        The adjoint goes back through what only this process has: there `gradient` is refused."""
        mode = "sensitivity" if self._forward else "checkpoint" if self._wrt else "none"
        return type(self), (self.scene, plain_run(self.engine, mode), self.values, self._wrt, mode)

    def __copy__(self) -> Rollout:
        copied = object.__new__(type(self))
        copied.__dict__.update(vars(self))
        return copied

    def __deepcopy__(self, memo: dict[int, Any]) -> Rollout:
        """A copy with arrays of its own, whose scene and engine's run, which nothing changes, are
        this one's."""
        copied = copy.copy(self)
        shared = ("scene", "engine", "values")
        own = {name: value for name, value in vars(self).items() if name not in shared}
        copied.__dict__.update(copy.deepcopy(own, memo))
        return copied

    # --- derivatives ----------------------------------------------------------------------------

    @property
    def wrt(self) -> tuple[str, ...]:
        """Names of the values that gradients are by."""
        return tuple(self.values.names[k] for k in self._wrt)

    @cached_property
    def dx(self) -> Array:
        """(F, ndof, P) d(place, rotation)/dp of the engine's degrees of freedom [m, rad]."""
        return np.asarray(self.engine.dx) @ self._by

    @cached_property
    def dv(self) -> Array:
        """(F, ndof, P) d(velocity, angular velocity)/dp, likewise."""
        return np.asarray(self.engine.dv) @ self._by

    @cached_property
    def outputs_dp(self) -> dict[str, Array]:
        """Name -> d(output)/dp (F, ..., P)."""
        return {name: np.asarray(by) @ self._by for name, by in self.engine.outputs_dp.items()}

    def gradient(self, cotangents: Mapping[str, ArrayLike]) -> Values:
        """dO/dp by the values of `wrt`, from dO/d(what is observed), by the adjoint [G 4.24-4.26].

        cotangents  name of something `observed` -> dO/d(it), of exactly its shape: nothing is
                    broadcast.  That of what is not named is 0
        Exact for the discrete motion.  After a rollout with `sensitivities` by these.
        InputError: a rollout without `wrt`, an unknown name, another shape, a number not finite.
        """
        return interruptible(lambda token: self._pulled(cotangents, token))

    def _pulled(self, cotangents: Mapping[str, ArrayLike], token: _engine.CancelToken) -> Values:
        """`gradient`, which the token stops."""
        if not isinstance(cotangents, Mapping):
            rule = "a mapping: name of what is observed -> dO/d(it), of its shape"
            raise InputError("gradient", "cotangents", cotangents, rule)
        if not self._wrt:
            raise InputError("gradient", "wrt", (), "a rollout that was asked for one: wrt=[...]")
        gx, gv = self.scene.tangents.zeros(len(self.time))
        by_output: dict[str, Array] = {}
        for name, given in cotangents.items():
            own = finite("gradient", name, given, self.observed(name).shape)
            if name in self.outputs:
                by_output[name] = own
                continue
            body, _, kind = name.rpartition(".")
            rows = self._rows(body) if body else slice(None)
            own = own if own.ndim == 3 else own[:, None]
            self.scene.tangents.add(kind, own, self.engine, gx, gv, rows)
        if self._forward:
            found = np.einsum("fd,fda->a", gx, self.dx)
            found += np.einsum("fd,fda->a", gv, self.dv)
            for name, own in by_output.items():
                found += np.tensordot(own, self.outputs_dp[name], own.ndim)
        else:
            found = self.engine.gradient(gx, gv, by_output, token) @ self._by
        return Values(self.wrt, found, [self.values.units[k] for k in self._wrt])

    def sensitivity(self, name: str) -> Array:
        """d(what is observed)/dp by the values of `wrt`, with one more axis for these.

        name  "BODY.position", "BODY.velocity" or "BODY.angular_velocity": (F, 3, P), of a soft
              body (F, n, 3, P); "BODY.rotation": (F, 3, P) [rad], of the turn about the world's
              axes; or an output that was asked for: its shape and (P,)
        InputError: a rollout without `sensitivities`, an unknown name.
        """
        if not self._forward:
            rule = "a rollout that was asked for them: wrt=[...], sensitivities=True"
            raise InputError("sensitivity", "sensitivities", False, rule)
        if name in self.outputs:
            return self.outputs_dp[name]
        body, _, kind = name.rpartition(".")
        kinds = {"position": 0, "velocity": 0, "rotation": 3, "angular_velocity": 3}
        if body not in self.scene.bodies or kind not in kinds:
            rule = "BODY.position, .velocity, .rotation, .angular_velocity or an output"
            raise InputError("sensitivity", "", name, rule, self._remedy(name, kinds))
        if kinds[kind] and self[body].orientation is None:
            raise InputError("sensitivity", name, "a body that does not turn", "its position")
        dofs = self.scene.tangents.dof[self._rows(body)] + kinds[kind]
        moved = self.dx if kind in ("position", "rotation") else self.dv
        found = moved[:, dofs]
        return found if self.scene.parts.bodies[body].SOFT else found[:, 0]

    def _remedy(self, name: str, kinds: Iterable[str]) -> str:
        """How to get what the scene has and the rollout was not asked for, or the nearest name."""
        if name in self.scene.observables:
            return f"ask for it: scene.rollout(..., outputs=[{name!r}])"
        known = [*self.outputs, *(f"{b}.{k}" for b in self.scene.bodies for k in kinds)]
        return nearest(name, known)

    def _rows(self, body: str) -> slice:
        if body not in self.scene.bodies:
            known = nearest(body, self.scene.bodies)
            raise InputError("rollout", "", body, "a body of the scene", known)
        first, count = self.scene.engine.nodes_of(body)
        return slice(first, first + count)
