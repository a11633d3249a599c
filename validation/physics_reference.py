"""Independent motions to hold the engine against: the same laws in continuous time, by SciPy.

State of the reference: c, quaternion (x, y, z, w), v and the angular momentum L, all in the world
frame:  c' = v,  m v' = f,  R' = [omega]x R,  L' = tau,  omega = R I_0^-1 R^T L.
Nothing here is shared with the engine: other variables, other scheme (DOP853, rtol 1e-12).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

from diffsim_ros import _engine

GROUND = np.array([0.0, 0.0, 1.0])


@dataclass
class Motion:
    """A rigid body 'body' in an engine scene, and the same forces written out in Python.

    force(P) -> function (c, R, v, w) -> (f [N], tau about the centre of mass [N m]), world frame,
    where P(name) is the value of an engine parameter. active: parameters of the gradient, with
    their scales. step: the coarsest step [s]; smooth(modes): whether all contacts kept to one
    regime.
    """

    scene: _engine.Scene
    force: Callable
    active: dict[str, float]
    duration: float
    step: float
    smooth: Callable = lambda modes: True


@dataclass
class Instant:
    """Pose and velocity at one time: c (3,), R, v (3,), w (3,), world; derivative (12, nd) or None.

    Rows of derivative: dc, dphi (world rotation vector), dv, dw; columns: directions in the space
    of scaled active parameters.
    """

    c: np.ndarray
    R: Rotation
    v: np.ndarray
    w: np.ndarray
    derivative: np.ndarray | None = None

    def minus(self, other: Instant) -> np.ndarray:
        """(12,) difference in tangent coordinates."""
        turn = (self.R * other.R.inv()).as_rotvec()
        return np.concatenate([self.c - other.c, turn, self.v - other.v, self.w - other.w])


def lookup(scene, p) -> Callable[[str], float]:
    """P(name): the entry of that name in a parameter vector."""
    return lambda name: p[scene.index(name)]


def triple(P, name: str) -> np.ndarray:
    """(3,) of name.x, name.y, name.z."""
    return np.array([P(f"{name}.{axis}") for axis in "xyz"])


def inertia(P, body: str = "body") -> np.ndarray:
    """(3, 3) body-frame inertia [kg m^2] of a parameter vector."""
    xx, yy, zz = (P(f"{body}.inertia.{e}") for e in ("xx", "yy", "zz"))
    xy, xz, yz = (P(f"{body}.inertia.{e}") for e in ("xy", "xz", "yz"))
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def reference(motion: Motion, p: np.ndarray, times=None) -> list[Instant]:
    """The motion at `times` (default: its end) by DOP853."""
    P = lookup(motion.scene, p)
    I0, m = inertia(P), P("body.mass")
    inverse = np.linalg.inv(I0)
    R0 = Rotation.from_rotvec(triple(P, "body.rotation"))
    L0 = R0.apply(I0 @ R0.inv().apply(triple(P, "body.angular_velocity")))
    y0 = np.concatenate([triple(P, "body.position"), R0.as_quat(), triple(P, "body.velocity"), L0])

    force = motion.force(P)

    def turned(y):
        R = rotation_matrix(y[3:7] / np.sqrt(y[3:7] @ y[3:7]))
        return R, R @ (inverse @ (R.T @ y[10:13]))

    def rate(_, y):
        R, w = turned(y)
        f, tau = force(y[:3], R, y[7:10], w)
        x, s = y[3:6], y[6]
        spin = np.append(0.5 * (s * w + cross(w, x)), -0.5 * w @ x)  # q' = (w, 0) q / 2
        return np.concatenate([y[7:10], spin, f / m, tau])

    times = [motion.duration] if times is None else times
    solved = solve_ivp(rate, (0, times[-1]), y0, "DOP853", t_eval=times, rtol=1e-12, atol=1e-13)
    assert solved.success, solved.message
    return [Instant(y[:3], Rotation.from_quat(y[3:7]), y[7:10], turned(y)[1]) for y in solved.y.T]


def cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a x b along the last axis; much quicker than numpy.cross for few vectors."""
    (ax, ay, az), (bx, by, bz) = a.T, b.T
    return np.array([ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx]).T


