"""Estimation from point clouds, alone or with other sensors.  See docs/pointclouds.md."""
