"""GroupCommit: many threads share the commits of one log."""

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from threading import Condition, Lock, Thread
from time import monotonic
from types import TracebackType
from typing import Final, Self, cast
from uuid import UUID

from spine.admission import Admitted
from spine.errors import AppendOutcomeUnknown, LogUnavailable, Overloaded
from spine.events import Actor, Event, NewEvent
from spine.log import ANY, Append, Appended, Expect, Head, Snapshot
from spine.sql_log import SqlLog


class _Waiting:
    """An append in the queue. Who waits for it sleeps at a lock of its own: to wake a thread through a Future costs as
    much as its share of the commit."""

    __slots__ = ("_answer", "_gate", "append", "future", "size", "taken")

    def __init__(self, append: Admitted, future: Future[list[Appended]] | None) -> None:
        self.append: Final = append
        self.future: Final = future
        self.size: Final = _size(append)
        self.taken = False
        self._answer: list[Appended] | BaseException | None = None
        self._gate = Lock()
        self._gate.acquire()

    def answer(self, answer: list[Appended] | BaseException) -> None:
        self._answer = answer
        if self.future is None:
            self._gate.release()
        elif isinstance(answer, BaseException):
            self.future.set_exception(answer)
        else:
            self.future.set_result(answer)

    def wait(self) -> list[Appended]:
        self._gate.acquire()
        if isinstance(self._answer, BaseException):
            raise self._answer
        return cast(list[Appended], self._answer)

    def cancelled(self) -> bool:
        return self.future is not None and self.future.cancelled()


