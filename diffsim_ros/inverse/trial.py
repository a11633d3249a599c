"""One recording: its start, length and measurements, and the nuisance variables of its start."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from diffsim_ros.errors import InputError

from ..rotation import left_jacobian, left_jacobian_inverse, quat_exp, quat_log, quat_multiply
from .losses import Loss
from .objectives import Objective

AXES = ("x", "y", "z")


@dataclass(frozen=True)
class InitialState:
    """Start of one body in one trial, with the prior of it  [Eq. 11].

    position (3,) [m], orientation (4,) xyzw, velocity (3,) [m/s], angular_velocity (3,) [rad/s],
    all world frame; a particle leaves orientation and angular_velocity None.
    The true start is this one moved by the tangent offset o (12,) = (dc, dphi, dv, domega), of a
    particle (6,) = (dc, dv), with o = L u + sum_i slope_i (value_i - reference_i).
    covariance  (12, 12) of o from the pre-contact fit, L its Cholesky factor and u ~ N(0, 1) the
                nuisance variables; needed where starts are nuisance variables.  Frames that were
                used for it must not be residuals too: they would count twice and sigma be too
                small.
    slopes      parameter -> (reference value, (12,) slope): how the fit moves with a shared
                parameter, e.g. the fitted vertical velocity with gravity
    """

    body: str
    position: np.ndarray
    orientation: np.ndarray | None
    velocity: np.ndarray
    angular_velocity: np.ndarray | None = None
    covariance: np.ndarray | None = None
    slopes: Mapping[str, tuple[float, np.ndarray]] = field(default_factory=dict)
    factor: np.ndarray = field(init=False, repr=False, compare=False)  # L; None: no covariance

    def __post_init__(self) -> None:
        for key in ("position", "orientation", "velocity", "angular_velocity"):
            value = getattr(self, key)
            if value is None:
                continue
            array = np.asarray(value, float)
            shape = (4,) if key == "orientation" else (3,)
            if array.shape != shape or not np.all(np.isfinite(array)):
                raise InputError(f"start of {self.body!r}", key, value, f"{shape}, finite")
            object.__setattr__(self, key, array)
        if (self.orientation is None) != (self.angular_velocity is None):
            raise InputError(
                f"start of {self.body!r}", "angular_velocity", self.angular_velocity,
                "given together with orientation",
            )  # fmt: skip
        object.__setattr__(self, "factor", self._factorised())

    def _factorised(self) -> np.ndarray | None:
        if self.covariance is None:
            return None
        C = np.asarray(self.covariance, float)
        rule = f"a symmetric positive definite ({self.size}, {self.size}) matrix"
        if C.shape != (self.size, self.size) or not np.allclose(C, C.T, rtol=1e-8, atol=0):
            raise InputError(f"start of {self.body!r}", "covariance", C.shape, rule)
        try:
            return np.linalg.cholesky(C)
        except np.linalg.LinAlgError:
            least = float(np.linalg.eigvalsh(C)[0])
            raise InputError(
                f"start of {self.body!r}", "covariance", f"least eigenvalue {least:.3g}", rule
            ) from None

    @property
    def size(self) -> int:
        """Numbers of the start: 12 for a rigid body, 6 for a particle."""
        return 6 if self.orientation is None else 12

    def parameter_names(self) -> list[str]:
        """Parameters of the scene that the start sets."""
        kinds = ["position", "velocity"]
        if self.orientation is not None:
            kinds = ["position", "rotation", "velocity", "angular_velocity"]
        return [f"{self.body}.{kind}.{axis}" for kind in kinds for axis in AXES]

    def offset(self, u: np.ndarray | None, named: Mapping[str, float]) -> np.ndarray:
        """Tangent offset o (size,) at nuisance variables u (size,) or None."""
        o = np.zeros(self.size) if u is None else self.factor @ u
        for name, (reference, slope) in self.slopes.items():
            o = o + np.asarray(slope, float) * (named[name] - reference)
        return o

    def parameter_values(self, o: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Their values (size,) at the offset o and the Jacobian (size, size) by o."""
        if self.orientation is None:
            return np.concatenate([self.position, self.velocity]) + o, np.eye(6)
        turned = quat_log(quat_multiply(quat_exp(o[3:6]), self.orientation))
        fixed = [self.position + o[:3], turned, self.velocity + o[6:9]]
        jacobian = np.eye(12)
        jacobian[3:6, 3:6] = left_jacobian_inverse(turned) @ left_jacobian(o[3:6])
        return np.concatenate([*fixed, self.angular_velocity + o[9:]]), jacobian

    def moved(self, u: np.ndarray | None, named: Mapping[str, float]) -> InitialState:
        """Return the start at nuisance variables u, e.g. the estimated one, without its prior."""
        o = self.offset(u, named)
        if self.orientation is None:
            return InitialState(self.body, self.position + o[:3], None, self.velocity + o[3:])
        q = quat_multiply(quat_exp(o[3:6]), self.orientation)
        return InitialState(
            self.body, self.position + o[:3], q, self.velocity + o[6:9],
            self.angular_velocity + o[9:],
        )  # fmt: skip


@dataclass(frozen=True)
class Trial:
    """One recording.

    steps       steps of the rollout; its frames are every `record_every` of them
    objectives  of the measurements
    starts      starts of bodies; the others start as in the scene
    loss        of the trial's total (a chaotic trial is an outlier as a whole)
    weight      how often it counts
    parameters  further parameters of the scene, in this trial alone
    held        values of fixed parameters, in this trial alone
    """

    name: str
    steps: int
    objectives: tuple[Objective, ...]
    starts: tuple[InitialState, ...] = ()
    loss: Loss = field(default_factory=Loss)
    weight: float = 1.0
    parameters: Mapping[str, float] = field(default_factory=dict)
    held: Mapping[str, float] = field(default_factory=dict)

    def until(self, frame: int, record_every: int) -> Trial:
        """Return the recording up to this frame of the rollout."""
        left = (o.until(frame) for o in self.objectives)
        return replace(
            self, steps=min(self.steps, frame * record_every),
            objectives=tuple(o for o in left if o is not None),
        )  # fmt: skip
