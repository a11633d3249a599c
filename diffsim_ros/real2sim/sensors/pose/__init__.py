"""Recorded poses or velocities of one or several rigid bodies, jointed or not, as experiments."""
