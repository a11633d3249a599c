"""Which page and playback an estimation has, by its kind."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from diffsim_ros.viz.estimation_page import Sections, write_page
from diffsim_ros.viz.playback import write_playback

KINDS = {
    "poses": "poses.PoseSections",
    "markers": "markers.MarkerSections",
    "clouds": "clouds.CloudSections",
    "sensors": "clouds.CloudSections",
    "joints": "joints.JointSections",
    "efforts": "efforts.EffortSections",
    "wrenches": "wrenches.WrenchSections",
    "outputs": "outputs.OutputSections",
    "statics": "statics.StaticsSections",
}
"""Kind -> module of kinds/ and its Sections."""


def sections_of(result: Any) -> Sections:
    """The sections of an EstimationResult."""
    module, name = KINDS[result.kind].split(".")
    return getattr(import_module(f"diffsim_ros.viz.kinds.{module}"), name)(result)


def write_pages(result: Any, folder: Path) -> None:
    """Write report.html, its pictures and, of what moves, motion.mcap of an EstimationResult into a
    folder."""
    sections = sections_of(result)
    statics = import_module("diffsim_ros.viz.kinds.statics")
    sections.rest = statics.blocks(result.at_rest), statics.figures(result.at_rest)
    write_page(sections, folder / "report.html")
    if result.predictions and sections.plays:
        write_playback(folder / "motion.mcap", sections.play)
