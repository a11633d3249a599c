"""A network learns, through the engine, to throw a ball into a cup.

As in the thesis: 1000 cups to train on and 100 others to test on, batches of five, ADAM (0.95,
0.999) from 1e-2, halved after every epoch; the soft minimum over the descent and a penalty on
throws without contact (validation/cup_game.py).  The same is learned in a world without friction
and tried in the one with it.  Every test throw is repeated with the cup's walls in its way, at a
third of the step.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch

from diffsim_ros.inverse.gradient_check import GradientReport, check_gradient

from .common import ROOT, share
from .cup_game import (
    BALL,
    FRICTION,
    MOUTH,
    RIM,
    Policy,
    World,
    batch_loss,
    cups_at,
    exactly,
    hits,
    loss,
    offsets,
    rests_inside,
    world,
)

TRAINING, TESTING, BATCH, EPOCHS = 1000, 100, 5, 6
RATE, COARSE, FINE = 3000, 1000, 9000  # steps per second: studied, of a tenth, with the cup's walls
FRICTIONS = (0.0, 0.02, 0.04, 0.06, 0.08, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6)
UP = 6.0  # [m/s]: touches nothing in time
THESIS = 450.0  # CPU seconds per epoch [G 4.7.5]


@dataclass
class Course:
    """How a policy came about: figures before training and after every epoch."""

    policy: Policy
    train_loss: list[float] = field(default_factory=list)
    test_loss: list[float] = field(default_factory=list)
    hit_rate: list[float] = field(default_factory=list)
    cpu_seconds: list[float] = field(default_factory=list)

    def figures(self) -> dict:
        """All of it but the policy."""
        return {key: list(value) for key, value in vars(self).items() if key != "policy"}

    def tested(self, place: World, cups: torch.Tensor) -> None:
        """Add loss and hits on test cups."""
        with torch.no_grad():
            x = place.fly(self.policy(cups), cups)
        self.test_loss.append(float(loss(x).mean()))
        self.hit_rate.append(float(hits(x).mean()))


def train(
    place: World, cups: torch.Tensor, tests: torch.Tensor, epochs: int, seed: int = 0, *,
    up: float = 0.0,
) -> Course:  # fmt: skip
    """Train a policy in a world; `train_loss` is the mean of an epoch while it goes on."""
    torch.manual_seed(seed)
    generator = np.random.default_rng([seed, 1])
    course = Course(Policy(up))
    adam = torch.optim.Adam(course.policy.parameters(), lr=1e-2, betas=(0.95, 0.999), eps=1e-8)
    rate = torch.optim.lr_scheduler.ExponentialLR(adam, 0.5)
    course.tested(place, tests)
    for _ in range(epochs):
        cpu, total = time.process_time(), 0.0
        for batch in np.split(generator.permutation(len(cups)), len(cups) // BATCH):
            adam.zero_grad()
            x = place.fly(course.policy(cups[batch]), cups[batch])
            mean = loss(x).mean()
            mean.backward()
            adam.step()
            total += mean.item() * BATCH / len(cups)
        rate.step()
        course.cpu_seconds.append(time.process_time() - cpu)
        course.train_loss.append(total)
        course.tested(place, tests)
    return course


def gradient_check(place: World, policy: Policy, cups: torch.Tensor) -> GradientReport:
    """The loss of a batch by all of the network's weights, against central differences."""
    own, exact = copy.deepcopy(policy), exactly(place)
    loss(exact.fly(own(cups), cups)).mean().backward()
    gradient = torch.cat([p.grad.reshape(-1) for p in own.parameters()]).numpy()
    start = torch.nn.utils.parameters_to_vector(own.parameters()).detach().numpy().copy()

    def runs(points: np.ndarray):
        found = []
        for point in points:
            torch.nn.utils.vector_to_parameters(torch.tensor(point), own.parameters())
            found.append(batch_loss(exact, own, cups))
        return zip(*found, strict=True)

    return check_gradient(runs, start, gradient, directions=2, label="weights")


