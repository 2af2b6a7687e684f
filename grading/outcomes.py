"""Outcomes: how a check stands, and how that changes through a run."""

from dataclasses import dataclass
from typing import TypeAlias

from grading.checks import recordable
from grading.errors import BrokenCode, CheckBroken


@dataclass(frozen=True, slots=True)
class Cause:
    """Why a check gives no verdict."""

    code: BrokenCode
    where: str

    @classmethod
    def of(cls, broken: CheckBroken) -> "Cause":
        return cls(broken.code, recordable(broken.where))


Outcome: TypeAlias = bool | Cause
"""How a check stands: passed, failed, or why it is broken."""

Changes: TypeAlias = list[tuple[int, Outcome]]
"""How a check stands from a place on, in order of places, where that differs from before. (The place of an event is its
number among the events of evidence, from 1; 0 is before the first.)"""
