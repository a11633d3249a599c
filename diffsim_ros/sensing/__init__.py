"""Recordings: files, bags and live samples, checked and cut into trials. No estimation, no ROS.

observation        samples of one sensor, as every reader returns them
read, formats      any recording as it was recorded: one reader a format, chosen by its contents
poses, markers, joints, clouds/   one kind of sensor: decode and validate
tosses, toss_file  poses on a time grid, and their npz format
bags, messages     ROS 2 bags and the CDR messages in them
record             what is received live
clock, shape, flight, findings, check   figures of a recording, and their verdicts
"""
