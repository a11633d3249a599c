"""What is asked of whoever installs: names that registries have, and no dependency forgotten."""

import ast
import fnmatch
import json
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "diffsim_ros"
KEYS = {
    "numpy": "python3-numpy", "scipy": "python3-scipy", "matplotlib": "python3-matplotlib",
    "PIL": "python3-pil", "argcomplete": "python3-argcomplete",
    "yaml": "python3-yaml", "jinja2": "python3-jinja2",
}  # fmt: skip
"""Import -> rosdep key, where they differ."""
NO_KEY = {
    "urchin", "rosbags", "open3d", "trimesh", "meshio", "pytetwild", "torch", "mujoco",
    "gymnasium", "stable_baselines3", "piqp", "jax", "viser", "imageio_ffmpeg", "ray",
}  # fmt: skip
"""From PyPI, and optional: docs/how-to/install.md names them. bloom takes no keys of pip."""
WITH_ROSBAGS = {"backports", "lz4"}
"""What unpacks compressed bags comes with rosbags."""
BASE = """rclpy ament_index_python action_msgs builtin_interfaces diagnostic_msgs geometry_msgs
lifecycle_msgs nav_msgs sensor_msgs std_msgs std_srvs trajectory_msgs unique_identifier_msgs
rosgraph_msgs rcl_interfaces visualization_msgs launch launch_ros ros2launch ros2run ros2bag
rosbag2_storage_mcap tf2_msgs""".split()
"""In ros-jazzy-ros-base."""
ORDER = """name version description maintainer license url author depend member_of_group
export""".split()
"""Of the elements of a package.xml (REP 149)."""
PACKAGES = (".", "interfaces")
"""Folders of the packages that are released."""


def imported():
    """Top-level names that the package imports, wherever."""
    found = set()
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                found |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                found.add(node.module.split(".")[0])
    return found - {"diffsim_ros", "diffsim_interfaces", "__future__"}


def keys():
    root = ElementTree.parse(ROOT / "package.xml").getroot()
    return {e.text for e in root if e.tag in ("depend", "exec_depend")}


def registered():
    """Names of distributions that constraints and extras pin: all are in the registry."""
    text = (ROOT / "tools" / "requirements" / "constraints.txt").read_text().lower()
    extras = (ROOT / "pyproject.toml").read_text().lower()
    names = re.findall(r"^([\w.-]+)==", text, re.M) + re.findall(r'"([\w-]+)(?:\[\w+\])?>=', extras)
    return {name.replace("_", "-") for name in names}


def test_every_pip_install_names_what_the_registry_has():
    named = []
    for path in [*PACKAGE.rglob("*.py"), *(ROOT / "docs").rglob("*.md"), *ROOT.glob("*.md")]:
        for words in re.findall(r"pip install ([^`\n,;()#]+)", path.read_text()):
            words = " ".join(w for w in words.split() if "/" not in w)  # files are no names
            found = re.findall(r"(?<![\w.-])([a-zA-Z][\w.-]*)(\[\w+\])?", words.split('"')[0])
            named += [(path.name, name + extra) for name, extra in found]
    assert len(named) > 5
    wrong = [one for one in named if one[1].lower().replace("_", "-") not in registered()]
    assert not wrong, wrong


def test_package_xml_names_all_that_is_imported_started_and_recorded_with():
    used = {name for name in imported() if name not in sys.stdlib_module_names}
    used -= NO_KEY | WITH_ROSBAGS
    missing = {KEYS.get(name, name) for name in used} - keys()
    assert not missing
    launched = "".join(path.read_text() for path in (ROOT / "launch").glob("*.py"))
    launched += (PACKAGE / "nodes" / "launching.py").read_text()
    assert '"rviz2"' in launched and '"bag", "record", "--storage", "mcap"' in launched
    assert {"rviz2", "ros2bag", "ros2launch", "ros2run", "rosbag2_storage_mcap"} <= keys()


@pytest.mark.parametrize("name", sorted(keys() - set(BASE)))
def test_the_recipe_of_colcon_installs_what_ros_base_lacks(name):
    page = (ROOT / "docs" / "how-to" / "install.md").read_text()
    recipe = page.split("## In a ROS 2 workspace")[1]
    recipe = recipe.split("```")[1]
    names = {name, f"ros-jazzy-{name.replace('_', '-')}"}
    if name == "diffsim_interfaces":
        names = {"interfaces"}
    assert names & set(recipe.split()), f"{name}: not in the recipe of docs/how-to/install.md"


def every_key(manifest):
    """Names that a package.xml depends on, for whatever."""
    root = ElementTree.parse(manifest).getroot()
    return {e.text for e in root if e.tag.endswith("depend")}


def test_every_key_is_known_to_rosdep_and_none_is_of_pip():
    """tools/rosdep.yaml has what was looked up; a released package may name nothing else."""
    used = {key for folder in PACKAGES for key in every_key(ROOT / folder / "package.xml")}
    known = yaml.safe_load((ROOT / "tools" / "rosdep.yaml").read_text())
    assert used - {"diffsim_interfaces"} == set(known)
    assert not [key for key in used if key.endswith("-pip")]
    system = {key for key in known if re.match("eigen|pybind11-dev|python3-", key)}
    for key in set(known) - system:
        assert known[key] == {"ubuntu": [f"ros-jazzy-{key.replace('_', '-')}"]}


