"""A node's life as a process: signals in every phase, twice in a row; help; odd arguments."""

import os
import re
import signal
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path

import pytest

pytest.importorskip("rclpy")

from diffsim_ros.commands.node import NODES
from diffsim_ros.nodes import starting
from diffsim_ros.nodes.processes import NodeProcesses

ROOT = Path(__file__).resolve().parents[2]
LIMIT = 60.0
IMPORTED = re.compile(r"import time:.*\|\s*(\S+)$")


@pytest.fixture
def installed(tmp_path):
    """Write an executable as colcon installs it; returns a function of the module's name."""

    def write(module):
        text = (ROOT / "tools" / "executable.py.in").read_text()
        held = "/usr/bin/env -S --block-signal=INT --block-signal=TERM "
        for name, value in {
            "DIFFSIM_SHEBANG": held + sys.executable, "module": module,
        }.items():  # fmt: skip
            text = text.replace(f"@{name}@", value)
        path = tmp_path / module.rpartition(".")[2]
        path.write_text(text)
        path.chmod(0o755)
        return [str(path)]

    return write


def started(command, **environment):
    """A process whose imports are printed on its standard error, one a line."""
    variables = {"PYTHONPROFILEIMPORTTIME": "1", "PYTHONPATH": str(ROOT), **environment}
    return subprocess.Popen(
        command, env={**os.environ, **variables}, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True,
    )  # fmt: skip


def until(process, words):
    """Read until a module is imported, or a line holds the words; returns what was read."""
    output = []
    for line in process.stderr:
        output.append(line)
        module = IMPORTED.match(line.rstrip())
        if (module and module[1] == words) or (not module and words in line):
            return output
    pytest.fail(f"{words!r} was never printed: {output[-3:]}")


def ended(process):
    """(exit code, all that was printed but imports)."""
    output = "".join(process.communicate(timeout=LIMIT))
    return process.returncode, "\n".join(x for x in output.split("\n") if "import time:" not in x)


WORDS = ("encodings", "site", "diffsim_ros.nodes", "numpy", "rclpy", "diffsim_ros._engine",
         "diffsim_ros.nodes.jobs", "started")  # fmt: skip


@pytest.mark.parametrize("words", WORDS)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_in_any_phase_ends_an_installed_node_with_code_0(
    ros_domain, installed, number, words
):
    process = started(installed("diffsim_ros.nodes.planner"))
    until(process, words)
    process.send_signal(number)
    code, output = ended(process)
    assert code == 0 and "Traceback" not in output, output


@pytest.mark.parametrize("words", ["diffsim_ros.nodes", "rclpy", "diffsim_ros.nodes.jobs"])
def test_the_same_of_a_node_that_is_run_as_a_module(ros_domain, words):
    process = started([sys.executable, "-m", "diffsim_ros.nodes.planner"])
    until(process, words)
    process.send_signal(signal.SIGINT)
    code, output = ended(process)
    assert code == 0 and "Traceback" not in output, output


@pytest.mark.parametrize("words", ["numpy", "started"])
def test_signals_again_and_again_until_the_end_change_nothing(ros_domain, words):
    """As launch does: SIGINT, then SIGTERM, which may come while the interpreter shuts down."""
    process = started([sys.executable, "-m", "diffsim_ros.nodes.planner"])
    until(process, words)
    process.send_signal(signal.SIGINT)
    end = time.monotonic() + LIMIT
    while process.poll() is None and time.monotonic() < end:
        process.send_signal(signal.SIGTERM)
        time.sleep(0.002)
    code, output = ended(process)
    assert code == 0 and "Traceback" not in output, output


SLOW = """
import sys, time
from diffsim_ros.nodes import common
def make():
    print("making", file=sys.stderr, flush=True)
    time.sleep(600.0)
raise SystemExit(common.run_node(make))
"""


def test_a_signal_ends_a_node_that_is_still_being_made(ros_domain):
    process = started([sys.executable, "-c", SLOW])
    until(process, "making")
    process.send_signal(signal.SIGINT)
    assert ended(process)[0] == 0


