"""Estimation from point clouds, alone or with other sensors.  See docs/how-to/pointclouds.md."""
