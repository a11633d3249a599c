"""A robot and its scene as a lab would have them: what the robot does, and what sensors see."""
