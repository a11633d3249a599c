"""Logs of a robot's joints: friction, armature, gains and payload from commands and readings."""
