"""The excerpts of real clouds in data/: read exactly, planes and clusters as the study asserts."""

import pytest

pytest.importorskip("open3d", exc_type=ImportError)

from diffsim_ros.sensing.clouds.options import markdown
from tests.pages import keys_of_kind
from validation.real_clouds import study


def test_excerpts_are_read_and_segmented():
    figures = study(0.1)
    assert len(figures["files"]) == 4 and len(figures["bags"]) == 2 and len(figures["scenes"]) == 2
    kinect = figures["bags"]["excerpt/kinect_xyz_mcap"]
    file = figures["files"]["excerpt/capture0001_160x120.pcd"]
    assert kinect["points"] == [file["points"]] == [15589]


def test_documented_keys_are_those_accepted():
    assert markdown() in keys_of_kind("clouds"), (
        "paste the output of python -m diffsim_ros.sensing.clouds.options into estimation_keys.md"
    )
