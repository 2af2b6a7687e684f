"""The known event types as data: payload model, who may write it, and whether it can be evidence.

Unknown types are allowed: anyone may write them, and they can be evidence. A model says what readers rely on; a payload
may hold more. JSON Schemas of all models: `json_schemas()`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from spine.errors import InvalidInput, WriterNotAllowed
from spine.events import Actor

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

Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Uuid = Annotated[str, Field(pattern=r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")]
Seq = Annotated[int, Field(ge=1)]
Count = Annotated[int, Field(ge=0)]
Index = Annotated[int, Field(ge=0, le=65_532)]
Semantics = Annotated[int, Field(ge=1, le=2**31 - 1)]


class Payload(BaseModel):
    """Base of the payload models: exact types, more keys allowed."""

    model_config = ConfigDict(extra="allow", strict=True, frozen=True)


class Source(Payload):
    format: str
    id: str


class RunStarted(Payload):
    """A run began. `source` says what identifies it where it was recorded; it is never a path."""

    agent: str
    model: str
    task: str
    case: str
    cluster: str | None = None
    source: Source | None = None


class Action(Payload):
    tool: str
    arguments: Any


class CaseExpected(Payload):
    """The reference an agent never sees. The last one written by the system counts."""

    target: str | list[str] | None = None
    actions: list[Action] | None = None
    outputs: list[str] | None = None
    tests: list[str] | None = None


class MessageSent(Payload):
    """Narration. Grading reads it only where a check names it."""

    role: str
    content: Any


class ToolCalled(Payload):
    """A call; `call_id` is unique in its run."""

    call_id: str
    tool: str
    arguments: Any = None


class ToolReturned(Payload):
    """The answer to the call of the same `call_id`."""

    call_id: str
    tool: str
    result: Any = None
    error: Any = None


class CommandExited(Payload):
    command: str
    exit_code: int | None
    output: Any = None


class FileChanged(Payload):
    path: str
    sha256: Digest | None = None


class TestReported(Payload):
    name: str
    status: str


class QuestionPosed(Payload):
    key: str
    prompt: str


class AnswerGiven(Payload):
    """The run's answer to the question `key`; the last one wins."""

    key: str
    answer: str


class EffectIntended(Payload):
    effect_id: str
    name: str
    arguments: Any = None
    mutating: bool


class EffectSettled(Payload):
    effect_id: str
    outcome: Any


class EffectRefused(Payload):
    effect_id: str
    reason: str


class ApprovalRequested(Payload):
    effect_id: str


class ApprovalDecided(Payload):
    """`before` and `after` hold the arguments of an edited approval."""

    effect_id: str
    decision: Literal["approved", "edited", "rejected"]
    before: Any = None
    after: Any = None


class BudgetSet(Payload):
    scope: str
    resource: str
    limit: int | float


class BudgetCharged(Payload):
    scope: str
    resource: str
    amount: int | float


class BudgetExhausted(Payload):
    scope: str
    resource: str


class JudgementRecorded(Payload):
    """A model's answer to a question about the run: evidence, so that grading needs no model."""

    request_digest: Digest
    model: str
    parameters: Any = None
    answer: Any


class ScoreImported(Payload):
    """A foreign verdict, kept for comparison; evidence only where a check names this type."""

    scorer: str
    value: Any
    explanation: str | None = None


class RunFinished(Payload):
    status: Literal["completed", "budget_exhausted", "canceled", "failed"]
    reason: str | None = None


class GraderIdentity(Payload):
    """A grader is its name and version; what it does is its definition under the semantics of the checking language."""

    name: str
    version: str
    definition: Digest
    semantics: Semantics


class StreamEvidenceRef(Payload):
    stream: str
    through_seq: Count
    digest: Digest


class SuppliedEvidenceRef(Payload):
    kind: Literal["supplied"]
    digest: Digest


EvidenceRef = StreamEvidenceRef | SuppliedEvidenceRef


class GraderRegistered(Payload):
    """The whole grader, so that the log alone can replay it: a document's text, or the source of a Python module."""

    name: str
    version: str
    definition: Digest
    semantics: Semantics
    kind: Literal["document", "python"]
    document: dict[str, Any] | None = None
    source: str | None = None
    target: str | None = None


class GraderActivated(Payload):
    name: str
    version: str
    reason: str | None = None


