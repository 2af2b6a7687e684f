"""JSON in a text: strictly read, with a bound on depth and work that does not depend on the machine."""

from typing import Any, Final

import orjson

from grading.budget import Work
from spine.canonical import MAX_DEPTH, MAX_INTEGER


class NotJson(Exception):
    """The text is no JSON value. `reason` says why, without the text."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason: Final = reason


def json_value(text: str, work: Work) -> Any:
    """The one JSON value that the text is (RFC 8259; of a key twice the last). As in the log, an integer beyond
    ±(2^53 − 1) is read as a float, and more than 64 levels, half of a surrogate pair and a number that is too large
    are no JSON. Raises NotJson, OutOfBudget."""
    work.scan(text)
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        reason = "nested too deeply" if "depth" in error.msg else "a syntax error"
        raise NotJson(f"{reason} at line {error.lineno}, column {error.colno}") from None
    box = [value]
    _bound(box, work)
    return box[0]


def _bound(box: list[Any], work: Work) -> None:
    """Look at every value, level by level."""
    level: list[Any] = [box]
    for _ in range(MAX_DEPTH + 1):
        below: list[Any] = []
        for container in level:
            work.step(len(container))
            pairs = container.items() if isinstance(container, dict) else enumerate(container)
            for key, item in pairs:
                if isinstance(item, dict | list):
                    below.append(item)
                elif type(item) is int and not -MAX_INTEGER <= item <= MAX_INTEGER:
                    container[key] = float(item)
        level = below
        if not level:
            return
    raise NotJson(f"nested deeper than {MAX_DEPTH} levels")
