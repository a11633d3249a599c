"""Options that commands share: --set, --force, --json, --no-report; completion; node."""

import io
import json
import os
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml

from diffsim_ros.cli import COMMANDS, main
from diffsim_ros.commands.node import NODES
from diffsim_ros.commands.running import ProgressLine
from diffsim_ros.errors import InputError
from diffsim_ros.yaml_file import assigned, read_mapping

ROOT = Path(__file__).resolve().parent.parent
SCENES = ROOT / "config" / "scenes"
PENDULUM = str(SCENES / "pendulum.yaml")
SHORT = ["--set", "world.duration=0.1", "--no-report"]
engine = pytest.mark.skipif(
    not list((ROOT / "diffsim_ros").glob("_engine*")), reason="the engine is not built"
)


def content(out):
    return yaml.safe_load((out / "result.yaml").read_text())


# --- --set ----------------------------------------------------------------------------------------

SCENE = {"world": {"step": 0.1}, "links": [{"name": "a", "k": 1}, {"name": "b", "keys": [1, 2]}]}


@pytest.mark.parametrize(
    ("assignment", "place"),
    [
        ("world.step=0.5", ("world", "step")),
        ("links.b.k=0.5", ("links", 1, "k")),
        ("links.0.k=0.5", ("links", 0, "k")),
        ("links.b.keys.1=0.5", ("links", 1, "keys", 1)),
        ('parameters."links.a.k".start=0.5', ("parameters", "links.a.k", "start")),
    ],
)
def test_a_value_is_set_in_a_copy(assignment, place):
    changed = found = assigned(SCENE, [assignment], "scene", ".")
    for key in place:
        found = found[key]
    assert found == 0.5
    assert SCENE["world"] == {"step": 0.1} and "parameters" not in SCENE and changed is not SCENE


@pytest.mark.parametrize(
    ("assignment", "message"),
    [
        ("world.step", "accepted: KEY=VALUE"),
        ("world.step.x=1", "accepted: a key inside a mapping; 'step' holds a value"),
        ("links.c.k=1", "the name of an entry of the list, or its number from 0; known: a, b"),
        ("links.2.k=1", "the name of an entry of the list, or its number from 0"),
        ("world.step=[1", "valid YAML"),
    ],
)
def test_what_cannot_be_set_is_one_line(assignment, message):
    with pytest.raises(InputError) as error:
        assigned(SCENE, [assignment], "scene", ".")
    assert message in str(error.value) and "--set" in str(error.value)


def test_a_key_of_the_scene_that_a_plan_names(tmp_path):
    (tmp_path / "s.yaml").write_text("world: {step: 0.1}\n")
    (tmp_path / "p.yaml").write_text("scene: s.yaml\n")
    found, _ = read_mapping(tmp_path / "p.yaml", None, ["scene.world.step=0.2"])
    assert found == {"scene": {"world": {"step": 0.2}}}


@engine
def test_set_changes_the_scene_of_every_command_that_reads_one(tmp_path, capsys):
    for name, more in (("simulate", SHORT), ("modes", ["--at", "start", "--no-report"])):
        run = [name, PENDULUM, *more, "--set", "materials.wood.density=500"]
        assert main([*run, "--out", str(tmp_path / name)]) == 0
        scene = yaml.safe_load((tmp_path / name / "scene.yaml").read_text())
        assert scene["materials"]["wood"]["density"] == 500
    capsys.readouterr()
    for name in ("simulate", "statics", "modes", "export", "check-gradient"):
        assert main([name, PENDULUM, "--set", "world.stepp=1", "--out", str(tmp_path / "x")]) == 2
        assert "world.stepp" in capsys.readouterr().err
        assert main([name, PENDULUM, "--set", "world.step", "--out", str(tmp_path / "x")]) == 2
        assert "--set: got 'world.step'; accepted: KEY=VALUE" in capsys.readouterr().err
    plan = str(ROOT / "config" / "planning" / "ur5_throw.yaml")
    for name in ("plan", "twin"):
        assert main([name, plan, "--set", "search.start=3", "--out", str(tmp_path / "x")]) == 2
        assert "did you mean 'starts'?" in capsys.readouterr().err
    assert not (tmp_path / "x").exists()


# --- --force, --no-report -------------------------------------------------------------------------


