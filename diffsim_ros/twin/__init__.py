"""A simulated lab: a robot, its scene, and what sensors measure."""
