"""Moving a whole log: byte for byte there and back, and never a half or a changed one."""

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from spine import Actor, InvalidInput, NewEvent, SqlLog, open_log
from spine.copying import export, import_log
from tests.spine.verification import findings_in


def fill(log: SqlLog) -> None:
    tricky = {"text": "\0 \u2028 é 😀", "numbers": [1.0, 1e16, -0.0, 1e-7], "nested": {"b": 1, "a": [None, True]}}
    cause = NewEvent("x.y", actor=Actor.AGENT)
    log.append("run/0", [cause])
    for number in range(3):
        events = [NewEvent("x.y", tricky, actor=Actor.AGENT, metadata={"m": number}, origin="o") for _ in range(200)]
        log.append(f'run/{number} "é"', events)
    log.append("run/a", [NewEvent("x.y", {"secret": 1}, actor=Actor.AGENT, causation_id=cause.id)])
    log.erase("run/a", [1], reason="asked for", actor=Actor.HUMAN, principal="dpo")


def exported(log: SqlLog) -> bytes:
    out = io.BytesIO()
    export(log, out)
    return out.getvalue()


@pytest.fixture
def source(tmp_path: Path) -> bytes:
    with open_log(f"sqlite:///{tmp_path / 'source.db'}") as log:
        fill(log)
        return exported(log)


def test_there_and_back_is_the_same_log(source: bytes, sql_log: SqlLog, tmp_path: Path) -> None:
    assert import_log(io.BytesIO(source), sql_log) == 603

    assert findings_in(sql_log) == []
    assert exported(sql_log) == source
    with open_log(f"sqlite:///{tmp_path / 'back.db'}") as back:
        import_log(io.BytesIO(exported(sql_log)), back)
        assert exported(back) == source
        assert back.append("run/a", [NewEvent("x.y", actor=Actor.AGENT)]).first_position == 604


def test_what_is_appended_meanwhile_is_left_out(sql_log: SqlLog) -> None:
    fill(sql_log)
    before = exported(sql_log)

    class Slow(io.BytesIO):
        def write(self, line: Any) -> int:
            if not self.tell():
                sql_log.append("run/late", [NewEvent("x.y", actor=Actor.AGENT)])
            return super().write(line)

    out = Slow()
    export(sql_log, out)
    assert out.getvalue() == before


def test_a_log_without_events_is_not_exported(sql_log: SqlLog) -> None:
    with pytest.raises(InvalidInput, match="nothing to export"):
        exported(sql_log)


def test_a_log_that_is_not_empty_is_not_imported_into(source: bytes, sql_log: SqlLog) -> None:
    sql_log.append("run/b", [NewEvent("x.y", actor=Actor.AGENT)])
    with pytest.raises(InvalidInput, match="empty database"):
        import_log(io.BytesIO(source), sql_log)
    assert sql_log.position() == 1


def line(number: int, **said: Any) -> Callable[[list[bytes]], list[bytes]]:
    """Change keys of a line."""

    def change(lines: list[bytes]) -> list[bytes]:
        changed = json.dumps(json.loads(lines[number]) | said).encode()
        return [*lines[:number], changed, *lines[number + 1 :]]

    return change


HOSTILE: dict[str, tuple[Callable[[list[bytes]], list[bytes]], str]] = {
    "nothing": (lambda lines: [], "line 1: the file ends here"),
    "cut off in a line": (lambda lines: [*lines[:9], lines[9][:40]], "line 10: the file ends here"),
    "cut off between lines": (lambda lines: lines[:-1], "line 605: the file ends here"),
    "something behind": (lambda lines: [*lines, lines[1]], "line 606: something follows"),
    "another file": (lambda lines: [b'{"a":1}', *lines], "line 1: it is no exported log"),
    "a byte order mark": (lambda lines: [b"\xef\xbb\xbf" + lines[0], *lines[1:]], "line 1"),
    "a newer version": (line(0, format="gradespine/log/2"), "another version"),
    "another envelope": (line(0, spec="gradespine/event/2"), "line 1: spec"),
    "another name": (line(0, log="gradespine/other"), "line 2: .*leaf"),
    "another end": (line(0, leaf="0" * 64), "not the one that the first line names"),
    "another order": (lambda lines: [lines[0], lines[2], lines[1], *lines[3:]], "line 2: position 2 stands where 1"),
    "a missing event": (lambda lines: [*lines[:5], *lines[6:]], "line 6: position 6 stands where 5"),
    "a changed payload": (line(7, payload="{}"), "line 8: run/0 .* seq 6 .*payload"),
    "a changed actor": (line(7, actor="system"), "line 8: .*leaf"),
    "an unknown key": (line(7, more=1), "line 8: more: extra"),
    "a wrong type": (line(7, seq="7"), "line 8: seq"),
    "a great number": (line(7, time=2**70), "line 8: time"),
    "a control character": (line(7, stream="run/\n"), "line 8: stream: U\\+000A"),
    "not JSON": (lambda lines: [*lines[:7], b"{", *lines[8:]], "line 8"),
    "deep JSON": (lambda lines: [*lines[:7], b"[" * 100_000, *lines[8:]], "line 8"),
    "not a number": (lambda lines: [*lines[:7], lines[7].replace(b'"seq":6', b'"seq":NaN'), *lines[8:]], "line 8"),
    "time that runs back": (line(300, recorded_at=1), "line 301: it was recorded before"),
    "an unexplained erasure": (line(5, payload=None, metadata=None, salt=None), "position 5 has no payload"),
    "a wrong digest of leaves": (line(604, leaves="0" * 64), "line 605: the end"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_a_fault_is_named_and_changes_nothing(source: bytes, sql_log: SqlLog, case: str) -> None:
    change, message = HOSTILE[case]
    lines = change(source.splitlines())
    whole = b"\n".join(lines) + (b"" if case == "cut off in a line" or not lines else b"\n")

    with pytest.raises(InvalidInput, match=message):
        import_log(io.BytesIO(whole), sql_log)

    assert sql_log.name is None
    with sql_log.database.read_transaction() as connection:
        assert connection.execute(text("SELECT count(*) FROM events")).scalar() == 0
        assert connection.execute(text("SELECT count(*) FROM streams")).scalar() == 0
