"""For launch_testing: real2sim.launch.py, an estimation through the estimator's service, the end.

    launch_test tests/launch_testing/estimator.py

As twin.py beside it.
"""

import tempfile
import unittest
from pathlib import Path

from ament_index_python.packages import get_package_share_directory
from diffsim_interfaces.msg import ErrorCode
from diffsim_interfaces.srv import EstimateMaterial
from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch_testing import post_shutdown_test
from launch_testing.actions import ReadyToTest
from launch_testing.asserts import assertExitCodes

from diffsim_ros.nodes.commander import Commander
from launch import LaunchDescription

PACKAGE = "diffsim_ros"
FILE = "real2sim.launch.py"
NODES = {"observer", "estimator", "visualizer"}
CALLED = {"estimator"}
"""Those that the cases need."""
SMALL = [
    "data.train.trials=[1, 3]",
    "data.validate.trials=[4, 6]",
    "fit.starts=1",
    "fit.iterations=2",
    "fit.search_evaluations=0",
]
"""A few tosses and iterations: it is not about the estimate."""


def arguments():
    """Of the launch file: what is estimated where a request names nothing."""
    share = get_package_share_directory(PACKAGE)
    return {"configuration": f"{share}/config/estimation/cube_toss.yaml"}


def generate_test_description():
    """The launch file with these arguments; nodes are waited for by the tests."""
    file = f"{get_package_share_directory(PACKAGE)}/launch/{FILE}"
    source = PythonLaunchDescriptionSource(file)
    include = IncludeLaunchDescription(source, launch_arguments=arguments().items())
    return LaunchDescription([include, ReadyToTest()])


class TestEstimator(unittest.TestCase):
    """While the nodes run."""

    def test_the_service_estimates_what_the_launch_file_was_given(self):
        with tempfile.TemporaryDirectory() as folder, Commander() as ros:
            out = Path(folder) / "results"
            chosen = ["friction", "normal_stiffness"]
            request = EstimateMaterial.Request(parameters=chosen, set=SMALL, out=str(out))
            name = "estimator/estimate_material"
            answer = ros.call(EstimateMaterial, name, request, limit=300.0)
            self.assertIn(answer.error_code, (ErrorCode.SUCCESS, ErrorCode.NOT_CONVERGED),
                          answer.error_msg)  # fmt: skip
            self.assertEqual({one.name for one in answer.parameters}, set(chosen))
            for one in answer.parameters:
                self.assertGreater(one.std_dev, 0.0, one.name)
            self.assertTrue((out / "result.yaml").is_file())

    def test_a_request_that_cannot_be_met_says_why(self):
        with Commander() as ros:

            def present():
                return {name for name, _ in ros.node.get_node_names_and_namespaces()}

            ros.wait(lambda: present() >= NODES, f"the nodes {NODES}", 60.0)
            request = EstimateMaterial.Request(configuration="no_such.yaml")
            answer = ros.call(EstimateMaterial, "estimator/estimate_material", request, 60.0)
            self.assertEqual(answer.error_code, ErrorCode.INVALID_CONFIGURATION)
            self.assertIn("no_such.yaml", answer.error_msg)


@post_shutdown_test()
class TestEnd(unittest.TestCase):
    """After launch has interrupted all of them."""

    def test_every_node_ended_with_code_0(self, proc_info):
        assertExitCodes(proc_info)