@torch.no_grad()
def evaluated(policy: Policy, cups: torch.Tensor, friction: float, rate: int) -> dict:
    """Throws of a policy in a world of this friction, at the absent cup's rim.

    Offsets from the middle of the mouth in metres; None where no throw passes.
    """
    x = world(friction, rate).fly(policy(cups), cups)
    away = cups.numpy() / np.linalg.norm(cups.numpy(), axis=1, keepdims=True)
    off = offsets(x)
    missed = np.linalg.norm(off, axis=1)
    passed = np.isfinite(missed)
    found = {
        "loss": float(loss(x).mean()),
        "passing_once": float(passed.mean()),
        "hit_rate": float(hits(x).mean()),
        "clear_of_rim": float((missed < MOUTH - BALL).mean()),
    }
    if passed.any():
        found["median_offset"] = float(np.median(missed[passed]))
        found["largest_offset"] = float(missed[passed].max())
        found["mean_offset_along_throw"] = float((off * away).sum(1)[passed].mean())
    return found


@torch.no_grad()
def rests(policy: Policy, cups: torch.Tensor, friction: float) -> float:
    """Share of the throws that end in the cup, its walls simulated."""
    real = world(friction, FINE, cup=True, duration=2.0)
    return float(rests_inside(real.fly(policy(cups), cups)).mean())


def study(fraction: float = 1.0, seed: int = 0) -> dict:
    """Train with and without friction, test both; a tenth: 100 cups, fewer epochs, coarser."""
    whole = fraction >= 1
    rate = RATE if whole else COARSE
    generator = np.random.default_rng(seed)
    cups, tests = cups_at(share(TRAINING, fraction), generator), cups_at(TESTING, generator)
    figures: dict = {"cups": len(cups), "tests": TESTING, "batch": BATCH, "rate": rate}
    courses = {}
    for name, friction in (("friction", FRICTION), ("frictionless", 0.0)):
        course = train(world(friction, rate), cups, tests, EPOCHS if whole else 4, seed)
        courses[name], found = course, course.figures()
        found["with_friction"] = evaluated(course.policy, tests, FRICTION, rate)
        if whole:
            found["at_a_finer_step"] = evaluated(course.policy, tests, FRICTION, FINE)
            found["rests_in_the_real_cup"] = rests(course.policy, tests, FRICTION)
            found["hit_rate_over_c_f"] = {
                str(c): evaluated(course.policy, tests, c, rate)["hit_rate"] for c in FRICTIONS
            }
        figures[name] = found
    coarse = world(FRICTION, COARSE)
    policies = (Policy(), courses["friction"].policy)
    few = tests[: BATCH if whole else 2]
    reports = [gradient_check(coarse, policy, few) for policy in policies]
    report = GradientReport.merged(reports)
    figures["gradient"] = {"directions": len(report.checks), "worst": report.worst}
    spent = [second for name in courses for second in figures[name]["cpu_seconds"]]
    figures["cpu_seconds_per_epoch"] = float(np.mean(spent))
    figures["thesis_cpu_seconds_per_epoch"] = THESIS
    check(figures, report, whole)
    if whole:
        course = train(coarse, cups, tests, 2, seed, up=UP)
        figures["from_throws_upwards"] = {"up": UP} | course.figures()
        picture(figures, courses, tests, ROOT / "docs" / "images" / "learning.png")
    return figures


def check(figures: Mapping, report: GradientReport, whole: bool) -> None:
    """Bars: exact gradients, hits that training brings, and none for the frictionless policy."""
    assert report.passed, report.summary()
    learned, ignorant = figures["friction"], figures["frictionless"]
    assert learned["hit_rate"][0] < 0.1, learned["hit_rate"]
    assert learned["hit_rate"][-1] >= (0.97 if whole else 0.6), learned["hit_rate"]
    assert ignorant["hit_rate"][-1] >= (0.97 if whole else 0.6), ignorant["hit_rate"]
    assert ignorant["with_friction"]["hit_rate"] <= 0.1, ignorant["with_friction"]
    if whole:
        assert learned["rests_in_the_real_cup"] >= 0.9, learned["rests_in_the_real_cup"]


