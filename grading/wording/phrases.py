"""Phrases: predicates, selectors and values of a document in words."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from grading.operators import Operator

_LONG: Final = 60
"""Characters of a value that are shown."""

_ASKED: Final[Mapping[str, str]] = {
    Operator.EQ: "is {}",
    Operator.LT: "is below {}",
    Operator.LE: "is at most {}",
    Operator.GT: "is above {}",
    Operator.GE: "is at least {}",
    Operator.CONTAINS: "contains {}",
    Operator.STARTS: "starts with {}",
    Operator.UNDER: "lies under {}",
}
_CLEANERS: Final = {"trim": "trimmed", "lower": "in lower case", "last_word": "its last word", "squad": "as SQuAD does"}
_ARTICLES: Final = {"null": "null", "array": "an array", "integer": "an integer", "object": "an object"}


class Phrases:
    """Parts of one document in words."""

    def __init__(self, definitions: Mapping[str, Any]) -> None:
        self._definitions = definitions
        self.used: Final[dict[str, None]] = {}
        """The predicates that were called by their names, in order: what they mean is still to be said."""

    def named(self, name: str) -> Any:
        """What is defined under a name."""
        return self._definitions[name]

    def predicate(self, value: Mapping[str, Any]) -> str:
        """A clause: `status is "passed" and name exists`."""
        match value:
            case {"use": name}:
                self.used.setdefault(name)
                return f"it is “{name}”"
            case {"all": parts}:
                return joined([self._part(part, "any") for part in parts], "and")
            case {"any": parts}:
                return joined([self._part(part, "all") for part in parts], "or")
            case {"not": part}:
                return f"not ({self.predicate(part)})"
            case {"path": path, "any_item": part}:
                return f"for some item of {path_text(path)}, {self.predicate(part)}"
            case {"path": path, "every_item": part}:
                return f"for every item of {path_text(path)}, {self.predicate(part)}"
            case _:
                return self.question(path_text(value["path"]), value)

    def question(self, subject: str, value: Mapping[str, Any]) -> str:
        """What an operator asks of a subject."""
        operator = next(key for key in value if key in tuple(Operator))
        return _question(subject, operator, value[operator]) + cleaning(value.get("clean"))

    def selector(self, value: Mapping[str, Any], *, many: bool = False) -> str:
        """A noun: `a call of bash where …`, or of many: `calls of bash where …`."""
        pick = value.get("pick")
        if pick is not None:
            noun = f"the {pick} {_noun(value, many=False).split(' ', 1)[1]}"
        else:
            noun = _noun(value, many=many)
        if "latest_by" in value:
            noun += f", the latest of each {path_text(value['latest_by'])},"
        noun += self._where(value, many=many and pick is None)
        if "trust" in value:
            noun += f" (believed from {joined(value['trust'], 'and')})"
        return noun

    def none_of(self, value: Mapping[str, Any]) -> str:
        """What there is none of: `call of bash where …`."""
        noun = self.selector(value)
        return noun.removeprefix("a ").removeprefix("an ")

    def values(self, value: Mapping[str, Any], *, taken: bool = True) -> str:
        """What values are of; with `taken`, also what is taken of it."""
        of = f"the {taking(value['take'])} of " if taken and "take" in value else ""
        if "expected" not in value:
            return of + self.selector(value, many=True)
        return f"{of}the expected {path_text(value['expected'])}{self._where(value, many=True)}"

    def _where(self, value: Mapping[str, Any], *, many: bool) -> str:
        match value.get("where"):
            case None:
                return ""
            case {"use": name}:
                self.used.setdefault(name)
                return f" that {'are' if many else 'is'} “{name}”"
            case where:
                return f" where {self.predicate(where)}"

    def _part(self, part: Mapping[str, Any], other: str) -> str:
        text = self.predicate(part)
        return f"({text})" if other in part else text


def taking(take: Any) -> str:
    """The paths of a `take`."""
    return joined([path_text(path) for path in (take if isinstance(take, list) else [take])], "and")


def joined(parts: Sequence[str], word: str) -> str:
    """`a, b and c`."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} {word} {parts[-1]}"


def cleaning(clean: Any) -> str:
    """How texts are cleaned before they are compared; nothing without cleaners."""
    if not clean:
        return ""
    words = [_CLEANERS[one] if isinstance(one, str) else f"without {shown(one['drop'])}" for one in clean]
    return f" ({joined(words, 'and')})"


def shown(value: Any) -> str:
    """A value of the document, cut where it is long."""
    if isinstance(value, Mapping) and list(value) == ["$expected"]:
        return f"the expected {path_text(value['$expected'])}"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONG else f"{text[:_LONG]}…"


def path_text(path: str) -> str:
    """A path as a noun; the value itself has none."""
    return "the value" if path == "." else path


def _question(subject: str, operator: str, operand: Any) -> str:
    match operator, operand:
        case "exists", True:
            return f"{subject} exists"
        case "exists", _:
            return f"{subject} does not exist"
        case "is", _:
            return f"{subject} is {_ARTICLES.get(operand, f'a {operand}')}"
        case "matches", _:
            return f"{subject} matches /{operand}/"
        case "in", list():
            return f"{subject} is {joined([shown(one) for one in operand] or ['nothing'], 'or')}"
        case "in", _:
            return f"{subject} is one of {shown(operand)}"
        case _:
            return f"{subject} {_ASKED[operator].format(shown(operand))}"


def _noun(value: Mapping[str, Any], *, many: bool) -> str:
    given = value["call"] if "call" in value else value["type"]
    names = joined(given if isinstance(given, list) else [given], "or")
    if "call" in value:
        of = "any tool" if given == "*" else names
        return f"calls of {of}" if many else f"a call of {of}"
    article = "an" if names[0] in "aeiou" else "a"
    return f"{names} events" if many else f"{article} {names} event"
