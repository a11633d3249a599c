"""Scenes at rest: stiffness and masses from static deflections and natural frequencies."""
