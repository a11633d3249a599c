"""What leaves the driver, and how its motions end: many random trajectories and events.

Rules: sound motions are corrupted at random, checked by the driver's rules and by the real
controller's; none that the real one would refuse may pass, nor any that leaves its limits on a fine
grid; motions scaled to just below a limit must pass, to just above must not.
Events: motions run by the mock controller and watched as the driver does, with speed scaling,
stops, cancellations and silent joint states at random times and late feedback.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from diffsim_ros.errors import InputError
from diffsim_ros.robots.arm import Arm, load_arm
from diffsim_ros.robots.command import NANO, JointCommand, JointSample, nanoseconds
from diffsim_ros.robots.controller import Controller, Settings, rejection
from diffsim_ros.robots.execution import Supervisor, Watch
from diffsim_ros.robots.start_check import check_start
from diffsim_ros.robots.trajectory import JointTrajectory
from diffsim_ros.robots.trajectory_check import check_motion

from .common import ROOT, share

CORRUPTED, SHARP, RUNS = 5_000, 300, 300
NOW = 1_700_000_000 * NANO
KEYS = ("positions", "velocities", "accelerations")
ODD = (np.nan, np.inf, -np.inf, 1e-7, 1.2e-7, 1e300, -20.0, 7.0)


def motion(rng, arm: Arm, peak: float, count: int = 40) -> JointTrajectory:
    """A random motion to rest that takes `peak` of the velocity or the acceleration limit."""
    most = np.minimum(arm.limits.upper - arm.home, arm.home - arm.limits.lower)
    away = rng.uniform(-0.3, 0.3, len(most)) * most
    s = np.linspace(0.0, 1.0, count)
    duration = max(  # of 10 s^3 - 15 s^4 + 6 s^5: its extreme slope and curvature
        np.max(15 / 8 * np.abs(away) / arm.limits.velocity) / peak,
        np.sqrt(np.max(10 / np.sqrt(3) * np.abs(away) / arm.limits.acceleration) / peak),
    )
    rows = [10 * s**3 - 15 * s**4 + 6 * s**5, 30 * s**2 * (1 - s) ** 2 / duration,
            60 * s * (1 - s) * (1 - 2 * s) / duration**2]  # fmt: skip
    q, qd, qdd = (np.outer(row, away) for row in rows)
    release = duration * rng.uniform(0.2, 0.9)
    return JointTrajectory(
        arm.robot.joint_names, s * duration, arm.home + q, qd, qdd, release=float(release)
    )


def _edited(rng, given: JointCommand) -> JointCommand:
    """One random change of a command."""
    points, names = list(given.points), list(given.names)
    k, kind = int(rng.integers(len(points))), int(rng.integers(10))
    point, key = points[k], KEYS[int(rng.integers(3))]
    row = list(getattr(point, key))
    if kind <= 2 and row:  # a number: odd ones, or moved by decades
        j = int(rng.integers(len(row)))
        moved = row[j] + rng.normal() * 10.0 ** rng.uniform(-8, 1)
        row[j] = float(rng.choice(ODD)) if kind == 0 else float(moved)
        points[k] = replace(point, **{key: tuple(row)})
    elif kind == 3:  # a column too many or too few, or none
        row = row[: int(rng.integers(len(row) + 1))] + [0.0] * int(rng.integers(2))
        points[k] = replace(point, **{key: tuple(row)})
    elif kind == 4:
        by = int(rng.normal() * 10.0 ** rng.uniform(0, 9.5))
        points[k] = replace(point, time=point.time + by)
    elif kind == 5:
        points[k] = replace(point, effort=(0.0,) * int(rng.integers(1, 8)))
    elif kind == 6:
        names[int(rng.integers(len(names)))] = str(rng.choice([*given.names, "elbow", ""]))
    elif kind == 7:
        points = points[: int(rng.integers(len(points) + 1))]
    elif kind == 8:
        points = [replace(p, **{key: ()}) for p in points]
    else:
        by = int(rng.uniform(-9, 19) * NANO)
        return replace(given, stamp=NOW + by)
    return replace(given, points=tuple(points), names=tuple(names))


def _passes(command: JointCommand, arm: Arm, start: JointSample) -> JointTrajectory | None:
    try:
        trajectory = check_motion(command, arm, now=NOW)
        check_start(trajectory, arm, start, wait=command.wait(NOW))
    except InputError:
        return None
    return trajectory


def _outside(found: JointTrajectory, arm: Arm) -> bool:
    """Whether limits are left by more than 1e-5 of them on a grid of 2000 times."""
    q, qd, qdd = found.at(np.linspace(0.0, found.duration, 2000))
    limits, room = arm.limits, 1 + 1e-5
    inside = (q >= limits.lower - 1e-5).all() and (q <= limits.upper + 1e-5).all()
    inside &= bool((np.abs(qd) <= limits.velocity * room).all())
    return not (inside and (np.abs(qdd) <= limits.acceleration * room).all())


def rules(fraction: float = 1.0) -> dict:
    """Counts over corrupted motions, and over motions just within and beyond the limits."""
    arm = load_arm(ROOT / "config" / "robots" / "ur5.yaml")
    names, rng = arm.robot.joint_names, np.random.default_rng(20261121)
    start = JointSample(dict(zip(names, arm.home.tolist(), strict=True)), dict.fromkeys(names, 0.0))
    counts = dict.fromkeys(
        ("corrupted", "real_refuses", "ours_refuses", "slipped_through", "left_limits"), 0
    )
    for _ in range(share(CORRUPTED, fraction)):
        command = JointCommand.of(motion(rng, arm, rng.uniform(0.3, 0.99)))
        for _ in range(int(rng.integers(1, 4))):
            command = _edited(rng, command) if command.points else command
        refused, passed = bool(rejection(command, names, NOW)), _passes(command, arm, start)
        counts["corrupted"] += 1
        counts["real_refuses"] += refused
        counts["ours_refuses"] += passed is None
        if passed is not None:
            again = rejection(JointCommand.of(passed), names, NOW)
            counts["slipped_through"] += bool(refused or again)
            counts["left_limits"] += _outside(passed, arm)
    sharp = {"within_refused": 0, "beyond_passed": 0, "of_each": share(SHARP, fraction)}
    for _ in range(sharp["of_each"]):
        within, beyond = (motion(rng, arm, peak) for peak in (0.9999, 1.001))
        sharp["within_refused"] += _passes(JointCommand.of(within), arm, start) is None
        sharp["beyond_passed"] += _passes(JointCommand.of(beyond), arm, start) is not None
    assert counts["slipped_through"] == 0 and counts["left_limits"] == 0, counts
    assert sharp["within_refused"] == 0 and sharp["beyond_passed"] == 0, sharp
    assert 0.2 < counts["ours_refuses"] / counts["corrupted"] < 1.0, counts
    return counts | sharp


def rehearsal(rng, arm: Arm) -> dict:
    """One motion with an event at a random time; how it ended and what the gripper did."""
    plan = motion(rng, arm, rng.uniform(0.3, 0.9))
    mock = Controller(plan.names, arm.home, Settings(deceleration=20.0), NOW)
    watch = Supervisor(plan, NOW, Watch(stop_timeout=1.0, settle=1.0, lead=0.03))
    event = str(rng.choice(["none", "slow", "pause", "stop", "cancel", "silence"]))
    at, lasts = rng.uniform(0.0, plan.duration), rng.uniform(0.1, 0.5)
    mock.start(JointCommand.of(plan))
    sent, ended, released = [], "", None
    wrong = False
    while not ended:
        outcome = mock.step(0.004)
        now, passed = mock.time, (mock.time - NOW) / NANO
        if event in ("slow", "pause", "stop") and passed >= at:
            over = event != "stop" and passed >= at + lasts
            mock.speed_scaling = 1.0 if over else (0.4 if event == "slow" else 0.0)
        watch.on_speed_scaling(now, mock.scaling)
        if event != "silence" or passed < at:
            watch.on_joint_state(now, mock.position)
        if (now - NOW) // 4_000_000 % 12 == 0:  # 20 Hz, received up to 30 ms later
            late = nanoseconds(rng.uniform(0.0, 0.03))
            sent.append((now + late, mock.updated, mock.desired.position, mock.position))
        while sent and sent[0][0] <= now:
            watch.on_feedback(*sent.pop(0)[1:])
        if watch.until_release(now) <= 0.0:
            watch.release()
            released = mock.elapsed
            wrong |= mock.scaling == 0.0
        if event == "cancel" and passed >= at:
            ended = "cancelled"
        elif trouble := watch.trouble(now):
            ended = trouble.split(" for ")[0]
        elif outcome:
            ended = "success" if outcome.code == 0 else "aborted"
    mock.cancel()
    mock.step(1.0)
    early = released is not None and ended != "success" and released < plan.release - 0.04
    off = abs(released + 0.03 * mock.scaling - plan.release) if released is not None else np.nan
    return {
        "event": event, "ended": ended, "off": float(off), "wrong": bool(wrong or early),
        "missed": ended == "success" and released is None,
        "speed": float(np.abs(mock.velocity).max()),
    }  # fmt: skip


EXPECTED = {
    "none": {"success"}, "slow": {"success"}, "pause": {"success"},
    "stop": {"the robot has been stopped", "success"}, "cancel": {"cancelled", "success"},
    "silence": {"no joint state", "success"},
}  # fmt: skip


def events(fraction: float = 1.0) -> dict:
    """How many motions ended as they should, by event; how exactly the gripper was commanded."""
    arm = load_arm(ROOT / "config" / "robots" / "ur5.yaml")
    rng = np.random.default_rng(8)
    runs = [rehearsal(rng, arm) for _ in range(share(RUNS, fraction))]
    errors = [run["off"] for run in runs if run["event"] == "none" and np.isfinite(run["off"])]
    figures = {
        "motions": len(runs),
        "unexpected_ends": sum(run["ended"] not in EXPECTED[run["event"]] for run in runs),
        "gripper_told_wrongly": sum(run["wrong"] for run in runs),
        "gripper_missed": sum(run["missed"] for run in runs),
        "fastest_after_the_end": max(run["speed"] for run in runs),
        "release_error_ms": {"median": 1e3 * float(np.median(errors)), "worst": 1e3 * max(errors)},
        "ends": {
            event: sorted({run["ended"] for run in runs if run["event"] == event})
            for event in EXPECTED
        },
    }
    keys = ("unexpected_ends", "gripper_told_wrongly", "gripper_missed")
    assert not any(figures[key] for key in keys), figures
    assert figures["fastest_after_the_end"] < 1e-3, figures
    assert figures["release_error_ms"]["worst"] < 8.0, figures  # a control cycle
    return figures


def study(fraction: float = 1.0) -> dict:
    """Both; asserts the bars."""
    return {"rules": rules(fraction), "events": events(fraction)}
