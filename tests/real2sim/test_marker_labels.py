"""Markers without labels, swapped ones, outliers and gaps: found again, or refused."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from diffsim_ros.errors import InputError
from diffsim_ros.real2sim.config import load_estimation
from diffsim_ros.real2sim.experiment import kind_of
from diffsim_ros.real2sim.sensors.marker.labels import identified, labelled
from tests.real2sim.markers_synthetic import estimation, record

PLACES = np.array(
    [[0.03, 0.0, 0.0], [-0.02, 0.025, 0.0], [0.0, -0.03, 0.01], [0.01, 0.012, 0.034], [0, 0, -0.03]]
)
T = np.arange(200) / 120.0
SEED = 7
LIMITS = {"tolerance": 2e-3, "gate": 0.01}


@pytest.fixture
def rng():
    return np.random.default_rng(SEED)


def thrown(rng, noise=2e-4):
    """Markers (n, m, 3) of a body that flies and spins at 12 rad/s."""
    centre = np.array([0.1, 0.2, 1.0]) + T[:, None] * [1.0, 0.3, 2.0]
    centre = centre - 0.5 * 9.81 * np.outer(T**2, [0, 0, 1])
    turn = Rotation.from_rotvec(np.outer(T, [3.0, 11.0, 4.0]))
    x = np.stack([turn.apply(p) for p in PLACES], axis=1) + centre[:, None]
    return x + noise * rng.normal(size=x.shape)


def unlabelled(x, rng, strays=3):
    """The same in any order, another in every frame, among points of other things."""
    other = rng.uniform(-1, 3, (len(x), strays, 3))
    every = np.concatenate([x, other], axis=1)
    return np.stack([rng.permutation(frame) for frame in every])


def test_points_without_labels_become_the_markers_through_gaps(rng):
    x = thrown(rng)
    x[50:70, 1] = np.nan
    x[100:104, [0, 2]] = np.nan
    found = labelled("r", T, unlabelled(x, rng), PLACES, own=None, **LIMITS)
    np.testing.assert_array_equal(found.position, x)
    assert found.strays == 3 * len(T) and "600 points of no marker" in found.sentence("r")


def test_markers_hidden_at_the_start_are_found_both_ways(rng):
    x = thrown(rng)
    x[:8, 3] = np.nan
    found = labelled("r", T, unlabelled(x, rng), PLACES, own=None, **LIMITS)
    np.testing.assert_array_equal(found.position, x)


def test_swaps_are_undone_and_outliers_left_out(rng):
    x = thrown(rng)
    observed = x.copy()
    observed[60:90, [1, 3]] = x[60:90, [3, 1]]
    observed[120, 2] += [0.05, 0.0, 0.0]
    expected = x.copy()
    expected[120, 2] = np.nan
    found = labelled("r", T, observed, PLACES, own=np.arange(5), **LIMITS)
    np.testing.assert_array_equal(found.position, expected)
    assert found.swaps == (60, 90) and found.outliers == 1
    assert found.sentence("r") == (
        "r: labels changed in 2 frames (60, 90) and were put right; 1 outliers left out"
    )


def test_what_is_in_order_stays_and_nothing_is_told(rng):
    x = thrown(rng)
    found = labelled("r", T, x, PLACES, own=np.arange(5), **LIMITS)
    np.testing.assert_array_equal(found.position, x)
    assert found.sentence("r") == ""


def test_alike_places_are_refused_unless_labels_decide(rng):
    square = 0.05 * np.array([[1, 1, 0], [-1, 1, 0], [-1, -1, 0], [1, -1, 0]])
    with pytest.raises(InputError, match=r"points \[0, 1, 2, 3\] and .* fit equally well"):
        identified("r, frame 0", square + 0.3, square, None, 2e-3)
    own = np.array([0, 1, 2, 3])
    np.testing.assert_array_equal(identified("r", square + 0.3, square, own, 2e-3), own)


def test_what_is_not_there_is_not_found(rng):
    x = 1e3 * thrown(rng)
    with pytest.raises(InputError, match="unit the metre"):
        labelled("r", T, x, PLACES, own=None, **LIMITS)


def test_an_estimation_reads_points_without_names_and_tells_of_swaps(tmp_path, rng):
    path = record(tmp_path / "free_1.csv", noise=5e-5, seed=1, after=0.3)
    t, table = np.split(np.loadtxt(path, delimiter=",", skiprows=1), [1], axis=1)
    x = table.reshape(len(t), -1, 3)

    def read(name, points, names, labels):
        header = ",".join(["t", *(f"{n}_{axis}" for n in names for axis in "xyz")])
        rows = np.column_stack([t, points.reshape(len(t), -1)])
        np.savetxt(tmp_path / name, rows, delimiter=",", header=header, comments="", fmt="%.9f")
        config = load_estimation(estimation([tmp_path / name], measurement={"labels": labels}))
        data = kind_of("markers")(config).read({})
        return data.train[0], data.notes

    markers = path.read_text().splitlines()[0].split(",")[1::3]
    names = [column[:-2] for column in markers]
    plain, _ = read("free_2.csv", x, names, "given")
    nameless, notes = read("free_3.csv", unlabelled(x, rng, 0), "abcd", "none")
    np.testing.assert_array_equal(nameless.position, plain.position)
    swapped = x.copy()
    swapped[50:, [0, 1]] = x[50:, [1, 0]]
    repaired, notes = read("free_4.csv", swapped, names, "repaired")
    np.testing.assert_array_equal(repaired.position, plain.position)
    assert "labels changed in 1 frames (50)" in notes[0]
