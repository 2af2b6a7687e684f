"""The known event types as data: payload model, who may write it, and whether it can be evidence.

Unknown types are allowed: anyone may write them, and they can be evidence. A model says what readers rely on; a payload
may hold more. JSON Schemas of all models: `json_schemas()`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from pydantic import ValidationError
from pydantic.fields import FieldInfo

from spine.errors import InvalidInput, WriterNotAllowed
from spine.events import Actor
from spine.payloads import (
    AnswerGiven,
    ApprovalDecided,
    ApprovalRequested,
    BudgetCharged,
    BudgetExhausted,
    BudgetSet,
    CaseExpected,
    CommandExited,
    EffectIntended,
    EffectRefused,
    EffectSettled,
    EventErased,
    FileChanged,
    GradeBroken,
    GradeMilestone,
    GradeOverridden,
    GraderActivated,
    GraderQualified,
    GraderRegistered,
    GradeSummary,
    ImportRecorded,
    JudgementRecorded,
    MessageSent,
    Payload,
    QuestionPosed,
    RegradeFinished,
    RegradeStarted,
    RunFinished,
    RunStarted,
    ScoreImported,
    StreamHidden,
    StreamShown,
    TestReported,
    ToolCalled,
    ToolReturned,
)

AGENT, HUMAN, SYSTEM = Actor.AGENT, Actor.HUMAN, Actor.SYSTEM

SERVICE_NAMESPACES: Final = (
    "grade.",
    "grader.",
    "regrade.",
    "event.",
    "log.",
    "import.",
    "stream.",
    "experiment.",
    "execution.",
    "assessment.",
    "iteration.",
)
"""Types of the service itself: never evidence, never erased, never written by an agent."""

ERASED: Final = "event.erased"

PayloadModel: TypeAlias = type[Payload]


@dataclass(frozen=True, slots=True)
class Kind:
    """What is known of an event type."""

    type: str
    model: PayloadModel | None
    writers: frozenset[Actor]
    evidence: bool
    """Whether it counts as evidence without being named by a check."""
    texts: tuple[str, ...] | None = None
    """Where the model asks for no more than texts, and fields that may be anything: the names of the texts."""
    needed: tuple[str, ...] = ()
    """There, what else has to be given."""


def _kind(type: str, model: PayloadModel, *writers: Actor, evidence: bool = True) -> Kind:
    fields = model.model_fields
    needed = tuple(name for name, field in fields.items() if field.annotation is Any and field.is_required())
    texts = tuple(name for name, field in fields.items() if _is_text(field))
    simple = all(field.annotation is Any or name in texts for name, field in fields.items())
    simple = simple and not model.__pydantic_decorators__.model_validators
    return Kind(type, model, frozenset(writers), evidence, texts if simple else None, needed)


def _is_text(field: FieldInfo) -> bool:
    return field.annotation is str and field.is_required() and not field.metadata


KNOWN: Final[Mapping[str, Kind]] = {
    kind.type: kind
    for kind in (
        _kind("run.started", RunStarted, SYSTEM),
        _kind("case.expected", CaseExpected, SYSTEM),
        _kind("message.sent", MessageSent, AGENT, HUMAN),
        _kind("tool.called", ToolCalled, AGENT),
        _kind("tool.returned", ToolReturned, SYSTEM),
        _kind("command.exited", CommandExited, SYSTEM),
        _kind("file.changed", FileChanged, SYSTEM),
        _kind("test.reported", TestReported, SYSTEM),
        _kind("question.posed", QuestionPosed, SYSTEM),
        _kind("answer.given", AnswerGiven, AGENT),
        _kind("effect.intended", EffectIntended, AGENT),
        _kind("effect.settled", EffectSettled, SYSTEM, HUMAN),
        _kind("effect.refused", EffectRefused, SYSTEM),
        _kind("approval.requested", ApprovalRequested, AGENT),
        _kind("approval.decided", ApprovalDecided, HUMAN),
        _kind("budget.set", BudgetSet, SYSTEM, HUMAN),
        _kind("budget.charged", BudgetCharged, SYSTEM),
        _kind("budget.exhausted", BudgetExhausted, SYSTEM),
        _kind("judgement.recorded", JudgementRecorded, SYSTEM),
        _kind("score.imported", ScoreImported, SYSTEM, evidence=False),
        _kind("run.finished", RunFinished, SYSTEM),
        _kind("grader.registered", GraderRegistered, SYSTEM, evidence=False),
        _kind("grader.qualified", GraderQualified, SYSTEM, evidence=False),
        _kind("grader.activated", GraderActivated, SYSTEM, evidence=False),
        _kind("grade.milestone", GradeMilestone, SYSTEM, evidence=False),
        _kind("grade.summary", GradeSummary, SYSTEM, evidence=False),
        _kind("grade.broken", GradeBroken, SYSTEM, evidence=False),
        _kind("grade.overridden", GradeOverridden, SYSTEM, HUMAN, evidence=False),
        _kind("regrade.started", RegradeStarted, SYSTEM, evidence=False),
        _kind("regrade.finished", RegradeFinished, SYSTEM, evidence=False),
        _kind("import.recorded", ImportRecorded, SYSTEM, evidence=False),
        _kind(ERASED, EventErased, SYSTEM, HUMAN, evidence=False),
        _kind("stream.hidden", StreamHidden, SYSTEM, HUMAN, evidence=False),
        _kind("stream.shown", StreamShown, SYSTEM, HUMAN, evidence=False),
    )
}

_ANYONE: Final = frozenset(Actor)
_ONLY_SYSTEM: Final = frozenset({SYSTEM})


def kind_of(type: str) -> Kind:
    """What is known of `type`; for an unknown type, what holds for all of those."""
    known = KNOWN.get(type)
    if known is not None:
        return known
    if is_service(type):
        return Kind(type, None, _ONLY_SYSTEM, evidence=False)
    return Kind(type, None, _ANYONE, evidence=True)


def is_service(type: str) -> bool:
    """Whether the type belongs to the service itself (its namespaces are reserved whole)."""
    return type.startswith(SERVICE_NAMESPACES)


def counts_as_evidence(type: str) -> bool:
    """Whether an event of this type moves `through_seq`: all but the service's own. `score.imported` does, though only
    a check that names it sees it."""
    return not is_service(type)


def check_known(type: str, schema_version: int) -> None:
    """Raises InvalidInput for a known type in a version that has no model, and for a type in the service's namespaces
    that is not known: neither could be read safely by what comes later."""
    if type in KNOWN:
        if schema_version != 1:
            raise InvalidInput("schema_version", f"{type} has no version {schema_version}, only 1")
    elif is_service(type):
        raise InvalidInput("type", f"{type} is in a namespace of the service, which knows no such type")


def check_writer(type: str, actor: str, field: str) -> None:
    """Raises WriterNotAllowed when `actor` may not write `type`."""
    writers = kind_of(type).writers
    if actor not in writers:
        raise WriterNotAllowed(field, type, actor, writers)


def check_payload(type: str, payload: bytes, field: str, said: object = None) -> None:
    """Raises InvalidInput naming the path when the payload (as JSON) of a known type lacks what its readers rely on.
    `said` is what it was made of: of most types, one look at that tells that all is well."""
    known = KNOWN.get(type)
    if known is None or known.model is None or _is_plainly_right(known, said):
        return
    try:
        known.model.__pydantic_validator__.validate_json(payload, extra="ignore")
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        steps = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in first["loc"])
        raise InvalidInput(field + steps, f"{first['msg'].lower()} (payload of {type})") from None


def _is_plainly_right(known: Kind, said: object) -> bool:
    if known.texts is None or said.__class__ is not dict:
        return False
    for name in known.texts:
        if said.get(name).__class__ is not str:
            return False
    return not known.needed or all(name in said for name in known.needed)


def json_schemas() -> dict[str, dict[str, Any]]:
    """The JSON Schema of every known type's payload, by `type@schema_version`."""
    return {f"{kind.type}@1": kind.model.model_json_schema() for kind in KNOWN.values() if kind.model is not None}
