"""What validation/arm_efforts.py reads; the study itself where the TIAGo's URDF is installed."""

import importlib.metadata

import numpy as np
import pytest

from diffsim_ros.sensing.read import read_trials
from validation import arm_efforts


def test_parts_of_the_log_begin_at_zero_and_do_not_overlap():
    (log,) = read_trials(arm_efforts.LOG, "joints")
    assert log.names[0] == "torso_lift_joint" and len(log.names) == 8
    assert not log.command and log.t[-1] < arm_efforts.END
    for trained, predicted in arm_efforts.FOLDS:
        held_out = arm_efforts.part(log, *predicted)
        assert held_out.t[0] == 0.0 and held_out.t[-1] > 9
        parts = [arm_efforts.part(log, *times) for times in trained]
        rows = np.concatenate([one.values["position"][:, 1] for one in (*parts, held_out)])
        assert len(rows) <= len(log.t)


def test_a_urdf_that_is_not_installed_is_asked_for(monkeypatch):
    monkeypatch.setattr(arm_efforts, "PACKAGE", "no-such-package-of-robots")
    with pytest.raises(ImportError, match="pip install no-such-package-of-robots"):
        arm_efforts.tiago_urdf()


def test_a_part_of_the_study():
    try:
        importlib.metadata.version(arm_efforts.PACKAGE)
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("the TIAGo's URDF is not installed")
    found = arm_efforts.study(0.25)
    assert found["warnings"] == 2 and len(found["folds"]) == 1
    assert found["ratio_to_five_coefficients"]["arm_4_joint"] < arm_efforts.BAR
