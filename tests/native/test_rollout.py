"""Rollouts: statuses instead of exceptions, determinism, restarts, refusals, cancelling."""

import threading

import numpy as np
import pytest

from diffsim_ros import _engine, meshes

CORNERS = np.array([[a, b, c] for a in (-1, 1) for b in (-1, 1) for c in (-1, 1)], float)


def cube(k_n=2500.0, **contact):
    s = _engine.Scene()
    s.add_rigid_body(
        "cube", mass=0.37, inertia=[0.00081] * 3 + [0] * 3, position=[0, 0, 0.1],
        orientation=[0.1, 0.2, 0.3, 0.9], velocity=[1, 0.3, -0.5], angular_velocity=[3, -4, 5],
        radius=0.05,
    )  # fmt: skip
    s.add_points("corners", bodies=["cube"] * 8, local=0.0524 * CORNERS, inset=-CORNERS,
                 radius=0.004)  # fmt: skip
    s.add_contact("table", points="corners", sdf=_engine.Plane([0, 0, 1], 0), k_n=k_n, k_t=2.0,
                  c_f=0.2, **contact)  # fmt: skip
    return s


def test_results_are_the_same_bits_for_any_number_of_threads():
    s = cube(c_n=0.3)
    P = np.tile(s.values, (6, 1))
    P[:, s.index("cube.velocity.x")] += np.arange(6)
    options = _engine.Options(step=1 / 500)
    runs = {
        n: _engine.rollout_batch(s, P, [50, 60, 70, 80, 90, 100], options, active=[0, 5],
                                 mode="sensitivity", threads=n)
        for n in (1, 2, 5)
    }  # fmt: skip
    for n in (2, 5):
        for one, other in zip(runs[1], runs[n], strict=True):
            assert np.array_equal(one.position, other.position)
            assert np.array_equal(one.dx, other.dx)
    assert len(runs[1][3].time) == 81


def test_a_step_that_cannot_converge_is_a_status_with_names():
    s = cube(k_n=1e9, c_n=50.0)
    options = _engine.Options(step=0.05, max_iterations=1, max_halvings=0)
    r = _engine.rollout(s, s.values, 40, options)
    assert r.status in ("max_iterations", "line_search_stalled")
    assert not r.ok
    assert "worst element 'table'" in r.message or "worst element 'inertia'" in r.message
    assert "cube." in r.message
    assert np.all(np.isfinite(r.position))
    assert len(r.time) < 41


def test_halved_steps_are_counted_and_differentiated():
    """A hard impact is passed by halving; S equals lambda and finite differences across it."""
    s = cube(k_n=3e5, c_n=0.2)
    options = _engine.Options(step=1 / 30, max_iterations=4, max_halvings=8, tolerance=1e-12,
                              record_modes=True)  # fmt: skip
    i = s.index("cube.velocity.z")
    r = _engine.rollout(s, s.values, 12, options, active=[i], mode="sensitivity")
    assert r.ok, r.message
    assert r.halvings > 0
    g = np.random.default_rng(0).normal(size=(2, len(r.time), 6))
    by_s = np.sum(g[0] * r.dx[..., 0] + g[1] * r.dv[..., 0])
    for mode in ("store", "checkpoint"):
        a = _engine.rollout(s, s.values, 12, options, active=[i], mode=mode)
        assert a.gradient(g[0], g[1])[0] == pytest.approx(by_s, rel=1e-10)
    ends = []
    for sign in (1, -1):
        p = s.values
        p[i] += sign * 1e-7
        ends.append(_engine.rollout(s, p, 12, options))
    assert {e.mode_hash for e in ends} == {r.mode_hash}
    slope = (ends[0].position[-1, 0] - ends[1].position[-1, 0]) / 2e-7
    assert r.dx[-1, :3, 0] == pytest.approx(slope, rel=1e-5, abs=1e-6)


def test_non_finite_forces_are_a_status():
    s = cube(k_n=1e308)
    r = _engine.rollout(s, s.values, 300, _engine.Options(step=0.01, max_halvings=1))
    assert not r.ok
    assert np.all(np.isfinite(r.position))


def test_cancelling_stops_a_batch():
    s = cube()
    token = _engine.CancelToken()
    threading.Timer(0.2, token.cancel).start()
    P = np.tile(s.values, (2, 1))
    runs = _engine.rollout_batch(s, P, 2_000_000, _engine.Options(record_every=1000),
                                 cancel=token)  # fmt: skip
    assert {r.status for r in runs} == {"cancelled"}
    assert token.done == 2


