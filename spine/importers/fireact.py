"""FireAct trajectories: a JSON object of runs by question number, each a ReAct conversation and its score."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from spine.events import Actor
from spine.importers.json_values import Unreadable
from spine.importers.keyed_runs import keyed_runs
from spine.importers.react_text import Action, Said, action_in, messages_of
from spine.importers.recording import CallRef, Recording, Refusal, RunEvents, source_of, stream_name
from spine.importers.shapes import a_list, a_text, an_object
from spine.importers.sniffing import keys_of_first_member

KEY: Final = "answer"
"""The key of the question and of the answer that finishes the run."""

_MARKS: Final = frozenset({"gt", "pred"})
_SCORES: Final = ("em", "f1", "reward")
_OBSERVED: Final = "Observation: "
_FINISHED: Final = "Episode finished"


class FireAct:
    """Importer of FireAct trajectories. A file names no run, so `prefix` does: `run/fireact/<prefix>/<question>`.

    It names no agent or model, and has no times. The gold answer is normalised in the file already.
    """

    format: Final = "fireact"
    mapping: Final = 1

    def recognises(self, head: bytes) -> bool:
        """An object of runs with `gt`, `pred` and one of `em`, `reward`, `traj`."""
        keys = set(keys_of_first_member(head))
        return keys >= _MARKS and bool(keys & {"em", "reward", "traj"})

    def read(self, path: Path, prefix: str) -> Iterator[Recording | Refusal]:
        """Its runs in order of the file; a bad one is refused by line and key."""
        return keyed_runs(path, lambda key, record: _events(record, prefix, key))


def _events(record: Mapping[str, Any], prefix: str, key: str) -> RunEvents:
    run = RunEvents(stream_name(FireAct.format, prefix, key), FireAct.mapping)
    started = {"agent": "", "model": "", "task": FireAct.format, "case": key, "source": source_of(run.stream)}
    run.add("run.started", started, Actor.SYSTEM)
    run.add("case.expected", {"target": _target(record.get("gt"), run)}, Actor.SYSTEM)
    question, *turns = _said(record.get("traj"))
    run.add("question.posed", {"key": KEY, "prompt": question.text}, Actor.SYSTEM)
    if record.get("prompt"):
        run.leave_out("prompt")  # the examples before the question, the same in every run
    finished = _Conversation(run).follow(turns)
    done = {"status": "completed", "reason": None}
    run.add("run.finished", done if finished else {"status": "failed", "reason": "it did not finish"}, Actor.SYSTEM)
    _add_scores(run, record)
    return run


def _target(gold: Any, run: RunEvents) -> str | list[str]:
    if isinstance(gold, bool | int | float):
        run.tally["target_as_text"] += 1
        return str(gold)
    if isinstance(gold, list):
        return [a_text(each, "a text of gt") for each in gold]
    return a_text(gold, "gt")


def _said(traj: Any) -> list[Said]:
    """The conversation, from the question on: in the file it is a chat, or one text."""
    if isinstance(traj, str):
        return messages_of(traj)
    found = [an_object(message, f"traj[{at}]") for at, message in enumerate(a_list(traj, "traj"))]
    said = [
        Said(a_text(message.get("role"), f"traj[{at}].role"), a_text(message.get("content"), f"traj[{at}].content"))
        for at, message in enumerate(found)
    ]
    if not said:
        raise Unreadable("traj is empty: it has no question")
    return said


@dataclass(slots=True)
class _Conversation:
    """Follows thoughts, actions and observations. Of a message's actions the first is the one that was executed."""

    run: RunEvents
    waiting: CallRef | None = None
    finished: bool = False

    def follow(self, turns: list[Said]) -> bool:
        """Whether it came to an end."""
        for said in turns:
            if said.role == "assistant":
                self._act(said.text)
            elif said.role == "user" and said.text.startswith(_OBSERVED) and self.waiting is not None:
                self._observe(said.text.removeprefix(_OBSERVED), self.waiting)
            else:
                self.run.message(said.role, said.text)
        return self.finished

    def _act(self, text: str) -> None:
        self.run.message("assistant", text)
        action, more = action_in(text)
        self.run.tally.update({"left_out_action": more} if more else {})
        self.waiting = None if action is None else self._call(action)

    def _call(self, action: Action) -> CallRef:
        if not action.finishes:
            return self.run.call(action.tool, {"input": action.argument}, None)
        self.finished = True
        call = self.run.call("finish", {"answer": action.argument}, None)
        self.run.add("answer.given", {"key": KEY, "answer": action.argument}, Actor.AGENT)
        return call

    def _observe(self, text: str, call: CallRef) -> None:
        # What the environment says of the reward is a verdict, and stands where verdicts do: in score.imported.
        self.run.returned(call, _FINISHED if call.tool == "finish" and text.startswith(_FINISHED) else text)
        self.waiting = None


def _add_scores(run: RunEvents, record: Mapping[str, Any]) -> None:
    found = {name: record[name] for name in _SCORES if name in record}
    if not found:
        raise Unreadable("it has none of em, f1, reward")
    for name, value in found.items():
        if not isinstance(value, bool | int | float):
            raise Unreadable(f"{name} is neither true, false nor a number")
        beside = {"prediction": record.get("pred")} if name == "em" else {}
        run.add("score.imported", {"scorer": name, "value": value, **beside}, Actor.SYSTEM)
