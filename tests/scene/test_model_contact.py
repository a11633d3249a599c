"""`contact: from the file`: a model's own geoms touch as MuJoCo has them."""

import itertools
import math
import warnings

import numpy as np
import pytest

from diffsim_ros import InputError, load_scene
from diffsim_ros.robots.mjcf import load_mjcf
from diffsim_ros.robots.mjcf_geoms import MjcfContact

mujoco = pytest.importorskip("mujoco")

TETRA = "-0.1 -0.1 -0.05  0.1 -0.1 -0.05  0 0.15 -0.05  0 0 0.1"
GEOMS = {  # kind -> attributes, centre above the ground at rest
    "sphere": ('type="sphere" size="0.1"', 0.1),
    "capsule": ('type="capsule" size="0.05 0.1" euler="0 90 0"', 0.05),
    "cylinder": ('type="cylinder" size="0.1 0.06"', 0.06),
    "box": ('type="box" size="0.1 0.08 0.05"', 0.05),
    "ellipsoid": ('type="ellipsoid" size="0.12 0.1 0.08"', 0.08),
    "mesh": ('type="mesh" mesh="tetra"', 0.05),
}
ASSETS = f"""
  <asset>
    <mesh name="tetra" vertex="{TETRA}" inertia="shell"/>
    <hfield name="ground" nrow="5" ncol="5" size="1 1 0.2 0.1"
      elevation="0 0 0 0 0  0 0 0 0 0  0 0 0 0 0  0 0 0 0 0  1 1 1 1 1"/>
  </asset>"""
GROUNDS = {  # place of the ground -> height of its top
    "plane": ('<geom name="ground" type="plane" size="1 1 0.1"/>', 0.0),
    "box": ('<geom name="ground" type="box" size="0.5 0.5 0.1" pos="0 0 0.1"/>', 0.2),
    "hfield": ('<geom name="ground" type="hfield" hfield="ground"/>', 0.0),
    "body": ('<geom type="plane" size="1 1 0.1"/><body name="slab" pos="0 0 0.1"><freejoint/>'
             '<geom type="box" size="0.5 0.5 0.1" mass="50"/></body>', 0.2),
}  # fmt: skip


def model(tmp_path, world, name="model.xml", more=""):
    path = tmp_path / name
    path.write_text(f"<mujoco>{more}<worldbody>{world}</worldbody></mujoco>")
    return path


def scene_of(path, duration=0.5, step=0.002, **more):
    robot = {(path.suffix == ".xml" and "mjcf") or "urdf": str(path), "contact": "from the file"}
    robot |= more.pop("robot", {})
    world = {"step": step, "duration": duration} | more.pop("world", {})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return load_scene({"world": world, "robots": {"r": robot}, **more})


def at_rest(path, body, duration=0.5):
    own = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(own)
    while data.time < duration - 1e-9:
        mujoco.mj_step(own, data)
    return data.body(body).xipos.copy()


@pytest.mark.parametrize("ground", GROUNDS)
@pytest.mark.parametrize("kind", GEOMS)
def test_every_geom_rests_where_mujoco_has_it(tmp_path, kind, ground):
    (attributes, half), (below, top) = GEOMS[kind], GROUNDS[ground]
    body = f'<body name="b" pos="0 0 {top + half}"><freejoint/><geom {attributes} mass="2"/></body>'
    path = model(tmp_path, below + body, more=ASSETS)
    end = scene_of(path).rollout()["b"].position[-1]
    right = at_rest(path, "b")
    assert end[2] == pytest.approx(right[2], abs=1e-3)
    beside = 6e-3 if kind == "ellipsoid" else 1e-3  # by its points: 5 % of its half axis
    assert end[:2] == pytest.approx(right[:2], abs=beside)


def test_bodies_on_round_ground_and_each_other(tmp_path):
    """A sphere of the world under a box, a capsule of it under a bar, balls above each other."""
    world = """
      <geom type="plane" size="2 2 0.1"/>
      <geom type="sphere" size="0.2" pos="0 0 0.2"/>
      <body name="plate" pos="0 0 0.42"><freejoint/>
        <geom type="box" size="0.1 0.1 0.02" mass="1"/></body>
      <body name="low" pos="1 0 0.1"><freejoint/><geom size="0.1" mass="0.5"/></body>
      <body name="high" pos="1 0 0.32"><freejoint/><geom size="0.1" mass="0.5"/></body>
      <geom type="capsule" fromto="-1 -0.2 0.1 -1 0.2 0.1" size="0.1"/>
      <geom type="capsule" fromto="-1.3 -0.2 0.1 -1.3 0.2 0.1" size="0.1"/>
      <body name="bar" pos="-1.15 0 0.225"><freejoint/>
        <geom type="box" size="0.3 0.05 0.025" mass="1"/></body>"""
    path = model(tmp_path, world)
    run = scene_of(path, 0.4).rollout()
    for body in ("plate", "low", "high", "bar"):
        assert run[body].position[-1] == pytest.approx(at_rest(path, body, 0.4), abs=2e-3), body


