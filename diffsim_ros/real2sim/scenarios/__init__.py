"""Where a rollout starts: in a flight, by height, at a release, in a throw."""
