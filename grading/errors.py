"""Everything grading can refuse or fail at; one class for each decision its caller can take.

GradingError
├── InvalidLadder        a ladder or its document breaks a rule: names file, line and path
├── GraderConflict       same name and version, other definition: raise the version
├── ImpureGrader         the same evidence could get another grade: names milestone, deed and line
├── UntriedGrader        whether a grader is pure could not be found out
├── UnqualifiedGrader    a grader that has not been qualified, where only qualified ones may re-grade
├── InvalidLabels        a file of labels breaks a rule: names file and line
├── NotFound             no such grader, stream or grade
├── CheckBroken          a check cannot give a verdict, for a cause that will be the same next time
├── MilestoneBroken      the same, with the milestone it happened at
└── InvalidRecording     a file that was named cannot be imported
"""

from enum import StrEnum
from typing import Final


class GradingError(Exception):
    """Root of every error of the grading service."""


class InvalidLadder(GradingError):
    """A ladder breaks a rule. `path` leads into the document, `line` (from 1) and `source` say where it stands."""

    def __init__(self, reason: str, *, path: str = "", source: str = "", line: int | None = None) -> None:
        place = ":".join(str(part) for part in (source, line) if part not in ("", None))
        super().__init__(": ".join(part for part in (place, path, reason) if part))
        self.reason: Final = reason
        self.path: Final = path
        self.source: Final = source
        self.line: Final = line


class GraderConflict(GradingError):
    """This name and version are registered with another definition."""


class ImpureGrader(GradingError):
    """A grader does what can give the same evidence another grade. It is not registered."""

    def __init__(self, grader: str, found: str) -> None:
        super().__init__(f"{grader} is not pure: {found}")
        self.grader: Final = grader


class UntriedGrader(GradingError):
    """A grader hung, ran out of memory or ended the process while it was tried, so nothing is known of its purity."""

    def __init__(self, grader: str, why: str) -> None:
        super().__init__(f"{grader} could not be tried: {why}")
        self.grader: Final = grader


class UnqualifiedGrader(GradingError):
    """The grader has not been qualified, and only qualified ones may re-grade here."""


class InvalidLabels(GradingError):
    """A file of labels cannot be read; names file and line."""


class NotFound(GradingError):
    """What was named does not exist, or cannot be used; the message says what is near it, `next` what to do."""

    def __init__(self, message: str, next: str = "") -> None:
        super().__init__(message)
        self.next: Final = next


class InvalidRecording(GradingError):
    """A file that was named is not a recording that can be imported."""


class BrokenCode(StrEnum):
    """Why a run could not be graded. Fixed with the first release: recorded in `grade.broken`."""

    CHECK_RAISED = "check_raised"
    WRONG_TYPE = "wrong_type"
    EXPECTED_MISSING = "expected_missing"
    EVIDENCE_ERASED = "evidence_erased"
    BUDGET_EXCEEDED = "budget_exceeded"


class CheckBroken(GradingError):
    """A check cannot give a verdict on this evidence. `where` names seqs and paths, never values."""

    def __init__(self, code: BrokenCode, where: str) -> None:
        super().__init__(f"{code}: {where}")
        self.code: Final = code
        self.where: Final = where


class MilestoneBroken(GradingError):
    """The check of a milestone raised. The cause is `__cause__`; `code` and `where` are what is recorded."""

    def __init__(self, milestone: str, index: int, code: BrokenCode, where: str) -> None:
        super().__init__(f"milestone {milestone!r} (index {index}): {code}: {where}")
        self.milestone: Final = milestone
        self.index: Final = index
        self.code: Final = code
        self.where: Final = where
