"""The obstacle's size as parameters: batteries, gradients, resting heights, paths."""

import numpy as np
import pytest

from diffsim_ros import _engine
from diffsim_ros.scene import load_scene
from diffsim_ros.statics import equilibrium
from tests.native.batteries import check_element, random_instants
from tests.native.gradients import check_gradients
from tests.native.test_contact_moving import INERTIA, cube_on, obstacle, scene_of

SIZE = ("surface_offset", "surface_scale")


@pytest.mark.parametrize("friction", ["linear", "tanh", "hybrid"])
@pytest.mark.parametrize("kind", ["plane", "sphere", "box"])
@pytest.mark.parametrize("carrier", ["rigid", ""])
def test_battery_of_contact_with_a_scaled_and_grown_surface(friction, kind, carrier):
    rng = np.random.default_rng(7)
    s, on = scene_of("rigid"), {"sdf": obstacle(kind), "carrier": "c" * bool(carrier)}
    sets = ("corners", "point", *(["posts"] if carrier else []))
    for points in sets:
        s.add_contact(f"of_{points}", points=points, **on, k_n=4000.0, k_t=40.0, c_f=0.4, c_n=0.5,
                      friction=friction)  # fmt: skip
    p = s.values
    for points in sets:
        p[s.index(f"of_{points}.surface_offset")] = 0.03
        p[s.index(f"of_{points}.surface_scale")] = 1.2 if carrier else 0.9
    touched = 0
    for _ in range(4):
        instants = random_instants(rng, 3, 1, rng.normal(size=(3, 3)) * 0.03)
        for points in sets:
            out = check_element(s, f"of_{points}", p, instants, rng, frames=[0, 2])
            touched += np.count_nonzero(out["modes"])
    assert touched > 20


@pytest.mark.parametrize("friction", ["linear", "tanh"])
@pytest.mark.parametrize("carrier", ["rigid", "handle"])
def test_gradients_by_the_size_of_a_surface(carrier, friction):
    """A cube lands, turns and slides: steps in which contact begins and ends are among them."""
    s = cube_on(carrier, friction)
    names = [f"{name}.{word}" for name in contacts(s) for word in SIZE]
    options = _engine.Options(step=1 / 400, stagnate=True, record_modes=True)
    r = check_gradients(s, 160, options, [*names, "cube.velocity.x"])
    assert {0, 1, 2} <= set(np.unique(r.modes & 3))


def contacts(s):
    """Names of the scene's contacts."""
    return [info.name.split(".")[0] for info in s.parameters if info.name.endswith(SIZE[0])]


def resting(sdf, radius=0.05, point=0.02, **values):
    """(equilibrium, weight over stiffness) of a ball on a surface below, in a guide that lets it
    move up and down alone."""
    s, mass, k_n = _engine.Scene(), 0.4, 2e3
    s.add_rigid_body("ball", mass=mass, inertia=INERTIA, radius=radius, position=[0, 0, 0.4])
    s.add_points("skin", bodies=["ball"], local=np.zeros((1, 3)), radius=point)
    s.add_contact("floor", points="skin", sdf=sdf, k_n=k_n, k_t=1.0, c_f=0.0)
    s.add_joint("guide", kind="slider", body_b="ball", position=[0, 0, 0.4], axis=[0, 0, 1])
    for name, value in values.items():
        s.set_value(f"floor.{name}", value)
    return equilibrium(s), mass * 9.81 / k_n


def test_a_balls_resting_height_follows_radius_offset_and_scale():
    """z = scale R + offset + r - m g/k, of a ball of radius r on one of radius R."""
    for offset, scale in ((0.0, 1.0), (0.03, 1.2)):
        found, sunk = resting(_engine.Sphere(0.3), surface_offset=offset, surface_scale=scale)
        assert found.position[0, 2] == pytest.approx(scale * 0.3 + offset + 0.02 - sunk, abs=1e-9)
        names = ["skin.radius", "floor.surface_offset", "floor.surface_scale"]
        assert found.derivatives(names)[2] == pytest.approx([1, 1, 0.3], rel=1e-9)


@pytest.mark.parametrize("sdf", [
    _engine.Box([0.2, 0.3, 0.1]), _engine.Cylinder(0.1, 0.3), _engine.Plane([0, 0, 1], 0.1),
    _engine.Union([_engine.Box([0.2, 0.2, 0.1]), _engine.Sphere(0.08)]),
])  # fmt: skip
def test_every_surface_can_be_scaled_and_grown(sdf):
    """Tops at 0.1 m."""
    found, sunk = resting(sdf, surface_offset=0.02, surface_scale=1.5)
    assert found.position[0, 2] == pytest.approx(1.5 * 0.1 + 0.02 + 0.02 - sunk, abs=1e-9)
    by = found.derivatives(["floor.surface_offset", "floor.surface_scale"])[2]
    assert by == pytest.approx([1, 0.1], rel=1e-9)


def test_the_size_of_a_surface_has_paths(tmp_path):
    bodies = {"ball": {"shape": {"sphere": {"radius": 0.1}}, "mass": 1,
                       "pose": {"position": [0, 0, 0.3]}}}  # fmt: skip
    contact = {"name": "floor", "points": "ball", "against": {"plane": {}}, "k_n": 1e3}
    model = load_scene({
        "world": {"step": 0.01, "duration": 0.1}, "bodies": bodies, "contact": [contact],
        "parameters": {"contact.floor.surface_offset": {"bounds": [-0.01, 0.01]},
                       "contact.floor.surface_scale": {"scale": "log"}},
    })  # fmt: skip
    found = {p.name: (p.value, p.unit) for p in model.parameters}
    assert found == {"contact.floor.surface_offset": (0, "m"),
                     "contact.floor.surface_scale": (1, "1")}  # fmt: skip
