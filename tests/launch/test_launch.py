"""launch/*.launch.py with stand-ins for `launch`: what they would start exists and fits."""

import importlib.util
import re
import sys
import typing
from pathlib import Path
from types import ModuleType

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted((ROOT / "launch").glob("*.launch.py"))
SHARE = "/share/diffsim_ros"
STRINGS = typing.List[str]  # noqa: UP006  (launch compares with `is`)


class Recorded:
    """Anything of launch: keeps the arguments that it was made with."""

    def __init__(self, *arguments, **options):
        self.arguments, self.options = arguments, options


class Substitution(Recorded):
    """A text that is known when a launch runs: `perform` in a context, here the arguments."""


def performed(context, parts):
    return "".join(part if isinstance(part, str) else part.perform(context) for part in parts)


def listed(value):
    return list(value) if isinstance(value, (list, tuple)) else [value]


class LaunchConfiguration(Substitution):
    def perform(self, context):
        return context[self.arguments[0]]


class EqualsSubstitution(Substitution):
    def perform(self, context):
        left, right = (performed(context, listed(a)) for a in self.arguments)
        return str(left == right).lower()


class NotEqualsSubstitution(EqualsSubstitution):
    def perform(self, context):
        return str(super().perform(context) == "false").lower()


class AndSubstitution(Substitution):
    def perform(self, context):
        return str(all(true(a.perform(context)) for a in self.arguments)).lower()


def true(text):
    assert text.lower() in ("true", "false", "1", "0"), text
    return text.lower() in ("true", "1")


class IfCondition(Recorded):
    def holds(self, context):
        return true(performed(context, listed(self.arguments[0])))


class UnlessCondition(IfCondition):
    def holds(self, context):
        return not super().holds(context)


SUBSTITUTIONS = (LaunchConfiguration, EqualsSubstitution, NotEqualsSubstitution, AndSubstitution)


def stand_ins():
    """Modules of launch and launch_ros that the files import."""
    names = {
        "launch": ["LaunchDescription", Substitution],
        "launch.actions": ["DeclareLaunchArgument", "ExecuteProcess"],
        "launch.conditions": [IfCondition, UnlessCondition],
        "launch.substitutions": SUBSTITUTIONS,
        "launch.utilities": [],
        "launch_ros": [],
        "launch_ros.actions": ["Node"],
        "launch_ros.parameter_descriptions": ["ParameterValue"],
        "ament_index_python": [],
        "ament_index_python.packages": [],
    }
    modules = {}
    for module, kinds in names.items():
        modules[module] = ModuleType(module)
        for kind in kinds:
            known = type(kind, (Recorded,), {}) if isinstance(kind, str) else kind
            setattr(modules[module], known.__name__, known)
    modules["ament_index_python.packages"].get_package_share_directory = lambda _: SHARE
    modules["launch.utilities"].perform_substitutions = performed
    modules["launch.utilities"].normalize_to_list_of_substitutions = listed
    return modules


def described(file, monkeypatch):
    """Everything in the launch description of a file."""
    for name, module in stand_ins().items():
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.delitem(sys.modules, "diffsim_ros.nodes.launching", raising=False)
    spec = importlib.util.spec_from_file_location(file.stem.split(".")[0], file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    (found,) = module.generate_launch_description().arguments
    return found


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
    installed = re.search(r"foreach\(_node IN ITEMS ([\w ]+)\)", cmake).group(1).split()
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


def launched(name, monkeypatch, **given):
    """What runs with these arguments: {executable: options}, commands under their first words.

    Values of parameters and arguments, names and conditions are worked out as launch does.
    """
    entities = described(ROOT / "launch" / f"{name}.launch.py", monkeypatch)
    arguments = {e.arguments[0]: e.options["default_value"] for e in entities
                 if type(e).__name__ == "DeclareLaunchArgument"}  # fmt: skip
    assert set(given) <= set(arguments), "launch refuses other arguments"
    context = {**arguments, **given}
    found = {}
    for entity in entities:
        options = entity.options
        if "condition" in options and not options["condition"].holds(context):
            continue
        if type(entity).__name__ == "Node":
            found[options["executable"]] = worked_out(options, context)
        elif type(entity).__name__ == "ExecuteProcess":
            command = [performed(context, listed(word)) for word in options["cmd"]]
            found[" ".join(command[:3])] = command
    return found


def worked_out(options, context):
    """Options of a node with its parameters' values, and its namespace."""
    values = {}
    for given in options.get("parameters", ()):
        for key, value in given.items() if isinstance(given, dict) else ():
            if type(value).__name__ == "ParameterValue":
                text = performed(context, listed(value.arguments[0]))
                kind = value.options["value_type"]
                value = text if kind is str else yaml.safe_load(text)
            values[key] = value
    return {
        **options, "values": values, "namespace": performed(context, listed(options["namespace"])),
    }  # fmt: skip


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
