"""A seeded tenth of validation/halves.py, of what is quickly fitted."""

import numpy as np
import pytest

from diffsim_ros.real2sim.config import load_estimation
from diffsim_ros.real2sim.results import ParameterResult
from diffsim_ros.sensing.tosses import repeated
from validation.halves import FOLDER, OBJECTS, configurations, deviation, disjoint, study


def test_sets_of_recordings_are_compared():
    figures = study(fraction=0.1, seed=1, names=("planar_ellipse",))
    found = figures["planar_ellipse"]
    assert set(found["z"]) == {"friction", "damping", "tangential_slope", "inertia"}
    assert np.isfinite(found["rms"]) and len(found["sets"]) == 2
    assert all(min(one["halves"]["factors"].values()) >= 1.0 for one in found["sets"])
    assert all("bootstrap over 5 trials" in one["std_dev"] for one in found["sets"])


def test_no_recording_and_no_copy_of_one_is_in_two_sets():
    config = load_estimation(FOLDER / "cube_toss.yaml")
    sets = disjoint(config, 4, 50, seed=0)
    ids = [i for own in sets for i in own]
    assert len(ids) == len(set(ids)) == 200
    assert not set(ids) & set(repeated(config.train.files[0]))
    assert set(OBJECTS) == {p.stem for p in FOLDER.glob("*.yaml")} & set(OBJECTS)
    first, second = configurations("silicone_beam", 1.0, 0)
    assert [f.stem for f in (*first.train.files, *second.train.files)] == ["gravity_a", "gravity_b"]


def test_logarithmic_parameters_are_compared_by_their_ratio():
    one, other = (ParameterResult("k", "", v, 0.1 * v, None, None, True, False) for v in (1.0, 2.0))
    assert deviation(one, other, True) == pytest.approx(-np.log(2.0) / np.hypot(0.1, 0.1))
    assert deviation(one, other, False) == pytest.approx(-1.0 / np.hypot(0.1, 0.2))
