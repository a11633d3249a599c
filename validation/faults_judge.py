"""The referee's judgement of one execution, from the robot's own record.

It knows the driver's bounds and the arm's limits, and nothing of how the driver keeps them.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from diffsim_ros.nodes.convert_motion import Report
from diffsim_ros.robots.arm import Arm
from diffsim_ros.robots.command import NANO
from diffsim_ros.robots.trajectory import JointTrajectory

from .faults_record import DRIVER, OTHER
from .faults_scenes import ENDS_CLIENT, ENDS_DRIVER, ENDS_ROBOT, Scene

BEYOND = 1.01
"""Share of a limit that may be commanded."""
PLACE, VELOCITY, LATENESS = 0.1, 0.5, 0.05
"""Bounds of a release, the driver's defaults [rad, rad/s, s]."""
OBSERVED = 0.06
"""[s] before a release: the age that a joint state may have then, and a cycle."""
CYCLE = 0.008
TIMING = 0.03
"""[s] of the trajectory by which the driver may err about where the controller is on it: the way of
the controller's answers."""
JUMP = 1e-3
"""[rad] of a first point at t = 0 from where the arm stands, the driver's start_tolerance."""
RESTS = 0.05
"""[rad/s]"""
GOAL = 0.1
"""[rad] from the plan's end."""
HALT = 0.1
"""[s] after which a stop is known to the driver."""
SETTLED = 0.01
"""[rad] of joints from what was commanded last, once they rest."""
NEWS = 2e7
"""[ns] that an answer takes at least."""
LIMIT = 45.0
"""[s] in which an execution must end: that a process is gone the middleware knows after 20 s."""
ASKED = ("cancel", *ENDS_CLIENT[:3], *ENDS_DRIVER[:3])
"""Faults that ask for a cancellation."""


@dataclass
class Trace:
    """The record of one execution; mono are monotonic times [ns].

    rows      record.ROW from before it was sent until the arm rests
    events    the robot's, in order
    report    of the driver; answered  when it came, None: no answer
    code      exit code of the client's or the driver's process, where one ended
    at        name of a fault -> when it happened;  canceled  when a cancellation was accepted
    refused   when one was rejected;  others  (name, code of ErrorCode) of a second client's goals
    troubles  what the bench itself has noticed
    offset    [ns] of the wall's time from the monotonic;  wall  the robot's time is the wall's
    stamp     [s] of the release by the driver's log, which is there without an answer too
    deaf      the robot runs, and receives nothing any more: its middleware's fault
    """

    scene: Scene
    gripper: str
    output: str
    lead: float
    sent: int = 0
    rows: np.ndarray | None = None
    events: list[dict] = field(default_factory=list)
    report: Report | None = None
    answered: int | None = None
    at: dict[str, int] = field(default_factory=dict)
    canceled: int | None = None
    rejected: int | None = None
    others: list[tuple[str, str]] = field(default_factory=list)
    troubles: list[str] = field(default_factory=list)
    rested: int | None = None
    stamp: float | None = None
    wall: bool = False
    offset: int = 0
    deaf: bool = False


