"""Calls are made only once the other side can answer: before, its answers are lost."""

import contextlib
import copy
import math
from dataclasses import replace

import numpy as np
import pytest

rclpy = pytest.importorskip("rclpy")

from diffsim_interfaces.action import Execute  # noqa: E402
from rcl_interfaces.srv import GetParameters  # noqa: E402
from rclpy.action import ActionServer  # noqa: E402
from rclpy.task import Future  # noqa: E402
from std_srvs.srv import Trigger  # noqa: E402

from diffsim_ros.nodes import commander as commanding  # noqa: E402
from diffsim_ros.nodes import execute  # noqa: E402
from diffsim_ros.nodes.commander import CallFailed, Commander  # noqa: E402
from diffsim_ros.nodes.common import Spinner  # noqa: E402
from tests.robots.motions import swing  # noqa: E402


@pytest.fixture
def commander(ros_domain):
    """A Commander, and a node with a service and an action that count."""
    with Commander() as found:
        node, found.counted = rclpy.create_node("counter"), []

        def count(_request, response):
            found.counted.append(1)
            response.success, response.message = True, str(len(found.counted))
            return response

        def execute(handle):
            found.counted.append(1)
            handle.succeed()
            return Execute.Result(error_msg=str(len(found.counted)))

        node.create_service(Trigger, "~/count", count)
        action = ActionServer(node, Execute, "~/execute", execute)
        spinner = Spinner(node)
        try:
            yield found
        finally:
            spinner.end()
            action.destroy()
            node.destroy_node()


def losing(commander, monkeypatch, lost):
    """The first `lost` answers about parameters do not arrive; returns what was asked."""
    asked, make = [], commander.node.create_client

    def created(kind, name):
        client = make(kind, name)
        call = client.call_async

        def called(request):
            asked.append(name)
            future = call(request)
            return Future() if len(asked) <= lost else future

        if kind is GetParameters:
            client.call_async = called
        return client

    monkeypatch.setattr(commander.node, "create_client", created)
    return asked


@pytest.mark.parametrize("how", ["service", "action"])
def test_what_changes_nothing_is_asked_until_answered_and_the_call_made_once(
    commander, monkeypatch, how
):
    asked = losing(commander, monkeypatch, 2)
    if how == "service":
        assert commander.trigger("/counter/count") == "1"
    else:
        assert commander.act(Execute, "/counter/execute", Execute.Goal()).error_msg == "1"
    assert asked == ["/counter/get_parameters"] * 3 and len(commander.counted) == 1


def test_a_node_that_cannot_answer_is_named_and_not_called(commander, monkeypatch):
    losing(commander, monkeypatch, 10**6)
    monkeypatch.setattr(Commander.wait, "__defaults__", (1.0,))
    with pytest.raises(CallFailed, match="waited 1 s for an answer of /counter"):
        commander.trigger("/counter/count")
    assert not commander.counted


def test_a_server_that_dies_before_it_answers_is_not_waited_for(ros_domain, monkeypatch):
    monkeypatch.setattr(commanding, "GONE", 0.3)
    begun = []

    async def execute(_handle):
        begun.append(1)
        await Future()

    with Commander() as commander:
        node = rclpy.create_node("mortal")
        action = ActionServer(node, Execute, "~/execute", execute)
        spinner = Spinner(node)

        def watch():
            if begun and not spinner.ended.is_set():
                spinner.end()
                action.destroy()

        commander._watch = watch
        try:
            with pytest.raises(CallFailed, match=r"/mortal/execute is gone without an answer"):
                commander.act(Execute, "/mortal/execute", Execute.Goal(), limit=30.0)
        finally:
            node.destroy_node()


@pytest.mark.parametrize("value", [math.nan, math.inf, 1e300])
@pytest.mark.parametrize(
    ("row", "at", "why"),
    [
        ("times", 3, "point 3: time"),
        ("positions", (3, 2), "point 3 at 0.3 s: positions of elbow_joint"),
        ("velocities", (3, 2), "point 3 at 0.3 s: velocities of elbow_joint"),
    ],
)
def test_execute_names_the_number_that_is_none(tmp_path, capsys, monkeypatch, value, row, at, why):
    """In one line, before any driver is looked for."""

    class Nowhere(contextlib.nullcontext):
        execute = Commander.execute

    Nowhere.__enter__ = lambda self: self
    monkeypatch.setattr(execute, "Commander", lambda *_: Nowhere())
    motion = swing(duration=1.0, release=None)
    motion = replace(motion, times=0.1 * np.arange(len(motion.times)))
    motion = copy.deepcopy(motion)
    getattr(motion, row)[at] = value
    motion.save(tmp_path / "t.yaml")
    assert execute.main([str(tmp_path / "t.yaml")]) == 2
    line = capsys.readouterr().err
    assert line.startswith(f"execute: trajectory: {why}: got {value}; accepted: a finite number")
    assert line.count("\n") == 1
