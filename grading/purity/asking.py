"""Asking: the check of a milestone over watched evidence, in every way that has to make no difference."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from hashlib import sha256
from types import TracebackType
from typing import Any, Final

from grading.checks import IncrementalCheck, Reducer, as_broken, as_verdict
from grading.errors import MilestoneBroken
from grading.ladders import Ladder, Milestone, Mode
from grading.purity.gate import Refusal
from grading.purity.samples import Sample
from grading.purity.watching import Changed, WatchedEvidence
from grading.trust import NAMED_ONLY

_ASKED: Final = 40
"""How often, at most, a reducer is asked on its way."""

REFUSED: Final = "refused"
ENDED: Final = "an end of the program"


@dataclass(frozen=True, slots=True)
class Said:
    """What a check said: `outcome` is passed, failed or broken with its code; the rest, which may hold values, goes by
    digest."""

    outcome: str
    detail: str
    citations: str
    where: str = ""
    """Where it broke: kinds of errors, lines and paths, as a grade would say it."""

    def differs(self, other: "Said") -> str:
        """How another answer differs: "" if it does not."""
        if self.outcome != other.outcome:
            return f"{self.outcome} and {other.outcome}"
        if self.detail != other.detail:
            return f"{self.outcome} twice, with two details"
        return "" if self.citations == other.citations else f"{self.outcome} twice, by other events"


Watching = Callable[[], AbstractContextManager[None]]


class Asked:
    """The check of one milestone, to be asked on one sample."""

    def __init__(self, milestone: Milestone, sample: Sample, watching: Watching) -> None:
        self._milestone: Final = milestone
        self._sample: Final = sample
        self._watching: Final = watching
        self.changed = ""

    def whole(self, *, frozen: bool = False) -> Said:
        """What it says when it is graded alone."""
        evidence = WatchedEvidence(self._sample, frozen=frozen)
        return self._kept(evidence, lambda: _graded(self._milestone, evidence))

    def in_steps(self) -> Iterator[Said]:
        """What an incremental check says when its events come in other batches: it is asked behind each, behind every
        third, and beside another reducer of the same check that is given the same events."""
        check = self._milestone.check
        if isinstance(check, IncrementalCheck):
            for every, twins in ((1, 1), (3, 1), (len(self._sample.rows) + 1, 2)):
                evidence = WatchedEvidence(self._sample)
                run = _Run(check, evidence, every, twins)
                yield self._kept(evidence, run)

    def changing_line(self) -> TracebackType | None:
        """Where it changes the evidence, as the way there."""
        evidence = WatchedEvidence(self._sample, frozen=True)
        check = self._milestone.check
        try:
            with self._watching():
                if check is not None:
                    _Run(check, evidence, 1, 1).steps() if isinstance(check, IncrementalCheck) else check(evidence)
        except Changed:
            return sys.exc_info()[2]
        except (Exception, SystemExit, Refusal):
            return None
        return None

    def _kept(self, evidence: WatchedEvidence, ask: Callable[[], Said]) -> Said:
        try:
            with self._watching():
                return ask()
        except Refusal:
            return Said(REFUSED, "", "")
        except SystemExit:
            return Said(ENDED, "", "")
        finally:
            self.changed = self.changed or evidence.changed()


@dataclass(frozen=True, slots=True)
class _Run:
    """An incremental check over evidence, asked behind `every` so many events, by `twins` reducers side by side."""

    check: IncrementalCheck
    evidence: WatchedEvidence
    every: int
    twins: int

    def __call__(self) -> Said:
        try:
            return self.steps()
        except Exception as error:
            return _broken(error)

    def steps(self) -> Said:
        evidence = self.evidence
        reducers = [self.check.start(evidence.expected(), evidence.supplied_answers) for _ in range(self.twins)]
        events = evidence.events(also=NAMED_ONLY)
        every = max(self.every, len(events) // _ASKED)
        for place, event in enumerate(events, 1):
            for reducer in reducers:
                reducer.step(event if len(reducers) == 1 else evidence.handed(event))
            if place % every == 0:
                _glance(reducers)
        return [_said(as_verdict(reducer.result())) for reducer in reducers][-1]


def _glance(reducers: Sequence[Reducer]) -> None:
    for reducer in reducers:
        try:
            reducer.result()
        except Exception as error:
            if as_broken(error) is None:
                raise


def _graded(milestone: Milestone, evidence: WatchedEvidence) -> Said:
    try:
        rung = Ladder("trial", Mode.INDEPENDENT, [milestone]).grade(evidence).rungs[0]
    except MilestoneBroken as error:
        return Said(f"broken ({error.code})", _digest(error.where), "", f"{error.code}: {error.where}")
    return Said("passed" if rung.passed else "failed", _digest(rung.detail), _digest([*rung.citations, rung.cited]))


def _said(verdict: Any) -> Said:
    seqs = sorted(set(verdict.citations))
    return Said("passed" if verdict.passed else "failed", _digest(verdict.detail), _digest([*seqs[:100], len(seqs)]))


def _broken(error: Exception) -> Said:
    broken = as_broken(error)
    if broken is None:
        raise error
    return Said(f"broken ({broken.code})", _digest(broken.where), "")


def _digest(value: object) -> str:
    return sha256(repr(value).encode()).hexdigest()[:16]
