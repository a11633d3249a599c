"""The native motion problem: every term against differences, its steps, plans of a quadruped."""

import numpy as np
import pytest

pytest.importorskip("diffsim_ros._engine", reason="the engine is not built")

from diffsim_ros import _engine
from diffsim_ros.robots.tree import load_tree
from tests.planning.locomotion.quadruped import FEET, URDF, footfall, solo12

STEP = 0.05
TERMS = (
    "newton euler airborne pushes friction passive_wheel rolling height apart clearance "
    "centre_of_mass orientation wheel_axis contact_point welded_wheel joint_range joint_speed "
    "wheel_speed rest begin travel turn body_height places ceiling smooth posture even_forces "
    "steady_forces swing wheel_path"
).split()


def problem(kind="point", *, end="periodic", ground=None, samples=8, **more):
    contact, height = footfall(samples, (0, 0.5, 0.5, 0), 0.5)
    goals = {
        "travel": np.array([0.2, 0.05]), "turn": 0.3, "height": 0.2,
        "places": [(3, -1, np.array([0.1, np.nan, 0.2])), (4, 2, np.array([0.1, 0.0, 0.2]))],
        "ceilings": [(2, 5, 0.2)],
    }  # fmt: skip
    task = _engine.MotionTask(
        STEP, contact, 0.05 * height, 0.6, end=end, ground=ground, **{**goals, **more}
    )
    return _engine.MotionProblem(solo12(kind, resistance=0.02), task)


TRACKING = "track_body track_velocity track_contacts track_posture track_forces stance".split()


def following(kind="point", rng=None):
    """A problem whose first two samples are held, near a reference drawn at random."""
    contact, height = footfall(8, (0, 0.5, 0.5, 0), 0.5)
    task = _engine.MotionTask(
        STEP, contact, 0.05 * height, 0.6, end="free", fixed=2, free_forces=True, stance=True
    )
    of = _engine.MotionProblem(solo12(kind), task)
    rng = rng or np.random.default_rng(5)
    reference = of.move(of.standing(), 0.2 * rng.standard_normal(of.size))
    of.set_task(task, reference)
    return of, reference


def random_plan(of, rng, up=0.0):
    plan = of.standing()
    plan["x"][:, 2] += up
    plan["e"][:, :, 2] += up
    plan["q"][:, 2] += up
    plan = of.move(plan, 0.15 * rng.standard_normal(of.size))
    plan["spin"] += 15 * rng.standard_normal(plan["spin"].shape)
    plan["f"][::2] *= -3
    plan["f"] += 0.05 * rng.standard_normal(plan["f"].shape)
    plan["q"][:, 7:] += 0.9 * rng.standard_normal(plan["q"][:, 7:].shape)
    plan["e"][:, 0] = plan["e"][:, 1] + 0.01
    return plan


def deviation(of, plan, rng, directions=3):
    """Largest relative deviation of the gradient from central differences."""
    gradient, free = of.linearize(plan)[1], np.array(of.free)
    worst = 0.0
    for _ in range(directions):
        d = rng.standard_normal(of.size) * free
        d /= np.linalg.norm(d)
        slope = gradient @ d
        differences = [
            (of.value(of.move(plan, e * d)) - of.value(of.move(plan, -e * d))) / (2 * e)
            for e in (1e-4, 1e-5)
        ]
        scale = max(abs(slope), 1e-9 * of.value(plan), 1e-12)
        worst = max(worst, min(abs(one - slope) for one in differences) / scale)
    return worst


@pytest.mark.parametrize("kind", ["point", "welded", "passive", "actuated"])
@pytest.mark.parametrize("end", ["periodic", "rest"])
@pytest.mark.parametrize("round_ground", [False, True])
def test_every_terms_gradient_against_differences(kind, end, round_ground):
    ground = _engine.Sphere(1.5) if round_ground else None
    turn = 0.0 if round_ground and end == "periodic" else 0.3
    of = problem(kind, end=end, ground=ground, turn=turn)
    rng = np.random.default_rng(1)
    plan = random_plan(of, rng, 1.5 if round_ground else 0.0)
    seen = [row["name"] for row in of.report(plan)]
    assert set(seen) <= set(TERMS)
    for name in seen:
        of.select(63, [name])
        assert deviation(of, plan, rng) < 2e-6, name
    of.select(63, [])
    assert deviation(of, plan, rng) < 2e-7


