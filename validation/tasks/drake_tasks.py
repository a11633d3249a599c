"""The same ten tasks with Drake, as its documentation does them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from pydrake.autodiffutils import AutoDiffXd, ExtractGradient, ExtractValue, InitializeAutoDiff
from pydrake.geometry import (
    AddCompliantHydroelasticProperties,
    AddContactMaterial,
    AddRigidHydroelasticProperties,
    Box,
    Convex,
    GeometryInstance,
    HalfSpace,
    Mesh,
    ProximityProperties,
    Sphere,
)
from pydrake.math import RigidTransform, RigidTransform_
from pydrake.multibody.fem import DeformableBodyConfig
from pydrake.multibody.math import SpatialForce, SpatialVelocity_
from pydrake.multibody.plant import (
    AddMultibodyPlant,
    CoulombFriction,
    ExternallyAppliedSpatialForce,
    MultibodyPlantConfig,
)
from pydrake.multibody.tree import RevoluteJoint, SpatialInertia
from pydrake.systems.analysis import Simulator, Simulator_
from pydrake.systems.framework import DiagramBuilder
from scipy.optimize import least_squares, minimize

from validation.tasks.ours import TARGET


def scene(
    shape: Any,
    inertia: SpatialInertia,
    dt: float,
    friction: float,
    modulus: float = 0,
    **contact: float,
) -> Any:
    """(diagram, plant) of a body over a half space; with a modulus [Pa] by hydroelastic contact."""
    builder = DiagramBuilder()
    config = MultibodyPlantConfig(time_step=dt, discrete_contact_approximation="lagged")
    plant, _ = AddMultibodyPlant(config, builder)
    body = plant.AddRigidBody("body", inertia)
    upper, lower = ProximityProperties(), ProximityProperties()
    for one in (upper, lower):
        AddContactMaterial(friction=CoulombFriction(friction, friction), properties=one, **contact)
    if modulus:
        AddCompliantHydroelasticProperties(0.05, modulus, upper)
        AddRigidHydroelasticProperties(0.05, lower)
    plant.RegisterCollisionGeometry(body, RigidTransform(), shape, "body", upper)
    plant.RegisterCollisionGeometry(
        plant.world_body(), RigidTransform(), HalfSpace(), "ground", lower
    )
    plant.Finalize()
    return builder.Build(), plant


def started(diagram: Any, plant: Any, place: list[float], velocity: Any) -> Any:
    """(simulator, context of the plant) of a body that is thrown."""
    simulator = Simulator(diagram)
    context = plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
    plant.SetPositions(context, [1, 0, 0, 0, *place])
    plant.SetVelocities(context, [0, 0, 0, *velocity])
    return simulator, context


def load_and_step(folder: Path) -> float:
    """Height of a cube after a second [m]."""
    inertia = SpatialInertia.SolidBoxWithMass(0.3, 0.1, 0.1, 0.1)
    diagram, plant = scene(Box(0.1, 0.1, 0.1), inertia, 0.0005, 0.5)
    simulator, context = started(diagram, plant, [0, 0, 0.35], [0, 0, 0])
    simulator.AdvanceTo(1.0)
    return float(plant.GetPositions(context)[6])


def ball() -> Any:
    """(diagram, plant) of a ball that bounces."""
    inertia = SpatialInertia.SolidSphereWithMass(0.1, 0.05)
    return scene(Sphere(0.05), inertia, 0.0005, 0.3, point_stiffness=5e3, dissipation=0.1)


def flown(v: np.ndarray, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Places (F, 3) of the ball at times, and their derivatives (F, 3, 3) by v, by AutoDiffXd."""
    diagram, _ = ball()
    diagram = diagram.ToAutoDiffXd()
    plant, simulator = diagram.GetSubsystemByName("plant"), Simulator_[AutoDiffXd](diagram)
    context = plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
    body, none = plant.GetBodyByName("body"), np.zeros(3)
    plant.SetFreeBodyPose(context, body, RigidTransform_[AutoDiffXd](np.array([0, 0, 0.5])))
    speed = SpatialVelocity_[AutoDiffXd](w=none, v=InitializeAutoDiff(v).ravel())
    plant.SetFreeBodySpatialVelocity(context=context, body=body, V_JpJc=speed)
    found = []
    for time in times:
        simulator.AdvanceTo(time)
        found.append(plant.GetPositions(context)[4:])
    return (np.array([ExtractValue(x).ravel() for x in found]),
            np.array([ExtractGradient(x) for x in found]))  # fmt: skip


def gradient_of_a_landing(folder: Path) -> np.ndarray:
    """d(x after 0.6 s and a bounce)/d(start velocity)."""
    return np.asarray(flown(np.array([1.5, 0, 0]), np.array([0.6]))[1][-1, 0])


def batch_of_1000(folder: Path) -> np.ndarray:
    """Where 1000 throws end: one after the other (there is no batch)."""
    diagram, plant = ball()
    ends = []
    for speed in np.linspace(0.5, 2.5, 1000):
        simulator, context = started(diagram, plant, [0, 0, 0.5], [speed, 0, 0])
        simulator.AdvanceTo(0.6)
        ends.append(plant.GetPositions(context)[4:])
    return np.array(ends)


