"""Budget and Work: how much a check may do. Counted, never timed: the same evidence gives the same answer anywhere."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Budget:
    """What one check may use of one run: predicate steps, and UTF-8 bytes looked through."""

    steps: int
    bytes: int


BUDGET: Final = Budget(steps=5_000_000, bytes=512 * 1024 * 1024)
"""The budget of semantics 1, for each milestone: raising or lowering it changes results, so it needs a new number."""


class OutOfBudget(Exception):
    """A check used more than its budget. It stays broken whatever comes after."""


class Work:
    """What is left of a budget."""

    __slots__ = ("_bytes", "_steps")

    def __init__(self, budget: Budget = BUDGET) -> None:
        self._steps = budget.steps
        self._bytes = budget.bytes

    def step(self, count: int = 1) -> None:
        """Take `count` predicate steps. Raises OutOfBudget."""
        self._steps -= count
        if self._steps < 0:
            raise OutOfBudget

    def scan(self, text: str, times: int = 1) -> None:
        """Look through a text. Raises OutOfBudget before it is done."""
        self.read((len(text) if text.isascii() else len(text.encode())) * times)

    def read(self, size: int) -> None:
        """Look through `size` bytes. Raises OutOfBudget before it is done."""
        self._bytes -= size
        if self._bytes < 0:
            raise OutOfBudget

    def fork(self) -> "Work":
        """The same amount again, for work whose result is thrown away: asking for a verdict uses nothing up."""
        return Work(Budget(self._steps, self._bytes))