@engine
def test_force_replaces_results_of_the_same_command_alone(tmp_path, capsys):
    out = tmp_path / "out"
    run = ["simulate", PENDULUM, *SHORT, "--out", str(out)]
    assert main(run) == 0
    (out / "notes.txt").write_text("mine")
    (out / "report.html").write_text("of an earlier run")
    assert main(run) == 2
    assert "--force" in capsys.readouterr().err
    assert main([*run, "--force", "--set", "world.duration=0.2"]) == 0
    assert content(out)["final"]["time"] == pytest.approx(0.2)
    assert (out / "notes.txt").read_text() == "mine"
    assert not (out / "report.html").exists()  # it was not of this run
    before = {p.name: p.read_bytes() for p in out.iterdir()}
    assert main(["modes", PENDULUM, "--at", "start", "--force", "--out", str(out)]) == 2
    assert "a folder with the results of `diffsim modes`" in capsys.readouterr().err
    assert main([*run, "--force", "--set", "world.step=-1"]) == 2
    assert {p.name: p.read_bytes() for p in out.iterdir()} == before


def test_force_replaces_neither_links_nor_folders(tmp_path):
    from diffsim_ros.output import OutputFolder, write_text

    (tmp_path / "elsewhere").write_text("theirs")
    (tmp_path / "x.txt").symlink_to("elsewhere")
    with pytest.raises(InputError, match="links and folders are not"):
        OutputFolder(tmp_path, ["x.txt"], force=True)
    (tmp_path / "x.txt").unlink()
    (tmp_path / "x.txt").write_text("old")
    folder = OutputFolder(tmp_path, ["x.txt", "y.txt"], force=True)
    with pytest.raises(ZeroDivisionError), folder.staging() as stage:
        write_text(stage / "x.txt", "new")
        raise ZeroDivisionError
    assert (tmp_path / "x.txt").read_text() == "old"
    with folder.staging() as stage:
        write_text(stage / "x.txt", "new")
    with folder.staging() as stage:
        write_text(stage / "y.txt", "second part")
    assert (tmp_path / "x.txt").read_text() == "new" and (tmp_path / "y.txt").exists()


@engine
def test_without_report_the_numbers_are_the_same(tmp_path):
    for name, more, drawn in (
        ("simulate", [], {"report.html", "motion.png", "energy.png", "motion.mcap"}),
        ("modes", ["--at", "start"], {"report.html", "modes.png"}),
    ):
        for out, option in (("drawn", []), ("bare", ["--no-report"])):
            run = [name, PENDULUM, *more, *option, "--set", "world.duration=0.1"]
            assert main([*run, "--out", str(tmp_path / out)]) == 0
        files = [{p.name for p in (tmp_path / out).iterdir()} for out in ("drawn", "bare")]
        assert files[0] - files[1] == drawn and files[1] < files[0]
        if name == "simulate":
            with np.load(tmp_path / "bare" / "motion.npz") as motion:
                assert set(motion) == {"t"} | {f"rod.{key}" for key in (
                    "position", "velocity", "orientation", "angular_velocity")}  # fmt: skip
                assert motion["rod.position"].shape == (len(motion["t"]), 3)
                final = content(tmp_path / "bare")["final"]["bodies"]["rod"]
                assert motion["rod.position"][-1].tolist() == final["position"]
        assert content(tmp_path / "drawn") == content(tmp_path / "bare")
        for out in ("drawn", "bare"):
            for path in (tmp_path / out).iterdir():
                path.unlink()


# --- --json ---------------------------------------------------------------------------------------


@engine
def test_json_is_one_object_and_nothing_else(tmp_path, capsys):
    out = tmp_path / "out"
    assert main(["simulate", PENDULUM, *SHORT, "--json", "--out", str(out)]) == 0
    shown = capsys.readouterr()
    found = json.loads(shown.out)
    assert shown.out.count("\n") == 1 and "results in" in shown.err
    metrics = json.loads((out / "metrics.json").read_text())
    assert found == {"command": "simulate", "status": "converged", "exit_code": 0,
                     "results": str(out), "figures": metrics}  # fmt: skip
    hard = ["--set", "world.max_iterations=1", "world.tolerance=1e-14", "world.max_halvings=0"]
    run = ["simulate", PENDULUM, *SHORT, *hard, "--json", "--out", str(tmp_path / "hard")]
    assert main(run) == 3
    found = json.loads(capsys.readouterr().out)
    assert (found["status"], found["exit_code"]) == ("max_iterations", 3)


