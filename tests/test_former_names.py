"""Names that files used before are read, each with a warning that gives the new one."""

import copy
import re

import numpy as np
import pytest
import yaml

from diffsim_ros.errors import InputError
from diffsim_ros.fields import Field, Reader
from diffsim_ros.planning.load import load_plan
from diffsim_ros.real2sim.config import load_estimation
from diffsim_ros.real2sim.model import scene_and_map
from diffsim_ros.scene.model import load_scene
from tests.nodes.conftest import ROOT

PLANS = ROOT / "config" / "planning"
SCENE = {
    "world": {"step": 0.01, "duration": 0.1},
    "bodies": {
        "cube": {
            "shape": {"box": {"size": [0.1, 0.1, 0.1]}}, "mass": 1.0,
            "contact_spheres": {"corners": {"radius": 0.01}},
        },
        "hand": {"type": "kinematic", "pose": {"position": [0, 0, 1]}},
    },
    "values": {"cube_contact_spheres.radius": 0.02},
}  # fmt: skip
NEW_TO_OLD = {"contact_spheres": "proxies", "cube_contact_spheres.radius": "cube_proxies.radius"}


def renamed(value, names):
    """The mapping with keys and words under other names."""
    if isinstance(value, dict):
        return {names.get(key, key): renamed(one, names) for key, one in value.items()}
    if isinstance(value, list):
        return [renamed(one, names) for one in value]
    return names.get(value, value) if isinstance(value, str) else value


def warned(call):
    """The result, and the warnings one by one."""
    with pytest.warns(FutureWarning) as caught:
        result = call()
    return result, sorted({str(one.message) for one in caught})


def test_a_scene_with_former_names_is_the_same_scene():
    new = load_scene(copy.deepcopy(SCENE))
    old = renamed(SCENE, NEW_TO_OLD | {"kinematic": "handle"})
    found, messages = warned(lambda: load_scene(old))
    assert [info.name for info in found.engine.parameters] == [
        info.name for info in new.engine.parameters
    ]
    np.testing.assert_array_equal(found.engine.values, new.engine.values)
    assert len(messages) == 3
    assert any("bodies.cube.proxies: is called `contact_spheres` now" in m for m in messages)
    assert any("bodies.hand.type: handle: is called `kinematic` now" in m for m in messages)
    assert any(
        "cube_proxies.radius: is called `cube_contact_spheres.radius`" in m for m in messages
    )


@pytest.mark.parametrize("name", ["ur5_drag", "throw_backspin"])
def test_a_plan_with_former_names_is_the_same_plan(name):
    raw = yaml.safe_load((PLANS / f"{name}.yaml").read_text())
    new = load_plan(copy.deepcopy(raw), base=PLANS)
    old = copy.deepcopy(raw)
    if name == "ur5_drag":
        old["robot"]["hand"] = old["robot"].pop("end_effector")
        old["robot"]["hand"]["handle"] = old["robot"]["hand"].pop("body")
        old["scene"]["bodies"]["hand"]["type"] = "handle"
        old["controls"]["hand"]["handle"] = old["controls"]["hand"].pop("body")
    else:
        old["search"]["softened"] = old["search"].pop("continuation")
    found, messages = warned(lambda: load_plan(old, base=PLANS))
    assert found.map.names == new.map.names and found.search == new.search
    assert len(messages) == (4 if name == "ur5_drag" else 1)


def test_both_names_at_once_are_refused():
    reader, section = Reader("file"), {"body": Field("text", "a body", formerly="handle")}
    with pytest.raises(InputError, match=re.escape("handle: got 'a'; accepted: `body` alone")):
        reader.section(section, {"handle": "a", "body": "b"})


def test_a_parameter_by_both_names_is_refused():
    scene = copy.deepcopy(SCENE)
    scene["values"]["cube_proxies.radius"] = 0.03
    with (
        pytest.warns(FutureWarning),
        pytest.raises(InputError, match=r"`cube_contact_spheres\.radius` once"),
    ):
        load_scene(scene)


