"""For launch_testing: twin.launch.py in whole, a motion of its arm, and how all its nodes end.

    launch_test tests/launch_testing/twin.py

`colcon test` runs it (add_launch_test); tests/launch/test_launch_testing.py runs it too, and where
there is no launch_testing its TestCase against the same nodes.
"""

import unittest
from importlib.util import find_spec

import numpy as np
from ament_index_python.packages import get_package_share_directory
from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch_testing import post_shutdown_test
from launch_testing.actions import ReadyToTest
from launch_testing.asserts import assertExitCodes
from sensor_msgs.msg import JointState

from diffsim_ros.nodes.commander import Commander
from diffsim_ros.nodes.common import STREAM
from diffsim_ros.robots.trajectory import JointTrajectory
from launch import LaunchDescription

PACKAGE = "diffsim_ros"
FILE = "twin.launch.py"
NODES = {"simulator", "driver", "observer", "planner", "estimator", "visualizer"}
CALLED = {"simulator", "driver"}
"""Those that the case needs."""
STARTED = 90.0
"""[s] until all nodes are there, on a busy machine."""
MOVED = "wrist_3_joint"
ANGLE = 0.2


def arguments():
    """Of the launch file: a twin of rigid bodies, whose joints are moved."""
    plan = f"{get_package_share_directory(PACKAGE)}/config/planning/ur5_tip.yaml"
    return {"twin": plan, "task": plan, "dry_run": "false", "gripper": "none",
            "cloud_topics": "['']"}  # fmt: skip


@unittest.skipUnless(find_spec("urchin"), "the robot's URDF needs urchin (pip install urchin)")
def generate_test_description():
    """The launch file with these arguments; nodes are waited for by the tests."""
    file = f"{get_package_share_directory(PACKAGE)}/launch/{FILE}"
    source = PythonLaunchDescriptionSource(file)
    include = IncludeLaunchDescription(source, launch_arguments=arguments().items())
    return LaunchDescription([include, ReadyToTest()])


class TestTwin(unittest.TestCase):
    """While the nodes run."""

    def test_the_driver_moves_the_arm_of_the_twin(self):
        with Commander() as ros:
            states = ros.listen(JointState, "joint_states", STREAM, last=True)
            ros.wait(lambda: states, "joint_states", STARTED)
            names = tuple(states[0].name)
            start = np.array(states[0].position)
            end = start + ANGLE * (np.array(names) == MOVED)
            still = np.zeros((2, len(names)))
            motion = JointTrajectory(names, np.array([0.5, 2.0]), np.array([start, end]), still)
            report = ros.execute(motion)
            self.assertEqual(report.code, "SUCCESS", report.message)
            self.assertFalse(report.dry_run)

            def arrived():
                return np.abs(np.array(states[0].position) - end).max() < 0.01

            ros.wait(arrived, f"{MOVED} to have turned by {ANGLE} rad", 10.0)

            def present():
                return {name for name, _ in ros.node.get_node_names_and_namespaces()}

            ros.wait(lambda: present() >= NODES, f"the nodes {NODES}", STARTED)


@post_shutdown_test()
class TestEnd(unittest.TestCase):
    """After launch has interrupted all of them."""

    def test_every_node_ended_with_code_0(self, proc_info):
        assertExitCodes(proc_info)
