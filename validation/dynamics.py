"""Recursive dynamics of named robots and random trees beside Pinocchio.

Inverse and forward dynamics, mass matrix and all their derivatives by state and efforts, as shares
of the largest entry; derivatives by the places of joints and the regressor against differences of
order 6.  A tree has 1 to 64 joints of all types, fixed ones, links without mass, armature, and
branches in any order.
"""

from __future__ import annotations

import warnings
from types import SimpleNamespace

import numpy as np
from scipy.spatial.transform import Rotation

from diffsim_ros import _engine
from diffsim_ros.robots.tree import load_tree

from .common import ROOT, judged, share

TREES, STATES = 200, 10
BAR = 1e-9
ROBOTS = {  # file, whether its base floats
    "ur5": (ROOT / "urdf" / "ur5.urdf", False),
    "seven_axis": (ROOT / "tests" / "robots" / "seven_axis.urdf", False),
    "solo12": (ROOT / "data" / "robots" / "solo12.urdf", True),
    "anymal_b": (ROOT / "data" / "robots" / "anymal_b.urdf", True),
    "humanoid": (ROOT / "data" / "robots" / "simple_humanoid.urdf", True),
}
KINDS = ("revolute", "prismatic", "spherical", "translation", "fixed")
SHARES = (0.5, 0.15, 0.1, 0.1, 0.15)
GRAVITY = np.array([0.3, -0.4, -9.7])


def robot(name: str):
    """Model of a named robot."""
    path, floats = ROBOTS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # ANYmal's frame of 1 mg is mended
        return load_tree(path, floating_base=floats, gravity=GRAVITY).model


def random_inertia(rng: np.random.Generator, size: float = 0.1) -> np.ndarray:
    """Of a unit mass: second moments of three random points, turned at random."""
    second = np.diag(rng.uniform(0.2, 1.0, 3)) * size**2
    turn = Rotation.random(random_state=rng).as_matrix()
    return turn @ (np.trace(second) * np.eye(3) - second) @ turn.T


def random_tree(rng: np.random.Generator, count: int, gravity=GRAVITY):
    """A tree of `count` links on joints of all types; some links are frames without mass."""
    joints, links = [], []
    bare: set[int] = set()  # links without mass so far: each gets a child with mass
    for i in range(count):
        kind = rng.choice(KINDS, p=SHARES)
        parent = int(rng.integers(max(-1, i - 4), i)) if i else -1
        if bare:
            parent = bare.pop()
        axis = rng.normal(size=3)
        joints.append(
            _engine.TreeJoint(
                f"j{i}", kind, parent, Rotation.random(random_state=rng).as_matrix(),
                rng.uniform(-0.3, 0.3, 3), axis / np.linalg.norm(axis), rng.choice([0.0, 0.05]),
            )
        )  # fmt: skip
        last, hollow = i == count - 1, kind in ("revolute", "prismatic") and rng.random() < 0.1
        if hollow and not last and joints[-1].armature > 0:
            links.append(_engine.TreeLink(f"l{i}"))
            bare.add(i)
            continue
        mass = rng.uniform(0.3, 3.0)
        links.append(
            _engine.TreeLink(f"l{i}", mass, rng.uniform(-0.2, 0.2, 3), mass * random_inertia(rng))
        )
    return _engine.ArticulatedModel(joints, links, gravity)


def random_state(model, rng: np.random.Generator, count: int = 1):
    """q (count, position_size), and three arrays (count, n): qd, qdd, tau."""
    n = model.velocity_size
    q = np.array([model.moved(model.neutral(), rng.uniform(-1.5, 1.5, n)) for _ in range(count)])
    return q, *rng.normal(size=(3, count, n))


