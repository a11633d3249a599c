"""For which changes a derivative holds: the statement beside finite changes made here."""

import math

import numpy as np
import pytest
import yaml

import diffsim_ros as ds
from diffsim_ros.commands.check_gradient import WEIGHTS, problems_of
from diffsim_ros.inverse import ParameterMap, SimulationProblem, check_settling
from diffsim_ros.inverse.gradient_reach import FLOOR, RIGHT, SIZES, reach_of, reaches

BOX = {"box": {"size": [0.1, 0.1, 0.1]}}
ROD = {"shape": {"box": {"size": [0.04, 0.04, 0.3]}}, "mass": 0.3}
BALL = {"shape": {"sphere": {"radius": 0.05}}, "mass": 0.1, "contact_spheres": {"sphere": {}}}
RUBBER = {"k_n": 2000, "k_t": 40, "c_n": 0.1, "c_f": 0.2}


def ball_bounce(seconds):
    """Bounces of a thrown ball on a plane."""
    ball = BALL | {"pose": {"position": [0, 0, 0.5]}, "velocity": [2, 0.5, 0]}
    return scene(seconds, {"ball": ball}, ["velocity.x", "velocity.z"], contact=RUBBER)


def cube_tumble(seconds):
    """A cube that hardly loses energy rolls over its corners."""
    cube = {
        "shape": BOX, "mass": 0.3, "contact_spheres": {"corners": {"radius": 0}},
        "pose": {"position": [0, 0, 0.3], "rotation": [0.5, 0.3, 0.2]},
        "velocity": [0.8, 0.2, -0.5], "angular_velocity": [4, -6, 2],
    }  # fmt: skip
    law = {"k_n": 3000, "k_t": 40, "c_n": 0.02, "c_f": 0.5}
    return scene(seconds, {"cube": cube}, ["velocity.x", "angular_velocity.y"], contact=law)


def pendulum(seconds):
    """One rod, let go beside upright."""
    return rods(seconds, 1)


def double_pendulum(seconds):
    """Two rods, let go beside upright."""
    return rods(seconds, 2)


def sliding_box(seconds):
    """A box slides on a plane and stops there after 0.6 s."""
    box = {
        "shape": {"box": {"size": [0.1, 0.1, 0.05]}}, "mass": 0.5,
        "contact_spheres": {"corners": {"radius": 0}},
        "pose": {"position": [0, 0, 0.0244]}, "velocity": [1.8, 0.3, 0],
    }  # fmt: skip
    law = {"k_n": 8000, "k_t": 200, "c_n": 1, "c_f": 0.3}
    return scene(seconds, {"box": box}, ["velocity.x", "velocity.y"], contact=law, step=2e-3)


def soft_ball(seconds):
    """A thrown soft ball."""
    ball = {
        "type": "solid", "shape": {"box": {"size": [0.1] * 3, "cells": [2] * 3}}, "density": 150,
        "young": 2e4, "poisson": 0.4, "viscosity": 20, "pose": {"position": [0, 0, 0.2]},
        "velocity": [1, 0.3, -1],
    }  # fmt: skip
    law = {"k_n": 5000, "k_t": 40, "c_n": 0.2, "c_f": 0.4}
    return scene(seconds, {"ball": ball}, ["velocity.z", "velocity.x"], contact=law, step=1e-3)


def grazing_ball(seconds, above):
    """A ball without weight flies over a post, that far above it."""
    ball = BALL | {"pose": {"position": [-0.3, 0, 0.1 + above]}, "velocity": [3, 0, 0]}
    law = RUBBER | {"against": {"sphere": {"radius": 0.05}}}
    found = scene(seconds, {"ball": ball}, ["velocity.x", "velocity.z"], contact=law)
    found["world"]["gravity"] = [0, 0, 0]
    return found


