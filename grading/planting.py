"""Planting: events put into a recorded run that nobody recorded, to see whether a grader falls for them.

Append refuses most of what is planted, because the actor may not write the type. So it is never appended: it is
supplied to the grader as evidence that was put together.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import PurePosixPath
from typing import Any, Final

from grading.calls import CALLED
from grading.evidence import Evidence, MapEvidence, Reference
from grading.mishaps import renumbered
from grading.trust import default_trust
from spine import Actor, Event
from spine.canonical import encode, payload_digest
from spine.events import EventRow
from spine.identity import derived_id
from spine.vocabulary import counts_as_evidence

_SALT: Final = bytes(32)
_KEPT: Final = 200
"""How many different commands, tests, tools and scores of other runs are remembered."""
_SHELLS: Final = ("bash", "shell", "sh", "terminal", "execute_command", "run_command", "execute_bash", "python")
_GIVEN: Final = ("run.started", "case.expected", "question.posed", "budget.set", "message.sent", "run.finished")
_FOLDER: Final = PurePosixPath("/workspace")


class PlantedEvidence:
    """Evidence that was put together, in which answers are those that its events give, as in a stream."""

    def __init__(self, rows: Sequence[EventRow]) -> None:
        self._events: Final = MapEvidence(map(Event, rows))
        self._given: Final = [row for row in rows if row.type == "answer.given"]

    def events(self, *, also: Collection[str] = ()) -> Sequence[Event]:
        return self._events.events(also=also)

    def answer(self, key: str) -> str | None:
        given = self._answering(key)
        return None if given is None else str(given.payload["answer"])

    def answered_at(self, key: str) -> int | None:
        given = self._answering(key)
        return None if given is None else given.seq

    def expected(self) -> Mapping[str, Any] | None:
        return self._events.expected()

    @property
    def supplied_answers(self) -> None:
        return None

    @property
    def reference(self) -> Reference:
        return self._events.reference

    def _answering(self, key: str) -> Event | None:
        believed = default_trust("answer.given")
        for event in map(Event, reversed(self._given)):
            payload = event.payload
            if event.actor in believed and payload.get("key") == key and isinstance(payload.get("answer"), str):
                return event
        return None


@dataclass(frozen=True, slots=True)
class Draft:
    """An event that nobody recorded."""

    type: str
    payload: Mapping[str, Any]
    actor: Actor = Actor.AGENT


@dataclass(frozen=True, slots=True)
class Run:
    """A recorded run, as far as it is evidence."""

    stream: str
    rows: tuple[EventRow, ...]

    @property
    def evidence(self) -> Evidence:
        return PlantedEvidence(self.rows)

    def events(self, *types: str) -> Iterator[Event]:
        """Those that can be read, of these types or of any."""
        for row in self.rows:
            if row.payload is not None and (not types or row.type in types):
                yield Event(row)

    @property
    def expected(self) -> Mapping[str, Any]:
        """The reference; empty where there is none, or none that can be read."""
        found = [event.payload for event in self.events("case.expected") if event.actor is Actor.SYSTEM]
        return found[-1] if found else {}

    @property
    def tests(self) -> list[str]:
        """The tests that the reference names."""
        tests = self.expected.get("tests")
        return [name for name in tests if isinstance(name, str)] if isinstance(tests, list) else []

    def idle(self) -> "Run":
        """The same case with nothing done: what is given to the agent (what is asked of it first, the reference, its
        budget), and the end. All else may be an effect of what it did, also where no act of its own is recorded."""
        acts = (index for index, row in enumerate(self.rows) if row.actor == Actor.AGENT or row.type not in _GIVEN)
        first = next(acts, len(self.rows))
        later = [row for row in self.rows[first:] if row.type in _GIVEN and row.type != "message.sent"]
        return Run(self.stream, renumbered([*self.rows[:first], *later]))

    def with_planted(self, drafts: Sequence[Draft]) -> tuple[EventRow, ...]:
        """Its rows with these events at the end, but before the run is said to have finished."""
        end = len(self.rows)
        while end and self.rows[end - 1].type in ("run.finished", "score.imported", "case.expected"):
            end -= 1
        planted = [self._row(draft, number) for number, draft in enumerate(drafts) if counts_as_evidence(draft.type)]
        return renumbered([*self.rows[:end], *planted, *self.rows[end:]])

    def _row(self, draft: Draft, number: int) -> EventRow:
        """The event as if it had been recorded last; its leaf is its own, in no chain."""
        payload = encode(dict(draft.payload), draft.type)
        id = derived_id({"planted": number, "stream": self.stream, "type": draft.type, "actor": draft.actor.value})
        time = max((row.recorded_at for row in self.rows), default=0)
        digest = payload_digest(_SALT, payload)
        return EventRow(
            position=0,
            stream=self.stream,
            seq=0,
            id=id.bytes,
            type=draft.type,
            schema_version=1,
            actor=draft.actor.value,
            principal="",
            time=time,
            recorded_at=time,
            correlation_id="",
            causation_id=None,
            trace_id="",
            span_id="",
            origin="",
            payload_digest=digest,
            metadata_digest=None,
            salt=_SALT,
            payload=payload.decode(),
            metadata=None,
            leaf=sha256(id.bytes + digest).digest(),
        )


@dataclass(slots=True)
class Surroundings:
    """What an agent may know of the place it works in, learnt from all runs: an insertion-ordered set each."""

    commands: dict[str, None] = field(default_factory=dict)
    tests: dict[str, None] = field(default_factory=dict)
    tools: dict[str, None] = field(default_factory=dict)
    scores: dict[tuple[str, str], Any] = field(default_factory=dict)
    answers: dict[str, None] = field(default_factory=dict)
    folders: dict[str, None] = field(default_factory=dict)

    def learn(self, run: Run) -> None:
        """Take note of what stands in a run."""
        for name in run.tests:
            _keep(self.tests, name)
        for event in run.events():
            payload = event.payload
            match event.type:
                case "command.exited":
                    _keep(self.commands, str(payload.get("command")))
                case "test.reported":
                    _keep(self.tests, str(payload.get("name")))
                case _ if event.type == CALLED:
                    _keep(self.tools, str(payload.get("tool")))
                case "question.posed" | "answer.given":
                    _keep(self.answers, str(payload.get("key")))
                case "file.changed":
                    _keep(self.folders, _top(str(payload.get("path"))))
                case "score.imported" if len(self.scores) < _KEPT:
                    value = payload.get("value")
                    self.scores.setdefault((str(payload.get("scorer")), encode({"value": value}).decode()), value)

    @property
    def shell(self) -> str:
        """The tool by which commands are run here."""
        return next((tool for tool in _SHELLS if tool in self.tools), _SHELLS[0])

    def test_file(self, name: str) -> str:
        """A path where the test of this name may be written down: its own where it says one (`tests/a.py::test_b`)."""
        said = name.partition("::")[0]
        path = said if "/" in said or PurePosixPath(said).suffix else f"tests/{said}.py"
        folder = next((folder for folder in self.folders if folder.startswith("/")), str(_FOLDER))
        return str(PurePosixPath(folder) / path)


def _top(path: str) -> str:
    parts = PurePosixPath(path).parts
    return "/".join(["", *parts[1:2]]) if parts[:1] == ("/",) else ""


def _keep(known: dict[str, None], name: str) -> None:
    if len(known) < _KEPT:
        known.setdefault(name)