def test_a_result_with_former_names_sets_the_scenes_parameters(tmp_path):
    file = tmp_path / "result.yaml"
    file.write_text("scene: {cube_proxies.radius: 0.03}")
    scene = {key: value for key, value in SCENE.items() if key != "values"}
    found, messages = warned(lambda: load_scene(scene, estimated=file))
    index = found.engine.index("cube_contact_spheres.radius")
    assert found.engine.values[index] == 0.03 and str(file) in messages[0]


def test_paths_of_a_scenes_parameters_may_be_former_ones():
    scene = copy.deepcopy(SCENE)
    path = "bodies.cube.contact_spheres.corners.radius"
    scene["parameters"] = {path.replace("contact_spheres", "proxies"): {"bounds": [0.01, 0.03]}}
    found, _ = warned(lambda: load_scene(scene))
    assert [p.name for p in found.parameters] == [path]


def test_an_estimation_with_former_names_is_the_same_estimation():
    file = ROOT / "config" / "estimation" / "cube_toss.yaml"
    text = file.read_text().replace("../..", str(ROOT))
    (new_scene, new) = scene_and_map(load_estimation(text))
    old = re.sub(r"\bcontact_spheres\b", "proxies", text)
    old = old.replace("cube_contact_spheres", "cube_proxies")
    assert old.count("proxies") == 3
    (old_scene, found), messages = warned(lambda: scene_and_map(load_estimation(old)))
    assert [p.sets for p in found.parameters] == [p.sets for p in new.parameters]
    np.testing.assert_array_equal(old_scene.engine.values, new_scene.engine.values)
    assert len(messages) == 3


def test_samples_of_a_plan_may_name_former_parameters():
    raw = yaml.safe_load((PLANS / "ur5_throw.yaml").read_text())
    raw["search"] = {"robust": {"spread": {"ball_proxies.radius": 0.1}}}
    found, _ = warned(lambda: load_plan(raw, base=PLANS))
    assert found.robust.spread == {"ball_contact_spheres.radius": 0.1}


def test_tosses_are_poses_that_start_by_height():
    file = ROOT / "config" / "estimation" / "cube_toss.yaml"
    raw = yaml.safe_load(file.read_text().replace("../..", str(ROOT)))
    assert raw["measurement"].pop("start") == "height"
    new = load_estimation(file)
    (old, messages) = warned(lambda: load_estimation(
        {**raw, "kind": "tosses", "fit": {**raw["fit"], "initial_state": "metric"}}
    ))  # fmt: skip
    assert messages == [
        "estimation: fit.initial_state: metric: is called `held` now",
        "estimation: kind: tosses: is called `poses` with `measurement.start: height` now",
    ]
    del raw["kind"]  # a file that names no kind is one of tosses too
    for found in (old, load_estimation(raw)):
        assert (found.kind, found.measurement, found.fit) == (new.kind, new.measurement, new.fit)
        assert found.train.trials == new.train.trials


def test_tables_of_published_errors_are_named_in_vain():
    file = ROOT / "config" / "estimation" / "cube_toss.yaml"
    raw = yaml.safe_load(file.read_text().replace("../..", str(ROOT)))
    raw["data"]["train"]["published"] = "none"
    raw["data"]["validate"]["published"] = ["errors.csv"]
    (found, messages) = warned(lambda: load_estimation(raw))
    assert messages == [
        f"estimation: data.{role}.published: is not read any more" for role in ("train", "validate")
    ]
    new = load_estimation(file)
    assert (found.train.trials, found.validate.trials) == (new.train.trials, new.validate.trials)
    raw["data"]["train"]["publishes"] = "none"
    with pytest.warns(FutureWarning), pytest.raises(InputError, match=r"data\.train\.publishes"):
        load_estimation(raw)
