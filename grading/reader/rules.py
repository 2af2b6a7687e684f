"""Reading `judge`: rules about a text, and those about recorded calls, which become checks of their own."""

from dataclasses import replace
from typing import Any, Final

from grading.budget import Budget, OutOfBudget, Work
from grading.calls import CALLED
from grading.kinds.combination import Combination, Junction, Node
from grading.kinds.judged import JudgedCheck, PlacedRule, answer_of
from grading.kinds.presence import AbsentCheck, EventCheck
from grading.paths import Path
from grading.reader.objects import Object, text
from grading.reader.place import Place, nearest
from grading.reader.scope import Scope
from grading.reader.selectors import read_selector
from grading.rules.ops import Malformed, Op, Ours, prepare
from grading.selectors import Pick, Selector

JUDGE_KEYS: Final = ("key", "of", "path", "rules")
RULES: Final = (*Op, *Ours)

_ABOUT_CALLS: Final = (Ours.CALLED_TOOL, Ours.NOT_CALLED_TOOL)
_BARE: Final = (Ours.JSON_VALID, Ours.NOT_JSON_VALID)
_WITHIN_ANY: Final = frozenset(
    (
        *(Op.REGEX, Op.CONTAINS, Op.TOOL_CALLED, Ours.STARTS_WITH),
        *(Ours.NOT_REGEX, Ours.NOT_CONTAINS, Ours.NOT_TOOL_CALLED, Ours.NOT_STARTS_WITH),
    )
)
_ANSWER: Final = Path(("answer",))
_READING: Final = Budget(steps=50_000, bytes=4 * 1024 * 1024)
"""For a whole `judge`: a pattern that is compiled takes memory by its weight."""


def read_judge(value: Any, place: Place, scope: Scope) -> Node:
    """The check, or all of several where rules are about calls. A malformed rule is a mistake here, not a rule that
    failed. Raises InvalidLadder."""
    whole = Object.of(value, place, "judge", JUDGE_KEYS)
    whole.need("rules")
    work = Work(_READING)
    rules: list[PlacedRule] = []
    calls: list[Node] = []
    for index, (item, where) in enumerate(whole.items("rules")):
        op, arg, at = _read_rule(item, where)
        if op in _ABOUT_CALLS:
            calls.append(_call(op, arg, at, scope))
        else:
            rules.append(_rule(f"rules.{index}", op, _checked_arg(op, arg, at), at, work))
    if not rules:
        raise whole.at("rules").refusal("none of the rules is about a text: say event or absent of the calls alone")
    judged = _judged(whole, tuple(rules), scope)
    return Combination(Junction.ALL_OF, (judged, *calls)) if calls else judged


def _judged(whole: Object, rules: tuple[PlacedRule, ...], scope: Scope) -> JudgedCheck:
    if whole.one_of(("key", "of")) == "key":
        if "path" in whole.value:
            raise whole.at("path").refusal("path belongs to of: with key, the answer is judged")
        key = whole.text("key")
        return JudgedCheck(answer_of(key, scope.trust), _ANSWER, rules, key)
    whole.need("path")
    of = read_selector(whole.value["of"], whole.at("of"), scope.definitions, scope.trust)
    return JudgedCheck(of if of.pick else replace(of, pick=Pick.LAST), whole.path("path"), rules)


def _read_rule(value: Any, place: Place) -> tuple[str, Any, Place]:
    """The op, its arg and where the arg stands, of `{contains: x}` or `{op: contains, arg: x}`."""
    if isinstance(value, dict) and "op" in value:
        whole = Object.of(value, place, "a rule", ("op", "arg"))
        op = whole.text("op")
        _check_op(op, whole.at("op"))
        if op not in _BARE:
            whole.need("arg")
        return op, value.get("arg", ""), whole.at("arg" if "arg" in value else "op")
    if isinstance(value, dict) and len(value) == 1:
        [(op, arg)] = value.items()
        _check_op(op, place.at(op))
        return op, arg, place.at(op)
    raise place.refusal("a rule is one op with its arg: {contains: text}, or {op: contains, arg: text}")


def _check_op(op: str, place: Place) -> None:
    if op not in tuple(RULES):
        raise place.refusal(f"there is no rule {op!r}{nearest(op, RULES)}")


def _rule(name: str, op: str, arg: Any, place: Place, work: Work) -> PlacedRule:
    try:
        return PlacedRule(name, op, arg, prepare(op, arg, work))
    except Malformed as error:
        raise place.at(*error.steps).refusal(error.reason) from None
    except OutOfBudget:
        raise place.refusal("the patterns and schemas of this judge are too large together") from None


def _checked_arg(op: str, arg: Any, place: Place) -> Any:
    """The arg; a whole number of characters as the text that the seed has it in."""
    if arg == "" and op in _WITHIN_ANY:
        raise place.refusal(f"every text has the empty text in it, so {op} of it decides nothing")
    if op not in (Op.MAX_CHARS, Op.MIN_CHARS):
        return arg
    if isinstance(arg, bool) or not isinstance(arg, int | str):
        raise place.refusal(f"{op} takes a whole number")
    least = 0 if op == Op.MAX_CHARS else 1
    if isinstance(arg, int) and arg < least:
        raise place.refusal(f"{op} is at least {least}: less decides nothing")
    return str(arg)


def _call(op: str, arg: Any, place: Place, scope: Scope) -> Node:
    """`called_tool: TOOL`, or a selector of calls. That one was made is for `event` to say, that none was for
    `absent`, with their rules of whom to believe."""
    if isinstance(arg, dict):
        if "call" not in arg:
            raise place.refusal(f"{op} takes a tool, or a selector of calls: {{call: tool, where: …}}")
        of = read_selector(arg, place, scope.definitions, scope.trust)
    else:
        tool = text(arg, place, op)
        if not tool:
            raise place.refusal(f'{op} names a tool, or is "*" for any')
        of = Selector((CALLED,), tools=() if tool == "*" else (tool,), trust=scope.trust)
    return EventCheck(of) if op == Ours.CALLED_TOOL else AbsentCheck(of)
