"""Mass points of cloth and strings, and gluing by elimination."""

import numpy as np
import pytest

from diffsim_ros import _engine
from tests.native.gradients import check_gradients

LINE = np.array([[0.1 * i, 0.0, 0.0] for i in range(5)])
SHARES = np.array([0.1, 0.2, 0.3, 0.2, 0.2])


def hanging(carrier="hand", glued=(0,)):
    """A string whose first vertices hang on a kinematic body that moves, or on a rigid body that
    falls."""
    s = _engine.Scene()
    s.set_gravity([0, 0, -9.81])
    s.add_kinematic_body("hand", interval=0.05,
                 position=[[0.3, 0, 1], [0.4, 0.1, 1], [0.3, 0, 1.1]],
                 rotation=[[0, 0, 0.3], [0.5, 0, 0.3], [0, 0.4, 0.3]])  # fmt: skip
    s.add_rigid_body("rod", mass=1, inertia=[0.01, 0.02, 0.02, 0, 0, 0], radius=0.1,
                     position=[0.3, 0, 0.9], orientation=[0.1, 0.2, 0.3, 0.9],
                     angular_velocity=[3, 2, -4])  # fmt: skip
    s.add_mass_points("rope", vertices=LINE, mass=0.5, shares=SHARES, position=[0.3, 0, 1],
                      orientation=[0, 0.1, 0, 1], velocity=[0, 0.5, 0], angular_velocity=[0, 0, 2],
                      glued=[(carrier, list(glued))])  # fmt: skip
    s.add_springs("links", points_a="rope", index_a=[0, 1, 2, 3], points_b="rope",
                  index_b=[1, 2, 3, 4], stiffness=2e4, damping=0.5,
                  rest_length=np.full(4, 0.1))  # fmt: skip
    return s


def test_masses_and_start():
    s = hanging(glued=(0, 1))
    first, count = s.nodes_of("rope")
    assert count == 3
    masses = s.masses(s.values)
    assert masses[first : first + 3] == pytest.approx(0.5 * SHARES[2:])
    assert masses[0] == 0 and masses[1] == 1  # kinematic body, rod
    r = _engine.rollout(s, s.values, 1, _engine.Options(step=1e-3))
    angle = 2 * np.arctan2(0.1, 1)
    turned = 0.2 * np.array([np.cos(angle), 0, -np.sin(angle)])
    assert r.position[0, first] == pytest.approx(np.array([0.3, 0, 1]) + turned)
    spin = np.cross([0, 0, 2], turned)
    assert r.velocity[0, first] == pytest.approx(np.array([0, 0.5, 0]) + spin)
    p = s.values
    p[s.index("rope.mass")] = 1.0
    assert s.masses(p)[first] == pytest.approx(0.3)


def test_a_glued_vertex_stays_where_it_is_glued():
    """A spring of no length from a point of the carrier to the glued vertex never stretches."""
    for carrier in ("hand", "rod"):
        s = hanging(carrier)
        r = _engine.rollout(s, s.values, 100, _engine.Options(step=1e-3, record_every=1))
        assert r.ok, r.message
        node, rope = s.nodes_of(carrier)[0], s.nodes_of("rope")[0]
        turn = [rotation(q) for q in r.orientation[:, node]]
        local = turn[0].T @ (np.array([0.3, 0, 1]) - r.position[0, node])
        glued = r.position[:, node] + np.array([t @ local for t in turn])
        stretch = np.linalg.norm(r.position[:, rope] - glued, axis=1)
        assert np.abs(stretch - 0.1).max() < 0.02  # the first spring, 2e4 N/m, holds the string
        assert np.ptp(glued, axis=0).max() > 0.03


def rotation(q):
    x, y, z, w = q
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + 2 * w * cross + 2 * cross @ cross


def test_forces_on_glued_vertices_reach_the_carrier():
    """A force at the glued vertex accelerates the rod and turns it."""
    s = hanging("rod")
    s.add_point_force("pull", points="rope", force=[20.0, 0, 0], index=[0])
    plain = hanging("rod")
    a, b = (_engine.rollout(x, x.values, 20, _engine.Options(step=1e-3)) for x in (s, plain))
    rod = s.nodes_of("rod")[0]
    pulled = a.velocity[-1, rod] - b.velocity[-1, rod]
    assert 0.2 < pulled[0] < 0.4 / 1.05  # the vertex weighs 0.05 kg, and the string hangs on it
    assert np.abs(pulled[1:]).max() < 0.1
    assert np.abs(a.angular_velocity[-1, rod] - b.angular_velocity[-1, rod]).max() > 0.5


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("carrier", ["hand", "rod"])
def test_gradients_of_a_glued_string(carrier, order):
    s = hanging(carrier, glued=(0, 1))
    names = ["rope.mass", "rope.position.x", "rope.rotation.y", "rope.velocity.z",
             "rope.angular_velocity.z", "links.stiffness", "links.rest_scale",
             "hand.position[1].y", "hand.rotation[1].x", "rod.mass", "rod.rotation.x"]  # fmt: skip
    options = _engine.Options(step=1 / 400, order=order, stagnate=True)
    check_gradients(s, 40, options, names, 1e-5)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"vertices": np.zeros((0, 3))}, "at least one"),
        ({"vertices": np.full((5, 3), np.nan)}, "finite"),
        ({"mass": 0.0}, "rope.mass"),
        ({"shares": [0.5, 0.5]}, "5"),
        ({"shares": [1, 0, 0, 0, 0.0]}, "> 0 and sum to 1"),
        ({"shares": [0.1] * 5}, "sum to 1"),
        ({"glued": [("hnd", [0])]}, "hnd"),
        ({"glued": [("dot", [0])]}, "rigid bodies, kinematic bodies or the world"),
        ({"glued": [("hand", [5])]}, "in [0, 4]"),
        ({"glued": [("hand", [0]), ("hand", [0])]}, "name a vertex once"),
        ({"glued": [("hand", [0, 1, 2, 3, 4])]}, "a vertex free"),
    ],
)
def test_what_is_wrong_is_refused(change, text):
    s = _engine.Scene()
    s.add_kinematic_body("hand", interval=1.0, position=[[0, 0, 1]])
    s.add_particle("dot", mass=1)
    with pytest.raises(_engine.InvalidInput) as caught:
        s.add_mass_points("rope", **{"vertices": LINE, "mass": 0.5, **change})
    assert text in str(caught.value)
