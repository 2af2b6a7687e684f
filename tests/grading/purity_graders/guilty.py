"""A check for every trap: each does one thing that can give the same evidence another verdict."""

import datetime as dates
import glob
import heapq
import locale
import os
import os.path
import platform
import random
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
import uuid
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import date, datetime
from functools import partial
from pathlib import Path
from time import time as present
from typing import Any

from grading.checks import Reducer, Verdict, run_over
from grading.evidence import Evidence
from grading.ladders import Ladder, Milestone, Mode
from spine import Event

CALLS: list[int] = []
SEEN: dict[str, int] = {}
FIRST: dict[str, int] = {}
SHARED = random.Random(7)


def clock_time(evidence: Evidence) -> tuple[bool, str]:
    return time.time() > 1_700_000_000, ""


def clock_bound_early(evidence: Evidence) -> tuple[bool, str]:
    return present() > 1_700_000_000, ""


def clock_partial(evidence: Evidence) -> tuple[bool, str]:
    return partial(present)() > 0, ""


def clock_monotonic(evidence: Evidence) -> tuple[bool, str]:
    return time.monotonic() > 100, ""


def clock_now(evidence: Evidence) -> tuple[bool, str]:
    return datetime.now().year > 2020, ""


def clock_now_mapped(evidence: Evidence) -> tuple[bool, str]:
    return next(map(datetime.now, [None])).year > 2020, ""


def clock_utcnow(evidence: Evidence) -> tuple[bool, str]:
    return getattr(dates.datetime, "utc" + "now")().year > 2020, ""


def clock_today(evidence: Evidence) -> tuple[bool, str]:
    return date.today().weekday() < 5, ""


def clock_caught(evidence: Evidence) -> tuple[bool, str]:
    try:
        return time.time_ns() > 0, ""
    except Exception:
        return False, ""


def clock_gmtime(evidence: Evidence) -> tuple[bool, str]:
    return time.gmtime().tm_year > 2020, ""


def clock_sleeps(evidence: Evidence) -> tuple[bool, str]:
    time.sleep(0.001)
    return True, ""


def zone_fromtimestamp(evidence: Evidence) -> tuple[bool, str]:
    return datetime.fromtimestamp(1_767_225_600).hour < 12, ""


def zone_naive(evidence: Evidence) -> tuple[bool, str]:
    return datetime(2026, 1, 1).timestamp() > 1_767_225_600, ""


def zone_localtime(evidence: Evidence) -> tuple[bool, str]:
    return time.localtime(0).tm_hour < 12, ""


def zone_name(evidence: Evidence) -> tuple[bool, str]:
    return getattr(time, "tz" + "name")[0] == "UTC", ""


def chance_random(evidence: Evidence) -> tuple[bool, str]:
    return random.random() < 0.5, ""


def chance_shuffle(evidence: Evidence) -> tuple[bool, str]:
    order = [1, 2, 3]
    random.shuffle(order)
    return order[0] == 1, ""


def chance_unseeded(evidence: Evidence) -> tuple[bool, str]:
    return random.Random().random() < 0.5, ""


def chance_secrets(evidence: Evidence) -> tuple[bool, str]:
    return secrets.randbelow(2) == 1, ""


def chance_uuid4(evidence: Evidence) -> tuple[bool, str]:
    return str(uuid.uuid4()) < "8", ""


def chance_urandom(evidence: Evidence) -> tuple[bool, str]:
    return os.urandom(1) < b"\x80", ""


def environment_environ(evidence: Evidence) -> tuple[bool, str]:
    return os.environ.get("STRICT") == "1", ""


def environment_getenv(evidence: Evidence) -> tuple[bool, str]:
    return os.getenv("STRICT") == "1", ""


def environment_in(evidence: Evidence) -> tuple[bool, str]:
    return "STRICT" in os.environ, ""


def files_open(evidence: Evidence) -> tuple[bool, str]:
    with open("/etc/hostname") as file:
        return bool(file.read()), ""


def files_pathlib(evidence: Evidence) -> tuple[bool, str]:
    return bool(Path(__file__).read_text()), ""


def files_exist(evidence: Evidence) -> tuple[bool, str]:
    return os.path.exists("/etc/hostname"), ""


def files_glob(evidence: Evidence) -> tuple[bool, str]:
    return bool(glob.glob("*")), ""


def files_temporary(evidence: Evidence) -> tuple[bool, str]:
    with tempfile.TemporaryFile() as file:
        return file.writable(), ""


def files_copied(evidence: Evidence) -> tuple[bool, str]:
    shutil.copy("/etc/hostname", "copy")
    return True, ""


def folder_current(evidence: Evidence) -> tuple[bool, str]:
    return Path.cwd().name == "grading", ""


def network_socket(evidence: Evidence) -> tuple[bool, str]:
    with socket.socket() as connection:
        return connection.fileno() > 0, ""


def network_name(evidence: Evidence) -> tuple[bool, str]:
    return bool(socket.getaddrinfo("localhost", 80)), ""


def network_urllib(evidence: Evidence) -> tuple[bool, str]:
    with urllib.request.urlopen("http://127.0.0.1:9/") as answer:
        return bool(answer.read()), ""