def rods(seconds, count):
    """Rods below each other, let go at 2.5 rad and more from hanging."""
    bodies, links, top = {}, [], np.zeros(3)
    for k in range(count):
        angle = 2.5 + 0.4 * k
        half = -0.15 * np.array([np.sin(angle), 0, np.cos(angle)])
        pose = {"position": (top + half).tolist(), "rotation": [0, angle, 0]}
        bodies[f"rod{k}"] = ROD | {"pose": pose}
        above = {"body_a": f"rod{k - 1}"} if k else {}
        links.append({
            "name": f"hinge{k}", "type": "joint", "kind": "hinge", **above, "body_b": f"rod{k}",
            "position": top.tolist(), "axis": [0, 1, 0], "coordinates": "reduced",
        })  # fmt: skip
        top = top + 2 * half
    return scene(seconds, bodies, ["world.gravity"], links=links, step=2e-3)


def scene(seconds, bodies, names, contact=None, links=(), step=5e-4):
    """A scene whose parameters are those names of its first body, or paths."""
    first = next(iter(bodies))
    paths = [name if name.startswith("world") else f"bodies.{first}.{name}" for name in names]
    found = {
        "world": {"step": step, "duration": seconds, "record_every": 10}, "bodies": bodies,
        "parameters": {path: {"name": name} for path, name in zip(paths, names, strict=True)},
    }  # fmt: skip
    if contact:
        surface = {"name": "floor", "points": first, "against": {"plane": {}}}
        found["contact"] = [surface | contact]
    if links:
        found["links"] = list(links)
    return found


def examined(folder, raw):
    """(report, what the test simulates itself: engine's name and value -> objective)."""
    path = folder / "scene.yaml"
    path.write_text(yaml.safe_dump(raw, sort_keys=False))
    ((label, problem),) = problems_of(str(path))
    model = ds.load_scene(path)

    def objective(name, value):
        run = model.rollout({name: value})
        ends = [run[body].position[-1].reshape(-1, 3).mean(axis=0) for body in raw["bodies"]]
        return float(np.mean(ends, axis=0) @ WEIGHTS)

    return check_settling(problem, label=label), model, objective


def engine_name(raw, name):
    """Of a parameter of `scene`."""
    return "gravity.z" if name == "world.gravity" else f"{next(iter(raw['bodies']))}.{name}"


@pytest.mark.parametrize(
    ("make", "settled"),
    [
        ((ball_bounce, 0.6), True), ((ball_bounce, 1.2), True),
        ((cube_tumble, 0.3), None), ((cube_tumble, 2.0), False),
        ((pendulum, 1.0), True), ((pendulum, 2.0), True),
        ((double_pendulum, 0.6), True), ((double_pendulum, 1.2), True),
        ((double_pendulum, 5.0), False),
        ((sliding_box, 0.4), True), ((sliding_box, 0.7), True),
        ((soft_ball, 0.25), True),
        ((grazing_ball, 0.2, -1e-5), False), ((grazing_ball, 0.2, 1e-5), False),
        ((grazing_ball, 0.2, 0.03), True),
    ],
    ids=lambda v: "-".join([v[0].__name__, *map(str, v[1:])]) if isinstance(v, tuple) else str(v),
)  # fmt: skip
def test_its_statement_is_that_of_finite_changes(tmp_path, make, settled):
    raw = make[0](*make[1:])
    report, model, objective = examined(tmp_path, raw)
    if settled is not None:
        assert report.settled == settled, report.summary()
    norm = np.linalg.norm([p.gradient for p in report.parameters])
    for p in report.parameters:
        reach, name = p.reach, engine_name(raw, p.name)
        value, exact = model.values[name], p.gradient
        sign = -1.0 if name == "gravity.z" else 1.0  # the parameter is how strong it is
        D = max(abs(exact), FLOOR * norm)

        def off(size, name=name, value=value, sign=sign, exact=exact, D=D, usual=reach.usual):
            ends = [objective(name, value + way * sign * size) for way in (1, -1)]
            return abs((ends[0] - ends[1]) / (2 * size) * usual - exact) / D

        if reach.right_up_to > 1e-6 * reach.usual:  # below, the solver's tolerance counts
            assert off(reach.right_up_to) < 1.1 * RIGHT
            assert off(0.4 * reach.right_up_to) < 1.5 * RIGHT
        if math.isfinite(reach.wrong_from) and reach.wrong_from > 1e-6 * reach.usual:
            assert off(reach.wrong_from) > 0.9 * RIGHT
        if p.verdict == "settled":
            assert reach.right_up_to >= 0.99e-2 * reach.usual
        assert p.reaches or p.verdict in ("small changes only", "grows", "does not mean the motion")


