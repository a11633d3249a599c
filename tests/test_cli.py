"""The command line: exit codes, results, what is never overwritten, Ctrl-C."""

import argparse
import errno
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import yaml

from diffsim_ros import __version__
from diffsim_ros.cli import COMMANDS, main
from diffsim_ros.commands import bench
from diffsim_ros.commands.running import ProgressLine, seconds
from diffsim_ros.real2sim.results import Verdict

ROOT = Path(__file__).resolve().parent.parent
SCENES = ROOT / "config" / "scenes"
engine = pytest.mark.skipif(
    not list((ROOT / "diffsim_ros").glob("_engine*")), reason="the engine is not built"
)


def short_scene(folder, **world):
    """A copy of the cube scene, 0.25 s long, with changes in `world`."""
    scene = yaml.safe_load((SCENES / "cube_toss.yaml").read_text())
    scene["world"] |= {"duration": 0.25} | world
    path = folder / "scene.yaml"
    path.write_text(yaml.safe_dump(scene, sort_keys=False))
    return path


def test_help_version_and_no_command(capsys):
    assert main(["--version"]) == 0
    shown = capsys.readouterr().out
    assert __version__ in shown and "engine for " in shown and "OpenBLAS kernel " in shown
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    assert all(name in shown for name in COMMANDS)
    assert main([]) == 2
    for name in set(COMMANDS) - {"node", "ros2", "completion"}:
        assert main([name, "--help"]) == 0
        shown = capsys.readouterr().out
        wanted = {"view": ("--port",), "export-video": ("--out FILE",)}
        assert all(
            option in shown for option in wanted.get(name, ("--out DIR", "--force", "--json"))
        )


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["simulat", "x.yaml"], "did you mean 'simulate'?"),
        (["simulate"], "required: SCENE.yaml"),
        (["simulate", "none.yaml"], "none.yaml: got 'no such file'"),
        (["simulate", "x.yaml", "--outt", "y"], "unrecognized arguments: --outt"),
        (["check-gradient", "none.yaml"], "none.yaml: got 'no such file'"),
        (["estimate", "none.yaml"], "none.yaml: got 'no such file'"),
    ],
)
def test_unusable_arguments_are_one_line_and_exit_2(arguments, hint, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    output = capsys.readouterr()
    assert output.out == "" and output.err.count("\n") == 1
    assert hint in output.err
    assert not list(tmp_path.iterdir())  # no folder is made for nothing


@engine
def test_simulate_estimates_errors_and_chooses_the_step(tmp_path, capsys):
    raw = yaml.safe_load((SCENES / "motor_pendulum.yaml").read_text())
    raw["world"] |= {"duration": 0.4, "step": 0.02, "record_every": 1}
    (tmp_path / "scene.yaml").write_text(yaml.safe_dump(raw))
    out = tmp_path / "out"
    run = ["simulate", str(tmp_path / "scene.yaml"), "--out", str(out), "--error"]
    assert main([*run, "--tolerance", "2 mm"]) == 0
    shown = capsys.readouterr().out
    step = yaml.safe_load((out / "scene.yaml").read_text())["world"]["step"]
    assert step < 0.02 and f"step: {step:.6g} s, positions within 0.002 m" in shown
    errors = yaml.safe_load((out / "result.yaml").read_text())["errors"]
    assert errors["step"] == step
    assert max(e["error"] for e in errors["poses"].values() if e["unit"] == "m") <= 2e-3
    for wrong in ("0", "1 kg", "nan", "-1mm"):
        assert main(["simulate", str(tmp_path / "scene.yaml"), "--tolerance=" + wrong]) == 2
        assert "a length > 0 in m, cm, mm or um" in capsys.readouterr().err


@engine
def test_simulate_writes_everything_once(tmp_path, capsys):
    from diffsim_ros.scene import load_scene

    scene, out = short_scene(tmp_path), tmp_path / "a" / "b"
    assert main(["simulate", str(scene), "--out", str(out)]) == 0
    names = {p.name for p in out.iterdir()}
    assert names == {"result.yaml", "metrics.json", "scene.yaml", "report.html", "motion.png",
                     "energy.png", "motion.mcap", "motion.npz", "outputs.csv"}  # fmt: skip
    metrics = json.loads((out / "metrics.json").read_text())
    result = yaml.safe_load((out / "result.yaml").read_text())
    assert metrics["converged"] == 1 and metrics["steps"] == 296
    assert sum(metrics["contact_modes"].values()) == 296 * 8
    assert result["status"] == "converged"
    assert result["parameters"]["ground.k_n"] == {"value": 2500, "unit": "N/m"}
    assert load_scene(out / "scene.yaml").engine.values.tobytes() == (
        load_scene(scene).engine.values.tobytes()
    )
    page = (out / "report.html").read_text()
    assert "normal force [N]" in page
    assert not re.search(r"(src|href)=.(?!data:|#)", page)  # opens offline
    assert page.count("data:image/png") == 3
    assert "results in" in capsys.readouterr().out

    before = {p.name: p.read_bytes() for p in out.iterdir()}
    assert main(["simulate", str(scene), "--out", str(out)]) == 2
    error = capsys.readouterr().err
    assert str(out / "result.yaml") in error and "never overwritten" in error
    assert {p.name: p.read_bytes() for p in out.iterdir()} == before


@engine
def test_the_same_simulation_is_the_same_result_and_the_bag_holds_its_motion(tmp_path):
    from diffsim_ros.sensing.read import read_kind

    scene = short_scene(tmp_path, duration=0.1)
    for name in "ab":
        assert main(["simulate", str(scene), "--out", str(tmp_path / name)]) == 0
    for name in ("result.yaml", "scene.yaml", "motion.png", "report.html", "motion.mcap"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes(), name
    out = tmp_path / "a"
    track = read_kind(out / "motion.mcap", "poses")
    final = yaml.safe_load((out / "result.yaml").read_text())["final"]
    assert track.sensor == "/cube/simulated"
    assert track.position[-1, 0] == pytest.approx(final["bodies"]["cube"]["position"])
    assert np.linalg.norm(track.orientation, axis=1) == pytest.approx(1)


@engine
def test_what_does_not_converge_is_written_marked_and_exits_3(tmp_path, capsys):
    scene = short_scene(tmp_path, max_iterations=1, tolerance=1e-14, max_halvings=0)
    assert main(["simulate", str(scene), "--out", str(tmp_path / "out")]) == 3
    result = yaml.safe_load((tmp_path / "out" / "result.yaml").read_text())
    metrics = json.loads((tmp_path / "out" / "metrics.json").read_text())
    assert result["status"] == "max_iterations" and "step" in result["message"]
    assert metrics["converged"] == 0 and metrics["steps"] < 296
    assert "max_iterations" in (tmp_path / "out" / "report.html").read_text()
    assert "max_iterations" in capsys.readouterr().out


@engine
def test_a_full_disk_leaves_nothing(tmp_path, capsys, monkeypatch):
    from diffsim_ros.commands import simulate

    def full(path, data):
        path.write_text("half")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    monkeypatch.setattr(simulate, "write_json", full)
    scene, out = short_scene(tmp_path, duration=0.02), tmp_path / "out"
    assert main(["simulate", str(scene), "--out", str(out)]) == 2
    error = capsys.readouterr().err
    assert "No space left on device; no result was written" in error and error.count("\n") <= 3
    assert not out.exists()


@engine
def test_ctrl_c_keeps_what_is_there(tmp_path):
    """The first Ctrl-C ends the rollout and writes it, marked."""
    scene, out = short_scene(tmp_path, duration=500, record_every=100), tmp_path / "out"
    process = subprocess.Popen(
        [sys.executable, "-m", "diffsim_ros.cli", "simulate", str(scene), "--out", str(out)],
        stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT,
    )  # fmt: skip
    assert "simulating" in process.stderr.readline()
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 3, error
    assert "the best so far is kept" in error
    names = {p.name for p in out.iterdir()}
    assert names == {"result.yaml", "metrics.json", "scene.yaml", "report.html", "motion.png",
                     "energy.png", "motion.mcap", "motion.npz", "outputs.csv"}  # fmt: skip
    result = yaml.safe_load((out / "result.yaml").read_text())
    assert result["status"] == "cancelled"
    assert 0 < result["steps"]["done"] < result["steps"]["wanted"]


@engine
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_writing_leaves_nothing(tmp_path, capsys, monkeypatch, number):
    from diffsim_ros.commands import simulate

    def interrupted(path, data):
        path.write_text("half")
        os.kill(os.getpid(), number)
        time.sleep(5)

    monkeypatch.setattr(simulate, "write_json", interrupted)
    scene, out = short_scene(tmp_path, duration=0.02), tmp_path / "out"
    before = signal.getsignal(number)
    assert main(["simulate", str(scene), "--out", str(out)]) == 130
    assert "no result was written" in capsys.readouterr().err
    assert not out.exists() and signal.getsignal(number) is before


@engine
def test_work_that_fails_raises_in_the_main_thread_and_signals_are_given_back():
    from diffsim_ros.commands.running import run_cancellable

    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(ZeroDivisionError):
        run_cancellable(lambda token: 1 / 0)
    assert run_cancellable(lambda token: token.cancelled) is False
    assert signal.getsignal(signal.SIGINT) is before


@engine
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_cancels_the_work_and_returns_what_it_has(number):
    from diffsim_ros.commands.running import run_cancellable

    def work(token):
        os.kill(os.getpid(), number)
        deadline = time.monotonic() + 5
        while not token.cancelled and time.monotonic() < deadline:
            time.sleep(0.01)
        return "best so far" if token.cancelled else "never cancelled"

    assert run_cancellable(work) == "best so far"


@engine
def test_a_second_ctrl_c_gives_up(capsys):
    from diffsim_ros.commands.running import run_cancellable

    def stubborn(token):
        os.kill(os.getpid(), signal.SIGINT)
        while not token.cancelled:
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.2)

    with pytest.raises(KeyboardInterrupt):
        run_cancellable(stubborn)


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_progress_shows_iteration_objective_and_time_left():
    progress = SimpleNamespace(
        phase="fit", iteration=3, objective=0.123456789, fraction_done=0.25, seconds_left=75.2
    )
    plain = io.StringIO()
    line = ProgressLine(plain, every=60)
    line(progress)
    line(progress)  # too soon: left out
    line(SimpleNamespace(**{**vars(progress), "phase": "validate", "objective": None}))
    line.close()
    first, second = plain.getvalue().splitlines()
    assert first == "fit  iteration 3  objective 0.123457  25 %  1 min 15 s left"
    assert second == "validate  iteration 3  25 %  1 min 15 s left"
    terminal = Terminal()
    line = ProgressLine(terminal)
    line.show("a long line", "a")
    line.show("short", "b")
    line.close()
    assert terminal.getvalue() == "\ra long line\rshort      \n"
    assert seconds(0.2) == "0 s" and seconds(59.6) == "1 min 00 s"


def test_bench_runs_named_modules_and_writes_their_figures(tmp_path, monkeypatch, capsys):
    for name, value in (("one", 1.5), ("two", 2.5)):
        (tmp_path / f"{name}.py").write_text(
            "from .shared import COUNT\n\n\ndef main(out, **options):\n"
            "    (out / 'x.txt').write_text('x')\n"
            f"    return {{'speed': {{'us': {value}}}, 'n': COUNT}}\n"
        )
    (tmp_path / "shared.py").write_text("COUNT = 3\n")
    files = {p.stem: p for p in tmp_path.glob("*.py")}
    monkeypatch.setattr(bench, "find_benchmarks", lambda: files)
    out = tmp_path / "out"
    assert main(["bench", "two", "one", "--out", str(out)]) == 0
    assert json.loads((out / "metrics.json").read_text()) == {
        "two": {"speed": {"us": 2.5}, "n": 3},
        "one": {"speed": {"us": 1.5}, "n": 3},
    }
    assert (out / "one" / "x.txt").exists()
    assert "two.speed.us = 2.5" in capsys.readouterr().out
    assert main(["bench", "tow", "--out", str(tmp_path / "b")]) == 2
    assert "did you mean 'two'?" in capsys.readouterr().err
    assert not (tmp_path / "b").exists()


@engine
def test_check_gradient_passes_on_a_scene_and_says_so(tmp_path, capsys):
    from diffsim_ros.commands.check_gradient import usual_changes
    from diffsim_ros.scene import load_scene

    scene = short_scene(tmp_path, duration=0.3)
    out = tmp_path / "out"
    arguments = ["check-gradient", str(scene), "--out", str(out), "--directions", "3"]
    assert main(arguments) == 0
    metrics = json.loads((out / "metrics.json").read_text())
    result = yaml.safe_load((out / "result.yaml").read_text())
    assert (metrics["passed"], metrics["directions"], metrics["failed"]) == (1, 3, 0)
    assert metrics["sensitivity_against_adjoint"] < 1e-9
    assert result["parameters"] == ["k_n", "k_t", "c_n", "c_f"]
    shown = capsys.readouterr().out
    assert len(result["directions"]) == 3 and "passed" in shown and "derivative by" in shown
    (settling,) = result["settling"]
    assert [p["name"] for p in settling["parameters"]] == result["parameters"]
    assert metrics["settling_derivatives"] == 4
    assert metrics["settled"] == settling["settled"] == (metrics["settling_unsettled"] == 0)
    assert settling["message"] in shown and settling["step"] == pytest.approx(0.125 / 148)
    assert main(arguments) == 2  # its own results are there now
    assert main([*arguments[:2], "--directions", "0"]) == 2
    usual = usual_changes(load_scene(scene).engine)
    assert "cube.rotation.x" in usual and "ground.k_n" in usual
    assert usual["cube.inertia.xy"] == pytest.approx(0.00081)


@engine
def test_check_gradient_is_strict_about_derivatives_that_are_not_the_motions(
    tmp_path, monkeypatch, capsys
):
    from diffsim_ros.commands import check_gradient
    from diffsim_ros.inverse.gradient_settling import Cause, Settling, SettlingReport

    numbers = (0.127, 0.095, 0.3, 0.4, 0.2, 0.34)
    found = (Settling("speed", *numbers, "does not mean the motion"),)
    cause = Cause("table", "begins", 0.4578)
    rest = (cause, ((1, 0.3), (4, 0.28), (8, 0.29)), False, 0.0, ("table",), 1)
    report = SettlingReport("scene", 1e-3, found, float("nan"), *rest)
    monkeypatch.setattr(check_gradient, "settle", lambda *_: [report, ("other", "no memory")])
    assert not check_gradient.all_settled([("other", "no memory")])
    scene = short_scene(tmp_path, duration=0.1)

    def run(name, *more):
        out = ["--directions", "1", "--out", str(tmp_path / name)]
        return main(["check-gradient", str(scene), *out, *more])

    assert run("a") == 0
    shown = capsys.readouterr().out
    assert "NOT SETTLED" in shown and "table begins at 0.4578 s" in shown
    assert "spread over phases is 30 % at h/1, 28 % at h/4, 29 % at h/8; table" in shown
    assert "does not mean the motion" in shown and "not examined: no memory" in shown
    result = yaml.safe_load((tmp_path / "a" / "result.yaml").read_text())
    one, other = result["settling"]
    assert one["cause"] == {"element": "table", "event": "begins", "time": 0.4578}
    assert one["approaches_limit"] is False and one["growth"] is None
    assert one["parameters"][0]["verdict"] == "does not mean the motion"
    assert other == {"label": "other", "settled": False, "message": "not examined: no memory"}
    metrics = json.loads((tmp_path / "a" / "metrics.json").read_text())
    assert (metrics["settled"], metrics["settling_without_limit"]) == (0, 1)
    assert result["status"] == "converged"
    assert run("b", "--strict") == 3
    assert yaml.safe_load((tmp_path / "b" / "result.yaml").read_text())["status"] == "not_converged"
    capsys.readouterr()
    assert run("c", "--no-settling") == 0
    assert "settl" not in capsys.readouterr().out.lower()
    assert "settled" not in json.loads((tmp_path / "c" / "metrics.json").read_text())
    assert run("d", "--no-settling", "--strict") == 2


@engine
def test_check_gradient_that_fails_exits_3(tmp_path, monkeypatch, capsys):
    from diffsim_ros.inverse import simulation_problem

    exact = simulation_problem.SimulationProblem.evaluate

    def wrong(self, z, y=None, *, want="value", cancel=None):
        found = exact(self, z, y, want=want, cancel=cancel)
        if found.gradient is not None:
            found.gradient[0][:] *= 1.001
        return found

    monkeypatch.setattr(simulation_problem.SimulationProblem, "evaluate", wrong)
    scene, out = short_scene(tmp_path, duration=0.3), tmp_path / "out"
    assert main(["check-gradient", str(scene), "--out", str(out), "--directions", "3"]) == 3
    assert json.loads((out / "metrics.json").read_text())["failed"] == 3
    assert "FAILED" in capsys.readouterr().out
    assert yaml.safe_load((out / "result.yaml").read_text())["status"] == "not_converged"


@engine
@pytest.mark.parametrize(("converged", "code"), [(True, 0), (False, 3)])
def test_estimate_hands_its_arguments_on_and_marks_the_end(
    tmp_path, monkeypatch, capsys, converged, code
):
    from diffsim_ros.real2sim import config, estimate, results

    calls = {}

    def load(path, **options):
        calls["load"] = (path, options)
        return "config"

    def run(given, *, progress, cancel, executor, folder):
        assert executor is folder is None
        calls["estimate"] = (given, cancel.cancelled)
        progress(SimpleNamespace(phase="fit", iteration=1, objective=0.5, fraction_done=0.1,
                                 seconds_left=9.0))  # fmt: skip
        status = "converged" if converged else "cancelled"
        parameter = SimpleNamespace(name="c_f", value=0.2, std_dev=0.01, unit="1", note="")
        return SimpleNamespace(
            verdict=Verdict("usable", "residuals are not noise"),
            parameters=[parameter], metrics={"validate": {"position_error_m": 0.25}},
            notes=["a note"], predictions=(),
            status=status, message="done", converged=converged,
        )  # fmt: skip

    def write(result, folder, report):
        calls["write"] = (result.status, folder.path, report)
        (folder / "result.yaml").write_text("x")

    monkeypatch.setattr(config, "load_estimation", load)
    monkeypatch.setattr(estimate, "estimate", run)
    monkeypatch.setattr(results, "write_results", write)
    out = tmp_path / "out"
    arguments = ["estimate", "e.yaml", "--train", "a", "b", "--validate", "c", "--set", "x=1",
                 "--set", "y=2", "z=3", "--out", str(out)]  # fmt: skip
    assert main(arguments) == code
    options = {"train": ["a", "b"], "validate": ["c"], "set": ["x=1", "y=2", "z=3"]}
    assert calls["load"] == ("e.yaml", options)
    assert calls["estimate"] == ("config", False)
    assert calls["write"] == ("converged" if converged else "cancelled", out, True)
    shown = capsys.readouterr()
    assert "iteration 1  objective 0.5  10 %  9 s left" in shown.err
    assert re.search(r"c_f +0\.2 +0\.01 +1", shown.out)
    assert "position_error_m 0.25" in shown.out and "a note" in shown.out

    calls.clear()
    assert main(arguments) == 2  # result.yaml is there now
    assert "estimate" not in calls


def test_benchmarks_of_the_checkout_are_found_and_shared_modules_left_out(tmp_path, monkeypatch):
    (tmp_path / "diffsim_ros").mkdir()
    (tmp_path / "bench").mkdir()
    (tmp_path / "package.xml").write_text("")
    (tmp_path / "bench" / "chain.py").write_text("def main(out):\n    return {}\n")
    (tmp_path / "bench" / "shared.py").write_text("x = 1\n")
    (tmp_path / "bench" / "__init__.py").write_text("")
    monkeypatch.setattr(bench.diffsim_ros, "__file__", str(tmp_path / "diffsim_ros/__init__.py"))
    assert list(bench.find_benchmarks()) == ["chain"]
    installed = tmp_path / "prefix" / "share" / "diffsim_ros" / "bench"
    installed.mkdir(parents=True)
    (installed / "toss.py").write_text("def main(out):\n    return {}\n")
    package = tmp_path / "prefix" / "lib" / "python3.11" / "site-packages" / "diffsim_ros"
    monkeypatch.setattr(bench.diffsim_ros, "__file__", str(package / "__init__.py"))
    assert list(bench.find_benchmarks()) == ["toss"]


def test_every_command_has_a_module_with_run():
    import importlib

    for name in COMMANDS:
        module = importlib.import_module(f"diffsim_ros.commands.{name.replace('-', '_')}")
        assert callable(module.run) and callable(module.add_arguments)
        assert argparse.Namespace in module.run.__annotations__.values() or module.run.__doc__


@engine
def test_only_contacts_count_as_contact_modes():
    """Not the joint's limit, nor the string that hangs taut."""
    from diffsim_ros._engine import CancelToken
    from diffsim_ros.commands.simulate import modes, roll_out
    from diffsim_ros.scene import load_scene

    scene = {
        "world": {"step": 0.005, "duration": 0.1},
        "bodies": {
            "dot": {"type": "particle", "mass": 1, "contact_spheres": "point",
                    "pose": {"position": [0, 0, -0.01]}},
            "rod": {"shape": {"box": {"size": [0.1, 0.1, 0.5]}}, "mass": 1,
                    "pose": {"position": [1, 0, 1]}},
        },
        "links": [{"name": "hinge", "type": "joint", "kind": "hinge", "body_b": "rod",
                   "position": [1, 0, 1.25], "axis": [0, 1, 0],
                   "limits": {"lower": -1, "upper": 1, "stiffness": 10}}],
        "contact": [{"name": "floor", "points": "dot", "k_n": 1000, "c_n": 0,
                     "against": {"plane": {}}}],
    }  # fmt: skip
    model = load_scene(scene)
    rollout, _ = roll_out(model, CancelToken())
    assert rollout.modes.shape == (20, 2) and model.engine.modes_of("floor")[1] == 1
    counts = modes(model, rollout)
    assert sum(counts.values()) == 20 and counts["stick"] == 20
