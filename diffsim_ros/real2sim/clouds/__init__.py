"""Point clouds: files and messages in, the points of one object out.  See docs/pointclouds.md."""
