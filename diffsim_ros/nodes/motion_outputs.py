"""Where the driver's motions go: a trajectory controller, by its action or its topic; a gripper."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from uuid import uuid4

import numpy as np
from action_msgs.msg import GoalStatus
from action_msgs.srv import CancelGoal
from control_msgs.action import FollowJointTrajectory, GripperCommand
from rclpy.action import ActionClient
from rclpy.clock import Clock, ClockType
from rclpy.duration import Duration
from rclpy.qos import QoSProfile
from rclpy.task import Future
from trajectory_msgs.msg import JointTrajectory as TrajectoryMessage
from unique_identifier_msgs.msg import UUID
from ur_msgs.srv import SetIO

from diffsim_ros.nodes import convert_motion as convert
from diffsim_ros.nodes.common import AGAIN, BaseNode
from diffsim_ros.nodes.convert_motion import Report
from diffsim_ros.robots.arm import Limits
from diffsim_ros.robots.controller import INVALID_GOAL, Outcome
from diffsim_ros.robots.trajectory import JointTrajectory

STEADY = Clock(clock_type=ClockType.STEADY_TIME)
ANSWER = 5.0
"""[s] that a controller gets to answer a request."""
SOONEST, UNSURE = 0.4, 1.0
"""[s] of a trajectory to rest, at least; and where it is not measured where the arm is."""
LONGEST, GENTLE = 3.0, 0.9
"""[s] of it at most; share of the limits of acceleration that it may need."""
SHORTEST, FIRM = 0.1, 0.7
"""The same where a limit of position is near: [s] at least, and the share."""
LOOK = 0.05
"""[s] between two checks whether a server is there."""
LIFESPAN = 0.15
"""[s] after which a message to the controller's topic is not delivered any more. The middleware
repeats a lost one after up to 3 s, and holds back what follows it meanwhile: the arm would then
begin a motion, or brake, from where it was when the message was sent."""
AT_ONCE = QoSProfile(depth=1, lifespan=Duration(seconds=LIFESPAN))


async def within(
    node: BaseNode, future: Future, seconds: float, halted: Future | None = None
) -> bool:
    """Wait for a future, at most `seconds` by the wall and not once `halted` is done; True when it
    is done."""
    either = Future()

    def wake(*_: object) -> None:
        if not either.done():
            either.set_result(None)

    timer = node.create_timer(seconds, wake, callback_group=node.together, clock=STEADY)
    future.add_done_callback(wake)
    if halted is not None:
        halted.add_done_callback(wake)
    await either
    node.destroy_timer(timer)
    return future.done()


async def found(
    node: BaseNode, is_there: Callable[[], bool], seconds: float, halted: Future
) -> bool:
    """Wait until a server is there, at most `seconds`, and not once `halted` is done."""
    for _ in range(max(int(seconds / LOOK), 1)):
        if is_there() or halted.done():
            return is_there()
        await within(node, halted, LOOK)
    return is_there()


def new_name() -> UUID:
    """Of a goal."""
    return UUID(uuid=list(uuid4().bytes))


class ActionOutput:
    """The controller's action: it reports how far it is and how it ends.

    ended    future with the Outcome, from `start` on
    braking  [s] of the trajectory that `stop` sends
    """

    follows = True
    braking = 0.0

    def __init__(self, node: BaseNode, controller: str) -> None:
        self._node, self.name = node, f"{controller}/follow_joint_trajectory"
        self._client = ActionClient(
            node, FollowJointTrajectory, self.name, callback_group=node.together
        )
        self._cancels = node.create_client(
            CancelGoal, f"{self.name}/_action/cancel_goal", callback_group=node.together
        )
        self._open: list[UUID] = []  # goals that were sent and may run: one takes another's place
        self.ended = Future()

    async def is_there(self, seconds: float, halted: Future) -> bool:
        """Whether the controller is found, and answers; not waited for once `halted` is done.

        Its answers to clients that it has not found yet are lost, after 0.1 s in rmw_fastrtps; the
        request is to cancel a goal that nobody sent.
        """
        if not await found(self._node, self._client.server_is_ready, seconds, halted):
            return False
        for _ in range(max(int(seconds / AGAIN), 1)):
            if await within(self._node, self._cancel(new_name()), AGAIN):
                return True
            if halted.done():
                break
        return False

    def _cancel(self, name: UUID) -> Future:
        """Cancel a goal by its name, whether it is known to have been accepted or not."""
        request = CancelGoal.Request()
        request.goal_info.goal_id = name
        return self._cancels.call_async(request)

    async def start(
        self, trajectory: JointTrajectory, on_feedback: Callable, halted: Future
    ) -> Report | None:
        """Send it; None if it was taken. `halted` is done when it is to be cancelled.

        Nobody watches the arm before the controller has answered: for `watchdog` s at most. The
        goal before goes on where this one is not taken; `ended` is then still that one's.
        """
        before, name = self.ended, new_name()
        self.ended = ended = Future()
        self._open.append(name)
        sent = self._client.send_goal_async(
            convert.follow_goal(trajectory), lambda message: on_feedback(message.feedback), name
        )
        longest = self._node["watchdog"]
        if not await within(self._node, sent, longest, halted):
            if not halted.done():
                halted.set_result(f"{self.name} did not answer within {longest:g} s")
            for _ in range(int(ANSWER / AGAIN)):
                self.stop_at_once()  # it may have begun; or the one before still runs
                if await within(self._node, sent, AGAIN):
                    break
            else:
                self.ended = before
                sent.add_done_callback(lambda sent: self._too_late(sent, name))  # or may yet begin
                why = f"{self.name} does not answer: what it may do is cancelled"
                return Report("ABORTED", why)
        if not sent.result().accepted:
            self.ended = before
            self._open.remove(name)
            why = f"{self.name} rejected the goal: its log says why; nothing was moved"
            return Report("REFUSED", why)
        result = sent.result().get_result_async()
        result.add_done_callback(lambda answer: self._on_result(answer, name, ended))
        return None

    def _too_late(self, sent: Future, name: UUID) -> None:
        if sent.result().accepted:
            sent.result().cancel_goal_async()
            ended = sent.result().get_result_async()
            ended.add_done_callback(lambda _: self._open.remove(name))
        else:
            self._open.remove(name)

    def _on_result(self, future: Future, name: UUID, ended: Future) -> None:
        self._open.remove(name)
        answer = future.result()
        canceled = answer.status == GoalStatus.STATUS_CANCELED
        code, text = answer.result.error_code, convert.outcome_text(answer.result)
        if answer.status != GoalStatus.STATUS_SUCCEEDED and not canceled and code == 0:
            code, text = INVALID_GOAL, f"aborted: {text}"  # without a code for the reason
        if not ended.done():
            ended.set_result(Outcome(code, text, canceled))

    async def stop(self, _: Callable[[], Awaitable[tuple]]) -> str:
        """Cancel what may run, again and again until it has ended; the controller's answer."""
        if self.ended.done():
            return "the controller had ended it"
        for _ in range(int(ANSWER / AGAIN)):
            self.stop_at_once()
            if await within(self._node, self.ended, AGAIN):
                return "the controller's goal is cancelled"
        return f"{self.name} does not answer the cancellation"

    def stop_at_once(self, *_: object) -> None:
        """Cancel what may run without waiting for an answer; from any thread."""
        for name in [*self._open]:
            self._cancel(name)

    def destroy(self) -> None:
        """Take the clients down."""
        self._client.destroy()
        self._node.destroy_client(self._cancels)


