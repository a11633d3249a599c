"""Forces on regions of soft bodies: shared by area, in equal parts, and what is refused."""

import numpy as np
import pytest

from diffsim_ros.errors import InputError
from diffsim_ros.scene import load_scene
from diffsim_ros.statics import equilibrium

SIZE, YOUNG, PULL = [0.1, 0.06, 0.04], 1e5, 60.0
END = {"box": {"centre": [0.05, 0, 0], "size": [1e-6, 1, 1]}}


def pulled(element="p1", body=None, **force):
    """A bar along x, of cells graded across it, clamped at one end, pulled at the other."""
    shape = {"box": {"size": SIZE, "cells": [3, 3, 2], "grading": [1, 6, 3]}}
    bar = {
        "type": "solid",
        "shape": shape,
        "density": 1000,
        "young": YOUNG,
        "poisson": 0,
        "element": element,
        "pinned": [{"plane": {"normal": [1, 0, 0], "offset": -0.05}}],
    }
    link = {"name": "pull", "type": "force", "body": "bar", "where": END, "force": [PULL, 0, 0]}
    world = {"step": 0.01, "duration": 0.1, "gravity": [0, 0, 0]}
    return load_scene({"world": world, "bodies": {"bar": bar | (body or {})},
                       "links": [link | force]})  # fmt: skip


def unevenness(model):
    """(largest distance from the closed form's uniform stretch, displacement of the end) [m]."""
    rest = model.parts.bodies["bar"].rest_nodes()
    found = equilibrium(model.engine)
    # neo-Hooke without Poisson effect: P = E/2 (s - 1/s)
    t = PULL / (SIZE[1] * SIZE[2]) / YOUNG
    stretch = t + np.sqrt(t * t + 1)
    want = rest.copy()
    want[:, 0] = stretch * (rest[:, 0] + 0.05) - 0.05
    return np.abs(found.position - want).max(), (stretch - 1) * SIZE[0]


@pytest.mark.parametrize("element", ["p1", "p1_fbar", "p2", "p2_p0"])
def test_uniform_traction_stretches_a_graded_bar_uniformly(element):
    error, moved = unevenness(pulled(element))
    assert moved > 0.01
    assert error < 1e-7 * moved


@pytest.mark.parametrize("element", ["p1", "p2"])
def test_equal_parts_do_not(element):
    error, moved = unevenness(pulled(element, sharing="equal"))
    assert error > 0.02 * moved


def forces(model, name="pull"):
    """(forces on the vertices (n, 3), their sum) at the start."""
    s = model.engine
    position = s.start_pose(s.values, [])[0]
    zero = np.zeros_like(position)
    r = s.evaluate_element(name, s.values, [[position, zero, zero, zero]] * 2, 0.01)["r"]
    found = -r.reshape(-1, 3)
    return found, found.sum(axis=0)


@pytest.mark.parametrize("where", [END, {"all": {}}, [100]])
@pytest.mark.parametrize("sharing", [None, "equal"])
def test_the_total_is_the_force_given(where, sharing):
    model = pulled("p2", where=where, force=[1, -2, 3], **({"sharing": sharing} if sharing else {}))
    assert forces(model)[1] == pytest.approx([1, -2, 3], rel=1e-12)
    assert model.engine.values[model.engine.index("pull.force[0].z")] == 3
    resolved = model.description["links"][0]["sharing"]
    assert resolved == (sharing or ("area" if where == END else "equal"))


def test_cloth_takes_a_pressure_by_area():
    sheet = {"type": "cloth", "shape": {"rectangle": {"size": [1.0, 0.6], "cells": [4, 3]}},
             "mass_per_area": 0.2, "stretch": {"stiffness": 100}}  # fmt: skip
    world = {"step": 0.01, "duration": 0.1}
    link = {"name": "pull", "type": "force", "body": "sheet", "where": {"all": {}},
            "force": [0, 0, 1.2]}  # fmt: skip
    model = load_scene({"world": world, "bodies": {"sheet": sheet}, "links": [link]})
    found, total = forces(model)
    assert total == pytest.approx([0, 0, 1.2])
    # inner vertices have a cell each
    inner = np.abs(model.parts.bodies["sheet"].rest_nodes()[:, :2]) < [0.499, 0.299]
    assert found[inner.all(axis=1), 2] == pytest.approx(1.2 / 12)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"where": {"plane": {"normal": [1, 0, 0], "offset": -0.05}}},
         r"links\[0\].where: .*at least one vertex that is not pinned"),
        ({"where": [47], "sharing": "area"}, r"sharing: got 'area'; accepted: equal: the region"),
        ({"sharing": "areas"}, "sharing: got 'areas'"),
    ],
)  # fmt: skip
def test_bad_loads_are_refused(change, message):
    with pytest.raises(InputError, match=message):
        pulled(**change)


def test_a_particle_has_no_sharing():
    bodies = {"ball": {"type": "particle", "mass": 1}}
    link = {"name": "pull", "type": "force", "body": "ball", "force": [1, 0, 0], "sharing": "area"}
    scene = {"world": {"step": 0.01, "duration": 0.1}, "bodies": bodies, "links": [link]}
    with pytest.raises(InputError, match="sharing: got 'area'; accepted: no sharing on a particle"):
        load_scene(scene)
