"""Robots: URDF files, kinematics and dynamics of the tree, and their parts in a scene."""
