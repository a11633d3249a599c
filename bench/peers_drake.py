"""The thrown soft ball in Drake: a deformable body of its multibody plant over a rigid box.

Contact approximation `lagged`, Drake's recommendation for compliant and deformable contact; SAP
and `similar` cost the same. The material is Drake's default and cheapest, linear corotated; its
neo-Hookean one, whose law is this engine's, costs about twice as much. One thread.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from pydrake.common import Parallelism
from pydrake.geometry import (
    AddContactMaterial,
    AddRigidHydroelasticProperties,
    Box,
    GeometryInstance,
    ProximityProperties,
)
from pydrake.geometry import Mesh as MeshShape
from pydrake.math import RigidTransform
from pydrake.multibody.fem import DeformableBodyConfig, MaterialModel
from pydrake.multibody.plant import AddMultibodyPlant, CoulombFriction, MultibodyPlantConfig
from pydrake.systems.analysis import Simulator
from pydrake.systems.framework import DiagramBuilder

from .ball_scene import (
    C_F,
    DENSITY,
    DURATION,
    HEIGHT,
    POISSON,
    SPIN,
    VELOCITY,
    YOUNG,
    Mesh,
    Throw,
    timed,
)

DAMPING = 1e-4  # s, times the stiffness
MATERIALS = {
    "linear_corotated": MaterialModel.kLinearCorotated,
    "corotated": MaterialModel.kCorotated,
    "neo_hookean": MaterialModel.kNeoHookean,
}


def write_vtk(mesh: Mesh, path: Path) -> None:
    """The mesh as Drake reads it: an unstructured grid of tetrahedra (cell type 10)."""
    cells = np.insert(mesh.tets, 0, 4, axis=1)
    with path.open("w") as file:
        file.write("# vtk DataFile Version 3.0\nball\nASCII\nDATASET UNSTRUCTURED_GRID\n")
        file.write(f"POINTS {len(mesh.vertices)} double\n")
        np.savetxt(file, mesh.vertices, fmt="%.17g")
        file.write(f"CELLS {len(cells)} {cells.size}\n")
        np.savetxt(file, cells, fmt="%d")
        file.write(f"CELL_TYPES {len(cells)}\n" + "10\n" * len(cells))


def _material(properties: ProximityProperties) -> ProximityProperties:
    AddContactMaterial(properties=properties, friction=CoulombFriction(C_F, C_F))
    return properties


class Ball:
    """One mesh at one step; `throw` may be called again and again."""

    def __init__(self, mesh: Mesh, dt: float, material: str = "linear_corotated"):
        self.mesh, self.dt = mesh, dt
        builder = DiagramBuilder()
        config = MultibodyPlantConfig(time_step=dt, discrete_contact_approximation="lagged")
        self.plant, _ = AddMultibodyPlant(config, builder)
        rigid = ProximityProperties()
        AddRigidHydroelasticProperties(resolution_hint=1.0, properties=rigid)
        self.plant.RegisterCollisionGeometry(
            self.plant.world_body(), RigidTransform([0, 0, -0.5]), Box(4, 4, 1), "ground",
            _material(rigid),
        )  # fmt: skip
        self.deformables = self.plant.mutable_deformable_model()
        with tempfile.TemporaryDirectory() as folder:
            write_vtk(mesh, Path(folder) / "ball.vtk")
            geometry = GeometryInstance(
                RigidTransform([0, 0, HEIGHT]), MeshShape(str(Path(folder) / "ball.vtk")), "ball"
            )
            geometry.set_proximity_properties(_material(ProximityProperties()))
            self.body = self.deformables.RegisterDeformableBody(geometry, _body(material), 1.0)
        self.plant.Finalize()
        self.deformables._set_parallelism(Parallelism(1))
        self.diagram = builder.Build()

    def throw(self, duration: float = DURATION, v=VELOCITY, w=SPIN) -> Throw:
        """Start velocity v [m/s] and spin w [rad/s]."""
        simulator = Simulator(self.diagram)
        context = self.plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
        start = np.asfortranarray(self.mesh.start(v, w).T)
        self.deformables.SetVelocities(context, self.body, start)
        simulator.Initialize()
        steps = round(duration / self.dt)
        centre = np.empty((steps + 1, 3))

        def record(k):
            centre[k] = self.mesh.centre(self.deformables.GetPositions(context, self.body).T)

        record(0)
        cpu = timed(steps, lambda k: simulator.AdvanceTo((k + 1) * self.dt), record)
        return Throw.of(centre, self.dt, cpu)


def _body(material: str) -> DeformableBodyConfig:
    config = DeformableBodyConfig()
    config.set_youngs_modulus(YOUNG)
    config.set_poissons_ratio(POISSON)
    config.set_mass_density(DENSITY)
    config.set_stiffness_damping_coefficient(DAMPING)
    config.set_material_model(MATERIALS[material])
    return config


def simulate(mesh: Mesh, dt: float, duration: float = DURATION, v=VELOCITY, w=SPIN) -> Throw:
    """One throw."""
    return Ball(mesh, dt).throw(duration, v, w)
