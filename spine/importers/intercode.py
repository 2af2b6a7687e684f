"""InterCode results: a JSON object of runs by task number, each with its turns (bash, CTF, Python, SQL)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Final

from spine.events import Actor
from spine.importers.keyed_runs import LOGS, keyed_runs
from spine.importers.recording import CallRef, Recording, Refusal, RunEvents, readable, source_of, stream_name
from spine.importers.references import Reference, task_of
from spine.importers.shapes import a_list, a_number, a_text, an_object
from spine.importers.sniffing import keys_of_first_member

KEY: Final = "answer"
"""The key of the question and of the answer that is submitted to it."""

_MARKS: Final = frozenset({"turn_history", "task_id", "query"})
_SUBMIT: Final = "submit"
_TOOLS: Final = {
    "ic_bash": ("bash", "command"),
    "ic_ctf": ("bash", "command"),
    "ic_python": ("python", "code"),
    "ic_sql": ("sql", "query"),
}
"""The tool of an environment, and what its argument is called."""


@dataclass(frozen=True, slots=True)
class InterCode:
    """Importer of InterCode results. A file names no run, so `prefix` does: `run/intercode/<prefix>/<dataset>/<task>`.

    It names no agent or model, and has no times. Gold answers stand beside it, in `references`; a run that has none
    is the same run without `case.expected`, whose place among the ids stays free for it.
    """

    references: Sequence[Reference] = ()
    format: ClassVar[str] = "intercode"
    mapping: ClassVar[int] = 1

    def recognises(self, head: bytes) -> bool:
        """An object (or a `meta` and `logs`, an object) of runs with `turn_history`, `task_id` and `query`."""
        return any(set(keys_of_first_member(head, inside)) >= _MARKS for inside in ("", LOGS))

    def read(self, path: Path, prefix: str) -> Iterator[Recording | Refusal]:
        """Its runs in order of the file; a bad one is refused by line and key."""
        return keyed_runs(path, lambda key, record: self._events(record, prefix, key))

    def _events(self, record: Mapping[str, Any], prefix: str, key: str) -> RunEvents:
        environment = a_text(record.get("environment"), "environment")
        dataset = _dataset(record)
        question = a_text(record.get("query"), "query")
        run = RunEvents(stream_name(self.format, prefix, dataset, key), self.mapping)
        run.add("run.started", _started(environment, key, run.stream, record), Actor.SYSTEM)
        self._add_expected(run, dataset, record.get("task_id"), question)
        run.add("question.posed", {"key": KEY, "prompt": question}, Actor.SYSTEM)
        turns = _turns(an_object(record.get("turn_history"), "turn_history"))
        for turn in turns:
            _add_turn(run, turn, *_TOOLS.get(environment, (readable(environment), "action")))
        summary = an_object(record.get("summary"), "summary")
        run.add("run.finished", _finish(turns, summary), Actor.SYSTEM)
        run.add("score.imported", _score(record, summary), Actor.SYSTEM)
        return run

    def _add_expected(self, run: RunEvents, dataset: str, number: Any, question: str) -> None:
        found = task_of(self.references, dataset, number, question)
        if found is None:
            run.tally["without_reference"] += 1
            run.leave_free()
            return
        reference, task = found
        run.add("case.expected", _expected(task), Actor.SYSTEM)
        run.reference = reference.sha256


@dataclass(frozen=True, slots=True)
class _Turn:
    """One turn. The lists of a run may differ in length: what is behind the end of one is not there (`None`, or
    `observed` false)."""

    said: tuple[str, ...]
    action: str | None
    observed: bool
    observation: Any
    valid: Any

    @property
    def blocked(self) -> bool:
        """The runner writes this word, and nothing else of the turn, when the model gave it no action."""
        return self.action == "blocked" and not self.observed


def _dataset(record: Mapping[str, Any]) -> str:
    """The name of the dataset's file. The results hold its path on the machine they were made on."""
    found = a_text(record.get("dataset"), "dataset").replace("\\", "/").rstrip("/").rpartition("/")[2]
    return found or a_text(record.get("environment"), "environment")


