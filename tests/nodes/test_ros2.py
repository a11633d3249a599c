"""`diffsim ros2`: as ros2's commands, against a node in a context of its own."""

import os
import signal
import threading
import time
from importlib import import_module

import pytest

rclpy = pytest.importorskip("rclpy")

from control_msgs.action import FollowJointTrajectory  # noqa: E402
from geometry_msgs.msg import PoseStamped  # noqa: E402
from rclpy.action import ActionServer, CancelResponse  # noqa: E402
from rclpy.executors import SingleThreadedExecutor  # noqa: E402
from rclpy.lifecycle import LifecycleNode  # noqa: E402
from rclpy.signals import SignalHandlerOptions  # noqa: E402
from std_srvs.srv import SetBool  # noqa: E402

from diffsim_ros.errors import InputError  # noqa: E402
from diffsim_ros.nodes import ros2  # noqa: E402
from diffsim_ros.nodes.common import quality  # noqa: E402
from diffsim_ros.nodes.plain import message_of, plain, type_of  # noqa: E402

ACTION = ("/server/go", "control_msgs/FollowJointTrajectory")


class Server:
    """A node with a service, an action, topics and a parameter, and what they were asked."""

    def __init__(self, context):
        self.node = node = rclpy.create_node("server", context=context)
        self.asked, self.received, self.canceled = [], [], threading.Event()
        node.create_service(SetBool, "~/switch", self.switch)
        node.create_subscription(PoseStamped, "goal_pose", self.received.append, 10)
        profile = quality(1, reliable=True, latched=True)
        node.create_publisher(PoseStamped, "latched", profile).publish(PoseStamped())
        self.stream = node.create_publisher(PoseStamped, "stream", quality(10, reliable=False))
        node.create_timer(0.02, lambda: self.stream.publish(PoseStamped()))
        node.declare_parameter("gain", 0.5)
        self.action = ActionServer(
            node, FollowJointTrajectory, "~/go", self.go,
            cancel_callback=lambda _: CancelResponse.ACCEPT,
        )  # fmt: skip

    def switch(self, request, response):
        self.asked.append(request.data)
        response.success, response.message = request.data, "it's done: ü"
        return response

    async def pause(self):
        future = rclpy.task.Future(executor=self.node.executor)
        timer = self.node.create_timer(0.02, lambda: future.set_result(None))
        await future
        self.node.destroy_timer(timer)

    async def go(self, handle):
        """Names of joints say how it ends."""
        how = handle.request.trajectory.joint_names
        handle.publish_feedback(FollowJointTrajectory.Feedback(joint_names=how))
        if how == ["wait"]:
            os.kill(os.getpid(), signal.SIGINT)  # Ctrl-C at the one who waits
            while not handle.is_cancel_requested:
                await self.pause()
            self.canceled.set()
            handle.canceled()
        else:
            handle.succeed() if how == ["a"] else handle.abort()
        return FollowJointTrajectory.Result(error_string="the end")


@pytest.fixture(scope="module")
def server(ros_domain):
    context = rclpy.Context()
    rclpy.init(context=context, signal_handler_options=SignalHandlerOptions.NO)
    executor, found = SingleThreadedExecutor(context=context), Server(context)
    executor.add_node(found.node)
    managed = LifecycleNode("managed", namespace="/_hidden", context=context)
    executor.add_node(managed)
    stop = threading.Event()

    def spin():
        while not stop.is_set():
            executor.spin_once(timeout_sec=0.05)

    thread = threading.Thread(target=spin)
    thread.start()
    yield found
    stop.set()
    thread.join()
    found.action.destroy()
    executor.shutdown()
    managed.destroy_node()
    found.node.destroy_node()
    rclpy.shutdown(context=context)


@pytest.fixture
def call(server, capsys):
    """Runs a command: (exit code, standard output, standard error)."""
    before = signal.getsignal(signal.SIGINT)

    def run(*words):
        code = ros2.main(words)
        return code, *capsys.readouterr()

    yield run
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, before if number == signal.SIGINT else signal.SIG_DFL)


def test_a_service_is_called_with_what_was_written(server, call):
    code, out, _ = call("service", "call", "/server/switch", "std_srvs/srv/SetBool", "{data: true}")
    assert (code, out) == (0, "{success: true, message: 'it''s done: ü'}\n")
    assert call("service", "call", "server/switch", "std_srvs/SetBool")[0] == 0
    assert server.asked == [True, False]


def test_what_is_wrong_is_named_before_anything_is_sent(server, call):
    asked = len(server.asked)
    for words, said in (
        (("std_srvs/srv/SetBol", "{}"), "did you mean 'SetBool'?"),
        (("std_srv/srv/SetBool", "{}"), "No module named 'std_srv'"),
        (("SetBool", "{}"), "PACKAGE/srv/NAME"),
        (("std_srvs/srv/SetBool", "{dat: true}"), "did you mean 'data'?"),
        (("std_srvs/srv/SetBool", "{data: 1}"), "values.data: got 1; accepted: true or false"),
        (("std_srvs/srv/SetBool", "{data: [}"), "values"),
    ):
        code, out, error = call("service", "call", "/server/switch", *words)
        assert (code, out) == (2, "") and said in error and error.count("\n") == 1
    assert len(server.asked) == asked


def test_a_goal_is_sent_watched_and_its_end_counts(call):
    code, out, _ = call("action", "send_goal", "-f", *ACTION, "{trajectory: {joint_names: [a]}}")
    assert code == 0 and "feedback: {header" in out and "error_string: the end" in out
    assert out.endswith("goal finished with status: SUCCEEDED\n")
    code, out, error = call("action", "send_goal", *ACTION, "{trajectory: {joint_names: [b]}}")
    assert code == 1 and "error_string: the end" in out and "feedback" not in out
    assert error == "diffsim ros2: /server/go: ABORTED\n"


