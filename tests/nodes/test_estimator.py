"""Both interfaces of the estimator, and every answer that it can give."""

import json
import signal
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import yaml

pytest.importorskip("rclpy")

from action_msgs.msg import GoalStatus
from diffsim_interfaces.action import Estimate
from diffsim_interfaces.msg import MaterialEstimate
from diffsim_interfaces.srv import EstimateMaterial
from std_msgs.msg import String

from diffsim_ros.errors import InputError, NotConverged
from diffsim_ros.nodes import convert, estimator
from diffsim_ros.nodes.common import LATCHED
from diffsim_ros.real2sim.config import load_estimation
from diffsim_ros.real2sim.estimate import estimate
from diffsim_ros.real2sim.progress import Progress
from diffsim_ros.real2sim.results import EstimationResult, ParameterResult

ROOT = Path(__file__).resolve().parents[2]
CONFIGURATION = str(ROOT / "config" / "estimation" / "cube_toss.yaml")
SMALL = (
    "data.train.trials=[1, 3]",
    "data.validate.trials=[4, 6]",
    "fit.starts=1",
    "fit.iterations=3",
    "fit.search_evaluations=0",
)


class Client:
    """An action client and the estimator that it talks to."""

    def __init__(self, ros):
        self.ros = ros
        self.node = ros.start(estimator.Estimator())
        self.action = ros.action(Estimate, "/estimator/estimate")
        self.feedback = []

    def send(self, goal):
        """Send a goal; returns its handle."""
        return self.ros.accepted(self.action, goal, self.feedback)

    def result(self, handle, limit=60.0):
        """Wait for a goal's end: (status, answer)."""
        status, result = self.ros.outcome(handle, limit)
        return status, convert.answer(result)

    def run(self, goal):
        return self.result(self.send(goal))

    def service(self, goal, limit=60.0):
        return self.ros.estimate(goal, limit)


