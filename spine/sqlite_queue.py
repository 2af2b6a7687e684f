"""WriterQueue: the writers of one SQLite file, in all processes of a machine, one at a time and in turn.

busy_timeout is no queue: under load one process starves the others for seconds. So a writer takes an in-process lock,
then a lock on a file beside the log, and only then begins.
"""

import fcntl
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from spine.errors import LogBusy, LogUnavailable


class WriterQueue:
    """The queue at `<file>-lock`. Safe to use from many threads."""

    def __init__(self, path: Path, busy_seconds: float) -> None:
        self._path: Final = path
        self._busy_seconds = busy_seconds
        self._here = threading.Lock()
        self._file: int | None = None

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Held by one writer at a time. Raises LogBusy when it is not had in time, LogUnavailable without the file."""
        if not self._here.acquire(timeout=self._busy_seconds):
            raise self._busy()
        try:
            lock = self._lock()
            try:
                yield
            finally:
                _unlock(lock, close=lock != self._file)
        finally:
            self._here.release()

    @contextmanager
    def closing(self) -> Iterator[None]:
        """While no writer of this process has its turn; lets go of the file, which another turn opens again."""
        with self._here:
            yield
            file, self._file = self._file, None
            if file is not None:
                os.close(file)

    def _lock(self) -> int:
        if self._file is None:
            self._file = self._open()
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return self._file
        except BlockingIOError:
            lock = self._open()  # one of its own: who gives up leaves it to the thread that waits
            if not _flock_in_turn(lock, self._busy_seconds):
                raise self._busy() from None
            return lock

    def _open(self) -> int:
        try:
            return os.open(f"{self._path}-lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        except OSError as error:
            raise LogUnavailable(
                f"{self._path}-lock: {error.strerror}; writers queue at it, so it has to be writable to all of them"
            ) from error

    def _busy(self) -> LogBusy:
        return LogBusy(f"{self._path}: another writer has held the log for {self._busy_seconds:g} s; retry")


def _unlock(lock: int, *, close: bool = True) -> None:
    # Closing alone would leave it locked where a fork holds a copy.
    fcntl.flock(lock, fcntl.LOCK_UN)
    if close:
        os.close(lock)


def _flock_in_turn(lock: int, seconds: float) -> bool:
    """Take the lock in the order of asking, or close it after `seconds`. A blocking flock is the fair one but knows no
    time limit, so a thread waits for it and lets it go at once if it comes too late."""
    if seconds <= 0:
        os.close(lock)
        return False
    settled = threading.Lock()
    taken = threading.Event()
    given_up = False

    def wait() -> None:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with settled:
            if given_up:
                _unlock(lock)
            else:
                taken.set()

    threading.Thread(target=wait, name="gradespine-writer-queue", daemon=True).start()
    try:
        taken.wait(seconds)
    except BaseException:  # Ctrl-C: nobody would let go of a lock taken later
        with settled:
            given_up = True
            if taken.is_set():
                _unlock(lock)
        raise
    with settled:
        given_up = not taken.is_set()
    return not given_up
