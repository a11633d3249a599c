"""Locomotion: motions of legged robots."""
