"""A robot's surroundings: of its YAML, a scene, MoveIt's planning scene, and what is held."""

from types import SimpleNamespace

import numpy as np
import pytest

rclpy = pytest.importorskip("rclpy")
pytest.importorskip("urchin")

from geometry_msgs.msg import Point, Pose, TransformStamped  # noqa: E402
from shape_msgs.msg import Mesh, MeshTriangle, Plane, SolidPrimitive  # noqa: E402

from diffsim_ros.errors import InputError  # noqa: E402
from diffsim_ros.nodes.common import BaseNode, share_folder  # noqa: E402
from diffsim_ros.nodes.planning_scene import PlanningScene, same_message  # noqa: E402
from diffsim_ros.nodes.surroundings import (  # noqa: E402
    PARAMETERS,
    SceneMessage,
    Surroundings,
)
from diffsim_ros.robots.arm import load_arm  # noqa: E402
from diffsim_ros.robots.trajectory import JointTrajectory  # noqa: E402
from diffsim_ros.scene import load_scene  # noqa: E402
from diffsim_ros.scene.standing import own_surroundings, still_surfaces, together  # noqa: E402

ARM = load_arm(share_folder() / "config" / "robots" / "ur5.yaml")
NAMES = ARM.robot.joint_names
UP = (0.0, 0.0, 0.0, 1.0)


class Robot(BaseNode):
    """A node with nothing but surroundings."""

    PARAMETERS = PARAMETERS

    def __init__(self, arm=ARM, **options):
        super().__init__("robot", **options)
        self.around = Surroundings(self, arm)


def between(first, last, count=100):
    """Straight lines of joint values in a second."""
    share = np.linspace(0, 1, count)[:, None]
    return JointTrajectory(NAMES, share[:, 0], first + share * np.subtract(last, first))


def turned(**angles):
    """Home with joints turned on [rad]."""
    return ARM.home + [angles.get(name.removesuffix("_joint"), 0.0) for name in NAMES]


SWEEP = between(ARM.home, turned(shoulder_pan=1.0))
DOWN = between(ARM.home, turned(shoulder_lift=0.8))
AHEAD = (0.55 * np.cos(3.9), 0.55 * np.sin(3.9), 0.5)  # on the path of SWEEP [m]


@pytest.fixture
def robot(ros):
    return lambda arm=ARM, **parameters: ros.start_with(Robot, arm, **parameters)


# --- messages -----------------------------------------------------------------------------------


def pose(position=(0, 0, 0), orientation=UP):
    found = Pose()
    for part, names, values in (
        (found.position, "xyz", position), (found.orientation, "xyzw", orientation)
    ):  # fmt: skip
        for name, value in zip(names, values, strict=True):
            setattr(part, name, float(value))
    return found


def primitive(kind, *sizes):
    return SolidPrimitive(type=kind, dimensions=[float(size) for size in sizes])


def thing(name, *shapes, at=(0, 0, 0), frame="base_link", operation=0):
    """A moveit_msgs/CollisionObject, by its fields."""
    found = SimpleNamespace(
        header=SimpleNamespace(frame_id=frame), id=name, pose=pose(at), operation=bytes([operation])
    )
    for kind, key in ((SolidPrimitive, "primitive"), (Mesh, "mesh"), (Plane, "plane")):
        chosen = [shape for shape in shapes if isinstance(shape, kind)]
        setattr(found, "meshes" if key == "mesh" else f"{key}s", chosen)
        setattr(found, f"{key}_poses", [pose() for _ in chosen])
    return found


def attached(given, link="tool0", touch=()):
    return SimpleNamespace(link_name=link, object=given, touch_links=list(touch))


def scene(*things, held=(), diff=True, transforms=(), names=(), rows=(), usual=None, octomap=()):
    """A moveit_msgs/PlanningScene, by its fields."""
    usual = usual or {}
    return SimpleNamespace(
        is_diff=diff,
        robot_state=SimpleNamespace(is_diff=diff, attached_collision_objects=list(held)),
        fixed_frame_transforms=list(transforms),
        world=SimpleNamespace(
            collision_objects=list(things),
            octomap=SimpleNamespace(octomap=SimpleNamespace(data=list(octomap))),
        ),
        allowed_collision_matrix=SimpleNamespace(
            entry_names=list(names),
            entry_values=[SimpleNamespace(enabled=list(row)) for row in rows],
            default_entry_names=list(usual),
            default_entry_values=list(usual.values()),
        ),
    )


