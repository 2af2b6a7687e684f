"""The projector: rebuilt equals caught-up, whatever happened and however it was cut into batches."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import select

from grading import graders
from grading.evidence import MapEvidence, StreamEvidence
from grading.graders import Grader, GraderRef
from grading.grades import record
from grading.projector import Grades
from grading.tables import metadata
from spine import Actor, NewEvent, RestoreDetected, SqlLog, open_log, projection

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


def visibility(stream: str, type: str) -> Step:
    return lambda log: log.append(stream, [NewEvent(type, {"reason": "x"}, actor=Actor.HUMAN)])


def catch_up(log: SqlLog) -> None:
    projection.catch_up(log, Grades())


streams, versions = st.sampled_from(STREAMS), st.sampled_from(VERSIONS)
steps = st.one_of(
    st.builds(register, versions),
    st.builds(activate, versions),
    st.builds(act, streams, versions),
    st.builds(grade, streams, versions),
    st.builds(grade_supplied, streams, versions),
    st.builds(visibility, streams, st.sampled_from(["stream.hidden", "stream.shown"])),
    st.just(catch_up),
)


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
        monkeypatch.setattr(projection, "_BATCH", batch)
        for step in happened:
            step(log)
        catch_up(log)
        caught_up = tables(log)

        monkeypatch.undo()
        projection.rebuild(log, Grades())

        assert tables(log) == caught_up


def test_a_raised_version_starts_anew(sql_log: SqlLog) -> None:
    register("1")(sql_log)
    catch_up(sql_log)
    newer = Grades()
    newer.version = 2

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

        projection.rebuild(log, Grades())
        assert projection.lag(log, Grades()) == 0


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


def test_progress_reaches_the_end(sql_log: SqlLog) -> None:
    register("1")(sql_log)
    seen: list[tuple[int, int]] = []

    projection.rebuild(sql_log, Grades(), progress=lambda at, of: seen.append((at, of)))

    assert seen[-1] == (2, 2)
    assert graders.active(sql_log, "counting").ref == GraderRef("counting", "1")
