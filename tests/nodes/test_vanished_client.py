"""A client that is gone, or whose side of the answer is never found, ends no node."""

import pytest

rclpy = pytest.importorskip("rclpy")

from diffsim_interfaces.action import Execute  # noqa: E402
from rclpy.action import ActionClient  # noqa: E402
from rclpy.qos import qos_profile_services_default  # noqa: E402
from std_srvs.srv import Trigger  # noqa: E402

from diffsim_ros.nodes.common import BaseNode, RCLError  # noqa: E402
from diffsim_ros.nodes.goal_server import GoalServer  # noqa: E402

DEAF = rclpy.qos.QoSProfile(
    depth=10, durability=rclpy.qos.DurabilityPolicy.TRANSIENT_LOCAL,
    reliability=qos_profile_services_default.reliability,
)  # fmt: skip
"""Requests with it arrive, but no answer does: rmw waits 0.1 s for who is to receive it, and rclpy
warns of that, which is an error in these tests, as under `python -W error`."""


class Server(BaseNode):
    """Counts what it is asked."""

    def __init__(self):
        super().__init__("server")
        self.asked = []
        self.service = self.create_service(Trigger, "~/ask", self.on_ask)
        self.server = GoalServer(
            self, Execute, "~/execute", self.on_goal, cancel_callback=None,
            callback_group=self.together,
        )  # fmt: skip

    def on_ask(self, _, response):
        self.asked.append("service")
        return response

    async def on_goal(self, handle):
        self.asked.append("goal")
        handle.succeed()
        return Execute.Result()

    def destroy_node(self):
        self.server.destroy()
        super().destroy_node()


def again(ros, ask, answered):
    """Ask until it has arrived: nothing shows when a server is found that cannot answer."""

    def asked():
        ros.asked(ask)
        return answered()

    ros.until(asked, "the request")


def test_a_service_whose_answer_nobody_receives_goes_on(ros):
    server = ros.start(Server())
    deaf = ros.node.create_client(Trigger, "/server/ask", qos_profile=DEAF)
    again(ros, lambda: deaf.call_async(Trigger.Request()), lambda: server.asked)
    before = len(server.asked)
    ros.call(Trigger, "/server/ask")
    assert len(server.asked) > before  # and `ros` fails where its spinning has ended


def test_an_action_whose_answer_nobody_receives_takes_the_next_goal(ros):
    server = ros.start(Server())
    deaf = ActionClient(ros.node, Execute, "/server/execute", goal_service_qos_profile=DEAF)
    ros._clients.append(deaf)
    goals = server.server._goal_handles
    again(ros, lambda: deaf.send_goal_async(Execute.Goal()), lambda: goals)
    assert ros.act(ros.action(Execute, "/server/execute"), Execute.Goal())[0] == 4
    assert "goal" in server.asked


def test_what_rclpy_raises_for_a_vanished_client_is_survived_and_no_other_error(ros):
    server = ros.start(Server())
    sent, errors = server.service.send_response, [RCLError("failed to send response: gone")]
    server.service.send_response = lambda *given: (errors and _raise(errors.pop()), sent(*given))
    ros.ask(Trigger, "/server/ask")
    ros.until(lambda: not errors, "the error")
    assert ros.call(Trigger, "/server/ask")
    (spinner,) = [one for node, one in ros._running if node is server]
    errors.append(RCLError("failed to take request"))
    ros.ask(Trigger, "/server/ask")
    ros.until(spinner.ended.is_set, "its end")
    assert "take request" in str(spinner.failure)
    spinner.failure = None


def _raise(error):
    raise error
