"""The package as packaged: one version, entry points that exist, interfaces as documented."""

import importlib.util
import re
import subprocess
import tomllib
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from diffsim_ros.commands.node import NODES

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
OVERLAY = sorted(path.name for path in (ROOT / "ros_overlay").iterdir() if path.is_dir())
PARAMETER_FIELDS = [
    *(("string", "name"), ("string", "unit"), ("float64", "value"), ("float64", "std_dev")),
    *(("float64", "lower"), ("float64", "upper"), ("bool", "identifiable"), ("bool", "at_bound")),
    ("string", "note"),
]
REQUEST_FIELDS = [
    *(("string", "configuration"), ("string[]", "parameters"), ("string[]", "train")),
    *(("string[]", "validate"), ("string", "source"), ("string", "out"), ("string[]", "set")),
]
RESULT_FIELDS = [
    *(("Parameter[]", "parameters"), ("float64[]", "correlation"), ("Metric[]", "metrics")),
    *(("int32", "error_code"), ("string", "error_msg"), ("string", "report_path")),
    ("string", "verdict"),
]
FEEDBACK_FIELDS = [
    *(("string", "phase"), ("uint32", "iteration"), ("float64", "objective")),
    *(("float64", "fraction_done"), ("float64", "seconds_left"), ("Parameter[]", "parameters")),
]
ERROR_CODES = {
    "SUCCESS": 0,
    "INVALID_CONFIGURATION": 1,
    "INVALID_DATA": 2,
    "NOT_CONVERGED": 3,
    "BUSY": 4,
    "CANCELED": 5,
    "INTERNAL": 6,
    "REFUSED": 7,
    "ABORTED": 8,
}


def manifest(path: Path) -> ElementTree.Element:
    """The root of a package.xml."""
    return ElementTree.parse(path).getroot()


def sections(path: Path) -> list[list[tuple[str, str]]]:
    """(type, name) of the fields of an interface file, one list for each part between `---`."""
    parts: list[list[tuple[str, str]]] = [[]]
    for raw in path.read_text().splitlines():
        line = raw.split("#")[0].strip()
        if line == "---":
            parts.append([])
        elif line and "=" not in line:
            kind, name = line.split()
            parts[-1].append((kind, name))
    return parts


def constants(path: Path) -> dict[str, int]:
    """The integer constants of an interface file."""
    return {n: int(v) for n, v in re.findall(r"^\w+ ([A-Z_]+)=(-?\d+)", path.read_text(), re.M)}