def test_frames_are_every_nth_step():
    s = cube()
    fine = _engine.rollout(s, s.values, 20, _engine.Options(step=0.01))
    coarse = _engine.rollout(s, s.values, 20, _engine.Options(step=0.01, record_every=5))
    assert coarse.time == pytest.approx([0, 0.05, 0.1, 0.15, 0.2])
    assert np.array_equal(coarse.position, fine.position[::5])


def test_contact_forces_balance_the_change_of_momentum():
    s = cube(c_n=0.3)
    options = _engine.Options(step=1 / 1000, order=1, tolerance=1e-12)
    r = _engine.rollout(s, s.values, 400, options)
    assert np.abs(r.contact_force).max() > 1
    total = r.contact_force.sum(axis=1)[1:] + np.array([0, 0, -9.81 * 0.37])
    change = 0.37 * np.diff(r.velocity[:, 0], axis=0) * 1000
    assert total == pytest.approx(change, abs=1e-6)


@pytest.mark.parametrize(
    ("change", "names"),
    [
        ({"cube.mass": 0.0}, "cube.mass"),
        ({"cube.mass": float("nan")}, "cube.mass"),
        ({"table.k_n": -1.0}, "table.k_n"),
        ({"cube.inertia.xx": 0.1}, "inertia"),
        ({"cube.rotation.x": 7.0}, "rotation"),
        ({"cube.position.z": float("inf")}, "cube.position.z"),
    ],
)
def test_unusable_parameters_are_refused_by_name(change, names):
    s = cube()
    p = s.values
    for name, value in change.items():
        p[s.index(name)] = value
    with pytest.raises(_engine.InvalidInput, match=names):
        _engine.rollout(s, p, 1)


@pytest.mark.parametrize(
    ("options", "names"),
    [({"step": 0.0}, "step"), ({"order": 3}, "order"), ({"record_every": 0}, "record_every"),
     ({"tolerance": float("nan")}, "tolerance")],
)  # fmt: skip
def test_unusable_options_are_refused(options, names):
    with pytest.raises(_engine.InvalidInput, match=names):
        _engine.Options(**options)


def test_scenes_refuse_what_cannot_be():
    s = cube()
    with pytest.raises(_engine.InvalidInput, match="twice"):
        s.add_particle("cube", mass=1)
    with pytest.raises(_engine.InvalidInput, match=r"one of \[cube\]"):
        s.add_points("more", bodies=["cub"], local=[[0, 0, 0]])
    with pytest.raises(_engine.InvalidInput, match="sum 1"):
        s.add_contact("floor", points="corners", sdf=_engine.Sphere(1), k_n=1, k_t=1, c_f=0,
                      weights=np.ones(8))  # fmt: skip
    with pytest.raises(_engine.InvalidInput, match="takes k_d"):
        s.add_contact("floor", points="corners", sdf=_engine.Sphere(1), k_n=1, k_t=1, c_f=0,
                      c_n=1, damping="thesis")  # fmt: skip
    with pytest.raises(KeyError, match=r"cube\.mass"):
        s.index("cube.mas")
    _engine.rollout(s, s.values, 1)
    with pytest.raises(_engine.InvalidInput, match="before the first rollout"):
        s.add_particle("late", mass=1)


def test_gradients_of_the_wrong_shape_or_mode_are_refused():
    s = cube()
    r = _engine.rollout(s, s.values, 3, active=[0], mode="store")
    with pytest.raises(_engine.InvalidInput, match="shape"):
        r.gradient(np.zeros((2, 6)), np.zeros((2, 6)))
    none = _engine.rollout(s, s.values, 3)
    with pytest.raises(_engine.InvalidInput, match="mode"):
        none.gradient(np.zeros((4, 6)), np.zeros((4, 6)))
    with pytest.raises(_engine.InvalidInput, match="sensitivity"):
        _ = none.dx


