"""One sample of an Inspect log as the events of a run, whichever form of log it came from."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from spine.events import Actor
from spine.importers.inspect_text import Attachments, moment, objects, text_of
from spine.importers.inspect_transcript import Transcript
from spine.importers.json_values import Unreadable, parse
from spine.importers.recording import Recording, Refusal, RunEvents, readable, source_of, stream_name

FORMAT: Final = "inspect"
MAPPING: Final = 1
_VERSIONS: Final = range(1, 5)


@dataclass(frozen=True, slots=True)
class LogHeader:
    """What the samples of a log have in common. `run` names the evaluation."""

    run: str
    agent: str
    model: str
    task: str
    status: str


def log_header(found: Any, *, status: str = "") -> LogHeader:
    """Of an EvalLog without samples; `status` where it has none. Raises Unreadable."""
    if not isinstance(found, dict) or not isinstance(found.get("eval"), dict):
        raise Unreadable("no Inspect log: it has no eval")
    version = found.get("version")
    if isinstance(version, bool) or version not in _VERSIONS:
        raise Unreadable(f"version {version!a} of Inspect's log; versions 1 to {_VERSIONS[-1]} are known")
    spec = found["eval"]
    run = _text(spec, "eval_id")
    if not run and spec.get("run_id") and spec.get("task_id"):
        run = f"{_text(spec, 'run_id')}-{_text(spec, 'task_id')}"
    if not run:
        raise Unreadable("it names neither eval_id nor run_id and task_id: nothing says which run it is")
    agent = _text(spec, "solver") or _plan(found.get("plan"))
    return LogHeader(run, agent, _text(spec, "model"), _text(spec, "task"), _text(found, "status") or status)


def recorded(data: bytes, header: LogHeader, where: str) -> Recording | Refusal:
    """The run in the JSON of a sample."""
    try:
        sample = parse(data)
        if not isinstance(sample, dict):
            raise Unreadable("a sample is an object")
        identity, epoch = _identity(sample)
        where = f"{where}: sample {identity}, epoch {epoch}"
        return _events(sample, header, identity, epoch).recording(where)
    except Unreadable as problem:
        return Refusal(where, problem.reason)
    except RecursionError:
        return Refusal(where, "nested too deep")


def _events(sample: Mapping[str, Any], header: LogHeader, identity: str, epoch: int) -> RunEvents:
    run = RunEvents(stream_name(FORMAT, header.run, identity, str(epoch)), MAPPING)
    events = _transcript_events(sample)
    attachments = Attachments(_attachments(sample), run.tally)
    begun = moment(sample.get("started_at"), run.tally) or next(
        (moment(event.get("timestamp"), run.tally) for event in events), None
    )
    run.add("run.started", _started(header, identity, run.stream), Actor.SYSTEM, begun)
    target = attachments.resolved(sample.get("target"))
    if target:
        run.add("case.expected", {"target": target}, Actor.SYSTEM, begun)
    transcript = Transcript(run, attachments, _pool(sample))
    transcript.follow(events)
    transcript.finish(objects(sample.get("messages"), "messages"))
    ended = transcript.last or begun
    _add_answer(run, attachments.resolved(sample.get("output")), ended)
    run.add("run.finished", _finish(sample, header, attachments), Actor.SYSTEM, ended)
    _add_scores(run, sample, attachments, transcript.scored, ended)
    return run


def _started(header: LogHeader, identity: str, stream: str) -> dict[str, Any]:
    return {
        "agent": header.agent,
        "model": header.model,
        "task": header.task,
        "case": identity,
        "source": source_of(stream),
    }


def _add_answer(run: RunEvents, output: Any, time: datetime | None) -> None:
    if not isinstance(output, dict):
        return
    answer = output.get("completion")
    choices = output.get("choices")
    if not isinstance(answer, str) and isinstance(choices, list) and choices and isinstance(choices[0], dict):
        message = choices[0].get("message")
        answer = text_of(message.get("content"), run) if isinstance(message, dict) else None
    if isinstance(answer, str) and answer:
        run.add("answer.given", {"key": "output", "answer": answer}, Actor.AGENT, time)


def _finish(sample: Mapping[str, Any], header: LogHeader, attachments: Attachments) -> dict[str, Any]:
    error, limit = attachments.resolved(sample.get("error")), sample.get("limit")
    if error:
        message = error.get("message") if isinstance(error, dict) else error
        reason = message if isinstance(message, str) and message else "an error"
        return {"status": "canceled" if reason.startswith("CancelledError") else "failed", "reason": reason}
    if limit:
        kind = limit.get("type") if isinstance(limit, dict) else limit
        by_hand = kind == "operator"
        return {"status": "canceled" if by_hand else "budget_exhausted", "reason": f"{kind} limit"}
    if header.status in ("cancelled", "started") and not sample.get("scores") and not _choices(sample):
        return {"status": "canceled", "reason": f"the evaluation was {header.status}"}
    return {"status": "completed", "reason": None}


def _choices(sample: Mapping[str, Any]) -> Any:
    output = sample.get("output")
    return output.get("choices") if isinstance(output, dict) else None


def _add_scores(
    run: RunEvents,
    sample: Mapping[str, Any],
    attachments: Attachments,
    times: list[datetime | None],
    ended: datetime | None,
) -> None:
    # After run.finished: a log that is scored later, or by one more scorer, then only grows.
    scores = sample.get("scores")
    if not isinstance(scores, dict):
        scores = {"score": sample["score"]} if isinstance(sample.get("score"), dict) else {}
    for number, (scorer, score) in enumerate(scores.items()):
        if not isinstance(score, dict):
            continue
        found = attachments.resolved(score)
        payload = {"scorer": scorer, "value": found.get("value"), "explanation": found.get("explanation")}
        time = times[number] if number < len(times) else ended
        run.add("score.imported", payload, Actor.SYSTEM, time or ended)


def _identity(sample: Mapping[str, Any]) -> tuple[str, int]:
    identity, epoch = sample.get("id"), sample.get("epoch")
    if isinstance(identity, bool) or not isinstance(identity, int | str) or identity == "":
        raise Unreadable("the sample has no id")
    if isinstance(epoch, bool) or not isinstance(epoch, int):
        raise Unreadable("the sample has no epoch")
    return readable(str(identity)), epoch


def _transcript_events(sample: Mapping[str, Any]) -> list[dict[str, Any]]:
    found = sample.get("events")
    old = sample.get("transcript")
    if found is None and isinstance(old, dict):
        found = old.get("events")
    return objects(found, "events")


def _attachments(sample: Mapping[str, Any]) -> Mapping[str, Any]:
    found = sample.get("attachments")
    old = sample.get("transcript")
    if found is None and isinstance(old, dict):
        found = old.get("content")
    return found if isinstance(found, dict) else {}


def _pool(sample: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The messages that model events refer to by ranges."""
    shared = sample.get("events_data")
    found = shared.get("messages") if isinstance(shared, dict) else sample.get("message_pool")
    return objects(found, "the pool of messages")


def _plan(plan: Any) -> str:
    """The solvers of the plan, in order: all that older logs say of the agent."""
    steps = plan.get("steps") if isinstance(plan, dict) else None
    names = [step.get("solver") for step in steps if isinstance(step, dict)] if isinstance(steps, list) else []
    return ", ".join(name for name in names if isinstance(name, str))


def _text(found: Mapping[str, Any], key: str) -> str:
    value = found.get(key)
    return value if isinstance(value, str) else ""