class GradeMilestone(Payload):
    """One rung. `weight` is the effective one; `reached` says it was evaluated; `cited` counts all citations."""

    grade_id: Uuid
    ladder: str
    index: Index
    name: str
    weight: float
    required: bool
    passed: bool
    reached: bool
    detail: str
    citations: Annotated[list[Seq], Field(max_length=100)]
    cited: Count


class GradeSummary(Payload):
    """A grade. `reached` counts the rungs that passed; `rungs` counts all."""

    grade_id: Uuid
    ladder: str
    mode: Literal["cumulative", "independent"]
    attained: float
    total: float
    score: float
    reached: Count
    passed: bool
    rungs: Count
    outcome: Digest
    grader: GraderIdentity | None
    evidence: EvidenceRef


class GradeBroken(Payload):
    """Could not be graded, for a cause that will be the same next time."""

    grade_id: Uuid
    ladder: str
    grader: GraderIdentity | None
    evidence: EvidenceRef
    code: Literal["check_raised", "wrong_type", "expected_missing", "evidence_erased", "budget_exceeded"]
    milestone: str
    where: str


class GradeOverridden(Payload):
    """A person sees a rung otherwise. `index` says which: the rungs of a Python ladder may share a name."""

    grade_id: Uuid
    index: Index
    milestone: str
    passed: bool
    reason: str


class RegradeStarted(Payload):
    """A batch re-grade of the runs that stood on the log at `head`."""

    grader: GraderIdentity
    selection: Any
    head: Count
    reason: str | None = None


class RegradeFinished(Payload):
    grader: GraderIdentity
    counts: dict[str, int]
    complete: bool


class ImportRecorded(Payload):
    """A file was imported. `name` is its last path component, `prefix` what the import was told to name the source.
    `refused` lists the first of what was refused, `refusals` counts all."""

    name: str
    sha256: Digest
    format: str
    mapping: Annotated[int, Field(ge=1)]
    runs: Count
    events: Count
    prefix: str
    refused: list[Any]
    refusals: Count
    adapted: dict[str, int] = Field(default_factory=dict)


class EventErased(Payload):
    """The payload, metadata and salt of the event at `position` were erased."""

    position: Seq
    seq: Seq
    payload_digest: Digest
    reason: str
    by: str


class StreamHidden(Payload):
    reason: str


class StreamShown(Payload):
    reason: str | None = None


PayloadModel: TypeAlias = type[Payload]


@dataclass(frozen=True, slots=True)
class Kind:
    """What is known of an event type."""

    type: str
    model: PayloadModel | None
    writers: frozenset[Actor]
    evidence: bool
    """Whether it counts as evidence without being named by a check."""


def _kind(type: str, model: PayloadModel, *writers: Actor, evidence: bool = True) -> Kind:
    return Kind(type, model, frozenset(writers), evidence)


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


def check_known(type: str, schema_version: int, field: str) -> None:
    """Raises InvalidInput for a known type in a version that has no model, and for a type in the service's namespaces
    that is not known: neither could be read safely by what comes later."""
    if type in KNOWN:
        if schema_version != 1:
            raise InvalidInput(f"{field}.schema_version", f"{type} has no version {schema_version}, only 1")
    elif is_service(type):
        raise InvalidInput(f"{field}.type", f"{type} is in a namespace of the service, which knows no such type")


def check_writer(type: str, actor: Actor, field: str) -> None:
    """Raises WriterNotAllowed when `actor` may not write `type`."""
    writers = kind_of(type).writers
    if actor not in writers:
        raise WriterNotAllowed(field, type, actor, writers)


def check_payload(type: str, payload: bytes, field: str) -> None:
    """Raises InvalidInput naming the path when the payload (as JSON) of a known type lacks what its readers rely on."""
    known = KNOWN.get(type)
    if known is None or known.model is None:
        return
    try:
        known.model.__pydantic_validator__.validate_json(payload)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        steps = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in first["loc"])
        raise InvalidInput(field + steps, f"{first['msg'].lower()} (payload of {type})") from None


def json_schemas() -> dict[str, dict[str, Any]]:
    """The JSON Schema of every known type's payload, by `type@schema_version`."""
    return {f"{kind.type}@1": kind.model.model_json_schema() for kind in KNOWN.values() if kind.model is not None}
