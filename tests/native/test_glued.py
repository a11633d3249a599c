"""Glued vertices and mass points: elimination, masses on frames, derivatives, bad input."""

import numpy as np
import pytest

from diffsim_ros import _engine
from diffsim_ros.meshes import box, quadratic
from tests.native.batteries import check_element, node_count, random_instants

STEP = 0.01


def block_on_box(element="p1", model="neo_hookean", host="rigid", viscosity=30.0, **more):
    """A soft block whose lower face sits on a turned rigid or kinematic box, and one vertex on the
    world."""
    s = _engine.Scene()
    pose = [0.1, -0.2, 0.3]
    if host == "rigid":
        s.add_rigid_body("base", mass=0.4, inertia=[2e-3, 3e-3, 4e-3, 1e-4, 2e-4, 3e-4],
                         position=pose, orientation=[0.2, 0.1, -0.3, 0.9], radius=0.1,
                         velocity=[0.1, 0.2, 0.3], angular_velocity=[1, -2, 0.5])  # fmt: skip
    else:
        turn = 0.3 * np.random.default_rng(0).normal(size=(3, 3))
        s.add_kinematic_body(
            "base", interval=0.1, position=pose + 0.05 * turn, rotation=turn, radius=0.1
        )
    vertices, tets = box((0.2, 0.1, 0.2), (2, 1, 2))
    if element.startswith("p2"):
        vertices, tets = quadratic(vertices, tets)
    low = np.flatnonzero(vertices[:, 2] < -0.05)
    s.add_solid("body", vertices=vertices, tets=tets, density=900.0, young=5e3, poisson=0.35,
                viscosity=viscosity, model=model, element=element, position=[0.1, -0.2, 0.42],
                glued=[("base", low[1:].tolist()), ("", [int(low[0])])], **more)  # fmt: skip
    return s


def instants(s, rng, order=2):
    """Near the start: frames turned and moved, nodes shaken; all with velocities."""
    r = _engine.rollout(s, s.values, 0, _engine.Options(step=STEP))
    c = r.position[0] + 0.004 * rng.normal(size=r.position[0].shape)
    now = random_instants(rng, node_count(s), order, c)
    base = s.nodes_of("base")[0]
    turn = _engine.exp_rotation(0.05 * rng.normal(size=3))
    x, y, z, w = r.orientation[0, base]
    angle = 2 * np.arctan2(np.linalg.norm([x, y, z]), w)
    start = _engine.exp_rotation(angle * np.array([x, y, z]) / np.linalg.norm([x, y, z]))
    now[0][1][base] = _engine.log_rotation(turn @ start)
    return now


@pytest.mark.parametrize(
    ("element", "viscosity", "mass"),
    [("p1", 0.0, "lumped"), ("p1", 30.0, "consistent"), ("p1_fbar", 30.0, "lumped"),
     ("p2", 30.0, "lumped"), ("p2_p0", 30.0, "lumped")],
)  # fmt: skip
@pytest.mark.parametrize("host", ["rigid", "handle"])
def test_battery_of_glued_solid_and_point_masses(host, element, viscosity, mass):
    rng = np.random.default_rng(4)
    fields = ["young"] if element == "p1" else []
    s = block_on_box(element, host=host, viscosity=viscosity, mass=mass, fields=fields)
    names = [n for n in s.element_names if n.startswith("body")]
    wanted = {"body", *(["body (mass)"] if mass == "consistent" else [])}
    assert set(names) == wanted | ({"body (glued)"} if host == "rigid" else set())
    for name in names:
        for order in (1, 2):
            check_element(
                s, name, s.values, instants(s, rng, order), rng, frames=[s.nodes_of("base")[0]]
            )


