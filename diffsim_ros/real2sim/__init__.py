"""From recordings to parameters: read, fit, say how sure, predict.  See docs/how-to/real2sim.md."""
