"""What the tests of the ladder language are made of: runs, and checks written as in a document."""

from collections.abc import Mapping, Sequence
from typing import Any

from grading.budget import BUDGET, Budget, Work
from grading.checks import Verdict
from grading.errors import CheckBroken
from grading.kinds.combination import DocumentCheck
from grading.predicates import Asked
from grading.reader.checks import read_check
from grading.reader.definitions import Definitions
from grading.reader.place import Place
from grading.reader.predicates import read_predicate
from grading.reader.scope import Scope
from grading.reader.yaml_text import read_yaml
from spine import Actor, Event, MemoryLog, NewEvent
from spine.vocabulary import counts_as_evidence

RUN = "run/language/1"
AGENT, HUMAN, SYSTEM = Actor.AGENT, Actor.HUMAN, Actor.SYSTEM


def new(type: str, actor: Actor = SYSTEM, /, **payload: Any) -> NewEvent:
    return NewEvent(type, payload, actor=actor)


def called(call_id: str, tool: str, **arguments: Any) -> NewEvent:
    return new("tool.called", AGENT, call_id=call_id, tool=tool, arguments=arguments)


def returned(call_id: str, tool: str, result: Any = "ok") -> NewEvent:
    return new("tool.returned", call_id=call_id, tool=tool, result=result)


def report(name: str, status: str) -> NewEvent:
    return new("test.reported", name=name, status=status)


def answered(answer: str, key: str = "k") -> NewEvent:
    return new("answer.given", AGENT, key=key, answer=answer)


def expected(**payload: Any) -> NewEvent:
    return new("case.expected", **payload)


def run(*events: NewEvent, erase: Sequence[int] = ()) -> list[Event]:
    """The evidence of a run with these events, seq from 1, some of them erased."""
    log = MemoryLog()
    if events:
        log.append(RUN, events)
    if erase:
        log.erase(RUN, erase, reason="test", actor=HUMAN, principal="p")
    return [event for event in log.read(RUN) if counts_as_evidence(event.type)]


def check(text: str, *, define: Mapping[str, Any] | None = None, budget: Budget = BUDGET) -> DocumentCheck:
    """The check of a piece of a document."""
    scope = Scope(Definitions(dict(define or {})), None)
    return DocumentCheck(read_check(read_yaml(text, Place(), {}), Place(), scope), budget)


def judged(check: DocumentCheck, events: Sequence[Event]) -> Verdict:
    """The verdict on these events. Raises CheckBroken."""
    reducer = check.start(reference(events))
    for event in events:
        reducer.step(event)
    return reducer.result()


def outcome(check: DocumentCheck, events: Sequence[Event]) -> tuple[str, tuple[int, ...] | str]:
    """`pass` or `fail` with the citations, or the code with where."""
    try:
        verdict = judged(check, events)
    except CheckBroken as broken:
        return broken.code.value, broken.where
    return "pass" if verdict.passed else "fail", verdict.citations


def reference(events: Sequence[Event]) -> Mapping[str, Any] | None:
    given = [event for event in events if event.type == "case.expected" and event.actor is SYSTEM]
    return given[-1].payload if given else None


def predicate(text: str, reference: Mapping[str, Any] | None = None) -> Asked:
    return read_predicate(read_yaml(text, Place(), {}), Place(), Definitions()).bind(reference)


def holds(text: str, value: Any, reference: Mapping[str, Any] | None = None) -> bool:
    return predicate(text, reference)(value, Work())