MASKS = """
  <geom name="floor" type="plane" size="9 9 1"/>
  <geom name="post" size="0.3" conaffinity="2"/>
  <body name="fixed" pos="0 0 0.01"><geom name="on_world" size="0.3"/>
    <body name="arm"><joint name="j1" axis="0 1 0"/><geom name="arm" size="0.3" mass="1"/>
      <geom name="second" size="0.25" mass="1" contype="2" conaffinity="4"/>
      <body name="hand"><joint name="j2" axis="1 0 0"/>
        <geom name="hand" size="0.3" mass="1"/>
        <body name="stuck"><geom name="stuck" size="0.3" mass="1"/>
          <body name="tip"><joint name="j3" axis="0 0 1"/><geom name="tip" size="0.3" mass="1"/>
          </body></body></body></body></body>
  <body name="one"><freejoint/><geom name="one" size="0.3" mass="1" contype="2" conaffinity="2"/>
  </body>
  <body name="two"><freejoint/><geom name="two" size="0.3" mass="1"/></body>
  <body name="three"><freejoint/><geom name="three" size="0.3" mass="1" contype="0"
    conaffinity="0"/></body>"""
RULES = """<contact><exclude body1="two" body2="tip"/><exclude body1="arm" body2="two"/>
  <pair geom1="three" geom2="arm" condim="4" friction="0.3 0.3 0.02 0.001 0.001"/>
  <pair geom1="arm" geom2="hand"/></contact>"""


def mujoco_contacts(path):
    """Pairs of names of geoms -> friction and number of dimensions, as MuJoCo finds them."""
    own = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(own)
    mujoco.mj_forward(own, data)
    names = [own.geom(g).name for g in range(own.ngeom)]
    return {
        frozenset((names[c.geom[0]], names[c.geom[1]])): (c.friction[[0, 2, 3]], int(c.dim))
        for c in data.contact
    }


@pytest.mark.parametrize("option", ["", '<option><flag filterparent="disable"/></option>',
                                    '<option><flag contact="disable"/></option>',
                                    '<option><flag constraint="disable"/></option>'])  # fmt: skip
def test_what_touches_is_what_mujoco_has(tmp_path, option):
    """Masks, exclusions, pairs, welded bodies, parents, also those that are fixed to the world.

    All geoms are in one place, so that every pair that may touch does.
    """
    path = tmp_path / "masks.xml"
    path.write_text(f"<mujoco>{option}<worldbody>{MASKS}</worldbody>{RULES}</mujoco>")
    contact = MjcfContact(load_mjcf(path))
    found = {
        frozenset((contact.geoms[g].name, contact.geoms[h].name)): law
        for g, h, law in contact.pairs()
    }
    right = mujoco_contacts(path)
    assert set(found) == set(right)
    for pair, (friction, dimensions) in right.items():
        law = found[pair]
        assert law.c_f == pytest.approx(friction[0])
        assert law.c_spin == pytest.approx(friction[1] if dimensions > 3 else 0)


@pytest.mark.parametrize("a, b", list(itertools.combinations([
    'friction="0.4 0.01 0.001"', 'friction="0.9 0.02 0.002" priority="1" condim="1"',
    'friction="0.2 0.03 0.003" condim="6" solref="0.05 0.8" solmix="3"',
    'friction="0.7" condim="4" solref="-3000 -20" margin="0.01" gap="0.004"',
], 2)))  # fmt: skip
def test_numbers_of_two_geoms_are_combined_as_mujoco_does(tmp_path, a, b):
    world = "".join(
        f'<body name="{n}"><freejoint/><geom name="{n}" size="0.1" mass="2" {one}/></body>'
        for n, one in (("a", a), ("b", b))
    )
    path = model(tmp_path, world)
    contact = MjcfContact(load_mjcf(path))
    ((_, _, law),) = contact.pairs()
    ((friction, dimensions),) = mujoco_contacts(path).values()
    assert law.c_f == pytest.approx(friction[0] if dimensions > 1 else 0)
    assert law.c_spin == pytest.approx(friction[1] if dimensions > 3 else 0)
    assert law.c_roll == pytest.approx(friction[2] if dimensions > 4 else 0)


