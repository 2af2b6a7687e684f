"""Foreign files, made by hand, and the folder of real ones."""

import json
import os
import struct
import sys
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from spine.importers import Recording, Refusal, recognised_by
from spine.importers.sniffing import HEAD
from tests.recordings import DATA

if sys.version_info >= (3, 14):
    import zipfile as zipfile
else:
    from backports.zstd import zipfile as zipfile

Json = dict[str, Any]


def real(*parts: str) -> Path:
    """A real recording; the test is skipped where the folder of them is missing."""
    path = DATA.joinpath(*parts)
    if not path.exists():
        if os.environ.get("CI"):
            pytest.fail(f"{path.name} is not among the recordings")
        pytest.skip("the real recordings (../shared/data) are not here")
    return path


def chat_call(id: str, name: str, arguments: str) -> Json:
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


def tau_run(task: Any = 0, trial: Any = 0, **changes: Any) -> Json:
    """One run of a τ-bench file: a question, a call, its result, an answer."""
    run: Json = {
        "task_id": task,
        "reward": 1.0,
        "info": {
            "task": {
                "user_id": "ada",
                "instruction": "Cancel the flight.",
                "actions": [{"name": "cancel", "kwargs": {"id": "R1"}}],
                "outputs": ["100"],
            },
            "source": "user",
            "reward_info": {"reward": 1.0, "info": {}, "actions": []},
        },
        "traj": [
            {"role": "system", "content": "Policy"},
            {"role": "user", "content": "Cancel R1, please."},
            {"role": "assistant", "content": None, "tool_calls": [chat_call("a", "cancel", '{"id": "R1"}')]},
            {"role": "tool", "tool_call_id": "a", "name": "cancel", "content": "done"},
            {"role": "assistant", "content": "You get 100 back."},
        ],
        "trial": trial,
    }
    return run | changes


def tau_file(path: Path, *runs: Any) -> Path:
    path.write_text(json.dumps(list(runs)))
    return path


def model_event(text: str, input: list[Json], at: int, *, calls: Iterable[Json] = (), **more: Any) -> Json:
    """A model event at second `at`, done a tenth later; the output has the id `said <at>`."""
    message = {"id": f"said {at}", "role": "assistant", "content": text, "tool_calls": list(calls)}
    event = {"event": "model", "input": input, "output": {"choices": [{"message": message}]}}
    return event | {"timestamp": clock(at), "completed": clock(at + 0.1)} | more


def tool_event(id: str, function: str, arguments: Json, result: Any, at: float, until: float | None) -> Json:
    event = {"event": "tool", "id": id, "function": function, "arguments": arguments, "result": result}
    return event | {"timestamp": clock(at)} | ({} if until is None else {"completed": clock(until)})


def clock(seconds: float) -> str:
    return f"2026-01-01T00:00:{seconds:06.3f}+00:00"


def message(id: str | None, role: str, content: Any, **more: Any) -> Json:
    return ({} if id is None else {"id": id}) | {"role": role, "content": content} | more


def call(id: str, function: str, **arguments: Any) -> Json:
    return {"id": id, "function": function, "arguments": arguments, "type": "function"}


def sample(id: Any = 1, epoch: Any = 1, **changes: Any) -> Json:
    """A sample that is told by its messages only."""
    found: Json = {
        "id": id,
        "epoch": epoch,
        "input": "2+2?",
        "target": "4",
        "messages": [message("q", "user", "2+2?"), message("a", "assistant", "4")],
        "output": {"model": "m", "choices": [], "completion": "4"},
        "scores": {"match": {"value": "C", "answer": "4", "explanation": "equal"}},
    }
    return found | changes


def eval_log(*samples: Json, **changes: Any) -> Json:
    """An EvalLog with these samples."""
    spec = {"eval_id": "E1", "run_id": "R1", "task_id": "T1", "task": "sums", "model": "m/1", "solver": "agent"}
    log: Json = {"version": 2, "status": "success", "eval": spec, "plan": {"steps": []}, "samples": list(samples)}
    return log | changes


def eval_json(path: Path, log: Json) -> Path:
    path.write_text(json.dumps(log))
    return path


def eval_zip(path: Path, log: Json, *, method: int = zipfile.ZIP_DEFLATED, header: bool = True) -> Path:
    """The same log as an archive; without a header as a crash leaves it."""
    with zipfile.ZipFile(path, "w", compression=method) as archive:
        begun = {key: log[key] for key in ("version", "eval", "plan")}
        archive.writestr("_journal/start.json", json.dumps(begun))
        for found in log["samples"]:
            archive.writestr(f"samples/{found['id']}_epoch_{found['epoch']}.json", json.dumps(found))
        if header:
            archive.writestr("header.json", json.dumps({key: log[key] for key in log if key != "samples"}))
    return path


def read(path: Path, prefix: str = "p") -> list[Recording | Refusal]:
    """What the importer that recognises the file makes of it."""
    importer = recognised_by(path.read_bytes()[:HEAD])
    assert importer is not None
    return list(importer.read(path, prefix))


def run_in(path: Path) -> Recording:
    """The only run of a file that is good."""
    (found,) = read(path)
    assert isinstance(found, Recording), found
    return found


def told(recording: Recording) -> list[tuple[str, Any]]:
    """Its transcript in short: what was said, called and returned."""
    short = {"message.sent": "content", "tool.called": "tool", "tool.returned": "result"}
    return [(event.type, event.payload[short[event.type]]) for event in recording.events if event.type in short]


def lying_zip(path: Path, name: str, data: bytes, claimed: int) -> Path:
    """An archive whose directory says that a deflated member unpacks to `claimed` bytes."""
    squeezed = zlib.compressobj(wbits=-15)
    body = squeezed.compress(data) + squeezed.flush()
    raw, crc = name.encode(), zlib.crc32(data)
    sizes = struct.pack("<IIIHH", crc, len(body), claimed, len(raw), 0)
    local = b"PK\x03\x04" + struct.pack("<HHHHH", 20, 0, 8, 0, 0x21) + sizes + raw + body
    entry = b"PK\x01\x02" + struct.pack("<HHHHHH", 20, 20, 0, 8, 0, 0x21) + sizes
    entry += struct.pack("<HHHII", 0, 0, 0, 0, 0) + raw
    end = b"PK\x05\x06" + struct.pack("<HHHHIIH", 0, 0, 1, 1, len(entry), len(local), 0)
    path.write_bytes(local + entry + end)
    return path
