"""Graders that no trial comes to an end with."""

import os
from collections.abc import Callable

from grading.evidence import Evidence
from grading.ladders import Ladder, Milestone, Mode


def hangs(evidence: Evidence) -> tuple[bool, str]:
    while True:
        pass


def leaves(evidence: Evidence) -> tuple[bool, str]:
    os._exit(4)


def fails_like_a_machine(evidence: Evidence) -> tuple[bool, str]:
    raise TimeoutError("a value of the run")


def _of(check: Callable[[Evidence], tuple[bool, str]]) -> Ladder:
    return Ladder(check.__name__, Mode.INDEPENDENT, [Milestone("m", check)], version="1")


hanging, leaving, failing = map(_of, (hangs, leaves, fails_like_a_machine))
