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
from grading.ladders import Ladder, Milestone, Mode
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
    projection.catch_up(log, Grades(log))


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
        projection.rebuild(log, Grades(log))

        assert tables(log) == caught_up


def test_a_raised_version_starts_anew(sql_log: SqlLog) -> None:
    register("1")(sql_log)
    catch_up(sql_log)
    newer = Grades(sql_log)
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
