"""The real cube's tosses by MuJoCo, Drake and Bullet, each fitted to the same tosses as our law.

Each simulator has its own contact model, stepped as in data/cube_toss/README.md, and the cube of
`cube_prototype`: lengths as stored, spheres at its eight corners.  Five numbers are searched for in
their logarithms by CMA-ES, as the published fits were: friction, stiffness, damping, moment of
inertia and radius of the corners.  Drake and Bullet are no dependency of this package: a simulator
that is not installed is left out by name.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from diffsim_ros.rotation import quat_conjugate, quat_rotate
from diffsim_ros.sensing.tosses import read_tosses

from .cube_benchmark import PUBLISHED, as_rows, read_published
from .cube_ensemble import Fold, beside, pairs
from .cube_laws import FILE, benchmark, folds
from .cube_prototype import GRAVITY, HALF, MASS, RATE, SCALE, SIGNS
from .cube_whole import WHOLE

SUBSTEPS = 10
"""Steps per frame, as of the published figures."""
NAMES = ("friction", "stiffness", "damping", "inertia", "radius")
FIRST_STEP = 0.4
"""Standard deviation of the search's first candidates, of logarithms."""
LARGEST = 0.012
"""Radius of a corner at most [m]."""
AIMED = (0.115, 14.0)
"""What errors of position [widths] and rotation [deg] are divided by in the search's objective."""
H = 1 / (RATE * SUBSTEPS)
EDGE = HALF / SCALE


def centres(radius: float) -> np.ndarray:
    """Centres of the corner spheres (8, 3) [m], body frame."""
    return (SIGNS * (EDGE - radius)).T


class Mujoco:
    """Contact by reference accelerations: stiffness [1/s^2], damping [1/s], per unit of mass."""

    module = "mujoco"
    first = (0.2, 2e5, 600.0, 1.05e-3, 1.5e-3)

    def simulate(self, numbers: Sequence[float], start: np.ndarray, frames: int) -> np.ndarray:
        import mujoco
        from mujoco import rollout

        friction, stiffness, damping, inertia, radius = numbers
        spheres = "".join(
            f'<geom type="sphere" size="{radius}" pos="{x} {y} {z}"/>'
            for x, y, z in centres(radius)
        )
        text = (
            f'<mujoco><option timestep="{H}" gravity="0 0 {-GRAVITY / SCALE}" cone="elliptic"/>'
            f'<default><geom friction="{friction} 0 0" solref="{-stiffness} {-damping}"/></default>'
            f'<worldbody><geom type="plane" size="5 5 0.1"/><body><freejoint/><inertial pos="0 0 0"'
            f' mass="{MASS}" diaginertia="{inertia} {inertia} {inertia}"/>{spheres}</body>'
            "</worldbody></mujoco>"
        )
        model = mujoco.MjModel.from_xml_string(text)
        rate = quat_rotate(quat_conjugate(start[:, 3:7]), start[:, 10:])  # body frame
        turn = np.roll(start[:, 3:7], 1, axis=1)
        time = np.zeros((len(start), 1))
        state = np.concatenate([time, start[:, :3], turn, start[:, 7:10], rate], axis=1)
        steps = (frames - 1) * SUBSTEPS
        found, _ = rollout.rollout(model, [mujoco.MjData(model)], state, nstep=steps)
        q = np.concatenate([state[:, None, 1:8], found[:, SUBSTEPS - 1 :: SUBSTEPS, 1:8]], axis=1)
        return np.concatenate([q[..., :3], np.roll(q[..., 3:], -1, axis=-1)], axis=-1)


