"""The projector: rebuilt equals caught-up, whatever happened and however it was cut into batches."""

import contextlib
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias, cast

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import delete, select

from grading import graders
from grading import projector as projector_module
from grading.evidence import MapEvidence, StreamEvidence, SuppliedReference
from grading.graders import Grader, GraderRef
from grading.grades import record
from grading.ladders import Grade, Ladder, Milestone, Mode, Rung
from grading.projector import Grades
from grading.tables import metadata
from spine import Actor, NewEvent, RestoreDetected, SqlLog, briefs, open_log, projection
from spine.schema import followers
from spine.schema import metadata as log_metadata

STREAMS = ["run/a", "run/b", "run/c"]
VERSIONS = ["1", "2", "3"]
Step: TypeAlias = Callable[[SqlLog], Any]


def grader(version: str) -> Grader:
    check = {"answer": {"key": "n", "eq": version}}
    return Grader.from_document(
        {
            "gradespine": 1,
            "ladder": "counting",
            "version": version,
            "mode": "cumulative",
            "milestones": [{"name": "first", "check": {"event": {"type": "a.thing"}}}, {"name": "n", "check": check}],
        }
    )


def register(version: str) -> Step:
    return lambda log: graders.register(log, grader(version))


def activate(version: str) -> Step:
    def step(log: SqlLog) -> None:
        if any(found.identity.version == version for found in graders.registered(log, "counting")):
            graders.activate(log, "counting", version)

    return step


def act(stream: str, answer: str) -> Step:
    return lambda log: log.append(
        stream,
        [
            NewEvent("a.thing", {}, actor=Actor.SYSTEM),
            NewEvent("answer.given", {"key": "n", "answer": answer}, actor=Actor.AGENT),
        ],
    )


def grade(stream: str, version: str) -> Step:
    return lambda log: record(log, stream, grader(version).grade(StreamEvidence(log, stream)))


def grade_supplied(stream: str, version: str) -> Step:
    return lambda log: record(log, stream, grader(version).ladder.grade(MapEvidence([], {"n": version})))


def override(stream: str, of: str, index: int | None, passed: bool | None, actor: Actor, by: str) -> Step:
    """What somebody says of the last grade on `of`, believed or not."""

    def step(log: SqlLog) -> None:
        found = list(log.read(of, types=["grade.summary"]))
        grade = found[-1].payload if found else {"grade_id": f"{'0' * 8}-0000-0000-0000-{'0' * 12}", "grader": None}
        rung = {"milestone": None if index is None else ["first", "n"][index], "index": index}
        said = {**rung, "grade_id": grade["grade_id"], "grader": grade["grader"], "passed": passed}
        event = NewEvent(
            "grade.overridden", {**said, "by": by, "reason": "a\0b", "pass_at": 0.5}, actor=actor, principal="ada"
        )
        log.append(stream, [event])

    return step


def visibility(stream: str, type: str) -> Step:
    return lambda log: log.append(stream, [NewEvent(type, {"reason": "x"}, actor=Actor.HUMAN)])


def catch_up(log: SqlLog) -> None:
    projection.catch_up(log, projector(log))


def rebuild(log: SqlLog) -> None:
    projection.rebuild(log, projector(log))


def killed_rebuild(batches: int) -> Step:
    """A rebuild that ends between two batches, whatever it has done by then."""

    def step(log: SqlLog) -> None:
        left = batches

        def progress(_at: int, _of: int) -> None:
            nonlocal left
            left -= 1
            if left == 0:
                raise Killed

        with contextlib.suppress(Killed):
            projection.rebuild(log, projector(log), progress=progress)

    return step


class Killed(Exception):
    pass


def projector(log: SqlLog) -> Grades:
    """The projector in the version that the log's tables have come to in this test."""
    made = Grades(log)
    made.version += bumps.get(log.database.label, 0)
    return made


bumps: dict[str, int] = {}


def bump(log: SqlLog) -> None:
    bumps[log.database.label] = bumps.get(log.database.label, 0) + 1


streams, versions = st.sampled_from(STREAMS), st.sampled_from(VERSIONS)
steps = st.one_of(
    st.builds(register, versions),
    st.builds(activate, versions),
    st.builds(act, streams, versions),
    st.builds(grade, streams, versions),
    st.builds(grade_supplied, streams, versions),
    st.builds(
        override,
        streams,
        streams,
        st.sampled_from([None, 0, 1]),
        st.sampled_from([None, True, False]),
        st.sampled_from([Actor.HUMAN, Actor.HUMAN, Actor.SYSTEM]),
        st.sampled_from(["ada", "ada", "eve"]),
    ),
    st.builds(visibility, streams, st.sampled_from(["stream.hidden", "stream.shown"])),
    st.sampled_from([catch_up, rebuild, bump]),
    st.builds(killed_rebuild, st.integers(1, 4)),
)