def test_the_bouncing_cube_of_the_examples_is_not_settled():
    """Its derivative by the speed is 528 m per m/s; 1 mm/s to either side give another one."""
    ((label, problem),) = problems_of("config/scenes/bouncing_cube.yaml")
    problem = narrowed(problem, ["cube.velocity.x", "cube.mass"])
    report = check_settling(problem, label=label)
    speed, mass = report.parameters
    assert speed.converged and speed.verdict == "grows" and not report.settled
    assert 1e-5 < speed.reach.right_up_to < speed.reach.wrong_from < 2e-2
    assert mass.verdict == "settled"
    text = report.summary()
    assert "1 of 2 derivatives do not predict changes of 1 % of usual ones" in text
    assert "cube.velocity.x: right for changes up to 0.0001 m/s; differences over +-" in text
    assert "grows" in text and text.endswith("shorten the motion")


def narrowed(problem, names):
    """A problem of a scene by fewer of its parameters."""
    usual = dict.fromkeys(names, 1.0)
    chosen = ParameterMap.of_scene(problem.scene, names, usual)
    return SimulationProblem(problem.scene, problem.options, chosen, problem.trials)


def test_sizes_that_cannot_be_simulated_are_left_out():
    slopes = np.array([np.nan, 2.0, 2.1, 2.2, 3.0, np.nan])
    reach = reach_of("m/s", 10.0, 2.0, slopes, np.abs(slopes - 2.0) / 2.0)
    assert reach.sizes == pytest.approx(10 * SIZES[1:5])
    assert reach.right_up_to == pytest.approx(1e-3) and reach.wrong_from == pytest.approx(1e-2)
    assert not reach.enough and reach.short == "0.001 m/s"
    assert str(reach) == (
        "right for changes up to 0.001 m/s; differences over +-0.01 m/s give 3, not 2: 50 % off"
    )
    unknown = reach_of("1", 1.0, 2.0, np.full(6, np.nan), np.full(6, np.nan))
    assert unknown.enough and unknown.short == "?" and "no change could be" in str(unknown)
    right = reach_of("1", 1.0, 2.0, np.full(6, 2.0), np.zeros(6))
    assert right.enough and right.short == "0.01+"
    assert "for all changes that were tried" in str(right)
    kink = reach_of("rad", 1.0, 2.0, np.full(6, 50.0), np.full(6, 24.0))
    assert not kink.enough and kink.right_up_to == 0 and kink.short == "< 1e-07 rad"
    assert str(kink).startswith("wrong for all changes that were tried; differences over")
    assert str(kink).endswith("more than ten times off")


def test_only_the_largest_derivatives_are_looked_at(tmp_path, monkeypatch):
    from diffsim_ros.inverse import gradient_reach

    monkeypatch.setattr(gradient_reach, "MOST", 1)
    path = tmp_path / "scene.yaml"
    path.write_text(yaml.safe_dump(ball_bounce(0.1), sort_keys=False))
    ((_, problem),) = problems_of(str(path))
    none = np.zeros(problem.nuisance_shape)
    small, large = reaches(problem, problem.start, none, np.array([1e-3, 0.025]))
    assert small is None and large.enough
    assert "of 1 not" in check_settling(problem).summary()


def test_smaller_changes_are_tried_where_larger_ones_are_wrong(tmp_path, monkeypatch):
    from diffsim_ros.inverse import gradient_reach

    monkeypatch.setattr(gradient_reach, "CLOSER", 1)
    path = tmp_path / "scene.yaml"
    path.write_text(yaml.safe_dump(ball_bounce(0.1), sort_keys=False))
    ((_, problem),) = problems_of(str(path))
    none = np.zeros(problem.nuisance_shape)
    one, two = reaches(problem, problem.start, none, np.array([-5.0, 7.0]))  # both are wrong
    assert one.sizes == pytest.approx(2 * SIZES[4:])  # the smaller of the two
    assert two.sizes == pytest.approx(SIZES)
