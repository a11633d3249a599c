"""Point forces, torques, drag, cables, springs of cloth and strings."""

import numpy as np
import pytest

from diffsim_ros import _engine
from tests.native.batteries import check_element, random_instants
from tests.native.gradients import check_gradients
from tests.native.links import net_wrench, two_links

KEYS = {"interval": 0.1}


def with_points(rng):
    """two_links with points on both bodies (set 'on'), the particle, and the world."""
    s = two_links()
    s.add_points("on", bodies=["a", "b", "a"], local=0.3 * rng.normal(size=(3, 3)), radius=0.02,
                 inset=rng.normal(size=(3, 3)), scale=1.1)  # fmt: skip
    s.add_points("dot", bodies=["c"], local=np.zeros((1, 3)))
    s.add_points("post", bodies=["", ""], local=rng.normal(size=(2, 3)))
    return s


@pytest.mark.parametrize("frame", ["world", "body"])
@pytest.mark.parametrize("t", [0.0, 0.13])
def test_battery_of_point_force(frame, t):
    rng = np.random.default_rng(1)
    s = with_points(rng)
    s.add_point_force("push", points="on", force=rng.normal(size=(3, 3)), frame=frame, **KEYS)
    s.add_point_force("pull", points="dot", force=[1, 2, 3])
    s.add_point_force("press", points="on", index=[2, 0], force=rng.normal(size=3), frame=frame,
                      shares=[0.3, -1.2])  # fmt: skip
    for name in ("push", "pull", "press"):
        for _ in range(2):
            check_element(s, name, s.values, random_instants(rng, 3, 1), rng, [0, 1], t)


@pytest.mark.parametrize("frame", ["world", "body"])
def test_battery_of_torque(frame):
    rng = np.random.default_rng(2)
    s = with_points(rng)
    s.add_torque("turn", body="b", torque=rng.normal(size=(3, 3)), frame=frame, **KEYS)
    for t in (0.0, 0.13, 0.5):
        check_element(s, "turn", s.values, random_instants(rng, 3, 1), rng, [0, 1], t)


def test_battery_of_drag():
    rng = np.random.default_rng(3)
    s = with_points(rng)
    s.add_drag("air", points="on", c_linear=0.3, c_quadratic=0.5, wind=[1, 0.2, -0.3],
               shares=[0.2, 0.0, 1.3])  # fmt: skip
    s.add_drag("oil", points="dot", c_linear=0.3)
    for name in ("air", "oil"):
        for _ in range(3):
            check_element(s, name, s.values, random_instants(rng, 3, 1), rng, [0, 1])


ROUTES = {
    "strap": ("on", [0, 1]), "rigging": (["post", "on", "dot", "on", "on"], [0, 1, 0, 0, 2]),
    "loop": (["dot", "on", "on", "dot"], [0, 0, 1, 0]),
    "fence": (["post", "post", "dot"], [0, 1, 0]),
}  # fmt: skip


@pytest.mark.parametrize("route", ROUTES)
def test_battery_of_cable(route):
    """Slack, taut and clamped; through bodies, nodes and the world; internal unless held."""
    rng = np.random.default_rng(4)
    s = with_points(rng)
    points, index = ROUTES[route]
    segments = len(index) - 1
    s.add_cable("cable", points=points, index=index, stiffness=20.0, damping=1.5,
                rest_length=1.7 * segments)  # fmt: skip
    codes = set()
    for _ in range(14):
        instants = random_instants(rng, 3, 1)
        out = check_element(s, "cable", s.values, instants, rng, [0, 1])
        codes |= {int(code) for code in out["modes"]}
        if "post" not in points:
            force, torque = net_wrench(out["r"], instants[0][0])
            assert np.abs(np.hstack([force, torque])).max() <= 1e-12 * (1 + np.abs(out["r"]).max())
    assert {0, 1, 5} <= codes


