"""`gradespine followers`: what it shows and does, and its exit codes."""

import json
from collections.abc import Mapping, Sequence

import pytest
from sqlalchemy import Connection, Table, insert, update

from grading.projector import EV_HIDDEN, Grades
from spine import Actor, NewEvent, open_log, projection
from spine.briefs import Brief
from spine.schema import followers, parked
from tests.grading.cli.command import done, run


@pytest.fixture
def url(database_url: str) -> str:
    """A log whose follower `grades` has put a stream aside."""

    class Poisoned(Grades):
        def apply(self, connection: Connection, tables: Mapping[str, Table], events: Sequence[Brief]) -> None:
            if any(event.stream == "run/b" for event in events):
                raise ValueError("no \x1b[31mthanks")
            super().apply(connection, tables, events)

    with open_log(database_url) as log:
        for stream in ("run/a", "run/b"):
            log.append(stream, [NewEvent(EV_HIDDEN, {"reason": "trial"}, actor=Actor.HUMAN)])
        projection.catch_up(log, Poisoned(log))
        log.append("run/c", [NewEvent("a.thing", {}, actor=Actor.SYSTEM)])
    return database_url


def test_a_log_without_followers(database_url: str) -> None:
    open_log(database_url).close()

    assert json.loads(done(database_url, "followers", "list", "--json")) == []
    assert done(database_url, "followers", "list") == ""


def test_the_list_shows_how_far_each_is_and_what_it_put_aside(url: str) -> None:
    shown = done(url, "followers", "list")

    header, row, _, aside = shown.splitlines()
    assert header.split() == ["follower", "version", "position", "lag", "parked"]
    assert row.split() == ["grades", str(Grades.version), "2", "1", "1"]
    assert aside == "grades put aside run/b at seq 1 (stream.hidden): ValueError: no \\x1b[31mthanks"


def test_the_list_as_json(url: str) -> None:
    aside = {"stream": "run/b", "seq": 1, "type": EV_HIDDEN, "error": "ValueError: no \x1b[31mthanks", "again": False}

    assert json.loads(done(url, "followers", "list", "--json")) == [
        {"name": "grades", "version": Grades.version, "position": 2, "lag": 1, "parked": [aside], "rebuild": None}
    ]


def test_a_rebuild_is_shown_beside_its_follower(url: str) -> None:
    with open_log(url) as log, log.database.write_transaction() as connection:
        connection.execute(insert(followers).values(name="grades/rebuild", version=2, position=1, leaf=b""))

    header, row, *_ = done(url, "followers", "list").splitlines()
    assert header.endswith("remark")
    assert row.endswith("being rebuilt, at 1 position")
    assert json.loads(done(url, "followers", "list", "--json"))[0]["rebuild"] == 1
    assert run(url, "followers", "reset", "grades/rebuild").exit_code == 2


def test_unpark_takes_the_stream_again(url: str) -> None:
    assert done(url, "followers", "unpark", "grades", "run/b") == "grades follows run/b again\n"

    assert json.loads(done(url, "followers", "list", "--json"))[0]["parked"] == []
    again = run(url, "followers", "unpark", "grades", "run/b")
    assert again.exit_code == 2
    assert "grades has not put run/b aside" in again.stderr


def test_unpark_tells_what_still_cannot_be_taken(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*given: object) -> None:
        raise ValueError("still not")

    monkeypatch.setattr(Grades, "apply", fail)

    shown = done(url, "followers", "unpark", "grades", "run/b", code=1)

    assert shown == "grades still cannot take run/b at seq 1: ValueError: still not\n"
    assert json.loads(done(url, "followers", "list", "--json"))[0]["parked"][0]["error"] == "ValueError: still not"


def test_reset_lets_it_begin_anew(url: str) -> None:
    assert done(url, "followers", "reset", "grades") == "grades begins anew at its next catch-up\n"

    with open_log(url) as log:
        projection.catch_up(log, Grades(log))
    [grades] = json.loads(done(url, "followers", "list", "--json"))
    assert (grades["position"], grades["lag"], grades["parked"]) == (3, 0, [])


@pytest.mark.parametrize("command", [["reset", "grade"], ["unpark", "grade", "run/b"]])
def test_an_unknown_follower_is_refused(url: str, command: list[str]) -> None:
    result = run(url, "followers", *command)

    assert result.exit_code == 2
    assert "there is no follower grade" in result.stderr
    assert "did you mean grades?" in result.stderr


def test_a_follower_of_another_program_is_asked(url: str) -> None:
    class Theirs(Grades):
        name = "theirs"

    with open_log(url) as log, log.database.write_transaction() as connection:
        connection.execute(update(followers).values(name="theirs"))
        connection.execute(update(parked).values(follower="theirs"))

    for _ in range(2):  # asked twice is asked once
        said = done(url, "followers", "unpark", "theirs", "run/b")
        assert said.startswith("theirs is asked to take run/b again")
        assert done(url, "followers", "list").splitlines()[-1].endswith("thanks (it is asked to take it again)")
    assert run(url, "followers", "unpark", "theirs", "run/none").exit_code == 2

    with open_log(url) as log:
        projection.catch_up(log, Theirs(log))
    [theirs] = json.loads(done(url, "followers", "list", "--json"))
    assert (theirs["position"], theirs["lag"], theirs["parked"]) == (3, 0, [])
