"""The nodes from a program's side: plain calls that wait, without futures or callbacks."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from time import monotonic
from typing import Any
from uuid import uuid4

import rclpy
from action_msgs.msg import GoalStatus
from diffsim_interfaces.action import Estimate, Execute
from diffsim_interfaces.msg import ErrorCode
from rcl_interfaces.srv import GetParameters, SetParameters
from rclpy.action import ActionClient
from rclpy.action.client import ClientGoalHandle
from rclpy.executors import SingleThreadedExecutor
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile
from rclpy.signals import SignalHandlerOptions
from rclpy.task import Future
from std_srvs.srv import Trigger
from unique_identifier_msgs.msg import UUID

from diffsim_ros.nodes import convert, convert_motion
from diffsim_ros.nodes.common import AGAIN
from diffsim_ros.nodes.convert import Answer
from diffsim_ros.nodes.convert_motion import Report
from diffsim_ros.nodes.starting import heeded
from diffsim_ros.robots.trajectory import JointTrajectory
from diffsim_ros.robots.trajectory_check import check_numbers

SUCCESS = ErrorCode.SUCCESS
DISCOVERY = 30.0
"""Seconds that nodes get to be found."""
CANCEL = 20.0
"""Seconds that a server gets to confirm a cancellation."""
GONE = 2.0
"""Seconds for which a server is not found any more before it counts as dead."""
POLL = 0.05


class CallFailed(RuntimeError):
    """A node refused or did not answer; the message names it and the reason."""


class Gone(CallFailed):
    """A node ended, or was lost, before it answered."""


class Interrupted(KeyboardInterrupt):
    """A goal was given up by its sender; result: how it ended, from the server."""

    def __init__(self, result: Any) -> None:
        super().__init__("cancelled")
        self.result = result


@contextmanager
def interrupts() -> Iterator[Callable[[], None]]:
    """A watch that raises KeyboardInterrupt after Ctrl-C, SIGTERM or a closed terminal.

    It raises for the first signal, so that the request is cancelled; the second, which a
    launch sends that waits for the first, changes nothing; the third ends the wait for an answer.
    The process is expected to end after one: signals have no effect any more.
    """
    came: list[int] = []
    raised = 0

    def watch() -> None:
        nonlocal raised
        if len(came) > 2 * raised:
            raised += 1
            raise KeyboardInterrupt

    before = {s: signal.signal(s, lambda number, _: came.append(number)) for s in heeded()}
    try:
        yield watch
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_IGN if came else handler)


class Commander:
    """One node that calls the others; every method returns when the answer is there.

    watch      called again and again while waiting; may raise (a process died, the user gave up)
    arguments  of the command line for ROS: `--ros-args -r __ns:=/robot1`
    Use as a context; Ctrl-C raises KeyboardInterrupt from any wait.
    """

    def __init__(
        self, watch: Callable[[], None] = lambda: None, arguments: Sequence[str] = ()
    ) -> None:
        rclpy.init(args=list(arguments), signal_handler_options=SignalHandlerOptions.NO)
        self._watch = watch
        self.node = rclpy.create_node("commander")
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(self.node)

    def __enter__(self) -> Commander:
        return self

    def __exit__(self, *_: object) -> None:
        self._executor.shutdown()
        self.node.destroy_node()
        rclpy.try_shutdown()

    def wait(self, condition: Callable[[], Any], what: str, limit: float = DISCOVERY) -> Any:
        """Spin until `condition()` is true and return its value; CallFailed after `limit` [s]."""
        end = monotonic() + limit
        while not (value := condition()):
            if monotonic() > end:
                raise CallFailed(f"waited {limit:g} s for {what}")
            self._watch()
            self._executor.spin_once(timeout_sec=POLL)
        return value

    def pause(self, seconds: float) -> None:
        """Spin for `seconds`."""
        end = monotonic() + seconds
        self.wait(lambda: monotonic() > end, "", 2 * seconds + POLL)

    def _result(self, future: Future, what: str, limit: float) -> Any:
        self.wait(future.done, what, limit)
        return future.result()

    def _met(self, name: str, *limit: float) -> None:
        """Wait until the node that offers `name` knows this one, clients made before included.

        Before, its answers are lost: rmw_fastrtps drops one whose reader it has not found in 0.1 s.
        Endpoints are found in the order of their creation, so an answer to the last suffices.
        """
        node = name.rpartition("/")[0]
        client = self.node.create_client(GetParameters, f"{node}/get_parameters")
        asked: list[Future] = []
        begun = monotonic()

        def answered() -> bool:
            if monotonic() >= begun + AGAIN * len(asked) and client.service_is_ready():
                asked.append(client.call_async(GetParameters.Request()))
            return any(future.done() for future in asked)

        try:
            self.wait(answered, f"an answer of {node}", *limit)
        finally:
            self.node.destroy_client(client)

    def listen(
        self, kind: type, topic: str, profile: QoSProfile | int, *, last: bool = False
    ) -> list:
        """Subscribe; returns the list that grows as messages come, or holds the last one only."""
        received: list = []

        def on_message(message: Any) -> None:
            if last:
                received.clear()
            received.append(message)

        self.node.create_subscription(kind, topic, on_message, profile)
        return received

    def call(self, kind: type, name: str, request: Any, limit: float = DISCOVERY) -> Any:
        """Call a service; CallFailed if it is not there or does not answer."""
        client = self.node.create_client(kind, name)
        try:
            self.wait(client.service_is_ready, f"the service {name}")
            self._met(name)
            return self._result(client.call_async(request), f"an answer of {name}", limit)
        finally:
            self.node.destroy_client(client)

    def trigger(self, name: str, limit: float = DISCOVERY) -> str:
        """Call a Trigger service and return its message; CallFailed if it refuses."""
        response = self.call(Trigger, name, Trigger.Request(), limit)
        if not response.success:
            raise CallFailed(f"{name}: {response.message}")
        return response.message

    def set_parameters(self, node: str, values: Mapping[str, Any]) -> None:
        """Set parameters of another node; CallFailed with its reason if it refuses one."""
        request = SetParameters.Request(
            parameters=[Parameter(k, value=v).to_parameter_msg() for k, v in values.items()]
        )
        response = self.call(SetParameters, f"{node}/set_parameters", request)
        for name, result in zip(values, response.results, strict=True):
            if not result.successful:
                raise CallFailed(f"{node}: parameter {name}: {result.reason}")

    def estimate(
        self,
        goal: Estimate.Goal,
        feedback: Callable[[Estimate.Feedback], None],
    ) -> Answer:
        """Send a goal to the estimator and wait for its answer; cancelled on KeyboardInterrupt."""
        return convert.answer(self.act(Estimate, "/estimator/estimate", goal, feedback))

    def execute(
        self,
        trajectory: JointTrajectory,
        feedback: Callable[[Execute.Feedback], None] = lambda message: None,
        *,
        blend: float = 0.0,
        name: str = "driver/execute",
    ) -> Report:
        """Have the driver execute a trajectory; as `act`.

        InputError for numbers that are not finite: a message would lose where they are.
        """
        check_numbers(trajectory)
        message = convert_motion.execute_goal(trajectory, blend)
        return convert_motion.report(self.act(Execute, name, message, feedback, limit=600.0))

    def act(
        self,
        kind: type,
        name: str,
        goal: Any,
        feedback: Callable[[Any], None] = lambda message: None,
        *,
        limit: float = 3600.0,
    ) -> Any:
        """The result of a goal sent to an action of ours; as `outcome`.

        CallFailed also where the server aborted the goal without saying why.
        """
        status, result = self.outcome(kind, name, goal, feedback, limit=limit)
        if status == GoalStatus.STATUS_ABORTED and result.error_code == SUCCESS:
            raise CallFailed(f"{name}: ended by a defect; see the node's log")
        return result

    def outcome(
        self,
        kind: type,
        name: str,
        goal: Any,
        feedback: Callable[[Any], None] = lambda message: None,
        *,
        limit: float = 3600.0,
    ) -> tuple[int, Any]:
        """Send a goal to any action and wait for its end: (GoalStatus, result).

        CallFailed if the server is not found, refuses, dies, or takes longer than `limit` [s]. What
        ends the wait once the goal was sent cancels it first: KeyboardInterrupt becomes Interrupted
        with the server's result; CallFailed where the server does not answer.
        """
        client = ActionClient(self.node, kind, name)
        try:
            self.wait(client.server_is_ready, f"the action {name}")
            self._met(name)
            sent = client.send_goal_async(
                goal,
                lambda message: feedback(message.feedback),
                UUID(uuid=list(uuid4().bytes)),
            )
            try:
                handle = self._result(sent, f"an answer of {name}", DISCOVERY)
                if handle.accepted:
                    result = handle.get_result_async()
                    end = self._unless_gone(result.done, client.server_is_ready, name)
                    self.wait(end, f"the end of {name}", limit)
                    done = result.result()
            except KeyboardInterrupt:
                raise Interrupted(self._given_up(sent, name)) from None
            except Gone:
                raise
            except Exception:
                self._given_up(sent, name)
                raise
            if not handle.accepted:
                raise CallFailed(f"{name}: the goal was refused")
            return done.status, done.result
        finally:
            client.destroy()

    def _unless_gone(
        self, condition: Callable[[], Any], is_there: Callable[[], bool], name: str
    ) -> Callable[[], Any]:
        """The condition; it raises Gone once nobody has been there for GONE seconds."""
        last_there = monotonic()

        def look() -> Any:
            nonlocal last_there
            last_there = monotonic() if is_there() else last_there
            value = condition()
            if not value and monotonic() - last_there > GONE:
                raise Gone(f"{name} is gone without an answer: what it was doing may go on")
            return value

        return look

    def _given_up(self, sent: Future, name: str) -> Any:
        """Cancel a goal, accepted yet or not, until its server reports the end; its result.

        None where the server refused the goal. CallFailed where it does not answer.
        """
        asked: list[float] = []
        result: list[Future] = []

        def ended() -> bool:
            if not sent.done() or not sent.result().accepted:
                return sent.done()
            handle: ClientGoalHandle = sent.result()
            if not result:
                result.append(handle.get_result_async())
            if not asked or monotonic() > asked[-1] + AGAIN:
                asked.append(monotonic())
                handle.cancel_goal_async()  # again where it was not ready to be cancelled
            return result[0].done()

        try:
            self.wait(ended, "", CANCEL)
        except (KeyboardInterrupt, CallFailed):
            text = f"{name} has not confirmed the cancellation: what it was sent may go on"
            raise CallFailed(text) from None
        return result[0].result().result if result else None