def feedback_control(folder: Path) -> float:
    """How far a pendulum is from upright after two seconds of control [rad]."""
    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlant(MultibodyPlantConfig(time_step=0.002), builder)
    inertia = SpatialInertia.SolidBoxWithMass(0.8, 0.04, 0.04, 0.5).Shift([0, 0, 0.25])
    rod = plant.AddRigidBody("rod", inertia)
    hinge = plant.AddJoint(RevoluteJoint("hinge", plant.world_frame(), rod.body_frame(), [0, 1, 0]))
    plant.AddJointActuator("drive", hinge)
    plant.Finalize()
    simulator = Simulator(builder.Build())
    context = plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
    hinge.set_angle(context, np.pi - 0.3)
    for k in range(1000):
        torque = 20 * (np.pi - hinge.get_angle(context)) - 3 * hinge.get_angular_rate(context)
        plant.get_actuation_input_port().FixValue(context, [torque])
        simulator.AdvanceTo((k + 1) * 0.002)
    return float(np.pi - hinge.get_angle(context))


def fit_of_friction(folder: Path) -> tuple[float, float]:
    """Friction of a box that slides, and its standard deviation."""
    recorded = np.loadtxt(folder / "slide.csv")
    inertia = SpatialInertia.SolidBoxWithMass(0.4, 0.1, 0.1, 0.05)

    def residual(c: np.ndarray) -> np.ndarray:
        diagram, plant = scene(Box(0.1, 0.1, 0.05), inertia, 0.002, c[0], 1e7)
        simulator, context = started(diagram, plant, [0, 0, 0.025], [1, 0, 0])
        x = []
        for k in range(31):
            simulator.AdvanceTo(0.01 * k)
            x.append(plant.GetPositions(context)[4])
        return (np.array(x) - recorded) / 5e-4

    fit = least_squares(residual, [0.5], diff_step=1e-4, bounds=(0.01, 2))
    return float(fit.x[0]), float((fit.jac.T @ fit.jac)[0, 0] ** -0.5)


def plan_of_a_throw(folder: Path) -> float:
    """By how much a throw with a bounce misses its target [m]."""

    def cost(v: np.ndarray) -> tuple[float, np.ndarray]:
        place, slopes = flown(v, np.array([0.6]))
        off = place[-1] - TARGET
        return off @ off, 2 * off @ slopes[-1]

    return float(minimize(cost, [1.5, 0.0, 0.0], jac=True).fun ** 0.5)


def custom_force(folder: Path) -> float:
    """Speed of a ball after a second of fall with quadratic drag [m/s]."""
    inertia = SpatialInertia.SolidSphereWithMass(0.1, 0.05)
    diagram, plant = scene(Sphere(0.05), inertia, 0.001, 0.3)
    simulator, context = started(diagram, plant, [0, 0, 10], [0, 0, 0])
    applied = ExternallyAppliedSpatialForce()
    applied.body_index = plant.GetBodyByName("body").index()
    for k in range(1000):
        v = plant.GetVelocities(context)[3:]
        applied.F_Bq_W = SpatialForce(tau=np.zeros(3), f=-0.02 * np.linalg.norm(v) * v)
        plant.get_applied_spatial_force_input_port().FixValue(context, [applied])
        simulator.AdvanceTo((k + 1) * 0.001)
    return float(-plant.GetVelocities(context)[5])


def custom_objective(folder: Path) -> tuple[float, np.ndarray]:
    """Time spent near a point, softly, and its gradient by the start velocity."""
    places, slopes = flown(np.array([1.5, 0, 0]), np.arange(121) * 0.005)
    off = places - TARGET
    share = np.exp(-(off**2).sum(1) / 0.1)
    by = -2 / 0.1 * share[:, None] * off / len(share)
    return float(share.mean()), np.einsum("fi,fij->j", by, slopes)


def mesh_body(folder: Path) -> float:
    """Height at which a mesh comes to rest [m]."""
    shape = Convex(str(folder / "stone.obj"))
    inertia = SpatialInertia.SolidEllipsoidWithDensity(1000, 0.05, 0.04, 0.03)
    diagram, plant = scene(shape, inertia, 0.002, 0.5, 1e7)
    simulator, context = started(diagram, plant, [0, 0, 0.3], [0, 0, 0])
    simulator.AdvanceTo(2.0)
    return float(plant.GetPositions(context)[6])


def soft_body(folder: Path) -> float:
    """Height of a soft cube that has come to rest on the ground [m]."""
    builder = DiagramBuilder()
    config = MultibodyPlantConfig(time_step=0.005, discrete_contact_approximation="lagged")
    plant, _ = AddMultibodyPlant(config, builder)
    rigid, soft = ProximityProperties(), ProximityProperties()
    AddRigidHydroelasticProperties(resolution_hint=1.0, properties=rigid)
    for one in (rigid, soft):
        AddContactMaterial(friction=CoulombFriction(0.5, 0.5), properties=one)
    under = RigidTransform([0, 0, -0.5])
    plant.RegisterCollisionGeometry(plant.world_body(), under, Box(4, 4, 1), "ground", rigid)
    cube = GeometryInstance(RigidTransform([0, 0, 0.06]), Mesh(str(folder / "cube.vtk")), "cube")
    cube.set_proximity_properties(soft)
    body = DeformableBodyConfig()
    body.set_youngs_modulus(2e4)
    body.set_poissons_ratio(0.3)
    body.set_mass_density(500)
    body.set_stiffness_damping_coefficient(1e-3)
    model = plant.mutable_deformable_model()
    identifier = model.RegisterDeformableBody(cube, body, 1.0)
    plant.Finalize()
    simulator = Simulator(builder.Build())
    context = plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
    simulator.AdvanceTo(2.0)
    return float(np.ptp(model.GetPositions(context, identifier)[2]))
