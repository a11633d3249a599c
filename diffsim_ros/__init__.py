"""diffsim_ros: differentiable simulation for real2sim and planning with ROS 2.

Importing this package is cheap: the engine (`diffsim_ros._engine`), NumPy, SciPy and ROS are
imported by the modules that use them.
"""

__version__ = "0.1.0"
