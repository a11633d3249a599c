"""Driven kinematic bodies: a prescribed pose, what hangs on it, and derivatives by every key."""

import numpy as np
import pytest

from diffsim_ros import _engine

KEYS, INTERVAL, STEP = 5, 0.1, 0.01


def hand_and_box():
    """A box on a string from a hand that moves and turns through five keys."""
    rng = np.random.default_rng(0)
    s = _engine.Scene()
    s.add_kinematic_body("hand", interval=INTERVAL, position=0.1 * rng.normal(size=(KEYS, 3)),
                 rotation=0.3 * rng.normal(size=(KEYS, 3)), radius=0.1)  # fmt: skip
    s.add_rigid_body("box", mass=1.0, inertia=[0.01, 0.012, 0.014, 0, 0, 0],
                     position=[0, 0, -0.3], radius=0.1)  # fmt: skip
    s.add_points("grip", bodies=["hand"], local=[[0.05, 0, 0]])
    s.add_points("eye", bodies=["box"], local=[[0.05, 0, 0.05]])
    s.add_springs("string", points_a="grip", index_a=[0], points_b="eye", index_b=[0],
                  stiffness=200.0, damping=1.0, rest_length=0.2)  # fmt: skip
    return s


def test_a_handle_is_where_its_keys_say():
    """On keys, between them (linear), and at rest after the last one."""
    s = hand_and_box()
    p = s.values
    r = _engine.rollout(s, p, 60, _engine.Options(step=STEP))
    assert r.ok
    keys = np.array([[p[s.index(f"hand.position[{k}].{a}")] for a in "xyz"] for k in range(KEYS)])
    turns = np.array([[p[s.index(f"hand.rotation[{k}].{a}")] for a in "xyz"] for k in range(KEYS)])
    assert r.position[::10, 0][:KEYS] == pytest.approx(keys, abs=1e-12)
    assert r.position[13, 0] == pytest.approx(0.7 * keys[1] + 0.3 * keys[2], abs=1e-12)
    assert r.position[-1, 0] == pytest.approx(keys[-1], abs=1e-12)
    turned = _engine.exp_rotation(0.7 * turns[1] + 0.3 * turns[2])
    x, y, z, w = r.orientation[13, 0]
    assert [x, y, z] == pytest.approx(
        np.sign(w) * _quaternion(_engine.log_rotation(turned)), abs=1e-12
    )
    assert r.velocity[15, 0] == pytest.approx((keys[2] - keys[1]) / INTERVAL, abs=1e-9)


def test_it_starts_with_the_velocity_of_its_motion():
    """Of its first piece, with derivatives by both keys of that; at rest without motion."""
    s = hand_and_box()
    p, names = s.values, [f"hand.{w}[{k}].{a}" for w in ("position", "rotation") for k in (0, 1)
                          for a in "xyz"]  # fmt: skip
    active = [s.index(name) for name in names]
    keys = p[active].reshape(2, 2, 3)
    r = _engine.rollout(s, p, 3, _engine.Options(step=1e-5), active=active, mode="sensitivity")
    assert r.velocity[0, 0] == pytest.approx((keys[0, 1] - keys[0, 0]) / INTERVAL, abs=1e-12)
    assert r.velocity[0, 0] == pytest.approx(r.velocity[1, 0], abs=1e-8)
    assert r.angular_velocity[0, 0] == pytest.approx(r.angular_velocity[1, 0], abs=1e-4)

    def start(q):
        motion = _engine.rollout(s, q, 1, _engine.Options(step=STEP))
        return np.hstack([motion.velocity[0, 0], motion.angular_velocity[0, 0]])

    for k, i in enumerate(active):
        ends = [start(p + e * np.eye(len(p))[i]) for e in (1e-5, -1e-5)]
        assert (ends[0] - ends[1]) / 2e-5 == pytest.approx(r.dv[0, :6, k], abs=1e-8), names[k]
    gv = np.zeros((4, s.ndof))
    gv[0, :6] = [1, -2, 0.5, 0.3, 1, -1]
    for mode in ("store", "checkpoint"):
        again = _engine.rollout(s, p, 3, _engine.Options(step=1e-5), active=active, mode=mode)
        assert again.gradient(0 * gv, gv) == pytest.approx(gv[0] @ r.dv[0], abs=1e-12)


def _quaternion(theta):
    angle = np.linalg.norm(theta)
    return np.sin(angle / 2) * theta / angle