def net(n, tension_only=False, factors=True, spin=(0.5, 0, 2)):
    """n particles in a chain with natural lengths, its ends on the post and on body a."""
    s = two_links(gravity=(0, 0, -9.81))
    rng = np.random.default_rng(5)
    for i in range(n):
        s.add_particle(f"p{i}", mass=0.05, position=[-0.2 * i, 0.03 * i, 0], velocity=spin)
    s.add_points("chain", bodies=[f"p{i}" for i in range(n)], local=np.zeros((n, 3)))
    more = {"stiffness_factors": rng.uniform(0.5, 2, n - 1)} if factors else {}
    s.add_springs("net", points_a="chain", index_a=np.arange(n - 1), points_b="chain",
                  index_b=np.arange(1, n), stiffness=60.0, damping=0.2, tension_only=tension_only,
                  rest_length=rng.uniform(0.15, 0.25, n - 1), **more)  # fmt: skip
    return s


@pytest.mark.parametrize("tension_only", [False, True])
def test_battery_of_springs_with_natural_lengths(tension_only):
    """Point nodes (the fast path) and frames, pushing, pulling, slack and clamped."""
    rng = np.random.default_rng(6)
    s = net(11, tension_only)  # more springs than the engine takes at a time
    s.add_points("on", bodies=["a", "b"], local=0.2 * rng.normal(size=(2, 3)), scale=1.1)
    s.add_springs("ties", points_a="on", index_a=[0, 1, 0], points_b="chain", index_b=[2, 0, 1],
                  stiffness=20.0, damping=0.3, rest_length=[1.0, 1.4, 2.0],
                  stiffness_factors=[1, 2, 0], tension_only=tension_only)  # fmt: skip
    codes = set()
    for _ in range(8):
        for name in ("net", "ties"):
            instants = random_instants(rng, 14, 1)
            out = check_element(s, name, s.values, instants, rng, frames=[0, 1])
            codes |= {int(code) for code in out["modes"]}
    assert codes == ({0, 1, 5} if tension_only else set())


def test_springs_of_particles_and_of_frames_are_the_same_springs():
    """The fast path against zero moment arms; the scalar form against equal natural lengths."""
    rng = np.random.default_rng(7)
    c, v = rng.normal(size=(2, 2, 3))
    found = []
    for kind in ("particle", "frame"):
        for rest in (0.5, [0.5]):
            s = _engine.Scene()
            for name in "ab":
                if kind == "particle":
                    s.add_particle(name, mass=1.0)
                else:
                    s.add_rigid_body(name, mass=1.0, inertia=[1, 1, 1, 0, 0, 0], radius=1.0)
            s.add_points("ends", bodies=["a", "b"], local=np.zeros((2, 3)))
            s.add_springs("s", points_a="ends", index_a=[0], points_b="ends", index_b=[1],
                          stiffness=30.0, damping=0.7, rest_length=rest)  # fmt: skip
            instants = [[c, np.zeros((2, 3)), v, np.zeros((2, 3))]] * 2
            out = s.evaluate_element("s", s.values, instants, 0.01)
            part = [0, 1, 2, 3, 4, 5] if kind == "particle" else [0, 1, 2, 6, 7, 8]
            rows = np.ix_(part, part)
            parts = out["r"][part], out["K"][rows].ravel(), out["B"][rows].ravel()
            found.append(np.hstack(parts))
    for other in found[1:]:
        assert other == pytest.approx(found[0], rel=1e-13)


def test_a_string_that_tightens_does_not_jump():
    """The force grows from zero, whatever the speed at which the string becomes taut."""
    s = _engine.Scene()
    s.add_particle("a", mass=1.0)
    s.add_particle("b", mass=1.0)
    s.add_points("ends", bodies=["a", "b"], local=np.zeros((2, 3)))
    s.add_cable("cable", points="ends", index=[0, 1], stiffness=100.0, damping=3.0, rest_length=1.0)
    s.add_springs("string", points_a="ends", index_a=[0], points_b="ends", index_b=[1],
                  stiffness=100.0, damping=3.0, rest_length=1.0, tension_only=True)  # fmt: skip
    zero = np.zeros((2, 3))
    for beyond, force in ((-1e-9, 0), (1e-9, 1e-7 * (1 + 3 * 50)), (0.01, 151.0)):
        c, v = np.array([[0, 0, 0], [1 + beyond, 0, 0.0]]), np.array([[0, 0, 0], [50, 0, 0.0]])
        for name in ("cable", "string"):
            r = s.evaluate_element(name, s.values, [[c, zero, v, zero]] * 2, 0.01)["r"]
            assert r[3] == pytest.approx(force, rel=1e-6)


