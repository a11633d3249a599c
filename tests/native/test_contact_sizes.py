"""Single sizes of surfaces as parameters: batteries of surfaces and of contact, gradients."""

import numpy as np
import pytest

from diffsim_ros import _engine
from tests.native.batteries import check_element, random_instants
from tests.native.gradients import check_gradients, check_outputs
from tests.native.sdf_battery import check_sizes
from tests.native.test_contact_moving import scene_of
from tests.native.test_contact_surface import resting

PLACE = ([0.1, -0.05, 0.02], [0.1, 0.2, 0.3, 1])


def box(x=0.5, y=0.4, z=0.3):
    return _engine.Box([x / 2, y / 2, z / 2])


def cone(height=0.5, bottom=0.4, top=0.15):
    return _engine.Cone(height / 2, bottom, top)


def blended(operation):
    """A placed box and a rounded cylinder, blended."""

    def make(x=0.5, y=0.4, z=0.3, height=0.5, radius=0.12, distance=0.05):
        inner = _engine.Offset(_engine.Cylinder(height / 2, radius), distance)
        return operation([_engine.Transformed(box(x, y, z), *PLACE), inner], width=0.1)

    return make


SURFACES = {
    "plane": lambda offset=0.1: _engine.Plane([0.1, -0.2, 1], offset),
    "sphere": lambda radius=0.3: _engine.Sphere(radius),
    "box": box,
    "capsule": lambda length=0.4, radius=0.2: _engine.Capsule(length / 2, radius),
    "cylinder": lambda height=0.4, radius=0.3: _engine.Cylinder(height / 2, radius),
    "torus": lambda ring=0.4, tube=0.15: _engine.Torus(ring, tube),
    "cone": cone,
    "wide cone": lambda height=0.2, bottom=0.1, top=0.5: cone(height, bottom, top),
    "union": blended(_engine.Union),
    "intersection": blended(_engine.Intersection),
    "difference": blended(_engine.Difference),
    "complement": blended(_engine.Complement),
}


@pytest.mark.parametrize("kind", SURFACES)
def test_gap_and_normal_by_each_size(kind):
    check_sizes(SURFACES[kind], np.random.default_rng(3).uniform(-0.6, 0.6, (400, 3)))


def test_sizes_have_the_names_of_the_files():
    assert box().sizes == {"size.x": 0.5, "size.y": 0.4, "size.z": 0.3}
    names = list(blended(_engine.Union)().sizes)
    assert names == ["of[0].of.size.x", "of[0].of.size.y", "of[0].of.size.z", "of[1].of.height",
                     "of[1].of.radius", "of[1].distance"]  # fmt: skip
    assert _engine.HalfSpaces([[0, 0, 1.0]], [0.0]).sizes == {}


@pytest.mark.parametrize("friction", ["linear", "tanh", "hybrid"])
@pytest.mark.parametrize("kind", ["box", "cone", "torus", "union"])
@pytest.mark.parametrize("carrier", ["rigid", ""])
def test_battery_of_contact_by_sizes(friction, kind, carrier):
    """On a surface that is scaled and grown too; values other than those it was built with."""
    rng, touched = np.random.default_rng(7), 0
    s, on = scene_of("rigid"), {"carrier": "c" * bool(carrier)}
    inner = SURFACES[kind]()
    sdf = _engine.Transformed(inner, [0.4 if kind == "torus" else 0.05, 0, -0.1], [0.1, 0.2, 0, 1])
    sets = ("corners", "point", *(["posts"] if carrier else []))
    for points in sets:
        s.add_contact(f"of_{points}", points=points, sdf=sdf, **on, k_n=4000.0, k_t=40.0, c_f=0.4,
                      c_n=0.5, friction=friction)  # fmt: skip
    p = s.values
    for points in sets:
        p[s.index(f"of_{points}.surface_offset")] = 0.01
        p[s.index(f"of_{points}.surface_scale")] = 1.1
        for size, value in sdf.sizes.items():
            p[s.index(f"of_{points}.surface.{size}")] = 1.1 * value
    for _ in range(4):
        instants = random_instants(rng, 3, 1, rng.normal(size=(3, 3)) * 0.1)
        for points in sets:
            out = check_element(s, f"of_{points}", p, instants, rng, frames=[0, 2])
            touched += np.count_nonzero(out["modes"])
    assert touched > 20


def rolling(friction="linear"):
    """A ball and a point that land on a bump of a floor, roll and slide."""
    s = _engine.Scene()
    s.add_rigid_body("ball", mass=0.3, inertia=[3e-4] * 3 + [0] * 3, radius=0.05,
                     position=[0.03, 0, 0.2], velocity=[0.6, 0.1, -0.2],
                     angular_velocity=[1, 2, 3])  # fmt: skip
    s.add_points("skin", bodies=["ball"], local=np.zeros((1, 3)), radius=0.05)
    bump = _engine.Union([_engine.Plane([0.05, 0, 1], 0.0), cone(0.2, 0.2, 0.1)], width=0.05)
    s.add_contact("floor", points="skin", sdf=bump, k_n=3000.0, k_t=10.0, c_f=0.3, c_n=0.2,
                  friction=friction)  # fmt: skip
    return s, [f"floor.surface.{size}" for size in bump.sizes]


@pytest.mark.parametrize("friction", ["linear", "hybrid"])
def test_gradients_by_sizes(friction):
    """S and the adjoint against differences of the simulated motion, through touchdown."""
    s, names = rolling(friction)
    options = _engine.Options(step=1 / 400, stagnate=True, record_modes=True)
    r = check_gradients(s, 200, options, [*names, "ball.velocity.x"])
    assert np.count_nonzero(r.modes) > 20


def test_derivatives_of_outputs_by_sizes():
    s, names = rolling()
    exact = _engine.Options(step=1 / 400, stagnate=True, record_modes=True)
    check_outputs(s, 100, exact, [*names, "ball.velocity.x"])


@pytest.mark.parametrize(("sdf", "wanted"), [
    (_engine.Box([0.2, 0.3, 0.1]), {"size.x": 0, "size.y": 0, "size.z": 0.5}),
    (_engine.Cylinder(0.1, 0.3), {"height": 0.5, "radius": 0}),
    (_engine.Sphere(0.1), {"radius": 1}),
    (_engine.Transformed(_engine.Capsule(0.3, 0.1), [0, 0, 0], [0, 1, 0, 1]),
     {"of.length": 0, "of.radius": 1}),
    (_engine.Plane([0, 0, 1], 0.1), {"offset": 1}),
])  # fmt: skip
def test_a_ball_rests_higher_by_the_size_below_it_alone(sdf, wanted):
    """Tops at 0.1 m; set 10 % larger, the ball rests at the new top."""
    found, sunk = resting(sdf)
    by = found.derivatives([f"floor.surface.{size}" for size in wanted])[2]
    assert by == pytest.approx(list(wanted.values()), abs=1e-9)
    larger = {f"surface.{size}": 1.1 * value for size, value in sdf.sizes.items()}
    found, sunk = resting(sdf, **larger)
    assert found.position[0, 2] == pytest.approx(0.11 + 0.02 - sunk, abs=1e-9)


def test_a_size_that_cannot_be_is_refused():
    s, _ = rolling()
    with pytest.raises(_engine.InvalidInput, match=r"surface.of\[1\].height.*must be finite"):
        s.set_value("floor.surface.of[1].height", -0.1)
