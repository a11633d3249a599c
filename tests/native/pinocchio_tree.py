"""A tree of an engine scene as Pinocchio has it, integrated by DOP853."""

from __future__ import annotations

import numpy as np
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

MOMENTS = ("xx", "yy", "zz", "xy", "xz", "yz")


def world_axes(axis, second=None) -> np.ndarray:
    """(3, 3) the joint's axes as the engine has them (joint_builder.cpp)."""
    z = np.array(axis) / np.linalg.norm(axis)
    x = np.eye(3)[np.argmin(np.abs(z))] if second is None else np.array(second, float)
    x = x - (x @ z) * z
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(z, x), z])


def inertia_of(s, name: str) -> np.ndarray:
    """(3, 3) about the centre, in the body's axes."""
    xx, yy, zz, xy, xz, yz = (s.values[s.index(f"{name}.inertia.{w}")] for w in MOMENTS)
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


class PinocchioTree:
    """joints: (kind, body_a, body_b, point, axes (3, 3)) in the world at the start, without
    friction; coordinates are 0 there. Bodies are in the order of joints."""

    def __init__(self, pin, s, joints, start):
        self.pin, self.model, frame = pin, pin.Model(), {"": (0, pin.SE3.Identity())}
        self.model.gravity.linear = np.array([s.values[s.index(f"gravity.{w}")] for w in "xyz"])
        kinds = {
            "hinge": [pin.JointModelRZ()], "ball": [pin.JointModelSpherical()], "weld": [],
            "slider": [pin.JointModelPZ()], "universal": [pin.JointModelRZ(), pin.JointModelRX()],
            "planar": [pin.JointModelPX(), pin.JointModelPY(), pin.JointModelRZ()],
        }  # fmt: skip
        turns = Rotation.from_quat(start.orientation[0]).as_matrix()
        self.bodies = []  # (its node, its joint, its place there)
        for kind, a, b, point, axes in joints:
            parent, at = frame[a]
            for step in kinds[kind]:
                here = pin.SE3(axes, np.asarray(point, float))
                name = f"{b}{self.model.njoints}"
                parent, at = self.model.addJoint(parent, step, at.inverse() * here, name), here
            i = s.body_names.index(b)
            own = pin.Inertia(s.values[s.index(f"{b}.mass")], np.zeros(3), inertia_of(s, b))
            body = at.inverse() * pin.SE3(turns[i], start.position[0, i])
            self.model.appendBodyToJoint(parent, own, body)
            self.bodies.append((i, parent, body))
            frame[b] = (parent, at)
        self.data, self.q0 = self.model.createData(), pin.neutral(self.model)
        self.v0 = self._rates_of(start)

    @property
    def order(self) -> list[int]:
        """Nodes of the bodies."""
        return [i for i, *_ in self.bodies]

    def _rates_of(self, start) -> np.ndarray:
        J = np.column_stack([self.twists(self.q0, e) for e in np.eye(self.model.nv)])
        wanted = np.ravel(
            [[start.velocity[0, i], start.angular_velocity[0, i]] for i in self.order]
        )
        v0, *_ = np.linalg.lstsq(J, wanted, rcond=None)
        assert np.abs(J @ v0 - wanted).max() < 1e-10, "the start does not fit the joints"
        return v0

    def twists(self, q, v) -> np.ndarray:
        """(6 bodies,) velocities of centres, angular velocities; world."""
        self.pin.forwardKinematics(self.model, self.data, q, v)
        out = []
        for _, joint, body in self.bodies:
            turn = (self.data.oMi[joint] * body).rotation
            twist = body.actInv(self.data.v[joint])
            out += [turn @ twist.linear, turn @ twist.angular]
        return np.concatenate(out)

    def slope(self, _, y) -> np.ndarray:
        """d(q, v)/dt."""
        model = self.model
        q, v = y[: model.nq].copy(), y[model.nq :]
        dq = np.zeros(model.nq)
        for joint in range(1, model.njoints):
            i, k = model.joints[joint].idx_q, model.joints[joint].idx_v
            if model.joints[joint].nq == 4:
                q[i : i + 4] /= np.linalg.norm(q[i : i + 4])
                w, u = v[k : k + 3], q[i : i + 4]
                dq[i : i + 3] = 0.5 * (u[3] * w + np.cross(u[:3], w))
                dq[i + 3] = -0.5 * u[:3] @ w
            else:
                dq[i] = v[k]
        return np.concatenate([dq, self.pin.aba(model, self.data, q, v, np.zeros(model.nv))])

    def places(self, duration: float, gravity_x=None, mass=None) -> np.ndarray:
        """(bodies, 3) centres after a duration; mass: (number of the body, mass) of another."""
        if gravity_x is not None:
            self.model.gravity.linear[0] = gravity_x
        if mass is not None:
            joint = self.bodies[mass[0]][1]
            inertia = self.model.inertias[joint]
            inertia.mass = mass[1]
            self.model.inertias[joint] = inertia
        y = solve_ivp(self.slope, (0, duration), np.concatenate([self.q0, self.v0]),
                      method="DOP853", rtol=1e-11, atol=1e-12).y[:, -1]  # fmt: skip
        self.pin.forwardKinematics(self.model, self.data, y[: self.model.nq])
        return np.array([(self.data.oMi[j] * body).translation for _, j, body in self.bodies])
