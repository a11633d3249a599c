"""Links as frames: a root that is called world is the scene's world."""

from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("urchin")

from diffsim_ros.robots.kinematics import link_pose
from diffsim_ros.robots.urdf import load_robot
from diffsim_ros.rotation import quat_matrix
from diffsim_ros.twin.config import link_tree

INERTIAL = """<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>
</inertial>"""
ARM = f"""<robot name="arm">
  <link name="ROOT"/><link name="foot"/><link name="upper">{INERTIAL}</link><link name="tool"/>
  <joint name="a" type="fixed"><parent link="ROOT"/><child link="foot"/>
    <origin xyz="0 0 0.1" rpy="0 0 0.5"/></joint>
  <joint name="b" type="revolute"><parent link="foot"/><child link="upper"/>
    <origin xyz="0.1 0 0"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" velocity="1" effort="1"/></joint>
  <joint name="c" type="fixed"><parent link="upper"/><child link="tool"/>
    <origin xyz="0 0 0.3"/></joint>
</robot>"""


@pytest.mark.parametrize("root", ["world", "base_link"])
def test_links_hang_on_each_other_and_the_root_on_the_world(tmp_path, root):
    file = tmp_path / "arm.urdf"
    file.write_text(ARM.replace("ROOT", root))
    base = np.eye(4)
    base[:3, 3] = 1.0, 2.0, 3.0
    arm = SimpleNamespace(robot=load_robot(file), base=base)
    q = np.array([0.4])
    links = link_tree(SimpleNamespace(arm=arm), q)
    found = {link.child: (link.parent, link.fixed) for link in links}
    expected = {"foot": (root, True), "upper": ("foot", False), "tool": ("upper", True)}
    assert found == expected | ({} if root == "world" else {root: ("world", True)})
    places = {"world": np.eye(4)}
    for link in links:
        pose = np.eye(4)
        pose[:3, :3], pose[:3, 3] = quat_matrix(link.orientation), link.position
        places[link.child] = places[link.parent] @ pose
    at = base @ link_pose(arm.robot, q, "tool")
    np.testing.assert_allclose(places["tool"], at, atol=1e-14)