@pytest.mark.filterwarnings("ignore:nodes.Node.traverse:DeprecationWarning")  # catkin_pkg's
@pytest.mark.parametrize("folder", PACKAGES)
def test_bloom_finds_what_it_needs(folder):
    """A manifest without a warning, a licence, a changelog; `tools/bloom_check.sh` runs bloom."""
    manifests = pytest.importorskip("catkin_pkg.package", reason="no catkin_pkg")
    from catkin_pkg.changelog import get_changelog_from_path

    root = ElementTree.parse(ROOT / folder / "package.xml").getroot()
    order = [ORDER.index(re.sub(r"\w*depend$", "depend", element.tag)) for element in root]
    assert order == sorted(order), "package_format3.xsd, which ament_xmllint reads, has one order"
    warned = []
    package = manifests.parse_package(str(ROOT / folder / "package.xml"), warnings=warned)
    package.validate(warnings=warned)
    assert not warned
    assert [author.name for author in package.authors] == ["The diffsim_ros authors"]
    (licence,) = package.licenses
    assert (str(licence), licence.file) == ("Apache-2.0", "LICENSE")
    assert (ROOT / folder / "LICENSE").read_text() == (ROOT / "LICENSE").read_text()
    changes = get_changelog_from_path(str(ROOT / folder), package.name)
    assert changes.package_name == package.name
    released = [version for version, *_ in changes.foreach_version()]
    assert released[:1] == [package.version] or "\nForthcoming\n-----------\n* " in changes.rst


@pytest.mark.parametrize(("kind", "march"), [("None", set()), ("Release", {"-march=native"})])
def test_a_package_of_a_distribution_runs_on_other_machines_too(kind, march, tmp_path):
    """debhelper builds with CMAKE_BUILD_TYPE=None: optimised, but not for the machine's CPU."""
    wanted = [f"-DCMAKE_BUILD_TYPE={kind}", "-DDIFFSIM_AMENT=OFF"]
    python = f"-DPython3_EXECUTABLE={sys.executable}"
    configure = ["cmake", "-S", str(ROOT), "-B", str(tmp_path), "-G", "Ninja", *wanted, python]
    subprocess.run(configure, check=True, capture_output=True, timeout=120)
    compiled = json.loads((tmp_path / "compile_commands.json").read_text())
    commands = [one["command"] for one in compiled]
    engine = [text.split() for text in commands if "/diffsim_native.dir/Unity" in text]
    assert engine
    for command in engine:
        assert {word for word in command if word.startswith("-march")} == march
        assert [word for word in command if re.fullmatch("-O.", word)][-1] == "-O3"


# --- the image ------------------------------------------------------------------------------------


def instructions():
    """(word, arguments) of tools/Dockerfile, continued lines joined."""
    text = re.sub(r"^#.*\n", "", (ROOT / "tools" / "Dockerfile").read_text(), flags=re.M)
    lines = re.sub(r"\\\n\s*", "", text).splitlines()
    return [tuple(line.split(" ", 1)) for line in lines if line]


def not_copied():
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def test_the_image_copies_what_the_build_reads():
    steps = instructions()
    assert steps[0] == ("FROM", "ros:jazzy-ros-base")
    sources = [rest.split()[0] for word, rest in steps if word == "COPY"]
    assert sources[-1] == "."
    cmake = (ROOT / "CMakeLists.txt").read_text()
    installed = re.search(r"foreach\(_folder IN ITEMS ([\w ]+)\)", cmake).group(1).split()
    read = ["native/scene.cpp", "diffsim_ros/cli.py", "interfaces/CMakeLists.txt", "LICENSE",
            "tools/executable.py.in", *(f"{folder}/" for folder in installed)]  # fmt: skip
    for path in [*sources[:-1], *read]:
        assert (ROOT / path).exists(), path
        for pattern in not_copied():
            whole = pattern.removeprefix("**/")
            assert not fnmatch.fnmatch(path.rstrip("/"), whole), (path, pattern)
            assert path.split("/")[0] != pattern, (path, pattern)


def test_the_image_installs_what_is_declared():
    commands = " ".join(rest for word, rest in instructions() if word == "RUN")
    skipped = re.search(r"--skip-keys (\S+)", commands).group(1).split()
    assert set(skipped) < keys()
    assert "--from-paths diffsim_ros diffsim_ros/interfaces" in commands
    more = re.search(r"--no-install-recommends ([^&]+)&&", commands).group(1).split()
    recipe = (ROOT / "docs" / "how-to" / "install.md").read_text()
    assert set(more) <= set(recipe.split("## In a ROS 2 workspace")[1].split("```")[1].split())
    pinned = re.search(r"\^\(([\w|-]+)\)==", commands).group(1).split("|")
    constraints = (ROOT / "tools" / "requirements" / "constraints.txt").read_text()
    assert len(pinned) == 3 and all(f"\n{name}==" in constraints for name in pinned)
    options = set(re.findall(r"-D(DIFFSIM_\w+)", commands))
    assert (
        options == {"DIFFSIM_ARCH"} and "set(DIFFSIM_ARCH" in (ROOT / "CMakeLists.txt").read_text()
    )


def test_the_image_starts_a_launch_file_that_is_there():
    (command,) = (json.loads(rest) for word, rest in instructions() if word == "CMD")
    assert command[:3] == ["ros2", "launch", "diffsim_ros"]
    assert (ROOT / "launch" / command[3]).is_file()
