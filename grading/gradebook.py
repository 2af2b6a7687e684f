"""Gradebook: the use cases. Every command and endpoint calls one; nothing else writes grades."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from logging import CRITICAL
from typing import Final

import structlog
from structlog.typing import FilteringBoundLogger
from uuid_utils.compat import uuid7

from grading import graders, queries
from grading.errors import NotFound
from grading.evidence import StreamEvidence
from grading.graders import Grader, GraderRef, Registration
from grading.intake import ImportReport, Watcher, import_paths
from grading.ladders import GraderIdentity
from grading.projector import EV_HIDDEN, EV_SHOWN, Grades
from grading.queries import RUNS, Coverage, GradeRow, RungRow, Said
from grading.regrade import GradeReport, Move, Progress, RegradePlan, RegradeReport, grade_streams, moves
from spine import Actor, Append, Event, Head, NewEvent, SqlLog, projection

EV_STARTED: Final = "regrade.started"
EV_FINISHED: Final = "regrade.finished"

_SILENT: Final = structlog.make_filtering_bound_logger(CRITICAL)
_SERVICE_STREAMS: Final = ("grader/", "regrade/", "import/", "experiment/", "iteration/")


@dataclass(frozen=True, slots=True)
class ExplainedRung:
    """A rung with the events it cites."""

    rung: RungRow
    events: tuple[Event, ...]


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a run has the grade it has."""

    grade: GradeRow
    rungs: tuple[ExplainedRung, ...]