def rotation_matrix(q: np.ndarray) -> np.ndarray:
    """(3, 3) of a unit quaternion (x, y, z, w)."""
    x, y, z, w = q
    return np.array([
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ])  # fmt: skip


def reference_with_gradient(motion: Motion, directions: np.ndarray) -> Instant:
    """The end, with its derivative along directions (na, nd) by five-point differences."""
    p = motion.scene.values
    index = [motion.scene.index(name) for name in motion.active]
    scales = np.array(list(motion.active.values()))
    end = reference(motion, p)[0]
    columns = []
    for d in directions.T:
        eps, column = 1e-3, np.zeros(12)
        for k, weight in ((1, 8), (-1, -8), (2, -1), (-2, 1)):
            moved = p.copy()
            moved[index] += k * eps * scales * d
            column += weight * reference(motion, moved)[0].minus(end)
        columns.append(column / (12 * eps))
    end.derivative = np.array(columns).T
    return end


def simulated(
    motion: Motion, h: float, order: int, directions: np.ndarray,
    spectral_radius: float | None = None,
) -> Instant:  # fmt: skip
    """The engine's end of the motion at step h, with its derivative; asserts it stayed smooth."""
    steps = round(motion.duration / h)
    active = [motion.scene.index(name) for name in motion.active]
    options = _engine.Options(
        step=motion.duration / steps, order=order, spectral_radius=spectral_radius,
        record_every=steps, tolerance=1e-10, stagnate=True, record_modes=True,
    )  # fmt: skip
    r = _engine.rollout(
        motion.scene, motion.scene.values, steps, options, active=active, mode="sensitivity"
    )
    assert r.ok and r.halvings == 0, f"step {h}: {r.message}, {r.halvings} halvings"
    assert motion.smooth(r.modes), f"step {h}: a contact left its regime, {np.unique(r.modes)}"
    scales = np.array(list(motion.active.values()))
    derivative = np.vstack([r.dx[-1], r.dv[-1]]) @ (scales[:, None] * directions)
    return Instant(
        r.position[-1, 0], Rotation.from_quat(r.orientation[-1, 0]), r.velocity[-1, 0],
        r.angular_velocity[-1, 0], derivative,
    )  # fmt: skip


def ground_contact(P, points: str, contact: str, local, inset, friction: str) -> Callable:
    """force(c, R, v, w) of equally weighted spheres against the plane z = 0.

    Per point of weight 1/n, with x = c + R (scale local + radius inset), d = radius - x_z,
    rho_c = x - c - radius n, u = v + w x rho_c, d' = -u_z:
      f_n = k_n d max(0, 1 + c_n d') / n;
      f_t = -min(k_t / n, c_f f_n / |u_t|) u_t                         linear [G 4.13]
      f_t = -c_f f_n tanh(k_t |u_t| / (n c_f f_n)) u_t / |u_t|         tanh   [G 4.14]
    """
    k_n, k_t, c_n, c_f = (P(f"{contact}.{name}") for name in ("k_n", "k_t", "c_n", "c_f"))
    radius, count = P(f"{points}.radius"), len(local)
    place = P(f"{points}.scale") * local + radius * inset

    def force(c, R, v, w):
        rho = place @ R.T
        depth = np.maximum(radius - c[2] - rho[:, 2], 0)
        lever = rho - radius * GROUND
        u = v + cross(w[None], lever)
        f_n = k_n * depth * np.maximum(0, 1 - c_n * u[:, 2]) / count
        slip = u * [1, 1, 0]
        speed = np.linalg.norm(slip, axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            if friction == "linear":
                slope = np.minimum(k_t / count, c_f * f_n / speed)
            else:
                slope = c_f * f_n * np.tanh(k_t * speed / (count * c_f * f_n)) / speed
        slope = np.where((f_n > 0) & (speed > 0), slope, 0)
        f = f_n[:, None] * GROUND - slope[:, None] * slip
        return f.sum(axis=0), cross(lever, f).sum(axis=0)

    return force
