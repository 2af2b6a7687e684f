"""Which streams a use case is about: those that are there, are runs, and are not hidden; and hiding them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from grading.errors import NotFound
from grading.projector import EV_HIDDEN, EV_SHOWN
from grading.suggestions import did_you_mean
from spine import Actor, Append, Head, InvalidInput, Log, NewEvent

_SERVICE_STREAMS: Final = ("grader/", "regrade/", "import/", "experiment/", "iteration/")
_COMPARED: Final = 1000  # so many streams are looked at for one that is near


@dataclass(frozen=True, slots=True)
class Changed:
    """What hiding streams, or letting them appear again, did: which it changed, and which were so already."""

    changed: tuple[str, ...]
    already: tuple[str, ...]


def require_stream(log: Log, stream: str) -> None:
    """Raises NotFound, naming a stream that is near, when nothing stands there."""
    if log.head(stream) is None:
        near = did_you_mean(stream, _neighbours(log, stream))
        raise NotFound(f"there is no stream {stream}{near}", "" if near else "`gradespine streams` lists them")


def require_run(log: Log, stream: str, hidden: Mapping[str, str]) -> None:
    """Raises NotFound unless the stream is there, can be graded, and is not hidden."""
    refuse_service(stream)
    require_stream(log, stream)
    refuse_hidden(stream, hidden)


def refuse_service(stream: str) -> None:
    """Raises NotFound for a stream of the service: it is no run, and no view is without it."""
    if stream.startswith(_SERVICE_STREAMS):
        raise NotFound(f"{stream} is a stream of the service, not a run")


def refuse_hidden(stream: str, hidden: Mapping[str, str]) -> None:
    if stream in hidden:
        raise NotFound(f"{stream} is hidden ({hidden[stream]})", f"`gradespine unhide {stream}` lets it appear again")


def below(log: Log, prefix: str, hidden: Mapping[str, str]) -> list[str]:
    """The streams of a prefix that are neither hidden nor the service's own. Raises NotFound when there are none."""
    found = [head.stream for head in _runs(log, prefix)]
    seen = [stream for stream in found if stream not in hidden]
    if seen:
        return seen
    if not found:
        raise NotFound(f"there are no runs under {prefix}", "`gradespine streams` says what there is")
    if len(found) == 1:
        refuse_hidden(found[0], hidden)
    raise NotFound(
        f"all {len(found):,} runs under {prefix} are hidden, {found[0]} ({hidden[found[0]]}) first",
        f"`gradespine unhide --prefix {prefix}` lets them appear again",
    )


def hide(log: Log, streams: Sequence[str], prefix: str | None, hidden: Mapping[str, str], reason: str) -> Changed:
    """Let the named runs, and those of the prefix, disappear from every view: all or none of them.

    Raises NotFound for a run that is not there, for a stream of the service, and for a prefix without runs.
    """
    if not reason.strip():
        raise InvalidInput("reason", "is empty: say why, it stays on the log")
    for stream in (*streams, prefix or ""):
        refuse_service(stream)
    chosen = _named(log, streams) + _below(log, prefix)
    events = {stream: NewEvent(EV_HIDDEN, {"reason": reason}, actor=Actor.SYSTEM) for stream in chosen}
    return _append(log, events, set(hidden))


def show(
    log: Log, streams: Sequence[str], prefix: str | None, hidden: Mapping[str, str], reason: str | None
) -> Changed:
    """Let the named streams, and the hidden ones of the prefix, appear again: all or none of them. Raises NotFound."""
    if reason is not None and not reason.strip():
        raise InvalidInput("reason", "is empty: say why, or leave it out")
    below = [] if prefix is None else [stream for stream in hidden if stream.startswith(prefix)]
    if prefix is not None and not below:
        raise NotFound(f"nothing is hidden under {prefix}")
    chosen = _named(log, streams) + sorted(below)
    events = {stream: NewEvent(EV_SHOWN, {"reason": reason}, actor=Actor.SYSTEM) for stream in chosen}
    return _append(log, events, set(chosen) - set(hidden))


def _named(log: Log, streams: Sequence[str]) -> list[str]:
    for stream in streams:
        require_stream(log, stream)
    return list(streams)


def _below(log: Log, prefix: str | None) -> list[str]:
    found = [] if prefix is None else [head.stream for head in _runs(log, prefix)]
    if prefix is not None and not found:
        raise NotFound(f"there are no runs under {prefix}", "`gradespine streams` lists what there is")
    return found


def _append(log: Log, events: Mapping[str, NewEvent], done: set[str]) -> Changed:
    parts = [Append(stream, [event]) for stream, event in events.items() if stream not in done]
    if parts:
        log.append_all(parts)
    return Changed(tuple(part.stream for part in parts), tuple(stream for stream in events if stream in done))


def _runs(log: Log, prefix: str) -> Iterator[Head]:
    return (head for head in log.streams(prefix) if not head.stream.startswith(_SERVICE_STREAMS))


def _neighbours(log: Log, stream: str) -> list[str]:
    """Streams that begin as this one does, for as long as any does."""
    none, least = len(stream) + 1, 0  # some stream shares `least` characters with it, no stream shares `none`
    while none - least > 1:
        middle = (none + least) // 2
        if next(log.streams(stream[:middle], limit=1), None) is None:
            none = middle
        else:
            least = middle
    return [head.stream for head in islice(log.streams(stream[:least]), _COMPARED)] if least else []