@pytest.fixture
def client(ros, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return Client(ros)


class Stub:
    """Stands in for estimate(): reports once, then waits until it may end or is cancelled."""

    def __init__(self, monkeypatch):
        self.started, self.may_end = threading.Event(), threading.Event()
        self.error = None
        monkeypatch.setattr(estimator, "estimate", self)

    def __call__(self, config, *, out, progress, cancel):
        progress(Progress("fit", 3, 0.5, 0.25, 7.0, {"friction": 0.2}))
        self.started.set()
        while not (self.may_end.wait(0.01) or cancel.cancelled):
            pass
        if self.error:
            raise self.error
        return result("cancelled" if cancel.cancelled else "converged")


def result(status):
    parameter = ParameterResult("friction", "1", 0.2, 0.01, 0.05, 0.6, True, False)
    held = ParameterResult("mass", "kg", 0.37, None, None, None, True, False, "held", True)
    return EstimationResult(
        "x", status, "a sentence", (held, parameter), ("friction",), np.eye(1),
        {"validate": {"position_error_m": 0.2}}, (), (), {}, (), {}, {},
    )  # fmt: skip


@pytest.fixture
def stub(monkeypatch):
    return Stub(monkeypatch)


# --- with the stub: the protocol


def test_feedback_and_result(client, stub):
    latched = client.ros.listen(MaterialEstimate, "/estimator/result", LATCHED)
    handle = client.send(Estimate.Goal(configuration=CONFIGURATION))
    client.ros.until(lambda: client.feedback, "feedback")
    (first, *_) = client.feedback
    assert (first.phase, first.iteration, first.objective) == ("fit", 3, 0.5)
    assert (first.fraction_done, first.seconds_left) == (0.25, 7.0)
    assert [(p.name, p.value) for p in first.parameters] == [("friction", 0.2)]
    stub.may_end.set()
    status, answer = client.result(handle)
    assert (status, answer.code) == (GoalStatus.STATUS_SUCCEEDED, "SUCCESS")
    assert [(p.name, p.value, p.std_dev) for p in answer.parameters] == [("friction", 0.2, 0.01)]
    assert answer.metrics == {"validate.position_error_m": 0.2}
    assert answer.correlation.shape == (1, 1)
    last = client.ros.until(lambda: latched, "the latched result")[-1]
    assert last.configuration == CONFIGURATION and convert.answer(last).code == "SUCCESS"
    late = client.ros.listen(MaterialEstimate, "/estimator/result", LATCHED)
    client.ros.until(lambda: late, "the latched result for a late subscriber")


def test_a_second_request_is_told_busy_at_once(client, stub):
    first = client.send(Estimate.Goal(configuration=CONFIGURATION))
    client.ros.until(stub.started.is_set, "the first job")
    answer = client.service(Estimate.Goal(configuration=CONFIGURATION), limit=5.0)
    assert answer.code == "BUSY" and "goal " in answer.message and not answer.parameters
    status, answer = client.run(Estimate.Goal(configuration=CONFIGURATION))
    assert (status, answer.code) == (GoalStatus.STATUS_ABORTED, "BUSY")
    stub.may_end.set()
    assert client.result(first)[1].code == "SUCCESS"
    assert client.run(Estimate.Goal(configuration=CONFIGURATION))[1].code == "SUCCESS"


def test_the_node_answers_while_it_works(client, stub):
    from rcl_interfaces.srv import GetParameters

    client.send(Estimate.Goal(configuration=CONFIGURATION))
    client.ros.until(stub.started.is_set, "the job")
    request = GetParameters.Request(names=["observer"])
    response = client.ros.call(GetParameters, "/estimator/get_parameters", request, limit=5.0)
    assert response.values[0].string_value == "observer"


def test_a_defect_is_told_by_action_and_service(client, monkeypatch):
    def fails(*_):
        raise ZeroDivisionError("a defect")

    monkeypatch.setattr(estimator, "solve", fails)
    status, answer = client.run(Estimate.Goal(configuration=CONFIGURATION))
    assert (status, answer.code) == (GoalStatus.STATUS_ABORTED, "INTERNAL")
    assert answer.message == "ZeroDivisionError: a defect"
    assert client.service(Estimate.Goal(configuration=CONFIGURATION)).message == answer.message


def test_a_goal_can_be_cancelled(client, stub):
    handle = client.send(Estimate.Goal(configuration=CONFIGURATION))
    client.ros.until(stub.started.is_set, "the job")
    future = client.ros.asked(handle.cancel_goal_async)
    response = client.ros.until(lambda: future.done() and future.result(), "the cancellation")
    assert len(response.goals_canceling) == 1
    status, answer = client.result(handle)
    assert (status, answer.code) == (GoalStatus.STATUS_CANCELED, "CANCELED")
    assert answer.message == "a sentence" and answer.parameters[0].name == "friction"
    stub.may_end.set()
    assert client.run(Estimate.Goal(configuration=CONFIGURATION))[1].code == "SUCCESS"


@pytest.mark.parametrize(
    "error, code, words",
    [
        (InputError("a.npz", "state", 1, "numbers"), "INVALID_DATA", "a.npz: state: got 1"),
        (NotConverged("no toss can be simulated"), "NOT_CONVERGED", "no toss can be simulated"),
        (OSError(28, "No space left on device"), "INTERNAL", "No space left on device"),
        (ZeroDivisionError("defect"), "INTERNAL", "ZeroDivisionError: defect"),
    ],
)
def test_every_failure_has_its_code(client, stub, error, code, words, capsys):
    stub.error = error
    stub.may_end.set()
    status, answer = client.run(Estimate.Goal(configuration=CONFIGURATION))
    assert (status, answer.code) == (GoalStatus.STATUS_ABORTED, code)
    assert words in answer.message and answer.report == ""
    assert client.service(Estimate.Goal(configuration=CONFIGURATION)).code == code


@pytest.mark.parametrize(
    "goal, words",
    [
        (Estimate.Goal(), "configuration: got ''"),
        (Estimate.Goal(configuration="/no/such.yaml"), "/no/such.yaml"),
        (Estimate.Goal(configuration="parameterz: {}\nname: x"), "parameterz"),
        (Estimate.Goal(configuration=CONFIGURATION, set=("fit.iteration=3",)), "iterations"),
        (Estimate.Goal(configuration=CONFIGURATION, parameters=("frictoin",)), "friction"),
        (Estimate.Goal(configuration=CONFIGURATION, source="radio"), "source: got 'radio'"),
        (
            Estimate.Goal(configuration=CONFIGURATION, source="buffer"),
            "call ~/save of the observer first",
        ),
    ],
    ids=["empty", "missing file", "unknown key", "unknown set", "name", "source", "buffer"],
)
def test_a_bad_configuration_is_explained(client, stub, goal, words):
    answer = client.service(goal)
    assert answer.code == "INVALID_CONFIGURATION" and words in answer.message
    assert not stub.started.is_set()
    assert not list(Path.cwd().iterdir())


def test_results_are_never_overwritten(client, stub, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "result.yaml").write_text("mine")
    answer = client.service(Estimate.Goal(configuration=CONFIGURATION, out=str(tmp_path / "out")))
    assert answer.code == "INVALID_CONFIGURATION" and "result.yaml" in answer.message
    assert not stub.started.is_set()


def test_the_buffer_is_the_observers_saved_file(client, monkeypatch, tosses):
    observed = []

    def record(config, **_):
        observed.append(config.train.files)
        return result("converged")

    monkeypatch.setattr(estimator, "estimate", record)
    publisher = client.ros.node.create_publisher(String, "/observer/saved", LATCHED)
    publisher.publish(String(data=str(tosses)))
    goal = Estimate.Goal(configuration=CONFIGURATION, source="buffer")
    client.ros.until(lambda: client.service(goal).code == "SUCCESS", "the saved file")
    assert observed == [(tosses,)]
    goal.train = [str(tosses)]
    both = client.service(goal)
    assert both.code == "INVALID_CONFIGURATION" and "train" in both.message


def test_closing_stops_the_job_and_answers(ros, client, stub):
    handle = client.send(Estimate.Goal(configuration=CONFIGURATION))
    client.ros.until(stub.started.is_set, "the job")
    future = ros.asked(handle.get_result_async)
    client.node.close()
    done = ros.until(lambda: future.done() and future.result(), "the result")
    assert done.status == GoalStatus.STATUS_ABORTED
    assert convert.answer(done.result).code == "CANCELED"


# --- with the engine: the very same digits


def figures(answer):
    """All numbers of an answer but the times that it took."""
    numbers = {
        p.name: [p.value, p.std_dev, p.lower, p.upper, p.identifiable, p.at_bound, p.note]
        for p in answer.parameters
    }
    metrics = {k: v for k, v in answer.metrics.items() if not k.startswith("timing")}
    return repr((numbers, np.asarray(answer.correlation).tolist(), metrics))


@pytest.fixture(scope="session")
def direct(tmp_path_factory):
    """The library's result, called directly."""
    out = tmp_path_factory.mktemp("direct")
    config = load_estimation(CONFIGURATION, set=SMALL)
    found = estimate(config, out=out, report=False)
    answer = estimator._answer(found, out / "report.html")
    code = estimator.STATUS_CODES[found.status]
    message = convert.answer_message(answer, EstimateMaterial.Response())
    return code, figures(convert.answer(message)), out


def command(out):
    """What `diffsim estimate` prints, run as a user does: its exit code, its table."""
    changes = [word for change in SMALL for word in ("--set", change)]
    line = [sys.executable, "-m", "diffsim_ros.cli", "estimate", CONFIGURATION, *changes]
    done = subprocess.run([*line, "--out", str(out)], capture_output=True, text=True, timeout=120)
    assert done.returncode in (0, 3), done.stderr
    return done.returncode, done.stdout


def test_all_four_ways_agree_to_the_last_digit(client, direct, tmp_path):
    code, expected, folder = direct
    goal = partial(Estimate.Goal, configuration=CONFIGURATION, set=SMALL)
    exit_code, shown = command(tmp_path / "command")
    _, by_action = client.run(goal(out=str(tmp_path / "action")))
    by_service = client.service(goal(out=str(tmp_path / "service")))
    assert by_action.code == by_service.code == code, by_action.message
    assert (exit_code == 0) == (code == "SUCCESS")
    assert figures(by_action) == expected
    assert figures(by_service) == expected
    verdict = yaml.safe_load((folder / "result.yaml").read_text())["verdict"]
    assert by_action.verdict == by_service.verdict
    assert by_action.verdict.startswith(f"{verdict['grade']}: {verdict['reason']}")
    assert f"verdict: {by_action.verdict}" in shown
    want = json.loads((folder / "metrics.json").read_text())
    for name in ("action", "service", "command"):
        got = json.loads((tmp_path / name / "metrics.json").read_text())
        want["timing"] = got["timing"] = None
        assert got == want, name
        text = (tmp_path / name / "result.yaml").read_text()
        assert text == (folder / "result.yaml").read_text(), name
    free = [p for p in by_action.parameters if p.std_dev is not None]
    assert len(free) > 3
    for p in free:
        assert any(row.split()[:2] == [p.name, f"{p.value:.6g}"] for row in shown.splitlines())
    assert by_action.report == str(tmp_path / "action" / "report.html")


def spoiled(arrays, defect):
    """Arrays of one toss with a defect, and the words that must name it."""
    state = arrays["state"]
    if defect == "NaN":
        state[7, 1] = np.nan
        return "toss 1: sample 7, py"
    if defect == "backward stamp":
        arrays["t"] = np.arange(len(state)) * float(arrays["dt"])
        arrays["t"][9] = arrays["t"][2]
        return "toss 1: sample 9, t"
    if defect == "Y-up":
        state[:, [1, 2]] = state[:, [2, 1]] * [1.0, -1.0]
        return "Y-up"
    if defect == "millimetres":
        state[:, :3] *= 1000.0
        return "in millimetres"
    if defect == "missing array":
        del arrays["dt"]
        return "dt: got"
    raise AssertionError(defect)


@pytest.mark.parametrize(
    "defect", ["NaN", "backward stamp", "Y-up", "millimetres", "missing array", "no zip"]
)
def test_unusable_recordings_are_named(client, tosses, tmp_path, defect):
    file = tmp_path / "bad.npz"
    if defect == "no zip":
        file.write_bytes(b"not an archive")
        words = "bad.npz"
    else:
        with np.load(tosses) as data:
            rows = int(data["length"][0])
            arrays = {"toss_id": data["toss_id"][:1], "start": data["start"][:1]}
            arrays |= {
                "length": data["length"][:1],
                "dt": data["dt"],
                "state": data["state"][:rows],
            }
        words = spoiled(arrays, defect)
        np.savez(file, **arrays)
    out = tmp_path / "out"
    files = [str(file)]
    goal = Estimate.Goal(configuration=CONFIGURATION, train=files, set=SMALL[1:], out=str(out))
    answer = client.service(goal)
    assert answer.code == "INVALID_DATA" and "bad.npz" in answer.message, answer.message
    assert words in answer.message
    assert not out.exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_mid_estimation_leaves_nothing_half_written(ros, processes, tmp_path, number):
    process = processes.start("estimator")
    action = ros.action(Estimate, "/estimator/estimate")
    feedback = []
    changes = (*SMALL[:4], "fit.search_evaluations=1000000")
    goal = Estimate.Goal(configuration=CONFIGURATION, set=changes, out=str(tmp_path / "out"))
    ros.asked(action.send_goal_async, goal, feedback.append)
    ros.until(
        lambda: any(f.feedback.phase in ("fit", "search") for f in feedback),
        process.log.read_text,
        30.0,
    )
    assert processes.end(process, number) == 0
    assert "Traceback" not in process.log.read_text()
    left = (
        sorted(p.name for p in (tmp_path / "out").rglob("*")) if (tmp_path / "out").exists() else []
    )
    assert not [name for name in left if name.startswith(".")]
    assert not left or {"result.yaml", "metrics.json"} <= set(left)
