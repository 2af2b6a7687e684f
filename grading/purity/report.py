"""What a proof of purity found: who did what, where, and whether that refuses the grader."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

NAMED: Final = 3
"""How many findings the message of a refusal spells out."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Something a grader does that could make the same evidence give another grade.

    `refused` is False for a note: what may be harmless, or stands where no check is known to come. `module` and `line`
    (from 1) are empty and 0 where no line is known.
    """

    what: str
    milestone: str = ""
    module: str = ""
    line: int = 0
    refused: bool = True

    @property
    def place(self) -> str:
        return f"{self.module}:{self.line}" if self.line else self.module

    def __str__(self) -> str:
        who = f"milestone {self.milestone} " if self.milestone else ""
        return f"{who}{self.what}" + (f" at {self.place}" if self.place else "")


def refusal(findings: Iterable[Finding]) -> str:
    """The findings as one sentence."""
    said = [str(finding) for finding in findings]
    more = f"; and {len(said) - NAMED} more" if len(said) > NAMED else ""
    return "; ".join(said[:NAMED]) + more


def in_order(findings: Iterable[Finding]) -> list[Finding]:
    """Each once, what refuses first; one of a milestone, a place and a deed is enough."""
    once = {(one.milestone, one.module, one.line, one.what): one for one in findings}
    return sorted(once.values(), key=lambda one: not one.refused)
