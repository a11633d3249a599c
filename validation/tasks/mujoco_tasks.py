"""The same ten tasks with MuJoCo, as its documentation does them."""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
from mujoco import rollout
from scipy.optimize import least_squares, minimize

from validation.tasks.ours import TARGET

BALL = """<mujoco><option timestep="0.0005" integrator="implicitfast"/><worldbody>
  <geom type="plane" size="5 5 .1" friction="0.3"/>
  <body pos="0 0 0.5"><freejoint/><geom type="sphere" size="0.05" mass="0.1" friction="0.3"
    solref="-50000 -28"/></body>
</worldbody></mujoco>"""


def load_and_step(folder: Path) -> float:
    """Height of a cube after a second [m]."""
    model = mujoco.MjModel.from_xml_string("""<mujoco><option timestep="0.0005"/><worldbody>
      <geom type="plane" size="5 5 .1"/>
      <body name="cube" pos="0 0 0.35"><freejoint/><geom type="box" size=".05 .05 .05" mass="0.3"/>
      </body></worldbody></mujoco>""")
    data = mujoco.MjData(model)
    for _ in range(2000):
        mujoco.mj_step(model, data)
    return float(data.body("cube").xpos[2])


def thrown(model: mujoco.MjModel, velocity: np.ndarray, steps: int = 1200) -> np.ndarray:
    """Path (steps, 3) of the ball."""
    data = mujoco.MjData(model)
    data.qvel[:3] = velocity
    path = np.zeros((steps, 3))
    for k in range(steps):
        mujoco.mj_step(model, data)
        path[k] = data.qpos[:3]
    return path


def gradient_of_a_landing(folder: Path) -> np.ndarray:
    """d(x after 0.6 s and a bounce)/d(start velocity), by central differences."""
    model, v, eps = mujoco.MjModel.from_xml_string(BALL), np.array([1.5, 0.0, 0.0]), 1e-5
    ends = [[thrown(model, v + s * eps * e)[-1, 0] for s in (1, -1)] for e in np.eye(3)]
    return np.array([(up - down) / (2 * eps) for up, down in ends])


def batch_of_1000(folder: Path) -> np.ndarray:
    """Where 1000 throws end."""
    model = mujoco.MjModel.from_xml_string(BALL)
    data = mujoco.MjData(model)
    start = np.zeros((1000, mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS)))
    mujoco.mj_getState(model, data, start[0], mujoco.mjtState.mjSTATE_FULLPHYSICS)
    start[:] = start[0]
    start[:, 1 + model.nq] = np.linspace(0.5, 2.5, 1000)
    datas = [mujoco.MjData(model) for _ in range(2)]
    states, _ = rollout.rollout(model, datas, start, nstep=1200)
    return np.asarray(states[:, -1, 1:4])


def feedback_control(folder: Path) -> float:
    """How far a pendulum is from upright after two seconds of control [rad]."""
    model = mujoco.MjModel.from_xml_string("""<mujoco><worldbody><body>
      <joint name="hinge" axis="0 1 0"/>
      <geom type="box" pos="0 0 -.25" size=".02 .02 .25" mass=".8"/></body>
      </worldbody><actuator><motor joint="hinge"/></actuator></mujoco>""")
    data = mujoco.MjData(model)
    data.qpos[0] = np.pi - 0.3
    for _ in range(1000):
        data.ctrl[0] = 20 * (np.pi - data.qpos[0]) - 3 * data.qvel[0]
        mujoco.mj_step(model, data)
    return float(np.pi - data.qpos[0])


