"""Leading: of all who follow a log under one name, in whatever process, one at a time does the work."""

import fcntl
import os
import select
from collections.abc import Callable
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any, Final, Protocol, Self

import psycopg

from spine.arrivals import Connect
from spine.errors import LogUnavailable


class Lead(Protocol):
    """The lead under a name. Used in a `with`, which gives it up at the end, as the end of the process does."""

    def take(self) -> bool:
        """Whether it is ours now: still, or because nobody else had it. Does not wait. Raises LogUnavailable."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class _Leading:
    def give_up(self) -> None: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.give_up()


class FileLead(_Leading):
    """The lead is a lock on a side file, which is never removed: another one might hold a lock on what is gone."""

    def __init__(self, path: str) -> None:
        self._path: Final = path
        self._file: int | None = None

    def take(self) -> bool:
        if self._file is not None:
            if self._is_there(self._file):
                return True
            self.give_up()
        file = self._open()
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(file)
            return False
        self._file = file
        return True

    def give_up(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            fcntl.flock(file, fcntl.LOCK_UN)  # closing alone would leave it locked where a fork holds a copy
            os.close(file)

    def _open(self) -> int:
        try:
            return os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        except OSError as error:
            raise LogUnavailable(
                f"{self._path}: {error.strerror}; followers agree at it on who leads, so it has to be writable to all"
            ) from error

    def _is_there(self, file: int) -> bool:
        """Whether others find the file that we have locked."""
        try:
            return os.path.samestat(os.fstat(file), os.stat(self._path))
        except FileNotFoundError:
            return False


class SessionLead(_Leading):
    """The lead is an advisory lock of a session on Postgres; the server frees it when the session ends."""

    def __init__(
        self, connect: Connect, lock: str, name: str, errors: Callable[[], AbstractContextManager[None]]
    ) -> None:
        """`lock` asks for it, given the name; `errors` turns the driver's errors into ours."""
        self._connect = connect
        self._lock = lock
        self._name = name
        self._errors = errors
        self._connection: psycopg.Connection[Any] | None = None
        self._held = False

    def take(self) -> bool:
        if self._connection is not None and (self._connection.closed or has_spoken(self._connection)):
            self.give_up()  # at worst the lead changes hands
        if self._held:
            return True
        with self._errors():
            self._connection = self._connection or self._connect()
            [(self._held,)] = self._connection.execute(self._lock.encode(), (self._name,)).fetchall()
        return self._held

    def give_up(self) -> None:
        connection, self._connection, self._held = self._connection, None, False
        if connection is not None:
            connection.close()


def has_spoken(connection: psycopg.Connection[Any]) -> bool:
    """Whether the server has said something on an idle connection that nobody asked for: that it goes, mostly."""
    poll = select.poll()
    poll.register(connection.fileno(), select.POLLIN)
    return bool(poll.poll(0))
