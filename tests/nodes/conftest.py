"""Real rclpy for the tests: one domain of their own, nodes spun in threads, waits with a limit."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

os.environ.setdefault("ROS_PYTHON_CHECK_FIELDS", "1")  # read when message modules are imported
os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")

import pytest
from _pytest.runner import runtestprotocol

signal.signal(signal.SIGHUP, signal.SIG_DFL)  # under nohup, processes of the tests would ignore it

ROOT = Path(__file__).resolve().parents[2]
TOSSES = ROOT / "data" / "cube_toss" / "tosses.npz"
LIMIT = 40.0
"""Seconds that a wait may take: starting a process on a busy machine takes 10, discovery 3."""
AGAIN = "passed again"
"""Category of tests that failed once."""


class Stalls(threading.Thread):
    """Watches for how long this process stands still: a busy machine, or Python's lock held."""

    def __init__(self):
        super().__init__(daemon=True)
        self.longest = 0.0
        self.start()

    def run(self):
        while True:
            before = time.monotonic()
            time.sleep(0.01)
            self.longest = max(self.longest, time.monotonic() - before - 0.01)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item, nextitem):
    """Run a test that fails once more: it shares a busy machine with processes in real time.

    One that passes then counts as `passed again`, and the summary lists it with its first failure.
    """
    if Path(__file__).parent not in item.path.parents:
        return None
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    stalls.longest = 0.0
    reports = runtestprotocol(item, log=False, nextitem=nextitem)
    failed = [report for report in reports if report.failed]
    if failed:
        first = getattr(failed[0].longrepr, "reprcrash", failed[0].longrepr)
        why = f"{first}; the process stood still for {stalls.longest:.2f} s"
        reports = runtestprotocol(item, log=False, nextitem=nextitem)
        for report in reports:
            report.user_properties.append((AGAIN, why))
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def pytest_report_teststatus(report):
    if report.when == "call" and report.passed and AGAIN in dict(report.user_properties):
        return AGAIN, "A", "PASSED AGAIN"
    return None


def pytest_terminal_summary(terminalreporter):
    for report in terminalreporter.stats.get(AGAIN, ()):
        why = dict(report.user_properties)[AGAIN]
        terminalreporter.write_line(f"{report.nodeid} failed once, then passed: {why}")


stalls = Stalls()


def pytest_collection_modifyitems(items):
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.ros)


@pytest.fixture(scope="session", autouse=True)
def ros_domain():
    """A ROS_DOMAIN_ID that nothing else uses: given by ./run test, or this process' own."""
    if "ROS_DOMAIN_ID" in os.environ and "PYTEST_XDIST_WORKER" not in os.environ:
        yield
        return
    nodes = pytest.importorskip("diffsim_ros.nodes.processes")
    with nodes.own_domain():
        yield


