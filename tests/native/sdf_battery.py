"""The derivative battery of signed distance functions: value, normal and curvature."""

import numpy as np
import pytest


def check_sdf(sdf, points, unit=True, smooth_share=2.9 / 3):
    """g, n, kappa are each other's derivatives at points away from region borders.

    unit   the gradient has length 1 (g is a distance, not a bound)
    """
    g, n, kappa, region = sdf.evaluate(points)
    if unit:
        assert np.linalg.norm(n, axis=1) == pytest.approx(1)
    assert kappa == pytest.approx(np.swapaxes(kappa, 1, 2))
    assert region.min() >= 0
    assert region.max() < sdf.regions
    eps, smooth = 1e-6, 0
    for axis in range(3):
        step = eps * np.eye(3)[axis]
        gp, np_, _, rp = sdf.evaluate(points + step)
        gm, nm, _, rm = sdf.evaluate(points - step)
        inside = (rp == region) & (rm == region)
        smooth += inside.sum()
        assert ((gp - gm) / (2 * eps))[inside] == pytest.approx(n[inside, axis], abs=1e-8)
        slope = (np_ - nm) / (2 * eps)
        assert slope[inside] == pytest.approx(kappa[inside, :, axis], abs=1e-6, rel=1e-6)
    assert smooth > 3 * smooth_share * len(points)
    return g, region


def check_sizes(make, points):
    """Derivatives by each of `make(*sizes)`'s sizes, away from region borders; make().sizes are
    its own in the order of its arguments."""
    sdf = make()
    values = np.array(list(sdf.sizes.values()))
    _, _, _, region = sdf.evaluate(points)
    by_g, by_n = sdf.slopes(points)
    eps, smooth = 1e-6, 0
    for k in range(len(values)):
        ends = [make(*(values + sign * eps * np.eye(len(values))[k])) for sign in (1, -1)]
        (gp, np_, _, rp), (gm, nm, _, rm) = (end.evaluate(points) for end in ends)
        inside = (rp == region) & (rm == region)
        smooth += inside.sum()
        assert ((gp - gm) / (2 * eps))[inside] == pytest.approx(by_g[inside, k], abs=1e-8)
        slope = (np_ - nm) / (2 * eps)
        assert slope[inside] == pytest.approx(by_n[inside, k], abs=1e-6, rel=1e-6)
    assert smooth > 0.95 * len(values) * len(points)