class GroupCommit:
    """A Log whose appends are committed together: a group is what has queued while the last one was committed.

    Appends are decided in the order in which they came. Each gets its own answer or its own error. `group_appends` and
    `group_bytes` bound a group, `queue_appends` and `queue_bytes` what waits; an append waits up to `room_seconds` for
    room, and then raises Overloaded. Closing it answers everyone who waits and closes the log behind it.
    """

    def __init__(
        self,
        log: SqlLog,
        *,
        group_appends: int = 128,
        group_bytes: int = 1 << 20,
        queue_appends: int = 4096,
        queue_bytes: int = 64 << 20,
        room_seconds: float = 1.0,
    ) -> None:
        self._log = log
        self._group_appends, self._group_bytes = group_appends, group_bytes
        self._queue_appends, self._queue_bytes = queue_appends, queue_bytes
        self._room_seconds = room_seconds
        self._queue: deque[_Waiting] = deque()
        self._bytes = 0
        self._newcomers: deque[_Waiting] = deque()
        self._closed = False
        self._idle = False
        self._last_seconds = 0.0
        self._lock = Lock()
        self._arrived, self._room = Condition(self._lock), Condition(self._lock)
        self._thread = Thread(target=self._run, name="group-commit", daemon=True)
        self._thread.start()

    @property
    def name(self) -> str | None:
        return self._log.name

    def append(self, stream: str, events: Sequence[NewEvent], expect: Expect | int = ANY) -> Appended:
        return self._wait(self._enqueue(_Waiting(self._log.admit_one(Append(stream, events, expect)), None)))[0]

    def append_all(self, appends: Sequence[Append]) -> list[Appended]:
        return self._wait(self._enqueue(_Waiting(self._log.admit(appends), None)))

    def submit(self, appends: Sequence[Append]) -> Future[list[Appended]]:
        """Queue an append to one stream or several; cancelled before a group takes it, it writes nothing."""
        future: Future[list[Appended]] = Future()
        self._enqueue(_Waiting(self._log.admit(appends), future))
        return future

    def read(
        self,
        stream: str,
        *,
        after: int = 0,
        until: int | None = None,
        limit: int | None = None,
        types: Sequence[str] | None = None,
        backwards: bool = False,
    ) -> Iterator[Event]:
        return self._log.read(stream, after=after, until=until, limit=limit, types=types, backwards=backwards)

    def read_all(
        self,
        *,
        after: int = 0,
        until: int | None = None,
        limit: int | None = None,
        types: Sequence[str] | None = None,
        backwards: bool = False,
    ) -> Iterator[Event]:
        return self._log.read_all(after=after, until=until, limit=limit, types=types, backwards=backwards)

    def streams(self, prefix: str = "", *, after: str = "", limit: int | None = None) -> Iterator[Head]:
        return self._log.streams(prefix, after=after, limit=limit)

    def head(self, stream: str) -> Head | None:
        return self._log.head(stream)

    def find(self, stream: str, id: UUID) -> Event | None:
        return self._log.find(stream, id)

    def position(self) -> int:
        return self._log.position()

    def erase(self, stream: str, seqs: Sequence[int], *, reason: str, actor: Actor, principal: str) -> Appended:
        return self._log.erase(stream, seqs, reason=reason, actor=actor, principal=principal)

    def save_snapshot(self, snapshot: Snapshot) -> None:
        self._log.save_snapshot(snapshot)

    def latest_snapshot(self, stream: str, fold: str, version: int, *, until: int | None = None) -> Snapshot | None:
        return self._log.latest_snapshot(stream, fold, version, until=until)

    def close(self) -> None:
        with self._lock:
            self._closed = True
            self._arrived.notify_all()
            self._room.notify_all()
        self._thread.join()
        self._log.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _enqueue(self, waiting: _Waiting) -> _Waiting:
        with self._lock:
            if self._newcomers or self._full(waiting):
                self._wait_for_room(waiting)
            if self._closed:
                raise LogUnavailable("the log was closed: nothing was written; open it again")
            self._queue.append(waiting)
            self._bytes += waiting.size
            if self._idle:
                self._arrived.notify()
        return waiting

    def _wait_for_room(self, waiting: _Waiting) -> None:
        """In the order of asking: who comes later does not take a place that became free for who waits."""
        end = monotonic() + self._room_seconds
        self._newcomers.append(waiting)
        try:
            while not self._closed and (self._newcomers[0] is not waiting or self._full(waiting)):
                if not self._room.wait(end - monotonic()):
                    self._drop_cancelled()
                    if self._newcomers[0] is not waiting or self._full(waiting):
                        raise Overloaded(retry_after=self._retry_after())
        finally:
            self._newcomers.remove(waiting)
            self._room.notify_all()

    def _drop_cancelled(self) -> None:
        self._queue = deque(waiting for waiting in self._queue if not waiting.cancelled())
        self._bytes = sum(waiting.size for waiting in self._queue)

    def _full(self, waiting: _Waiting) -> bool:
        return bool(self._queue) and (
            len(self._queue) >= self._queue_appends or self._bytes + waiting.size > self._queue_bytes
        )

    def _retry_after(self) -> float:
        """How long what is queued takes at the rate of the last commit."""
        groups = 1 + len(self._queue) // self._group_appends
        return max(0.01, groups * self._last_seconds)

    def _wait(self, waiting: _Waiting) -> list[Appended]:
        try:
            return waiting.wait()
        except BaseException:
            with self._lock:
                if not waiting.taken and waiting in self._queue:  # interrupted: nobody waits for it
                    self._queue.remove(waiting)
                    self._bytes -= waiting.size
            raise

    def _run(self) -> None:
        while group := self._take():
            running = [
                waiting for waiting in group if waiting.future is None or waiting.future.set_running_or_notify_cancel()
            ]
            if running:
                began = monotonic()
                self._commit(running)
                self._last_seconds = monotonic() - began

    def _take(self) -> list[_Waiting]:
        """The next group, as soon as anything waits; empty once it is closed and everyone is answered."""
        with self._lock:
            while not self._queue and not self._closed:
                self._idle = True
                self._arrived.wait()
                self._idle = False
            group: list[_Waiting] = []
            size = 0
            while self._queue and len(group) < self._group_appends:
                if group and size + self._queue[0].size > self._group_bytes:
                    break
                waiting = self._queue.popleft()
                waiting.taken = True
                group.append(waiting)
                size += waiting.size
            self._bytes -= size
            if self._newcomers:
                self._room.notify_all()
            return group

    def _commit(self, group: list[_Waiting]) -> None:
        try:
            answers = self._log.commit([waiting.append for waiting in group])
        except (AppendOutcomeUnknown, LogUnavailable) as error:
            # The log's own trouble, and everyone's: tried alone, each would wait for it anew.
            for waiting in group:
                waiting.answer(type(error)(str(error)))
        except BaseException as error:
            if len(group) == 1:
                group[0].answer(error)
                return
            # The transaction was rolled back: alone, only the one at fault fails.
            for waiting in group:
                self._commit([waiting])
        else:
            for waiting, answer in zip(group, answers, strict=True):
                waiting.answer(answer)


def _size(append: Admitted) -> int:
    return sum(len(event.payload) + len(event.metadata or "") for batch in append.batches for event in batch.events)
