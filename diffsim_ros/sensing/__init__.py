"""Recordings: files, bags and live samples, checked and cut into trials. No estimation, no ROS.

bags, messages     ROS 2 bags and the CDR messages in them
tosses, markers/, joints/, clouds/   files and samples of one kind of sensor
recorder, buffers  what is received live
streams            any recording as it was recorded, nothing dropped
timing, shape, flights, findings, check   figures of a stream, and what they say of it
"""
