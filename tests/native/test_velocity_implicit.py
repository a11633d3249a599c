"""What the velocity stepper takes implicitly: velocity terms of inertia, and forces on joints.

Spinning bodies by what they conserve, joints by closed forms of implicit Euler and beside MuJoCo's
implicitfast, derivatives in the batteries at stiffnesses of h sqrt(k/m) from 0.1 to 50.
"""

import numpy as np
import pytest

from diffsim_ros import _engine
from diffsim_ros.rotation import quat_exp
from tests.native.gradients import check_gradients
from tests.native.reduced import add_link, join, smooth_names
from validation.hard_contact import LAW, add_box, options

H = 2e-3
G = 9.81
SHAPES = {
    "asymmetric": [4e-3, 6e-3, 9e-3],
    "disc": [1e-3, 1e-3, 1.9e-3],
    "rod": [1e-4, 4e-3, 4e-3],
}


def turned(q, v):
    """v (n, 3) from the body's axes to the world's, by quaternions q (n, 4)."""
    u, w = q[:, :3], q[:, 3:]
    return v + 2 * np.cross(u, np.cross(u, v) + w * v)


def momentum(r, body, moment):
    """Angular momentum about the centre and energy of rotation of one body, per record."""
    q, w = r.orientation[:, body], r.angular_velocity[:, body]
    own = turned(q * [-1, -1, -1, 1], w)
    L = turned(q, own * moment)
    return L, 0.5 * np.sum(L * w, axis=1)


def roll(s, seconds, **more):
    r = _engine.rollout(s, s.values, round(seconds / H), options(H, record_every=50, **more))
    assert r.ok, r.message
    return r


@pytest.mark.parametrize("speed", [5.0, 20.0, 60.0, 2000.0])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_tumble_keeps_its_energy_and_momentum(shape, speed):
    """The midpoint rule keeps w . I w and |I w| to rounding, at four radians a step too."""
    moment = np.array(SHAPES[shape])
    s = _engine.Scene()
    s.set_gravity([0, 0, 0])
    s.add_rigid_body("b", mass=1.0, inertia=[*moment, 0, 0, 0], radius=0.1, position=[0, 0, 0],
                     angular_velocity=speed * np.array([0.1, 0.1, 1.0]))  # fmt: skip
    L, energy = momentum(roll(s, 10.0), 0, moment)
    np.testing.assert_allclose(energy, energy[0], rtol=1e-9)
    size = np.linalg.norm(L, axis=1)
    np.testing.assert_allclose(size, size[0], rtol=1e-9)
    if speed <= 60:
        assert np.abs(L - L[0]).max() <= 0.1 * size[0]


def top(kind, spin, tilt=0.5):
    """A disc on a light rod that stands on a point: a ball joint, or three hinges in a row."""
    s = _engine.Scene()
    s.set_gravity([0, 0, -G])
    q = quat_exp(np.array([0.0, tilt, 0.0]))
    axis = np.array([np.sin(tilt), 0, np.cos(tilt)])
    moment = [2e-3, 2e-3, 3.8e-3, 0, 0, 0]
    s.add_rigid_body("top", mass=1.0, inertia=moment, radius=0.1, position=0.1 * axis,
                     orientation=q, angular_velocity=spin * axis)  # fmt: skip
    if kind == "ball":
        s.add_joint("foot", kind="ball", body_b="top", position=[0, 0, 0], reduced=True)
        return s
    light = [1e-5] * 3 + [0] * 3
    across = np.cross([0, 0, 1.0], axis)
    across /= np.linalg.norm(across)
    for name in ("yoke", "ring"):
        s.add_rigid_body(name, mass=1e-3, inertia=light, radius=0.1, position=[0, 0, 0])
    for name, a, b, along in (
        ("yaw", "", "yoke", [0, 0, 1]), ("nod", "yoke", "ring", across),
        ("spin", "ring", "top", axis),
    ):  # fmt: skip
        s.add_joint(name, kind="hinge", body_a=a, body_b=b, position=[0, 0, 0], axis=along,
                    reduced=True)  # fmt: skip
    return s


