"""What a value of a foreign file has to be: the value itself, or Unreadable, which says what is wrong with it."""

import re
from collections.abc import Mapping
from typing import Any, Final

from spine.importers.json_values import Unreadable
from spine.importers.recording import readable

_NAME: Final = re.compile(r"\S{1,100}")


def an_object(found: Any, what: str) -> Mapping[str, Any]:
    if not isinstance(found, dict):
        raise Unreadable(f"{what} is not an object")
    return found


def a_list(found: Any, what: str) -> list[Any]:
    if not isinstance(found, list):
        raise Unreadable(f"{what} is not a list")
    return found


def a_text(found: Any, what: str) -> str:
    if not isinstance(found, str):
        raise Unreadable(f"{what} is not text")
    return found


def a_number(found: Any, what: str) -> int | float:
    """A number as JSON has them; NaN and the infinities too, `true` and `false` not."""
    if isinstance(found, bool) or not isinstance(found, int | float):
        raise Unreadable(f"{what} is not a number")
    return found


def a_name(found: Any, what: str) -> str:
    """A text that can name a run: 1 to 100 characters, no white space; lone surrogates are replaced."""
    if not isinstance(found, str) or not _NAME.fullmatch(found):
        raise Unreadable(f"{what} is not 1 to 100 characters without white space, and nothing else names the run")
    return readable(found)
