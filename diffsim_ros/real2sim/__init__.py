"""From recordings to parameters: read, fit, say how sure, predict.  See docs/real2sim.md."""