class Gradebook:
    """The grading service over one log. What the board says is brought up to date before it is asked."""

    def __init__(self, log: SqlLog, logger: FilteringBoundLogger | None = None) -> None:
        """`logger` is told of every finished use case; without one nothing is said."""
        self.log: Final = log
        self._logger: FilteringBoundLogger = logger or structlog.wrap_logger(None, wrapper_class=_SILENT)
        self._projection = Grades()

    def import_paths(
        self,
        paths: Sequence[str | os.PathLike[str]],
        *,
        format: str | None = None,
        prefix: str | None = None,
        report: Watcher | None = None,
    ) -> ImportReport:
        """Put recordings onto the log. See `grading.intake.import_paths`."""
        done = import_paths(self.log, paths, format=format, prefix=prefix, report=report)
        self._logger.info("recordings.imported", files=len(done.files), runs=done.runs, refused=len(done.refused))
        return done

    def streams(self, prefix: str = "", *, after: str = "", limit: int | None = None) -> Iterator[Head]:
        """The streams of the log by prefix, hidden ones too: the log hides nothing."""
        return self.log.streams(prefix, after=after, limit=limit)

    def events(
        self,
        stream: str,
        *,
        after: int = 0,
        until: int | None = None,
        limit: int | None = None,
        types: Sequence[str] | None = None,
    ) -> Iterator[Event]:
        """The events of a stream. Raises NotFound for one without any."""
        self._require_stream(stream)
        return self.log.read(stream, after=after, until=until, limit=limit, types=types)

    def add_grader(self, grader: Grader) -> bool:
        """Register a grader; its first version becomes active. False when it stands there already.

        Raises GraderConflict when this version is registered with another definition.
        """
        new = graders.register(self.log, grader)
        self._logger.info("grader.registered", grader=str(grader.ref), new=new)
        return new

    def graders(self) -> dict[str, list[Registration]]:
        """Every grader's versions in the order they were registered, by name."""
        return {name: graders.registered(self.log, name) for name in graders.grader_names(self.log)}

    def active_version(self, name: str) -> str:
        """The version of a grader that the board shows. Raises NotFound."""
        return graders.active(self.log, name).identity.version

    def registration(self, ref: GraderRef) -> Registration:
        """A version of a grader (the active one if none is named) as it was registered. Raises NotFound."""
        if ref.version is None:
            return graders.active(self.log, ref.name)
        for found in graders.registered(self.log, ref.name):
            if found.identity.version == ref.version:
                return found
        graders.active(self.log, ref.name)  # raises NotFound for an unknown name
        raise NotFound(f"there is no grader {ref}")

    def activate(self, ref: GraderRef, *, reason: str | None = None) -> bool:
        """Make a version the one the board shows; False when it is already. Raises NotFound."""
        if ref.version is None:
            raise NotFound(f"{ref.name}: say which version: {ref.name}@VERSION")
        return graders.activate(self.log, ref.name, ref.version, reason=reason)

    def grade(
        self,
        ref: GraderRef,
        *,
        streams: Sequence[str] = (),
        prefix: str | None = None,
        everything: bool = False,
        progress: Progress | None = None,
    ) -> GradeReport:
        """Grade these streams, those of a prefix, or all runs that are not hidden, and record what comes of it.

        A run that this very grader has graded on the evidence it has now is not graded again.
        Raises NotFound for an unknown grader or stream.
        """
        grader = graders.load(self.log, ref)
        chosen = self._select(streams, prefix, everything)
        report = grade_streams(self.log, grader, chosen, self._said(grader.identity), progress)
        self._logger.info("runs.graded", grader=str(grader.ref), runs=report.runs, new=report.new, broken=report.broken)
        return report

    def plan_regrade(self, ref: GraderRef, *, prefix: str | None = None) -> RegradePlan:
        """What such a re-grade would do; writes no event."""
        grader = graders.load(self.log, self._newest(ref))
        said = self._said(grader.identity)
        runs = events = done = 0
        for head in self._visible(RUNS if prefix is None else prefix):
            runs += 1
            reference = StreamEvidence(self.log, head.stream).reference
            events += reference.through_seq
            done += (head.stream, reference.digest) in said
        return RegradePlan(grader.identity, self.active_version(ref.name), runs, events, done)

    def regrade(
        self,
        ref: GraderRef,
        *,
        prefix: str | None = None,
        activate: bool = True,
        reason: str | None = None,
        progress: Progress | None = None,
    ) -> RegradeReport:
        """Grade every run that is not hidden (or those of a prefix) with this version (the newest if none is named).

        When every run that the active version has graded has a grade by this one, it becomes the active one, unless
        `activate` is False: until then nothing on the board moves.
        """
        grader = graders.load(self.log, self._newest(ref))
        before = self.active_version(grader.name)
        stream = f"regrade/{uuid7()}"
        chosen_prefix = RUNS if prefix is None else prefix
        head = self.log.position()
        identity = grader.identity.to_json()
        started = {"grader": identity, "selection": {"prefix": chosen_prefix}, "head": head, "reason": reason}
        self.log.append(stream, [NewEvent(EV_STARTED, started, actor=Actor.SYSTEM)])
        chosen = [found.stream for found in self._visible(chosen_prefix)]
        graded = grade_streams(self.log, grader, chosen, self._said(grader.identity), progress)
        self.catch_up()
        missing = queries.missing(self.log.database, name=grader.name, active=before, candidate=grader.version)
        complete = missing == 0
        activated = complete and activate and before != grader.version
        counts = {"passed": graded.passed, "failed": graded.failed, "broken": graded.broken, "new": graded.new}
        finished = {"grader": identity, "counts": counts, "complete": complete}
        parts = [Append(stream, [NewEvent(EV_FINISHED, finished, actor=Actor.SYSTEM)])]
        if activated:
            event = graders.activation(grader.name, grader.version, f"complete re-grade {stream}")
            parts.append(Append(f"grader/{grader.name}", [event]))
        self.log.append_all(parts)
        report = RegradeReport(stream, before, graded, complete, activated)
        report.moved = list(self.moved(grader.name, before, grader.version))
        self._logger.info(
            "runs.regraded", job=stream, grader=str(grader.ref), complete=complete, moved=len(report.moved)
        )
        return report

    def moved(self, name: str, before: str, after: str) -> Iterator[Move]:
        """The runs whose verdict, score or rungs differ between two versions of a grader, by stream."""
        if before == after:
            return iter(())
        return moves(self.grades(grader=GraderRef(name, before)), self.grades(grader=GraderRef(name, after)))

    def grades(
        self,
        *,
        grader: GraderRef | None = None,
        prefix: str = "",
        stream: str | None = None,
        history: bool = False,
    ) -> Iterator[GradeRow]:
        """The current grades, or all there ever were, of runs that are not hidden. See `grading.queries.grades`."""
        self.catch_up()
        if grader is not None and grader.version is not None:
            self.registration(grader)
        return queries.grades(self.log.database, grader=grader, prefix=prefix, stream=stream, history=history)

    def coverage(self, *, prefix: str = "") -> list[Coverage]:
        """How the runs (of a prefix) stand under the active version of every grader: passed, failed, broken, not
        graded."""
        self.catch_up()
        return queries.coverage(self.log.database, prefix=prefix if prefix.startswith(RUNS) else RUNS)

    def explain(self, stream: str, *, grader: GraderRef | None = None) -> list[Explanation]:
        """The current grades of a run with the events that decided each rung. Raises NotFound when it has none."""
        self._require_stream(stream)
        found = list(self.grades(grader=grader, stream=stream))
        if not found:
            by = "" if grader is None else f" by {grader}"
            raise NotFound(f"{stream} has no grade{by}: run `gradespine grade NAME {stream}`")
        return [self._explained(grade) for grade in found]

    def hide(self, stream: str, *, reason: str) -> bool:
        """Let a stream disappear from every view, never from the log; False when it is hidden already."""
        self._require_stream(stream)
        if stream in self.hidden():
            return False
        self.log.append(stream, [NewEvent(EV_HIDDEN, {"reason": reason}, actor=Actor.SYSTEM)])
        return True

    def show(self, stream: str, *, reason: str | None = None) -> bool:
        """Let a hidden stream appear again; False when it is not hidden."""
        self._require_stream(stream)
        if stream not in self.hidden():
            return False
        self.log.append(stream, [NewEvent(EV_SHOWN, {"reason": reason}, actor=Actor.SYSTEM)])
        return True

    def hidden(self) -> dict[str, str]:
        """The hidden streams, with the reason for each."""
        self.catch_up()
        return queries.hidden(self.log.database)

    def catch_up(self) -> int:
        """Bring the board to the end of the log; returns how many positions it moved."""
        return projection.catch_up(self.log, self._projection)

    def rebuild(self, *, progress: Progress | None = None) -> int:
        """Make the board anew from the log; returns the position reached."""
        reached = projection.rebuild(self.log, self._projection, progress=progress)
        self._logger.info("board.rebuilt", position=reached)
        return reached

    def _said(self, identity: GraderIdentity) -> dict[tuple[str, str], Said]:
        self.catch_up()
        return queries.said(self.log.database, identity)

    def _newest(self, ref: GraderRef) -> GraderRef:
        """The version named, or the one registered last: a re-grade is for what is not active yet."""
        if ref.version is not None:
            return ref
        versions = graders.registered(self.log, ref.name)
        return versions[-1].ref if versions else ref

    def _select(self, streams: Sequence[str], prefix: str | None, everything: bool) -> list[str]:
        if everything or prefix is not None:
            return [head.stream for head in self._visible(RUNS if prefix is None else prefix)]
        hidden = self.hidden()
        for stream in streams:
            self._require_stream(stream)
            if stream.startswith(_SERVICE_STREAMS):
                raise NotFound(f"{stream} is a stream of the service, not a run")
            if stream in hidden:
                raise NotFound(f"{stream} is hidden ({hidden[stream]}): show it first")
        return list(dict.fromkeys(streams))

    def _visible(self, prefix: str) -> Iterator[Head]:
        hidden = self.hidden()
        return (
            head
            for head in self.log.streams(prefix)
            if head.stream not in hidden and not head.stream.startswith(_SERVICE_STREAMS)
        )

    def _require_stream(self, stream: str) -> None:
        if self.log.head(stream) is not None:
            return
        parts = stream.rpartition("/")
        near = [head.stream for head in islice(self.log.streams(parts[0] + parts[1]), 3)] if parts[1] else []
        hint = f"; near it: {', '.join(near)}" if near else ""
        raise NotFound(f"there is no stream {stream}{hint}")

    def _explained(self, grade: GradeRow) -> Explanation:
        cited = {seq for rung in grade.rungs for seq in rung.citations}
        events: dict[int, Event] = {}
        if cited:
            read = self.log.read(grade.stream, after=min(cited) - 1, until=max(cited))
            events = {event.seq: event for event in read if event.seq in cited}
        rungs = tuple(ExplainedRung(rung, tuple(events[seq] for seq in rung.citations)) for rung in grade.rungs)
        return Explanation(grade, rungs)
