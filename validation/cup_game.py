"""A ball thrown into a cup after one bounce on the floor  [G 4.7.5]: world, policy, loss, hits.

The cup is at the origin and the thrower stands where the cup is measured from, so one world
serves every throw; positions below are those of the ball's centre relative to the cup's foot.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import nn

from diffsim_ros import _engine, torch_layer
from diffsim_ros.simulation import Scene, load_scene

BALL, MASS = 0.035, 0.057  # radius [m], [kg]: a tennis ball
RIM, MOUTH, WALL = 0.12, 0.06, 0.004  # height, inner radius and thickness of the cup [m]
BLEND = 0.01  # of its staves: a ball rolling around meets no edges [m]
HAND = 0.7  # height of the ball where it is let go [m]
NEAREST, FARTHEST, ASIDE = 0.8, 1.8, 0.5  # cups: x from, to; y from -, to + [m]
FRICTION = 0.5
ROWS = 200  # instants recorded a second
SPEED = 2.0  # of an output of one [m/s]
SOFTNESS, SCALE = 0.03, 0.1  # of the soft minimum; of the loss [m]
THROWN = tuple(f"ball.velocity.{axis}" for axis in "xyz")
PLACED = tuple(f"ball.position.{axis}" for axis in "xy")


@dataclass(frozen=True)
class World:
    """Where the ball flies: the model and where its entries stand."""

    model: Scene

    def fly(self, velocity: torch.Tensor, cups: torch.Tensor, threads: int = 0) -> torch.Tensor:
        """Positions (B, F, 3) relative to the cup's foot, differentiable by the velocity."""
        (x,) = torch_layer.rollout(
            self.model, torch.cat([-cups, velocity], 1), wrt=PLACED + THROWN,
            observe=["ball.position"], threads=threads,
        )  # fmt: skip
        return x