@pytest.mark.parametrize("solref, solimp", [
    ("0.02 1", "0.9 0.95 0.001 0.5 2"), ("0.01 1.2", "0.8 0.99 0.002 0.3 3"),
    ("-4000 -80", "0.9 0.9 0.001 0.5 2"), ("0.001 1", "0.95 0.99 0.001 0.5 1"),
])  # fmt: skip
def test_depth_at_rest_is_mujocos(tmp_path, solref, solimp):
    law = f'solref="{solref}" solimp="{solimp}"'
    world = (f'<geom type="plane" size="1 1 1" {law}/><body name="b" pos="0 0 0.1"><freejoint/>'
             f'<geom size="0.1" mass="3" {law}/></body>')  # fmt: skip
    path = model(tmp_path, world, more='<option cone="elliptic"/>')
    depth = 0.1 - scene_of(path, 1.0).rollout()["b"].position[-1, 2]
    right = 0.1 - at_rest(path, "b", 1.0)[2]
    assert depth == pytest.approx(right, rel=0.02, abs=1e-6)


def test_margin_is_where_force_begins(tmp_path):
    geom = 'size="0.1" mass="1" margin="0.02" gap="0.005"'
    path = model(tmp_path, '<geom type="plane" size="1 1 1"/><body name="b" pos="0 0 0.115">'
                           f"<freejoint/><geom {geom}/></body>")  # fmt: skip
    assert scene_of(path).rollout()["b"].position[-1, 2] == pytest.approx(
        at_rest(path, "b")[2], abs=2e-4
    )


def test_without_friction_a_body_slides(tmp_path):
    slope = math.radians(20)
    quat = f"{math.cos(slope / 2)} 0 {math.sin(slope / 2)} 0"
    at = 0.1 * np.array([math.sin(slope), 0, math.cos(slope)])
    for condim, slides in ((1, True), (3, False)):
        world = f"""<geom type="plane" size="1 1 1" quat="{quat}" condim="1"/>
          <body name="b" pos="{at[0]} 0 {at[2]}" quat="{quat}"><freejoint/>
            <geom type="box" size="0.1 0.1 0.1" mass="1" condim="{condim}"/></body>"""
        run = scene_of(model(tmp_path, world), 0.5).rollout()
        moved = np.linalg.norm(run["b"].position[-1] - run["b"].position[0])
        free = 9.81 * math.sin(slope) * 0.5**2 / 2
        assert moved == pytest.approx(free, rel=0.02) if slides else moved < 1e-3


DEEP = """<geom name="floor" type="plane" size="2 2 0.1"/>
  <body name="foot" pos="0 0 0.005"><freejoint/><geom size="0.023" mass="3"/>
    <body name="leg" pos="0 0 0.1"><joint name="knee" axis="0 1 0"/>
      <geom type="capsule" size="0.02 0.05" pos="0 0 0.05" mass="1"/></body></body>
  <body name="other" pos="1 0 0.5"><freejoint/><geom size="0.1" mass="1"/></body>"""


def test_a_deep_start_is_lifted(tmp_path):
    path = model(tmp_path, DEEP)
    with pytest.raises(InputError, match=r"0\.018 m inside"):
        scene_of(path)
    lifted = scene_of(path, robot={"lift": True})
    start = lifted.rollout(duration=0.002)
    assert start["foot"].position[0, 2] == pytest.approx(0.023, abs=1e-8)
    assert start["leg"].position[0, 2] == pytest.approx(0.173, abs=1e-8)
    assert start["other"].position[0] == pytest.approx([1, 0, 0.5])  # did not need it
    by_hand = {"world": {"step": 0.002, "duration": 0.1},
               "robots": {"r": {"mjcf": str(path), "lift": True}},
               "contact": [{"points": "foot", "against": "floor", "k_n": 1e5}]}  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run = load_scene(by_hand).rollout()
    assert run["foot"].position[0, 2] == pytest.approx(0.023, abs=1e-8)


URDF = """<robot name="r"><link name="base">{inertial}
  <collision><origin xyz="0 0 0.05"/><geometry><box size="0.2 0.2 0.1"/></geometry></collision>
  </link><link name="arm">{inertial}
  <collision><origin xyz="0 0 0.2"/><geometry><cylinder radius="0.03" length="0.4"/></geometry>
  </collision></link>
  <joint name="j" type="revolute"><parent link="base"/><child link="arm"/><origin xyz="0 0 0.1"/>
  <axis xyz="0 1 0"/><limit lower="-3" upper="3" effort="9" velocity="9"/></joint></robot>"""
INERTIAL = """<inertial><origin xyz="0 0 0.05"/><mass value="2"/><inertia ixx="0.01" iyy="0.01"
  izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>"""


