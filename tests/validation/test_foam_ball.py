"""Recordings of a coarse ball, estimated by the same model: what is left is the sensor's noise."""

import numpy as np
import pytest

pytest.importorskip("open3d", exc_type=ImportError)

from validation.foam_ball import RATE, Numerics, estimated, recorded


def test_the_noise_alone_stays_within_its_intervals():
    """The whole chain, rendering to covariance; the mesh's own errors are the full study's."""
    how = Numerics(element="p1", step=1 / 240)
    fit = estimated(*recorded(3, how.same(RATE)), how)
    z = np.array([p["z"] for p in fit["parameters"].values()])
    ratio = np.array([p["sigma_over_bound"] for p in fit["parameters"].values()])
    assert len(z) == 9 and np.abs(z).max() < 3.3, fit["parameters"]
    assert ratio.max() < 1.5 and ratio.min() > 0.6, fit["parameters"]
    assert fit["chi_square_per_point"] == pytest.approx(1.0, abs=0.15)
    assert abs(fit["floor"]["offset_m"]) < 5 * fit["floor"]["sigma_m"] + 1e-4
    stages = {row["stage"]: row for row in fit["pipeline"]}
    assert stages["planes"]["points_in"] > 5000 and stages["object"]["points_out"] > 400
