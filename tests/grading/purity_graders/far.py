"""A grader whose deed lies two modules away, and only a run that no sample is comes to it."""

from grading.evidence import Evidence
from grading.ladders import Ladder, Milestone, Mode
from tests.grading.purity_graders import between


def is_late(evidence: Evidence) -> tuple[bool, str]:
    return evidence.answer("a key that no sample has") is not None and between.late(), ""


def is_early(evidence: Evidence) -> tuple[bool, str]:
    return evidence.answer("answer") is not None and between.early(), ""


ladder = Ladder("far", Mode.INDEPENDENT, [Milestone("late", is_late), Milestone("early", is_early)], version="1")
