"""The same ten tasks with Newton, as its documentation and its examples do them."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import newton
import numpy as np
import warp as wp
from scipy.optimize import least_squares, minimize

from validation.tasks.ours import TARGET

Shape = newton.ModelBuilder.ShapeConfig
wp.config.log_level = wp.LOG_WARNING


def simulate(
    model: newton.Model,
    solver: newton.solvers.SolverBase,
    states: list[newton.State],
    step: float,
    **collision: object,
) -> None:
    """Step from each state to the next one."""
    pipeline = newton.CollisionPipeline(model, **collision)
    contacts = pipeline.contacts()
    for state, following in pairwise(states):
        state.clear_forces()
        pipeline.collide(state, contacts)
        solver.step(state, following, None, contacts, step)


def load_and_step(folder: Path) -> float:
    """Height of a cube after a second [m]."""
    builder = newton.ModelBuilder()
    builder.default_shape_cfg = Shape(ke=1e3, kd=0)
    builder.add_mjcf("""<mujoco><worldbody>
      <geom type="plane" size="5 5 .1"/>
      <body name="cube" pos="0 0 0.35"><freejoint/><geom type="box" size=".05 .05 .05" mass="0.3"/>
      </body></worldbody></mujoco>""")
    model = builder.finalize()
    states = [model.state(), model.state()] * 2
    with wp.ScopedCapture() as capture:
        simulate(model, newton.solvers.SolverSemiImplicit(model), states[:3], 1 / 2000)
    for _ in range(1000):
        wp.capture_launch(capture.graph)
    return float(states[0].body_q.numpy()[0, 2])


def ball(worlds: int = 1, requires_grad: bool = False) -> newton.Model:
    """A ball above the ground, in each world."""
    material = {"ke": 5e3, "kd": 6.0, "kf": 2.5, "mu": 0.3, "gap": 1.0}
    world, scene = newton.ModelBuilder(), newton.ModelBuilder()
    body = world.add_body(xform=wp.transform((0, 0, 0.5), wp.quat_identity()))
    density = 0.1 / (4 / 3 * np.pi * 0.05**3)
    world.add_shape_sphere(body, radius=0.05, cfg=Shape(density=density, **material))
    scene.replicate(world, worlds)
    scene.add_ground_plane(cfg=Shape(**material))
    return scene.finalize(requires_grad=requires_grad)


def throw(model: newton.Model, states: list[newton.State]) -> None:
    """Step from each state to the next one. One contact, found once: the ground is a plane."""
    solver = newton.solvers.SolverSemiImplicit(model, angular_damping=0)
    pipeline = newton.CollisionPipeline(model, rigid_contact_max=model.body_count)
    contacts = pipeline.contacts()
    pipeline.collide(states[0], contacts)
    for state, following in pairwise(states):
        state.clear_forces()
        solver.step(state, following, None, contacts, 1 / 2000)


def start(state: newton.State, velocity: np.ndarray | list[float]) -> None:
    """Give the ball its velocity."""
    state.body_qd.assign([[*velocity, 0, 0, 0]])


def gradient_of_a_landing(folder: Path) -> np.ndarray:
    """d(x after 0.6 s and a bounce)/d(start velocity)."""
    model = ball(requires_grad=True)
    states = [model.state() for _ in range(1201)]
    start(states[0], [1.5, 0, 0])
    with wp.Tape() as tape:
        throw(model, states)
    along_x = wp.array([[1, 0, 0, 0, 0, 0, 0]], dtype=wp.transform)
    tape.backward(grads={states[-1].body_q: along_x})
    return states[0].body_qd.grad.numpy()[0, :3]


def batch_of_1000(folder: Path) -> np.ndarray:
    """Where 1000 throws end."""
    model = ball(1000)
    states = [model.state(), model.state()] * 601
    velocities = np.zeros((1000, 6))
    velocities[:, 0] = np.linspace(0.5, 2.5, 1000)
    states[0].body_qd.assign(velocities)
    throw(model, states[:1201])
    return states[1200].body_q.numpy()[:, :3]


def feedback_control(folder: Path) -> float:
    """How far a pendulum is from upright after two seconds of control [rad]."""
    builder = newton.ModelBuilder()
    rod = builder.add_link()
    builder.add_shape_box(rod, hx=0.02, hy=0.02, hz=0.25, cfg=Shape(density=0.8 / (0.04**2 * 0.5)))
    hinge = builder.add_joint_revolute(
        -1, rod, axis=(0, 1, 0), child_xform=wp.transform((0, 0, 0.25), wp.quat_identity())
    )
    builder.add_articulation([hinge])
    builder.joint_q[0] = np.pi - 0.3
    model = builder.finalize()
    solver = newton.solvers.SolverFeatherstone(model, angular_damping=0)
    state, following, control = model.state(), model.state(), model.control()
    for _ in range(1000):
        torque = 20 * (np.pi - state.joint_q.numpy()) - 3 * state.joint_qd.numpy()
        control.joint_f.assign(torque)
        solver.step(state, following, control, None, 0.002)
        state, following = following, state
    return float(np.pi - state.joint_q.numpy()[0])


def fit_of_friction(folder: Path) -> tuple[float, float]:
    """Friction of a box that slides, and its standard deviation."""
    builder = newton.ModelBuilder()
    builder.default_shape_cfg = Shape(ke=2.5e4, kd=50, kf=100, density=0.4 / (0.1 * 0.1 * 0.05))
    box = builder.add_body(xform=wp.transform((0, 0, 0.025), wp.quat_identity()))
    builder.add_shape_box(box, hx=0.05, hy=0.05, hz=0.025)
    builder.add_ground_plane()
    model = builder.finalize()
    states = [model.state(), model.state()] * 11
    with wp.ScopedCapture() as capture:
        simulate(model, newton.solvers.SolverSemiImplicit(model), states[:21], 1 / 2000)
    recorded = np.loadtxt(folder / "slide.csv")

    def residual(c: np.ndarray) -> np.ndarray:
        model.shape_material_mu.fill_(c[0])
        states[0].body_q.assign(model.body_q)
        start(states[0], [1, 0, 0])
        x = [0.0]
        for _ in range(30):
            wp.capture_launch(capture.graph)
            x.append(float(states[20].body_q.numpy()[0, 0]))
        return (np.array(x) - recorded) / 5e-4

    fit = least_squares(residual, [0.5], diff_step=1e-3)
    return float(fit.x[0]), float((fit.jac.T @ fit.jac)[0, 0] ** -0.5)


def plan_of_a_throw(folder: Path) -> float:
    """By how much a throw with a bounce misses its target [m]."""
    # Without the tape's gradient: it is that of the steps between which the ball lands.
    model = ball()
    states = [model.state(), model.state()] * 601
    with wp.ScopedCapture() as capture:
        throw(model, states[:1201])

    def cost(v: np.ndarray) -> float:
        states[0].body_q.assign(model.body_q)
        start(states[0], v)
        wp.capture_launch(capture.graph)
        off = states[1200].body_q.numpy()[0, :3] - TARGET
        return float(off @ off)

    return float(minimize(cost, [1.5, 0.0, 0.0], method="Nelder-Mead").fun ** 0.5)


@wp.kernel
def drag(velocity: wp.array[wp.vec3], force: wp.array[wp.vec3]) -> None:
    i = wp.tid()
    force[i] += -0.02 * wp.length(velocity[i]) * velocity[i]


def custom_force(folder: Path) -> float:
    """Speed of a ball after a second of fall with quadratic drag [m/s]."""
    builder = newton.ModelBuilder()
    builder.add_particle(pos=(0, 0, 10), vel=(0, 0, 0), mass=0.1)
    model = builder.finalize()
    solver = newton.solvers.SolverSemiImplicit(model)
    state, following = model.state(), model.state()
    for _ in range(1000):
        state.clear_forces()
        wp.launch(drag, 1, [state.particle_qd, state.particle_f])
        solver.step(state, following, None, None, 1 / 1000)
        state, following = following, state
    return float(-state.particle_qd.numpy()[0, 2])


@wp.kernel
def near(
    pose: wp.array[wp.transform], target: wp.vec3, weight: float, share: wp.array[float]
) -> None:
    off = wp.transform_get_translation(pose[0]) - target
    wp.atomic_add(share, 0, weight * wp.exp(-wp.length_sq(off) / 0.1))


def custom_objective(folder: Path) -> tuple[float, np.ndarray]:
    """Time spent near a point, softly, and its gradient by the start velocity."""
    model = ball(requires_grad=True)
    states = [model.state() for _ in range(1201)]
    start(states[0], [1.5, 0, 0])
    share = wp.zeros(1, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        throw(model, states)
        for state in states[::10]:
            wp.launch(near, 1, [state.body_q, wp.vec3(*TARGET), 1 / 121, share])
    tape.backward(share)
    return float(share.numpy()[0]), states[0].body_qd.grad.numpy()[0, :3]


def mesh_body(folder: Path) -> float:
    """Height at which a mesh comes to rest [m]."""
    builder = newton.ModelBuilder()
    builder.default_shape_cfg = Shape(density=1000, mu=0.5)
    stone = builder.add_body(xform=wp.transform((0, 0, 0.3), wp.quat_identity()))
    mesh = newton.Mesh.create_from_file(str(folder / "stone.obj"))
    builder.add_shape_mesh(stone, mesh=mesh)
    builder.add_ground_plane()
    model = builder.finalize()
    states = [model.state(), model.state()] * 2
    with wp.ScopedCapture() as capture:
        solver = newton.solvers.SolverXPBD(model, iterations=5)
        simulate(model, solver, states[:3], 1 / 500, max_triangle_pairs=1000)
    for _ in range(500):
        wp.capture_launch(capture.graph)
    return float(states[0].body_q.numpy()[0, 2])


def soft_body(folder: Path) -> float:
    """Height of a soft cube that has come to rest on the ground [m]."""
    builder = newton.ModelBuilder()
    builder.add_soft_grid(
        pos=wp.vec3(-0.05, -0.05, 0.01), rot=wp.quat_identity(), vel=wp.vec3(0.0),
        dim_x=3, dim_y=3, dim_z=3, cell_x=0.1 / 3, cell_y=0.1 / 3, cell_z=0.1 / 3,
        density=500, k_mu=2e4 / 2.6, k_lambda=2e4 * 0.3 / (1.3 * 0.4), k_damp=20,
        particle_radius=0.001,
    )  # fmt: skip
    builder.add_ground_plane()
    builder.color()
    model = builder.finalize()
    model.soft_contact_ke, model.soft_contact_kd, model.soft_contact_mu = 1e4, 5.0, 0.5
    states = [model.state(), model.state()] * 2
    with wp.ScopedCapture() as capture:
        simulate(model, newton.solvers.SolverVBD(model, iterations=10), states[:3], 1 / 200)
    for _ in range(200):
        wp.capture_launch(capture.graph)
    return float(np.ptp(states[0].particle_q.numpy()[:, 2]))