class Ros:
    """A node of the test's own, further nodes, each spun in a thread; and waits."""

    def __init__(self):
        import rclpy
        from rclpy.signals import SignalHandlerOptions

        rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
        self._running, self._clients = [], []
        self.node = self.start(rclpy.create_node("tester"))

    def start(self, node):
        """Spin a node in a thread of its own until the test ends."""
        from diffsim_ros.nodes.common import Spinner

        self._running.append((node, Spinner(node)))
        return node

    def start_with(self, kind, *given, arguments=None, **parameters):
        """Start a node of ours with these parameters; arguments: those of a command line."""
        from rclpy.parameter import Parameter

        overrides = [Parameter(name, value=value) for name, value in parameters.items()]
        return self.start(kind(*given, cli_args=arguments, parameter_overrides=overrides))

    def estimate(self, goal, limit=LIMIT):
        """The estimator's answer to a goal, through its service."""
        from diffsim_interfaces.srv import EstimateMaterial

        from diffsim_ros.nodes import convert

        fields = {name: getattr(goal, name) for name in goal.get_fields_and_field_types()}
        request, name = EstimateMaterial.Request(**fields), "/estimator/estimate_material"
        return convert.answer(self.call(EstimateMaterial, name, request, limit=limit))

    def close(self):
        """Stop everything in reverse order."""
        import rclpy

        failures = []
        for node, spinner in reversed(self._running):
            if hasattr(node, "close"):
                node.close()
            spinner.end()
            if node is self.node:  # its action clients only now: what spins would wait for them
                for client in self._clients:
                    client.destroy()
            node.destroy_node()
            failures += filter(None, [spinner.failure])
        rclpy.shutdown()
        assert not failures, failures

    def until(self, condition, what, limit=LIMIT):
        """Wait until `condition()` is true and return its value; fail naming `what`."""
        end, pause = time.monotonic() + limit, threading.Event()
        while time.monotonic() < end:
            value = condition()
            if value:
                return value
            pause.wait(0.01)
        pytest.fail(f"waited {limit:g} s for {what() if callable(what) else what}")

    def listen(self, kind, topic, profile):
        """Subscribe; returns the growing list of messages."""
        received = []
        self.node.create_subscription(kind, topic, received.append, profile)
        return received

    def action(self, kind, name):
        """A client of an action whose server is there."""
        from rclpy.action import ActionClient

        client = ActionClient(self.node, kind, name)
        self._clients.append(client)
        assert client.wait_for_server(LIMIT), f"no action {name}"
        return client

    def asked(self, call, *given):
        """The future of an action's request made in the spinning thread: an answer that comes
        before rclpy has noted who asked is lost."""
        made = []
        self.node.executor.create_task(lambda: made.append(call(*given)))
        return self.until(lambda: made, "the request")[0]

    def act(self, client, goal, feedback=None, limit=LIMIT):
        """(status, result) of a goal sent to an action."""
        handle = self.accepted(client, goal, feedback)
        return self.outcome(handle, limit)

    def accepted(self, client, goal, feedback=None):
        """The handle of a goal that was accepted; its feedback goes to a list."""
        feedback = [] if feedback is None else feedback
        on_feedback = lambda message: feedback.append(message.feedback)  # noqa: E731
        sent = self.asked(client.send_goal_async, goal, on_feedback)
        handle = self.until(lambda: sent.done() and sent.result(), "the goal's handle")
        assert handle.accepted
        return handle

    def outcome(self, handle, limit=LIMIT):
        """(status, result) at the end of a goal."""
        future = self.asked(handle.get_result_async)
        done = self.until(lambda: future.done() and future.result(), "the goal's end", limit)
        return done.status, done.result

    def call(self, kind, name, request=None, limit=LIMIT):
        """Call a service and return its response."""
        return self.until(self.ask(kind, name, request), f"the response of {name}", limit)

    def ask(self, kind, name, request=None):
        """Call a service; returns a function that is None until the response is there."""
        client = self.node.create_client(kind, name)
        assert client.wait_for_service(LIMIT), f"no service {name}"
        future = client.call_async(kind.Request() if request is None else request)
        return lambda: future.result() if future.done() else None


@pytest.fixture
def ros(ros_domain):
    """A Ros that is closed after the test."""
    harness = Ros()
    try:
        yield harness
    finally:
        harness.close()


@pytest.fixture
def bench(ros):
    """A robot in simulated time and a driver before it."""
    from tests.nodes.driving import Bench  # needs rclpy, which the calling file has checked

    return Bench(ros)


class Processes:
    """Nodes as processes of their own, interrupted and waited for at the end."""

    def __init__(self, folder):
        self.folder, self.running, self.names = folder, [], Counter()

    def start(self, name, **parameters):
        """Start `python -m diffsim_ros.nodes.NAME` with parameters."""
        import yaml

        arguments = []
        for key, value in parameters.items():
            text = yaml.safe_dump(value, default_flow_style=True).split("\n")[0]
            arguments += ["-p", f"{key}:={text}"]
        command = [sys.executable, "-m", f"diffsim_ros.nodes.{name}", "--ros-args", *arguments]
        self.names[name] += 1
        log = open(self.folder / f"{name}{self.names[name]}.log", "w")
        paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
        environment["PYTHONFAULTHANDLER"] = "1"
        process = subprocess.Popen(
            command, cwd=self.folder, env=environment, stdout=log, stderr=log, text=True
        )
        process.log = Path(log.name)
        log.close()
        self.running.append(process)
        return process

    def end(self, process, number=signal.SIGINT):
        """Send a signal and return the exit code."""
        process.send_signal(number)
        return self.awaited(process, number)

    @staticmethod
    def awaited(process, number):
        """The exit code of a process that was sent a signal; one that hangs shows where."""
        try:
            return process.wait(LIMIT)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGABRT)
            process.wait()
            pytest.fail(f"no end after signal {number}:\n{process.log.read_text()}")


@pytest.fixture
def processes(tmp_path, ros_domain):
    """Processes that are gone after the test."""
    started = Processes(tmp_path)
    try:
        yield started
    finally:
        for process in started.running:
            if process.poll() is None:
                process.kill()
                process.wait()


@pytest.fixture(scope="session")
def tosses():
    """Path of the measured tosses."""
    return TOSSES