def test_a_falling_point_reaches_its_terminal_speed():
    s = _engine.Scene()
    s.add_particle("a", mass=0.5)
    s.add_points("point", bodies=["a"], local=np.zeros((1, 3)))
    s.add_drag("air", points="point", c_quadratic=0.2, wind=[2, 0, 0])
    r = _engine.rollout(s, s.values, 2000, _engine.Options(step=0.005))
    fall = np.sqrt(0.5 * 9.81 / 0.2)
    assert r.velocity[-1, 0] == pytest.approx([2, 0, -fall], rel=1e-6, abs=1e-4)
    still = _engine.rollout(s, _without_wind(s), 400, _engine.Options(step=0.005))
    wanted = -fall * np.tanh(9.81 * still.time / fall)
    assert still.velocity[:, 0, 2] == pytest.approx(wanted, abs=2e-4)


def _without_wind(s):
    p = s.values
    p[s.index("air.wind.x")] = 0
    return p


def test_a_body_fixed_force_turns_with_its_body():
    """A thruster at the rim of a free disc: constant spin-up, force always along the rim."""
    s = _engine.Scene()
    s.set_gravity([0, 0, 0])
    s.add_rigid_body("disc", mass=1.0, inertia=[0.01, 0.01, 0.02, 0, 0, 0], radius=0.2)
    s.add_points("rim", bodies=["disc"], local=[[0.2, 0, 0]])
    s.add_point_force("jet", points="rim", force=[0, 0.5, 0], frame="body")
    s.add_torque("brake", body="disc", torque=[0, 0, -0.05])
    r = _engine.rollout(s, s.values, 200, _engine.Options(step=0.005))
    assert r.angular_velocity[-1, 0] == pytest.approx([0, 0, (0.1 - 0.05) / 0.02], abs=1e-6)


def test_a_cable_over_a_pulley_block_shares_its_tension():
    """Two weights on one cable over a fixed post: Atwood's acceleration, up to the cable's give."""
    s = _engine.Scene()
    masses = {"a": 1.0, "b": 2.0}
    for (name, mass), x in zip(masses.items(), (-0.5, 0.5), strict=True):
        s.add_particle(name, mass=mass, position=[x, 0, -1])
    s.add_points("ends", bodies=["a", "b"], local=np.zeros((2, 3)))
    s.add_points("pulleys", bodies=["", ""], local=[[-0.5, 0, 1], [0.5, 0, 1]])
    s.add_cable("cable", points=["ends", "pulleys", "pulleys", "ends"], index=[0, 0, 1, 1],
                stiffness=1e6, damping=0.1, rest_length=5.0 - 40 / 3 / 1e6 * 0.981)  # fmt: skip
    r = _engine.rollout(s, s.values, 200, _engine.Options(step=0.0025))
    rise = 9.81 / 3 * r.time**2 / 2
    assert r.position[:, 0, 2] + 1 == pytest.approx(rise, abs=5e-4)
    assert r.position[:, 1, 2] + 1 == pytest.approx(-rise, abs=5e-4)


