"""What the files of launch/ share: arguments from a table, nodes with their YAML, rviz."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, List  # noqa: UP035  (launch accepts typing.List only)

from ament_index_python.packages import get_package_share_directory
from launch.actions import DeclareLaunchArgument
from launch.conditions import IfCondition
from launch.substitutions import LaunchConfiguration, PythonExpression
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

STRINGS = List[str]  # noqa: UP006
"""Type of a parameter that is a list of texts."""
SIMULATED = {"use_sim_time": True}
PACKAGE = "diffsim_ros"


def share(*parts: str) -> str:
    """Path of a file of the installed package."""
    return "/".join([get_package_share_directory(PACKAGE), *parts])


def declared(arguments: Mapping[str, tuple[str, str]]) -> list[DeclareLaunchArgument]:
    """Launch arguments of a table: name -> (default, description)."""
    return [
        DeclareLaunchArgument(name, default_value=default, description=description)
        for name, (default, description) in arguments.items()
    ]


def typed(**kinds: Any) -> dict[str, ParameterValue]:
    """Parameters whose values are the launch arguments of the same names; name=type."""
    return {
        name: ParameterValue(LaunchConfiguration(name), value_type=kind)
        for name, kind in kinds.items()
    }


def computed(expression: str, kind: Any = None) -> Any:
    """What a Python expression gives whose {names} are launch arguments; kind: as a parameter."""
    parts = re.split(r"\{(\w+)\}", expression)
    found = PythonExpression(
        [LaunchConfiguration(part) if k % 2 else part for k, part in enumerate(parts)]
    )
    return found if kind is None else ParameterValue(found, value_type=kind)


def node(
    name: str, parameters: Mapping[str, Any], *more: Mapping[str, Any], **options: Any
) -> Node:
    """One of our nodes, with config/nodes/NAME.yaml and these parameters."""
    return Node(
        package=PACKAGE,
        executable=name,
        name=name,
        output="screen",
        parameters=[share("config", "nodes", f"{name}.yaml"), parameters, *more],
        **options,
    )


def if_true(name: str) -> IfCondition:
    """Where the launch argument is true."""
    return IfCondition(LaunchConfiguration(name))


def rviz(file: str, *parameters: Mapping[str, Any]) -> Node:
    """rviz2 with config/rviz/FILE, where the launch argument `rviz` is true."""
    return Node(
        package="rviz2",
        executable="rviz2",
        name="rviz2",
        arguments=["-d", share("config", "rviz", file)],
        parameters=list(parameters),
        condition=if_true("rviz"),
    )