def drift(s, seconds):
    """The largest change of the total energy, of the largest kinetic one."""
    r = roll(s, seconds)
    energy = s.energies(r)
    return np.abs(energy["total"] - energy["total"][0]).max() / energy["kinetic"].max()


@pytest.mark.parametrize("spin", [20.0, 100.0])
@pytest.mark.parametrize("kind", ["ball", "hinges"])
def test_a_heavy_top_keeps_its_energy(kind, spin):
    """At 20 rad/s it is not held up: it falls over and swings."""
    assert drift(top(kind, spin), 10.0) < (0.03 if spin < 50 else 2e-4)


def chain(spin):
    """A double pendulum that hangs and is thrown."""
    s = _engine.Scene()
    s.set_gravity([0, 0, -G])
    for k, name in enumerate(("upper", "lower")):
        s.add_rigid_body(name, mass=0.5, inertia=[2e-3, 2e-3, 1e-4, 0, 0, 0], radius=0.1,
                         position=[0, 0, -0.1 - 0.2 * k],
                         angular_velocity=[0, spin * (1 - 2 * k), 0])  # fmt: skip
    s.add_joint("shoulder", kind="hinge", body_b="upper", position=[0, 0, 0], axis=[0, 1, 0],
                reduced=True)  # fmt: skip
    s.add_joint("elbow", kind="hinge", body_a="upper", body_b="lower", position=[0, 0, -0.2],
                axis=[0, 1, 0], reduced=True)  # fmt: skip
    return s


def test_a_double_pendulum_keeps_its_energy():
    assert drift(chain(10.0), 10.0) < 0.03


def gimbal(spin):
    """A rotor in two rings, free of gravity's torque, that is knocked."""
    s = _engine.Scene()
    s.set_gravity([0, 0, 0])
    for name, scale, w in (("outer", 1.0, [0, 0, 0.5]), ("inner", 0.5, [0.4, 0, 0.5]),
                           ("rotor", 2.0, [0.4, spin, 0.5])):  # fmt: skip
        moment = [scale * 1e-3, scale * 2e-3, scale * 1e-3, 0, 0, 0]
        s.add_rigid_body(name, mass=0.3, inertia=moment, radius=0.1, position=[0, 0, 0],
                         angular_velocity=w)  # fmt: skip
    for name, a, b, axis in (("yaw", "", "outer", [0, 0, 1]), ("nod", "outer", "inner", [1, 0, 0]),
                             ("spin", "inner", "rotor", [0, 1, 0])):  # fmt: skip
        s.add_joint(name, kind="hinge", body_a=a, body_b=b, position=[0, 0, 0], axis=axis,
                    reduced=True)  # fmt: skip
    return s


@pytest.mark.parametrize("spin", [60.0, 1000.0])
def test_a_rotor_on_a_gimbal_keeps_its_energy(spin):
    """At 1000 rad/s the velocity terms do not converge by themselves: two radians a step."""
    assert drift(gimbal(spin), 10.0) < 1e-3


def finger(**start):
    """A light link on a hinge: 20 g, 50 mm, its centre 25 mm from the axis."""
    s = _engine.Scene()
    s.set_gravity([0, 0, -G])
    moment = 0.02 * 0.05**2 / 12
    s.add_rigid_body("a", mass=0.02, inertia=[moment * 0.1, moment, moment, 0, 0, 0], radius=0.05,
                     position=[0.025, 0, 0], **start)  # fmt: skip
    s.add_joint("j", kind="hinge", body_b="a", position=[0, 0, 0], axis=[0, 1, 0], reduced=True,
                friction_damping=0.0)  # fmt: skip
    return s


FINGER = 0.02 * (0.05**2 / 12 + 0.025**2)  # about its axis [kg m^2]


def angle(s, seconds):
    """Of the finger's hinge, per step [rad]."""
    r = _engine.rollout(s, s.values, round(seconds / H), options(H))
    assert r.ok, r.message
    q = r.orientation[:, 0]
    return 2 * np.arctan2(q[:, 1], q[:, 3])


