"""Reading checks of what was called: against what was wanted, again and again, and without asking."""

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from grading.kinds.combination import Node
from grading.kinds.repetition import ConfirmedCheck, RepeatedCheck, confirming
from grading.kinds.trajectory import Arguments, Match, TrajectoryCheck, Written
from grading.paths import Path
from grading.reader.objects import Object, items, text
from grading.reader.place import Place
from grading.reader.scope import Scope
from grading.reader.selectors import read_selector, read_values
from grading.selectors import Selector
from grading.values import Selected
from spine.vocabulary import KNOWN

Reader: TypeAlias = Callable[[Any, Place, Scope], Node]

_CALLED: Final = (Path(("tool",)), Path(("arguments",)))


def _trajectory(value: Any, place: Place, scope: Scope) -> Node:
    whole = Object.of(value, place, "trajectory", ("calls", "as", "arguments", "tools", "of"))
    whole.need("calls", "as")
    return TrajectoryCheck(
        of=_read_calls(value.get("of", {"call": "*"}), whole.at("of"), scope),
        wanted=_read_wanted(value["calls"], whole.at("calls")),
        how=whole.word("as", Match),
        arguments=whole.word("arguments", Arguments) if "arguments" in value else Arguments.EXACT,
        tools=_read_tools(whole) if "tools" in value else {},
    )


def _read_wanted(value: Any, place: Place) -> tuple[Written, ...] | Path:
    if isinstance(value, dict):
        expected = Object.of(value, place, "calls of case.expected", ("expected",))
        expected.need("expected")
        return expected.path("expected")
    if value == []:
        return ()  # no call at all is something to ask for
    return tuple(
        _read_call(item, where, f"calls.{index}") for index, (item, where) in enumerate(items(value, place, "calls"))
    )


def _read_call(value: Any, place: Place, name: str) -> Written:
    whole = Object.of(value, place, "a wanted call", ("tool", "arguments"))
    whole.need("tool")
    tool = whole.text("tool")
    if not tool or tool == "*":
        raise whole.at("tool").refusal("a wanted call names its tool")
    arguments = value.get("arguments")
    if "arguments" in value and not isinstance(arguments, dict):
        raise whole.at("arguments").refusal("arguments are an object; without it, any arguments will do")
    return Written(name, tool, arguments)


def _read_tools(whole: Object) -> Mapping[str, Arguments]:
    value, place = whole.value["tools"], whole.at("tools")
    if not isinstance(value, dict) or not value:
        raise place.refusal("tools says, for a tool, how its arguments have to agree: {tool: ignore}")
    return {tool: Object(value, place, "tools").word(tool, Arguments) for tool in value}


def _read_calls(value: Any, place: Place, scope: Scope) -> Selector:
    if not isinstance(value, dict) or "call" not in value:
        raise place.refusal("of is a selector of calls: {call: tool}")
    return read_selector(value, place, scope.definitions, scope.trust)


def _repeated(value: Any, place: Place, scope: Scope) -> Node:
    whole = Object.of(value, place, "repeated", ("of", "at_most", "window"))
    whole.need("of", "at_most")
    of = read_values(value["of"], whole.at("of"), scope.definitions, scope.trust)
    if not isinstance(of, Selected):
        raise whole.at("of").refusal("repeated is about what is recorded: take a selector")
    if of.take is None:
        if of.of.tools is None:
            raise whole.at("of").refusal("repeated needs take: the path, or the paths, that are the same each time")
        of = Selected(of.of, _CALLED)
    at_most = int(whole.number("at_most", whole=True, least=1))
    window = int(whole.number("window", whole=True, least=1)) if "window" in value else None
    if window is not None and window <= at_most:
        raise whole.at("window").refusal(f"of {window} never more than {at_most} can be the same: take a larger window")
    return RepeatedCheck(of, at_most, window)


def _confirmed(value: Any, place: Place, scope: Scope) -> Node:
    whole = Object.of(value, place, "confirmed", ("calls", "by"))
    whole.need("calls", "by")
    calls, by = (read_selector(value[key], whole.at(key), scope.definitions, scope.trust) for key in ("calls", "by"))
    if by.trust is None and not confirming(by):
        names = text(" or ".join(by.types), whole.at("by"), "by")
        known = "written by the agent alone" if set(by.types) <= set(KNOWN) else "believed from nobody"
        raise whole.at("by").refusal(f"{names} is {known}: an agent does not confirm itself; say trust")
    return ConfirmedCheck(calls, by)


TRAJECTORY_READERS: Final[dict[str, Reader]] = {
    "trajectory": _trajectory,
    "repeated": _repeated,
    "confirmed": _confirmed,
}
