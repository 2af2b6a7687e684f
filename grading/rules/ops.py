"""The ops: what a rule may ask of a text, and what it says about it. Reasons are the seed's, word by word."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, TypeAlias

from grading.budget import Work
from grading.checks import lower, trim
from grading.patterns import BadPattern, Pattern
from grading.rules.json_values import NotJson, json_value
from grading.rules.quoting import quoted, well_formed
from grading.rules.schema_asking import departure
from grading.rules.schemas import InvalidSchema, Schema, Steps, read_schema
from spine import InvalidInput
from spine.canonical import encode


class Op(StrEnum):
    """The seed's ops, a closed set. `tool_called` looks for a mention in the text, not for a call."""

    SECTION_PRESENT = "section_present"
    REGEX = "regex"
    CONTAINS = "contains"
    MAX_CHARS = "max_chars"
    MIN_CHARS = "min_chars"
    TOOL_CALLED = "tool_called"


class Ours(StrEnum):
    """What this service adds to them. `called_tool` is about recorded calls, so only a ladder can ask it."""

    EQUALS = "equals"
    STARTS_WITH = "starts_with"
    JSON_VALID = "json_valid"
    JSON_SCHEMA = "json_schema"
    CALLED_TOOL = "called_tool"
    NOT_SECTION_PRESENT = "not_section_present"
    NOT_REGEX = "not_regex"
    NOT_CONTAINS = "not_contains"
    NOT_TOOL_CALLED = "not_tool_called"
    NOT_EQUALS = "not_equals"
    NOT_STARTS_WITH = "not_starts_with"
    NOT_JSON_VALID = "not_json_valid"
    NOT_JSON_SCHEMA = "not_json_schema"
    NOT_CALLED_TOOL = "not_called_tool"


OURS: Final = tuple(Ours)


class Malformed(Exception):
    """A rule that cannot be asked: it fails, whatever the text. `steps` lead to what is wrong in its arg, and `reason`
    says it for somebody who is shown that place."""

    def __init__(self, why: str, steps: Steps = (), reason: str = "") -> None:
        super().__init__(why)
        self.why: Final = why
        self.steps: Final = steps
        self.reason: Final = reason or why


@dataclass(frozen=True, slots=True)
class Ruling:
    """What a rule says of a text."""

    passed: bool
    why: str


Question: TypeAlias = Callable[[str, Work], Ruling]
"""A rule with its arg in place. Raises OutOfBudget before it looks through more than there is to look through."""


def prepare(op: str, arg: Any, work: Work) -> Question:
    """The question of an op. A `not_` form asks the same and passes when it does not hold; one that cannot be asked
    fails in both forms. `work` is what preparing may use up. Raises Malformed, OutOfBudget."""
    negated = op in OURS and op.startswith(_NOT)
    maker = _MAKERS.get(op.removeprefix(_NOT) if negated else op)
    if maker is None:
        raise Malformed(f"unknown op {quoted(op)}")
    return maker(_Form(op, negated, work), arg)


@dataclass(frozen=True, slots=True)
class _Form:
    """An op as it is written."""

    name: str
    negated: bool
    work: Work


_NOT: Final = "not_"
_INTEGER: Final = re.compile(r"[+-]?[0-9]+")


def _section_present(form: _Form, arg: Any) -> Question:
    wanted, shown = lower(_text(form.name, arg)), quoted(arg)

    def ask(text: str, work: Work) -> Ruling:
        work.scan(text)
        found = any(wanted in lower(line) for line in map(trim, text.split("\n")) if line.startswith("#"))
        why = f"found heading containing {shown}" if found else f"no heading contains {shown}"
        return Ruling(found != form.negated, f"{form.name}: {why}")

    return ask


def _regex(form: _Form, arg: Any) -> Question:
    shown = quoted(_text(form.name, arg))
    try:
        pattern = Pattern(arg, form.work)
    except BadPattern as error:
        raise Malformed(f"{form.name}: invalid pattern {shown}: {error.reason}") from None

    def ask(text: str, work: Work) -> Ruling:
        found = pattern.found_in(text, work)
        return Ruling(
            found != form.negated, f"{form.name}: matched {shown}" if found else f"{form.name}: no match for {shown}"
        )

    return ask


