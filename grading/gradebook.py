"""Gradebook: the use cases. Every command and endpoint calls one; nothing else writes grades."""

import os
from collections.abc import Iterator, Sequence
from logging import CRITICAL
from typing import Final

import structlog
from structlog.typing import FilteringBoundLogger

from grading import graders, overrides, qualification, queries, visibility
from grading.errors import InvalidLabels, NotFound, UnqualifiedGrader
from grading.evidence import StreamEvidence
from grading.explanations import Drawn, Explanation, drawn, explained
from grading.graders import Grader, GraderRef, Registration
from grading.intake import ImportReport, Watcher, import_paths
from grading.labels import Label
from grading.ladders import GraderIdentity
from grading.override_rows import left_of
from grading.overrides import Opinion, Overridden
from grading.projector import Grades
from grading.purity import Proof, Subject, of_log, of_streams, prove
from grading.qualification import Qualification, Standing
from grading.queries import RUNS
from grading.regrade import (
    GradeReport,
    Move,
    Progress,
    Regrade,
    RegradePlan,
    RegradeReport,
    grade_streams,
    moves,
    ungraded_of,
)
from grading.rows import Coverage, GradeRow, Said
from grading.twins import Begun, find_twin
from grading.visibility import Changed, below, refuse_hidden, require_run, require_stream
from spine import Event, Head, SqlLog, projection
from spine.parking import Parked

_SILENT: Final = structlog.make_filtering_bound_logger(CRITICAL)


