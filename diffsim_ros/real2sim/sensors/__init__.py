"""Kinds of recordings: options, trials, predictions and a first guess of each."""