def in_place(log: SqlLog) -> None:
    """Make the board anew by following alone."""
    with log.database.write_transaction() as connection:
        for table in metadata.tables.values():
            connection.execute(delete(table))
        connection.execute(delete(followers))
    catch_up(log)


def tables(log: SqlLog) -> dict[str, list[tuple[Any, ...]]]:
    with log.database.read_transaction() as connection:
        return {
            name: [tuple(row) for row in connection.execute(select(table).order_by(*table.primary_key.columns))]
            for name, table in metadata.tables.items()
        }


@pytest.fixture(scope="module")
def empty_log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("template") / "log.db"
    open_log(f"sqlite:///{path}").close()
    return path


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(happened=st.lists(steps, max_size=25), batch=st.integers(1, 4))
def test_rebuilt_equals_caught_up(
    empty_log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, happened: list[Step], batch: int
) -> None:
    path = tmp_path / "log.db"
    for leftover in tmp_path.iterdir():
        leftover.unlink()
    shutil.copy(empty_log, path)
    with open_log(f"sqlite:///{path}") as log:
        monkeypatch.setattr(briefs, "_FIRST_PAGE", batch)
        monkeypatch.setattr(briefs, "_LARGEST_PAGE", batch)
        bumps.clear()
        for step in happened:
            step(log)
        catch_up(log)
        followed = tables(log)

        monkeypatch.undo()
        rebuild(log)
        rebuilt = tables(log)
        in_place(log)

        assert followed == rebuilt == tables(log)


def test_a_raised_version_starts_anew(sql_log: SqlLog) -> None:
    register("1")(sql_log)
    catch_up(sql_log)
    newer = Grades(sql_log)
    newer.version += 1

    assert projection.lag(sql_log, newer) == sql_log.position()
    projection.catch_up(sql_log, newer)

    assert projection.lag(sql_log, newer) == 0
    assert len(tables(sql_log)["graders"]) == 1


def test_a_restored_database_is_noticed(tmp_path: Path) -> None:
    """The board has followed events that an older copy of the log does not hold."""
    with open_log(f"sqlite:///{tmp_path / 'log.db'}") as log:
        register("1")(log)
        catch_up(log)
        with log.database.write_transaction() as connection:
            connection.exec_driver_sql("UPDATE followers SET position = position + 5")

        with pytest.raises(RestoreDetected, match="gradespine rebuild"):
            catch_up(log)

        projection.rebuild(log, Grades(log))
        assert projection.lag(log, Grades(log)) == 0


def test_what_an_agent_writes_behind_append_is_believed_by_no_view(tmp_path: Path) -> None:
    with open_log(f"sqlite:///{tmp_path / 'log.db'}") as log:
        register("1")(log)
        act("run/a", "1")(log)
        grade("run/a", "1")(log)
        forged = "UPDATE events SET actor = 'agent' WHERE type LIKE 'grade.%'"
        with log.database.write_transaction() as connection:
            connection.exec_driver_sql("DROP TRIGGER events_only_erasure")
            connection.exec_driver_sql(forged)

        catch_up(log)

        assert tables(log)["grades"] == []


def test_a_rebuild_leaves_tables_indexes_and_constraints_as_the_migrations_make_them(sql_log: SqlLog) -> None:
    register("1")(sql_log)
    before = definitions(sql_log)

    for _ in range(2):
        rebuild(sql_log)

    assert definitions(sql_log) == before
    with sql_log.database.read_transaction() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True, "compare_server_default": True})
        assert compare_metadata(context, cast(Any, [log_metadata, metadata])) == []


def definitions(log: SqlLog) -> list[Any]:
    """Every table, index and constraint of the database, by name, in its own words."""
    if log.database.engine.dialect.name == "sqlite":
        statements = ["SELECT type, name, tbl_name, replace(sql, '\"', '') FROM sqlite_master"]
    else:
        statements = [
            "SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) FROM pg_constraint",
            "SELECT tablename, indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'",
            "SELECT table_name, column_name, data_type, is_nullable, collation_name FROM information_schema.columns c",
        ]
    with log.database.read_transaction() as connection:
        return [sorted(map(repr, connection.exec_driver_sql(statement).all())) for statement in statements]


def test_progress_reaches_the_end(sql_log: SqlLog) -> None:
    register("1")(sql_log)
    seen: list[tuple[int, int]] = []

    projection.rebuild(sql_log, Grades(sql_log), progress=lambda at, of: seen.append((at, of)))

    assert seen[-1] == (2, 2)
    assert graders.active(sql_log, "counting").ref == GraderRef("counting", "1")


