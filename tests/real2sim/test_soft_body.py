"""A soft body offered in place of a rigid one, in recordings that see its surface."""

from __future__ import annotations

import numpy as np
import pytest

from diffsim_ros.real2sim.alternatives import alternatives, by_law
from diffsim_ros.real2sim.config import load_estimation
from diffsim_ros.real2sim.experiment import experiment_of
from tests.real2sim.clouds_synthetic import estimation


def rigid(**body) -> dict:
    """A rigid thrown body before a camera, its contact and its inertia unknown."""
    content = estimation()
    content["scene"]["bodies"]["box"].update(body)
    content["measurement"]["turning"] = False

    def free(value, target):
        return {"value": value, "bounds": [value / 10, value * 10], "sets": {target: 1}}

    content["parameters"] |= {
        "stiffness": free(2e4, "ground.k_n"), "inertia": free(7e-4, "box.inertia.xx"),
        "gravity": {"value": -9.81, "fixed": True, "sets": {"gravity.z": 1}},
    }  # fmt: skip
    content["fit"]["continuation"] = {"stiffness": [1e4]}
    return content


@pytest.mark.parametrize("body", [{}, {"shape": {"sphere": {"radius": 0.08}}}], ids=["box", "ball"])
def test_a_rigid_body_is_offered_as_a_solid_of_its_mass_and_outline(body):
    config = load_estimation(rigid(**body))
    found, left_out = alternatives(config)
    soft = found["soft box"]
    assert not left_out
    assert list(soft.parameters) == ["c_f", "gravity", "young", "viscosity"]
    assert dict(soft.fit.continuation) == {}
    scene = experiment_of(soft).model.scene
    solid = scene.parts.bodies["box"]
    assert solid.SOFT and solid.total_mass() == pytest.approx(0.4, rel=1e-6)
    extents = np.ptp(solid.mesh.vertices, axis=0)
    wanted = [0.16, 0.12, 0.1] if not body else [0.16] * 3
    np.testing.assert_allclose(extents, wanted, rtol=0.05)
    (contact,) = scene.parts.contacts
    assert contact.k_n == pytest.approx(200 * 2e4) and contact.c_f == 0.5
    young = soft.parameters["young"]
    assert young.value == pytest.approx(1.5 * 2e4 / min(wanted)) and young.sets == {"box.young": 1}
    # rows of the rigid scene, and steps that its contact needs
    assert scene.options.step * scene.options.record_every == pytest.approx(1 / 240)
    assert by_law(soft, "soft") == ({}, ())


def test_poses_are_those_of_a_rigid_body(tmp_path):
    from tests.real2sim import synthetic

    np.savez(tmp_path / "t.npz", **synthetic.arrays())
    found, _ = alternatives(load_estimation(synthetic.estimation(str(tmp_path / "t.npz"))))
    assert found and not any(name.startswith("soft") for name in found)
