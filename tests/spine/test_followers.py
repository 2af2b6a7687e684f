"""Followers, looked at and set right: list, reset, unpark."""

import threading

import pytest
from sqlalchemy import select

from spine import Actor, InvalidInput, LogUnavailable, NewEvent, SchemaOutdated, SqlLog, feed, open_log, projection
from spine.followers import ask, list_followers, reset, unpark
from spine.schema import parked
from tests.spine.feeder import Choosy, wait_until
from tests.spine.tally import Tally, make_tables, rows


@pytest.fixture
def written(sql_log: SqlLog) -> SqlLog:
    """A log of 30 events, 20 of them of interest, on three streams."""
    make_tables(sql_log)
    fill(sql_log, 10)
    return sql_log


def fill(log: SqlLog, appends: int) -> None:
    for number in range(appends):
        types = ("finding.reported", "a.thing", "finding.closed")
        log.append(f"run/{number % 3}", [NewEvent(type, {}, actor=Actor.SYSTEM) for type in types])


def expected(log: SqlLog, *, until: int | None = None) -> dict[str, list[tuple[object, ...]]]:
    events = list(log.read_all(types=Tally.types, until=until))
    streams = [event.stream for event in events]
    return {
        "tallies": [(stream, streams.count(stream)) for stream in sorted(set(streams))],
        "marks": [(event.position, event.stream, "version 1") for event in events],
    }


def held(log: SqlLog) -> list[tuple[str, int]]:
    with log.database.read_transaction() as connection:
        return [(stream, seq) for stream, seq in connection.execute(select(parked.c.stream, parked.c.seq))]


def test_a_stream_is_taken_again_when_the_cause_is_gone(written: SqlLog) -> None:
    projection.catch_up(written, Choosy(10))
    assert held(written) == [("run/0", 4)]

    assert unpark(written, Choosy(), "run/0") is None

    assert held(written) == []
    assert rows(written) == expected(written)
    fill(written, 3)
    projection.catch_up(written, Tally())
    assert rows(written) == expected(written)


def test_what_still_cannot_be_taken_stays_aside_and_what_came_before_is_taken(written: SqlLog) -> None:
    projection.catch_up(written, Choosy(10))

    still = unpark(written, Choosy(19), "run/0")

    assert still is not None
    assert (still.stream, still.seq) == ("run/0", 7)
    assert "this one never: 19" in still.error
    assert held(written) == [("run/0", 7)]
    assert [row[0] for row in rows(written)["marks"] if row[1] == "run/0"] == [1, 3, 10, 12]
    assert unpark(written, Choosy(), "run/0") is None
    assert rows(written) == expected(written)


def test_what_lies_behind_the_place_is_left_to_the_next_catch_up(written: SqlLog) -> None:
    projection.catch_up(written, Choosy(10))
    fill(written, 3)

    assert unpark(written, Choosy(), "run/0") is None

    assert rows(written) == expected(written, until=30)
    projection.catch_up(written, Tally())
    assert rows(written) == expected(written)


