"""Grading: ladders of milestones over recorded evidence, and the grades they give."""
