"""Labelled markers on a soft or rigid body: recordings of them, and experiments made of those."""
