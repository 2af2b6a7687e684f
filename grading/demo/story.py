"""Story: a run as it is told, event by event, under a clock of its own. Nothing in it is left to chance or to the time
of day: the same case and trial give the same events, down to their ids."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any, Final

from spine import Actor
from spine.importers.recording import Recording, RunEvents, stream_name

_MAPPING: Final = 1
_MORNING: Final = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)


class Story:
    """The events of one run on `run/demo/<case>/<trial>`."""

    def __init__(self, case: str, trial: int, *, agent: str, model: str, task: str) -> None:
        self.stream: Final = stream_name("demo", case, str(trial))
        self._events = RunEvents(self.stream, _MAPPING)
        self._random = Random(self.stream)
        self._now = _MORNING + timedelta(minutes=self._below(600))
        source = {"format": "demo", "id": f"{case}/{trial}"}
        self.system(
            "run.started",
            {"agent": agent, "model": model, "task": task, "case": case, "cluster": task, "source": source},
        )

    def one_of(self, choices: Sequence[str]) -> str:
        """One of these, always the same at the same place of the same story."""
        return choices[self._below(len(choices))]

    def system(self, type: str, payload: Mapping[str, Any]) -> None:
        """The runtime records something."""
        self._events.add(type, payload, Actor.SYSTEM, self._later(2))

    def user(self, text: str) -> None:
        """The person who asks says something."""
        self._events.message("user", text, self._later(30))

    def agent(self, content: Any) -> None:
        """The agent says something."""
        payload = {"role": "assistant", "content": content}
        self._events.add("message.sent", payload, Actor.AGENT, self._later(12))

    def answer(self, key: str, prompt: str, answer: str) -> None:
        """The runtime asks for an answer, and the agent gives one."""
        self.system("question.posed", {"key": key, "prompt": prompt})
        self._events.add("answer.given", {"key": key, "answer": answer}, Actor.AGENT, self._later(5))

    def call(self, tool: str, arguments: Mapping[str, Any], result: Any, error: str | None = None) -> None:
        """The agent calls a tool, and gets its result or its error."""
        call = self._events.call(tool, dict(arguments), None, self._later(12))
        self._events.returned(call, result, error=error, time=self._later(8))

    def finish(self, status: str = "completed", reason: str | None = None) -> Recording:
        """The run ends; returns it whole."""
        self.system("run.finished", {"status": status, "reason": reason})
        return self._events.recording(self.stream)

    def _later(self, seconds: int) -> datetime:
        self._now += timedelta(seconds=1 + self._below(seconds))
        return self._now

    def _below(self, end: int) -> int:
        # Of all its methods, only random() is promised to give the same numbers in every version of Python.
        return int(self._random.random() * end)