def picture(figures: Mapping, courses: Mapping, tests: torch.Tensor, path: Path) -> None:
    """Throws from the side, where they pass the rim, the course of learning, hits over c_f."""
    from diffsim_ros.viz import style

    looks = {
        "friction": (style.SIMULATED, "learned with friction"),
        "frictionless": (style.MEASURED, "learned without"),
    }
    with style.styled():
        figure = style.new_figure(12.0, 6.4)
        axes = figure.subplots(2, 2, width_ratios=(1.7, 1))
        chosen = torch.tensor([[0.85, -0.4], [1.2, 0.2], [1.5, 0.0], [1.75, 0.4]]).double()
        _side(axes[0, 0], courses, chosen, looks)
        _rim(axes[0, 1], courses, tests, looks)
        for name, (colour, label) in looks.items():
            found = figures[name]
            epochs = np.arange(len(found["test_loss"]))
            axes[1, 0].semilogy(epochs, found["test_loss"], "o-", color=colour, ms=4, label=label)
            over = found["hit_rate_over_c_f"]
            axes[1, 1].plot([float(c) for c in over], list(over.values()), "o-", color=colour, ms=4)
        axes[1, 0].set(title="loss on 100 unseen cups, each in its own world", xlabel="epoch")
        axes[1, 0].legend()
        axes[1, 1].set(title="hit rate over the world's friction coefficient", xlabel="c_f",
                       ylim=(-0.03, 1.03))  # fmt: skip
        path.write_bytes(style.png_bytes(figure, dpi=110))


def _side(axis, courses: Mapping, cups: torch.Tensor, looks: Mapping) -> None:
    place = world(FRICTION, RATE)
    away = np.linalg.norm(cups.numpy(), axis=1)
    for name, (colour, label) in looks.items():
        with torch.no_grad():
            x = place.fly(courses[name].policy(cups), cups).numpy()
        for k, (flight, cup) in enumerate(zip(x, cups.numpy(), strict=True)):
            forward = (flight[:, :2] + cup) @ cup / away[k]
            first = int(np.argmax(flight[:, 2] < BALL))
            later = np.flatnonzero(flight[first + 8 :, 2] < RIM / 2)
            end = first + 8 + int(later[0]) if len(later) else len(flight)
            style_of = "-" if name == "friction" else "--"
            axis.plot(forward[:end], flight[:end, 2], style_of, color=colour, lw=1.3,
                      label=label if k == 0 else None)  # fmt: skip
    for far in away:
        x = [far - MOUTH, far - MOUTH, far + MOUTH, far + MOUTH]
        axis.plot(x, [RIM, 0, 0, RIM], color="#1F2933", lw=2)
    axis.axhline(0, color="#6B7785", lw=1)
    axis.set(title="four throws in the world with friction", xlabel="towards the cup [m]",
             ylabel="height of the centre [m]", aspect="equal")  # fmt: skip
    axis.legend(loc="upper right")


def _rim(axis, courses: Mapping, tests: torch.Tensor, looks: Mapping) -> None:
    place, turn = world(FRICTION, RATE), np.linspace(0, 2 * np.pi, 100)
    for name, (colour, _) in looks.items():
        with torch.no_grad():
            off = offsets(place.fly(courses[name].policy(tests), tests))
        axis.plot(*(100 * off.T), "o", color=colour, ms=3)
    axis.plot(100 * MOUTH * np.cos(turn), 100 * MOUTH * np.sin(turn), color="#1F2933", lw=1.5)
    axis.set(title="where they fall past the rim, from its middle", xlabel="x [cm]",
             ylabel="y [cm]", aspect="equal")  # fmt: skip