def _textual(holds: Callable[[str, str], bool]) -> "_Maker":
    def make(form: _Form, arg: Any) -> Question:
        wanted = _text(form.name, arg)

        def ask(text: str, work: Work) -> Ruling:
            work.scan(text)
            passed = holds(text, wanted) != form.negated
            return Ruling(passed, f"{form.name}: {'pass' if passed else 'fail'} {wanted}")

        return ask

    return make


def _chars(holds: Callable[[int, int], bool]) -> "_Maker":
    def make(form: _Form, arg: Any) -> Question:
        bound = _integer(_text(form.name, arg))

        def ask(text: str, work: Work) -> Ruling:
            passed = holds(len(text), bound)
            return Ruling(passed, f"{form.name}: {'pass' if passed else 'fail'} {bound} (got {len(text)})")

        return ask

    return make


def _json_valid(form: _Form, arg: Any) -> Question:
    if arg not in ("", None, True):
        raise Malformed(f"{form.name}: takes no arg")

    def ask(text: str, work: Work) -> Ruling:
        try:
            json_value(text, work)
        except NotJson as error:
            return Ruling(form.negated, f"{form.name}: no JSON: {error.reason}")
        return Ruling(not form.negated, f"{form.name}: JSON")

    return ask


def _json_schema(form: _Form, arg: Any) -> Question:
    schema = _schema(form, arg)

    def ask(text: str, work: Work) -> Ruling:
        try:
            found = departure(schema, json_value(text, work), work)
        except NotJson as error:
            return Ruling(form.negated, f"{form.name}: no JSON: {error.reason}")
        if found is None:
            return Ruling(not form.negated, f"{form.name}: fits")
        at, keyword = ("/".join(map(str, steps)) for steps in (found.at, found.keyword))
        return Ruling(
            form.negated, f"{form.name}: {quoted(at) if at else 'it'} does not keep to {quoted(keyword or 'false')}"
        )

    return ask


def _called_tool(form: _Form, arg: Any) -> Question:
    raise Malformed(f"{form.name}: a text has no recorded calls: only the judge of a ladder can look for one")


def _text(name: str, arg: Any) -> str:
    if not isinstance(arg, str):
        raise Malformed(f"{name}: arg is not text")
    return arg


def _integer(arg: str) -> int:
    """An optional sign and ASCII digits that fit 64 bits, as Go's Atoi."""
    digits = arg.lstrip("+-").lstrip("0") or "0"
    if _INTEGER.fullmatch(arg) and len(digits) <= 19:
        number = -int(digits) if arg.startswith("-") else int(digits)
        if -(2**63) <= number < 2**63:
            return number
    raise Malformed(f"length: invalid arg {quoted(arg)}")


def _schema(form: _Form, arg: Any) -> Schema:
    """A schema, given as JSON or as the text of it."""
    try:
        value = json_value(well_formed(arg), form.work) if isinstance(arg, str) else arg
        encode(value, "arg")
        if not isinstance(value, bool | Mapping):
            raise Malformed(f"{form.name}: invalid schema: it is an object, true or false")
        return read_schema(value, form.work)
    except (NotJson, InvalidInput) as error:
        raise Malformed(f"{form.name}: invalid schema: no JSON: {error}") from None
    except InvalidSchema as error:
        why = f"{form.name}: invalid schema: {error}"
        raise (Malformed(why) if isinstance(arg, str) else Malformed(why, error.steps, error.reason)) from None


_Maker: TypeAlias = Callable[[_Form, Any], Question]

_MAKERS: Final[dict[str, _Maker]] = {
    Op.SECTION_PRESENT: _section_present,
    Op.REGEX: _regex,
    Op.CONTAINS: _textual(lambda text, wanted: wanted in text),
    Op.TOOL_CALLED: _textual(lambda text, wanted: wanted in text),
    Op.MAX_CHARS: _chars(lambda got, bound: got <= bound),
    Op.MIN_CHARS: _chars(lambda got, bound: got >= bound),
    Ours.EQUALS: _textual(lambda text, wanted: text == wanted),
    Ours.STARTS_WITH: _textual(lambda text, wanted: text.startswith(wanted)),
    Ours.JSON_VALID: _json_valid,
    Ours.JSON_SCHEMA: _json_schema,
    Ours.CALLED_TOOL: _called_tool,
}