def test_a_profile_accounts_for_every_evaluation_and_changes_nothing():
    s = cube()
    plain = _engine.rollout(s, s.values, 100, _engine.Options(), [0], "checkpoint")
    r = _engine.rollout(s, s.values, 100, _engine.Options(profile=True), [0], "checkpoint")
    assert np.array_equal(plain.position, r.position)
    assert all(part == (0.0, 0) for part in plain.timing.values())
    gx = np.ones((101, s.ndof))
    assert np.array_equal(plain.gradient(gx, gx), r.gradient(gx, gx))
    seconds = {name: part[0] for name, part in r.timing.items()}
    count = {name: part[1] for name, part in r.timing.items()}
    assert count["correction"] >= r.iterations.sum() and count["derivative"] == 100
    assert count["prepare"] == count["correction"] + 100  # and each step again in the backward pass
    assert count["jacobian"] + count["residual"] >= 100 + r.iterations.sum() + 100
    assert 0 < sum(seconds.values()) - seconds["total"] <= seconds["total"]


def bodies_in_turn(cells=2):
    """A soft block and a cube that land, with a motion hard enough to halve steps."""
    vertices, tets = meshes.box((0.1, 0.1, 0.1), (cells,) * 3)
    s = cube(k_n=3e5, c_n=0.2)
    s.add_solid("block", vertices=vertices, tets=tets, density=300, young=5e4, poisson=0.3,
                viscosity=2.0, position=[0.5, 0, 0.06], velocity=[0.2, 0, -1])  # fmt: skip
    s.add_contact("floor", points="block", sdf=_engine.Plane([0, 0, 1], 0), k_n=3e3, k_t=2, c_f=0.3)
    return s


@pytest.mark.parametrize("every", [1, 4])
def test_two_threads_give_the_same_bits(every):
    s = bodies_in_turn()
    active = [s.index(f"{name}.velocity.x") for name in ("cube", "block")] + [
        s.index("block.young")
    ]
    options = _engine.Options(step=1 / 60, record_every=every, max_iterations=5, max_halvings=6,
                              record_modes=True)  # fmt: skip
    one, two = (_engine.rollout(s, s.values, 24, options, active, "sensitivity", threads=n)
                for n in (1, 2))  # fmt: skip
    assert one.ok and one.halvings > 0 and np.abs(one.dx[-1]).max() > 0
    assert np.array_equal(one.dx, two.dx) and np.array_equal(one.dv, two.dv)
    assert np.array_equal(one.position, two.position) and one.mode_hash == two.mode_hash
    gx = np.ones((len(one.time), s.ndof))
    found = [_engine.rollout(s, s.values, 24, options, active, mode, threads=n).gradient(gx, gx)
             for mode in ("checkpoint", "store") for n in (1, 2)]  # fmt: skip
    assert np.array_equal(found[0], found[1]) and np.array_equal(found[2], found[3])
    assert found[0] == pytest.approx(np.einsum("fi,fia->a", gx, one.dx + one.dv), rel=1e-5)


def test_a_failure_of_s_is_the_same_with_two_threads():
    """A particle between two compressed springs stays there; S grows a thousandfold a step."""
    s = _engine.Scene()
    s.set_gravity([0, 0, 0])
    s.add_particle("dot", mass=1.0)
    s.add_points("dots", bodies=["dot"], local=np.zeros((1, 3)))
    s.add_points("walls", bodies=["", ""], local=[[-1, 0, 0], [1, 0, 0]])
    s.add_springs("springs", points_a="dots", index_a=[0, 0], points_b="walls", index_b=[0, 1],
                  stiffness=49.95, rest_length=2.0)  # fmt: skip
    options = _engine.Options(step=0.1, order=1)
    active = [s.index("dot.velocity.y")]
    one, two = (
        _engine.rollout(s, s.values, 150, options, active, "sensitivity", threads=n) for n in (1, 2)
    )
    assert one.status == "singular" and "step 94 (t = 9.4 s): its derivatives" in one.message
    assert "worst element 'springs', worst dof dot.position.y" in one.message
    assert (one.status, one.message) == (two.status, two.message)
    assert np.array_equal(one.position, two.position) and np.array_equal(one.dx, two.dx)


@pytest.mark.parametrize("cells", [2, 3])
def test_a_batch_smaller_than_half_the_threads_keeps_its_bits(cells):
    """87 unknowns are carried by one thread each, 198 by two."""
    s = bodies_in_turn(cells)
    runs = [_engine.rollout_batch(s, s.values[None], 20, _engine.Options(), [0], "sensitivity",
                                  threads=n)[0] for n in (1, 2)]  # fmt: skip
    assert np.array_equal(runs[0].dx, runs[1].dx)
    with pytest.raises(_engine.InvalidInput, match="threads"):
        _engine.rollout(s, s.values, 1, threads=0)
