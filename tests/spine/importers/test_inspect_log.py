"""Inspect logs as runs."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from spine.events import Actor
from spine.importers import Recording, Refusal, recognised_by
from tests.spine.importers.builders import (
    clock,
    eval_json,
    eval_log,
    eval_zip,
    lying_zip,
    message,
    model_event,
    read,
    run_in,
    sample,
    told,
    zipfile,
)

SAID, CALLED, RETURNED = "message.sent", "tool.called", "tool.returned"


def transcript(tmp_path: Path, **changes: Any) -> list[tuple[str, Any]]:
    return told(run_in(eval_json(tmp_path / "x", eval_log(sample(**changes)))))


def test_a_sample_is_told_in_order(tmp_path: Path) -> None:
    run = run_in(eval_json(tmp_path / "x", eval_log(sample())))

    assert run.stream == "run/inspect/E1/1/1"
    source = {"format": "inspect", "id": "E1/1/1"}
    assert [(event.type, event.actor, dict(event.payload)) for event in run.events] == [
        ("run.started", "system", {"agent": "agent", "model": "m/1", "task": "sums", "case": "1", "source": source}),
        ("case.expected", "system", {"target": "4"}),
        (SAID, "human", {"role": "user", "content": "2+2?"}),
        (SAID, "agent", {"role": "assistant", "content": "4"}),
        ("answer.given", "agent", {"key": "output", "answer": "4"}),
        ("run.finished", "system", {"status": "completed", "reason": None}),
        ("score.imported", "system", {"scorer": "match", "value": "C", "explanation": "equal"}),
    ]


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_ZSTANDARD])
def test_both_forms_give_the_same_events(method: int, tmp_path: Path) -> None:
    log = eval_log(sample(1), sample("two", 3))

    in_json = read(eval_json(tmp_path / "log.eval", log))
    in_zip = read(eval_zip(tmp_path / "log.json", log, method=method))

    assert len(in_json) == 2
    assert [run.events for run in in_zip if isinstance(run, Recording)] == [
        run.events for run in in_json if isinstance(run, Recording)
    ]


def test_of_members_with_one_name_the_last_counts(tmp_path: Path) -> None:
    path = eval_zip(tmp_path / "x", eval_log(sample(target="old")))
    with pytest.warns(UserWarning, match="Duplicate name"), zipfile.ZipFile(path, "a") as archive:
        archive.writestr("samples/1_epoch_1.json", json.dumps(sample(target="new")))

    assert run_in(path).events[1].payload == {"target": "new"}


def test_a_log_whose_process_died_has_no_header(tmp_path: Path) -> None:
    path = eval_zip(tmp_path / "x", eval_log(sample(output=None, scores=None)), header=False)

    run = run_in(path)

    assert run.stream == "run/inspect/E1/1/1"
    assert run.events[-1].payload == {"status": "canceled", "reason": "the evaluation was started"}


@pytest.mark.parametrize(
    ("spec", "stream"),
    [
        ({"eval_id": "E/1"}, "run/inspect/E%2F1/1/1"),
        ({"run_id": "R", "task_id": "T"}, "run/inspect/R-T/1/1"),
    ],
)
def test_the_log_names_the_run(spec: dict[str, str], stream: str, tmp_path: Path) -> None:
    assert run_in(eval_json(tmp_path / "x", eval_log(sample(), eval=spec))).stream == stream


def test_sample_ids_may_be_text_or_number(tmp_path: Path) -> None:
    found = read(eval_json(tmp_path / "x", eval_log(sample("a b/ü"), sample(7, 2))))

    assert [run.stream for run in found if isinstance(run, Recording)] == [
        "run/inspect/E1/a%20b%2F%C3%BC/1",
        "run/inspect/E1/7/2",
    ]


@pytest.mark.parametrize(
    ("written", "time", "counted"),
    [
        ("2025-01-01T01:00:00+01:00", datetime(2025, 1, 1, tzinfo=UTC), {}),
        ("2025-01-01T00:00:00Z", datetime(2025, 1, 1, tzinfo=UTC), {}),
        ("2025-01-01T00:00:00", datetime(2025, 1, 1, tzinfo=UTC), {"time_without_offset": 1}),
        ("yesterday", None, {"time_unreadable": 1}),
        ("0001-01-01T00:00:00Z", None, {"time_unreadable": 1}),
        (17, None, {"time_unreadable": 1}),
        (None, None, {}),
    ],
)
def test_times_are_the_sources(written: Any, time: datetime | None, counted: dict[str, int], tmp_path: Path) -> None:
    run = run_in(eval_json(tmp_path / "x", eval_log(sample(started_at=written))))

    assert run.events[0].time == time
    assert run.adapted == counted


def test_every_event_of_a_transcript_has_a_time(tmp_path: Path) -> None:
    score = {"event": "score", "score": {"value": "C"}, "timestamp": clock(9)}
    events = [model_event("4", [message("q", "user", "2+2?")], 1), score]

    run = run_in(eval_json(tmp_path / "x", eval_log(sample(events=events, messages=[]))))

    assert [event.time.second for event in run.events if event.time] == [1, 1, 1, 1, 1, 1, 9]


@pytest.mark.parametrize(
    ("changes", "status", "reason"),
    [
        ({}, "completed", None),
        ({"error": {"message": "RuntimeError('x')"}}, "failed", "RuntimeError('x')"),
        ({"error": {"message": "CancelledError()"}}, "canceled", "CancelledError()"),
        ({"limit": {"type": "message", "limit": 30}}, "budget_exhausted", "message limit"),
        ({"limit": {"type": "operator", "limit": 1}}, "canceled", "operator limit"),
    ],
)
def test_how_a_run_ended(changes: Any, status: str, reason: str | None, tmp_path: Path) -> None:
    run = run_in(eval_json(tmp_path / "x", eval_log(sample(**changes))))

    assert run.events[-2].payload == {"status": status, "reason": reason}


def test_scores_come_after_the_end_so_that_a_later_one_is_a_suffix(tmp_path: Path) -> None:
    scores = {"match": {"value": "C"}, "graded": {"value": float("nan"), "explanation": "?"}}
    unscored = run_in(eval_json(tmp_path / "x", eval_log(sample(scores={}))))

    scored = run_in(eval_json(tmp_path / "y", eval_log(sample(scores=scores))))

    assert scored.events[: len(unscored.events)] == unscored.events
    assert [event.payload["value"] for event in scored.events[len(unscored.events) :]] == ["C", "NaN"]
    assert scored.adapted == {"not_a_number": 1}


@pytest.mark.parametrize("target", ["", [], None])
def test_no_target_is_no_expectation(target: Any, tmp_path: Path) -> None:
    run = run_in(eval_json(tmp_path / "x", eval_log(sample(target=target))))

    assert "case.expected" not in {event.type for event in run.events}


@pytest.mark.parametrize("samples", [[], None])
def test_a_log_without_samples_has_no_runs(samples: Any, tmp_path: Path) -> None:
    assert read(eval_json(tmp_path / "x", eval_log() | {"samples": samples, "status": "error"})) == []


def test_samples_may_stand_before_the_header(tmp_path: Path) -> None:
    log = eval_log(sample())

    assert run_in(eval_json(tmp_path / "x", {"version": 2, "samples": log["samples"], **log})).stream[-6:] == "E1/1/1"


@pytest.mark.parametrize(
    ("log", "reason"),
    [
        (eval_log(version=5), "version 5"),
        (eval_log(version="2"), "version '2'"),
        (eval_log(eval={"run_id": "R"}), "names neither eval_id"),
        (eval_log(eval=None), "has no eval"),
    ],
)
def test_a_log_that_cannot_be_read_is_refused(log: Any, reason: str, tmp_path: Path) -> None:
    for path in (eval_json(tmp_path / "x", log), eval_zip(tmp_path / "y", log)):
        (refused,) = read(path)
        assert isinstance(refused, Refusal)
        assert reason in refused.reason


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (sample(epoch=None), "no epoch"),
        (sample(events={"a": 1}), "events is not a list of objects"),
        (sample(messages=[{"content": "x"}]), "without a role"),
        (sample(messages=[1]), "messages is not a list of objects"),
        (sample(messages=[message("a", "assistant", "", tool_calls=[{"id": "1"}])]), "the name of its tool"),
    ],
)
def test_a_bad_sample_is_refused_and_the_rest_is_read(bad: Any, reason: str, tmp_path: Path) -> None:
    for path in (
        eval_json(tmp_path / "x", eval_log(bad, sample(2))),
        eval_zip(tmp_path / "y", eval_log(bad, sample(2))),
    ):
        refused, run = read(path)
        assert isinstance(refused, Refusal)
        assert reason in refused.reason
        assert isinstance(run, Recording)


def test_a_cut_off_json_gives_the_samples_before_the_cut(tmp_path: Path) -> None:
    path = eval_json(tmp_path / "x", eval_log(sample(1), sample(2)))
    path.write_text(path.read_text()[:-30])

    run, refused = read(path)

    assert isinstance(run, Recording)
    assert refused == Refusal("line 1", "the file ends inside the value that begins here")


def test_a_cut_off_archive_is_refused(tmp_path: Path) -> None:
    path = eval_zip(tmp_path / "x", eval_log(sample()))
    path.write_bytes(path.read_bytes()[:-40])

    (refused,) = read(path)

    assert isinstance(refused, Refusal)
    assert "damaged or cut-off archive" in refused.reason


def test_a_damaged_member_is_refused_and_the_rest_is_read(tmp_path: Path) -> None:
    path = eval_zip(tmp_path / "x", eval_log(sample(1), sample(2)))
    with zipfile.ZipFile(path) as archive:
        start = archive.getinfo("samples/1_epoch_1.json").header_offset
    data = bytearray(path.read_bytes())
    data[start + 80 : start + 90] = b"\xff" * 10
    path.write_bytes(data)

    refused, run = read(path)

    assert isinstance(refused, Refusal)
    assert refused.where == "member samples/1_epoch_1.json"
    assert isinstance(run, Recording)


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_ZSTANDARD])
def test_a_member_that_unpacks_to_too_much_is_refused(
    method: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("spine.importers.inspect_archive.MAX_RUN", 100_000)
    bomb = sample(1, input="x" * 10_000_000)

    refused, run = read(eval_zip(tmp_path / "x", eval_log(bomb, sample(2)), method=method))

    assert refused == Refusal("member samples/1_epoch_1.json", "unpacks to more than 100,000 bytes")
    assert isinstance(run, Recording)


def test_a_member_that_lies_about_its_size_is_refused(tmp_path: Path) -> None:
    log = json.dumps({"version": 2, "eval": {"eval_id": "E"}, "pad": "x" * 100_000}).encode()

    (refused,) = read(lying_zip(tmp_path / "x", "header.json", log, claimed=30))

    assert isinstance(refused, Refusal)
    assert refused.where == "member header.json"


def test_chunked_samples_are_refused_by_name(tmp_path: Path) -> None:
    path = eval_zip(tmp_path / "x", eval_log())
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("samples/1_epoch_1/sample.json", "{}")

    (refused,) = read(path)

    assert isinstance(refused, Refusal)
    assert "chunks" in refused.reason


@pytest.mark.parametrize(
    "head",
    [
        b"",
        b"PK\x03\x04",
        b"PK\x03\x04" + b"\0" * 22 + b"\x05\x00\x00\x00a.txt",
        b'{"version": 1, "status": "ok", "items": []}',
        b'{"eval": {}}',
        b'[{"version": 2, "eval": {}}]',
        b'{"events": []}',
    ],
)
def test_other_files_are_not_recognised(head: bytes) -> None:
    assert recognised_by(head) is None


def test_a_log_is_recognised_behind_a_byte_order_mark(tmp_path: Path) -> None:
    path = eval_json(tmp_path / "x", eval_log(sample()))
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())

    assert run_in(path).events[0].actor is Actor.SYSTEM