def test_every_term_is_seen_somewhere():
    seen = set()
    for kind in ("point", "welded", "passive", "actuated"):
        for end in ("periodic", "rest"):
            of = problem(kind, end=end)
            plan = random_plan(of, np.random.default_rng(0))
            seen |= {row["name"] for row in of.report(plan) if row["value"] > 0}
    assert seen == set(TERMS)


@pytest.mark.parametrize("kind", ["point", "actuated"])
def test_terms_that_follow_a_reference_against_differences(kind):
    of, reference = following(kind)
    rng = np.random.default_rng(6)
    plan = random_plan(of, rng)
    seen = {row["name"]: row["value"] for row in of.report(plan)}
    assert all(seen[name] > 0 for name in TRACKING)
    assert not {"smooth", "posture", "even_forces", "steady_forces", "wheel_path"} & set(seen)
    for name in seen:
        of.select(63, [name])
        assert deviation(of, plan, rng) < 2e-6, name
    of.select(63, [])
    assert deviation(of, plan, rng) < 2e-7
    at_reference = {row["name"]: row["value"] for row in of.report(reference)}
    assert all(at_reference[name] < 1e-20 for name in TRACKING if name != "stance")


def test_forces_of_the_last_held_sample_are_free_where_feedback_chooses_them():
    of, _ = following()
    free, at = np.array(of.free), of.unknowns
    contact, _ = footfall(8, (0, 0.5, 0.5, 0), 0.5)
    assert (free[at["f"][1]] == contact[1][:, None]).all()
    assert not free[at["f"][0]].any()
    for name in ("x", "R", "q"):
        assert not free[at[name][:2]].any()
        assert free[at[name][2:]].all()


def test_a_reference_that_does_not_fit_is_refused():
    of, reference = following()
    contact, height = footfall(8, (0, 0.5, 0.5, 0), 0.5)
    with pytest.raises(_engine.InvalidInput, match="does not repeat"):
        of.set_task(_engine.MotionTask(STEP, contact, height), reference)
    short = {name: value[:7] if name != "travel" else value for name, value in reference.items()}
    with pytest.raises(_engine.InvalidInput, match="plan: x"):
        of.set_task(_engine.MotionTask(STEP, contact, height, end="free"), short)
    with pytest.raises(_engine.InvalidInput, match="tracking"):
        _engine.MotionTask(STEP, contact, height, tracking=[1, 1, -1, 1, 1])


def test_regularizers_weigh_less_where_asked_for():
    of = problem("point")
    plan = random_plan(of, np.random.default_rng(5))
    for name, share in (("posture", 0.1), ("swing", 0.1), ("newton", 1.0), ("travel", 1.0)):
        of.select(63, [name])
        of.regularize(1.0)
        whole = of.value(plan)
        of.regularize(0.1)
        assert of.value(plan) == pytest.approx(share * whole) and whole > 0
    with pytest.raises(_engine.InvalidInput, match="factor"):
        of.regularize(0.0)


def test_swings_begin_and_end_half_a_step_off_the_ground():
    """The least acceleration between two contacts is that of a cubic in time [s]."""
    contact, height = footfall(24, (0, 0.5, 0.5, 0), 0.5)
    task = _engine.MotionTask(STEP, contact, 0.05 * height, 0.7)
    of = _engine.MotionProblem(solo12("point"), task)
    of.select(2, ["swing"])
    plan, stride, k = of.standing(), 0.1, 12  # foot 0 touches samples 0 to 11, and a period later
    plan["travel"][0] = stride
    plan["e"][:, 1:, 0] += stride / 24 * np.arange(24)[:, None]
    _, gradient, hessian = of.linearize(plan)
    unknowns = of.unknowns["e"][k:, 0, 0]
    rows = np.searchsorted(np.flatnonzero(of.free), unknowns)
    plan["e"][k:, 0, 0] -= np.linalg.solve(hessian[np.ix_(rows, rows)], gradient[unknowns])
    share = (np.arange(k) + 0.5) / k
    path = (plan["e"][k:, 0, 0] - plan["e"][0, 0, 0]) / stride
    assert path == pytest.approx(share**2 * (3 - 2 * share), abs=5e-3)