@pytest.mark.parametrize("order", [1, 2])
def test_derivatives_by_keys_match_differences_and_the_adjoint(order):
    s = hand_and_box()
    p, steps = s.values, 45
    active = [i for i, q in enumerate(s.parameters) if q.name.split(".")[0] in ("hand", "string")]
    active.reverse()  # the caller's order is kept, whatever the engine's
    o = _engine.Options(step=STEP, order=order, stagnate=True)
    r = _engine.rollout(s, p, steps, o, active=active, mode="sensitivity")
    gx = np.zeros((steps + 1, s.ndof))
    gx[20, 6:9], gx[-1, 6:9] = [0.3, -1, 0.2], [1, 0.5, 0.25]
    exact = np.einsum("fd,fda->a", gx, r.dx)
    for mode in ("store", "checkpoint"):
        again = _engine.rollout(s, p, steps, o, active=active, mode=mode)
        assert again.gradient(gx, 0 * gx) == pytest.approx(exact, rel=1e-12, abs=1e-13)

    def objective(q):
        motion = _engine.rollout(s, q, steps, o)
        return sum(gx[f, 6:9] @ motion.position[f, 1] for f in (20, steps))

    for k, i in enumerate(active):
        ends = [objective(p + e * np.eye(len(p))[i]) for e in (1e-5, -1e-5)]
        assert (ends[0] - ends[1]) / 2e-5 == pytest.approx(exact[k], abs=1e-7), s.parameters[i].name
    late = [k for k, i in enumerate(active) if s.parameters[i].begin > 0.2 + STEP]
    assert late
    assert np.all(r.dx[:20][:, :, late] == 0)


def test_forces_on_a_handle_move_nothing():
    """Momentum of the box alone obeys the string's force; the kinematic body's rows are its own."""
    s = hand_and_box()
    out = _engine.rollout(s, s.values, 10, _engine.Options(step=STEP))
    s2 = hand_and_box()
    p2 = s2.values
    p2[s2.index("string.stiffness")] = 0
    free = _engine.rollout(s2, p2, 10, _engine.Options(step=STEP))
    assert free.position[:, 0] == pytest.approx(out.position[:, 0], abs=1e-13)
    assert abs(free.position[-1, 1] - out.position[-1, 1]).max() > 1e-3


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"interval": 0.0}, "interval: must be > 0"),
        ({"position": np.zeros((0, 3))}, "must hold a key"),
        ({"rotation": np.zeros((2, 3))}, "one key per position"),
        ({"radius": -1.0}, "radius: must be > 0"),
    ],
)
def test_bad_handles_are_refused(change, text):
    s = _engine.Scene()
    with pytest.raises(ValueError, match=text):
        s.add_kinematic_body("h", **({"interval": 0.1, "position": np.zeros((3, 3))} | change))


def test_sensitivities_along_directions_are_those_of_all_keys_combined():
    """Parameters of every support: keys, a start, and one that always acts; S D at every frame."""
    s = hand_and_box()
    names = [f"hand.{what}[{k}].{a}" for what in ("position", "rotation")
             for k in (0, 2, 3) for a in "xyz"]  # fmt: skip
    active = [s.index(n) for n in (*names, "string.stiffness", "box.velocity.x", "box.mass")]
    active = active[::-1]  # columns count as the caller orders them
    D = np.random.default_rng(1).normal(size=(len(active), 4))
    o = _engine.Options(step=STEP, record_every=5)
    run = {"options": o, "active": active, "mode": "sensitivity"}
    whole = _engine.rollout(s, s.values, 60, **run)
    some = _engine.rollout(s, s.values, 60, directions=D, **run)
    for key in ("dx", "dv"):
        expected = getattr(whole, key) @ D
        assert getattr(some, key) == pytest.approx(expected, abs=1e-10 * np.abs(expected).max())
    P = np.tile(s.values, (3, 1))
    batch = _engine.rollout_batch(s, P, 60, threads=2, directions=[D, 2 * D, D[:, :1]], **run)
    assert np.array_equal(batch[0].dx, some.dx) and batch[2].dx.shape[2] == 1
    assert batch[1].dv == pytest.approx(2 * some.dv, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(
    ("mode", "rows", "text"),
    [("store", 1, "need mode 'sensitivity'"), ("sensitivity", 2, "per active parameter, 1")],
)
def test_directions_that_fit_nothing_are_refused(mode, rows, text):
    s = hand_and_box()
    run = {"active": [s.index("box.mass")], "mode": mode}
    with pytest.raises(ValueError, match=text):
        _engine.rollout(s, s.values, 2, directions=np.ones((rows, 1)), **run)
    with pytest.raises(ValueError, match="none, or a matrix per row"):
        _engine.rollout_batch(s, s.values[None], 2, directions=[np.ones((1, 1))] * 2, **run)
