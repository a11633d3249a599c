"""What tests of several signed distance functions share."""

import numpy as np
import pytest


@pytest.fixture
def points():
    return np.random.default_rng(0).uniform(-1, 1, (600, 3))