@pytest.mark.parametrize("order", [1, 2])
def test_gradients_by_forces_and_cables(order):
    rng = np.random.default_rng(8)
    s = net(4, tension_only=True)
    s.add_points("on", bodies=["a", "b", "a"], local=0.1 * rng.normal(size=(3, 3)), scale=1.1)
    s.add_springs("ties", points_a="on", index_a=[0, 1], points_b="chain", index_b=[0, 3],
                  stiffness=40.0, damping=0.3, rest_length=0.3, tension_only=True)  # fmt: skip
    s.add_cable("cable", points=["on", "on", "chain"], index=[0, 1, 2], stiffness=150.0,
                damping=0.1, rest_length=0.4)  # fmt: skip
    s.add_point_force("push", points="on", index=[2], force=2 * rng.normal(size=(3, 3)),
                      frame="body", **KEYS)  # fmt: skip
    s.add_torque("turn", body="b", torque=0.05 * rng.normal(size=(2, 3)), **KEYS)
    s.add_drag("air", points="on", c_linear=0.1, c_quadratic=0.3, wind=[1, 0, 0])
    names = [f"{e}.{p}" for e in ("net", "ties", "cable") for p in ("stiffness", "damping")]
    names += ["net.rest_scale", "ties.rest_length", "cable.rest_length", "push.force[0].x",
              "push.force[1].y", "push.force[2].z", "turn.torque[1].x", "air.c_linear",
              "air.c_quadratic", "air.wind.y", "on.scale", "p2.mass",
              "a.angular_velocity.x"]  # fmt: skip
    options = _engine.Options(step=1 / 400, order=order, stagnate=True, record_modes=True)
    r = check_gradients(s, 100, options, names, 1e-5)
    taut = [set(column) for column in r.modes.T]
    assert any({0, 1} <= codes for codes in taut), "no string ever went slack and taut"


BAD = [
    ("add_point_force", {"points": "post", "force": [1, 0, 0]}, "must be on a body"),
    ("add_point_force", {"points": "on", "force": [1, 0, 0], "shares": [1.0]}, "shares: must be 3"),
    ("add_point_force", {"points": "on", "force": [1, 0]}, r"must be \(3,\) or \(n, 3\) keys"),
    ("add_point_force", {"points": "on", "force": [[1, 0, 0]] * 2}, "interval: must be > 0"),
    ("add_point_force", {"points": "on", "force": [1, 0, 0], "index": [3]}, r"in \[0, 2\], got 3"),
    ("add_point_force", {"points": "on", "force": [1, 0, 0], "frame": "tool"}, "'world' or 'body'"),
    ("add_point_force", {"points": "dot", "force": [1, 0, 0], "frame": "body"}, "use 'world'"),
    ("add_point_force", {"points": "dot", "force": [1, 0, np.nan]}, "must be finite"),
    ("add_torque", {"body": "c", "torque": [1, 0, 0]}, "must be a rigid body, got particle 'c'"),
    ("add_torque", {"body": "d", "torque": [1, 0, 0]}, r"one of \[a, b, c\]"),
    ("add_drag", {"points": "on", "c_linear": -1.0}, "f.c_linear"),
    ("add_drag", {"points": "on", "shares": [1, 2]}, "must be 3 numbers >= 0, one per point"),
    ("add_drag", {"points": "on", "shares": [1, 2, -1]}, "must be 3 numbers >= 0, one per point"),
    ("add_cable", {"points": "on", "index": [0]}, "must name two points or more, got 1"),
    ("add_cable", {"points": "post", "index": [0, 1]}, "must pass a point on a body"),
    ("add_cable", {"points": ["on", "dot"], "index": [0, 0, 1]}, "one set, or one per point"),
    ("add_cable", {"points": "on", "index": [0, 1], "stiffness": -1.0}, "f.stiffness"),
    ("add_springs", {"rest_length": [1.0]}, "must be 2 numbers > 0, one per spring"),
    ("add_springs", {"rest_length": [1.0, 0.0]}, "must be 2 numbers > 0, one per spring"),
    ("add_springs", {"stiffness_factors": [1, -1]}, "must be 2 numbers >= 0, one per spring"),
    ("add_springs", {"tension_only": True}, r"must be > 0 \[m\] for strings"),
]
DEFAULTS = {
    "add_cable": {"stiffness": 1.0, "rest_length": 1.0},
    "add_springs": {"points_a": "on", "index_a": [0, 1], "points_b": "dot", "index_b": [0, 0],
                    "stiffness": 1.0},
}  # fmt: skip


@pytest.mark.parametrize(("builder", "change", "text"), BAD)
def test_bad_forces_are_refused(builder, change, text):
    s = with_points(np.random.default_rng(0))
    with pytest.raises(_engine.InvalidInput, match=text):
        getattr(s, builder)("f", **(DEFAULTS.get(builder, {}) | change))