class TopicOutput:
    """The controller's topic: it reports nothing; the joint states show whether it succeeded."""

    follows = False

    def __init__(self, node: BaseNode, controller: str, limits: Limits) -> None:
        self._node, self.name = node, f"{controller}/joint_trajectory"
        self._publisher = node.create_publisher(TrajectoryMessage, self.name, AT_ONCE)
        self._limits, self._deceleration, self.braking = limits, limits.acceleration, 0.0
        self.ended = Future()

    async def is_there(self, seconds: float, halted: Future) -> bool:
        """Whether there is a subscriber; not waited for once `halted` is done."""
        count = self._publisher.get_subscription_count
        return await found(self._node, lambda: count() > 0, seconds, halted)

    async def start(self, trajectory: JointTrajectory, *_: object) -> None:
        """Send it."""
        self.ended = Future()
        self._publisher.publish(convert.trajectory_message(trajectory))

    async def stop(self, arm: Callable[[], Awaitable[tuple]]) -> str:
        """Have it brake from where the `arm` is by then: what `stop_at_once` needs.

        Twice: the first may be lost, or held back behind a lost trajectory until that has expired.
        """
        self.stop_at_once(*await arm())
        await within(self._node, Future(), LIFESPAN + LOOK)
        self.stop_at_once(*await arm())
        return f"a trajectory to rest was sent to {self.name}"

    def stop_at_once(
        self,
        names: Sequence[str],
        position: np.ndarray,
        velocity: np.ndarray,
        measured: bool,
        planned: tuple[np.ndarray, np.ndarray] | None,
    ) -> None:
        """Have it brake from a state (n,), (n,); gently too if it is the `planned` one instead."""
        # the controller begins where the arm is by then, which may be elsewhere: not in no time
        brake = float(np.max(np.abs(velocity) / (0.5 * self._deceleration), initial=SOONEST))
        brake = min(brake, self._room(position, velocity)) if measured else max(brake, UNSURE)
        while planned is not None and brake < LONGEST:
            away = position + 0.5 * brake * velocity - planned[0]
            pull, drag = 6.0 * away / brake**2, planned[1] / brake  # of the cubic to rest
            most = np.maximum(np.abs(pull - 4.0 * drag), np.abs(pull - 2.0 * drag))
            if np.all(most <= GENTLE * self._deceleration):
                break
            brake *= 1.1
        self.braking = brake
        times, still = np.array([brake]), np.zeros_like(position)
        rest = position + 0.5 * brake * velocity
        rest = np.clip(rest, self._limits.lower, self._limits.upper)
        to_rest = JointTrajectory(tuple(names), times, rest[None], still[None])
        self._publisher.publish(convert.trajectory_message(to_rest))

    def _room(self, position: np.ndarray, velocity: np.ndarray) -> float:
        """[s] in which all joints come to rest within their limits of position, but no shorter than
        the limits of acceleration permit."""
        ahead = np.where(velocity > 0.0, self._limits.upper, self._limits.lower) - position
        with np.errstate(divide="ignore", invalid="ignore"):
            room = np.where(velocity != 0.0, 2.0 * ahead / velocity, np.inf)
        hard = np.abs(velocity) / (FIRM * self._deceleration)
        return float(np.max([*hard, np.min(room), SHORTEST]))

    def destroy(self) -> None:
        """Take the publisher down."""
        self._node.destroy_publisher(self._publisher)


