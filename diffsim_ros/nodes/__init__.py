"""ROS 2 nodes around the library: the only place that imports rclpy; no mathematics in here."""

import sys

from diffsim_ros.nodes import starting

if sys.argv[:1] == ["-m"]:  # `python -m diffsim_ros.nodes.NAME` has got as far as this package
    starting.by_module(sys.orig_argv)
