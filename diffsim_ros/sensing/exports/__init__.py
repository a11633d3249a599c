"""Exports of other programs, a reader a file, each of which ends with its `EXPORT` (formats.py)."""
