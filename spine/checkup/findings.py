"""What a look at a database comes to, and what a check is."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol


class State(StrEnum):
    OK = "ok"
    WARNING = "warning"
    """It works, but not everywhere or not for ever."""
    FAILED = "failed"
    """A promise of the log is broken, or about to be."""
    UNCHECKED = "not checked"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one check found; `advice` says what to do next, and is empty where there is nothing to do."""

    state: State
    found: str
    advice: str = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """A check by its name, and its verdict."""

    check: str
    verdict: Verdict

    def to_json(self) -> dict[str, str]:
        verdict = self.verdict
        return {"check": self.check, "state": verdict.state, "found": verdict.found, "advice": verdict.advice}


class Cursor(Protocol):
    """What a check asks with."""

    def execute(self, statement: Any, /) -> Any: ...

    def fetchall(self) -> Sequence[Any]: ...


Check = Callable[[Cursor], Verdict]


@dataclass(frozen=True, slots=True)
class Checks:
    """The checks of one kind of database, in the order of telling. Those of the log need the tables of this program's
    revision."""

    reached: Check
    revisions: Callable[[Cursor], list[str]]
    """The revisions the database says it is at: one, if it is a log."""
    of_database: Sequence[tuple[str, Check]]
    of_log: Sequence[tuple[str, Check]]
    of_place: Sequence[tuple[str, Callable[[], Verdict]]] = ()
    """Where the database lies: what may say why it is not reached."""


def worst(findings: Sequence[Finding]) -> State:
    """The state that decides: what was not checked counts for more than what failed, since it may be worse."""
    order = (State.OK, State.WARNING, State.FAILED, State.UNCHECKED)
    return max((finding.verdict.state for finding in findings), key=order.index, default=State.OK)


def ok(found: str) -> Verdict:
    return Verdict(State.OK, found)


def warning(found: str, advice: str) -> Verdict:
    return Verdict(State.WARNING, found, advice)


def failed(found: str, advice: str) -> Verdict:
    return Verdict(State.FAILED, found, advice)


def unchecked(found: str, advice: str = "") -> Verdict:
    return Verdict(State.UNCHECKED, found, advice)


def rows(cursor: Cursor, statement: str) -> list[Any]:
    cursor.execute(statement)
    return list(cursor.fetchall())


def size(count: float) -> str:
    """`512 bytes`, `4.0 MiB`."""
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "bytes" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} TiB"
