"""From recordings to parameters, sigmas and predictions.  See docs/how-to/real2sim.md."""
