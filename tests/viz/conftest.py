"""A made-up estimation: smooth tosses whose simulation drifts away, and plausible figures."""

import datetime
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from diffsim_ros.real2sim.results import Verdict
from diffsim_ros.real2sim.sensors.pose.experiment import PosePrediction
from diffsim_ros.viz.estimation_page import write_page
from diffsim_ros.viz.kinds.poses import motions_of
from diffsim_ros.viz.motion import Motion, corners
from diffsim_ros.viz.pages import sections_of

EDGE = 0.1048
RATE = 148.0
CUBE = (EDGE, EDGE, EDGE)


def toss(number, drift, n=40):
    """A sliding, turning cube; the simulated one leaves it by `drift` [m] and 10 * drift [rad]."""
    t = np.arange(n) / RATE
    grown = np.clip(t / t[-1], 0, 1) ** 2
    height = EDGE / 2 + 0.1 * np.abs(np.cos(6 * t)) * np.exp(-4 * t)
    measured = np.stack([0.1 * number + 0.4 * t, 0.2 - 0.3 * t, height], axis=1)
    simulated = measured + np.outer(grown, [drift, -drift / 2, 0.0])
    turn = [quaternion_z(3 * t), quaternion_z(3 * t + 10 * drift * grown)]
    point = simulated[:, None] + corners(CUBE) @ Rotation.from_quat(turn[1]).as_matrix().mT
    force = np.zeros((n, 8, 3))
    force[n // 2 :, :4, 2] = 0.9
    motion = Motion(f"toss {number}", t, measured, turn[0], simulated, turn[1], CUBE)
    distance, angle = motion.position_error(), np.degrees(motion.rotation_error())
    errors = {
        "position_error_m": float(distance.mean()), "final_position_error_m": float(distance[-1]),
        "rotation_error_deg": float(angle.mean()), "final_rotation_error_deg": float(angle[-1]),
    }  # fmt: skip
    poses = ((measured, turn[0]), (simulated, turn[1]))
    return PosePrediction(
        number, "validate", "made up", t, 0, ("cube",), ("box",), (CUBE,),
        *(np.concatenate(pose, axis=1)[:, None] for pose in poses), point, force, errors,
    )  # fmt: skip


def quaternion_z(angle):
    """Quaternions x, y, z, w (n, 4) of turns about z [rad]."""
    zero = np.zeros_like(angle)
    return np.stack([zero, zero, np.sin(angle / 2), np.cos(angle / 2)], axis=1)


def parameter(name, value, std_dev, **more):
    """A ParameterResult-like object."""
    base = {"unit": "1", "lower": 0.0, "upper": 1.0, "identifiable": True, "at_bound": False,
            "note": "", "fixed": False, "start": None}  # fmt: skip
    return SimpleNamespace(name=name, value=value, std_dev=std_dev, **{**base, **more})


def figures(predictions):
    """Mean, median and an interval of every figure."""
    found = {}
    for name in predictions[0].errors:
        values = [p.errors[name] for p in predictions]
        found[name], found[f"{name}_median"] = float(np.mean(values)), float(np.median(values))
        found[f"{name}_interval"] = [0.9 * found[name], 1.1 * found[name]]
    return found


def made_up(count=12):
    """An EstimationResult-like object with `count` validated tosses."""
    predictions = tuple(toss(i, 0.004 * (i + 1)) for i in range(count))
    return SimpleNamespace(
        name="cube_toss",
        kind="poses",
        scene={"table.c_f": 0.2},
        derived=(),
        at_rest=(),
        status="converged",
        message="relative decrease 3e-6 below 1e-5 after 4 iterations",
        parameters=(
            parameter("friction", 0.2134, 0.0021),
            parameter("stiffness", 5200.0, 210.0, unit="N/m", lower=100.0, upper=1e5),
            parameter("radius", 0.01, None, unit="m", upper=0.01, at_bound=True),
            parameter("scale", 1.0, 0.1, identifiable=False, note="correlated 0.995 with radius"),
            parameter("mass", 0.37, None, unit="kg", lower=None, upper=None, fixed=True),
        ),
        correlated=("friction", "stiffness", "radius", "scale"),
        correlation=np.eye(4) + 0.5 * (1 - np.eye(4)),
        metrics={
            "train": {"recordings": 30},
            "validate": {"recordings": count, **figures(predictions)},
        },
        history=tuple(
            SimpleNamespace(
                phase="soft" if i < 2 else "stiff",
                iteration=i,
                objective=10.0 / (i + 1),
                parameters={},
            )
            for i in range(5)
        ),
        predictions=predictions,
        dropped={"missing frames": 3, "failed rollouts": 0},
        notes=("a note <with> markup & signs",),
        verdict=Verdict("usable", "residuals are not noise", ("free table.k_t",)),
        profiles=(
            SimpleNamespace(
                name="friction",
                unit="1",
                value=0.2134,
                values=np.array([0.209, 0.2134, 0.219]),
                rise=np.array([5.0, 0.0, 6.0]),
                low=0.2095,
                high=None,
                threshold=3.84,
                logarithmic=False,
            ),
        ),
        bands=(
            SimpleNamespace(
                trial="toss 3",
                t=np.array([0.1, 0.2, 0.3]),
                band=SimpleNamespace(
                    name="pose",
                    inside=0.97,
                    widest=1,
                    residual=np.array([[0.1, 0.5], [0.2, -1.0], [0.0, 0.7]]),
                    sigma=np.array([[0.1, 0.2], [0.1, 0.4], [0.1, 0.9]]),
                ),
            ),
        ),
        provenance={
            "configuration": "cube.yaml",
            "data": [{"source": "a.npz", "sha256": "ab" * 32}],
        },
        config={
            "data": {"train": {"files": ["a.npz"], "trials": {"random": 30, "seed": 1}}},
            "parameters": {"friction": {"value": 0.3, "prior_mean": 0.2, "prior_sigma": 0.1}},
        },
    )


@pytest.fixture
def motion():
    """One toss of 40 frames."""
    return motions_of(toss(1, 0.02))[0]


@pytest.fixture
def prediction():
    """The same toss with its contacts."""
    return toss(1, 0.02)


@pytest.fixture(scope="session")
def result():
    """A made-up estimation of twelve validated tosses."""
    return made_up()


@pytest.fixture(scope="session")
def page(result, tmp_path_factory):
    """Folder with its report and pictures, written once."""
    folder = tmp_path_factory.mktemp("report")
    written = datetime.datetime(2026, 1, 2)
    write_page(sections_of(result), folder / "report.html", written=written)
    return folder
