"""Scope: what holds for a check because of where it stands."""

from dataclasses import dataclass

from grading.reader.definitions import Definitions
from grading.reader.selectors import Trust


@dataclass(frozen=True, slots=True)
class Scope:
    """The names a check may use, and whom its rung or its ladder trusts."""

    definitions: Definitions
    trust: Trust
    negated: bool = False
    """Whether it stands in an odd number of `none_of`."""
