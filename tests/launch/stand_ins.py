"""Stand-ins for `launch`, which PyPI does not have: what the files of launch/ would start."""

import importlib.util
import sys
import typing
from pathlib import Path
from types import ModuleType

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


def post_shutdown_test():
    """Marks a TestCase, as launch_testing's does."""

    def mark(case):
        case.after_shutdown = True
        return case

    return mark


def assertExitCodes(proc_info):
    """As launch_testing's; proc_info: name of a node -> its exit code."""
    assert proc_info and set(proc_info.values()) == {0}, proc_info


SUBSTITUTIONS = (LaunchConfiguration, EqualsSubstitution, NotEqualsSubstitution, AndSubstitution)


def stand_ins():
    """Modules of launch and launch_ros that the files import."""
    names = {
        "launch": ["LaunchDescription", Substitution],
        "launch.actions": ["DeclareLaunchArgument", "ExecuteProcess", "IncludeLaunchDescription"],
        "launch.conditions": [IfCondition, UnlessCondition],
        "launch.substitutions": SUBSTITUTIONS,
        "launch.launch_description_sources": ["PythonLaunchDescriptionSource"],
        "launch.utilities": [],
        "launch_ros": [],
        "launch_ros.actions": ["Node"],
        "launch_ros.parameter_descriptions": ["ParameterValue"],
        "launch_testing": [post_shutdown_test],
        "launch_testing.actions": ["ReadyToTest"],
        "launch_testing.asserts": [assertExitCodes],
        "ament_index_python": [],
        "ament_index_python.packages": [],
    }
    modules = {}
    for module, kinds in names.items():
        modules[module] = ModuleType(module)
        for kind in kinds:
            known = type(kind, (Recorded,), {}) if isinstance(kind, str) else kind
            setattr(modules[module], known.__name__, known)
    modules["launch.utilities"].perform_substitutions = performed
    modules["launch.utilities"].normalize_to_list_of_substitutions = listed
    return modules


def described(file, monkeypatch):
    """Everything in the launch description of a file."""
    (found,) = loaded(file, monkeypatch).generate_launch_description().arguments
    return found


def loaded(file, monkeypatch, share=SHARE):
    """The module of a file that imports launch; share: folder of the installed package."""
    modules = stand_ins()
    modules["ament_index_python.packages"].get_package_share_directory = lambda _: share
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.delitem(sys.modules, "diffsim_ros.nodes.launching", raising=False)
    spec = importlib.util.spec_from_file_location(file.stem.split(".")[0], file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


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
