"""One's own recordings: what a file holds, what is wrong with it, and a first estimation of it.

streams    any recording that the package reads -> Streams, samples as recorded, nothing dropped
timing, shape, flights   figures of a stream: clock, places, free flight and rest
findings   figures -> sentences with advice;  check: all of it for `diffsim check`
first_tosses, first_markers   a commented scene and estimation for `diffsim init`
"""
