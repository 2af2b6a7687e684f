"""What the mappings make of a run is permanent: stored logs hold it. A change here needs a new mapping version."""

import json
from pathlib import Path
from typing import Any

import pytest

from spine.identity import derived_id
from spine.importers import IMPORTERS, Recording
from tests.spine.importers.builders import (
    call,
    clock,
    eval_json,
    eval_log,
    message,
    model_event,
    run_in,
    sample,
    tau_file,
    tau_run,
    tool_event,
)
from tests.spine.importers.keyed_builders import fireact_run, intercode_run, keyed_file, only, read_with, reference

INTERCODE = intercode_run(
    1,
    history={
        "steps": ["look around"],
        "thoughts": ["I look", "I submit"],
        "actions": ["ls\x00", "submit flag{A} or so", "blocked"],
        "observations": ["a\x1b[0m", 2**60],
        "rewards": [0, -1, 0],
        "valid_action": [True],
    },
    summary={"max_reward": 0, "max_reward_idx": 0, "turns_taken": 3, "turns_max": 3},
    hardness="easy",
    info={"reward": {"file_diff": 0.33}},
)
FIREACT = fireact_run("the answer", em=False, f1=0.5, more="Action: search[b]\nThought: again\n")

GOLDEN = Path(__file__).parent / "golden"

INSPECT = sample(
    "case/1",
    2,
    target=["4", "four"],
    started_at="2026-01-01T00:00:00",
    messages=[message("q", "user", "2+2?"), message("z", "user", "thanks")],
    events=[
        model_event("attachment://t", [message("q", "user", "2+2?")], 1, calls=[call("x", "calc", a=2**60)]),
        tool_event("x", "calc", {"a": 2**60}, [{"type": "text", "text": "4\ud800"}, {"type": "image"}], 2, 3.5)
        | {"error": {"type": "timeout", "message": "late"}},
        {"event": "info", "data": "…", "timestamp": clock(4)},
        model_event("4", [], 5, input_refs=[[0, 1]]),
        {"event": "score", "score": {"value": float("nan")}, "timestamp": clock(9)},
    ],
    events_data={"messages": [message("q", "user", "2+2?")]},
    attachments={"t": "let me see"},
    scores={"match": {"value": float("nan"), "explanation": None}, "said": {"value": {"a": 1}, "explanation": "so"}},
    limit={"type": "token", "limit": 100},
)


def shown(run: Recording) -> dict[str, Any]:
    return {
        "stream": run.stream,
        "adapted": run.adapted,
        "events": [
            {
                "id": str(event.id),
                "type": event.type,
                "actor": event.actor,
                "time": event.time and event.time.isoformat(),
                "payload": event.payload,
            }
            for event in run.events
        ],
    }


def made(format: str, path: Path) -> Recording:
    match format:
        case "inspect":
            return run_in(eval_json(path, eval_log(INSPECT)))
        case "intercode":
            return only(read_with(keyed_file(path, {"1": INTERCODE}), [reference(path.with_name("y"), tests=["t"])]))
        case "fireact":
            return run_in(keyed_file(path, {"6238": FIREACT}))
        case _:
            return run_in(tau_file(path, tau_run(3, 1)))


@pytest.mark.parametrize("format", ["tau-bench", "inspect", "intercode", "fireact"])
def test_the_mapping_is_as_it_was(format: str, tmp_path: Path) -> None:
    found = json.loads(json.dumps(shown(made(format, tmp_path / "x"))))

    assert found == json.loads((GOLDEN / f"{format}.json").read_text())


def test_every_format_is_pinned() -> None:
    assert sorted(f"{importer.format}.json" for importer in IMPORTERS) == sorted(path.name for path in GOLDEN.iterdir())


def test_an_event_id_is_made_of_mapping_ordinal_and_stream() -> None:
    golden = json.loads((GOLDEN / "inspect.json").read_text())

    for ordinal, event in enumerate(golden["events"], start=1):
        meaning = {"mapping": 1, "ordinal": ordinal, "stream": golden["stream"]}
        assert str(derived_id(meaning)) == event["id"]