def received(*messages):
    found = PlanningScene(ARM)
    for message in messages:
        found.apply(message)
    return found


def tetrahedron(size, faces=4):
    places = size * np.vstack([np.zeros(3), np.eye(3)])
    corners = [Point(x=x, y=y, z=z) for x, y, z in places.tolist()]
    indices = [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)][:faces]
    triangles = [MeshTriangle(vertex_indices=np.array(i, np.uint32)) for i in indices]
    return Mesh(triangles=triangles, vertices=corners)


def at(obstacle, *points):
    return np.round(obstacle.evaluate(np.array(points, float))[0], 9).tolist()


# --- the robot's YAML, a scene, what is held -----------------------------------------------------


def test_the_table_of_the_robots_yaml_is_checked_and_what_is_not_is_said(robot):
    around = robot().around
    unchecked = around.check(SWEEP)
    assert "base_link has no <collision>: it is not checked" in unchecked
    assert "no scene is given: of the surroundings only table is checked" in unchecked
    assert "the gripper is not checked: the robot's YAML has no key gripper" in unchecked
    assert any(s.startswith("no planning scene ") for s in unchecked)
    with pytest.raises(InputError, match=r"wrist_3_link and table at 0\.\d+ s"):
        around.check(DOWN)


def test_parameters_count_at_once(robot):
    from rclpy.parameter import Parameter

    node = robot()
    for values, refused in (
        ({"held_radius": 0.08}, "what is held and table"),
        ({"held_radius": 0.0, "collision_margin": 0.3}, "and table"),
        ({"collision": "off"}, None),
    ):
        node.set_parameters([Parameter(name, value=value) for name, value in values.items()])
        if refused:
            with pytest.raises(InputError, match=refused):
                node.around.check(between(ARM.home, turned(shoulder_lift=0.6)))
        else:
            assert node.around.check(DOWN) == [
                "collisions are not checked at all: collision is off"
            ]


def test_surfaces_of_a_scene_stand_around_it_and_carried_ones_do_not(robot, tmp_path):
    x, y, z = AHEAD
    file = tmp_path / "scene.yaml"
    file.write_text(f"""
world: {{step: 1/100, duration: 0.1}}
bodies:
  ball: {{shape: {{sphere: {{radius: 0.03}}}}, mass: 0.1, pose: {{position: [2, 0, 1]}},
         contact_spheres: {{sphere: {{}}}}}}
  other: {{shape: {{sphere: {{radius: 0.03}}}}, mass: 0.1, pose: {{position: [3, 0, 1]}},
         contact_spheres: {{sphere: {{}}}}}}
sdfs:
  table: {{plane: {{offset: -0.1}}}}
  post:
    transform: {{of: {{cylinder: {{height: 0.8, radius: 0.03}}}}, position: [{x}, {y}, {z}]}}
  skin: {{sphere: {{radius: 0.5}}}}
contact:
  - {{points: ball, against: table, k_n: 1000, c_n: 0}}
  - {{points: ball, against: post, k_n: 1000, c_n: 0}}
  - {{points: ball, against: skin, carrier: other, k_n: 1000, c_n: 0}}
""")
    assert list(still_surfaces(load_scene(file))) == ["table", "post"]
    around = robot(scene=str(file)).around
    with pytest.raises(InputError, match="_link and post"):
        around.check(SWEEP)
    with pytest.raises(InputError, match="and table at"):  # the YAML's: the scene's is lower
        around.check(DOWN)
    with pytest.raises(InputError, match="no such file"):
        Robot(parameter_overrides=[rclpy.parameter.Parameter("scene", value="no.yaml")])


