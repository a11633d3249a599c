"""Joint logs: CSV, npz and bags."""
