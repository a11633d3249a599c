"""Single sizes of surfaces by their paths: what they set, and found from a rolling ball."""

import numpy as np
import pytest

from diffsim_ros import _engine
from diffsim_ros.errors import InputError
from diffsim_ros.inverse import ParameterMap, PoseTrack, SimulationProblem, Trial
from diffsim_ros.inverse.optimizers import levenberg_marquardt
from diffsim_ros.scene import load_scene
from diffsim_ros.scene.targets import targets

DRUM, TABLE = "sdfs.drum.transform.of.cylinder", "contact.ball_table.against.box.size"


def rolling(parameters, against="drum"):
    """A ball on top of a drum, which it rolls off, onto a table."""
    ball = {"shape": {"sphere": {"radius": 0.05}}, "mass": 0.2,
            "pose": {"position": [0.01, 0, 0.2]}, "velocity": [0.2, 0.02, 0]}  # fmt: skip
    law = {"points": "ball", "k_n": 4e3, "k_t": 20, "c_f": 0.4, "c_n": 0.5}
    lying = {"transform": {"of": {"cylinder": {"height": 0.6, "radius": 0.145}},
                           "rotation": [np.pi / 2, 0, 0]}}  # fmt: skip
    return load_scene({
        "world": {"step": 0.004, "duration": 0.8},
        "bodies": {"ball": ball},
        "sdfs": {"drum": lying, "alias": "drum",
                 "both": {"union": {"of": ["drum", {"plane": {"offset": -0.3}}]}}},
        "contact": [{"name": "drum", "against": against, **law},
                    {"name": "ball_table", "against": {"box": {"size": [2, 2, 0.11]}}, **law}],
        "parameters": parameters,
    })  # fmt: skip


def test_a_rolling_ball_finds_radius_and_height():
    """From places with noise of 0.3 mm, within 3 sigma: a radius and a height that the file has
    wrong by 5 and 10 mm."""
    paths = [f"{DRUM}.radius", f"{TABLE}.z"]
    model = rolling({path: {"bounds": [0.01, 0.4]} for path in paths})
    s, options = model.engine, _engine.Options(step=0.004)
    truth = s.values
    for name, value in (("drum.surface.of.radius", 0.15), ("ball_table.surface.size.z", 0.12)):
        truth[s.index(name)] = value
    r = _engine.rollout(s, truth, 150, options)
    noise = 3e-4 * np.random.default_rng(2).standard_normal((150, 3))
    frames = np.arange(1, 151)
    track = PoseTrack("ball", frames, r.position[1:, 0] + noise, None, 3e-4)
    problem = SimulationProblem(
        s, options, ParameterMap(model.parameters, s), [Trial("rolls", 150, (track,))]
    )
    found = levenberg_marquardt(problem, problem.start)
    assert found.converged
    sigma = np.sqrt(np.diagonal(np.linalg.inv(problem.evaluate(
        found.z, found.y, want="equations").equations.eliminated()[1].sum(axis=0))))  # fmt: skip
    assert np.abs(problem.values(found.z) - [0.15, 0.12]).max() < 3e-4
    assert (np.abs(problem.values(found.z) - [0.15, 0.12]) < 3 * sigma).all()


def test_paths_are_places_of_the_file_and_set_every_contact_that_has_them():
    found = targets(rolling({}).parts, rolling({}).engine)
    sizes = {path: target for path, target in found.items() if ".cylinder." in path}
    assert set(sizes) == {f"{DRUM}.height", f"{DRUM}.radius"}
    assert sizes[f"{DRUM}.radius"].sets == {"drum.surface.of.radius": 1.0}
    assert (sizes[f"{DRUM}.radius"].value, sizes[f"{DRUM}.radius"].unit) == (0.145, "m")
    assert sizes[f"{DRUM}.radius"].lower > 0
    assert found[f"{TABLE}.z"].sets == found["contact[1].against.box.size.z"].sets
    model = rolling({}, against="both")
    found = targets(model.parts, model.engine)
    assert found[f"{DRUM}.radius"].sets == {"drum.surface.of[0].of.radius": 1.0}
    assert "sdfs.both.union.of[1].plane.offset" in found
    named = rolling({}, against="alias")
    assert targets(named.parts, named.engine)[f"{DRUM}.height"].value == 0.6


def test_one_surface_under_two_contacts_is_one_size():
    model = rolling({})
    scene = model.description
    scene["contact"][1]["against"] = "drum"
    model = load_scene(scene)
    found = targets(model.parts, model.engine)[f"{DRUM}.radius"]
    assert found.sets == {"drum.surface.of.radius": 1.0, "ball_table.surface.of.radius": 1.0}


def test_a_size_that_is_not_there_is_named():
    with pytest.raises(InputError, match=r"cylinder.radios.*cylinder.radius"):
        rolling({f"{DRUM}.radios": {}})
