"""Small vibrations against closed forms and scikit-fem, and their derivatives."""

import numpy as np
import pytest

from diffsim_ros import _engine
from diffsim_ros.errors import InputError
from diffsim_ros.meshes import box, quadratic
from diffsim_ros.statics import equilibrium, modes
from tests.statics.scenes import (
    GRAVITY,
    cantilever,
    cube_on_plane,
    jointed_arm,
    on_spring,
    stretched_string,
)


def hertz(omega_squared):
    return np.sqrt(omega_squared) / (2 * np.pi)


def test_a_mass_on_a_spring_bounces_and_swings():
    found = modes(on_spring(), count=3)
    swing, bounce = GRAVITY / (0.1 + 0.3 * GRAVITY / 120), 120 / 0.3
    assert found.frequency == pytest.approx(hertz([swing, swing, bounce]), rel=1e-9)
    assert found.clusters == ((0, 1),)
    assert np.abs(found.shape[2]) == pytest.approx(np.array([[0, 0, 1.0]]), abs=1e-9)
    names = ["bob.mass", "spring.stiffness", "spring.rest_length", "gravity.z"]
    by = found.derivatives(names)
    f, length = found.frequency, 0.1 + 0.3 * GRAVITY / 120
    # omega^2 = g/length: -d(length) by m, k and l_0; by g_z = -g also directly
    along = [-GRAVITY / 120, 0.3 * GRAVITY / 120**2, -1, 0.3 / 120 - length / GRAVITY]
    assert by[0] == pytest.approx(f[0] / 2 / length * np.array(along), rel=1e-6)
    assert by[1] == pytest.approx(by[0])
    assert by[2] == pytest.approx([-f[2] / 2 / 0.3, f[2] / 2 / 120, 0, 0], rel=1e-6, abs=1e-7)


def test_a_string_of_masses_has_the_modes_of_a_stretched_chain():
    count, length, stiffness, rest, mass = 9, 1.0, 2000.0, 0.08, 0.01
    found = modes(stretched_string(count, length, stiffness, rest, mass), count=3 * count)
    spacing = length / (count + 1)
    tension = stiffness * (spacing - rest)
    wave = 4 * np.sin(np.arange(1, count + 1) * np.pi / (2 * (count + 1))) ** 2 / mass
    want = np.sort(np.concatenate([2 * [tension / spacing * w for w in wave], stiffness * wave],
                                  axis=None))  # fmt: skip
    assert found.frequency == pytest.approx(hertz(want), rel=1e-9)


def elasticity(vertices, tets, young, poisson, density):
    """(K, M) of linear elasticity in scikit-fem, and their rows (vertex, axis)."""
    from skfem import Basis, BilinearForm, ElementTetP2, ElementVector, MeshTet, asm
    from skfem.helpers import dot
    from skfem.models.elasticity import lame_parameters, linear_elasticity

    corners, used = np.unique(tets[:, :4], return_inverse=True)
    mesh = MeshTet(vertices[corners].T.copy(), used.reshape(-1, 4).T.copy())
    basis = Basis(mesh, ElementVector(ElementTetP2()), intorder=4)
    K = asm(linear_elasticity(*lame_parameters(young, poisson)), basis)
    return K, density * asm(BilinearForm(lambda u, v, _: dot(u, v)), basis), basis.doflocs


def test_a_beams_modes_are_scikit_fems():
    pytest.importorskip("skfem")
    from scipy.linalg import eigh

    shape, young, poisson, density = {"cells": (6, 1, 1)}, 2e9, 0.3, 1000.0
    s, _ = cantilever(**shape, gravity=0.0)
    found = modes(s, count=8)
    vertices, tets = quadratic(*box((1.0, 0.04, 0.05), shape["cells"]))
    K, M, where = elasticity(vertices + np.array([0.5, 0, 0]), tets, young, poisson, density)
    keep = np.flatnonzero(where[0] > 1e-9)
    want = eigh(K.toarray()[np.ix_(keep, keep)], M.toarray()[np.ix_(keep, keep)],
                subset_by_index=(0, 7), eigvals_only=True)  # fmt: skip
    assert found.frequency == pytest.approx(hertz(want), rel=1e-8)


def test_a_slender_beam_vibrates_as_euler_and_bernoulli_say():
    length, width, height, young, density = 1.0, 0.04, 0.05, 2e9, 1000.0
    s, _ = cantilever(length, height, width, (24, 1, 1), gravity=0.0, young=young, poisson=0.0,
                      density=density)  # fmt: skip
    found = modes(s, count=4)
    first, second = 1.875104**2, 4.694091**2
    side, up = (np.sqrt(young * t**2 / 12 / density) / (2 * np.pi) for t in (width, height))
    want = [first * side, first * up, second * side, second * up]
    assert found.frequency == pytest.approx(want, rel=0.015)
    assert found.frequency[:2] == pytest.approx(want[:2], rel=3e-3)
    tip = found.shape[1][np.argmax(np.linalg.norm(found.shape[1], axis=1))]
    assert abs(tip[2]) == pytest.approx(1, abs=1e-3)  # the second one bends up and down


