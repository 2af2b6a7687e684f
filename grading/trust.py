"""Whom a check believes unless it says otherwise: part of the language, and fixed with its semantics number.

It follows from who may write a type, but the vocabulary may grow and a published ladder must not change its meaning by
that: a type that becomes known later is believed by ladders of a later semantics number only.
"""

from collections.abc import Mapping
from typing import Final

from spine import Actor

AGENT, HUMAN, SYSTEM = Actor.AGENT, Actor.HUMAN, Actor.SYSTEM

TRUST_1: Final[Mapping[str, frozenset[Actor]]] = {
    "run.started": frozenset({SYSTEM}),
    "case.expected": frozenset({SYSTEM}),
    "message.sent": frozenset({AGENT, HUMAN}),
    "tool.called": frozenset({AGENT}),
    "tool.returned": frozenset({SYSTEM}),
    "command.exited": frozenset({SYSTEM}),
    "file.changed": frozenset({SYSTEM}),
    "test.reported": frozenset({SYSTEM}),
    "question.posed": frozenset({SYSTEM}),
    "answer.given": frozenset({AGENT}),
    "effect.intended": frozenset({AGENT}),
    "effect.settled": frozenset({HUMAN, SYSTEM}),
    "effect.refused": frozenset({SYSTEM}),
    "approval.requested": frozenset({AGENT}),
    "approval.decided": frozenset({HUMAN}),
    "budget.set": frozenset({HUMAN, SYSTEM}),
    "budget.charged": frozenset({SYSTEM}),
    "budget.exhausted": frozenset({SYSTEM}),
    "judgement.recorded": frozenset({SYSTEM}),
    "score.imported": frozenset({SYSTEM}),
    "run.finished": frozenset({SYSTEM}),
}
"""Semantics 1: the writers of the types that were known then."""

NAMED_ONLY: Final = frozenset({"score.imported"})
"""Types that count as evidence (they move `through_seq` and the digest) and are seen only where they are named."""

_UNKNOWN: Final = frozenset({SYSTEM, HUMAN})


def default_trust(type: str) -> frozenset[Actor]:
    """The actors whose events of this type a check believes: its writers, or system and human for an unknown type."""
    return TRUST_1.get(type, _UNKNOWN)
