"""The transcript of an Inspect sample: what was said and done, in order, each once.

A log tells it up to three times: model and tool events as they happened, the input of every model event again, and the
final messages. Events come first, since they hold what later compaction drops and sub-agents' work; then what only
the messages hold. Logs of 2024 have no message ids: there, equal messages are matched by their number.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from spine.importers.inspect_text import Attachments, identity, moment, objects, text_of
from spine.importers.json_values import Unreadable
from spine.importers.recording import CallRef, RunEvents

_NEVER: Final = datetime.max.replace(tzinfo=UTC)
_SCORERS: Final = frozenset({"scorer", "scorers"})
_STRUCTURE: Final = frozenset({"span_begin", "span_end", "step", "sample_init", "state"})


class _Return(NamedTuple):
    """What a call gave back, and when."""

    call: CallRef
    result: Any
    error: Any
    time: datetime | None


class Transcript:
    """Adds the messages, calls and results of a sample to a run."""

    def __init__(self, run: RunEvents, attachments: Attachments, pool: Sequence[dict[str, Any]]) -> None:
        self.last: datetime | None = None
        """The time of the last thing added."""
        self.scored: Final[list[datetime | None]] = []
        """The times of the score events."""
        self._run = run
        self._attachments = attachments
        self._pool = pool
        self._said: Counter[str] = Counter()
        self._open: list[CallRef] = []
        self._called: set[Any] = set()
        self._answered: set[Any] = set()
        self._held: list[_Return] = []
        self._followed = False

    def follow(self, events: Sequence[dict[str, Any]]) -> None:
        """Add what the events tell."""
        self._followed = bool(events)
        for event in _outside_scorers(events):
            kind = identity(event.get("event"))
            if kind == "model":
                self._model(event)
            elif kind == "tool":
                self._tool(event)
            elif kind == "score":
                if not event.get("intermediate"):
                    self.scored.append(self._time(event))
            elif kind not in _STRUCTURE:
                self._run.leave_out(kind)

    def finish(self, messages: Sequence[dict[str, Any]]) -> None:
        """Add what only the final messages hold."""
        self._release(None)
        self._hear(messages, self.last, acting=True)

    def _model(self, event: Mapping[str, Any]) -> None:
        if event.get("role") == "grader":
            return
        begun = moment(event.get("timestamp"), self._run.tally)
        self._release(begun)
        self._hear(self._input(event), begun, acting=False)
        output = event.get("output")
        choices = output.get("choices") if isinstance(output, dict) else None
        if isinstance(choices, list) and choices and isinstance(choices[0], dict):
            message = choices[0].get("message")
            if isinstance(message, dict):
                ended = self._time(event)
                self._release(ended)
                self._add(message, self._key(message), ended, acting=True)

    def _input(self, event: Mapping[str, Any]) -> list[dict[str, Any]]:
        refs = event.get("input_refs")
        if not isinstance(refs, list) or not refs:
            return objects(event.get("input"), "the input of a model event")
        found: list[dict[str, Any]] = []
        for ref in refs:
            match ref:
                case [int(first), int(end)] if 0 <= first <= end <= len(self._pool):
                    found.extend(self._pool[first:end])
                case _:
                    raise Unreadable(f"a model event refers to the messages {ref!a} of {len(self._pool)}")
        return found

    def _hear(self, messages: Sequence[dict[str, Any]], time: datetime | None, *, acting: bool) -> None:
        """What stands in a list of messages and was not added yet. `acting`: calls in it were really made."""
        here: Counter[str] = Counter()
        for message in messages:
            if message.get("role") == "tool":
                self._tool_message(message, time)
                continue
            key = self._key(message)
            here[key] += 1
            if here[key] > self._said[key] and not self._known_by_calls(message):
                self._add(message, key, time, acting=acting)

    def _add(self, message: Mapping[str, Any], key: str, time: datetime | None, *, acting: bool) -> None:
        role = message.get("role")
        if not isinstance(role, str):
            raise Unreadable("a message without a role")
        self._said[key] += 1
        self._run.message(role, text_of(self._attachments.resolved(message.get("content")), self._run), time)
        self.last = time or self.last
        for call in _calls(message) if acting else []:
            self._called.add(identity(call.get("id")))
            self._open.append(self._call(call, time))

    def _call(self, call: Mapping[str, Any], time: datetime | None) -> CallRef:
        tool = call.get("function")
        if not isinstance(tool, str):
            raise Unreadable("a call without the name of its tool")
        arguments = self._attachments.resolved(call.get("arguments"))
        return self._run.call(tool, arguments, identity(call.get("id")), time)

    def _tool(self, event: Mapping[str, Any]) -> None:
        source_id = identity(event.get("id"))
        call = self._taken(source_id)
        if call is None and source_id in self._answered:
            return  # its message said so before
        began = moment(event.get("timestamp"), self._run.tally)
        if call is None:
            call = self._call(event, began)
            self._called.add(source_id)
        if event.get("pending"):
            self._open.append(call)
            return
        ended = moment(event.get("completed"), self._run.tally)
        result = self._attachments.resolved(event.get("result"))
        if isinstance(result, list):
            result = text_of(result, self._run)
        found = _Return(call, result, self._attachments.resolved(event.get("error")), ended or began)
        if ended is None:
            self._return(found)
        else:  # the event stands where the tool began: what happened inside it comes first
            self._held.append(found)

    def _tool_message(self, message: Mapping[str, Any], time: datetime | None) -> None:
        source_id = identity(message.get("tool_call_id"))
        held = next((found for found in self._held if found.call.source_id == source_id), None)
        if held is not None:
            self._held.remove(held)
            self._return(held)
            return
        call = self._taken(source_id)
        if call is None and not self._followed:  # no call of it will come: the messages are all there is
            tool = message.get("function")
            call = self._run.orphan(source_id, tool if isinstance(tool, str) else "")
        if call is not None:
            self._answered.add(source_id)
            text = text_of(self._attachments.resolved(message.get("content")), self._run)
            self._return(_Return(call, text, self._attachments.resolved(message.get("error")), time))

    def _release(self, until: datetime | None) -> None:
        """Add the results that had come by then; all of them for None."""
        for held in sorted(self._held, key=lambda held: held.time or _NEVER):
            if until is None or held.time is None or held.time <= until:
                self._held.remove(held)
                self._return(held)

    def _return(self, found: _Return) -> None:
        self._run.returned(found.call, found.result, error=found.error, time=found.time)
        self.last = found.time or self.last

    def _taken(self, source_id: Any) -> CallRef | None:
        """The earliest call of this id that has no answer yet; from here on it has one."""
        found = next((call for call in self._open if call.source_id == source_id), None)
        if found is not None:
            self._open.remove(found)
        return found

    def _known_by_calls(self, message: Mapping[str, Any]) -> bool:
        """Whether events told all that this message calls: solvers reword what a model said, and without ids its
        calls are all that tells."""
        calls = _calls(message)
        known = all(identity(call.get("id")) in self._called for call in calls)
        return self._followed and bool(calls) and known and not message.get("id")

    def _key(self, message: Mapping[str, Any]) -> str:
        """What makes a message the same one: its id, or all that it says."""
        if isinstance(message.get("id"), str):
            return f"id {message['id']}"
        content = self._attachments.resolved(message.get("content"))
        calls = [[identity(call.get("id")), call.get("function"), call.get("arguments")] for call in _calls(message)]
        return json.dumps([message.get("role"), content, self._attachments.resolved(calls)], sort_keys=True)

    def _time(self, event: Mapping[str, Any]) -> datetime | None:
        """When it was done."""
        return moment(event.get("completed") or event.get("timestamp"), self._run.tally)


def _calls(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    return objects(message.get("tool_calls"), "the tool_calls of a message")


def _outside_scorers(events: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The events that are the run's own: a scorer's model is not the agent. (Score events are passed on.)"""
    spans: set[Any] = set()
    depth = 0
    for event in events:
        kind, type_ = event.get("event"), identity(event.get("type"))
        if kind == "span_begin" and (type_ in _SCORERS or identity(event.get("parent_id")) in spans):
            spans.add(identity(event.get("id")))
        elif kind == "step" and (type_ == "scorer" or depth):
            depth += 1 if event.get("action") == "begin" else -1
        elif kind == "score" or not (depth or identity(event.get("span_id")) in spans):
            nested = objects(event.get("events"), "the events of an event")  # tools and subtasks of 2024 hold theirs
            yield from _outside_scorers(nested)
            yield event
