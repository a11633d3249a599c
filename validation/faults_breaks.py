"""Breaks of the driver on purpose, in its process: the fault study must catch each of them."""

from __future__ import annotations


def release_unchecked() -> None:
    """The gripper opens wherever the arm is, however late."""
    from diffsim_ros.robots.execution import Supervisor

    Supervisor.release_fault = lambda self, now: ""


def cancel_rejected() -> None:
    """A cancellation is heeded only once the arm moves."""
    from rclpy.action import CancelResponse

    from diffsim_ros.nodes.driver import Driver

    def on_cancel(self, handle):
        job = self._job
        if job is None or job.run._supervisor is None:
            return CancelResponse.ACCEPT  # and forgotten
        job.cancel("on request")
        return CancelResponse.ACCEPT

    Driver._on_cancel = on_cancel


def path_unchecked() -> None:
    """The arm is not held against its plan."""
    from diffsim_ros.robots.execution import Supervisor

    Supervisor._off_plan = lambda self, *_: ""
    Supervisor.away_from_goal = lambda self: ""
    Supervisor.release_fault = lambda self, now: ""
    receive = Supervisor.on_feedback

    def on_feedback(self, *rows):
        receive(self, *rows)
        self._off_commands = 0

    Supervisor.on_feedback = on_feedback


def limits_unchecked() -> None:
    """Motions beyond the limits are sent."""
    from diffsim_ros.robots import trajectory_check

    trajectory_check.beyond_limits = lambda *_, **__: []
    trajectory_check.jumps = lambda *_, **__: []


BREAKS = {
    one.__name__: one for one in (release_unchecked, cancel_rejected, path_unchecked,
                                  limits_unchecked)
}  # fmt: skip
