"""launch/*.launch.py with stand-ins for `launch`: what they would start exists and fits."""

import re
from pathlib import Path

import pytest
import yaml

from tests.launch.stand_ins import FILES, ROOT, SHARE, STRINGS, described, launched


@pytest.fixture(params=FILES, ids=lambda file: file.name)
def entities(request, monkeypatch):
    """Those of each file."""
    return described(request.param, monkeypatch)


def nodes(entities):
    return [e.options for e in entities if type(e).__name__ == "Node"]


def test_every_argument_has_a_default_and_a_description(entities):
    declared = [e for e in entities if type(e).__name__ == "DeclareLaunchArgument"]
    assert declared
    for entity in declared:
        assert isinstance(entity.options["default_value"], str)
        assert entity.options["description"]


def test_every_node_is_installed_and_started_by_a_file(monkeypatch):
    cmake = (ROOT / "CMakeLists.txt").read_text()
    installed = re.search(r"foreach\(_node IN ITEMS ([\w\s]+)\)", cmake).group(1).split()
    launched = [n for file in FILES for n in nodes(described(file, monkeypatch))]
    started = {n["executable"] for n in launched if n["package"] == "diffsim_ros"}
    assert started == set(installed)


def test_parameters_are_those_of_the_yaml_and_files_exist(entities):
    for node in nodes(entities):
        if node["package"] != "diffsim_ros":
            continue
        file, overrides, *clock = node["parameters"]
        assert clock in ([], [{"use_sim_time": True}])
        path = ROOT / Path(file).relative_to(SHARE)
        listed = yaml.safe_load(path.read_text())[f"/**/{node['name']}"]["ros__parameters"]
        for name, value in overrides.items():
            assert name in listed
            kind = value.options["value_type"]
            assert kind in (str, float, bool) or kind is STRINGS, "launch accepts no other type"
            assert isinstance(listed[name], list if kind is STRINGS else kind), name


@pytest.mark.parametrize("name", ["real2sim", "twin", "experiment"])
def test_rviz_is_optional_and_its_file_exists(name, monkeypatch):
    entities = described(ROOT / "launch" / f"{name}.launch.py", monkeypatch)
    (rviz,) = [n for n in nodes(entities) if n["package"] == "rviz2"]
    assert type(rviz["condition"]).__name__ == "IfCondition"
    file = rviz["arguments"][1]
    assert (ROOT / Path(file).relative_to(SHARE)).is_file()


def test_an_experiment_is_run_and_its_poses_are_shown(monkeypatch):
    entities = described(ROOT / "launch" / "experiment.launch.py", monkeypatch)
    run, *bags = [e.options for e in entities if type(e).__name__ == "ExecuteProcess"]
    assert "condition" not in run and all("condition" in bag for bag in bags)
    assert run["cmd"][:4] == ["ros2", "run", "diffsim_ros", "experiment"] and "--here" in run["cmd"]
    assert "execute experiment run_policy)" in (ROOT / "CMakeLists.txt").read_text()
    arguments = {e.arguments[0]: e.options for e in entities if e.arguments and e.options}
    shown = yaml.safe_load(arguments["pose_topics"]["default_value"])
    for file in (ROOT / "config" / "planning").glob("ur5_*.yaml"):
        for goal in yaml.safe_load(file.read_text()).get("goals", ()):
            assert f"{goal['body']}/pose" in shown, f"{file.name}: {goal['body']}"


# --- with arguments -------------------------------------------------------------------------------


QUOTED = '/home/o\'brien/my "data"/a.yaml'


def test_real2sim_hands_every_source_and_frame_on(monkeypatch):
    from diffsim_ros.nodes.observer import Observer

    lists = {p.name: [f"/{p.name}", "two's"] for p in Observer.PARAMETERS
             if p.name.endswith("_topics") or p.name == "tf_bodies"}  # fmt: skip
    assert len(lists) > 6
    given = {name: yaml.safe_dump(value, default_flow_style=True) for name, value in lists.items()}
    found = launched("real2sim", monkeypatch, world_frame="map", up_axis="y", **given)
    observer, visualizer = found["observer"]["values"], found["visualizer"]["values"]
    assert lists.items() <= observer.items()
    assert (observer["world_frame"], observer["up_axis"]) == ("map", "y")
    assert visualizer == {
        "world_frame": "map", **{k: lists[k] for k in ("pose_topics", "markers_topics")}
    }  # fmt: skip
    found = launched("real2sim", monkeypatch)
    assert found["observer"]["values"]["world_frame"] == ""
    assert found["visualizer"]["values"]["world_frame"] == "world"
    assert "replay" not in found and "rviz2" not in found


def test_paths_may_hold_apostrophes(monkeypatch):
    found = launched("real2sim", monkeypatch, data=QUOTED, rviz="true")
    assert found["replay"]["values"]["data"] == QUOTED and "rviz2" in found
    found = launched("experiment", monkeypatch, experiment=QUOTED, out="/it's", bag="true")
    assert found["simulator"]["values"]["twin"] == QUOTED
    assert found["simulator"]["values"]["truth_path"] == "/it's/truth"
    assert found["ros2 run diffsim_ros"][4:8] == [QUOTED, "--here", "--out", "/it's"]
    assert "/it's/bag" in found["ros2 bag record"]
    found = launched("experiment", monkeypatch, twin=QUOTED)
    assert found["simulator"]["values"]["twin"] == QUOTED
    assert found["simulator"]["values"]["truth_path"].endswith("_experiment/truth")
    assert "ros2 bag record" not in found


@pytest.mark.parametrize("name", [file.name.split(".")[0] for file in FILES])
def test_a_namespace_reaches_every_node(name, monkeypatch):
    flags = {"mock": "true"} if name == "driver" else {"rviz": "true"}
    for namespace in ("", "robot1"):
        found = launched(name, monkeypatch, namespace=namespace, **flags)
        ours = [options for options in found.values() if isinstance(options, dict)]
        assert len(ours) > 2 and {options["namespace"] for options in ours} == {namespace}


@pytest.mark.parametrize("name", ["twin", "experiment"])
def test_time_and_frames_of_a_twin_are_those_of_its_namespace(name, monkeypatch):
    found = launched(name, monkeypatch, namespace="robot1", rviz="true")
    for options in (options for options in found.values() if isinstance(options, dict)):
        assert {("/clock", "clock"), ("/tf", "tf"), ("/tf_static", "tf_static")} == set(
            options["remappings"]
        )


def test_an_experiment_in_a_namespace_calls_and_records_its_own_nodes(monkeypatch):
    found = launched("experiment", monkeypatch, namespace="robot1", bag="true")
    assert {"__ns:=/robot1", "/clock:=clock", "/tf:=tf"} < set(found["ros2 run diffsim_ros"])
    record = found["ros2 bag record"]
    assert record[record.index("--regex") + 1] == "/robot1/.*" and "--use-sim-time" not in record
    record = launched("experiment", monkeypatch, bag="true")["ros2 bag record"]
    assert {"--all-topics", "--use-sim-time"} < set(record) and "--regex" not in record