class Drake:
    """Point contact of a MultibodyPlant, TAMSI as published: [N/m], Hunt-Crossley [s/m]."""

    module = "pydrake"
    first = (0.2, 2e4, 1.0, 1.05e-3, 1.5e-3)

    def simulate(self, numbers: Sequence[float], start: np.ndarray, frames: int) -> np.ndarray:
        from pydrake.geometry import HalfSpace, ProximityProperties, Sphere
        from pydrake.math import RigidTransform
        from pydrake.multibody.plant import AddMultibodyPlantSceneGraph, CoulombFriction
        from pydrake.multibody.plant import DiscreteContactApproximation as Approximation
        from pydrake.multibody.tree import SpatialInertia, UnitInertia
        from pydrake.systems.analysis import Simulator
        from pydrake.systems.framework import DiagramBuilder

        friction, stiffness, damping, inertia, radius = numbers
        builder = DiagramBuilder()
        plant, _ = AddMultibodyPlantSceneGraph(builder, time_step=H)
        plant.set_discrete_contact_approximation(Approximation.kTamsi)
        plant.mutable_gravity_field().set_gravity_vector([0, 0, -GRAVITY / SCALE])
        unit = UnitInertia(*[inertia / MASS] * 3)
        cube = plant.AddRigidBody("cube", SpatialInertia(MASS, np.zeros(3), unit))
        # springs of the two surfaces are in series, coefficients of friction are averaged
        # harmonically, and dissipations weighed by stiffness: equal ones keep their value
        surface = ProximityProperties()
        surface.AddProperty("material", "coulomb_friction", CoulombFriction(friction, friction))
        surface.AddProperty("material", "point_contact_stiffness", 2 * stiffness)
        surface.AddProperty("material", "hunt_crossley_dissipation", damping)
        world = plant.world_body()
        plant.RegisterCollisionGeometry(world, RigidTransform(), HalfSpace(), "table", surface)
        for i, centre in enumerate(centres(radius)):
            at = RigidTransform(centre)
            plant.RegisterCollisionGeometry(cube, at, Sphere(radius), f"corner{i}", surface)
        plant.Finalize()
        simulator = Simulator(builder.Build())
        root = simulator.get_mutable_context()
        context = plant.GetMyMutableContextFromRoot(root)
        out = np.empty((len(start), frames, 7))
        for k, row in enumerate(start):
            root.SetTime(0.0)
            plant.SetPositions(context, [*np.roll(row[3:7], 1), *row[:3]])
            plant.SetVelocities(context, [*row[10:], *row[7:10]])
            simulator.Initialize()
            out[k, 0] = row[:7]
            for frame in range(1, frames):
                simulator.AdvanceTo(frame / RATE)
                q = plant.GetPositions(context)
                out[k, frame] = [*q[4:], *q[1:4], q[0]]
        return out


class Bullet:
    """Soft contact of pybullet: stiffness [N/m], damping [N s/m]."""

    module = "pybullet"
    first = (0.2, 2e4, 60.0, 1.05e-3, 1.5e-3)

    def simulate(self, numbers: Sequence[float], start: np.ndarray, frames: int) -> np.ndarray:
        import pybullet as bullet

        friction, stiffness, damping, inertia, radius = numbers
        client = bullet.connect(bullet.DIRECT)
        bullet.setGravity(0, 0, -GRAVITY / SCALE)
        bullet.setTimeStep(H)
        table = bullet.createMultiBody(0, bullet.createCollisionShape(bullet.GEOM_PLANE))
        bullet.changeDynamics(table, -1, lateralFriction=1.0)  # coefficients are multiplied
        spheres = bullet.createCollisionShapeArray(
            shapeTypes=[bullet.GEOM_SPHERE] * 8,
            radii=[radius] * 8,
            collisionFramePositions=centres(radius).tolist(),
        )
        cube = bullet.createMultiBody(MASS, spheres)
        bullet.changeDynamics(
            cube,
            -1,
            lateralFriction=friction,
            contactStiffness=stiffness,
            contactDamping=damping,
            localInertiaDiagonal=[inertia] * 3,
            linearDamping=0.0,
            angularDamping=0.0,
        )
        out = np.empty((len(start), frames, 7))
        for k, row in enumerate(start):
            bullet.resetBasePositionAndOrientation(cube, row[:3], row[3:7])
            bullet.resetBaseVelocity(cube, row[7:10], row[10:])
            for frame in range(frames):
                for _ in range(SUBSTEPS if frame else 0):
                    bullet.stepSimulation()
                p, q = bullet.getBasePositionAndOrientation(cube)
                out[k, frame] = [*p, *q]
        bullet.disconnect(client)
        return out


PEERS: Mapping[str, Mujoco | Drake | Bullet] = {
    "mujoco": Mujoco(), "drake": Drake(), "bullet": Bullet(),
}  # fmt: skip