def world(
    friction: float, rate: int, *, cup: bool = False, duration: float = 1.3, k_n: float = 1.5e3
) -> World:
    """Floor and ball; `cup`: with the cup's own walls, which the ball may strike.

    rate  steps per second, a multiple of ROWS;  k_n  of the floor [N/m]: touches of 19 ms
    """
    scene: dict = {
        "world": {"step": 1 / rate, "duration": duration, "record_every": rate // ROWS},
        "bodies": {"ball": {
            "shape": {"sphere": {"radius": BALL}}, "mass": MASS, "contact_spheres": {"sphere": {}},
            "pose": {"position": [-1, 0, HAND]},
        }},
        "sdfs": {"floor": {"plane": {}}},
        "contact": [{"name": "floor", "points": "ball", "against": "floor", "k_n": k_n,
                     "c_n": 0.1, "c_f": friction, "k_t": 20}],
    }  # fmt: skip
    if cup:
        scene["sdfs"]["cup"] = {"union": {"of": _walls(), "width": BLEND}}
        scene["contact"].append({"name": "cup", "points": "ball", "against": "cup", "k_n": 1e5,
                                 "c_n": 0.5, "c_f": FRICTION, "k_t": 20})  # fmt: skip
    return World(load_scene(scene))


def _walls(staves: int = 24) -> list[dict]:
    """Bottom and staves of the cup: boxes, whose union's distance outside is exact at the rim."""
    width = 2 * (MOUTH + WALL) * np.tan(np.pi / staves)
    stave = {"box": {"size": [WALL, float(width), RIM]}}
    bottom = {"cylinder": {"height": WALL, "radius": MOUTH}}
    parts = [{"transform": {"of": bottom, "position": [0, 0, WALL / 2]}}]
    for turn in 2 * np.pi * np.arange(staves) / staves:
        place = (MOUTH + WALL / 2) * np.array([np.cos(turn), np.sin(turn)])
        parts.append({"transform": {
            "of": stave, "position": [*place.tolist(), RIM / 2], "rotation": [0, 0, float(turn)],
        }})  # fmt: skip
    return parts


def cups_at(count: int, generator: np.random.Generator) -> torch.Tensor:
    """Places (count, 2) of cups, even over the rectangle [m]."""
    x = generator.uniform(NEAREST, FARTHEST, count)
    return torch.tensor(np.stack([x, generator.uniform(-ASIDE, ASIDE, count)], 1))


class Policy(nn.Module):
    """Where the cup is (B, 2) [m] -> how the ball is thrown (B, 3) [m/s].

    Before training it throws at about `up` [m/s], straight upwards.
    """

    def __init__(self, up: float = 0.0, width: int = 32):
        super().__init__()
        layers = (nn.Linear(2, width), nn.ELU(), nn.Linear(width, width), nn.ELU())
        self.net = nn.Sequential(*layers, nn.Linear(width, 3)).double()
        with torch.no_grad():
            self.net[-1].bias[2] += up / SPEED

    def forward(self, cups: torch.Tensor) -> torch.Tensor:
        """See the class."""
        middle = torch.tensor([(NEAREST + FARTHEST) / 2, 0.0], dtype=cups.dtype)
        return SPEED * self.net((cups - middle) / ASIDE)


def descents(x: torch.Tensor) -> torch.Tensor:
    """Rows (B, F) in which the ball falls between its first and its second touch of the floor."""
    z = x.detach()[..., 2]
    touching = z < BALL
    left = torch.zeros_like(touching, dtype=torch.int64)
    left[:, 1:] = torch.cumsum(touching[:, :-1] & ~touching[:, 1:], 1)
    falling = torch.zeros_like(touching)
    falling[:, 1:] = z[:, 1:] < z[:, :-1]
    return (left == 1) & ~touching & falling


def loss(x: torch.Tensor) -> torch.Tensor:
    """Loss (B,) of flights (B, F, 3), per SCALE^2: |r|^2 of the soft minimum of the distance to the
    cup's mouth over the descent after the bounce.

    Throws that have none, as they touch nothing in time, get the horizontal distance of their last
    instant and a penalty, the height they reach: however they fail, lower throws bounce
    earlier.
    """
    rows, z = descents(x), x[..., 2]
    none = ~rows.any(1)
    rows[:, -1] |= none
    r = torch_layer.soft_minimum(x - x.new_tensor([0.0, 0.0, RIM]), SOFTNESS, rows)
    upright = torch.where(none, z.max(1).values, r[:, 2])
    return (r[:, :2].square().sum(1) + upright.square()) / SCALE**2


def offsets(x: torch.Tensor) -> np.ndarray:
    """Where the ball falls through the plane of the rim after one bounce, from the axis (B, 2).

    NaN where it never does.  Straight between rows (0.03 mm).
    """
    rows, z = descents(x), x[..., 2]
    through = rows[:, 1:] & (z[:, :-1] >= RIM) & (z[:, 1:] < RIM)
    found, first = through.any(1), through.int().argmax(1)
    each = torch.arange(len(x))
    above, below = x[each, first], x[each, first + 1]
    share = ((above[:, 2] - RIM) / (above[:, 2] - below[:, 2]))[:, None]
    place = (above + share * (below - above))[:, :2]
    return np.where(found[:, None], place.numpy(), np.nan)


def hits(x: torch.Tensor) -> np.ndarray:
    """Whether the ball's centre (B,) falls through the disc of the mouth after one bounce."""
    return np.linalg.norm(offsets(x), axis=1) < MOUTH


def rests_inside(x: torch.Tensor) -> np.ndarray:
    """Whether the ball (B,) ends in the cup: below the rim, within the walls."""
    end = x[:, -1].numpy()
    return (end[:, 2] < RIM) & (np.linalg.norm(end[:, :2], axis=1) < MOUTH)


def exactly(place: World) -> World:
    """The same steps, Newton to stagnation, branches recorded: for gradient checks."""
    options = place.model.options
    exact = _engine.Options(
        step=options.step, order=options.order, spectral_radius=options.spectral_radius,
        record_every=options.record_every, stagnate=True, record_modes=True,
    )  # fmt: skip
    return World(replace(place.model, options=exact))


@torch.no_grad()
def batch_loss(place: World, policy: nn.Module, cups: torch.Tensor) -> tuple[float, tuple]:
    """Mean loss, and the branches taken: by the engine's own batch, without the layer."""
    given = torch.cat([-cups, policy(cups)], 1).numpy()
    batch = place.model.rollout_batch(dict(zip(PLACED + THROWN, given.T, strict=True)))
    x = torch.tensor(batch.stacked("ball.position"))
    taken = (*(int(run.mode_hash) for run in batch), descents(x).numpy().tobytes())
    return float(loss(x).mean()), taken