class PointOutput(TopicOutput):
    """The controller's topic, as champ uses it: one point with stamp 0, again and again (`point`);
    a controller that hears nothing any more stays where it is."""

    async def start(self, *_: object) -> None:
        """Begin: points follow."""
        self.ended = Future()

    def point(self, names: Sequence[str], position: np.ndarray, after: float) -> None:
        """Be at a position (n,) after a time [s]."""
        row = JointTrajectory(tuple(names), np.array([after]), position[None])
        self._publisher.publish(convert.trajectory_message(row))


class GripperOutput:
    """Opens a gripper: by GripperCommand, or by a digital output of the robot.

    answer  of the last command: done with what is wrong, "" where the gripper takes it
    """

    def __init__(self, node: BaseNode, kind: str, name: str, gap: float, pin: int) -> None:
        self._node, self._kind, self.name, self._gap, self._pin = node, kind, name, gap, pin
        self.answer = Future()
        if kind == "command":
            self._client = ActionClient(node, GripperCommand, name, callback_group=node.together)
            self._ready = self._client.server_is_ready
        else:
            self._client = node.create_client(SetIO, name, callback_group=node.together)
            self._ready = self._client.service_is_ready

    async def is_there(self, seconds: float, halted: Future) -> bool:
        """Whether it is found; not waited for once `halted` is done."""
        return await found(self._node, self._ready, seconds, halted)

    def open(self) -> None:
        """Command it to open; returns at once."""
        self.answer = answer = Future()
        if self._kind == "command":
            sent = self._client.send_goal_async(convert.gripper_goal(self._gap, 0.0))
        else:
            sent = self._client.call_async(convert.output_request(self._pin, True))
        sent.add_done_callback(lambda sent: self._on_answer(sent.result(), answer))

    def _on_answer(self, received: object, answer: Future) -> None:
        taken = received.accepted if self._kind == "command" else received.success
        refusal = "" if taken else f"{self.name} refused to open the gripper"
        if refusal:
            self._node.get_logger().error(refusal)
        answer.set_result(refusal)

    def destroy(self) -> None:
        """Take the client down."""
        if self._kind == "command":
            self._client.destroy()