def test_surroundings_of_the_yaml_stand_on_the_base(tmp_path):
    given = {
        "urdf": str(share_folder() / "urdf" / "ur5.urdf"), "tool": "tool0",
        "base": {"position": [1, 0, 0.5], "orientation": [0, 0, 1, 0]},
        "surroundings": {"wall": {"plane": {"normal": [-1, 0, 0], "offset": -0.7}}, "rim": "wall"},
    }  # fmt: skip
    found = own_surroundings(load_arm(given, tmp_path))
    assert at(found["wall"], (1, 0, 0.5), (0.3, 2, 9)) == [0.7, 0.0]
    assert at(found["rim"], (1, 0, 0.5)) == [0.7]
    given["surroundings"]["wall"] = {"plain": {}}
    with pytest.raises(InputError, match=r"surroundings\.wall\.plain.*did you mean 'plane'"):
        own_surroundings(load_arm(given, tmp_path))


def test_two_things_of_one_name_are_both_kept():
    names = {}
    found = together({"table": 1, "post": 2}, {"table": 3, "box": 4}, "scene", names)
    assert found == {"table": 1, "post": 2, "table (scene)": 3, "box": 4}
    assert names == {"table (scene)": "table", "box": "box"}


# --- MoveIt's planning scene --------------------------------------------------------------------


def test_shapes_of_the_planning_scene_are_where_they_are_said_to_be():
    turn = TransformStamped()
    turn.header.frame_id, turn.child_frame_id = "base_link", "camera"
    turn.transform.translation.x = 2.0
    found = received(scene(
        thing("box", primitive(1, 0.2, 0.4, 0.6), at=(1, 0, 0)),
        thing("ball", primitive(2, 0.1), frame="world"),
        thing("rod", primitive(3, 1.0, 0.1)),
        thing("hat", primitive(4, 1.0, 0.5)),
        thing("wall", Plane(coef=[0.0, 2.0, 0.0, -2.0])),
        thing("both", primitive(2, 0.1), primitive(2, 0.3)),
        thing("part", tetrahedron(1.0)),
        thing("open", tetrahedron(1.0, faces=3)),
        thing("seen", primitive(2, 0.1), frame="camera"),
        transforms=[turn],
    )).obstacles()  # fmt: skip
    assert at(found["box"], (1, 0, 0.5), (0, 0, 0)) == [0.2, 0.9]
    assert at(found["ball"], (0, 0, 1)) == [0.9]
    assert at(found["rod"], (0, 0, 1), (0.3, 0, 0.4)) == [0.5, 0.2]
    hat = found["hat"].evaluate(np.array([[0, 0, 0.6], [0.5, 0, -0.5], [0, 0, 0.0]]))[0]
    np.testing.assert_allclose(hat, [0.1, 0.0, -0.5 / np.sqrt(5)], atol=3e-3)
    assert at(found["wall"], (0, 0, 0), (5, 3, 0)) == [1.0, 2.0], "from both sides"
    assert at(found["both"], (0, 0, 1)) == [0.7]
    assert at(found["part"], (0.1, 0.1, 0.1))[0] == pytest.approx(-0.1)
    assert 0.09 < at(found["open"], (0.1, 0.1, 0.1))[0] <= 0.1
    assert at(found["seen"], (2, 0, 1)) == [0.9]


