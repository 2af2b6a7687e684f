"""Arrivals: wake-ups for those who wait for something new in a log. Hints: one may be lost, or be for nothing."""

import select
import sqlite3
import threading
import time
from collections.abc import Callable
from math import ceil
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import Any, Final, Protocol, Self, TypeAlias

import psycopg
from psycopg.pq import ExecStatus
from sqlalchemy.pool import PoolProxiedConnection

Connect: TypeAlias = Callable[[], psycopg.Connection[Any]]
"""Opens a connection outside the pool, on which each statement is a transaction."""

_Bell: TypeAlias = SimpleQueue[None]

_SOON: Final = 0.002  # seconds between looks at a file that has just changed
_LATER: Final = 0.010
_RECENT: Final = 0.5
_APART: Final = 0.005  # seconds between two notices
_IDLE: Final = 60.0  # seconds after which a connection that says nothing is given back
_RETRY: Final = 1.0
_FAREWELL: Final = 3.0  # seconds that closing waits for the last notice


class Watch(Protocol):
    """Waits for arrivals. Used in a `with`; what came before it began counts as read."""

    def wait(self, seconds: float) -> bool:
        """Whether something may have arrived since the last call; returns at once then, or after `seconds` without."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class Bells:
    """The bells of one file's watchers in this process."""

    def __init__(self) -> None:
        self._changing = threading.Lock()
        self._hung: tuple[_Bell, ...] = ()

    def ring(self) -> None:
        for bell in self._hung:
            if bell.empty():
                bell.put(None)  # unlike writing to a pipe, it does not let the watcher run before the appender

    def hang(self) -> "_Bell":
        bell = _Bell()
        with self._changing:
            self._hung = (*self._hung, bell)
        return bell

    def take_down(self, bell: "_Bell") -> None:
        with self._changing:
            self._hung = tuple(one for one in self._hung if one is not bell)


class _Watching:
    """What the watches of both databases share."""

    def close(self) -> None: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class FileWatch(_Watching):
    """Watches a SQLite file: SQLite tells a connection whether others have committed, but has to be asked."""

    def __init__(self, bells: Bells, connection: PoolProxiedConnection) -> None:
        self._bells = bells
        self._bell = bells.hang()
        self._connection = connection
        self._seen = self._version()
        self._last = time.monotonic()

    def wait(self, seconds: float) -> bool:
        until = time.monotonic() + seconds
        pause = 0.0
        while True:
            rung = self._rang(pause)
            version, now = self._version(), time.monotonic()
            if rung or version != self._seen:
                self._seen, self._last = version, now
                return True
            if now >= until:
                return False
            pause = min(_SOON if now - self._last < _RECENT else _LATER, until - now)

    def close(self) -> None:
        self._bells.take_down(self._bell)
        self._connection.close()

    def _rang(self, seconds: float) -> bool:
        try:
            self._bell.get(timeout=seconds)
        except Empty:
            return False
        return True

    def _version(self) -> object:
        driver: Any = self._connection.driver_connection
        try:
            return driver.execute("PRAGMA data_version").fetchone()
        except sqlite3.Error:
            return None  # whoever reads the log will be told what it is


class ServerWatch(_Watching):
    """Listens to a Postgres server. Each time it has begun to listen there may be something to read: nobody knows what
    was said before."""

    def __init__(self, connect: Connect) -> None:
        self._connect = connect
        self._connection: psycopg.Connection[Any] | None = None
        self._retry_at = 0.0

    def wait(self, seconds: float) -> bool:
        until = time.monotonic() + seconds
        while True:
            if self._noticed():
                return True
            left = until - time.monotonic()
            if left <= 0:
                return False
            if self._connection is None:
                time.sleep(min(left, _RETRY))
            else:
                poll = select.poll()
                poll.register(self._connection.fileno(), select.POLLIN)
                poll.poll(ceil(left * 1000))

    def close(self) -> None:
        self._hang_up()

    def _noticed(self) -> bool:
        if self._connection is None:
            return self._listen()
        try:
            return _said_something(self._connection)
        except psycopg.Error:
            self._hang_up()
            return self._listen()

    def _listen(self) -> bool:
        if time.monotonic() < self._retry_at:
            return False
        self._retry_at = time.monotonic() + _RETRY
        try:
            self._connection = self._connect()
            self._connection.execute(b"LISTEN " + _channel(self._connection))
        except psycopg.Error:  # whoever reads the log will be told
            self._hang_up()
            return False
        return True

    def _hang_up(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _channel(connection: psycopg.Connection[Any]) -> bytes:
    """Named for the table, not for the search path: two roles may reach one log by different ways."""
    [(table,)] = connection.execute("SELECT 'events'::regclass::oid").fetchall()
    return b"gradespine_%d" % table


def _said_something(connection: psycopg.Connection[Any]) -> bool:
    """Whether there are notices; takes them. Raises psycopg.OperationalError when the connection is lost."""
    connection.pgconn.consume_input()
    noticed = False
    while connection.pgconn.notifies() is not None:
        noticed = True
    return noticed


class Announcer:
    """Tells the watchers in all processes, from a thread and a connection of its own: a NOTIFY in an append would
    have all commits of the server queue at one lock. Nothing is started before the first announcement."""

    def __init__(self, connect: Connect) -> None:
        self._connect = connect
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None
        self._owed = False
        self._wake = SimpleQueue[None]()
        self._closing = threading.Event()

    def announce(self) -> None:
        if self._owed:
            return
        self._owed = True
        self._wake.put(None)
        if self._thread is None:
            self._start()

    def close(self) -> None:
        """Send what is owed and end; announced to again, it begins anew."""
        with self._starting:
            thread, self._thread = self._thread, None
            if thread is None:
                return
            self._closing.set()
            self._wake.put(None)
            thread.join(_FAREWELL)
            self._closing, self._wake, self._owed = threading.Event(), SimpleQueue(), False

    def _start(self) -> None:
        with self._starting:
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._run, args=(self._wake, self._closing), name="gradespine-announcer", daemon=True
                )
                self._thread.start()

    def _run(self, wake: SimpleQueue[None], closing: threading.Event) -> None:
        sender: _Sender | None = None
        while self._owed or not closing.is_set():
            try:
                wake.get(timeout=_IDLE if sender else None)
            except Empty:
                if sender:
                    sender.close()
                sender = None
            if self._owed:
                self._owed = False  # before it is sent: what is committed from now on needs another
                sender = self._send(sender)
                closing.wait(_APART if sender else _RETRY)
        if sender:
            sender.close()

    def _send(self, sender: "_Sender | None") -> "_Sender | None":
        """Returns what sends the next notice; None when this one could not be sent."""
        for _ in range(2):  # a connection that lay idle may have been dropped
            try:
                sender = sender or _Sender(self._connect())
            except psycopg.Error:
                return None
            if sender.send():
                return sender
            sender.close()
            sender = None
        return None


class _Sender:
    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection
        try:
            self._notice = b"NOTIFY " + _channel(connection)
        except BaseException:
            connection.close()
            raise

    def send(self) -> bool:
        # Past the driver's own waiting, which is Python, and would have the appender wait for the interpreter.
        try:
            return self._connection.pgconn.exec_(self._notice).status == ExecStatus.COMMAND_OK
        except psycopg.Error:
            return False

    def close(self) -> None:
        self._connection.close()