@pytest.mark.parametrize("end", ["periodic", "rest"])
def test_the_banded_factors_solve_the_whole_system(end):
    of = problem("passive", end=end)
    plan = random_plan(of, np.random.default_rng(2))
    _, gradient, hessian = of.linearize(plan)
    free = np.array(of.free)
    found, step = of.newton_step(1e-3)
    assert found
    left = (hessian + 1e-3 * np.eye(free.sum())) @ step[free] + gradient[free]
    assert np.abs(left).max() < 1e-10 * np.abs(hessian).max() * np.abs(step).max()
    assert not step[~free].any()


def test_the_hessian_is_the_derivative_of_the_gradient_where_rows_are_linear():
    of = problem("point")
    plan = random_plan(of, np.random.default_rng(3))
    of.select(63, ["newton", "pushes", "even_forces", "posture", "height", "travel"])
    plan["travel"][3] = 0.0
    _, _, hessian = of.linearize(plan)
    free = np.flatnonzero(of.free)
    rng = np.random.default_rng(4)
    d = np.zeros(of.size)
    d[free] = rng.standard_normal(free.size)
    d[-1] = 0.0  # the turn of the period is not linear
    gradients = [of.linearize(of.move(plan, e * d))[1][free] for e in (1e-6, -1e-6)]
    change = (gradients[0] - gradients[1]) / 2e-6
    expected = hessian @ d[free]
    keep = slice(0, -1)
    assert change[keep] == pytest.approx(expected[keep], rel=1e-4, abs=1e-5 * abs(expected).max())


@pytest.mark.parametrize(
    ("phases", "duty"),
    [((0, 0.5, 0.5, 0), 0.5), ((0, 0.5, 0.25, 0.75), 0.75), ((0, 0, 0.5, 0.5), 0.6)],
    ids=["trot", "walk", "bound"],
)
def test_a_quadruped_goes_where_it_is_told(phases, duty):
    contact, height = footfall(12, phases, duty)
    task = _engine.MotionTask(
        STEP, contact, 0.05 * height, 0.7, travel=np.array([0.2, 0.0]), turn=0.0
    )
    of = _engine.MotionProblem(solo12("point"), task)
    options = _engine.MotionSolverOptions()
    options.iterations = 300
    found = of.solve(of.warm_start(of.standing())["plan"], options)
    assert found["status"] == "converged"
    plan = found["plan"]
    assert plan["travel"] == pytest.approx([0.2, 0, 0, 0], abs=1e-2)
    # Newton's law with nothing of the engine's: a mean force of one weight, none in the air.
    assert plan["f"].sum(axis=1).mean(axis=0) == pytest.approx([0, 0, 1], abs=2e-3)
    assert not plan["f"][~contact].any()
    assert plan["e"][..., 2] == pytest.approx(0.05 * height, abs=5e-4)
    feet = [solo12("point").place(q) for q in plan["q"]]
    assert np.array(feet) == pytest.approx(plan["e"], abs=1e-3)
    for j in range(len(FEET)):  # what touches does not move
        for i in range(11):
            if contact[i, j] and contact[i + 1, j]:
                assert plan["e"][i + 1, j] == pytest.approx(plan["e"][i, j], abs=1e-3)


@pytest.mark.parametrize("warm", [False, True])
def test_nothing_pushes_in_the_air(warm):
    """Whatever a search begins with; a plan that has such forces says so."""
    contact, height = footfall(12, (0, 0.5, 0.5, 0), 0.5)
    task = _engine.MotionTask(STEP, contact, 0.05 * height, 0.7, travel=np.array([0.1, 0.0]))
    of = _engine.MotionProblem(solo12("point"), task)
    plan = of.standing()
    assert not plan["f"][~contact].any() and plan["f"].sum(axis=1)[:, 2] == pytest.approx(1.0)
    plan["f"] += 0.1
    worst = {row["name"]: row["worst"] for row in of.report(plan)}
    assert worst["airborne"] == pytest.approx(0.1 * 2.5 * 9.81, rel=1e-3)
    start = of.warm_start(plan)["plan"] if warm else plan
    options = _engine.MotionSolverOptions()
    options.iterations = 300
    found = of.solve(start, options)
    assert found["status"] == "converged" and not found["plan"]["f"][~contact].any()