def test_one_version_everywhere():
    cmake = re.search(r"project\(diffsim_ros VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text())
    assert manifest(ROOT / "package.xml").findtext("version") == PROJECT["version"]
    assert manifest(ROOT / "interfaces/package.xml").findtext("version") == PROJECT["version"]
    assert cmake and cmake[1] == PROJECT["version"]


@pytest.mark.parametrize("folder", [".", "interfaces", *(f"ros_overlay/{p}" for p in OVERLAY)])
def test_manifest_is_ament_cmake_format_3(folder):
    root = manifest(ROOT / folder / "package.xml")
    cmake = (ROOT / folder / "CMakeLists.txt").read_text()
    assert root.get("format") == "3"
    assert root.findtext("export/build_type") == "ament_cmake"
    assert f"project({root.findtext('name')} " in cmake
    assert folder == "." or root.findtext("member_of_group") == "rosidl_interface_packages"


def test_the_package_claims_one_command():
    """No `driver` or `planner` on the path of whoever installs it."""
    assert PROJECT["scripts"] == {"diffsim": "diffsim_ros.cli:main"}


def test_colcon_installs_what_diffsim_node_starts():
    cmake = (ROOT / "CMakeLists.txt").read_text()
    groups = re.findall(r"foreach\(_(?:node|command) IN ITEMS ([\w\s]+)\)", cmake)
    assert [name for group in groups for name in group.split()] == list(NODES)
    for name in NODES:
        spec = importlib.util.find_spec(f"diffsim_ros.nodes.{name}")
        assert spec is not None and spec.origin is not None, name
        assert re.search(r"^(def main\(|main = )", Path(spec.origin).read_text(), re.M), name


def test_interfaces_have_the_documented_fields():
    folder = ROOT / "interfaces"
    assert sections(folder / "msg/Parameter.msg") == [PARAMETER_FIELDS]
    assert sections(folder / "msg/Metric.msg") == [[("string", "name"), ("float64", "value")]]
    assert sections(folder / "srv/EstimateMaterial.srv") == [REQUEST_FIELDS, RESULT_FIELDS]
    assert sections(folder / "action/Estimate.action") == [
        REQUEST_FIELDS,
        RESULT_FIELDS,
        FEEDBACK_FIELDS,
    ]
    assert constants(folder / "msg/ErrorCode.msg") == ERROR_CODES


def test_every_interface_file_is_built():
    for folder in ("interfaces", *(f"ros_overlay/{p}" for p in OVERLAY)):
        cmake = (ROOT / folder / "CMakeLists.txt").read_text()
        files = [p for kind in ("msg", "srv", "action") for p in (ROOT / folder).rglob(f"*.{kind}")]
        assert files
        for path in files:
            assert f'"{path.relative_to(ROOT / folder)}"' in cmake, path


def test_built_interfaces_match_their_files():
    pytest.importorskip("rclpy", reason="no ROS")
    from diffsim_interfaces.action import Estimate
    from diffsim_interfaces.msg import ErrorCode, Parameter
    from diffsim_interfaces.srv import EstimateMaterial

    def names(message) -> list[str]:
        return list(message.get_fields_and_field_types())

    assert names(Parameter) == [name for _, name in PARAMETER_FIELDS]
    for request in (EstimateMaterial.Request, Estimate.Goal):
        assert names(request) == [name for _, name in REQUEST_FIELDS]
    for result in (EstimateMaterial.Response, Estimate.Result):
        assert names(result) == [name for _, name in RESULT_FIELDS]
    assert names(Estimate.Feedback) == [name for _, name in FEEDBACK_FIELDS]
    assert {name: getattr(ErrorCode, name) for name in ERROR_CODES} == ERROR_CODES


# REP-2011 type hashes: equal hashes mean that our overlay talks to the distribution's own packages.
def test_overlay_fields_are_those_of_jazzy():
    overlay = ROOT / "ros_overlay"
    assert sections(overlay / "tf2_msgs/msg/TFMessage.msg") == [
        [("geometry_msgs/TransformStamped[]", "transforms")]
    ]
    assert sections(overlay / "mocap4r2_msgs/msg/Marker.msg") == [
        [
            *(("int8", "id_type"), ("int32", "marker_index"), ("string", "marker_name")),
            ("geometry_msgs/Point", "translation"),
        ]
    ]
    assert constants(overlay / "control_msgs/action/FollowJointTrajectory.action") == {
        "SUCCESSFUL": 0,
        "INVALID_GOAL": -1,
        "INVALID_JOINTS": -2,
        "OLD_HEADER_TIMESTAMP": -3,
        "PATH_TOLERANCE_VIOLATED": -4,
        "GOAL_TOLERANCE_VIOLATED": -5,
    }


def shell(script: str, **environment: str) -> str:
    """Output of a script that has tools/setup.sh sourced."""
    preamble = f"set -euo pipefail; ROOT='{ROOT}'; YES=; source '{ROOT}/tools/setup.sh'; "
    done = subprocess.run(
        ["bash", "-c", preamble + script],
        env={"PATH": "/usr/bin:/bin", **environment},
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_an_engine_for_other_instructions_is_another_one():
    keys = [shell("native_key venv")]
    keys += [shell("native_key venv", DIFFSIM_ARCH=f"x86-64-v{n}") for n in (2, 3)]
    assert len(set(keys)) == 3
    assert keys[0] == shell("native_key venv", DIFFSIM_ARCH="native")
    wrong = shell("(set_up) 2>&1 || echo $?", DIFFSIM_ARCH="native -O0")
    assert wrong.startswith("run: DIFFSIM_ARCH=native -O0: must be native") and wrong.endswith("2")


def test_openvdb_is_asked_for_once_and_its_absence_stops_nobody(tmp_path):
    """apt-get fails here; the set-up goes on with one line, and does not try again."""
    (tmp_path / "log").mkdir()
    apt = tmp_path / "apt-get"
    apt.write_text(f'#!/bin/bash\necho "$@" >> {tmp_path}/calls\nexit 100\n')
    apt.chmod(0o755)
    script = f"BUILD='{tmp_path}'; may_install() {{ true; }}; sudo() {{ \"$@\"; }}; "
    script += "ask_once openvdb install_openvdb 2>&1; ask_once openvdb install_openvdb; echo on"
    *output, last = shell(script, PATH=f"{tmp_path}:/usr/bin:/bin").splitlines()
    assert last == "on"
    assert "no OpenVDB" in output[-1] and "libopenvdb-dev libboost-dev" in output[-1]
    calls = (tmp_path / "calls").read_text().splitlines()
    assert len(calls) == 2 and "libopenvdb-dev" in calls[0] and calls[1] == "update"


def fake_distribution(prefix: Path, packages: list[str]) -> Path:
    """A prefix whose ament index names the packages, with rclpy for the system's Python."""
    index = prefix / "share/ament_index/resource_index/packages"
    index.mkdir(parents=True)
    for name in packages:
        (index / name).touch()
    for minor in range(8, 16):
        (prefix / f"lib/python3.{minor}/site-packages/rclpy").mkdir(parents=True)
    return prefix


def test_overlay_never_shadows_real_packages(tmp_path):
    real = fake_distribution(tmp_path / "ros", ["tf2_msgs", "control_msgs"])
    absent = shell("absent_overlay_packages", AMENT_PREFIX_PATH=str(real)).split()
    assert sorted(absent) == sorted({*OVERLAY} - {"tf2_msgs", "control_msgs"})
    assert sorted(shell("absent_overlay_packages").split()) == OVERLAY


def test_distribution_is_used_whole_or_not_at_all(tmp_path):
    needs = shell('echo "${ROS_NEEDS[@]}"').split()
    real = str(fake_distribution(tmp_path / "jazzy", needs))
    old = str(fake_distribution(tmp_path / "humble", needs))
    bare = str(fake_distribution(tmp_path / "bare", needs[:1]))
    report = 'choose_ros 2>&1; echo "$ROS_MODE:${AMENT_PREFIX_PATH-}:${PYTHONPATH-}"'

    def chosen(prefix: str, distro: str, **more: str) -> str:
        path = {"PYTHONPATH": f"{prefix}/python", "AMENT_PREFIX_PATH": prefix}
        return shell(report, ROS_DISTRO=distro, DIFFSIM_ROS_ROOT="/nowhere", **path, **more)

    assert chosen(real, "jazzy", PYTHON="/usr/bin/python3") == f"distribution:{real}:{real}/python"
    for prefix, distro, more, why in (
        (old, "humble", {}, "not jazzy"),
        (bare, "jazzy", {}, "it lacks"),
        (real, "jazzy", {"DIFFSIM_ROS": "wheels"}, "DIFFSIM_ROS=wheels"),
        (real, "jazzy", {"PYTHON": "/no/python"}, "its rclpy is not for"),
    ):
        reason, mode = chosen(prefix, distro, **more).splitlines()
        assert why in reason and mode == "wheels::"