@pytest.mark.parametrize("ratio", [0.1, 1.0, 5.0, 50.0])
def test_a_servo_is_implicit_euler_of_its_own_spring(ratio):
    """Without gravity: (I + h c + h^2 k) u' = I u + h k (q* - q), whatever h sqrt(k/m)."""
    s = finger()
    s.set_gravity([0, 0, 0])
    k = FINGER * (ratio / H) ** 2
    c = 0.3 * np.sqrt(k * FINGER)
    s.add_motor("m", joint="j", keys=[0.4, 0.4], interval=1.0, stiffness=k, damping=c)
    q, u, exact = 0.0, 0.0, [0.0]
    for _ in range(100):
        u = (FINGER * u + H * k * (0.4 - q)) / (FINGER + H * c + H * H * k)
        q += H * u
        exact.append(q)
    np.testing.assert_allclose(angle(s, 0.2), exact, atol=1e-10)


@pytest.mark.parametrize("coulomb", [1e-4, 2e-3, 1.0])
def test_dry_friction_stops_what_moves_and_holds_it(coulomb):
    """A finger at 30 rad/s: it slows down by c/I and stops without a sound."""
    s = finger(angular_velocity=[0, 30.0, 0], velocity=[0, 0, -0.75])
    s.set_gravity([0, 0, 0])
    s.add_joint_friction("f", joint="j", coulomb=coulomb, slip_rate=1e-3)
    r = _engine.rollout(s, s.values, 100, options(H))
    assert r.ok, r.message
    u = r.angular_velocity[:, 0, 1]
    np.testing.assert_allclose(u, np.maximum(30 - coulomb / FINGER * r.time, 0), atol=2e-2)


def test_a_hard_limit_holds_a_link_that_falls_onto_it():
    s = finger()
    s.add_joint_limit("stop", joint="j", upper=0.2, stiffness=1e4, damping=10.0)
    q = angle(s, 1.0)
    assert q[-1] == pytest.approx(0.2, abs=1e-4)
    assert np.abs(np.diff(q[-50:])).max() < 1e-9


def stiff_tree(ratio, base="", restitution=None):
    """Three links with servo, spring, damping, dry friction and limits of h sqrt(k/m) = ratio, a
    ball joint with damping, and a foot that lands."""
    rng = np.random.default_rng(4)
    s = _engine.Scene()
    s.set_gravity([0.3, -0.2, -9.81])
    ground = ""
    if base:
        add_link(s, "base", [-0.1, 0, 0.3], rng, 0.8)
        ground = "base"
    for name, place in (("a", (0, 0, 0.3)), ("b", (0.1, 0.02, 0.3)), ("c", (0.2, 0, 0.28)),
                        ("d", (0.1, 0.1, 0.32))):  # fmt: skip
        add_link(s, name, place, rng, 0.3)
    k = 0.005 * (ratio / 1e-3) ** 2
    c = 0.2 * np.sqrt(0.005 * k)
    join(s, "hip", "hinge", ground, "a", [-0.05, 0, 0.3], friction_damping=c)
    join(s, "knee", "hinge", "a", "b", [0.05, 0.01, 0.3])
    join(s, "slide", "slider", "b", "c", [0.15, 0, 0.3], friction_damping=10 * c)
    join(s, "ball", "ball", "a", "d", [0.05, 0.05, 0.31], friction_damping=c)
    s.add_motor("servo", joint="hip", keys=[0.1, 0.3, -0.2], interval=0.03, stiffness=k, damping=c)
    s.add_joint_friction("rub", joint="knee", coulomb=0.4, slip_rate=0.05)
    s.add_joint_friction("scrape", joint="slide", coulomb=0.2, slip_rate=0.1)
    s.add_joint_limit("stop", joint="knee", lower=-0.02, upper=0.03, stiffness=k, damping=0.5)
    s.add_joint_limit(
        "bar", joint="slide", lower=-0.002, upper=0.001, stiffness=40 * k, damping=2.0,
        damping_depth=0.0005,
    )  # fmt: skip
    s.add_armature("rotor", joint="hip", inertia=0.002)
    if restitution is not None:
        s.add_points("foot", bodies=["c", "d"], local=np.array([[0.0, 0.01, 0.02], [0, 0, 0.01]]),
                     radius=0.05)  # fmt: skip
        s.add_contact("floor", points="foot", sdf=_engine.Plane([0.1, 0, 1], 0.23), c_f=0.4,
                      restitution=restitution, **LAW)  # fmt: skip
    return s