def test_a_urdf_touches_surfaces_bodies_and_another_robot(tmp_path):
    path = tmp_path / "r.urdf"
    path.write_text(URDF.format(inertial=INERTIAL))
    box = {"shape": {"box": {"size": [0.2, 0.2, 0.1]}}, "mass": 1.0}
    scene = {
        "world": {"step": 0.002, "duration": 0.4},
        "sdfs": {"floor": {"plane": {"normal": [0, 0, 1], "offset": 0.0}}},
        "bodies": {"slab": {"type": "kinematic", "shape": box["shape"],
                            "pose": {"position": [1, 0, 0.05]}}},
        "robots": {
            "low": {"urdf": str(path), "base": "free", "contact": "from the file"},
            "high": {"urdf": str(path), "base": "free", "contact": "from the file",
                     "prefix": "b_", "pose": {"position": [1, 0, 0.1]}},
        },
    }  # fmt: skip
    loaded = load_scene(scene)
    run = loaded.rollout()
    assert run["base"].position[-1, 2] == pytest.approx(0.05, abs=1e-3)
    assert run["b_base"].position[-1, 2] == pytest.approx(0.15, abs=1e-3)
    met = {(c.points, c.carrier) for c in loaded.parts.contacts}
    assert ("arm", "b_base") in met
    assert ("arm", "base") not in met  # a joint connects them
    resolved = load_scene(loaded.description).rollout()
    assert resolved.position == pytest.approx(run.position, abs=1e-12)


@pytest.mark.parametrize(
    ("shape", "height"),
    [('sphere radius="0.05"', 0.05), ('box size="0.2 0.2 0.1"', 0.05),
     ('cylinder radius="0.1" length="0.08"', 0.04)],
)  # fmt: skip
def test_each_kind_of_collision_of_a_urdf_rests_on_the_floor(tmp_path, shape, height):
    """A foot is often a sphere on a link of its own, held by a fixed joint."""
    path = tmp_path / "r.urdf"
    path.write_text(f"""<robot name="r"><link name="leg">{INERTIAL}</link><link name="foot">
      <collision><geometry><{shape}/></geometry></collision></link><joint name="f" type="fixed">
      <parent link="leg"/><child link="foot"/><origin xyz="0 0 0.05"/></joint></robot>""")
    scene = {
        "world": {"step": 0.002, "duration": 0.3}, "sdfs": {"floor": {"plane": {}}},
        "robots": {"r": {"urdf": str(path), "base": "free", "contact": "from the file",
                         "lift": True}},
    }  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a shape that is left out is named
        run = load_scene(scene).rollout()
    assert run["leg"].position[-1, 2] == pytest.approx(height, abs=1e-3)


def test_a_contact_of_the_file_is_not_made_twice(tmp_path):
    path = model(tmp_path, DEEP.replace("0.005", "0.03"))
    spheres = {"positions": [[0, 0, 0]], "radius": 0.02}
    own = [{"points": "foot", "against": "floor", "k_n": 1e5, "spheres": spheres}]
    parts = scene_of(path, contact=own).parts
    assert [c.k_n for c in parts.contacts if (c.points, c.carrier) == ("foot", None)] == [1e5]


def test_derivatives_are_those_of_the_motion(tmp_path):
    """Of a start that rolls and slides on every kind of surface that a file brings."""
    world = f"""<geom type="plane" size="2 2 0.1"/>
      <geom type="hfield" hfield="ground" pos="0 0 0.005" friction="0.3"/>
      <body name="b" pos="0 0 0.12"><freejoint/><geom {GEOMS["ellipsoid"][0]} mass="1"/></body>
      <body name="c" pos="0.3 0 0.09"><freejoint/><geom {GEOMS["mesh"][0]} mass="1"/></body>"""
    loaded = scene_of(model(tmp_path, world, more=ASSETS), 0.1, 0.001)
    name = "b.velocity.x"
    start = {"b.velocity.x": 0.7, "b.velocity.z": -1.0, "c.velocity.z": -1.0}
    weight = np.random.default_rng(1).normal(size=loaded.rollout(start).position[-1].shape)

    def value(by=0.0):
        return np.sum(weight * loaded.rollout({**start, name: start[name] + by}).position[-1])

    run = loaded.rollout(start, wrt=[name])
    cotangent = np.zeros_like(run.position)
    cotangent[-1] = weight
    slope = run.gradient({"position": cotangent})[name]
    assert slope == pytest.approx((value(1e-6) - value(-1e-6)) / 2e-6, rel=1e-4)


def test_the_velocity_stepper_has_them_too(tmp_path):
    box = '<geom type="box" size="0.1 0.1 0.1" mass="1" condim="4"/>'
    body = f'<body name="b" pos="0 0 0.35"><freejoint/>{box}</body>'
    path = model(tmp_path, GROUNDS["body"][0] + body)
    run = scene_of(path, world={"stepper": "velocity"}).rollout()
    assert run["b"].position[-1, 2] == pytest.approx(0.3, abs=1e-3)