def test_ctrl_c_cancels_the_goal_and_waits_for_its_end(server, call):
    code, out, _ = call("action", "send_goal", *ACTION, "{trajectory: {joint_names: [wait]}}")
    assert code == 130 and server.canceled.is_set() and "error_string: the end" in out


def test_a_message_is_published_once_to_who_listens(server, call):
    pose = "{header: {frame_id: world}, pose: {position: {x: 1, y: -2.5}}}"
    code, out, _ = call("topic", "pub", "-1", "/goal_pose", "geometry_msgs/PoseStamped", pose)
    assert code == 0 and out.count("published on /goal_pose") == 1
    end = time.monotonic() + 5
    while not server.received and time.monotonic() < end:
        time.sleep(0.02)
    (message,) = server.received
    assert message.header.frame_id == "world"
    assert (message.pose.position.x, message.pose.position.y) == (1.0, -2.5)


def test_topics_are_heard_with_the_quality_that_their_publishers_offer(call, monkeypatch):
    """A latched message that came before, and a best-effort stream at its rate."""
    code, out, _ = call("topic", "echo", "/latched", "--once")
    assert code == 0 and out.startswith("header:\n") and out.endswith("---\n")
    shown = []

    class Ended(ros2.Caller):
        def pause(self, seconds):
            if len(shown) == 3:
                raise KeyboardInterrupt
            shown.append(seconds)
            super().pause(seconds)

    monkeypatch.setattr(ros2, "Caller", Ended)
    code, out, _ = call("topic", "hz", "/stream")
    last = [float(line.split()[-1]) for line in out.splitlines() if "average" in line][-1]
    assert code == 130 and last == pytest.approx(50.0, rel=0.2)


def test_parameters_are_listed_read_and_set_and_refusals_are_shown(server, call):
    assert "gain" in call("param", "list", "/server")[1].split()
    assert call("param", "set", "/server", "gain", "0.75")[:2] == (0, "Set parameter successful\n")
    assert server.node.get_parameter("gain").value == 0.75
    assert call("param", "get", "server", "gain")[:2] == (0, "0.75\n")
    code, _, error = call("param", "set", "/server", "gain", "high")
    assert code == 1 and "Wrong parameter type" in error
    assert "no parameter gane" in call("param", "get", "/server", "gane")[2]
    assert "name: gain\ntype: 3\n" in call("param", "describe", "/server", "gain")[1]


def test_the_state_of_a_managed_node_is_read_and_changed(call):
    node = "/_hidden/managed"
    assert call("lifecycle", "get", node)[:2] == (0, "unconfigured [1]\n")
    assert call("lifecycle", "set", node, "configure")[:2] == (0, "inactive [2]\n")
    code, out, error = call("lifecycle", "set", node, "configure")
    assert (code, out) == (1, "") and "not possible now" in error


def listed(call, noun, awaited, *options):
    """The lines of `NOUN list`, again until one is `awaited`: a busy machine discovers late."""
    for _ in range(10):
        code, out, _ = call(noun, "list", *options)
        assert code == 0
        if awaited in out.splitlines():
            return out.splitlines()
    pytest.fail(f"{noun}: {out}")


def test_names_are_listed_without_hidden_ones(call):
    assert listed(call, "node", "/server") == ["/server"]
    topics = listed(call, "topic", "/stream [geometry_msgs/msg/PoseStamped]", "-t")
    assert "/goal_pose [geometry_msgs/msg/PoseStamped]" in topics
    services = listed(call, "service", "/server/switch")
    assert all(name.startswith("/server/") and "/_" not in name for name in services)
    assert listed(call, "action", "/server/go") == ["/server/go"]


def test_what_stays_with_a_distribution_says_what_to_do_instead(call):
    for word in ("launch", "bag"):
        code, _, error = call(word, "anything")
        assert code == 2 and "./run" in error


@pytest.mark.parametrize("package", ["geometry_msgs", "sensor_msgs", "diffsim_interfaces"])
def test_every_message_becomes_plain_data_and_comes_back(package):
    module = import_module(f"{package}.msg")
    names = [name for name in dir(module) if name[0].isupper() and "_" not in name]
    assert len(names) > 5
    for name in names:
        kind = type_of(f"{package}/msg/{name}", "msg")
        assert message_of(kind, plain(kind()), "values") == kind(), name


def test_sequences_have_their_sizes_and_numbers_their_kinds():
    joints = type_of("sensor_msgs/JointState", "msg")
    made = message_of(joints, {"name": ["a", "b"], "position": [1, 2.5]}, "values")
    assert made.name == ["a", "b"] and list(made.position) == [1.0, 2.5]
    assert plain(made)["position"] == [1.0, 2.5]
    long = message_of(joints, {"position": [0.5] * 200}, "values")
    assert plain(long)["position"] == [0.5] * 128 + ["..."]
    assert len(plain(long, ros2.WHOLE)["position"]) == 200
    camera = type_of("sensor_msgs/CameraInfo", "msg")
    for kind, values, said in (
        (joints, {"name": "a"}, "a list of string"),
        (joints, {"position": ["x"]}, r"values.position\[0\]: got 'x'; accepted: a number"),
        (camera, {"k": [1.0]}, "9 entries"),
        (camera, {"height": 1.5}, "an integer"),
        (camera, {"height": True}, "an integer"),
        (camera, [1], "a mapping of header"),
    ):
        with pytest.raises(InputError, match=said):
            message_of(kind, values, "values")