class Peer:
    """The same tree in Pinocchio, whose joints stand depth first, with its fixed links merged."""

    def __init__(self, model) -> None:
        import pinocchio as pin

        self.pin, self.model = pin, pin.Model()
        self.model.gravity.linear = np.array(model.gravity)
        self.q_order, self.v_order = [], []
        self.link_frames: dict[int, tuple[int, object]] = {-1: (0, pin.SE3.Identity())}
        below: dict[int, list[int]] = {}
        for i, joint in enumerate(model.joints):
            below.setdefault(joint.parent, []).append(i)
        waiting = below.get(-1, [])[::-1]
        armature = []
        while waiting:
            i = waiting.pop()
            waiting += below.get(i, [])[::-1]
            joint, link = model.joints[i], model.links[i]
            carrier, pose = self.link_frames[joint.parent]
            place = pose * pin.SE3(joint.R, joint.r)
            if joint.type != "fixed":
                carrier = self.model.addJoint(carrier, self._joint(joint), place, joint.name)
                place = pin.SE3.Identity()
                sizes = self.model.joints[carrier]
                at_q, at_v = model.position_at(joint.name), model.velocity_at(joint.name)
                self.q_order += range(at_q, at_q + sizes.nq)
                self.v_order += range(at_v, at_v + sizes.nv)
                armature += [joint.armature] * sizes.nv
            self.link_frames[i] = carrier, place
            self.model.appendBodyToJoint(
                carrier, pin.Inertia(link.mass, link.com, link.inertia), place
            )
        self.model.armature = np.array(armature)
        self.data = self.model.createData()

    def _joint(self, joint):
        pin = self.pin
        if joint.type == "revolute":
            return pin.JointModelRevoluteUnaligned(joint.axis)
        if joint.type == "prismatic":
            return pin.JointModelPrismaticUnaligned(joint.axis)
        return (
            pin.JointModelSpherical() if joint.type == "spherical" else pin.JointModelTranslation()
        )

    def _back(self, *arrays):
        """Results in the order of our coordinates."""
        n = len(self.v_order)
        found = []
        for array in arrays:
            own = np.zeros_like(array)
            own[np.ix_(*([self.v_order] * np.ndim(array)))] = np.reshape(array, (n,) * array.ndim)
            found.append(own)
        return found

    def evaluate(self, q, qd, qdd, tau) -> SimpleNamespace:
        """Everything at one state."""
        pin, model, data = self.pin, self.model, self.data
        q, qd, qdd, tau = q[self.q_order], qd[self.v_order], qdd[self.v_order], tau[self.v_order]
        efforts = pin.rnea(model, data, q, qd, qdd).copy()
        accelerations = pin.aba(model, data, q, qd, tau).copy()
        M = pin.crba(model, data, q)
        M = np.triu(M) + np.triu(M, 1).T
        back = [np.array(x) for x in pin.computeRNEADerivatives(model, data, q, qd, qdd)[:2]]
        there = [
            np.array(x) for x in pin.computeRNEADerivatives(model, data, q, qd, accelerations)[:2]
        ]
        ahead = [-np.linalg.solve(M, x) for x in there] + [np.linalg.inv(M)]
        pin.computeABADerivatives(model, data, q, qd, tau)
        direct = [np.array(x) for x in (data.ddq_dq, data.ddq_dv, data.Minv)]
        direct[2] = np.triu(direct[2]) + np.triu(direct[2], 1).T
        found = self._back(efforts, accelerations, M, *back, *ahead, *direct, *there)
        names = ("tau", "qdd", "M", "id_q", "id_qd", "fd_q", "fd_qd", "fd_tau",
                 "direct_q", "direct_qd", "direct_tau", "there_q", "there_qd")  # fmt: skip
        return SimpleNamespace(**dict(zip(names, found, strict=True)))


def errors(model, peer: Peer, rng: np.random.Generator) -> dict[str, float]:
    """Largest deviation from Pinocchio at a random state, as a share of the largest entry.

    Derivatives of forward dynamics are held against -M^-1 times Pinocchio's of inverse dynamics;
    those of its own computeABADerivatives deviate by `pinocchio_fd`.  The residuals, of
    M d qdd / dx + d tau / dx = 0 with Pinocchio's M and d tau / dx, tell whose error that is.
    """
    (q,), (qd,), (qdd,), (tau,) = random_state(model, rng)
    wanted = peer.evaluate(q, qd, qdd, tau)
    back = model.inverse_dynamics_derivatives(q, qd, qdd)
    ahead = model.forward_dynamics_derivatives(q, qd, tau)
    found = {
        "tau": model.inverse_dynamics(q, qd, qdd), "qdd": model.forward_dynamics(q, qd, tau),
        "M": model.mass_matrix(q), "id_q": back["by_q"], "id_qd": back["by_qd"],
        "fd_q": ahead["by_q"], "fd_qd": ahead["by_qd"], "fd_tau": ahead["by_tau"],
    }  # fmt: skip
    worst = {name: relative(value, getattr(wanted, name)) for name, value in found.items()}
    worst["tau"] = max(worst["tau"], relative(back["tau"], wanted.tau))
    worst["qdd"] = max(worst["qdd"], relative(ahead["qdd"], wanted.qdd))
    worst["M"] = max(worst["M"], relative(back["by_qdd"], wanted.M))
    ours = [ahead[f"by_{name}"] for name in ("q", "qd", "tau")]
    theirs = [getattr(wanted, f"direct_{name}") for name in ("q", "qd", "tau")]
    right = [wanted.there_q, wanted.there_qd, -np.eye(len(tau))]
    residuals = [
        max(relative(wanted.M @ -x, r) for x, r in zip(one, right, strict=True))
        for one in (ours, theirs)
    ]
    worst["residual"], worst["pinocchio_residual"] = residuals
    worst["pinocchio_fd"] = max(relative(*pair) for pair in zip(ours, theirs, strict=True))
    return worst


