"""Shared by the files of launch/: arguments from a table, nodes with their YAML, rviz.

All nodes of a launch are in its `namespace`. Text from the command line is never evaluated as
Python: paths may contain apostrophes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, List  # noqa: UP035  (launch accepts typing.List only)

from ament_index_python.packages import get_package_share_directory
from launch.actions import DeclareLaunchArgument
from launch.conditions import IfCondition, UnlessCondition
from launch.substitutions import AndSubstitution, EqualsSubstitution, LaunchConfiguration
from launch.utilities import normalize_to_list_of_substitutions, perform_substitutions
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from diffsim_ros.nodes.starting import OWN_WORLD
from launch import Substitution

STRINGS = List[str]  # noqa: UP006
"""Type of a parameter that is a list of texts."""
SIMULATED = {"use_sim_time": True}
PACKAGE = "diffsim_ros"
NAMESPACE = {"namespace": ("", "of all nodes and their topics, e.g. robot1: robots do not cross")}
OWN = {"remappings": list(OWN_WORLD)}
"""Option of the nodes that share a twin's time."""


def share(*parts: str) -> str:
    """Path of a file of the installed package."""
    return "/".join([get_package_share_directory(PACKAGE), *parts])


def declared(arguments: Mapping[str, tuple[str, str]]) -> list[DeclareLaunchArgument]:
    """Launch arguments of a table: name -> (default, description); and the namespace."""
    return [
        DeclareLaunchArgument(name, default_value=default, description=description)
        for name, (default, description) in {**arguments, **NAMESPACE}.items()
    ]


def typed(**kinds: Any) -> dict[str, ParameterValue]:
    """Parameters whose values are the launch arguments of the same names; name=type."""
    return {
        name: ParameterValue(LaunchConfiguration(name), value_type=kind)
        for name, kind in kinds.items()
    }


class FirstGiven(Substitution):
    """The first of some texts that is not empty."""

    def __init__(self, *choices: Any) -> None:
        super().__init__()
        self._choices = [normalize_to_list_of_substitutions(choice) for choice in choices]

    def describe(self) -> str:
        """For `ros2 launch --print-description`."""
        return f"FirstGiven({len(self._choices)} choices)"

    def perform(self, context: Any) -> str:
        """The text."""
        texts = (perform_substitutions(context, choice) for choice in self._choices)
        return next(filter(None, texts), "")


def text(value: Any) -> ParameterValue:
    """A parameter that is a text, from substitutions."""
    return ParameterValue(value, value_type=str)


def node(
    name: str, parameters: Mapping[str, Any], *more: Mapping[str, Any], **options: Any
) -> Node:
    """One of our nodes, with config/nodes/NAME.yaml and these parameters."""
    return Node(
        package=PACKAGE,
        executable=name,
        name=name,
        namespace=LaunchConfiguration("namespace"),
        output="screen",
        parameters=[share("config", "nodes", f"{name}.yaml"), parameters, *more],
        **options,
    )


def if_true(name: str, also: Substitution | None = None) -> IfCondition:
    """Where the launch argument is true, and `also` is."""
    given = LaunchConfiguration(name)
    return IfCondition(given if also is None else AndSubstitution(given, also))


def if_given(name: str) -> UnlessCondition:
    """Where the launch argument is not empty."""
    return UnlessCondition(EqualsSubstitution(LaunchConfiguration(name), ""))


def rviz(file: str, *parameters: Mapping[str, Any], **options: Any) -> Node:
    """rviz2 with config/rviz/FILE, where the launch argument `rviz` is true."""
    return Node(
        package="rviz2",
        executable="rviz2",
        name="rviz2",
        namespace=LaunchConfiguration("namespace"),
        arguments=["-d", share("config", "rviz", file)],
        parameters=list(parameters),
        condition=if_true("rviz"),
        **options,
    )