def test_differences_add_move_append_and_remove():
    ball = primitive(2, 0.1)
    found = received(scene(thing("a", ball), thing("b", ball), diff=False))
    found.apply(scene(thing("a", at=(1, 0, 0), operation=3)))
    assert at(found.obstacles()["a"], (1, 0, 0)) == [-0.1]
    found.apply(scene(thing("a", ball, at=(0, 0, 0), operation=2)))
    assert at(found.obstacles()["a"], (0, 0, 0), (1, 0, 0)) == [-0.1, -0.1]
    found.apply(scene(thing("b", operation=1)))
    assert list(found.obstacles()) == ["a"]
    found.apply(scene(thing("c", ball), diff=False))
    assert list(found.obstacles()) == ["c"], "a whole scene replaces all"
    found.apply(scene(thing("", operation=1)))
    assert found.obstacles() == {}


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (thing("a", primitive(2, 0.1), frame="kitchen"), "object a: frame.*'kitchen'.*base_link"),
        (thing("a", primitive(2, 0.1), frame="forearm_link"), "object a: frame"),
        (thing("a", primitive(5, 0.1)), "primitive type.*5"),
        (thing("a", primitive(1, 0.1, 0.1)), "dimensions"),
        (thing("a", primitive(2, -0.1)), "dimensions"),
        (thing("a", primitive(2, np.nan)), "dimensions"),
        (thing("a", Plane(coef=[0.0, 0.0, 0.0, 1.0])), "plane"),
        (thing("a", Mesh()), "triangles"),
        (thing("a"), "no shapes"),
        (thing("a", at=(1, 0, 0), operation=3), "MOVE of a known"),
        (thing("a", primitive(2, 0.1), at=(np.nan, 0, 0)), "position"),
    ],
)
def test_what_cannot_be_used_refuses_motions_until_it_is_told_anew(given, why):
    found = received(scene(given))
    with pytest.raises(InputError, match=why):
        found.obstacles()
    found.apply(scene(thing("a", primitive(2, 0.1))))
    assert list(found.obstacles()) == ["a"]
    found = received(scene(given), scene(thing("a", operation=1)))
    assert found.obstacles() == {}


def test_attached_objects_are_carried_and_detached_ones_must_be_told():
    box = thing("box", primitive(1, 0.1, 0.1, 0.1), at=(0, 0, 0.2), frame="tool0")
    found = received(scene(box))
    with pytest.raises(InputError, match="frame"):
        found.obstacles()  # a frame that moves is no place of the world
    found.apply(scene(held=[attached(box, touch=["wrist_1_link"])]))
    assert found.obstacles() == {}
    (held,) = found.held()
    assert held.name == "box" and held.carrier == 5
    np.testing.assert_allclose(held.pose[:3, 3], [0, 0, 0.2])
    assert found.may_touch("wrist_1_link", "box") and found.may_touch("box", "tool0")
    assert not found.may_touch("box", "forearm_link")
    found.apply(scene(held=[attached(thing("box", operation=1))]))
    with pytest.raises(InputError, match="detached"):
        found.held()
    found.apply(scene(thing("box", primitive(1, 0.1, 0.1, 0.1))))
    assert found.held() == [] and list(found.obstacles()) == ["box"]
    for bad in (
        attached(box, link="hand"),
        attached(thing("box", primitive(2, 0.1), frame="base_link")),
        attached(thing("box", Plane(coef=[0.0, 0.0, 1.0, 0.0]), frame="tool0")),
        attached(thing("box", frame="tool0")),
    ):
        with pytest.raises(InputError, match="attached object box"):
            received(scene(held=[bad])).held()


def test_the_allowed_collision_matrix():
    names, rows = ("box", "forearm_link", "table"), [[0, 1, 0], [1, 0, 0], [0, 0, 0]]
    found = received(
        scene(names=names, rows=rows, usual={"octomap": True, "box": True, "rod": False})
    )
    assert found.may_touch("forearm_link", "box") and not found.may_touch("box", "table")
    assert found.may_touch("octomap", "post") and not found.may_touch("rod", "octomap")
    assert not found.may_touch("post", "pole")
    found = received(scene(names=names, rows=rows[:2]))
    with pytest.raises(InputError, match="allowed_collision_matrix"):
        found.check()


def test_the_planning_scene_counts_in_a_check(robot):
    """What a subscription would do, without moveit_msgs."""
    around = robot().around
    ball = thing("ball", primitive(2, 0.05), at=AHEAD)
    around.check(SWEEP)
    around._on_scene(scene(ball, octomap=[1]))
    with pytest.raises(InputError, match="_link and ball at"):
        around.check(SWEEP)
    links = ["ball", *ARM.robot.frames]
    rows = [[True] * len(links)] * len(links)
    around._on_scene(scene(names=links, rows=rows))
    around.check(SWEEP)
    table = thing("table", Plane(coef=[0.0, 0.0, 1.0, 0.5]))
    names = ["table", *links]
    around._on_scene(scene(table, names=names, rows=[[True] * len(names)] * len(names)))
    with pytest.raises(InputError, match="_link and table at"):
        around.check(DOWN)  # the matrix is about MoveIt's things, not about the YAML's table
    rod = attached(thing("rod", primitive(3, 0.6, 0.02), at=(0, 0, 0.35), frame="tool0"))
    around._on_scene(scene(diff=False, held=[rod]))
    with pytest.raises(InputError, match="rod and table"):
        around.check(between(ARM.home, turned(shoulder_lift=0.4)))


