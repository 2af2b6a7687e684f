"""InterCode and FireAct results, made by hand."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from spine.importers import Recording, Reference, Refusal, importers, read_reference, recognised_by
from spine.importers.sniffing import HEAD

Json = dict[str, Any]


def intercode_run(task: Any = 0, *, history: Json | None = None, **changes: Any) -> Json:
    """A run of InterCode's CTF: a look, and a flag that is right. `history` has changes to its turns."""
    turns = {
        "actions": ["ls", "cat flag", "submit flag{A}"],
        "observations": ["flag\n", "flag{A}\n", "The submitted flag is correct."],
        "rewards": [0, 0, 1],
        "valid_action": [True, True, True],
    }
    run: Json = {
        "environment": "ic_ctf",
        "dataset": "./data/ctf/ic_ctf.json",
        "task_id": task,
        "query": f"Find flag {task}.",
        "turn_history": turns | (history or {}),
        "summary": {"max_reward": 1, "max_reward_idx": 2, "turns_taken": 3, "turns_max": 10},
    }
    return run | changes


def fireact_run(answer: str, *, em: Any = True, more: str = "", **changes: Any) -> Json:
    """A run of FireAct: a search, and an answer to a question whose gold answer is `answer`."""
    run: Json = {
        "reward": em,
        "em": em,
        "f1": 1.0,
        "gt": "answer",
        "pred": "answer",
        "prompt": [],
        "traj": [
            {"role": "user", "content": "Who?"},
            {"role": "assistant", "content": f"Thought: I search.\nAction: search[who]\n{more}".rstrip("\n")},
            {"role": "user", "content": "Observation: It was the answer."},
            {"role": "assistant", "content": f"Thought: I know.\nAction: finish[{answer}]"},
            {"role": "user", "content": f"Observation: Episode finished, reward = {em}"},
        ],
    }
    return run | changes


def keyed_file(path: Path, runs: Json) -> Path:
    path.write_text(json.dumps(runs, indent=1))
    return path


def reference(path: Path, *, tasks: int = 2, **more: Any) -> Reference:
    """A dataset of tasks that ask what `intercode_run` asks; the flag of all is `flag{A}`."""
    path.write_text(json.dumps([{"query": f"Find flag {task}.", "gold": "flag{A}", **more} for task in range(tasks)]))
    return read_reference(path)


def read_with(path: Path, references: Sequence[Reference]) -> list[Recording | Refusal]:
    """What a file gives when these references are brought."""
    importer = recognised_by(path.read_bytes()[:HEAD], importers(references))
    assert importer is not None
    return list(importer.read(path, "p"))


def only(found: Sequence[Recording | Refusal]) -> Recording:
    (run,) = found
    assert isinstance(run, Recording), run
    return run
