"""Point clouds: files, bags, and the filters that leave the observed body."""