def fit_of_friction(folder: Path) -> tuple[float, float]:
    """Friction of a box that slides, and its standard deviation."""
    model = mujoco.MjModel.from_xml_string("""<mujoco><option cone="elliptic" impratio="10"/>
      <worldbody><geom type="plane" size="5 5 .1" friction="0.1"/>
      <body pos="0 0 0.025"><freejoint/><geom name="box" type="box" size=".05 .05 .025" mass=".4"/>
      </body></worldbody></mujoco>""")
    recorded = np.loadtxt(folder / "slide.csv")

    def residual(c: np.ndarray) -> np.ndarray:
        model.geom("box").friction[0] = c[0]
        data = mujoco.MjData(model)
        data.qvel[0] = 1.0
        x = [0.0]
        for _ in range(30):
            mujoco.mj_step(model, data, nstep=5)
            x.append(data.qpos[0])
        return (np.array(x) - recorded) / 5e-4

    fit = least_squares(residual, [0.5], diff_step=1e-4)
    return float(fit.x[0]), float((fit.jac.T @ fit.jac)[0, 0] ** -0.5)


def plan_of_a_throw(folder: Path) -> float:
    """By how much a throw with a bounce misses its target [m]."""
    model = mujoco.MjModel.from_xml_string(BALL)

    def cost(v: np.ndarray) -> float:
        off = thrown(model, v)[-1] - TARGET
        return float(off @ off)

    return float(minimize(cost, [1.5, 0.0, 0.0], options={"eps": 1e-5}).fun ** 0.5)


def custom_force(folder: Path) -> float:
    """Speed of a ball after a second of fall with quadratic drag [m/s]."""
    model = mujoco.MjModel.from_xml_string("""<mujoco><option timestep="0.001"/><worldbody>
      <body pos="0 0 10"><freejoint/><geom type="sphere" size="0.05" mass="0.1"/></body>
      </worldbody></mujoco>""")
    data = mujoco.MjData(model)
    for _ in range(1000):
        v = data.qvel[:3]
        data.xfrc_applied[1, :3] = -0.02 * np.linalg.norm(v) * v
        mujoco.mj_step(model, data)
    return float(-data.qvel[2])


def custom_objective(folder: Path) -> tuple[float, np.ndarray]:
    """Time spent near a point, softly, and its gradient by the start velocity: differences."""
    model, v, eps = mujoco.MjModel.from_xml_string(BALL), np.array([1.5, 0.0, 0.0]), 1e-5

    def near(v: np.ndarray) -> float:
        path = np.vstack([[0, 0, 0.5], thrown(model, v)[9::10]])
        return float(np.exp(-((path - TARGET) ** 2).sum(1) / 0.1).mean())

    slopes = [(near(v + eps * e) - near(v - eps * e)) / (2 * eps) for e in np.eye(3)]
    return near(v), np.array(slopes)


def mesh_body(folder: Path) -> float:
    """Height at which a mesh comes to rest [m]."""
    stone = (folder / "stone.obj").read_bytes()
    model = mujoco.MjModel.from_xml_string("""<mujoco><asset><mesh name="stone" file="stone.obj"/>
      </asset><worldbody><geom type="plane" size="5 5 .1"/><body name="stone" pos="0 0 0.3">
      <freejoint/><geom type="mesh" mesh="stone" density="1000"/></body></worldbody></mujoco>""",
      {"stone.obj": stone})  # fmt: skip
    data = mujoco.MjData(model)
    mujoco.mj_step(model, data, nstep=1000)
    return float(data.body("stone").xipos[2])


def soft_body(folder: Path) -> float:
    """Height of a soft cube that has come to rest on the ground [m]."""
    model = mujoco.MjModel.from_xml_string("""<mujoco>
      <option timestep="0.001" integrator="discrete"/><worldbody><geom type="plane" size="5 5 .1"/>
      <flexcomp name="cube" type="grid" count="4 4 4" spacing=".0333 .0333 .0333" pos="0 0 .06"
        dim="3" mass=".5" radius=".001">
        <elasticity young="2e4" poisson="0.3" damping="0.01"/><contact selfcollide="none"/>
      </flexcomp></worldbody></mujoco>""")
    data = mujoco.MjData(model)
    mujoco.mj_step(model, data, nstep=2000)
    return float(np.ptp(data.flexvert_xpos[:, 2]))
