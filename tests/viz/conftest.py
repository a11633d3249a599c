"""A made-up estimation: smooth tosses whose simulation drifts away, and plausible figures."""

import datetime
from types import SimpleNamespace

import numpy as np
import pytest

from diffsim_ros.real2sim.comparison import PUBLISHED_NAME, QUANTITIES, SUFFIXES
from diffsim_ros.viz.estimation_page import write_page
from diffsim_ros.viz.motion import Motion, world_corners
from diffsim_ros.viz.pages import sections_of
from diffsim_ros.viz.summary import motion_of

EDGE = 0.1048
RATE = 148.0


FACTORS = {"mujoco": 1.6, "drake": 1.3}
"""Published errors over ours."""


def toss(number, drift, n=40):
    """A sliding, turning cube; the simulated one leaves it by `drift` [m] and 10 * drift [rad]."""
    t = np.arange(n) / RATE
    grown = np.clip(t / t[-1], 0, 1) ** 2
    height = EDGE / 2 + 0.1 * np.abs(np.cos(6 * t)) * np.exp(-4 * t)
    measured = np.stack([0.1 * number + 0.4 * t, 0.2 - 0.3 * t, height], axis=1)
    simulated = measured + np.outer(grown, [drift, -drift / 2, 0.0])
    turn = [quaternion_z(3 * t), quaternion_z(3 * t + 10 * drift * grown)]
    size = (EDGE,) * 3
    point = np.stack([world_corners(simulated[k], turn[1][k], size) for k in range(n)])
    force = np.zeros_like(point)
    force[n // 2 :, :4, 2] = 0.9
    motion = Motion(
        f"toss {number}", t, measured, turn[0], simulated, turn[1], (EDGE,) * 3, point, force
    )
    distance, angle = motion.position_error(), motion.rotation_error()
    errors = {
        "position_error_widths": float(distance.mean() / EDGE),
        "rotation_error_deg": float(np.degrees(angle.mean())),
        "e_q": float((distance**2 / (EDGE / 2) + angle**2).mean()),
    }
    keys = ("t", "measured_position", "measured_orientation", "simulated_position",
            "simulated_orientation", "size", "contact_point", "contact_force")  # fmt: skip
    fields = {key: getattr(motion, key) for key in keys}
    return SimpleNamespace(
        id=number, name=f"toss {number}", role="validate", source="made up", errors=errors,
        **fields,
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


def rival(predictions, name):
    """What comparison.compare reports of one simulator."""
    entry = {"tosses": len(predictions)}
    for q in predictions[0].errors:
        ours = np.array([p.errors[q] for p in predictions])
        theirs = FACTORS[name] * ours
        entry[q], entry[f"{q}_median"] = float(theirs.mean()), float(np.median(theirs))
        difference = float((ours - theirs).mean())
        entry[f"{q}_difference"] = difference
        entry[f"{q}_difference_interval"] = [1.5 * difference, 0.5 * difference]
    return entry


def publish(folder, predictions):
    """Write the table of published errors beside the predictions' source."""
    lines = ["toss_id," + ",".join(n + s for n in FACTORS for s in SUFFIXES.values())]
    for p in predictions:
        p.source = str(folder / "tosses.npz")
        ours = [p.errors[QUANTITIES[key]] for key in SUFFIXES]
        lines.append(",".join(map(repr, [p.id, *(f * v for f in FACTORS.values() for v in ours)])))
    (folder / PUBLISHED_NAME).write_text("\n".join(lines))


def made_up(folder, count=12):
    """An EstimationResult-like object with `count` validated tosses."""
    predictions = tuple(toss(i, 0.004 * (i + 1)) for i in range(count))
    publish(folder, predictions)
    figures = {q: float(np.mean([p.errors[q] for p in predictions])) for q in predictions[0].errors}
    published = {name: rival(predictions, name) for name in FACTORS}
    return SimpleNamespace(
        name="cube_toss",
        page="tosses",
        scene={"table.c_f": 0.2},
        derived=(),
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
            "train": {"tosses": 30},
            "validate": {"tosses": count, **figures, "published": published},
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
    """One toss of 40 frames with contacts."""
    return motion_of(toss(1, 0.02))


@pytest.fixture(scope="session")
def result(tmp_path_factory):
    """A made-up estimation of twelve validated tosses."""
    return made_up(tmp_path_factory.mktemp("tosses"))


@pytest.fixture(scope="session")
def page(result, tmp_path_factory):
    """Folder with its report and pictures, written once."""
    folder = tmp_path_factory.mktemp("report")
    written = datetime.datetime(2026, 1, 2)
    write_page(sections_of(result), folder / "report.html", written=written)
    return folder