class Gradebook:
    """The grading service over one log. What the board says is brought up to date before it is asked."""

    def __init__(
        self, log: SqlLog, logger: FilteringBoundLogger | None = None, *, require_qualified: bool = False
    ) -> None:
        """`logger` is told of every finished use case; without one nothing is said. `require_qualified`: only graders
        that are qualified may re-grade."""
        self.log: Final = log
        self._require_qualified: Final = require_qualified
        self._logger: FilteringBoundLogger = logger or structlog.wrap_logger(None, wrapper_class=_SILENT)
        self._projection = Grades(log)

    def import_paths(
        self,
        paths: Sequence[str | os.PathLike[str]],
        *,
        format: str | None = None,
        prefix: str | None = None,
        references: Sequence[str | os.PathLike[str]] = (),
        report: Watcher | None = None,
    ) -> ImportReport:
        """Put recordings onto the log. See `grading.intake.import_paths`."""
        done = import_paths(self.log, paths, format=format, prefix=prefix, references=references, report=report)
        begun = [Begun(file.path, file.begun) for file in done.files if file.begun]
        if begun:
            done.twin = find_twin(self.log, begun, self.hidden())
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
        require_stream(self.log, stream)
        return self.log.read(stream, after=after, until=until, limit=limit, types=types)

    def prove(self, grader: Grader, streams: Sequence[str] = ()) -> Proof:
        """Try whether a grader is pure, on these streams or on a few that are there: see `grading.purity.prove`.

        Raises NotFound for a stream without events, UntriedGrader.
        """
        for stream in streams:
            require_stream(self.log, stream)
        recorded = of_streams(self.log, streams) if streams else of_log(self.log, hidden=self.hidden())
        return prove(subject_of(grader), recorded)

    def knows(self, grader: Grader) -> bool:
        """Whether this version of it is registered, with whatever definition."""
        return any(one.ref == grader.ref for one in graders.registered(self.log, grader.name))

    def add_grader(self, grader: Grader, *, proof: Proof | None = None) -> bool:
        """Register a grader; its first version becomes active. False when it stands there already.

        One in Python that is new is tried first, unless a `proof` of it is at hand. Raises ImpureGrader, UntriedGrader;
        GraderConflict when this version is registered with another definition.
        """
        if grader.kind == "python" and not self.knows(grader):
            (proof if proof is not None and proof.subject == subject_of(grader) else self.prove(grader)).require()
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
        return graders.find(self.log, ref)

    def activate(self, ref: GraderRef, *, reason: str | None = None) -> bool:
        """Make a version the one the board shows; False when it is already. Raises NotFound."""
        if ref.version is None:
            raise NotFound(f"{ref.name}: say which version: {ref.name}@VERSION")
        return graders.activate(self.log, ref.name, ref.version, reason=reason)

    def qualify(
        self,
        ref: GraderRef,
        *,
        oracle: Sequence[str] = (),
        null: Sequence[str] = (),
        oracle_prefix: str | None = None,
        null_prefix: str | None = None,
        labels: Sequence[Label] = (),
        kappa: float | None = None,
        progress: Progress | None = None,
    ) -> Qualification:
        """Try a grader on runs that have to pass and runs that must not, and record what came of it. See
        `grading.qualification.qualify`. Grades of these runs are not recorded.

        Raises NotFound for an unknown grader or stream, InvalidLabels for a label of one, InvalidInput.
        """
        grader = graders.load(self.log, ref)
        passing, failing = self._chosen(oracle, oracle_prefix), self._chosen(null, null_prefix)
        hidden = self.hidden()
        for label in labels:
            try:
                require_run(self.log, label.stream, hidden)
            except NotFound as error:
                raise InvalidLabels(f"{label.place}: {error}") from None
        done = qualification.qualify(
            self.log, grader, oracle=passing, null=failing, labels=labels, kappa=kappa, progress=progress
        )
        new = qualification.record(self.log, done)
        self._logger.info("grader.qualified", grader=str(grader.ref), qualified=done.qualified, new=new)
        return done

    def standing(self, ref: GraderRef) -> Standing:
        """Whether a version of a grader (the active one if none is named) is qualified. Raises NotFound."""
        return qualification.standing(self.log, self.registration(ref).identity)

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
        active = graders.active(self.log, ref.name).identity
        said = self._said(grader.identity)
        chosen = self._select((), prefix, True)
        events = done = 0
        for stream in chosen:
            reference = StreamEvidence(self.log, stream).reference
            events += reference.through_seq
            done += (stream, reference.digest) in said
        ungraded = ungraded_of(self.log.database, chosen, grader.identity, active)
        standing = self.grades(grader=GraderRef(grader.name, active.version), overridden=True)
        overridden = sum(len(row.overrides) for row in standing if row.stream in set(chosen))
        return RegradePlan(grader.identity, active.version, len(chosen), events, done, ungraded, overridden)

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
        `activate` is False: until then nothing on the board moves. Raises UnqualifiedGrader where it has to be
        qualified and is not.
        """
        self._refuse_unqualified(self._newest(ref))
        grader = graders.load(self.log, self._newest(ref))
        before = graders.active(self.log, grader.name).identity
        chosen = self._select((), prefix, True)
        said = list(self.grades(grader=GraderRef(grader.name, before.version), overridden=True))
        job = Regrade(self.log, grader, before, self.catch_up)
        selection = {"prefix": RUNS if prefix is None else prefix}
        report = job.run(chosen, selection=selection, activate=activate, reason=reason, progress=progress)
        report.moved = list(self.moved(grader.name, before.version, grader.version))
        report.left = left_of(said, self.grades(grader=grader.ref, overridden=True))
        self._logger.info(
            "runs.regraded", job=report.id, grader=str(grader.ref), complete=report.complete, moved=len(report.moved)
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
        overridden: bool = False,
    ) -> Iterator[GradeRow]:
        """The current grades, or all there ever were, of runs that are not hidden. See `grading.queries.grades`."""
        self.catch_up()
        if grader is not None:
            self._require_known(grader)
        return queries.grades(
            self.log.database, grader=grader, prefix=prefix, stream=stream, history=history, overridden=overridden
        )

    def coverage(self, *, prefix: str = "") -> list[Coverage]:
        """How the runs (of a prefix) stand under the active version of every grader: passed, failed, broken, not
        graded."""
        self.catch_up()
        return queries.coverage(self.log.database, prefix=prefix if prefix.startswith(RUNS) else RUNS)

    def explain(self, stream: str, *, grader: GraderRef | None = None) -> list[Explanation]:
        """The current grades of a run with the events that decided each rung. Raises NotFound when it has none."""
        require_stream(self.log, stream)
        refuse_hidden(stream, self.hidden())
        found = list(self.grades(grader=grader, stream=stream))
        if not found:
            by, name = ("", "NAME") if grader is None else (f" by {grader}", grader)
            raise NotFound(f"{stream} has no grade{by}", f"`gradespine grade {name} {stream}` makes one")
        return [explained(self.log, grade) for grade in found]

    def curves(self, stream: str, *, grader: GraderRef | None = None) -> list[Drawn]:
        """A run's grade after each of its events: by this grader, whether it has graded the run or not, or by those of
        the run's current grades. Raises NotFound when there is none, or no such grader."""
        if grader is not None:
            require_run(self.log, stream, self.hidden())
            return [drawn(self.log, stream, grader)]
        grades = [why.grade for why in self.explain(stream)]
        refs = [GraderRef(grade.grader, grade.version) if grade.grader else None for grade in grades]
        return [
            drawn(self.log, stream, ref)
            if ref is not None and grade.registered
            else Drawn(grade.ladder, None, None, "its ladder is not registered, so it cannot be asked again")
            for grade, ref in zip(grades, refs, strict=True)
        ]

    def override(
        self, stream: str, opinion: Opinion, *, grader: GraderRef | None = None, grade_id: str | None = None
    ) -> Overridden:
        """Say what a person makes of the grade of a run that the board shows. See `grading.overrides.override`."""
        require_run(self.log, stream, self.hidden())
        done = overrides.override(
            self.log,
            stream,
            opinion,
            current=lambda: list(self.grades(stream=stream)),
            grader=grader,
            grade_id=grade_id,
        )
        self._logger.info("grade.overridden", stream=stream, grade=done.before.grade_id, by=opinion.by, new=done.new)
        return done

    def hide(self, streams: str | Sequence[str], *, prefix: str | None = None, reason: str) -> Changed:
        """Let runs (by name, and those of a prefix) disappear from every view, never from the log. All or none of them.

        Raises NotFound for a run that is not there and for a stream of the service, InvalidInput for an empty reason.
        """
        return visibility.hide(self.log, _listed(streams), prefix, self.hidden(), reason)

    def show(self, streams: str | Sequence[str], *, prefix: str | None = None, reason: str | None = None) -> Changed:
        """Let hidden runs (by name, and those of a prefix) appear again. All or none of them."""
        return visibility.show(self.log, _listed(streams), prefix, self.hidden(), reason)

    def hidden(self, prefix: str = "") -> dict[str, str]:
        """The hidden streams (of a prefix), with the reason for each."""
        self.catch_up()
        found = queries.hidden(self.log.database)
        return {stream: found[stream] for stream in sorted(found) if stream.startswith(prefix)}

    def catch_up(self) -> int:
        """Bring the board to the end of the log; returns how many positions it moved."""
        return projection.catch_up(self.log, self._projection, on_parked=self._tell_parked)

    def rebuild(self, *, progress: Progress | None = None) -> int:
        """Make the board anew from the log beside the one that serves; returns the position reached. Interrupted, it
        goes on from there the next time."""
        reached = projection.rebuild(self.log, self._projection, progress=progress, on_parked=self._tell_parked)
        self._logger.info("board.rebuilt", position=reached)
        return reached

    def _tell_parked(self, parked: Parked) -> None:
        self._logger.error("board.stream_parked", stream=parked.stream, seq=parked.seq, error=parked.error)

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
        hidden = self.hidden()
        if everything or prefix is not None:
            return below(self.log, RUNS if prefix is None else prefix, hidden)
        for stream in streams:
            require_run(self.log, stream, hidden)
        return list(dict.fromkeys(streams))

    def _chosen(self, streams: Sequence[str], prefix: str | None) -> list[str]:
        """These runs and those of a prefix, each once."""
        below = [] if prefix is None else self._select((), prefix, False)
        return list(dict.fromkeys([*self._select(streams, None, False), *below]))

    def _refuse_unqualified(self, ref: GraderRef) -> None:
        if not self._require_qualified:
            return
        standing = self.standing(ref)
        if standing is not Standing.QUALIFIED:
            raise UnqualifiedGrader(
                f"{ref} is {standing}, and only qualified graders may re-grade here (GRADESPINE_REQUIRE_QUALIFIED):"
                f" `gradespine grader qualify {ref} --oracle STREAM --null STREAM`"
            )

    def _require_known(self, ref: GraderRef) -> None:
        """Raises NotFound for a grader, or a version of one, that is not registered. A ladder that was recorded without
        being registered is known by its name."""
        if ref.version is not None:
            self.registration(ref)
        elif not graders.registered(self.log, ref.name):
            recorded = queries.names(self.log.database)
            if ref.name not in recorded:
                raise graders.unknown(ref.name, {*graders.grader_names(self.log), *recorded})


def subject_of(grader: Grader) -> Subject:
    """The grader as something to be tried."""
    return Subject(str(grader.ref), grader.target or "", grader.source or "", grader.definition, grader.document)


def _listed(streams: str | Sequence[str]) -> list[str]:
    return [streams] if isinstance(streams, str) else list(dict.fromkeys(streams))