class Judge:
    """violations  sentences;  figures  numbers of this execution, by name"""

    def __init__(self, trace: Trace, arm: Arm) -> None:
        self.trace, self.arm, self.rows = trace, arm, trace.rows
        self.violations = list(trace.troubles)
        self.figures: dict[str, float] = {}
        starts = [e for e in trace.events if e["event"] == "start" and e["source"] == DRIVER]
        self.starts = starts
        self.start = starts[0] if starts else None
        self.opened = [e for e in trace.events if e["event"] == "gripper" and e["open"]]
        self.plan = self._sent() if self.start else None
        answered = trace.report.release_stamp if trace.report else None
        self.stamp = trace.stamp if answered is None else answered
        self._limits()
        self._releases()
        self._end()
        self._result()

    def _say(self, text: str) -> None:
        self.violations.append(text)

    def _sent(self) -> JointTrajectory | None:
        """What the driver sent, with the release where it is in that; None: only its stop came."""
        points, motion = self.start["points"], self.trace.scene.motion
        times = np.array([point[0] for point in points]) / NANO
        order = [self.start["names"].index(name) for name in self.arm.robot.joint_names]
        columns = [[point[k] for point in points] for k in (1, 2, 3)]
        rows = [np.array(column)[:, order] if all(column) else None for column in columns]
        release, shift = motion.release, times[-1] - motion.times[-1]
        if not release:
            release = None
        found = JointTrajectory(
            self.arm.robot.joint_names, times, *rows,
            release=None if release is None else release + shift,
        )  # fmt: skip
        if np.abs(found.positions[-1] - motion.positions[-1]).max() <= 1e-9:
            return found
        if self.trace.output == "topic" and len(points) == 1:
            return None  # a stop: its trajectory was lost, or replaced by it before it was read
        self._say("what was sent ends elsewhere than what was asked for")
        return found

    # --- (1) what the arm was commanded ---------------------------------------------------------

    def _limits(self) -> None:
        rows, limits = self.rows, self.arm.limits
        ours = (rows["source"] == DRIVER) & (rows["braking"] == 0) & ~self._inherited()
        sent = rows[ours]
        brake = rows[(rows["braking"] == 1) & (rows["source"] != OTHER)]
        share = {}
        for name, part in (("told", sent), ("brake", brake)):
            if not len(part):
                continue
            q, qd, qdd = (part["desired"][:, k] for k in range(3))
            scaling = part["scaling"][:, None] if name == "told" else 1.0
            middle, half = (limits.upper + limits.lower) / 2, (limits.upper - limits.lower) / 2
            share[f"{name}_position"] = float((np.abs(q - middle) / half).max())
            share[f"{name}_velocity"] = float((np.abs(scaling * qd) / limits.velocity).max())
            if name == "told":
                most = np.abs(scaling**2 * qdd) / limits.acceleration
                share["told_acceleration"] = float(most.max())
        share["told_step"] = self._steps()
        for name, value in share.items():
            self.figures[name] = value
            if not value <= BEYOND:
                self._say(f"{name}: {value:.4f} of its limit")

    def _inherited(self) -> np.ndarray:
        """(n,) of the driver's stops of an arm that another client moves beyond its limits, by its
        commands or by how the joints follow them; and of those that come while it still moves so.
        """
        rows, most = self.rows, self.arm.limits.velocity
        found = np.zeros(len(rows), bool)
        for k in np.flatnonzero(np.diff(rows["run"])) + 1:
            before = rows[k - 1]
            rates = np.abs([before["desired"][1] * before["scaling"], before["joints"][1]])
            others = before["source"] == OTHER or found[k - 1]
            if others and (rates > most).any():
                found |= rows["run"] == rows["run"][k]
        return found

    def _steps(self) -> float:
        """Largest change of the commanded position in a cycle, share of what is allowed."""
        rows, worst = self.rows, 0.0
        if self.start is None:
            return worst
        run = rows["run"] == self.start["run"]
        run &= (rows["source"] == DRIVER) & (rows["braking"] == 0)
        k = np.flatnonzero(run[1:]) + 1
        if not len(k):
            return worst
        change = np.abs(rows["desired"][k, 0] - rows["desired"][k - 1, 0])
        first = rows["run"][k] != rows["run"][k - 1]
        change = np.maximum(change - np.where(first, 2 * JUMP, 0.0)[:, None], 0.0)
        return float((change / (self.arm.limits.velocity * CYCLE)).max())

    # --- (2) the gripper ------------------------------------------------------------------------

    def _plan_times(self) -> np.ndarray:
        """(n,) [s] of the driver's trajectory at each row, replaced or not; NaN before it."""
        rows, run = self.rows, self.start["run"]
        times = np.full(len(rows), np.nan)
        ours = np.flatnonzero((rows["run"] == run) & (rows["braking"] == 0))
        if not len(ours):
            return times
        times[ours] = rows["elapsed"][ours]
        last = ours[-1]
        times[last + 1 :] = times[last] + CYCLE * np.cumsum(rows["scaling"][last + 1 :])
        return times

    def _releases(self) -> None:
        trace = self.trace
        if len(self.opened) > 1:
            self._say(f"the gripper was opened {len(self.opened)} times")
        for event in self.opened:
            if self.plan is None or self.plan.release is None or trace.gripper == "none":
                self._say("the gripper was opened without a release in the plan")
                continue
            self._release(event)

    def _release(self, event: dict) -> None:
        trace, rows = self.trace, self.rows
        received = int(np.searchsorted(rows["mono"], event["mono"])) - 1
        sent, stamp = received, self.stamp
        if stamp is not None:
            near = np.flatnonzero(
                (rows["mono"] > event["mono"] - NANO)
                & (rows["mono"] <= event["mono"])
                & (rows["time"] <= stamp * NANO + 1e6)
            )
            sent = int(near[-1]) if len(near) else received
            self.figures["release_transport"] = float(event["mono"] - rows["mono"][sent]) / NANO
        if self._later(stamp, trace.canceled):
            self._say("the gripper was opened after a cancellation was accepted")
        if self._later(stamp, trace.answered):
            self._say("the gripper was opened after the end was reported")
        times = self._plan_times()
        scaling = rows["scaling"][sent]
        before = max(sent - round(HALT / CYCLE), 0)
        if (rows["scaling"][before : sent + 1] < 0.005).all():
            self._say("the gripper was opened in a stop")
            return
        due = self.plan.release - trace.lead * scaling  # the lead is no time of the trajectory
        late = float(times[sent] - due)  # of the trajectory, as is what the driver may err by
        if not -max(LATENESS * scaling, TIMING + CYCLE) <= late <= LATENESS * scaling + TIMING:
            self._say(f"the gripper was opened {late:.3f} s late (at most {LATENESS})")
        window = np.arange(max(sent - round(OBSERVED / CYCLE), 0), min(sent + 2, len(rows)))
        window = window[np.isfinite(times[window])]
        if not len(window):
            self._say("the gripper was opened before the motion")
            return
        shifts = np.linspace(-TIMING, TIMING, 7)[:, None]
        q, qd, _ = self.plan.at(times[window] + shifts)
        places = np.abs(rows["joints"][window, 0] - q).max(axis=2)
        rates = np.abs(rows["joints"][window, 1] - qd).max(axis=2)
        here = int(np.argmin(np.abs(window - sent)))
        self.figures |= {
            "release_place": float(places[3, here]), "release_velocity": float(rates[3, here]),
            "release_lateness": late,
        }  # fmt: skip
        if not places.min() <= PLACE:
            self._say(f"the gripper was opened {places.min():.3f} rad off the plan")
        if not rates.min() <= VELOCITY:
            self._say(f"the gripper was opened {rates.min():.3f} rad/s off the plan")

    def _later(self, stamp: float | None, mono: int | None) -> bool:
        """Whether a stamp [s] of the driver is after what happened at a monotonic time [ns]."""
        trace, rows = self.trace, self.rows
        if stamp is None or mono is None or any(name.startswith("clock_") for name in trace.at):
            return False
        if trace.wall:
            return stamp * NANO > mono + trace.offset
        before = rows["time"][rows["mono"] <= mono]  # the robot's time is ahead of the driver's
        return len(before) > 0 and stamp * NANO > before[-1] + 2 * CYCLE * NANO

    # --- (3) rest -------------------------------------------------------------------------------

    def _end(self) -> None:
        trace, rows = self.trace, self.rows
        moving = np.abs(rows["joints"][:, 1]).max(axis=1) > RESTS
        if self.start is None:
            first = len(rows)
        else:
            first = int(np.searchsorted(rows["mono"], self.start["mono"]))
        others = [e["mono"] for e in trace.events if e["event"] == "start"]
        before = rows["mono"][:first] < min(others, default=np.iinfo(np.int64).max)
        if (moving[:first] & before).any():
            self._say("the arm moved before anything was sent")
        if trace.rested is None and not trace.scene.has(*ENDS_ROBOT):
            self._say("the arm did not come to rest")
        if (
            trace.at
            and trace.report is not None
            and trace.report.code != "SUCCESS"
            and moving.any()
        ):
            last = rows["mono"][np.flatnonzero(moving)[-1]]
            self.figures["rest_after_fault"] = max(float(last - min(trace.at.values())) / NANO, 0.0)
        if trace.report is None or not moving.any() or self._robot_gone():
            return
        if trace.report.code == "SUCCESS":  # joints settle after their commands
            away = np.abs(rows["joints"][-1, 0] - rows["desired"][-1, 0]).max()
            if away > SETTLED:
                self._say(f"SUCCESS, and the arm rests {away:.3f} rad from its commanded place")
            return
        commanded = np.abs(rows["scaling"][:, None] * rows["desired"][:, 1]).max(axis=1) > RESTS
        sent = (rows["mono"] > trace.answered) & commanded & (rows["source"] == DRIVER)
        if any(name.startswith("scaling_") for name in trace.at):  # a stop goes on with it
            sent &= rows["run"] == (self.start["run"] if self.start else -1)
        if sent.any() and "the arm" not in trace.report.message:
            by = rows["mono"][np.flatnonzero(sent)[-1]] - trace.answered
            if by > NEWS:
                self._say(f"{trace.report.code}, and the arm moved for {by / NANO:.3f} s more")

    # --- (4) the result -------------------------------------------------------------------------

    def _result(self) -> None:
        trace, report = self.trace, self.trace.report
        for name, code in trace.others:
            if code not in ("BUSY", "REFUSED"):
                self._say(f"{name} of a second client ended with {code}")
        if report is None:
            unsent = trace.scene.has(*ENDS_CLIENT, *ENDS_DRIVER) and not self.starts
            if not trace.scene.has("driver_SIGKILL") and not unsent:
                self._say("no answer")
            return
        text = report.message
        if "nothing was sent" in text and self.starts:
            self._say(f"said that nothing was sent: {text}")
        if "stays closed" in text and self.opened:
            self._say(f"said that the gripper stays closed: {text}")
        if "was commanded to open" in text and not self.opened and not self._robot_gone():
            self._say(f"said that the gripper was commanded to open: {text}")
        if (self.stamp is not None) != bool(self.opened) and not self._robot_gone():
            self._say(f"release_stamp {self.stamp}, opened {len(self.opened)} times")
        check = getattr(self, f"_{report.code.lower()}", None)
        if check is None:
            self._say(f"ended with {report.code}: {text}")
        else:
            check(report)

    def _robot_gone(self) -> bool:
        return self.trace.deaf or any(name in self.trace.at for name in ENDS_ROBOT)

    def _success(self, report: Report) -> None:
        if self.plan is None:
            self._say("SUCCESS, and nothing was sent")
            return
        if self.trace.scene.has("unsafe_goal"):
            self._say("SUCCESS of an unsafe goal")
        rows = self.rows[self.rows["mono"] <= self.trace.answered]
        ours = np.flatnonzero(rows["run"] == self.start["run"])
        others = len(ours) > 0 and (rows["source"][ours[-1] :] == OTHER).any()
        by_topic = self.trace.output == "topic"
        if others and not by_topic:  # what they do with an arm that has arrived is their affair
            rows = rows[: ours[-1] + 1]
        ended = slice(-1, None)
        if others and by_topic:  # nobody knows who moves it: from the end on it must come there
            late = np.flatnonzero(self._plan_times()[: len(rows)] >= self.plan.duration)
            ended = slice(late[0] if len(late) else -1, None)
        away = np.abs(rows["joints"][ended, 0] - self.plan.positions[-1]).max(axis=1).min()
        if not away <= GOAL + 0.01:
            self._say(f"SUCCESS {away:.3f} rad from the plan's end")
        left = self.plan.duration - rows["elapsed"][-1]
        runs_on = rows["active"][-1] and rows["run"][-1] == self.start["run"]
        if runs_on and (left > TIMING or not (by_topic or others)):
            self._say(f"SUCCESS {left:.3f} s before the controller's end")
        due = self.plan.release is not None and self.trace.gripper != "none"
        if due != (len(self.opened) == 1):
            self._say(f"SUCCESS, release {'due' if due else 'not due'}, {len(self.opened)} made")
        canceled = self.trace.canceled
        if canceled is not None:
            ran = rows[(rows["mono"] > canceled) & (rows["active"] == 1)]
            if len(ran) > 0.1 / CYCLE:
                self._say(f"SUCCESS {len(ran) * CYCLE:.3f} s after a cancellation was accepted")

    def _canceled(self, report: Report) -> None:
        if not any(name in self.trace.at for name in ASKED):
            self._say(f"CANCELED, and nobody asked for it: {report.message}")
        self._stays_stopped(report)

    def _aborted(self, report: Report) -> None:
        unknown = "does not answer" in report.message or self._robot_gone()
        if self.start is None and not unknown:
            self._say(f"ABORTED, and nothing was sent: {report.message}")
        if self.trace.canceled is not None and self.trace.canceled < self.trace.answered - 5e8:
            self._say(f"ABORTED, although it was cancelled: {report.message}")
        self._stays_stopped(report)

    def _stays_stopped(self, report: Report) -> None:
        """No trajectory of the driver runs or is begun after the answer."""
        trace, rows = self.trace, self.rows
        if self._robot_gone() or "does not answer" in report.message:
            return
        after = rows[rows["mono"] > trace.answered + NEWS]
        unknown = "whether the arm rests is not known" in report.message
        run = self.start["run"] if self.start else -1
        runs_on = ((after["run"] == run) & (after["active"] == 1)).any()
        if runs_on and "; the arm still moves" not in report.message and not unknown:
            self._say(f"{report.code}, and a trajectory of the driver runs on: {report.message}")
        late = [e for e in self.starts if e["mono"] > trace.answered + NEWS]
        if late and not unknown:
            self._say(f"{report.code}, and a trajectory was begun after it")

    def _refused(self, report: Report) -> None:
        if self.starts and "rejected" not in report.message:
            self._say(f"REFUSED, and a trajectory was sent: {report.message}")

    def _busy(self, report: Report) -> None:
        self._refused(report)
