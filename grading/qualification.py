"""Qualification: whether a grader may be relied on. It is tried on runs that have to pass (`oracle`) and runs that must
not (`null`), with planted cheats and mishaps, and held against labels; what came of it stands on the log.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from hashlib import sha256
from typing import Final, Literal, TypeVar

from grading.findings import Finding, of_agreement, of_fall, of_null, of_oracle, of_raise
from grading.graders import Grader
from grading.labels import OUTCOMES, Agreement, Label
from grading.ladders import GraderIdentity
from grading.trials import (
    CheatTrial,
    CheatTrials,
    Fall,
    MishapTrial,
    Raise,
    Trial,
    case_of,
    learnt,
    read_run,
    try_stream,
)
from spine import Actor, Event, InvalidInput, Log, NewEvent
from spine.canonical import encode
from spine.events import Json
from spine.identity import derived_id

EV_QUALIFIED: Final = "grader.qualified"
RULES: Final = 1
"""The number of the way in which graders are tried. Another set of cheats is another number."""
MAX_RUNS: Final = 5_000

_CACHED: Final = 8

Role = Literal["oracle", "null"]
Progress = Callable[[int, int], None]
T = TypeVar("T")


class Standing(StrEnum):
    """What the log says about a version of a grader."""

    QUALIFIED = "qualified"
    NOT_QUALIFIED = "not qualified"
    UNQUALIFIED = "unqualified"
    """Nobody has tried it."""


@dataclass(frozen=True, slots=True)
class Labelled:
    """What came of the labelled runs: each label with the trial of its run. `needed` is the κ that was asked for."""

    pairs: tuple[tuple[Label, Trial], ...]
    needed: float | None = None

    @property
    def agreement(self) -> Agreement:
        return Agreement.of([(label.passed, trial.outcome) for label, trial in self.pairs])

    @property
    def disputed(self) -> list[tuple[Label, Trial]]:
        """The runs of which the grader says something else than the label."""
        return [(label, trial) for label, trial in self.pairs if (trial.outcome == "passed") is not label.passed]

    @property
    def enough(self) -> bool:
        """Whether they agree as was asked for."""
        kappa = self.agreement.kappa
        return self.needed is None or (kappa is not None and kappa >= self.needed)

    def to_payload(self) -> dict[str, Json]:
        said = sorted((label.stream, label.passed) for label, _ in self.pairs)
        digest = sha256(encode([[stream, passed] for stream, passed in said])).hexdigest()
        return {**self.agreement.to_json(), "sha256": digest, "needed": self.needed}


@dataclass(frozen=True, slots=True)
class Qualification:
    """What came of trying a grader."""

    grader: GraderIdentity
    oracle: tuple[Trial, ...]
    null: tuple[Trial, ...]
    cheats: tuple[CheatTrials, ...]
    falls: tuple[Fall, ...]
    claiming: int
    mishaps: int
    raises: tuple[Raise, ...]
    labelled: Labelled | None = None

    @property
    def qualified(self) -> bool:
        return not any(True for _ in self.findings())

    @property
    def broken(self) -> int:
        """How many runs could not be graded: on those it could not be tried."""
        return sum(trial.outcome == "broken" for trial in (*self.oracle, *self.null))

    def findings(self) -> Iterator[Finding]:
        """Everything that speaks against it."""
        yield from (of_oracle(trial) for trial in self.oracle if trial.outcome != "passed")
        yield from (of_null(trial) for trial in self.null if trial.outcome != "failed")
        yield from map(of_fall, self.falls)
        yield from map(of_raise, self.raises)
        if self.labelled is not None and not self.labelled.enough:
            yield of_agreement(self.labelled.agreement, self.labelled.needed)

    def to_payload(self) -> dict[str, Json]:
        """What is recorded of it: counts, names and digests, no values."""
        agreement = None if self.labelled is None else self.labelled.to_payload()
        roles: dict[Role, tuple[Trial, ...]] = {"oracle": self.oracle, "null": self.null}
        return {
            "grader": self.grader.to_json(),
            "qualified": self.qualified,
            "rules": RULES,
            "oracle": _outcomes(self.oracle),
            "null": _outcomes(self.null),
            "cheats": [_cheat(trials) for trials in self.cheats],
            "mishaps": {"milestones": self.claiming, "tried": self.mishaps, "raised": len(self.raises)},
            "agreement": agreement,
            "runs": [
                {**trial.evidence.to_json(), "role": role, "outcome": trial.outcome}
                for role, trials in roles.items()
                for trial in trials
            ],
        }


def qualify(
    log: Log,
    grader: Grader,
    *,
    oracle: Sequence[str],
    null: Sequence[str],
    labels: Sequence[Label] = (),
    kappa: float | None = None,
    progress: Progress | None = None,
) -> Qualification:
    """Try the grader; writes nothing. `kappa` is the least agreement with the labels that it needs.

    Raises InvalidInput without an oracle and a null run, and for a run that is said to be both.
    """
    _check(oracle, null, labels, kappa)
    steps = _Steps(2 * (len(oracle) + len(null)) + len(labels), progress)
    trials = {stream: steps.done(try_stream(log, grader, stream)) for stream in (*oracle, *null)}
    passing, failing = ([trials[stream] for stream in streams] for streams in (oracle, null))

    load = lru_cache(_CACHED)(lambda stream: read_run(log, trials[stream].evidence))
    cheats = CheatTrial(grader, learnt(map(load, trials)))
    mishaps = MishapTrial(grader)
    cases = {case_of(load(stream)): stream for stream in reversed(oracle)}
    for stream in null:
        run = load(stream)
        cheats.on_null(run, load(cases.get(case_of(run), oracle[0])))
        mishaps.on(run)
        steps.done(run)
    for stream in oracle:
        cheats.on_idle(load(stream))
        mishaps.on(load(stream))
        steps.done(stream)

    pairs = [(label, steps.done(trials.get(label.stream) or try_stream(log, grader, label.stream))) for label in labels]
    return Qualification(
        grader.identity,
        tuple(passing),
        tuple(failing),
        tuple(cheats.trials),
        tuple(cheats.falls),
        len(mishaps.claiming),
        mishaps.tried,
        tuple(mishaps.raises),
        Labelled(tuple(pairs), kappa) if labels else None,
    )


def record(log: Log, qualification: Qualification) -> bool:
    """Put what came of it on the log; False when the same was said last of this grader, and nothing is written."""
    payload = qualification.to_payload()
    last = _last(log, qualification.grader)
    if last is not None and last.payload == payload:
        return False
    id = derived_id({"after": 0 if last is None else last.seq, "qualified": payload})
    event = NewEvent(EV_QUALIFIED, payload, actor=Actor.SYSTEM, id=id)
    return log.append(_stream(qualification.grader), [event]).new


def standing(log: Log, grader: GraderIdentity) -> Standing:
    """What was said last about this very grader."""
    last = _last(log, grader)
    if last is None:
        return Standing.UNQUALIFIED
    return Standing.QUALIFIED if last.payload["qualified"] else Standing.NOT_QUALIFIED


def _last(log: Log, grader: GraderIdentity) -> Event | None:
    events = log.read(_stream(grader), types=[EV_QUALIFIED], backwards=True)
    identity = grader.to_json()
    return next((e for e in events if e.actor is Actor.SYSTEM and e.payload["grader"] == identity), None)


def _stream(grader: GraderIdentity) -> str:
    return f"grader/{grader.name}"


def _check(oracle: Sequence[str], null: Sequence[str], labels: Sequence[Label], kappa: float | None) -> None:
    """Raises InvalidInput for what nothing could come of."""
    if not oracle or not null:
        missing = "null" if oracle else "oracle"
        raise InvalidInput(missing, "at least one run that passes (oracle) and one that must not (null) are needed")
    both = sorted(set(oracle).intersection(null))
    if both:
        raise InvalidInput("null", f"{both[0]} is said to be an oracle run and a null run")
    if len(oracle) + len(null) + len(labels) > MAX_RUNS:
        raise InvalidInput("runs", f"more than {MAX_RUNS:,}: choose some of them")
    if kappa is not None and not -1 <= kappa <= 1:
        raise InvalidInput("kappa", f"{kappa} is not between -1 and 1")
    if kappa is not None and not labels:
        raise InvalidInput("kappa", "is about labels, and there are none: give a file of them")


def _outcomes(trials: Sequence[Trial]) -> dict[str, Json]:
    counts = Counter(trial.outcome for trial in trials)
    return {outcome: counts[outcome] for outcome in OUTCOMES}


def _cheat(trials: CheatTrials) -> dict[str, Json]:
    return {
        "name": trials.cheat.name,
        "tried": trials.outcomes.total(),
        "passed": trials.outcomes["passed"],
        "broken": trials.outcomes["broken"],
        "not_applicable": trials.not_applicable,
        "reason": trials.reason,
    }


class _Steps:
    """How far the trials have come."""

    def __init__(self, total: int, progress: Progress | None) -> None:
        self._total = total
        self._done = 0
        self._progress = progress

    def done(self, what: T) -> T:
        self._done += 1
        if self._progress is not None:
            self._progress(self._done, self._total)
        return what