@pytest.mark.parametrize(
    ("arguments", "command", "words"),
    [
        (["simulate", "none.yaml", "--json"], "simulate", "none.yaml"),
        (["simulate", "--json"], "simulate", "required: SCENE.yaml"),
        (["simulat", "--json"], "simulat", "did you mean 'simulate'?"),
    ],
)
def test_json_of_what_cannot_be_done(arguments, command, words, capsys):
    assert main(arguments) == 2
    shown = capsys.readouterr()
    found = json.loads(shown.out)
    assert (found["command"], found["status"], found["exit_code"]) == (command, "unusable", 2)
    assert words in found["message"] and found["message"] in shown.err


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("x/_engine.so: CPU ISA level is lower than required", "a CPU with AVX2 and FMA"),
        ("cannot import name '_engine'", "the engine cannot be loaded"),
    ],
)
def test_an_engine_that_cannot_be_loaded_is_one_line(reason, words, monkeypatch, capsys):
    from diffsim_ros.commands import simulate

    def fail(options):
        raise ImportError(reason)

    monkeypatch.setattr(simulate, "run", fail)
    assert main(["simulate", PENDULUM]) == 2
    error = capsys.readouterr().err
    assert words in error and "docs/how-to/install.md" in error and error.count("\n") == 1


# --- completion, node -----------------------------------------------------------------------------


def completed(line):
    """What `diffsim` answers to a shell in which the line is typed."""
    asked = {"_ARGCOMPLETE": "1", "_ARGCOMPLETE_SHELL": "fish", "COMP_LINE": line,
             "COMP_POINT": str(len(line)), "_ARGCOMPLETE_SUPPRESS_SPACE": "1",
             "_ARGCOMPLETE_IFS": "\n", "PYTHONPATH": str(ROOT)}  # fmt: skip
    code = "import sys; sys.argv = ['diffsim']; from diffsim_ros.cli import main; main()"
    done = subprocess.run(
        ["bash", "-c", f'exec 8>&1 9>/dev/null >/dev/null; exec {sys.executable} -c "{code}"'],
        env={**os.environ, **asked}, capture_output=True, text=True,
    )  # fmt: skip
    return {word.split("\t")[0] for word in done.stdout.split("\n")}


def test_commands_and_their_options_are_completed():
    assert set(COMMANDS) <= completed("diffsim ")
    assert {"--force", "--json", "--ensemble"} <= completed("diffsim simulate --")
    assert completed("diffsim modes x.yaml --at eq") == {"equilibrium"}
    assert {"driver", "observer"} <= completed("diffsim node ")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_the_code_of_a_shell(shell, capsys):
    assert main(["completion", shell]) == 0
    shown = capsys.readouterr().out
    assert "diffsim" in shown and "_ARGCOMPLETE" in shown
    if shell == "bash":
        assert subprocess.run(["bash", "-n"], input=shown, text=True).returncode == 0
    assert main(["completion", "csh"]) == 2


def test_help_of_node_names_all_and_starts_none(capsys, monkeypatch):
    monkeypatch.setattr(os, "execv", lambda *_: pytest.fail("a node was started"))
    assert main(["node", "--help"]) == 0
    shown = capsys.readouterr().out
    assert all(name in shown for name in NODES)
    assert main(["node"]) == 2
    assert main(["node", "drivr"]) == 2
    assert "did you mean 'driver'?" in capsys.readouterr().err


def test_a_node_becomes_the_process_with_all_its_arguments(capsys, monkeypatch):
    from diffsim_ros.commands import node

    started = []
    monkeypatch.setattr(node.os, "execv", lambda *command: started.append(command[1]))
    monkeypatch.setattr(node.signal, "pthread_sigmask", lambda *_: None)
    monkeypatch.setattr(node.importlib.util, "find_spec", lambda name: name)
    main(["node", "driver", "--help", "--ros-args", "-p", "dry_run:=false"])
    assert started[0][1:] == ["-m", "diffsim_ros.nodes.driver", "--help", "--ros-args", "-p",
                              "dry_run:=false"]  # fmt: skip
    monkeypatch.setattr(node.importlib.util, "find_spec", lambda name: None)
    assert main(["node", "driver"]) == 2
    assert "an environment with ROS 2 (rclpy)" in capsys.readouterr().err


