"""A commented scene and estimation of a recording, for `diffsim init`; one file a kind."""