def process_subprocess(evidence: Evidence) -> tuple[bool, str]:
    return subprocess.run(["true"], check=False).returncode == 0, ""


def process_system(evidence: Evidence) -> tuple[bool, str]:
    return os.system("true") == 0, ""


def thread_started(evidence: Evidence) -> tuple[bool, str]:
    thread = threading.Thread(target=lambda: None)
    thread.start()
    thread.join()
    return True, ""


def thread_pool(evidence: Evidence) -> tuple[bool, str]:
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(bool, 1).result(), ""


def machine_platform(evidence: Evidence) -> tuple[bool, str]:
    return platform.node() == "here", ""


def machine_process(evidence: Evidence) -> tuple[bool, str]:
    return os.getpid() > 1000, ""


def machine_locale(evidence: Evidence) -> tuple[bool, str]:
    return locale.setlocale(locale.LC_ALL, None) == "C", ""


def input_read(evidence: Evidence) -> tuple[bool, str]:
    return input() == "yes", ""


def hash_of_text(evidence: Evidence) -> tuple[bool, str]:
    return hash("some text") % 2 == 0, ""


def order_of_a_set(evidence: Evidence) -> tuple[bool, str]:
    types = {event.type for event in evidence.events()}
    return True, next(iter(types), "")


def order_of_a_set_joined(evidence: Evidence) -> tuple[bool, str]:
    return True, ", ".join({"alpha", "beta", "gamma", "delta"})


def address_of_an_object(evidence: Evidence) -> tuple[bool, str]:
    one, other = object(), object()
    return id(one) < id(other), ""


def address_in_a_detail(evidence: Evidence) -> tuple[bool, str]:
    return True, repr(object())


def state_counted(evidence: Evidence) -> tuple[bool, str]:
    CALLS.append(1)
    return len(CALLS) % 2 == 0, ""


def state_of_a_seen_run(evidence: Evidence) -> tuple[bool, str]:
    SEEN["runs"] = SEEN.get("runs", 0) + 1
    return SEEN["runs"] < 3, ""


def state_of_a_generator(evidence: Evidence) -> tuple[bool, str]:
    return SHARED.random() < 0.5, ""


def state_of_the_first_run(evidence: Evidence) -> tuple[bool, str]:
    return FIRST.setdefault("events", len(evidence.events())) > 5, ""


def changes_a_payload(evidence: Evidence) -> tuple[bool, str]:
    for event in evidence.events():
        if event.type == "tool.called":
            arguments: Any = event.payload["arguments"]
            arguments["seen"] = True
    return True, ""


def changes_a_list_below(evidence: Evidence) -> tuple[bool, str]:
    for event in evidence.events():
        if event.type == "case.expected":
            heapq.heapify(event.payload["tests"])
            heapq.heappush(event.payload["tests"], "test_0")
    return True, ""


def changes_the_reference(evidence: Evidence) -> tuple[bool, str]:
    expected: Any = evidence.expected()
    return expected is not None and expected.pop("answer") == "42", ""


def changes_the_answers(evidence: Evidence) -> tuple[bool, str]:
    answers: Any = evidence.supplied_answers
    if answers is not None:
        answers.setdefault("other", "x")
    return True, ""


def ends_the_program(evidence: Evidence) -> tuple[bool, str]:
    sys.exit(1)


class OneReducerForAll:
    """An incremental check whose reducers share a count, and whose answer changes it."""

    def __init__(self) -> None:
        self.count = 0

    def start(self, expected: Mapping[str, Any] | None, answers: Mapping[str, str] | None = None) -> Reducer:
        self.count = 0
        return self

    def step(self, event: Event) -> None:
        self.count += 1

    def result(self) -> Verdict:
        self.count += 1
        return Verdict(self.count % 2 == 0, f"{self.count} events")

    def __call__(self, evidence: Evidence) -> Verdict:
        return run_over(self, evidence)


def rarely_clock(evidence: Evidence) -> tuple[bool, str]:
    if evidence.answer("a key that no sample has") is not None:
        return _late(), ""
    return True, ""


def _late() -> bool:
    return time.time() > 0


def clock_on_its_own_word(evidence: Evidence) -> tuple[bool, str]:
    for event in evidence.events():
        if event.type == "turbine.stopped" and event.payload.get("rpm") is not None:
            return getattr(time, "ti" + "me")() > 0, ""
    return True, ""


CHECKS = {
    name: check
    for name, check in list(globals().items())
    if name.partition("_")[0]
    in ("clock", "zone", "chance", "environment", "files", "folder", "network", "process", "thread", "machine", "input")
    or name.partition("_")[0] in ("hash", "order", "address", "state", "changes", "ends", "rarely")
}
ladder = Ladder(
    "guilty",
    Mode.INDEPENDENT,
    [
        *(Milestone(name, check) for name, check in CHECKS.items()),
        Milestone("lambda_clock", lambda evidence: (time.time() > 0, "")),
        Milestone("batches_shared", OneReducerForAll()),
    ],
    version="1",
)
