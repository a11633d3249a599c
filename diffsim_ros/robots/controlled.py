"""A trajectory through the controller: the joints' motion, and the command that corrects it.

Joints lag behind their commands by their accelerations (tracking.py), a few mrad in a throw: a
centimetre or two where the thrown body comes down. Where the lag is known it can be anticipated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from diffsim_ros.errors import InputError

from .command import NANO, JointCommand
from .controller import Controller, Outcome, Settings, rejection
from .time_scaling import PERIOD
from .tracking import Dynamics
from .trajectory import JointTrajectory

SAMPLED = 0.002
"""Seconds between samples of the executed motion."""
SETTLE = 0.5
"""Seconds that joints are watched after a trajectory's end, at most."""
KNOTS = 0.04
"""Distance of the correction's knots [s]: finer ones would learn the controller's cycle."""
TAIL = 0.2
"""Seconds after the motion's end until the correction is zero."""
ROUNDS = 2
"""Corrections; each leaves a fifth to a third of the error, down to the cycle's ripple."""
DEGREE = 5
GUESS = np.array([np.log(60.0), 0.0, 0.008, 1.0])
"""Logarithms of bandwidth [rad/s] and damping, delay [s], feedforward: where a search begins."""
TYPICAL = np.array([0.2, 0.2, 0.004, 0.1])
"""Changes of these that count equally."""
BOUNDS = np.array([[np.log(3.0), np.log(0.1), 0.0, 0.0], [np.log(1e3), np.log(10.0), 0.2, 1.5]])
AWAY = 10.0
"""Of the search's variables at the guess: least_squares differences by shares of them."""


@dataclass(frozen=True)
class Executed:
    """motion: of the joints;  outcome: how the controller ended it, None: not within SETTLE
    tracking_error: greatest difference of commanded and actual positions [rad or m]"""

    motion: JointTrajectory
    outcome: Outcome | None
    tracking_error: float


def executed(
    trajectory: JointTrajectory,
    names: Sequence[str],
    settings: Settings,
    *,
    every: float = SAMPLED,
    settle: float = SETTLE,
) -> Executed:
    """The motion of joints `names` when their controller runs a trajectory from its first point.

    every, settle  [s] between samples, and watched after the end
    Raises InputError where the controller refuses it.
    """
    command = JointCommand.of(trajectory)
    reason = rejection(command, names, 0)
    if reason:
        rule = "a trajectory that the controller accepts"
        raise InputError("trajectory", "", reason, rule)
    first = command.trajectory(names).positions[0]
    controller = Controller(names, first, settings)
    controller.start(command)
    count = int(np.ceil((trajectory.duration + settle) / every)) + 1
    rows, outcome, worst = np.empty((2, count, len(names))), None, 0.0
    for k in range(count):  # the controller goes from cycle to cycle
        outcome = controller.advance(round(k * every * NANO)) or outcome
        rows[:, k] = controller.position, controller.velocity
        worst = max(worst, float(np.abs(controller.error).max()))
    return Executed(JointTrajectory(names, every * np.arange(count), *rows), outcome, worst)


def anticipated(trajectory: JointTrajectory, settings: Settings) -> JointTrajectory:
    """The command with which joints of this controller do `trajectory`, late by the pure delay.

    The controller is simulated, and what joints lack added to the commands, twice: learning by
    repetition on a model [Bristow, Tharayil, Alleyne 2006], with a smooth correction that begins
    at zero and is zero again TAIL after the motion's end. For a trajectory with accelerations.
    """
    end = PERIOD * np.ceil((trajectory.duration + TAIL) / PERIOD)
    times = np.linspace(0.0, end, round(end / PERIOD) + 1)
    wanted, delay = trajectory.at(times), settings.dynamics.delay
    settings = replace(settings, path=np.inf, goal=np.inf)
    basis = _basis(times)
    fitted = np.linalg.pinv(basis[0])
    weights, command = 0.0, trajectory
    for _ in range(ROUNDS):
        run = executed(command, trajectory.names, settings, every=PERIOD, settle=TAIL + delay)
        weights = weights + fitted @ (wanted[0] - run.motion.at(times + delay)[0])
        rows = [want + part @ weights for want, part in zip(wanted, basis, strict=True)]
        command = JointTrajectory(trajectory.names, times, *rows, release=trajectory.release)
    return command


def _basis(times: np.ndarray) -> list[np.ndarray]:
    """Values and two derivatives (n, m) of splines that are zero, with these, at both ends."""
    from scipy.interpolate import BSpline

    inner = np.linspace(0.0, times[-1], max(2, int(np.ceil(times[-1] / KNOTS))) + 1)
    knots = np.concatenate([np.zeros(DEGREE), inner, np.full(DEGREE, times[-1])])
    count = len(knots) - DEGREE - 1
    splines = BSpline(knots, np.eye(count)[:, 3 : count - 3], DEGREE)
    return [splines(times, nu=k) for k in range(3)]


def identified(
    trajectory: JointTrajectory, times: np.ndarray, positions: np.ndarray, rate: float = 125.0
) -> tuple[Dynamics, float]:
    """Dynamics of joints commanded by `trajectory`, from their motion; remaining root mean square.

    times      (n,) [s] of samples from the trajectory's beginning
    positions  (n, j) [rad or m] there, columns as the trajectory's
    rate       [Hz] of the controller
    One bandwidth, damping, delay and feedforward for all joints. InputError for shapes that
    disagree, or joints that hardly move.
    """
    from scipy.optimize import least_squares

    times, positions = np.asarray(times, float), np.asarray(positions, float)
    shape = (len(times), len(trajectory.names))
    if positions.shape != shape or not np.isfinite(positions).all():
        got, rule = positions.shape, f"{shape[0]} times by {shape[1]} joints, finite"
        raise InputError("identified", "positions", got, rule)
    fastest = np.abs(trajectory.at(times)[1]).max()  # of straight lines as well
    if fastest < 0.1:
        got, rule = f"{fastest:.3g} at most", "rates of at least 0.1"
        raise InputError("identified", "velocities", got, rule, "let the arm swing faster")

    def dynamics(z: np.ndarray) -> Dynamics:
        bandwidth, damping, delay, feedforward = GUESS + TYPICAL * (z - AWAY)
        return Dynamics(*map(float, (np.exp(bandwidth), np.exp(damping), delay, feedforward)))

    def residual(z: np.ndarray) -> np.ndarray:
        settings = Settings(rate=rate, path=np.inf, goal=np.inf, dynamics=dynamics(z))
        run = executed(trajectory, trajectory.names, settings, every=0.5 / rate)
        return (run.motion.at(times)[0] - positions).ravel()

    bounds = [AWAY + (bound - GUESS) / TYPICAL for bound in BOUNDS]
    found = least_squares(residual, np.full(4, AWAY), bounds=bounds, diff_step=1e-3)
    return dynamics(found.x), float(np.sqrt(np.mean(np.square(found.fun))))
