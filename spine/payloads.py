"""The payload models of the known event types, schema version 1: what readers rely on. A payload may hold more."""

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

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


class Outcomes(Payload):
    """How many runs came out how."""

    passed: Count
    failed: Count
    broken: Count


class QualifiedRun(StreamEvidenceRef):
    """A run that a grader was tried on, and what came of it."""

    role: Literal["oracle", "null"]
    outcome: Literal["passed", "failed", "broken"]


class CheatTried(Payload):
    """A planted cheat: on how many runs it was tried, how many passed by it or could not be graded, and to how many it
    does not apply, and why."""

    name: str
    tried: Count
    passed: Count
    broken: Count
    not_applicable: Count
    reason: str | None = None


class MishapsTried(Payload):
    """Runs with events dropped, reordered or duplicated: how many there were of how many milestones that claim to
    withstand it, and how many raised one from failed to passed."""

    milestones: Count
    tried: Count
    raised: Count


class LabelAgreement(Payload):
    """How a grader agrees with the labels of runs, by label (true, false) and outcome. `kappa` is null where it is
    undefined; `needed` is the κ that was asked for."""

    labelled: Count
    sha256: Digest
    confusion: dict[str, Outcomes]
    accuracy: float | None
    kappa: float | None
    needed: float | None = None


class GraderQualified(Payload):
    """A grader was tried on runs that have to pass (`oracle`), runs that must not (`null`), and planted cheats. `rules`
    is the number of the way in which; the last one of a grader counts."""

    grader: GraderIdentity
    qualified: bool
    rules: Annotated[int, Field(ge=1)]
    oracle: Outcomes
    null: Outcomes
    cheats: list[CheatTried]
    mishaps: MishapsTried
    agreement: LabelAgreement | None = None
    runs: list[QualifiedRun]


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
    """A person sees a rung of a grade otherwise, or its whole verdict: then `milestone` and `index` are null.

    `index` says which rung: those of a Python ladder may share a name. `passed` null takes back what was said of it
    before. `by` is the event's principal. `pass_at` is the score that the ladder asks for, 0 for none, null where that
    was not known.
    """

    grade_id: Uuid
    grader: GraderIdentity | None
    milestone: str | None
    index: Index | None
    passed: bool | None
    by: Annotated[str, Field(min_length=1, max_length=256)]
    reason: Annotated[str, Field(min_length=1, max_length=4000)]
    pass_at: Annotated[float, Field(ge=0, le=1)] | None = None

    @model_validator(mode="after")
    def _names_a_rung_or_none(self) -> Self:
        if (self.milestone is None) != (self.index is None):
            raise ValueError("milestone and index go together")
        return self


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
