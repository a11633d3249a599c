"""A tenth of the study: 100 cups, four epochs; and what counts as a hit."""

import numpy as np
import pytest

pytest.importorskip("diffsim_ros._engine", reason="the engine is not built")
torch = pytest.importorskip("torch", reason="PyTorch is optional: pip install 'diffsim_ros[torch]'")

from validation.cup_game import (  # noqa: E402
    BALL,
    MOUTH,
    RIM,
    descents,
    hits,
    loss,
    offsets,
    rests_inside,
    world,
)
from validation.learning import study  # noqa: E402


def test_a_policy_learns_to_hit_and_misses_where_it_knew_no_friction():
    figures = study(0.1)
    learned, ignorant = figures["friction"], figures["frictionless"]
    for course in (learned, ignorant):
        assert course["test_loss"][-1] < 0.05 * course["test_loss"][0]
        assert course["with_friction"]["passing_once"] == 1.0
    # friction takes speed at the bounce, so all its throws are short
    assert ignorant["with_friction"]["mean_offset_along_throw"] < -0.1
    assert abs(learned["with_friction"]["mean_offset_along_throw"]) < 0.03
    assert figures["gradient"]["directions"] == 4


def bouncing(aside: float, low: float, rows: int = 91) -> torch.Tensor:
    """Two parabolas that meet on the floor, the second one falling past the rim at x = aside."""
    t = np.linspace(0, 0.9, rows)
    falling = low + 0.7 * (1 - (t / 0.3) ** 2)
    after = t - 0.3
    z = np.where(after < 0, falling, low + 0.3 * (1 - ((after - 0.3) / 0.3) ** 2))
    passing = 0.6 + 0.3 * np.sqrt(1 - (RIM - low) / 0.3)
    return torch.tensor(np.stack([aside + 0.5 * (t - passing), 0 * t, z], 1))


def test_a_hit_falls_through_the_mouth_after_a_touch():
    flights = torch.stack(
        [bouncing(0.01, 0.02), bouncing(-0.07, 0.02), bouncing(0.01, BALL + 1e-3)]
    )
    off = offsets(flights)
    assert off[:2, 0] == pytest.approx([0.01, -0.07], abs=1e-4)
    assert np.isnan(off[2]).all()  # it never touched
    assert list(hits(flights)) == [True, False, False]
    twice = torch.cat([bouncing(2.0, 0.02), bouncing(0.0, 0.02)])[None]
    assert offsets(twice)[0, 0] == pytest.approx(2.0, abs=1e-4)  # only until the second touch
    assert descents(twice)[0, 91:].sum() == 0


def test_the_loss_is_the_way_past_the_mouth_or_how_high_a_throw_without_a_bounce_goes():
    near = loss(torch.stack([bouncing(0.01, 0.02), bouncing(0.2, 0.02)]))
    across = np.array([0.01, 0.2]) / 0.1
    assert near[0] < across[0] ** 2 + 1e-3  # the distance may be shorter than along the rim
    assert 0.5 * across[1] ** 2 < near[1] < across[1] ** 2
    high = bouncing(0.01, BALL + 0.05)[None].requires_grad_()
    across = (high[0, -1, :2] / 0.1).square().sum()
    total = loss(high)[0]
    assert total.item() == pytest.approx((across + (high[0, :, 2].max() / 0.1) ** 2).item())
    (slope,) = torch.autograd.grad(total, high)
    assert slope[0, high[0, :, 2].argmax(), 2] > 0  # lower is better


def test_the_real_cup_catches_what_is_dropped_into_it_and_nothing_else():
    real = world(0.5, 9000, cup=True, duration=1.2)
    still = torch.zeros(3, 3, dtype=torch.float64)
    beside = torch.tensor([[0.0, 0.0], [MOUTH, 0.0], [0.2, 0.1]]).double()
    with torch.no_grad():
        x = real.fly(still, beside)
        free = world(0.5, 9000, duration=1.2).fly(still, beside)
    assert list(rests_inside(x))[::2] == [True, False]
    assert torch.equal(x[2], free[2])  # falls beside it
    struck = int((x[1] - free[1]).norm(dim=1).gt(1e-6).int().argmax())
    assert RIM < x[1, struck, 2] < RIM + BALL + 0.02 < x[1, struck - 2, 2] + 0.03
    assert abs(float(x[1, -1, 0]) + MOUTH) > 0.02  # off the rim