def _started(environment: str, key: str, stream: str, record: Mapping[str, Any]) -> dict[str, Any]:
    started = {"agent": "", "model": "", "task": environment, "case": key, "source": source_of(stream)}
    return started | {name: record[name] for name in ("hardness",) if name in record}


def _expected(task: Mapping[str, Any]) -> dict[str, Any]:
    gold, tests = task["gold"], task.get("tests")
    texts = isinstance(gold, list) and all(isinstance(each, str) for each in gold)
    expected = {"target": gold if texts else a_text(gold, "gold of the reference")}
    if isinstance(tests, list) and all(isinstance(test, str) for test in tests):
        expected["tests"] = tests
    return expected


def _turns(history: Mapping[str, Any]) -> list[_Turn]:
    actions, observations = (a_list(history.get(key), f"turn_history.{key}") for key in ("actions", "observations"))
    valid, thoughts, steps = (
        a_list(history.get(key) or [], f"turn_history.{key}") for key in ("valid_action", "thoughts", "steps")
    )
    return [
        _Turn(
            tuple(a_text(said[at], "a thought or step") for said in (steps, thoughts) if at < len(said)),
            _action(actions[at], at) if at < len(actions) else None,
            at < len(observations),
            observations[at] if at < len(observations) else None,
            valid[at] if at < len(valid) else None,
        )
        for at in range(max(len(actions), len(observations), len(thoughts), len(steps)))
    ]


def _action(found: Any, at: int) -> str:
    """An action is text. The CTF runner also writes what its model gave, a list, and executes the first of it."""
    first = found[0] if isinstance(found, list) and found else found
    return a_text(first, f"turn_history.actions[{at}]")


def _add_turn(run: RunEvents, turn: _Turn, tool: str, argument: str) -> None:
    for text in turn.said:
        run.message("assistant", text)
    call: CallRef | None = None
    if turn.blocked:
        run.leave_out("blocked")
    elif turn.action is not None:
        submitted = _submitted(turn.action)
        call = run.call(_SUBMIT, {"answer": submitted}, None) if submitted is not None else None
        call = call or run.call(tool, {argument: turn.action}, None)
        if submitted:
            # The environment goes by the first word behind `submit`.
            run.add("answer.given", {"key": KEY, "answer": submitted.split(" ", 1)[0]}, Actor.AGENT)
    if turn.observed:
        run.returned(call or run.orphan(None, tool), turn.observation, more={"valid_action": turn.valid})


def _submitted(action: str) -> str | None:
    """What an action submits: empty where it only says that it is done, None where it is none that submits."""
    word, _, rest = action.strip().partition(" ")
    return rest.strip() if word == _SUBMIT else None


def _finish(turns: Sequence[_Turn], summary: Mapping[str, Any]) -> dict[str, Any]:
    taken, most = summary.get("turns_taken"), summary.get("turns_max")
    if turns and turns[-1].blocked:
        return {"status": "failed", "reason": "blocked: the runner got no action from the model"}
    if summary.get("max_reward") != 1 and isinstance(taken, int) and isinstance(most, int) and taken >= most:
        return {"status": "budget_exhausted", "reason": "turn limit"}
    return {"status": "completed", "reason": None}


def _score(record: Mapping[str, Any], summary: Mapping[str, Any]) -> dict[str, Any]:
    """The reward of the run's best turn, and beside it those of all turns and what they were made of."""
    value = a_number(summary.get("max_reward"), "summary.max_reward")
    rewards = an_object(record.get("turn_history"), "turn_history").get("rewards")
    beside = {"rewards": a_list(rewards or [], "turn_history.rewards")}
    return {"scorer": "max_reward", "value": value, **beside, **({"info": record["info"]} if "info" in record else {})}
