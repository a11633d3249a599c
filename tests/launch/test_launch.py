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


def stand_ins():
    """Modules of launch and launch_ros that the file imports."""
    names = {
        "launch": ["LaunchDescription"],
        "launch.actions": ["DeclareLaunchArgument", "ExecuteProcess"],
        "launch.conditions": ["IfCondition"],
        "launch.substitutions": ["LaunchConfiguration", "PythonExpression"],
        "launch_ros": [],
        "launch_ros.actions": ["Node"],
        "launch_ros.parameter_descriptions": ["ParameterValue"],
        "ament_index_python": [],
        "ament_index_python.packages": [],
    }
    modules = {}
    for module, classes in names.items():
        modules[module] = ModuleType(module)
        for name in classes:
            setattr(modules[module], name, type(name, (Recorded,), {}))
    modules["ament_index_python.packages"].get_package_share_directory = lambda _: SHARE
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
        listed = yaml.safe_load(path.read_text())[node["name"]]["ros__parameters"]
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
    run, bag = [e.options for e in entities if type(e).__name__ == "ExecuteProcess"]
    assert "condition" not in run and type(bag["condition"]).__name__ == "IfCondition"
    assert run["cmd"][:4] == ["ros2", "run", "diffsim_ros", "experiment"] and "--here" in run["cmd"]
    assert "execute experiment)" in (ROOT / "CMakeLists.txt").read_text()
    arguments = {e.arguments[0]: e.options for e in entities if e.arguments and e.options}
    shown = yaml.safe_load(arguments["pose_topics"]["default_value"])
    for file in (ROOT / "config" / "planning").glob("ur5_*.yaml"):
        for goal in yaml.safe_load(file.read_text())["goals"]:
            assert f"{goal['body']}/pose" in shown, f"{file.name}: {goal['body']}"


def test_expressions_name_launch_arguments(monkeypatch):
    described(ROOT / "launch" / "driver.launch.py", monkeypatch)
    launching = sys.modules["diffsim_ros.nodes.launching"]
    ((first, named, *rest),) = launching.computed("('{out}' or 'b') + '/c'").arguments
    assert (first, named.arguments, rest) == ("('", ("out",), ["' or 'b') + '/c'"])
