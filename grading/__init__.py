"""Grading: ladders of milestones over recorded evidence, and the grades they give.

The names are loaded when they are first used, so that asking the command for help needs no database driver.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from grading.checks import Check, IncrementalCheck, Reducer, Verdict, answer_equals, answer_matches, event_recorded
    from grading.errors import (
        BrokenCode,
        CheckBroken,
        GraderConflict,
        GradingError,
        InvalidLadder,
        InvalidRecording,
        MilestoneBroken,
        NotFound,
    )
    from grading.evidence import Evidence, MapEvidence, StreamEvidence, StreamReference, SuppliedReference
    from grading.gradebook import Gradebook
    from grading.graders import Grader, GraderRef
    from grading.grades import EV_BROKEN, EV_MILESTONE, EV_SUMMARY, BrokenGrade, read_grades, record, record_broken
    from grading.ladders import Grade, GraderIdentity, Ladder, Milestone, Mode, Rung
    from grading.spec import read_ladder

__all__ = [
    "EV_BROKEN",
    "EV_MILESTONE",
    "EV_SUMMARY",
    "BrokenCode",
    "BrokenGrade",
    "Check",
    "CheckBroken",
    "Evidence",
    "Grade",
    "Gradebook",
    "Grader",
    "GraderConflict",
    "GraderIdentity",
    "GraderRef",
    "GradingError",
    "IncrementalCheck",
    "InvalidLadder",
    "InvalidRecording",
    "Ladder",
    "MapEvidence",
    "Milestone",
    "MilestoneBroken",
    "Mode",
    "NotFound",
    "Reducer",
    "Rung",
    "StreamEvidence",
    "StreamReference",
    "SuppliedReference",
    "Verdict",
    "answer_equals",
    "answer_matches",
    "event_recorded",
    "read_grades",
    "read_ladder",
    "record",
    "record_broken",
]

_MODULES: Final = {
    "grading.checks": [
        "Check",
        "IncrementalCheck",
        "Reducer",
        "Verdict",
        "answer_equals",
        "answer_matches",
        "event_recorded",
    ],
    "grading.errors": [
        "BrokenCode",
        "CheckBroken",
        "GraderConflict",
        "GradingError",
        "InvalidLadder",
        "InvalidRecording",
        "MilestoneBroken",
        "NotFound",
    ],
    "grading.evidence": ["Evidence", "MapEvidence", "StreamEvidence", "StreamReference", "SuppliedReference"],
    "grading.gradebook": ["Gradebook"],
    "grading.graders": ["Grader", "GraderRef"],
    "grading.grades": [
        "EV_BROKEN",
        "EV_MILESTONE",
        "EV_SUMMARY",
        "BrokenGrade",
        "read_grades",
        "record",
        "record_broken",
    ],
    "grading.ladders": ["Grade", "GraderIdentity", "Ladder", "Milestone", "Mode", "Rung"],
    "grading.spec": ["read_ladder"],
}
_HOMES: Final = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> object:
    module = _HOMES.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(module), name)


def __dir__() -> list[str]:
    return __all__