def test_a_closed_terminal_ends_a_node_and_nohup_keeps_it(ros_domain):
    process = started([sys.executable, "-m", "diffsim_ros.nodes.planner"])
    until(process, "started")
    process.send_signal(signal.SIGHUP)
    assert ended(process)[0] == 0
    process = started(["nohup", sys.executable, "-m", "diffsim_ros.nodes.planner"])
    until(process, "started")
    process.send_signal(signal.SIGHUP)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0.5)
    process.send_signal(signal.SIGINT)
    assert ended(process)[0] == 0


def test_an_interrupted_command_has_no_traceback(installed):
    process = started(installed("diffsim_ros.nodes.experiment"))
    until(process, "numpy")
    process.send_signal(signal.SIGINT)
    code, output = ended(process)
    assert code in (-signal.SIGINT, 130) and "Traceback" not in output, output


def test_a_fleet_may_be_ended_before_its_nodes_have_begun(ros_domain, tmp_path):
    with NodeProcesses(tmp_path) as processes:
        processes.start("planner")
        processes.start("planner", namespace="robot1")
        assert processes.end() == {"planner": 0, "robot1.planner": 0}
    assert not any("Traceback" in log.read_text() for log in tmp_path.glob("*.log"))


def test_every_installed_node_is_started_quietly():
    cmake = (ROOT / "CMakeLists.txt").read_text()
    installed = re.search(r"foreach\(_node IN ITEMS ([\w\s]+)\)", cmake).group(1).split()
    assert sorted(starting.NODES) == sorted(installed)
    for name in installed:
        assert name in NODES and (ROOT / "config" / "nodes" / f"{name}.yaml").is_file()


def test_a_node_is_started_by_its_name():
    command = [sys.executable, "-m", "diffsim_ros.cli", "node", "planner"]
    process = started(command)
    until(process, "started")
    process.send_signal(signal.SIGTERM)
    assert ended(process)[0] == 0
    done = subprocess.run([*command, "--help"], capture_output=True, text=True, timeout=LIMIT)
    assert done.returncode == 0 and done.stdout.startswith("usage: planner --ros-args")


# --- arguments ------------------------------------------------------------------------------------


def run(name, *arguments):
    command = [sys.executable, "-m", f"diffsim_ros.nodes.{name}", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=LIMIT)


@pytest.mark.parametrize("name", starting.NODES)
def test_help_says_what_a_node_is_and_all_its_parameters(name, capsys):
    module = import_module(f"diffsim_ros.nodes.{name}")
    for words in (["--help"], ["-h"], ["--ros-args", "-r", "__ns:=/lab", "--help"]):
        assert module.main(words) == 0
        assert not sys.modules["rclpy"].ok()
        output = capsys.readouterr().out
    kind = getattr(module, "".join(word.capitalize() for word in name.split("_")))
    assert output.startswith(f"usage: {name} --ros-args")
    assert module.__doc__.split("\n")[0] in output
    for spec in kind.PARAMETERS:
        (line,) = (x for x in output.split("\n") if x.startswith(f"  {spec.name} "))
        assert spec.description.split()[0] in output.split(line)[1] + line
    assert all(len(line) <= 100 for line in output.split("\n"))


def test_help_gives_types_defaults_ranges_and_choices():
    output = run("observer", "--help")
    assert output.returncode == 0 and not output.stderr
    squeezed = " ".join(output.stdout.split())
    for words in (
        "pose_topics string[] ['cube/pose']", "trial_gap double 0.5, 0.001 to 3600",
        "up_axis string 'z', one of 'z', 'y'", "autostart bool true", "trial_ids integer[] []",
        "~/saved",
    ):  # fmt: skip
        assert words in squeezed, words


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--rate", "3"], "--rate 3"),
        (["tosses.npz"], "tosses.npz"),
        (["--ros-args", "--speed"], "--speed"),
        (["--ros-args", "-p", "speed"], "speed"),
        (["--ros-args", "--params-file", "/no/such.yaml"], "/no/such.yaml"),
    ],
)
def test_arguments_that_mean_nothing_are_refused(arguments, words):
    done = run("planner", *arguments)
    assert done.returncode == 2 and "Traceback" not in done.stderr
    assert words in done.stderr and "--help" in done.stderr
