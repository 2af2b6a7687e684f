"""Many writers in many processes and threads, followed by a reader: nothing lost, doubled, out of order or missed."""

import json
import os
import threading
import time
from collections import Counter
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from spine import Actor, Event, Log, NewEvent, open_log
from tests.spine import verifier
from tests.spine.builders import found
from tests.spine.processes import FORKS, KILLS, fork, start
from tests.spine.verification import findings_in

# scripts/soak raises these.
SECONDS = float(os.environ.get("GRADESPINE_SOAK_SECONDS", "2"))
WORKERS = {"sqlite": 4, "postgresql": int(os.environ.get("GRADESPINE_SOAK_PROCESSES", "8"))}


class Tail(threading.Thread):
    """Follows a log by read_all(after=…) as a projector does, and keeps what it saw."""

    def __init__(self, url: str) -> None:
        super().__init__(daemon=True)
        self._url = url
        self._done = threading.Event()
        self.seen: list[Event] = []

    def run(self) -> None:
        with open_log(self._url) as log:
            while True:
                last_look = self._done.is_set()
                after = self.seen[-1].position if self.seen else 0
                self.seen += log.read_all(after=after)
                if last_look:
                    return

    def stop(self) -> list[Event]:
        self._done.set()
        self.join()
        return self.seen


def expected(worker: str, appends: int) -> list[tuple[str, int, int]]:
    return [(worker, number, part) for number in range(appends) for part in range(1 + number % 3)]


def assert_nothing_is_lost_or_moved(log: Log, seen: list[Event], appends: dict[str, int]) -> None:
    """The log holds so many appends of each worker, and nothing else; and all of it was seen."""
    stored = list(log.read_all())
    assert [event.position for event in stored] == list(range(1, len(stored) + 1))
    assert findings_in(log) == []
    found: dict[str, list[tuple[str, int, int]]] = {}
    for event in stored:
        said = event.payload
        found.setdefault(said["worker"], []).append((said["worker"], said["n"], said["part"]))
    assert found == {worker: expected(worker, number) for worker, number in appends.items()}
    assert seen == stored


def test_processes_at_one_database_and_a_reader(database_url: str) -> None:
    """Some appends are refused, some rolled back when all is inserted, and no two clocks agree."""
    open_log(database_url).close()
    number = WORKERS[urlsplit(database_url).scheme]
    ready, counts = FORKS.Barrier(number + 1), FORKS.Queue()
    processes = [fork("write", database_url, str(worker), SECONDS, ready, counts) for worker in range(number)]
    tail = Tail(database_url)
    ready.wait(60)
    tail.start()

    appends: dict[str, int] = dict(counts.get(timeout=60 + SECONDS) for _ in processes)

    for process in processes:
        process.join()
    with open_log(database_url) as log:
        assert_nothing_is_lost_or_moved(log, tail.stop(), appends)
    assert min(appends.values()) >= max(appends.values()) / 4  # the slowest beside the fastest


def test_sixteen_connections_at_one_log_and_a_reader(sql_log: object, database_url: str) -> None:
    appends = 15
    workers = [f"w{number}" for number in range(16)]
    failed: list[BaseException] = []
    barrier = threading.Barrier(len(workers))

    def work(worker: str) -> None:
        try:
            with open_log(database_url) as log:
                barrier.wait()
                for number in range(appends):
                    events = [
                        NewEvent("finding.reported", {"worker": worker, "n": number, "part": part}, actor=Actor.AGENT)
                        for part in range(1 + number % 3)
                    ]
                    log.append("run/shared" if number % 2 else f"run/{worker}", events)
        except BaseException as error:
            failed.append(error)

    tail = Tail(database_url)
    tail.start()
    threads = [threading.Thread(target=work, args=(worker,)) for worker in workers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    seen = tail.stop()
    assert failed == []
    with open_log(database_url) as log:
        assert_nothing_is_lost_or_moved(log, seen, dict.fromkeys(workers, appends))


def test_forty_threads_of_one_log_share_its_connections(database_url: str) -> None:
    failed: list[BaseException] = []

    def work(log: Log, number: int) -> None:
        try:
            for _ in range(3):
                log.append(f"run/{number}", [found()])
                list(log.read(f"run/{number}"))
        except BaseException as error:
            failed.append(error)

    with open_log(database_url) as log:
        threads = [threading.Thread(target=work, args=(log, number)) for number in range(40)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        assert failed == []
        assert log.position() == 120
        assert findings_in(log) == []


@pytest.mark.parametrize("job", ["append_until_killed", "group_until_killed"])
def test_what_was_acknowledged_stands_once_however_often_writers_are_killed(
    database_url: str, tmp_path: Path, job: str
) -> None:
    open_log(database_url).close()
    acknowledged = [tmp_path / f"acknowledged-{number}" for number in range(2)]
    for kill in range(KILLS // 2):
        sizes = [file.stat().st_size if file.exists() else 0 for file in acknowledged]
        processes = [fork(job, database_url, str(file)) for file in acknowledged]
        for file, size, process in zip(acknowledged, sizes, processes, strict=True):
            while not file.exists() or file.stat().st_size == size:
                assert process.is_alive()
                time.sleep(0.002)
        time.sleep(0.003 * (kill % 24))
        for process in processes:
            process.kill()
        for process in processes:
            process.join()

    noted = [json.loads(line) for file in acknowledged for line in file.read_text().splitlines() if line.endswith("]")]
    with open_log(database_url) as log:
        stored = list(log.read_all())
        positions = {str(event.id): event.position for event in stored}
        assert findings_in(log) == []
        assert log.append("run/0", [found()]).first_position == len(stored) + 1
    assert max(Counter(str(event.id) for event in stored).values()) == 1
    assert len(noted) >= KILLS
    for first, *ids in noted:
        assert [positions.get(id) for id in ids] == list(range(first, first + len(ids)))


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_file_is_verified_while_it_is_written(database_url: str, tmp_path: Path) -> None:
    open_log(database_url).close()
    process = start("append_until_killed", database_url, tmp_path / "acknowledged")

    for _ in range(20):
        assert verifier.check_sqlite(database_url.removeprefix("sqlite:///")) == []
        time.sleep(0.02)

    assert process.poll() is None
    process.kill()
    process.communicate()
