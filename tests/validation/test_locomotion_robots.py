"""A small part of validation/locomotion_robots.py."""

from __future__ import annotations

import numpy as np
import pytest

from validation import locomotion_robots
from validation.locomotion_robots import SIDES, beside, flags_of, study


@pytest.mark.filterwarnings("ignore:.*principal moments")
def test_two_robots_trot_turn_and_stop(monkeypatch):
    monkeypatch.delenv("DIFFSIM_CROCODDYL", raising=False)
    figures = study(fraction=0.1)
    assert set(figures["robots"]) == {"solo12", "hyq"}
    for rows in figures["robots"].values():
        assert {row["status"] for row in rows.values()} == {"reached"}
        assert rows["stop"]["speed_before_m_s"] > 0.1
    assert figures["drawn"]["reached"] == figures["drawn"]["motions"] == 12
    assert figures["crocoddyl"] == "not installed"


def test_flags_of_its_trot_are_those_of_crocoddyl():
    flags = flags_of(("FL", "FR", "HL", "HR"), SIDES["solo12"], swing=3, stand=2)
    assert ["".join("01"[int(v)] for v in column) for column in flags.T] == [
        "1111111100011", "1100011111111", "1100011111111", "1111111100011"
    ]  # fmt: skip


def test_both_planners_have_one_task(monkeypatch):
    """What is asked of Crocoddyl, and that as many nodes and as long a motion are planned here."""
    asked = {}

    def answer(folder, given):
        asked.update(given, folder=folder)
        nodes = 2 * (given["swing"] + given["stand"] + 1) + 1
        return {"nodes": nodes, "travel": [0.06, 0.0, 0.0]}

    monkeypatch.setattr(locomotion_robots, "crocoddyl_trot", answer)
    row = beside("solo12", (0.02, 12, 2), "somewhere")
    assert row["nodes"] == row["ours"]["samples"] == 31 and row["ours"]["status"] == "reached"
    assert asked["folder"] == "somewhere" and asked["feet"][0] == "FL_FOOT"
    assert len(asked["joints"]) == 12 and np.isclose(np.linalg.norm(asked["base"][3:]), 1.0)
