"""Patterns: RE2 as the seed has it (Go's regexp), and what a search with one costs."""

import re
from typing import Any, Final

import re2

from grading.budget import Work


class BadPattern(Exception):
    """No RE2 pattern. `reason` is the engine's own, or ours for what only Go refuses."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason: Final = reason


class Pattern:
    """An RE2 pattern: search anywhere, no flags; `^` and `$` are the ends of the text, `.` is no LF, and `\\d \\w \\s
    \\b` are about ASCII. `weight` is about how many places of the pattern a search may have to keep up with."""

    __slots__ = ("_compiled", "text", "weight")

    def __init__(self, text: str, work: Work) -> None:
        """Compiling takes as many steps as the weight. google-re2 takes `\\C` (any byte), which Go refuses: so is it
        here. Raises BadPattern, OutOfBudget."""
        if "\\C" in text and _has_any_byte(text):
            raise BadPattern(r"invalid escape sequence: \C")
        self.text: Final = text
        self.weight: Final = weight(text)
        work.step(self.weight)
        self._compiled: Final = _compiled(text)

    def found_in(self, text: str, work: Work) -> bool:
        """Whether it matches anywhere. Raises OutOfBudget before it looks."""
        work.step(_SEARCH)
        work.scan(text, 1 + self.weight // _FREE)
        return self._compiled.search(text) is not None


_FREE: Final = 4
"""So many places are looked after in one pass over the text."""

_SEARCH: Final = 10
"""Steps of a search, however short the text."""

_TOKEN: Final = re.compile(
    r"""(?P<quoted>\\Q.*?(?:\\E|\Z))
      | (?P<unicode>\\[pP](?:\{[^}]*\}|.))
      | (?P<escape>\\(?:x\{[^}]*\}|.)?)
      | (?P<set>\[\^?\]?(?:\[:[^\]]*:\]|\\.|[^\]])*\]?)
      | (?P<times>\{(?P<least>[0-9]{1,4})(?:,(?P<most>[0-9]{0,4}))?\})
      | (?P<open>\()
      | (?P<close>\))
      | (?P<other>.)""",
    re.VERBOSE | re.DOTALL,
)
_UNICODE: Final = 512  # about what a property becomes in UTF-8
_WIDE: Final = 8


def weight(pattern: str) -> int:
    """About how many instructions the pattern becomes, with its repetitions written out. It is reckoned from the text
    alone: the size of the compiled program differs between versions of the engine, and a grade must not.

    The engine is linear in the text, but times this: `(a|b){1,900}x` takes seconds for a megabyte.
    """
    groups: list[int] = [0]
    last = 0  # the weight of what a repetition would repeat
    for token in _TOKEN.finditer(pattern):
        kind = token.lastgroup
        if token["times"]:
            times = max(int(token["least"]), int(token["most"] or 0), 1)
            groups[-1] += last * (times - 1)
            last = last * times
            continue
        if kind == "open":
            groups.append(1)
            last = 1
            continue
        last = groups.pop() if kind == "close" and len(groups) > 1 else _own_weight(token)
        groups[-1] += last
    return sum(groups)


def _own_weight(token: "re.Match[str]") -> int:
    text = token.group()
    if token["quoted"]:
        return max(len(text) - 4, 1)
    if token["unicode"]:
        return _UNICODE
    if token["set"]:
        narrow = text.isascii() and not text.startswith("[^")
        return len(text) + (0 if narrow else _WIDE) + _UNICODE * len(re.findall(r"\\[pP]", text))
    return _WIDE if text == "." or not text.isascii() else 1


def _has_any_byte(pattern: str) -> bool:
    return any(token["escape"] == "\\C" for token in _TOKEN.finditer(pattern))


def _compiled(text: str) -> Any:
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(text, options)
    except re2.error as error:
        reason = error.args[0] if error.args else ""
        raise BadPattern(reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)) from None
    except UnicodeEncodeError:
        raise BadPattern("invalid UTF-8") from None