def test_long_streams_are_taken_in_parts(written: SqlLog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spine.unparking._BATCH", 1)
    projection.catch_up(written, Choosy(10))

    assert unpark(written, Choosy(), "run/0") is None

    assert rows(written) == expected(written)


def test_a_stream_that_is_not_aside_is_refused(written: SqlLog) -> None:
    with pytest.raises(InvalidInput, match="next catch-up"):
        unpark(written, Tally(), "run/0")
    projection.catch_up(written, Tally())

    with pytest.raises(InvalidInput, match="tally has not put run/0 aside"):
        unpark(written, Tally(), "run/0")


def test_another_version_is_refused(written: SqlLog) -> None:
    projection.catch_up(written, Choosy(10, version=2))

    with pytest.raises(SchemaOutdated):
        unpark(written, Choosy(version=1), "run/0")
    with pytest.raises(InvalidInput, match="next catch-up"):
        unpark(written, Choosy(version=3), "run/0")


def test_nothing_is_changed_when_the_database_fails(written: SqlLog, monkeypatch: pytest.MonkeyPatch) -> None:
    projection.catch_up(written, Choosy(10))
    before, failing = rows(written), Tally()

    def fail(*given: object) -> None:
        raise LogUnavailable("the disk is full")

    monkeypatch.setattr(failing, "apply", fail)
    with pytest.raises(LogUnavailable):
        unpark(written, failing, "run/0")

    assert rows(written) == before
    assert held(written) == [("run/0", 4)]


def test_a_stream_is_unparked_while_others_follow_and_append(written: SqlLog, database_url: str) -> None:
    projection.catch_up(written, Choosy(10))
    stop = threading.Event()

    def follow() -> None:
        with open_log(database_url) as log:
            feed.follow(log, Tally(), stop)

    thread = threading.Thread(target=follow)
    thread.start()
    try:
        for number in range(20):
            fill(written, 3)
            if number == 10:
                assert unpark(written, Tally(), "run/0") is None
        wait_until(lambda: rows(written) == expected(written))
    finally:
        stop.set()
        thread.join()


def test_a_reset_follower_begins_anew_with_nothing_aside(written: SqlLog) -> None:
    projection.catch_up(written, Choosy(10))
    before = rows(written)

    reset(written, "tally")

    assert rows(written) == before
    assert held(written) == []
    assert projection.lag(written, Tally()) == 30
    projection.catch_up(written, Tally())
    assert rows(written) == expected(written)


def test_followers_are_listed_with_what_they_put_aside(written: SqlLog) -> None:
    assert list_followers(written) == []
    projection.catch_up(written, Choosy(10))
    fill(written, 1)

    [found] = list_followers(written)

    assert (found.name, found.version, found.position, found.lag, found.rebuild) == ("tally", 1, 30, 3, None)
    [aside] = found.parked
    assert (aside.stream, aside.seq, aside.type) == ("run/0", 4, "finding.reported")
    assert aside.error == "ValueError: this one never: 10"


def test_a_rebuild_under_way_is_no_follower(written: SqlLog) -> None:
    projection.catch_up(written, Tally())

    def leave(_at: int, _of: int) -> None:
        raise InterruptedError

    with pytest.raises(InterruptedError):
        projection.rebuild(written, Tally(), progress=leave)

    [found] = list_followers(written)
    assert (found.name, found.position, found.rebuild) == ("tally", 30, 30)
    reset(written, "tally")
    assert list_followers(written) == []
    projection.catch_up(written, Tally())
    assert rows(written) == expected(written)


def test_a_follower_that_is_asked_takes_the_stream_at_its_next_catch_up(written: SqlLog) -> None:
    projection.catch_up(written, Choosy(10))

    ask(written, "tally", "run/0")
    ask(written, "tally", "run/0")

    assert [aside.again for aside in list_followers(written)[0].parked] == [True]
    assert projection.catch_up(written, Tally()) == 0
    assert held(written) == []
    assert rows(written) == expected(written)


def test_a_follower_that_is_asked_and_still_cannot_tells_it_once(written: SqlLog) -> None:
    projection.catch_up(written, Choosy(10))
    ask(written, "tally", "run/0")
    told: list[int] = []

    for _ in range(2):
        projection.catch_up(written, Choosy(19), on_parked=lambda one: told.append(one.seq))

    assert told == [7]
    assert [(aside.seq, aside.again) for aside in list_followers(written)[0].parked] == [(7, False)]


def test_a_follower_is_not_asked_for_what_is_not_aside(written: SqlLog) -> None:
    projection.catch_up(written, Choosy(10))

    with pytest.raises(InvalidInput, match="tally has not put run/1 aside"):
        ask(written, "tally", "run/1")


@pytest.mark.parametrize("anew", ["reset", "rebuild", "unpark"])
def test_what_was_asked_is_over_when_nothing_is_aside(written: SqlLog, anew: str) -> None:
    projection.catch_up(written, Choosy(10))
    ask(written, "tally", "run/0")

    if anew == "reset":
        reset(written, "tally")
    elif anew == "rebuild":
        projection.rebuild(written, Tally())
    else:
        unpark(written, Tally(), "run/0")

    assert held(written) == []


def test_nothing_is_lost_when_a_follower_that_is_asked_fails(written: SqlLog, monkeypatch: pytest.MonkeyPatch) -> None:
    projection.catch_up(written, Choosy(10))
    ask(written, "tally", "run/0")
    before, failing = rows(written), Tally()

    def fail(*given: object) -> None:
        raise InvalidInput("payload", "a mistake of the program")

    monkeypatch.setattr(failing, "apply", fail)
    with pytest.raises(InvalidInput):
        projection.catch_up(written, failing)

    assert rows(written) == before
    assert [aside.again for aside in list_followers(written)[0].parked] == [True]
    projection.catch_up(written, Tally())
    assert rows(written) == expected(written)


def test_a_running_follower_heeds_what_it_is_asked(written: SqlLog, database_url: str) -> None:
    stop, choosy = threading.Event(), Choosy(10)

    def follow() -> None:
        with open_log(database_url) as log:
            feed.follow(log, choosy, stop)

    thread = threading.Thread(target=follow)
    thread.start()
    try:
        wait_until(lambda: held(written) == [("run/0", 4)])
        choosy.poison = ()
        ask(written, "tally", "run/0")
        wait_until(lambda: held(written) == [], seconds=3)
    finally:
        stop.set()
        thread.join()
    assert rows(written) == expected(written)