def test_glued_masses_weigh_and_resist_like_the_body_itself():
    """A frame with three glued masses falls as one body of the same mass and inertia."""
    s = _engine.Scene()
    corners = 0.1 * np.array([[1.0, 0, 0], [0, 1, 0], [-1, -1, 0], [0, 0, 0]])
    inertia = [1e-3, 1.2e-3, 1.4e-3, 0, 0, 0]
    spin = [1.0, 2.0, 3.0]
    s.add_rigid_body("base", mass=1.0, inertia=inertia, radius=0.1, angular_velocity=spin)
    s.add_mass_points("mass", vertices=corners, mass=0.4, position=[0, 0, 0],
                      glued=[("base", [0, 1, 2])])  # fmt: skip
    r = _engine.rollout(s, s.values, 100, _engine.Options(step=2e-4))
    t = _engine.Scene()
    lumps = sum(0.1 * (p @ p * np.eye(3) - np.outer(p, p)) for p in corners[:3])
    total = np.diag(inertia[:3]) + lumps
    t.add_rigid_body("base", mass=1.3, radius=0.1, angular_velocity=spin,
                     inertia=[*np.diag(total), total[0, 1], total[0, 2], total[1, 2]])  # fmt: skip
    q = _engine.rollout(t, t.values, 100, _engine.Options(step=2e-4))
    assert r.position[-1, 0] == pytest.approx(q.position[-1, 0], abs=1e-8)
    assert r.orientation[-1, 0] == pytest.approx(q.orientation[-1, 0], abs=1e-6)


@pytest.mark.parametrize("host", ["rigid", "handle"])
@pytest.mark.parametrize("mass", ["lumped", "consistent"])
def test_gradients_through_glue_match_differences(host, mass):
    s = block_on_box(host=host, mass=mass)
    p, steps = s.values, 12
    o = _engine.Options(step=STEP, stagnate=True)
    active = [i for i, q in enumerate(s.parameters) if not q.name.startswith("base.inertia")]
    r = _engine.rollout(s, p, steps, o, active=active, mode="sensitivity")
    assert r.ok, r.message
    gx = np.zeros((steps + 1, s.ndof))
    gx[-1] = np.random.default_rng(5).normal(size=s.ndof)
    first, count = s.nodes_of("body")
    offset = s.dof_offset("body")
    gx[-1, :offset] = 0  # of the frame: positions of the block's nodes alone are compared below
    exact = gx[-1] @ r.dx[-1]
    again = _engine.rollout(s, p, steps, o, active=active, mode="store")
    assert again.gradient(gx, 0 * gx) == pytest.approx(exact, rel=1e-9, abs=1e-11)

    def objective(q):
        motion = _engine.rollout(s, q, steps, o)
        return gx[-1, offset:] @ motion.position[-1, first : first + count].ravel()

    for k, i in enumerate(active):
        unit = 1e-5 * max(abs(p[i]), 1e-1)
        if p[i] - unit < s.parameters[i].lower:
            continue
        ends = [objective(p + e * np.eye(len(p))[i]) for e in (unit, -unit)]
        difference = (ends[0] - ends[1]) / (2 * unit)
        size = abs(exact[k]) + 1e-3 / max(abs(p[i]), 1e-1)
        assert difference == pytest.approx(exact[k], abs=2e-6 * size), s.parameters[i].name


def test_a_glued_vertex_moves_with_its_frame_and_with_the_world():
    s = block_on_box(host="handle")
    r = _engine.rollout(s, s.values, 30, _engine.Options(step=STEP))
    assert r.ok, r.message
    assert np.isfinite(r.position).all()
    assert np.ptp(r.position[:, s.nodes_of("body")[0]], axis=0).max() > 1e-3


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"glued": [("base", [99])]}, r"glued: vertex must be in \[0, 3\], got 99"),
        ({"glued": [("nobody", [0])]}, "must be one of"),
        ({"glued": [("ball", [0])]}, "must be to rigid bodies, kinematic bodies or the world"),
        ({"glued": [("base", [0]), ("", [0])]}, "must name a vertex once"),
        ({"glued": [("base", [0, 1, 2, 3])]}, "must leave a vertex free"),
        ({"shares": [0.5, 0.5]}, "must be one per vertex"),
        ({"shares": [0.5, 0.2, 0.2, 0.2]}, "sum to 1"),
        ({"mass": -1.0}, "mass"),
        ({"vertices": np.zeros((0, 3))}, "must hold at least one"),
        ({"vertices": np.full((4, 3), np.nan)}, "must be finite"),
    ],
)
def test_bad_glue_and_masses_are_refused(change, text):
    s = _engine.Scene()
    s.add_rigid_body("base", mass=1.0, inertia=[1, 1, 1, 0, 0, 0], radius=1.0)
    s.add_particle("ball", mass=1.0)
    with pytest.raises(ValueError, match=text):
        s.add_mass_points("m", **({"vertices": np.eye(4)[:, :3], "mass": 1.0} | change))
