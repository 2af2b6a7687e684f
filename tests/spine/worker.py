"""What tests run in processes of their own: `python -m tests.spine.worker JOB ARGUMENT…`."""

import json
import os
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Barrier
from pathlib import Path
from random import Random
from typing import TextIO
from uuid import UUID

from spine import Actor, Append, Appended, GroupCommit, Log, NewEvent, SpineError, SqlLog, StreamConflict, open_log


def open_once(url: str) -> None:
    """Open the log and append one event to it."""
    with open_log(url) as log:
        log.append(f"run/{os.getpid()}", [NewEvent("finding.reported", {}, actor=Actor.SYSTEM)])


def write(url: str, worker: str, seconds: float, ready: Barrier, appends: "Queue[tuple[str, int]]") -> None:
    """Append to a stream of its own and to a shared one, in turn, for so long; tell how often. By chance, something is
    refused or rolled back in between, and the clock jumps back and forth."""
    chance = Random(worker)
    with open_log(url, clock=lambda: int(time.time() * 1e6) + chance.randrange(-(10**10), 10**10)) as log:
        ready.wait(60)
        until = time.monotonic() + seconds
        number = 0
        while time.monotonic() < until:
            if chance.random() < 0.2:
                _fail(log, chance)
            stream = "run/shared" if number % 2 else f"run/{worker}"
            log.append(stream, _numbered(worker, number))
            number += 1
    appends.put((worker, number))


def _numbered(worker: str, number: int) -> list[NewEvent]:
    return [
        NewEvent("finding.reported", {"worker": worker, "n": number, "part": part}, actor=Actor.SYSTEM)
        for part in range(1 + number % 3)
    ]


def _fail(log: SqlLog, chance: Random) -> None:
    """Be refused, or give up when all is inserted but not committed."""
    if chance.random() < 0.5:
        with suppress(StreamConflict):
            log.append("run/shared", _numbered("refused", 0), 10**9)
        return
    gone = [Append(stream, _numbered("rolled back", 2)) for stream in ("run/shared", f"run/gone/{chance.random()}")]
    with suppress(ZeroDivisionError), log.database.appending() as cursor:
        log._appending.commit(cursor, [log.admit(gone)])
        time.sleep(chance.random() / 500)
        raise ZeroDivisionError


def append_until_killed(url: str, acknowledged: str) -> None:
    """Append for ever; the ids of what was acknowledged are on the disk before the next append."""
    with open_log(url) as log, Path(acknowledged).open("a") as file:
        for number in count():
            events = [
                NewEvent("finding.reported", {"pid": os.getpid(), "n": number}, actor=Actor.SYSTEM, metadata={"n": n})
                for n in range(1 + number % 4)
            ]
            _note(file, log.append(f"run/{number % 3}", events), events)


def group_until_killed(url: str, acknowledged: str) -> None:
    """The same from eight threads, which share their commits."""
    noting = threading.Lock()

    def work(log: Log, file: TextIO, thread: int) -> None:
        for number in count():
            events = [NewEvent("finding.reported", {"thread": thread, "n": number}, actor=Actor.SYSTEM)]
            answer = log.append(f"run/{(thread + number) % 5}", events)
            with noting:
                _note(file, answer, events)

    with GroupCommit(open_log(url)) as log, Path(acknowledged).open("a") as file:
        threads = [threading.Thread(target=work, args=(log, file, number), daemon=True) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def _note(file: TextIO, answer: Appended, events: list[NewEvent]) -> None:
    file.write(json.dumps([answer.first_position, *(str(event.id) for event in events)]) + "\n")
    file.flush()
    os.fsync(file.fileno())


def append_until_it_fails(url: str) -> None:
    """Append the events of `numbered`, print each that was acknowledged, and what came instead."""
    with open_log(url) as log:
        print("ready", flush=True)
        for number in range(200):
            try:
                log.append("run/a", [numbered(number)])
            except SpineError as error:
                print(type(error).__name__, flush=True)
                os._exit(0)  # closing would write, and the disk is broken
            print(number, flush=True)


def numbered(number: int) -> NewEvent:
    """The same event in every process."""
    id = UUID(f"01900000-0000-7000-8000-{number:012x}")
    return NewEvent("finding.reported", {"n": number}, actor=Actor.SYSTEM, id=id)


def hold(url: str, seconds: str) -> None:
    """Hold the log's lock."""
    from spine.database import open_database

    with open_database(url).write():
        print("held", flush=True)
        time.sleep(float(seconds))


JOBS: dict[str, Callable[..., None]] = {
    job.__name__: job
    for job in (open_once, write, append_until_killed, group_until_killed, append_until_it_fails, hold)
}

if __name__ == "__main__":
    try:
        JOBS[sys.argv[1]](*sys.argv[2:])
    except SpineError as error:
        sys.exit(f"{type(error).__name__}: {error}")