FITTED: Mapping[str, tuple[tuple[float, ...], ...]] = {
    "mujoco": (
        (0.1781, 2.131e5, 758.5, 1.13e-3, 2.71e-3),
        (0.1778, 1.144e5, 776.6, 1.145e-3, 7.589e-4),
    ),
    "drake": (
        (0.1767, 8851.0, 4.941, 1.513e-3, 1.142e-3),
        (0.1747, 33550.0, 4.317, 1.103e-3, 1.568e-3),
    ),
    "bullet": (
        (0.1754, 27940.0, 91.76, 1.125e-3, 4.53e-4),
        (0.1752, 15740.0, 93.58, 1.236e-3, 5.39e-4),
    ),
}
"""What `fitted` found on the first two folds of cube_laws, once: MuJoCo, and Bullet on the first
fold, by 320 evaluations of all tosses; Bullet on the second by 120 and Drake by 96 of every other
toss."""


def installed(name: str) -> bool:
    """Whether this simulator can be imported."""
    return importlib.util.find_spec(PEERS[name].module) is not None


def fitted(
    name: str,
    start: np.ndarray,
    frames: int,
    judge: Callable[[np.ndarray], np.ndarray],
    evaluations: int,
    seed: int = 1,
) -> tuple[list[float], float]:
    """Numbers (NAMES) that predict these tosses best, and the objective there.

    judge  poses (n, frames, 7) -> errors (n, 3) of tosses (cube_benchmark.toss_errors)
    """
    import cma

    peer = PEERS[name]

    def numbers(u: Sequence[float]) -> np.ndarray:
        found = np.array(peer.first) * np.exp(u)
        found[-1] = min(found[-1], LARGEST)
        return found

    def cost(u: Sequence[float]) -> float:
        errors = judge(peer.simulate(numbers(u), start, frames))
        mean = float((errors[:, :2].mean(axis=0) / AIMED).sum())
        return mean if np.isfinite(mean) else 100.0

    options = {"maxfevals": evaluations, "seed": seed, "verbose": -9}
    best, strategy = cma.fmin2(cost, np.zeros(len(NAMES)), FIRST_STEP, options)
    return numbers(best).tolist(), float(strategy.result.fbest)


def peers(parts: Sequence[Fold]) -> tuple[dict, dict]:
    """Half -> simulator -> errors (n, 3) by its fits to the folds; and which were left out."""
    table: dict[str, dict[str, np.ndarray]] = {}
    fits: dict = {}
    for name, peer in PEERS.items():
        if not installed(name):
            fits[name] = f"left out: {peer.module} is not installed"
            continue
        laws = FITTED[name]
        fits[name] = [dict(zip(NAMES, numbers, strict=True)) for numbers in laws]
        rows: dict[str, list[np.ndarray]] = {}
        for half, k, others in pairs(len(parts)):
            fold = parts[k]
            found = [peer.simulate(laws[j], fold.start, fold.frames) for j in others]
            errors = np.mean([benchmark(one, fold.measured) for one in found], axis=0)
            rows.setdefault(half, []).append(errors)
        for half, each in rows.items():
            table.setdefault(half, {})[f"{name}, refitted"] = np.concatenate(each)
    return table, fits


def published(parts: Sequence[Fold]) -> dict[str, dict[str, np.ndarray]]:
    """Half -> simulator -> errors (n, 3) of its published fit on these tosses."""
    table, found = read_published(PUBLISHED), {}
    for half, folds_of in (("development", parts[:2]), ("other_half", parts[2:])):
        ids = [i for fold in folds_of for i in fold.ids]
        found[half] = {f"{n}, published": as_rows(each[i] for i in ids)
                       for n, each in table.items()}  # fmt: skip
    return found


def study(fraction: float = 1.0, seed: int = 0) -> dict:
    """Their errors beside one motion of the present law; a tenth has the development half alone."""
    parts = [Fold.of(read_tosses(FILE, ids)) for ids in folds(fraction)]
    parts = parts if fraction >= 1 else parts[:2]
    theirs, fits = peers(parts)
    anchors = published(parts)
    figures: dict = {"tosses": [len(f.ids) for f in parts], "fits": fits}
    for half in dict.fromkeys(half for half, _, _ in pairs(len(parts))):
        of = [(parts[k], others) for own, k, others in pairs(len(parts)) if own == half]
        laws = WHOLE["present"]
        reference = np.concatenate(
            [np.mean([fold.single(laws[j]) for j in others], axis=0) for fold, others in of]
        )
        every = {"present, one motion": reference} | theirs.get(half, {}) | anchors[half]
        figures[half] = {name: beside(errors, reference) for name, errors in every.items()}
    return figures