def test_a_free_body_has_six_rigid_modes():
    vertices, tets = quadratic(*box((0.3, 0.04, 0.05), (4, 1, 1)))
    s = _engine.Scene()
    s.set_gravity([0, 0, 0])
    s.add_solid("bar", vertices=vertices, tets=tets, density=1000.0, young=1e7, poisson=0.3,
                element="p2")  # fmt: skip
    found = modes(s, count=8)
    assert found.kind[:8] == ("rigid",) * 6 + ("vibration",) * 2
    assert np.all(found.frequency[:6] == 0) and np.all(found.frequency[6:] > 40)
    assert len(found.derivatives(["bar.young"])) == 2


def test_a_block_on_a_table_bounces_on_its_contact_stiffness():
    found = modes(cube_on_plane(k_n=2e4, mass=0.5), count=6)
    assert found.kind[:6] == ("rigid",) * 3 + ("vibration",) * 3
    assert found.frequency[3:] == pytest.approx(
        hertz(np.sort([1e4 / 0.5, *rocking(2e4, 0.5)])), rel=1e-9
    )


def rocking(k_n, mass):
    """omega^2 of a cube of edge 0.1 m about its two level axes, on four corners."""
    lean = k_n / 2 * 0.05**2 - mass * GRAVITY * 0.05  # the feet's stiffness, less the weight's
    return 2 * [lean / (mass * 0.1**2 / 6)]


def shifted(s, name, by):
    p = s.values
    p[s.index(name)] += by
    return p


SOFT = {"cells": (4, 1, 1), "height": 0.1, "width": 0.08, "young": 2e5}
CASES = [
    (lambda: cantilever(**SOFT)[0],
     ["beam.young", "beam.poisson", "beam.density", "gravity.z"]),
    (jointed_arm, ["upper.mass", "lower.mass", "lower.inertia.yy", "upper.inertia.xz",
                   "stays.stiffness", "stays.rest_length", "elbow.stiffness", "gravity.x"]),
    (lambda: cube_on_plane(k_n=2e4, mass=0.5), ["cube.mass", "floor.k_n", "cube.inertia.zz"]),
]  # fmt: skip


AT_START = [(CASES[0][0], CASES[0][1]),
            (jointed_arm, [*CASES[1][1], "upper.rotation.x", "lower.position.z"])]  # fmt: skip


@pytest.mark.parametrize(
    ("make", "names", "at"),
    [(*case, "equilibrium") for case in CASES] + [(*case, "start") for case in AT_START],
    ids=["beam", "arm", "cube", "beam at start", "arm at start"],
)
def test_derivatives_of_frequencies_are_those_of_differences(make, names, at):
    s = make()
    found = modes(s, count=6, at=at)
    by = found.derivatives(names)
    which = found.vibrations
    assert len(which) >= 3
    for j, name in enumerate(names):
        eps = 1e-5 * abs(s.values[s.index(name)]) or 1e-6
        high, low = (modes(s, shifted(s, name, side * eps), 6, at=at) for side in (1, -1))
        difference = (high.frequency - low.frequency)[which] / (2 * eps)
        groups = [found.group(i) for i in which]
        difference = [np.mean(difference[[which.index(g) for g in group]]) for group in groups]
        scale = 1e-10 * np.abs(found.frequency).max() / eps
        assert by[:, j] == pytest.approx(difference, rel=1e-5, abs=scale), name


def test_a_column_that_buckles_is_unstable_about_its_start():
    s = on_spring(rest_length=0.5)
    p = s.values
    p[s.index("bob.position.z")] = 0.4
    found = modes(s, p, 3, at="start")
    assert found.kind[:2] == ("unstable",) * 2 and found.frequency[0] == 0
    assert found.omega_squared[0] < 0 and found.vibrations == [2]


def test_forces_without_potential_and_bad_counts_are_refused():
    s, _ = cantilever(cells=(2, 1, 1))
    with pytest.raises(InputError, match="count: got 0"):
        modes(s, count=0)
    with pytest.raises(InputError, match="at: got 'end'"):
        modes(s, at="end")
    s = jointed_arm()
    s.add_points("rim", bodies=["lower"], local=[[0.2, 0, 0]])
    s.add_point_force("thrust", points="rim", force=[0, 0.5, 2.0], frame="body")
    assert equilibrium(s).residual < 1e-8
    with pytest.raises(InputError, match="not symmetric"):
        modes(s)
