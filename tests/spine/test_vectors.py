"""The published vectors: reproduced by every implementation, and checked by programs that share nothing with ours."""

import copy
import hashlib
import json
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from spine import open_log
from spine.schema import events as events_table
from tests.conftest import OpenLog
from tests.spine import vectors, verifier
from tests.spine.verification import findings_in

VECTORS: dict[str, Any] = json.loads(vectors.FILE.read_text())


def test_every_implementation_makes_the_vectors(open_a_log: OpenLog) -> None:
    log = open_a_log(**vectors.injected())

    vectors.write(log)

    assert vectors.document(log) == VECTORS
    assert findings_in(log) == []


def test_every_key_of_the_envelope_stands_with_a_value_and_without() -> None:
    said = [record["event"] for record in VECTORS["events"]]

    for key in ("causation_id", "correlation_id", "metadata", "origin", "principal", "span_id", "trace_id"):
        assert any(event[key] for event in said), key
        assert any(event[key] == "" for event in said), key
    assert {event["actor"] for event in said} == {"agent", "human", "system"}
    assert min(event["time"] for event in said) == -(2**53 - 1)
    assert {record["erased"] for record in VECTORS["events"]} == {True, False}


def test_the_independent_verifier_accepts_the_vectors() -> None:
    assert verifier.check_vectors(VECTORS) == []


def paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where each scalar of a JSON document stands."""
    if isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, item in items:
            yield from paths(item, (*path, key))
    else:
        yield path


def flipped(value: Any) -> Any:
    """The least other value of the same kind."""
    match value:
        case bool():
            return not value
        case int():
            return value + 1
        case None | "":
            return "0"
        case _:
            return value[:-1] + ("0" if value[-1] != "0" else "1")


@pytest.mark.parametrize("path", list(paths(VECTORS)), ids=lambda path: ".".join(map(str, path)))
def test_the_independent_verifier_finds_a_flipped_field(path: tuple[Any, ...]) -> None:
    document = copy.deepcopy(VECTORS)
    parent = document
    for step in path[:-1]:
        parent = parent[step]

    parent[path[-1]] = flipped(parent[path[-1]])

    assert verifier.check_vectors(document) != []


@pytest.mark.parametrize("change", ["swap", "drop the first", "drop the last", "repeat"])
def test_the_independent_verifier_finds_events_moved(change: str) -> None:
    document = copy.deepcopy(VECTORS)
    events = document["events"]

    match change:
        case "swap":
            events[0], events[2] = events[2], events[0]
        case "drop the first":
            del events[0]
        case "drop the last":
            del events[-1]
        case "repeat":
            events.append(events[-1])

    assert verifier.check_vectors(document) != []


def test_the_tree_is_that_of_rfc_6962() -> None:
    leaves = [record["leaf"] for record in VECTORS["events"]]
    a, b, c, d = leaves[:4]

    def node(left: str, right: str) -> str:
        return hashlib.sha256(b"\x01" + bytes.fromhex(left) + bytes.fromhex(right)).hexdigest()

    assert VECTORS["roots"][:5] == [
        vectors.EMPTY_ROOT,
        a,
        node(a, b),
        node(node(a, b), c),
        node(node(a, b), node(c, d)),
    ]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("vectors") / "log.db"
    with open_log(f"sqlite:///{path}", **vectors.injected()) as log:
        vectors.write(log)
    return path


@pytest.fixture
def file(written: Path, tmp_path: Path) -> Path:
    """A log's file that holds what the vectors hold."""
    return Path(shutil.copy(written, tmp_path / "log.db"))


def test_the_verifier_is_a_program_for_vectors_and_for_a_log_file(file: Path) -> None:
    program = Path(verifier.__file__)
    for subject in (vectors.FILE, file):
        # -I -S: no site-packages and no working directory, so nothing of ours can be imported
        done = subprocess.run([sys.executable, "-I", "-S", program, subject], capture_output=True, text=True)

        assert (done.returncode, done.stdout, done.stderr) == (0, "nothing wrong\n", "")


def unguarded(file: Path) -> sqlite3.Connection:
    """The log's file to somebody who may do anything."""
    connection = sqlite3.connect(file)
    for (guard,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
        connection.execute(f"DROP TRIGGER {guard}")
    return connection


@pytest.mark.parametrize("position", [1, 2, 4])
@pytest.mark.parametrize("column", [column.name for column in events_table.columns])
def test_the_verifier_finds_a_changed_column_of_a_log_file(file: Path, column: str, position: int) -> None:
    connection = unguarded(file)
    [(old,)] = connection.execute(f"SELECT {column} FROM events WHERE position = ?", (position,)).fetchall()
    match old:
        case None:
            new: object = {"causation_id": bytes(16), "payload": "{}", "metadata": "{}"}.get(column, bytes(32))
        case bytes():
            new = old[:-1] + bytes([old[-1] ^ 0x80])
        case int():
            new = old + 100
        case _:
            new = old + "x"

    connection.execute(f"UPDATE events SET {column} = ? WHERE position = ?", (new, position))
    connection.commit()
    connection.close()

    assert verifier.check_sqlite(str(file)) != []


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE streams SET name = name || 'x' WHERE stream_id = 1",
        "UPDATE log SET name = 'gradespine/6f1c0d7e-3b52-4a43-9c55-0d3f6f1b2a11'",
        "UPDATE log SET spec = 'gradespine/event/2'",
        "DELETE FROM events WHERE position = 1",
        "DELETE FROM events WHERE position = 3",
        "DELETE FROM log",
    ],
)
def test_the_verifier_finds_a_rewritten_log_file(file: Path, change: str) -> None:
    connection = unguarded(file)

    connection.execute(change)
    connection.commit()
    connection.close()

    assert verifier.check_sqlite(str(file)) != []


def test_a_second_language_gets_the_same_leaves_roots_and_payloads() -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not on PATH: the vectors were checked by Python alone")

    done = subprocess.run(
        [node, Path(__file__).with_name("verifier.mjs"), vectors.FILE], capture_output=True, text=True, check=True
    )

    seen = json.loads(done.stdout)
    events = VECTORS["events"]
    assert seen["leaves"] == [record["leaf"] for record in events]
    assert seen["roots"] == VECTORS["roots"]
    assert seen["payloads"] == [record["payload"] for record in events]
    kept = [record for record in events if not record["erased"]]
    digests = [digest for digest, record in zip(seen["digests"], events, strict=True) if not record["erased"]]
    assert digests == [{key: record["event"][key] for key in ("payload", "metadata")} for record in kept]