def relative(found: np.ndarray, wanted: np.ndarray) -> float:
    """Largest deviation as a share of the largest entry, or of 1e-3 where all are below."""
    return float(np.abs(found - wanted).max() / max(np.abs(wanted).max(), 1e-3))


def place_error(model, rng: np.random.Generator) -> float:
    """Largest deviation of derivatives by one joint's place from differences of order 6."""
    (q,), (qd,), (qdd,), _ = random_state(model, rng)
    found = model.parameter_derivatives(q, qd, qdd)["places"]
    i, h = int(rng.integers(len(model.joints))), 1e-2
    wanted = np.zeros((model.velocity_size, 6))
    for k, e in enumerate(np.eye(6)):
        for m, weight in ((1, 3 / 4), (2, -3 / 20), (3, 1 / 60)):
            ahead, behind = (with_place(model, i, s * m * h * e) for s in (1, -1))
            change = [x.inverse_dynamics(q, qd, qdd) for x in (ahead, behind)]
            wanted[:, k] += weight / h * (change[0] - change[1])
    return float(np.abs(found[:, 6 * i : 6 * i + 6] - wanted).max() / np.abs(found).max())


def with_place(model, i: int, change: np.ndarray):
    """The model with joint i turned and shifted (6,) in axes of its parent's link."""
    joints = list(model.joints)
    j = joints[i]
    R = Rotation.from_rotvec(change[:3]).as_matrix() @ j.R
    joints[i] = _engine.TreeJoint(j.name, j.type, j.parent, R, j.r + change[3:], j.axis, j.armature)
    return _engine.ArticulatedModel(joints, model.links, model.gravity)


def phi(link) -> np.ndarray:
    """The ten inertial parameters of a link about its origin."""
    c = link.com
    about = link.inertia + link.mass * (c @ c * np.eye(3) - np.outer(c, c))
    return np.array([link.mass, *link.mass * c, *about[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]])


def regressor_error(model, rng: np.random.Generator) -> float:
    """Y phi, which is linear in phi, against inverse dynamics without armature."""
    bare = [_engine.TreeJoint(j.name, j.type, j.parent, j.R, j.r, j.axis) for j in model.joints]
    (q,), (qd,), (qdd,), _ = random_state(model, rng)
    try:
        wanted = _engine.ArticulatedModel(bare, model.links, model.gravity)
    except _engine.InvalidInput:  # a frame that armature alone holds
        return 0.0
    Y = model.regressor(q, qd, qdd)
    found = Y @ np.concatenate([phi(link) for link in model.links])
    return relative(found, wanted.inverse_dynamics(q, qd, qdd))


def worst_of(rows: list[dict[str, float]]) -> dict[str, float]:
    """Largest value of every key."""
    return {key: max(row[key] for row in rows) for key in rows[0]}


def study(fraction: float = 1.0) -> dict:
    """All named robots, `fraction` of the random trees; asserts the bar."""
    figures: dict = {"bar": BAR}
    for name in ROBOTS:
        model = robot(name)
        peer = Peer(model)
        rows = [errors(model, peer, np.random.default_rng(seed)) for seed in range(STATES)]
        figures[name] = {"coordinates": model.velocity_size, **worst_of(rows)}
    rows, places, linear, sizes = [], [], [], []
    count = share(TREES, fraction)
    for seed in range(count):
        rng = np.random.default_rng(seed)
        model = random_tree(rng, 1 + 63 * seed // max(count - 1, 1))
        if model.velocity_size == 0:
            continue
        sizes.append(model.velocity_size)
        rows.append(errors(model, Peer(model), rng))
        places.append(place_error(model, rng))
        linear.append(regressor_error(model, rng))
    figures["random"] = {"trees": count, "most_coordinates": max(sizes), **worst_of(rows),
                         "places": max(places), "regressor": max(linear)}  # fmt: skip
    held = [
        (name, key, value)
        for name, row in figures.items() if isinstance(row, dict)
        for key, value in row.items()
        if isinstance(value, float) and not key.startswith("pinocchio")
    ]  # fmt: skip
    missed = [f"{name}: {key} {value:.1e} > {BAR}" for name, key, value in held if not value <= BAR]
    return judged(figures, missed)
