"""Check: what a milestone asks of the evidence; the seed's three checks; what a check's exception means."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from traceback import walk_tb
from typing import Any, ClassVar, Final, Protocol, TypeAlias, runtime_checkable

from grading.errors import BrokenCode, CheckBroken, InvalidLadder
from grading.evidence import Evidence
from grading.trust import NAMED_ONLY
from spine import Actor, AppendOutcomeUnknown, Event, LogCorrupt, LogUnavailable, PayloadErased


@dataclass(frozen=True, slots=True)
class Verdict:
    """A check's answer. `citations` are the seqs of the events that decided it, whichever way it went; `detail` names
    seqs and paths, never values (values can be erased)."""

    passed: bool
    detail: str
    citations: tuple[int, ...] = ()


Check: TypeAlias = Callable[[Evidence], Verdict | tuple[bool, str]]
"""A deterministic function of evidence: no clock, no chance, no network, no files. The plain (passed, detail) form
cites nothing. Raises when it cannot give a verdict."""


class Reducer(Protocol):
    """A check under way: fed the evidence event by event, it can say at any time how the check stands."""

    def step(self, event: Event) -> None:
        """Take the next event of the evidence, in order of seq. It looks only at types it names: `score.imported` is
        among the events."""

    def result(self) -> Verdict:
        """The verdict on the events so far. Asking changes nothing: more steps may follow. Raises CheckBroken."""


@runtime_checkable
class IncrementalCheck(Protocol):
    """A check that is a reducer over events, so that a ladder is graded in one pass, at any prefix, in constant memory.
    Called with evidence, it is an ordinary check (`run_over` does that).

    One that never changes a payload nor hands it to foreign code may say so with a class attribute
    `shares_events = True`: then it is fed the same event objects as the others, which saves decoding payloads again.
    """

    def start(self, expected: Mapping[str, Any] | None, answers: Mapping[str, str] | None = None) -> Reducer:
        """A fresh reducer. `expected` is the payload of the last `case.expected` by the system, None without one;
        `answers` are supplied ones, which hold instead of those that events give."""

    def __call__(self, evidence: Evidence) -> Verdict: ...


def run_over(check: IncrementalCheck, evidence: Evidence) -> Verdict:
    """The verdict of an incremental check on the whole evidence: what its `__call__` gives."""
    reducer = check.start(evidence.expected(), evidence.supplied_answers)
    for event in evidence.events(also=NAMED_ONLY):
        reducer.step(event)
    return reducer.result()


def answer_equals(key: str, want: str) -> Check:
    """Passes when the answer under `key` equals `want`, both trimmed and lower-cased."""
    wanted = lower(trim(want))

    def check(evidence: Evidence) -> Verdict:
        answer = evidence.answer(key)
        if answer is None:
            return Verdict(False, f"no answer for {key}")
        equal = lower(trim(answer)) == wanted
        return Verdict(equal, "answer matches" if equal else "answer mismatch", _answered(evidence, key))

    return check


def answer_matches(key: str, predicate: Callable[[str], object] | None = None) -> Check:
    """Passes when `predicate` holds for the answer under `key`, as it was given. Without one, none is accepted."""

    def check(evidence: Evidence) -> Verdict:
        answer = evidence.answer(key)
        if answer is None:
            return Verdict(False, f"no answer for {key}")
        accepted = predicate is not None and bool(predicate(answer))
        return Verdict(accepted, "answer accepted" if accepted else "answer rejected", _answered(evidence, key))

    return check


def event_recorded(
    type: str,
    matcher: Callable[[Mapping[str, Any]], object] | None = None,
    *,
    trust: Iterable[Actor | str] | None = None,
) -> IncrementalCheck:
    """Passes at the first event of exactly this type, by any actor (or by those of `trust`), whose payload `matcher`
    accepts. Without a matcher, every payload is accepted. An erased payload is an error only if it is opened."""
    return _EventRecorded(type, matcher, None if trust is None else _actors(trust))


@dataclass(frozen=True, slots=True)
class _EventRecorded:
    shares_events: ClassVar[bool] = True
    polarity: ClassVar[str] = "presence"

    type: str
    matcher: Callable[[Mapping[str, Any]], object] | None
    trust: frozenset[Actor] | None

    def start(self, expected: Mapping[str, Any] | None, answers: Mapping[str, str] | None = None) -> Reducer:
        return _FirstRecorded(self)

    def __call__(self, evidence: Evidence) -> Verdict:
        return run_over(self, evidence)

    def accepts(self, event: Event) -> bool:
        if event.type != self.type or (self.trust is not None and event.actor not in self.trust):
            return False
        # The matcher is foreign code: it gets a payload of its own, so that it cannot change what others see.
        return self.matcher is None or bool(self.matcher(Event(event.row).payload))


class _FirstRecorded:
    def __init__(self, check: _EventRecorded) -> None:
        self._check = check
        self._seq: int | None = None

    def step(self, event: Event) -> None:
        if self._seq is None and self._check.accepts(event):
            self._seq = event.seq

    def result(self) -> Verdict:
        if self._seq is None:
            return Verdict(False, f"no recorded {self._check.type}")
        return Verdict(True, f"recorded {self._check.type}", (self._seq,))


def _answered(evidence: Evidence, key: str) -> tuple[int, ...]:
    seq = evidence.answered_at(key)
    return () if seq is None else (seq,)


def _actors(trust: Iterable[Actor | str]) -> frozenset[Actor]:
    try:
        actors = frozenset(map(Actor, [trust] if isinstance(trust, str) else trust))
    except ValueError as error:
        raise InvalidLadder(f"{error}: an actor is agent, human or system", path="trust") from None
    if not actors:
        raise InvalidLadder("nobody is trusted; leave it out to accept every actor", path="trust")
    return actors


MAX_DETAIL: Final = 1000

_UNSTORABLE: Final = re.compile("[\x00\ud800-\udfff]")
_WHITE_SPACE: Final = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)

# Capitals that came after Unicode 14, the version of the oldest Python this runs on. They stay as they are, so that a
# grade does not depend on which Python computed it.
_LATER_CAPITALS: Final = re.compile(
    "([\u1c89\ua7cb\ua7cc\ua7ce\ua7d2\ua7d4\ua7da\ua7dc\U00010d50-\U00010d65\U00016ea0-\U00016eb8]+)"
)


def trim(text: str) -> str:
    """Without leading and trailing white space: Unicode White_Space, so U+0085 and U+00A0 go, and U+001C to U+001F,
    which `str.strip` takes too, stay."""
    return text.strip(_WHITE_SPACE)


def lower(text: str) -> str:
    """Lower case, code point by code point (Unicode 14): U+0130 becomes a plain i, a final sigma is like any other, and
    nothing is folded (ß is not ss)."""
    if text.isascii():
        return text.lower()
    # str.lower differs from the simple mapping only in these two.
    simple = text.replace("\u0130", "i").replace("\u03a3", "\u03c3")
    parts = _LATER_CAPITALS.split(simple)  # every second part is what the pattern matched
    return "".join(part if index % 2 else part.lower() for index, part in enumerate(parts))


def as_verdict(answer: object) -> Verdict:
    """The verdict of a check, which may be given in the plain (passed, detail) form. Raises CheckBroken for none."""
    if isinstance(answer, tuple) and len(answer) == 2:
        answer = Verdict(*answer)
    if not isinstance(answer, Verdict):
        raise CheckBroken(BrokenCode.CHECK_RAISED, f"it returned {type(answer).__name__}, not a verdict")
    detail: object = answer.detail
    if not isinstance(detail, str):
        raise CheckBroken(BrokenCode.CHECK_RAISED, "the detail it returned is not text")
    if not all(type(seq) is int and seq >= 1 for seq in answer.citations):
        raise CheckBroken(BrokenCode.CHECK_RAISED, "the citations it returned are not seqs")
    return Verdict(bool(answer.passed), recordable(detail), answer.citations)


def recordable(text: str) -> str:
    """The text as it can stand in a grade: its first 1000 characters, U+FFFD in place of a lone surrogate or a NUL."""
    short = text if len(text) <= MAX_DETAIL else text[: MAX_DETAIL - 1] + "…"
    return _UNSTORABLE.sub("\ufffd", short)


def as_broken(error: Exception) -> CheckBroken | None:
    """What it means that a check raised `error`; None when it says nothing of the check or the evidence (the machine or
    the log failed): then the run was not graded at all.

    `where` names the kind of error and the check's own line, never its message, which may hold values.
    """
    if isinstance(error, CheckBroken):
        return error
    for cause in _chain(error):
        if isinstance(cause, PayloadErased):
            return CheckBroken(BrokenCode.EVIDENCE_ERASED, f"seq {cause.seq}")
        if isinstance(cause, MemoryError | OSError | LogUnavailable | LogCorrupt | AppendOutcomeUnknown):
            return None  # OSError holds TimeoutError and ConnectionError
    place = _check_line(error)
    return CheckBroken(BrokenCode.CHECK_RAISED, type(error).__name__ + (f" at {place}" if place else ""))


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The error, and those it was raised from or while handling."""
    seen: set[int] = set()
    link: BaseException | None = error
    while link is not None and id(link) not in seen:
        seen.add(id(link))
        yield link
        link = link.__cause__ or link.__context__


def _check_line(error: Exception) -> str | None:
    """module:line of the innermost frame in the module of the check: the first on the way down that is not ours. Lines
    of libraries below it are of no use: they differ between machines."""
    found = None
    for frame, line in walk_tb(error.__traceback__):
        module = frame.f_globals.get("__name__", "")
        if module.partition(".")[0] in ("grading", "spine"):
            continue
        if found is None or module == found[0]:
            found = (module, line)
    return None if found is None else f"{found[0]}:{found[1]}"
