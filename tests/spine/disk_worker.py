"""What the tests of broken disks run in processes of their own: `python -m tests.spine.disk_worker JOB ARGUMENT…`."""

import os
import resource
import sys
from collections.abc import Callable
from pathlib import Path

from spine import LogUnavailable, SpineError, SqlLog, open_log
from tests.spine.worker import numbered


def append_as_the_disk_fails(url: str, switch: str, failing: str, then: str) -> None:
    """Append ten events; the disk is made to fail at number `failing`, once or for good (`then`). What each append came
    to is printed, and the one that failed is repeated once if the disk works again."""
    with open_log(url) as log:
        for number in range(10):
            if number == int(failing):
                Path(switch, then).touch()
            outcome = _append(log, number)
            if outcome != "new" and then == "once":
                print(number, outcome, flush=True)
                outcome = _append(log, number)
            print(number, outcome, flush=True)
        os._exit(0)  # nothing is put right by closing


def append_up_to_a_size(url: str, size: str) -> None:
    """Append until no file may grow any more; what each append came to is printed."""
    with open_log(url) as log:
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(size), resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
        for number in range(500):
            outcome = _append(log, number)
            print(number, outcome, flush=True)
            if outcome != "new":
                break
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.getrlimit(resource.RLIMIT_FSIZE)[1],) * 2)
        print(number, _append(log, number), flush=True)


def append_after_a_word(url: str, count: str) -> None:
    """Append that many events, each after a line on stdin, and print what each came to."""
    with open_log(url) as log:
        print("ready", flush=True)
        for number in range(int(count)):
            sys.stdin.readline()
            try:
                print(number, _append(log, number), flush=True)
            except LogUnavailable as error:
                print(number, error, flush=True)
        os._exit(0)


def _append(log: SqlLog, number: int) -> str:
    try:
        return "new" if log.append("run/a", [numbered(number)]).new else "known"
    except SpineError as error:
        return type(error).__name__


JOBS: dict[str, Callable[..., None]] = {
    job.__name__: job for job in (append_as_the_disk_fails, append_up_to_a_size, append_after_a_word)
}

if __name__ == "__main__":
    JOBS[sys.argv[1]](*sys.argv[2:])
