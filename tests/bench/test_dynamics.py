"""bench/dynamics.py: its own side, without compiling Pinocchio's."""

from __future__ import annotations

from bench import dynamics


def test_every_robot_and_function_is_timed(monkeypatch):
    monkeypatch.setattr(dynamics, "compile_peer", lambda folder: None)
    figures = dynamics.main(count=3, repeats=2)
    for name in dynamics.ROBOTS:
        assert set(figures[name]["us"]) == set(dynamics.FUNCTIONS)
        assert min(figures[name]["us"].values()) > 0
    assert set(figures["growth"]["us"]) == {"8", "16", "32", "64"}
