"""What tests run in processes of their own: `python -m tests.spine.worker JOB ARGUMENT…`."""

import json
import os
import sys
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from uuid import UUID

from spine import Actor, NewEvent, SpineError, open_log


def open_once(url: str) -> None:
    """Open the log and append one event to it."""
    with open_log(url) as log:
        log.append(f"run/{os.getpid()}", [NewEvent("finding.reported", {}, actor=Actor.SYSTEM)])


def write(url: str, worker: str, appends: str) -> None:
    """Append to a stream of its own and to a shared one, in turn; print when each append was answered."""
    with open_log(url) as log:
        print("ready", flush=True)
        sys.stdin.readline()
        for number in range(int(appends)):
            stream = "run/shared" if number % 2 else f"run/{worker}"
            events = [
                NewEvent("finding.reported", {"worker": worker, "n": number, "part": part}, actor=Actor.SYSTEM)
                for part in range(1 + number % 3)
            ]
            log.append(stream, events)
        print(time.monotonic(), flush=True)


def append_until_killed(url: str, acknowledged: str) -> None:
    """Append for ever; the ids of what was acknowledged are on the disk before the next append."""
    with open_log(url) as log, Path(acknowledged).open("a") as file:
        for number in count():
            events = [
                NewEvent("finding.reported", {"pid": os.getpid(), "n": number}, actor=Actor.SYSTEM, metadata={"n": n})
                for n in range(1 + number % 4)
            ]
            answer = log.append(f"run/{number % 3}", events)
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
    job.__name__: job for job in (open_once, write, append_until_killed, append_until_it_fails, hold)
}

if __name__ == "__main__":
    try:
        JOBS[sys.argv[1]](*sys.argv[2:])
    except SpineError as error:
        sys.exit(f"{type(error).__name__}: {error}")
