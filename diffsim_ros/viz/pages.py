"""Which report and playback an estimation has (its result's `page`)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from diffsim_ros.viz import cloud_report, joint_report, marker_report, pose_report
from diffsim_ros.viz.cloud_playback import write_cloud_playback
from diffsim_ros.viz.joint_playback import write_joint_playback
from diffsim_ros.viz.marker_playback import write_marker_playback
from diffsim_ros.viz.playback import write_playback, write_pose_playback
from diffsim_ros.viz.report import write_report

WRITERS = {
    "tosses": (write_report, write_playback),
    "poses": (pose_report.PAGE.write, write_pose_playback),
    "markers": (marker_report.PAGE.write, write_marker_playback),
    "clouds": (cloud_report.PAGE.write, write_cloud_playback),
    "sensors": (cloud_report.PAGE.write, write_cloud_playback),
    "joints": (joint_report.PAGE.write, write_joint_playback),
}


def write_pages(result: Any, folder: Path) -> None:
    """Write report.html, its pictures and motion.mcap of an EstimationResult into a folder."""
    report, playback = WRITERS[result.page]
    report(result, folder / "report.html")
    if result.predictions:
        playback(folder / "motion.mcap", result)
