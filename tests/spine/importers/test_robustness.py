"""Files as large as they come, and files that are wrong in ways nobody thought of."""

import json
import random
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from spine.admission import admit_one
from spine.errors import InvalidInput
from spine.importers import Recording, Refusal
from spine.log import Append
from tests.spine.importers.builders import (
    call,
    eval_json,
    eval_log,
    eval_zip,
    message,
    model_event,
    read,
    sample,
    tau_file,
    tau_run,
    tool_event,
    zipfile,
)
from tests.spine.importers.keyed_builders import fireact_run, intercode_run, keyed_file

ODD: list[Any] = [None, 0, -1, 1.5, True, "", "x", [], {}, [[]], [1], [{}], {"a": 1}, 10**30, "\ud800"]

RICH = sample(
    events=[
        {"event": "span_begin", "id": "s", "type": "solver", "timestamp": "2026-01-01T00:00:00Z"},
        model_event("I look", [message("q", "user", [{"type": "text", "text": "go"}])], 1, calls=[call("1", "f")]),
        tool_event("1", "f", {"a": "attachment://a"}, [{"type": "text", "text": "r"}], 2, 3),
        model_event("done", [], 4, input_refs=[[0, 1]]),
        {"event": "score", "score": {"value": 1}, "timestamp": "2026-01-01T00:00:09Z"},
    ],
    events_data={"messages": [message("q", "user", "go")]},
    attachments={"a": "long"},
    error={"message": "boom"},
    limit={"type": "token"},
    started_at="2026-01-01T00:00:00",
)


def nodes(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every place in a JSON value: its container, and the key there."""
    if isinstance(value, dict | list):
        for key, item in list(value.items() if isinstance(value, dict) else enumerate(value)):
            yield value, key
            yield from nodes(item)


def mutated(value: Any, seed: int) -> Any:
    """A copy with some values replaced by odd ones."""
    chance = random.Random(seed)
    copy = json.loads(json.dumps(value))
    for _ in range(chance.randint(1, 3)):
        container, key = chance.choice(list(nodes(copy)))
        container[key] = deepcopy(chance.choice(ODD))
    return copy


@pytest.mark.parametrize("start", range(0, 1000, 250))
@pytest.mark.parametrize("format", ["tau-bench", "inspect"])
def test_a_run_with_odd_values_is_read_or_refused(format: str, start: int, tmp_path: Path) -> None:
    # Both that can be: a run the importer makes of it may still be refused by the log, by name.
    for seed in range(start, start + 250):
        if format == "inspect":
            found = read(eval_json(tmp_path / "x", eval_log(mutated(RICH, seed), sample(2))))
        else:
            found = read(tau_file(tmp_path / "x", tau_run(), mutated(tau_run(1), seed)))

        assert len(found) == 2, seed
        for run in found:
            if isinstance(run, Recording):
                admitted_or_refused(run)


@pytest.mark.parametrize("run", [intercode_run(), fireact_run("a")], ids=["intercode", "fireact"])
def test_a_keyed_run_with_odd_values_is_read_or_refused(run: dict[str, Any], tmp_path: Path) -> None:
    for seed in range(400):
        found = read(keyed_file(tmp_path / "x", {"1": run, "2": mutated(run, seed)}))

        assert len(found) == 2, seed
        assert isinstance(found[0], Recording)
        if isinstance(found[1], Recording):
            admitted_or_refused(found[1])


def admitted_or_refused(run: Recording) -> None:
    with suppress(InvalidInput):
        admit_one(Append(run.stream, run.events), now=0, salt=lambda: b"-" * 32)


@pytest.mark.parametrize("depth", [60, 200, 5_000])
def test_deep_nesting_is_kept_or_refused_never_a_crash(depth: int, tmp_path: Path) -> None:
    deep = '{"a": ' * depth + "1" + "}" * depth
    event = json.dumps(tool_event("1", "f", {"deep": 0}, "r", 1, None)).replace('{"deep": 0}', deep)
    path = eval_json(tmp_path / "x", eval_log(sample(1, events=[{"event": "…"}]), sample(2)))
    path.write_text(path.read_text().replace('{"event": "\\u2026"}', event))

    first, second = read(path)

    assert isinstance(first, Refusal) == (depth > 1_000)
    assert isinstance(second, Recording)


READ = """
import resource, sys
from pathlib import Path
from spine.importers import recognised_by

path = Path(sys.argv[1])
with path.open("rb") as file:
    importer = recognised_by(file.read(1 << 18))
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
before = peak()
runs = sum(1 for found in importer.read(path, "p") if found.events)
print(runs, peak() - before)
"""


def large(path: Path, before: str, run: str, after: str, runs: int) -> None:
    with path.open("w") as file:
        file.write(before)
        for number in range(runs):
            file.write((", " if number else "") + run.replace('"NUMBER"', str(number)))
        file.write(after)


@pytest.mark.parametrize(("format", "runs"), [("tau-bench", 420), ("inspect", 210)])
def test_a_file_of_hundreds_of_megabytes_is_read_in_little_memory(format: str, runs: int, tmp_path: Path) -> None:
    path = tmp_path / "large"
    text = "narration " * 50_000
    if format == "tau-bench":
        run = json.dumps(tau_run("NUMBER", traj=[{"role": "user", "content": text}]))
        large(path, "[", run, "]", runs)
    else:
        run = json.dumps(sample("NUMBER", messages=[message("q", "user", text)], metadata={"loss": float("nan")}))
        large(path, json.dumps(eval_log())[:-2], run, "]}", runs)
    assert path.stat().st_size > runs * 500_000

    done = subprocess.run([sys.executable, "-c", READ, path], capture_output=True, text=True, check=True)

    found, grown = (int(number) for number in done.stdout.split())
    unit = 1 if sys.platform == "darwin" else 1024
    assert found == runs
    assert grown * unit < 60e6


@pytest.mark.parametrize(
    "method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA, zipfile.ZIP_ZSTANDARD]
)
def test_an_archive_with_flipped_bytes_is_read_or_refused(method: int, tmp_path: Path) -> None:
    path = eval_zip(tmp_path / "x", eval_log(sample(1), sample(2)), method=method)
    whole = path.read_bytes()

    for seed in range(300):
        chance = random.Random(seed)
        damaged = bytearray(whole)
        for _ in range(chance.randint(1, 3)):
            damaged[chance.randrange(60, len(whole))] = chance.randrange(256)
        path.write_bytes(damaged[: chance.choice([len(whole), chance.randrange(60, len(whole))])])

        assert all(isinstance(found, Recording | Refusal) for found in read(path))