def summary_of(log: SqlLog, stream: str) -> dict[str, Any]:
    [event] = log.read(stream, types=["grade.summary"])
    return dict(event.payload)


@pytest.fixture
def graded(sql_log: SqlLog) -> SqlLog:
    """One run with a grade, another one without."""
    register("1")(sql_log)
    act("run/a", "1")(sql_log)
    act("run/b", "2")(sql_log)
    grade("run/a", "1")(sql_log)
    return sql_log


def forge(log: SqlLog, stream: str, type: str, payload: dict[str, Any]) -> None:
    log.append(stream, [NewEvent(type, payload, actor=Actor.SYSTEM)])


def test_only_whole_grades_on_their_own_stream_are_believed(graded: SqlLog) -> None:
    summary = summary_of(graded, "run/a")
    forge(graded, "run/b", "grade.summary", summary)
    forge(graded, "run/b", "grade.summary", summary | {"rungs": 5})
    forge(graded, "run/a", "grade.summary", summary | {"passed": False, "score": 0.5})
    evidence = summary["evidence"] | {"through_seq": 10**9}
    forge(graded, "run/a", "grade.summary", summary | {"evidence": evidence})
    broken = {key: summary[key] for key in ("grade_id", "ladder", "grader", "evidence")}
    forge(graded, "run/b", "grade.broken", broken | {"code": "wrong_type", "milestone": "n", "where": "x"})

    catch_up(graded)

    rows = tables(graded)
    assert [(row[1], row[9]) for row in rows["grades"]] == [("run/a", True)]
    assert len(rows["rungs"]) == 2


def test_graders_are_believed_on_their_own_stream_and_activated_once_registered(graded: SqlLog) -> None:
    [registered] = graded.read("grader/counting", types=["grader.registered"])
    forge(graded, "run/a", "grader.registered", dict(registered.payload) | {"version": "9"})
    forge(graded, "run/a", "grader.activated", {"name": "counting", "version": "9"})
    forge(graded, "grader/counting", "grader.activated", {"name": "counting", "version": "9"})

    catch_up(graded)

    assert [(row[1], row[5]) for row in tables(graded)["graders"]] == [("1", True)]


def test_text_that_one_database_refuses_stops_no_board(graded: SqlLog) -> None:
    visibility("run/b", "stream.hidden")(graded)
    graded.append("run/b", [NewEvent("stream.hidden", {"reason": "a\0b"}, actor=Actor.HUMAN)])
    detail = Ladder("nul", Mode.CUMULATIVE, [Milestone("first", lambda evidence: (True, "a\0b"))])
    record(graded, "run/a", detail.grade(MapEvidence([])))

    catch_up(graded)

    assert tables(graded)["hidden_streams"] == [("run/b", "a\ufffdb")]
    assert "a\ufffdb" in {row[7] for row in tables(graded)["rungs"]}


ODD = ["plain", 'a "quoted" \\ text', "line\nand\ttab\r\b\f", "\x01\x1f", "\U0001f600 \u2028 \x7f é", "a\0b", ""]
WEIGHTS = [1.0, 0.1, 2.5, 1 / 3, 1e-7, 123456.789, 0.30000000000000004, 1e22]


@pytest.mark.parametrize("text", ODD)
def test_rungs_copied_in_the_database_are_those_written_one_by_one(
    graded: SqlLog, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [text, "second"] if text and text.isprintable() else ["first", "second"]
    for weight in WEIGHTS:
        rungs = tuple(
            Rung(name, weight, number == 0, True, text, number == 1, (1, 2)[:number], number)
            for number, name in enumerate(names)
        )
        evidence = SuppliedReference(f"{WEIGHTS.index(weight):064}")
        record(graded, "run/b", Grade("odd", Mode.INDEPENDENT, rungs, weight, 1.0, 0.5, 1, False, evidence))

    rebuild(graded)
    copied = tables(graded)
    monkeypatch.setattr(projector_module, "plain_summary", lambda _event: None)
    rebuild(graded)

    assert copied == tables(graded)
    assert len(copied["grades"]) == 1 + len(WEIGHTS)


def test_following_never_goes_back(graded: SqlLog) -> None:
    """Another process has moved the projection further than the head this one saw."""
    head = graded.position()
    visibility("run/b", "stream.hidden")(graded)
    catch_up(graded)
    behind = _Behind(graded, head)

    projection.catch_up(behind, Grades(graded))  # type: ignore[arg-type]

    assert projection.lag(graded, Grades(graded)) == 0


class _Behind:
    """A log as it was when this process looked at its head."""

    def __init__(self, log: SqlLog, head: int) -> None:
        self._log, self._head = log, head
        self.database = log.database

    def position(self) -> int:
        return self._head

    def read_all(self, **bounds: Any) -> Any:
        return self._log.read_all(**bounds)
