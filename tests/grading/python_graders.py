"""Graders in Python, for tests of loading them."""

from dataclasses import dataclass

from grading.checks import Verdict, event_recorded
from grading.evidence import Evidence
from grading.ladders import Ladder, Milestone, Mode

found = Ladder("found", Mode.CUMULATIVE, [Milestone("find", event_recorded("finding.reported"))], version="1")
no_version = Ladder("found", Mode.CUMULATIVE, [Milestone("find", event_recorded("finding.reported"))])
two_words = Ladder("two words", version="1")
no_ladder = 7


@dataclass
class AtLeast:
    """A check with a state of its own: dataclasses look their module up while it runs."""

    number: int

    def __call__(self, evidence: Evidence) -> Verdict:
        return Verdict(len(evidence.events()) >= self.number, f"{len(evidence.events())} events")


def busy() -> Ladder:
    return Ladder("busy", Mode.INDEPENDENT, [Milestone("two", AtLeast(2)), Milestone("three", AtLeast(3))], version="1")


def fails() -> Ladder:
    raise ValueError("no ladder today")
