"""Recorded runs and ladders for a first look: written by hand and by seed, the same on every machine."""
