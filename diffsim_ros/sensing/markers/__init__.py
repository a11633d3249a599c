"""Labelled markers: CSV, C3D and bags."""