def test_wheels_that_all_point_forward_cannot_turn_on_the_spot():
    contact = np.ones((8, 4), bool)
    task = _engine.MotionTask(STEP, contact, np.zeros((8, 4)), 0.7, turn=0.35)
    of = _engine.MotionProblem(solo12("passive"), task)
    found = of.solve(of.warm_start(of.standing())["plan"])
    assert abs(found["plan"]["travel"][3]) < 0.1


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"link": "FX_FOOT"}, "FX_FOOT"),
        ({"kind": "hoof"}, "point, welded, passive or actuated, got 'hoof'"),
        ({"position": "there"}, "end effector: position: a value of its kind, got str"),
        ({"position": [0, np.nan, 0]}, "position: finite numbers"),
        ({"kind": "passive", "radius": 0.0, "axis": [0, 1, 0]}, "radius: > 0"),
        ({"kind": "passive", "radius": 0.1, "axis": [0, 2, 0]}, "axis: a unit vector"),
        ({"leg": None}, "end effector: leg: a value of its kind, got NoneType"),
    ],
)
def test_end_effectors_that_are_none_are_refused(change, words):
    model = load_tree(URDF, floating_base=True).model
    foot = {"name": "FL", "kind": "point", "link": "FL_FOOT", "position": np.zeros(3), "leg": 0}
    ranges = np.tile([-3.0, 3.0, 8.0], (12, 1))
    with pytest.raises(_engine.InvalidInput) as raised:
        _engine.LeggedModel(model, [{**foot, **change}], ranges, model.neutral())
    assert words in str(raised.value)


def test_models_and_tasks_that_do_not_fit_are_refused():
    model = load_tree(URDF, floating_base=True).model
    with pytest.raises(TypeError):
        _engine.LeggedModel(None, [], np.zeros((0, 3)), np.zeros(0))
    foot = {"name": "FL", "kind": "point", "link": "FL_FOOT", "position": np.zeros(3)}
    for ranges, stance in ((np.zeros((12, 2)), model.neutral()), (np.zeros((3, 3)), np.zeros(2))):
        with pytest.raises(_engine.InvalidInput):
            _engine.LeggedModel(model, [foot], ranges, stance)
    with pytest.raises(TypeError):
        _engine.MotionProblem(None, _engine.MotionTask(0.1, np.ones((8, 4)), np.zeros((8, 4))))
    for contact, height, step in (
        (np.ones((8, 3)), np.zeros((8, 3)), 0.1), (np.ones((3, 4)), np.zeros((3, 4)), 0.1),
        (np.ones((8, 4)), np.full((8, 4), np.nan), 0.1), (np.ones((8, 4)), np.zeros((8, 4)), 0.0),
    ):  # fmt: skip
        with pytest.raises(_engine.InvalidInput, match="motion"):
            _engine.MotionProblem(solo12(), _engine.MotionTask(step, contact, height))


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        ("x", lambda a: a[:3], "plan: x: shape (8, 3), got (3, 3)"),
        ("q", lambda a: 2 * a, "a unit quaternion"),
        ("R", lambda a: -a, "plan: R: rotation matrices"),
        ("f", lambda a: a * np.nan, "plan: f: finite numbers"),
    ],
)
def test_plans_that_are_none_are_refused(name, change, words):
    of = problem()
    plan = of.standing()
    with pytest.raises(_engine.InvalidInput) as raised:
        of.solve({**plan, name: change(np.array(plan[name]))})
    assert words in str(raised.value)
    with pytest.raises(_engine.InvalidInput, match=f"an array '{name}'"):
        of.value({key: value for key, value in plan.items() if key != name})


def test_a_search_without_finite_numbers_ends():
    contact, height = footfall(6, (0, 0.5, 0.5, 0), 0.5)
    task = _engine.MotionTask(1e-200, contact, 0.05 * height, travel=np.array([0.1, 0.0]))
    of = _engine.MotionProblem(solo12(), task)
    assert of.solve(of.standing())["status"] != "converged"
    of.warm_start(of.standing())
