"""The experiments of [G] chapter 4 as small programs: `python -m examples [NAME...]`."""