@pytest.mark.parametrize("base", ["", "free body"])
@pytest.mark.parametrize("ratio", [0.1, 3.0, 50.0])
def test_gradients_of_stiff_forces_on_joints(ratio, base):
    s = stiff_tree(ratio, base)
    check_gradients(s, 40, options(1e-3), smooth_names(s, ("anchor", "axis", ".position")))


@pytest.mark.parametrize("restitution", [0.0, 0.6])
@pytest.mark.parametrize("ratio", [0.3, 20.0])
def test_gradients_of_stiff_forces_on_joints_through_contact(ratio, restitution):
    s = stiff_tree(ratio, "free body", restitution)
    skip = ("anchor", "axis", ".position", "k_n", "k_t", "c_n")
    r = check_gradients(s, 60, options(1e-3), smooth_names(s, skip))
    assert np.abs(r.contact_force).max() > 0


@pytest.mark.parametrize("restitution", [0.0, 0.7])
def test_gradients_of_what_spins_fast(restitution):
    """A box at 300 rad/s that lands, and a top beside it."""
    s = top("ball", 400.0)
    add_box(s, "box", [0.5, 0, 0.09], velocity=[0.3, 0.2, -1.0], angular_velocity=[90, -200, 210])
    s.add_contact("floor", points="box_corners", sdf=_engine.Plane([0, 0, 1], 0), c_f=0.3,
                  restitution=restitution, **LAW)  # fmt: skip
    skip = ("anchor", "axis", "foot.position", "k_n", "k_t", "c_n")
    check_gradients(s, 25, options(1e-3), smooth_names(s, skip))


def test_a_failure_names_what_fails():
    """A spring between bodies stays explicit: where it overflows, the status names a body."""
    s = _engine.Scene()
    s.set_gravity([0, 0, 0])
    for name, x in (("one", 0.0), ("two", 0.11)):
        s.add_particle(name, mass=1e-3, position=[x, 0, 0])
    s.add_points("ends", bodies=["one", "two"], local=np.zeros((2, 3)))
    s.add_springs("spring", points_a="ends", index_a=[0], points_b="ends", index_b=[1],
                  stiffness=1e6, damping=0.0, rest_length=0.1)  # fmt: skip
    r = _engine.rollout(s, s.values, 2000, options(H))
    assert not r.ok
    assert "one" in r.message or "two" in r.message


MODEL = """<mujoco><option integrator="implicitfast" timestep="0.002"/><worldbody><body>
<joint name="j" axis="0 1 0" damping="{damping}" frictionloss="{coulomb}"/>
<inertial pos="0.025 0 0" mass="0.02" diaginertia="4.1666667e-7 4.1666667e-6 4.1666667e-6"/>
</body></worldbody><actuator>{actuator}</actuator></mujoco>"""


@pytest.mark.parametrize(
    ("stiffness", "damping", "coulomb"),
    [(100.0, 2.0, 0.0), (0.2, 0.01, 0.0), (0.0, 5.0, 0.0), (0.0, 0.0, 3e-3), (3.0, 0.05, 5e-3)],
)
def test_a_stiff_joint_moves_as_with_implicitfast(stiffness, damping, coulomb):
    """Servos, damping and dry friction on the finger, which falls, at 2 ms: to 8 % of the way."""
    mujoco = pytest.importorskip("mujoco")
    servo = f'<position joint="j" kp="{stiffness}"/>' if stiffness else ""
    text = MODEL.format(damping=damping, coulomb=coulomb, actuator=servo)
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    target = 0.3
    if stiffness:
        data.ctrl[0] = target
    found = [0.0]
    for _ in range(250):
        mujoco.mj_step(model, data)
        found.append(data.qpos[0])
    s = finger()
    s.set_value("j.friction_damping", damping)
    if stiffness:
        s.add_motor("m", joint="j", keys=[target, target], interval=1.0, stiffness=stiffness,
                    damping=0.0)  # fmt: skip
    if coulomb:
        s.add_joint_friction("f", joint="j", coulomb=coulomb, slip_rate=1e-3)
    ours = angle(s, 0.5)
    assert np.abs(ours - found).max() <= 0.08 * max(np.abs(found).max(), 1e-3)