def test_messages_are_the_same_by_their_fields():
    one, other = (primitive(1, 0.1, 0.2, 0.3) for _ in range(2))
    assert same_message(one, other)
    other.dimensions[1] = np.nextafter(0.2, 1)
    assert not same_message(one, other)
    assert not same_message(primitive(1, 0.1), primitive(1, 0.1, 0.1))
    assert not same_message(primitive(1, 0.1), primitive(2, 0.1))
    one, other = tetrahedron(1.0), tetrahedron(1.0)
    assert same_message(one, other)
    other.triangles[0].vertex_indices[0] = 3
    assert not same_message(one, other) and not same_message(one, primitive(1, 0.1))


def test_only_what_is_new_in_a_message_changes_the_state(robot):
    """MoveIt repeats its scene with every joint state."""
    from rclpy.parameter import Parameter

    node = robot()
    around, seen = node.around, []
    wall = thing("wall", Plane(coef=[0.0, 2.0, 0.0, -2.0]))
    ball, box = thing("ball", primitive(2, 0.05), at=AHEAD), thing("box", primitive(1, 1, 1, 1))
    held = attached(thing("rod", primitive(3, 0.6, 0.02), frame="tool0"))
    part = thing("part", tetrahedron(1.0))
    other = tetrahedron(1.0)
    other.vertices[1].x += 1e-9
    given = (
        scene(wall, ball, part, diff=False, held=[held], names=["ball"], rows=[[0]]),
        scene(thing("wall", Plane(coef=[0.0, 2.0, 0.0, -2.1]))),
        scene(thing("ball", at=(1, 0, 0), operation=3)),
        scene(thing("ball", primitive(2, 0.06), at=(1, 0, 0))),
        scene(thing("part", other)),
        scene(box),
        scene(thing("box", operation=1)),
        scene(thing("box", operation=7)),  # nothing that is known: unusable
        scene(names=["ball", "rod"], rows=[[0, 1], [1, 0]]),
        scene(usual={"ball": True}, names=["ball", "rod"], rows=[[0, 1], [1, 0]]),
        scene(held=[attached(thing("rod", primitive(3, 0.6, 0.03), frame="tool0"))]),
        scene(octomap=[1]),
    )
    for message in given:
        around._on_scene(message)
        seen.append(around.state())
        around._on_scene(message)
        assert around.state() == seen[-1], message
    node.set_parameters([Parameter("collision_margin", value=0.02)])
    seen.append(around.state())
    assert len({str(one) for one in seen}) == len(seen) == len(given) + 1


def test_messages_of_moveit_are_heard(ros, robot):
    """With moveit_msgs: the true types arrive, and count."""
    if SceneMessage is None:
        pytest.skip("moveit_msgs is not installed")
    from moveit_msgs.msg import CollisionObject

    node = robot()
    publisher = ros.node.create_publisher(SceneMessage, "planning_scene", 10)
    message = SceneMessage(is_diff=True)
    found = CollisionObject(id="ball", operation=CollisionObject.ADD, pose=pose(AHEAD))
    found.header.frame_id = "base_link"
    found.primitives, found.primitive_poses = [primitive(2, 0.05)], [pose()]
    message.world.collision_objects = [found]

    def refused():
        publisher.publish(message)
        try:
            node.around.check(SWEEP)
        except InputError as error:
            return "and ball" in str(error)
        return False

    assert "was published on planning_scene" in " ".join(node.around.check(SWEEP))
    ros.until(refused, "the ball of the planning scene")
