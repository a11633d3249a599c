"""Open3D, imported when it is first needed: it takes seconds and is an optional dependency."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from ...errors import InputError


@cache
def open3d() -> Any:
    """The module; raises InputError, with how to install it, where it is missing."""
    try:
        import open3d as module
    except ImportError as error:
        remedy = "pip install open3d (extra pointcloud); apt-get install libusb-1.0-0 libgl1 "
        remedy += "libegl1 libgomp1"
        raise InputError("point clouds", "open3d", str(error), "Open3D", remedy) from error
    return module


def o3d_cloud(points: np.ndarray) -> Any:
    """Open3D's cloud of points (n, 3) [m]."""
    module = open3d()
    cloud = module.geometry.PointCloud()
    cloud.points = module.utility.Vector3dVector(points)
    return cloud