def test_ros2_becomes_the_process_and_needs_ros(capsys, monkeypatch):
    from diffsim_ros.commands import ros2

    started = []
    monkeypatch.setattr(ros2.os, "execv", lambda *command: started.append(command[1][1:]))
    monkeypatch.setattr(ros2.importlib.util, "find_spec", lambda name: name)
    main(["ros2", "topic", "echo", "/a", "--once", "--ros-args", "-r", "__ns:=/b"])
    assert started == [["-m", "diffsim_ros.nodes.ros2", "topic", "echo", "/a", "--once",
                        "--ros-args", "-r", "__ns:=/b"]]  # fmt: skip
    monkeypatch.setattr(ros2.importlib.util, "find_spec", lambda name: None)
    assert main(["ros2", "topic", "list"]) == 2
    assert "no rclpy" in capsys.readouterr().err
    assert main(["ros2"]) == 2 and "topic list" in capsys.readouterr().err
    assert main(["ros2", "--help"]) == 0 and "send_goal" in capsys.readouterr().out
    assert len(started) == 1


# --- start, progress -----------------------------------------------------------------------------


HEAVY = {"numpy", "scipy", "matplotlib", "yaml", "jinja2", "rosbags", "rclpy", "argcomplete",
         "diffsim_ros._engine"}  # fmt: skip


@pytest.mark.parametrize(
    ("code", "allowed"),
    [
        ("import diffsim_ros", set()),
        ("from diffsim_ros.cli import main; main(['--help'])", set()),
        ("from diffsim_ros.cli import main; main(['--version'])", {"diffsim_ros._engine", "numpy"}),
        ("from diffsim_ros.cli import main; main(['node', '--help'])", set()),
        ("from diffsim_ros.cli import main; main(['completion', '--help'])", set()),
        *(
            (f"from diffsim_ros.cli import main; main(['{name}', '--help'])", {"numpy", "yaml"})
            for name in ("simulate", "estimate", "plan")
        ),
    ],
)
def test_what_starts_quickly_imports_little(code, allowed):
    code += f"; import sys; sys.stderr.write(' '.join({HEAVY - allowed!r} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0 and done.stderr == ""


@engine
def test_without_a_report_nothing_that_draws_is_imported(tmp_path):
    code = (
        "import sys; from diffsim_ros.cli import main; "
        f"code = main(['simulate', {str(SCENES / 'pendulum.yaml')!r}, '--no-report', '--out', "
        f"{str(tmp_path / 'out')!r}]); "
        "print(code, {'matplotlib', 'jinja2', 'scipy'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.stdout.splitlines()[-1] == "0 set()", done


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_progress_of_steps_has_a_share_and_the_time_left(monkeypatch):
    from diffsim_ros.commands.running import share_done

    monkeypatch.setattr("diffsim_ros.commands.running.time.monotonic", lambda: 110.0)
    terminal = Terminal()
    line = ProgressLine(terminal)
    share_done(line, "simulating", 0, 400, 100.0)
    share_done(line, "simulating", 10, 400, 109.9)  # too soon to tell
    assert terminal.getvalue() == ""
    share_done(line, "simulating", 100, 400, 100.0)
    assert terminal.getvalue() == "\rsimulating: 25 %  30 s left"


@engine
def test_a_rollout_counts_its_steps_for_others_to_see():
    from diffsim_ros.commands.running import run_cancellable
    from diffsim_ros.commands.simulate import roll_out
    from diffsim_ros.scene import load_scene

    model, seen = load_scene(SCENES / "cube_toss.yaml"), []
    run_cancellable(
        lambda token: (roll_out(model, token), seen.append(token.steps)),
        watch=lambda token: seen.append(token.steps),
    )
    assert seen == sorted(seen) and seen[-1] == model.steps


def test_the_page_of_the_command_line_has_every_argument():
    tables = runpy.run_path(str(ROOT / "tools" / "command_line.py"))["tables"]()
    page = (ROOT / "docs" / "reference" / "command_line.md").read_text()
    assert page.endswith(f"## Commands\n\n{tables}\n"), "./run python tools/command_line.py"
